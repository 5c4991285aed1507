/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/source.h"

#include "programs/sandboxd/contexts.h"
#include "programs/sandboxd/daytona/snapshots.h"
#include "programs/sandboxd/dockerfile.h"

enum { STEPS_BYTES = 16 << 20, STEPS_DEPTH = 4 };

static void fail(const struct images_events *events, int code, const char *text)
{
    struct err err = ERR_INIT;

    err_set(&err, code, "%s", text);
    events->done(events->data, &err, STR_EMPTY, NULL);
}

/* The contexts that a build names, as one; NULL if it names none. */
static int find_contexts(const struct api_call *call, const struct json_value *hashes,
                         struct context **out_context, struct err *err)
{
    struct context *parts[SOURCE_MOST_CONTEXTS];
    size_t count = 0;
    int r = 0;

    *out_context = NULL;
    if (hashes == NULL || hashes->type == JSON_NULL)
        return 0;
    if (hashes->type != JSON_ARRAY || hashes->size > SOURCE_MOST_CONTEXTS)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "buildInfo: contextHashes must be a list of at most %d texts",
                       SOURCE_MOST_CONTEXTS);
    json_each_item (hash, hashes) {
        parts[count] = hash->type == JSON_STRING ? contextcache_find(&call->service->contexts,
                                                                     json_str(hash), call->owner)
                                                 : NULL;
        if (parts[count] == NULL) {
            r = err_set(err, ERR_INVALID_ARGUMENT,
                        "buildInfo: a build context is not here: upload it, maybe again");
            break;
        }
        count++;
    }
    if (r == 0 && count > 0) {
        r = context_join(parts, count, out_context);
        if (r < 0)
            err_set(err, r, "buildInfo: the build contexts: %s", err_text(r));
    }
    while (count > 0)
        context_unref(parts[--count]);
    return r;
}

static void build(const struct api_call *call, struct str dockerfile,
                  const struct json_value *hashes, const struct images_events *events)
{
    const struct json_limits limits = {STEPS_BYTES, STEPS_DEPTH};
    cleanup_arena struct arena arena = ARENA_INIT(2 * STEPS_BYTES);
    cleanup_buf struct buf text = BUF_INIT(STEPS_BYTES);
    const struct json_value *steps = NULL;
    struct context *context = NULL;
    struct err err = ERR_INIT;
    const char *wrong;
    int r = dockerfile_read(dockerfile, &text, &err);

    if (r == 0) {
        r = json_parse(&arena, buf_view(&text), limits, &steps, &err);
        if (r < 0)
            err_set_plain(&err, ERR_INTERNAL);
    }
    if (r == 0)
        r = find_contexts(call, hashes, &context, &err);
    if (r < 0) {
        events->done(events->data, &err, STR_EMPTY, NULL);
        return;
    }
    wrong = images_check_steps(&arena, steps, context != NULL);
    if (wrong != NULL) {
        context_unref(context);
        fail(events, ERR_INVALID_ARGUMENT, wrong);
        return;
    }
    images_build(call->service->images,
                 &(struct images_request){.steps = steps, .owner = call->owner, .context = context},
                 events);
}

void source_build(const struct api_call *call, const struct json_value *object,
                  struct str image_name, const struct images_events *events)
{
    const struct json_value *info = json_get(object, STR("buildInfo"));
    const bool has_info = info != NULL && info->type != JSON_NULL;
    cleanup_buf struct buf from = BUF_INIT(DOCKERFILE_MAX_BYTES);
    struct str text = STR_EMPTY;

    if (has_info == (image_name.len > 0)) {
        fail(events, ERR_INVALID_ARGUMENT, "either imageName or buildInfo is needed");
    } else if (has_info) {
        if (info->type != JSON_OBJECT || !call_member_str(info, STR("dockerfileContent"), &text) ||
            text.len == 0)
            fail(events, ERR_INVALID_ARGUMENT, "buildInfo: dockerfileContent must be a text");
        else
            build(call, text, json_get(info, STR("contextHashes")), events);
    } else if (str_find(image_name, STR("\n")) != SIZE_MAX ||
               buf_printf(&from, "FROM %.*s\n", STR_ARG(image_name)) < 0) {
        fail(events, ERR_INVALID_ARGUMENT, "imageName must be the name of an image");
    } else {
        build(call, buf_view(&from), NULL, events);
    }
}

void source_find(const struct api_call *call, const struct json_value *object,
                 const struct images_events *events)
{
    const struct json_value *info = json_get(object, STR("buildInfo"));
    const struct snapshot *snapshot;
    struct str name = STR_EMPTY;

    if (!call_member_str(object, STR("snapshot"), &name)) {
        fail(events, ERR_INVALID_ARGUMENT, "snapshot must be a text");
    } else if (name.len > 0) {
        snapshot = snapshots_find(call->service, name, call->owner);
        if (snapshot == NULL)
            fail(events, ERR_NOT_FOUND, "there is no snapshot of that name");
        else
            events->done(events->data, NULL, STR_EMPTY, snapshot->record.image);
    } else if (info != NULL && info->type != JSON_NULL) {
        source_build(call, object, STR_EMPTY, events);
    } else {
        events->done(events->data, NULL, STR_EMPTY, "");
    }
}
