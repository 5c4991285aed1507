/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build contexts: the files that COPY steps of an image take, as one archive (tar, compressed or
 * not) that a client has uploaded. They are named by their SHA-256, kept in memory for a while, and
 * unpacked only inside the sandbox of a step. Clients of the Daytona API name them themselves.
 */
#ifndef PROGRAMS_SANDBOXD_CONTEXTS_H
#define PROGRAMS_SANDBOXD_CONTEXTS_H

#include "programs/sandboxd/call.h"
#include "programs/sandboxd/service.h"

enum {
    CONTEXTS_MAX_BYTES = 15 << 20,     /* of one that comes in one piece */
    CONTEXTS_ALL_MAX_BYTES = 64 << 20, /* of all that are kept; the oldest go */
};

struct context {
    struct list node; /* service->contexts, the newest last; or none */
    unsigned refs;
    char owner[SANDBOXSTORE_ID_BYTES];
    char key[SANDBOXSTORE_KEY_BYTES];    /* its name: the digest, or what the client says */
    char digest[SANDBOXSTORE_KEY_BYTES]; /* the SHA-256 of its bytes */
    size_t len;
    char bytes[];
};

void contexts_init(struct service *service);
void contexts_done(struct service *service);

/* A reference to the owner's context of that name; NULL if there is none (any more). */
struct context *contexts_find(struct service *service, struct str key, const char *owner);
/* The same for the member of a request, if it has one. What is wrong with that, or NULL. */
const char *contexts_choose(const struct call *call, const struct json_value *object,
                            struct context **out_context);
/* NULL is fine. */
void contexts_unref(struct context *context);

/* Keeps the pieces, joined, under a name of the client's, instead of what has that name. */
int contexts_keep(struct service *service, const char *owner, struct str name,
                  const struct str *pieces, size_t count);

/*
 * All of them as one, for a build: archives that are not compressed, one behind the other.
 * ERR_TOO_LARGE, ERR_NO_MEMORY.
 */
int contexts_join(struct context *const *parts, size_t count, struct context **out_context);

/* ---- endpoint ---- */

void contexts_put(const struct call *call);

#endif
