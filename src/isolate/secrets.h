/* SPDX-License-Identifier: Apache-2.0 */
/* What no command in a box sees unless somebody names it: credentials, sessions, histories. */
#ifndef ISOLATE_SECRETS_H
#define ISOLATE_SECRETS_H

#include <stddef.h>

struct secret_place {
    const char *path; /* of the user's home, or absolute */
    const char *reason;
};

extern const struct secret_place secrets[];
extern const size_t secrets_count;

#endif
