/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build contexts: the files that COPY steps of an image take, as one archive (tar, compressed or
 * not) that a client has uploaded. They are named by their SHA-256, kept in memory for a while, and
 * unpacked only inside the sandbox of a step. An addition of ours to the API.
 */
#ifndef PROGRAMS_SANDBOXD_CONTEXTS_H
#define PROGRAMS_SANDBOXD_CONTEXTS_H

#include "programs/sandboxd/call.h"
#include "programs/sandboxd/service.h"

enum {
    CONTEXTS_MAX_BYTES = 15 << 20,     /* of one */
    CONTEXTS_ALL_MAX_BYTES = 64 << 20, /* of all that are kept; the oldest go */
};

struct context {
    struct list node; /* service->contexts, the newest last; or none */
    unsigned refs;
    char owner[SANDBOXSTORE_ID_BYTES];
    char key[SANDBOXSTORE_KEY_BYTES];
    size_t len;
    char bytes[];
};

void contexts_init(struct service *service);
void contexts_done(struct service *service);

/* A reference to the owner's context of that name; NULL if there is none (any more). */
struct context *contexts_find(struct service *service, struct str key, const char *owner);
/* NULL is fine. */
void contexts_unref(struct context *context);

/* ---- endpoint ---- */

void contexts_put(const struct call *call);

#endif
