/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/contexts.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hex.h"
#include "base/sha256.h"

enum { TAR_BLOCK_BYTES = 512 };

const char *contexts_choose(const struct call *call, const struct json_value *object,
                            struct context **out_context)
{
    struct str key = STR_EMPTY;

    if (!call_member_str(object, STR("context"), &key))
        return "context must be the name of a build context";
    if (key.len == 0)
        return NULL;
    *out_context = contexts_find(call->service, key, call->owner);
    return *out_context == NULL ? "the build context is not here: upload it, maybe again" : NULL;
}

void contexts_unref(struct context *context)
{
    if (context != NULL && --context->refs == 0)
        free(context);
}

static void drop(struct service *service, struct context *context)
{
    service->context_bytes -= context->len;
    list_remove(&context->node);
    contexts_unref(context);
}

void contexts_init(struct service *service)
{
    list_init(&service->contexts);
    parts_init(&service->uploads);
}

void contexts_done(struct service *service)
{
    while (!list_is_empty(&service->contexts))
        drop(service, list_entry(service->contexts.next, struct context, node));
    parts_done(&service->uploads);
}

static struct context *find(const struct service *service, struct str key, const char *owner)
{
    list_each (node, &service->contexts) {
        struct context *context = list_entry(node, struct context, node);

        if (str_eq_c(key, context->key) && strcmp(context->owner, owner) == 0)
            return context;
    }
    return NULL;
}

struct context *contexts_find(struct service *service, struct str key, const char *owner)
{
    struct context *context = find(service, key, owner);

    if (context == NULL)
        return NULL;
    list_remove(&context->node); /* used last */
    list_append(&service->contexts, &context->node);
    context->refs++;
    return context;
}

static void digest_of(struct str bytes, char out_digest[SANDBOXSTORE_KEY_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;

    sha256_init(&hash);
    sha256_add(&hash, bytes);
    sha256_end(&hash, digest);
    hex_text(out_digest, digest, sizeof(digest));
}

int contexts_keep(struct service *service, const char *owner, struct str name,
                  const struct str *pieces, size_t count)
{
    struct context *old = find(service, name, owner);
    struct context *context;
    size_t len = 0;

    for (size_t i = 0; i < count; i++)
        len += pieces[i].len;
    context = malloc(sizeof(*context) + len);
    if (context == NULL)
        return ERR_NO_MEMORY;
    if (old != NULL)
        drop(service, old);
    *context = (struct context){.refs = 1};
    snprintf(context->owner, sizeof(context->owner), "%s", owner);
    snprintf(context->key, sizeof(context->key), "%.*s", STR_ARG(name));
    for (size_t i = 0; i < count; i++) {
        memcpy(context->bytes + context->len, pieces[i].ptr, pieces[i].len);
        context->len += pieces[i].len;
    }
    digest_of((struct str){context->bytes, context->len}, context->digest);
    list_append(&service->contexts, &context->node);
    service->context_bytes += context->len;
    while (service->context_bytes > CONTEXTS_ALL_MAX_BYTES)
        drop(service, list_entry(service->contexts.next, struct context, node));
    return 0;
}

int contexts_join(struct context *const *parts, size_t count, struct context **out_context)
{
    struct context *joined;
    size_t len = 0;

    if (count == 1) {
        parts[0]->refs++;
        *out_context = parts[0];
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        len += (parts[i]->len + TAR_BLOCK_BYTES - 1) / TAR_BLOCK_BYTES * TAR_BLOCK_BYTES;
        if (len > CONTEXTS_ALL_MAX_BYTES)
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
        len += (parts[i]->len + TAR_BLOCK_BYTES - 1) / TAR_BLOCK_BYTES * TAR_BLOCK_BYTES;
    }
    digest_of((struct str){joined->bytes, len}, joined->digest);
    *out_context = joined;
    return 0;
}

void contexts_put(const struct call *call)
{
    struct str body = call->request->body;
    char digest[SANDBOXSTORE_KEY_BYTES];

    digest_of(body, digest);
    if (!str_eq_c(call->ids[0], digest) || body.len == 0) {
        call_fail(call->exchange, 400, "a build context is named by the SHA-256 of its bytes");
        return;
    }
    if (find(call->service, call->ids[0], call->owner) == NULL &&
        contexts_keep(call->service, call->owner, call->ids[0], &body, 1) < 0) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    call_answer_nothing(call->exchange);
}
