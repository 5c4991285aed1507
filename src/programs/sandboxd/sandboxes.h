/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoints of sandboxes: create, list, get, delete; and, our addition, what one uses. */
#ifndef PROGRAMS_SANDBOXD_SANDBOXES_H
#define PROGRAMS_SANDBOXD_SANDBOXES_H

#include "programs/sandboxd/call.h"

enum {
    SANDBOXES_MAX_BODY_BYTES = 1 << 20, /* with the steps of an image */
    SANDBOXES_PLAIN_BODY_BYTES = 1 << 10,
};

/* NULL if this tenant may create one more, else why not, and the status of an answer. */
const char *sandboxes_find_quota(struct service *service, const char *owner, int *out_status);
/* The same; if not, the request is answered. */
bool sandboxes_check_quota(struct service *service, const char *owner, struct exchange *exchange);

/* ---- endpoints ---- */

void sandboxes_create(const struct api_call *call);
void sandboxes_list(const struct api_call *call);
void sandboxes_get(const struct api_call *call);
void sandboxes_remove(const struct api_call *call);
void sandboxes_stats(const struct api_call *call);

#endif
