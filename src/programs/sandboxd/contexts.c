/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/contexts.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hex.h"
#include "base/sha256.h"

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
}

void contexts_done(struct service *service)
{
    while (!list_is_empty(&service->contexts))
        drop(service, list_entry(service->contexts.next, struct context, node));
}

struct context *contexts_find(struct service *service, struct str key, const char *owner)
{
    list_each (node, &service->contexts) {
        struct context *context = list_entry(node, struct context, node);

        if (!str_eq_c(key, context->key) || strcmp(context->owner, owner) != 0)
            continue;
        list_remove(&context->node); /* used last */
        list_append(&service->contexts, &context->node);
        context->refs++;
        return context;
    }
    return NULL;
}

static void add(struct service *service, const char *owner, const char *key, struct str bytes,
                struct context *context)
{
    *context = (struct context){.refs = 1, .len = bytes.len};
    snprintf(context->owner, sizeof(context->owner), "%s", owner);
    snprintf(context->key, sizeof(context->key), "%s", key);
    memcpy(context->bytes, bytes.ptr, bytes.len);
    list_append(&service->contexts, &context->node);
    service->context_bytes += bytes.len;
    while (service->context_bytes > CONTEXTS_ALL_MAX_BYTES)
        drop(service, list_entry(service->contexts.next, struct context, node));
}

void contexts_put(const struct call *call)
{
    struct str body = call->request->body;
    unsigned char digest[SHA256_BYTES];
    char key[SANDBOXSTORE_KEY_BYTES];
    struct context *context;
    struct sha256 hash;

    sha256_init(&hash);
    sha256_add(&hash, body);
    sha256_end(&hash, digest);
    hex_text(key, digest, sizeof(digest));
    if (!str_eq_c(call->ids[0], key) || body.len == 0) {
        call_fail(call->exchange, 400, "a build context is named by the SHA-256 of its bytes");
        return;
    }
    context = contexts_find(call->service, call->ids[0], call->owner);
    if (context != NULL) {
        contexts_unref(context);
        call_answer_nothing(call->exchange);
        return;
    }
    context = malloc(sizeof(*context) + body.len);
    if (context == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    add(call->service, call->owner, key, body, context);
    call_answer_nothing(call->exchange);
}
