/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build contexts in memory, by owner and name. Each owner has a share, in which its own oldest
 * makes room. If all of them together have too much, the owner that has most loses its oldest: no
 * owner loses anything to one that has more.
 */
#ifndef PROGRAMS_SANDBOXD_CONTEXTCACHE_H
#define PROGRAMS_SANDBOXD_CONTEXTCACHE_H

#include "base/list.h"
#include "base/str.h"
#include "store/sandboxstore.h"

enum {
    CONTEXTCACHE_MAX_BYTES = 64 << 20,  /* of an owner, and of several contexts of a build */
    CONTEXTCACHE_MOST = 256,            /* of an owner */
    CONTEXTCACHE_ALL_BYTES = 192 << 20, /* of all */
};

struct context_share; /* of an owner */

struct context {
    struct list node;            /* in the cache, the newest last; or none */
    struct context_share *share; /* while it is there: is_kept */
    bool is_kept;
    unsigned refs;
    char key[SANDBOXSTORE_KEY_BYTES];    /* its name: the digest, or what the client says */
    char digest[SANDBOXSTORE_KEY_BYTES]; /* the SHA-256 of its bytes */
    size_t len;
    char bytes[];
};

struct contextcache {
    struct list contexts;
    size_t bytes;
    size_t share_bytes; /* the most of an owner */
    size_t most_bytes;
};

/* With the limits above, or, for tests, lower ones. */
void contextcache_init(struct contextcache *cache, size_t share_bytes, size_t most_bytes);
void contextcache_done(struct contextcache *cache);

/* A reference to the owner's context of that name; NULL if there is none (any more). */
struct context *contextcache_find(struct contextcache *cache, struct str key, const char *owner);

/*
 * Keeps the pieces, joined, under a name of the client's, instead of what has that name.
 * ERR_NO_MEMORY; ERR_BUSY if others have all the memory, and none of them has more.
 */
int contextcache_keep(struct contextcache *cache, const char *owner, struct str key,
                      const struct str *pieces, size_t count);

/*
 * All of them as one, for a build: archives that are not compressed, one behind the other.
 * ERR_TOO_LARGE, ERR_NO_MEMORY.
 */
int context_join(struct context *const *parts, size_t count, struct context **out_context);

/* NULL is fine. */
void context_unref(struct context *context);

/* The SHA-256 as a text. */
void context_digest(struct str bytes, char out_digest[SANDBOXSTORE_KEY_BYTES]);

#endif
