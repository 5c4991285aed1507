/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/event.h"

#include "base/err.h"

/* The operations of the older dialect correspond to tools with the same arguments. */
static const struct {
    struct str operation;
    struct str tool;
} OPERATIONS[] = {
    {STR_LITERAL("read-file"), STR_LITERAL("read_file")},
    {STR_LITERAL("search-files"), STR_LITERAL("search_files")},
};

static const struct json_value NO_ARGUMENTS = {.type = JSON_OBJECT, .span = 1};

/* It becomes a part of a path, so it must be unambiguous. */
static bool is_id(struct str id)
{
    for (size_t i = 0; i < id.len; i++)
        if (id.ptr[i] <= 0x20 || id.ptr[i] >= 0x7f)
            return false;
    return id.len > 0 && id.len <= GATEWAY_MAX_ID_BYTES && !str_eq(id, STR(".")) &&
           !str_eq(id, STR(".."));
}

static struct str tool_of(struct str operation)
{
    for (size_t i = 0; i < array_size(OPERATIONS); i++)
        if (str_eq(operation, OPERATIONS[i].operation))
            return OPERATIONS[i].tool;
    return operation;
}

/* Missing and null mean none. */
static bool read_arguments(const struct json_value *given, struct gateway_call *call)
{
    call->arguments = &NO_ARGUMENTS;
    if (given == NULL || given->type == JSON_NULL)
        return true;
    call->arguments = given;
    return given->type == JSON_OBJECT;
}

static bool read_call(const struct json_value *payload, struct gateway_call *call)
{
    const struct json_value *tool = json_get(payload, STR("toolCall"));

    if (tool != NULL) {
        call->shape = GATEWAY_SHAPE_RESULT;
        if (!json_get_str(tool, STR("name"), &call->name) ||
            !read_arguments(json_get(tool, STR("arguments")), call))
            return false;
    } else {
        call->shape = GATEWAY_SHAPE_DATA;
        if (!json_get_str(payload, STR("operation"), &call->name) ||
            !read_arguments(json_get(payload, STR("args")), call))
            return false;
        call->name = tool_of(call->name);
    }
    return call->name.len > 0 && call->name.len <= GATEWAY_MAX_NAME_BYTES;
}

int gateway_event_parse(struct arena *arena, struct str name, struct str data,
                        struct gateway_event *out_event)
{
    const struct json_limits limits = {GATEWAY_MAX_EVENT_BYTES, GATEWAY_MAX_EVENT_DEPTH};
    struct gateway_event event = {.kind = GATEWAY_EVENT_NONE};
    const struct json_value *document;
    const struct json_value *payload;
    struct str type;
    int r;

    *out_event = event;
    if (!str_eq(name, STR("message")))
        return 0;
    r = json_parse(arena, data, limits, &document, NULL);
    if (r == ERR_NO_MEMORY || (r == ERR_TOO_LARGE && data.len <= limits.max_bytes))
        return r;
    if (r < 0 || !json_get_str(document, STR("type"), &type))
        return 0;
    if (str_eq(type, STR("gateway-disconnect"))) {
        out_event->kind = GATEWAY_EVENT_DISCONNECT;
        return 0;
    }
    payload = json_get(document, STR("payload"));
    if (!str_eq(type, STR("filesystem-request")) || payload == NULL ||
        !json_get_str(payload, STR("requestId"), &event.call.id) || !is_id(event.call.id))
        return 0;
    event.kind = read_call(payload, &event.call) ? GATEWAY_EVENT_CALL : GATEWAY_EVENT_BAD_CALL;
    if (event.kind == GATEWAY_EVENT_BAD_CALL) {
        event.call.name = STR_EMPTY;
        event.call.arguments = &NO_ARGUMENTS;
    }
    *out_event = event;
    return 0;
}
