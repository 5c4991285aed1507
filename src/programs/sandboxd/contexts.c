/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/contexts.h"

const char *contexts_choose(const struct api_call *call, const struct json_value *object,
                            struct context **out_context)
{
    struct str key = STR_EMPTY;

    if (!call_member_str(object, STR("context"), &key))
        return "context must be the name of a build context";
    if (key.len == 0)
        return NULL;
    *out_context = contextcache_find(&call->service->contexts, key, call->owner);
    return *out_context == NULL ? "the build context is not here: upload it, maybe again" : NULL;
}

void contexts_put(const struct api_call *call)
{
    struct contextcache *cache = &call->service->contexts;
    struct str body = call->request->body;
    char digest[SANDBOXSTORE_KEY_BYTES];
    struct context *context;

    context_digest(body, digest);
    if (!str_eq_c(call->ids[0], digest) || body.len == 0) {
        call_fail(call->exchange, 400, "a build context is named by the SHA-256 of its bytes");
        return;
    }
    context = contextcache_find(cache, call->ids[0], call->owner);
    if (context == NULL && contextcache_keep(cache, call->owner, call->ids[0], &body, 1) < 0) {
        call_fail(call->exchange, 503, "there is no memory for the build context: try again later");
        return;
    }
    context_unref(context);
    call_answer_nothing(call->exchange);
}
