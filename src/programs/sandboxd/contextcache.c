/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/contextcache.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/sha256.h"

enum { TAR_BLOCK_BYTES = 512 };

struct context_share {
    size_t count;
    size_t bytes;
    char owner[SANDBOXSTORE_ID_BYTES];
};

void context_digest(struct str bytes, char out_digest[SANDBOXSTORE_KEY_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;

    sha256_init(&hash);
    sha256_add(&hash, bytes);
    sha256_end(&hash, digest);
    hex_text(out_digest, digest, sizeof(digest));
}

void context_unref(struct context *context)
{
    if (context != NULL && --context->refs == 0)
        free(context);
}

/* ---- shares ---- */

static struct context_share *find_share(const struct contextcache *cache, const char *owner)
{
    list_each (node, &cache->contexts) {
        const struct context *context = list_entry(node, struct context, node);

        if (strcmp(context->share->owner, owner) == 0)
            return context->share;
    }
    return NULL;
}

static struct context_share *get_share(const struct contextcache *cache, const char *owner)
{
    struct context_share *share = find_share(cache, owner);

    if (share != NULL)
        return share;
    share = calloc(1, sizeof(*share));
    if (share != NULL)
        snprintf(share->owner, sizeof(share->owner), "%s", owner);
    return share;
}

static void insert(struct contextcache *cache, struct context_share *share, struct context *context)
{
    context->share = share;
    context->is_kept = true;
    share->count++;
    share->bytes += context->len;
    cache->bytes += context->len;
    list_append(&cache->contexts, &context->node);
}

static void drop(struct contextcache *cache, struct context *context)
{
    struct context_share *share = context->share;

    assert(share != NULL);
    context->is_kept = false;
    cache->bytes -= context->len;
    share->bytes -= context->len;
    if (--share->count == 0)
        free(share);
    list_remove(&context->node);
    context_unref(context);
}

/* It has at least one. */
static void drop_oldest(struct contextcache *cache, const struct context_share *share)
{
    list_each_safe (node, &cache->contexts) {
        struct context *context = list_entry(node, struct context, node);

        if (context->share == share) {
            drop(cache, context);
            return;
        }
    }
}

static const struct context_share *largest_share(const struct contextcache *cache)
{
    const struct context_share *largest = NULL;

    list_each (node, &cache->contexts) {
        const struct context *context = list_entry(node, struct context, node);

        if (largest == NULL || context->share->bytes > largest->bytes)
            largest = context->share;
    }
    return largest;
}

/* ---- contexts ---- */

void contextcache_init(struct contextcache *cache, size_t share_bytes, size_t most_bytes)
{
    *cache = (struct contextcache){.share_bytes = share_bytes, .most_bytes = most_bytes};
    list_init(&cache->contexts);
}

void contextcache_done(struct contextcache *cache)
{
    while (!list_is_empty(&cache->contexts))
        drop(cache, list_entry(cache->contexts.next, struct context, node));
}

static struct context *find(const struct contextcache *cache, struct str key, const char *owner)
{
    list_each (node, &cache->contexts) {
        struct context *context = list_entry(node, struct context, node);

        if (str_eq_c(key, context->key) && strcmp(context->share->owner, owner) == 0)
            return context;
    }
    return NULL;
}

struct context *contextcache_find(struct contextcache *cache, struct str key, const char *owner)
{
    struct context *context = find(cache, key, owner);

    if (context == NULL)
        return NULL;
    list_remove(&context->node); /* used last */
    list_append(&cache->contexts, &context->node);
    context->refs++;
    return context;
}

static struct context *new_context(struct str key, const struct str *pieces, size_t count)
{
    struct context *context;
    size_t len = 0;

    for (size_t i = 0; i < count; i++)
        len += pieces[i].len;
    context = malloc(sizeof(*context) + len);
    if (context == NULL)
        return NULL;
    *context = (struct context){.refs = 1};
    snprintf(context->key, sizeof(context->key), "%.*s", STR_ARG(key));
    for (size_t i = 0; i < count; i++) {
        memcpy(context->bytes + context->len, pieces[i].ptr, pieces[i].len);
        context->len += pieces[i].len;
    }
    context_digest((struct str){context->bytes, context->len}, context->digest);
    return context;
}

int contextcache_keep(struct contextcache *cache, const char *owner, struct str key,
                      const struct str *pieces, size_t count)
{
    struct context *context = new_context(key, pieces, count);
    struct context *old = find(cache, key, owner);
    struct context_share *share;
    bool is_kept;

    if (old != NULL)
        drop(cache, old);
    share = context != NULL ? get_share(cache, owner) : NULL;
    if (share == NULL) {
        context_unref(context);
        return ERR_NO_MEMORY;
    }
    context->refs++; /* for a look at the end */
    insert(cache, share, context);
    while (context->is_kept &&
           (share->bytes > cache->share_bytes || share->count > CONTEXTCACHE_MOST))
        drop_oldest(cache, share);
    while (cache->bytes > cache->most_bytes)
        drop_oldest(cache, largest_share(cache));
    is_kept = context->is_kept;
    context_unref(context);
    return is_kept ? 0 : ERR_BUSY;
}

static size_t blocks_of(size_t len)
{
    return (len + TAR_BLOCK_BYTES - 1) / TAR_BLOCK_BYTES * TAR_BLOCK_BYTES;
}

int context_join(struct context *const *parts, size_t count, struct context **out_context)
{
    struct context *joined;
    size_t len = 0;

    if (count == 1) {
        parts[0]->refs++;
        *out_context = parts[0];
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        len += blocks_of(parts[i]->len);
        if (len > CONTEXTCACHE_MAX_BYTES)
            return ERR_TOO_LARGE;
    }
    joined = calloc(1, sizeof(*joined) + len); /* the end of each block is zero */
    if (joined == NULL)
        return ERR_NO_MEMORY;
    *joined = (struct context){.refs = 1, .len = len};
    list_init(&joined->node);
    len = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(joined->bytes + len, parts[i]->bytes, parts[i]->len);
        len += blocks_of(parts[i]->len);
    }
    context_digest((struct str){joined->bytes, len}, joined->digest);
    *out_context = joined;
    return 0;
}
