/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is hidden from sandboxed commands unless named explicitly: credentials, sessions, histories.
 */
#ifndef ISOLATE_BOX_SECRETS_H
#define ISOLATE_BOX_SECRETS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct secret_place {
    const char *path; /* relative to the user's home, or absolute */
    const char *reason;
};

extern const struct secret_place secrets[];
extern const size_t secrets_count;

/* The user's home by /etc/passwd, absolute. Parsed here, since NSS needs shared libraries. */
bool secrets_find_home(uid_t uid, char out_home[PATH_MAX]);

#endif
