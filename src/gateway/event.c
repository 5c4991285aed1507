/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/event.h"

#include <string.h>

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

static bool is_name(struct str name)
{
    return name.len > 0 && name.len <= GATEWAY_MAX_NAME_BYTES;
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
    (void)json_get_str(payload, STR("agent"), &call->agent);
    return is_name(call->name);
}

static bool read_query(const struct json_value *payload, struct gateway_call *call)
{
    call->shape = GATEWAY_SHAPE_RESULT;
    return json_get_str(payload, STR("query"), &call->name) && is_name(call->name) &&
           read_arguments(json_get(payload, STR("arguments")), call);
}

static bool read_decision(const struct json_value *payload, struct gateway_call *call)
{
    return json_get_str(payload, STR("answer"), &call->name) && is_name(call->name);
}

static bool read_nothing(const struct json_value *payload, struct gateway_call *call)
{
    (void)payload;
    (void)call;
    return true;
}

/* Events about a call or a question; `read` is false for an invalid one. */
static const struct {
    struct str type;
    struct str id;
    bool (*read)(const struct json_value *payload, struct gateway_call *call);
    enum gateway_event_kind kind;
    enum gateway_event_kind otherwise;
} KINDS[] = {
    {STR_LITERAL("filesystem-request"), STR_LITERAL("requestId"), read_call, GATEWAY_EVENT_CALL,
     GATEWAY_EVENT_BAD_CALL},
    {STR_LITERAL("gatehouse-query"), STR_LITERAL("requestId"), read_query, GATEWAY_EVENT_QUERY,
     GATEWAY_EVENT_BAD_CALL},
    {STR_LITERAL("gatehouse-cancel"), STR_LITERAL("requestId"), read_nothing, GATEWAY_EVENT_CANCEL,
     GATEWAY_EVENT_NONE},
    {STR_LITERAL("gatehouse-decision"), STR_LITERAL("questionId"), read_decision,
     GATEWAY_EVENT_DECISION, GATEWAY_EVENT_NONE},
};

static void read_payload(struct str type, const struct json_value *payload,
                         struct gateway_event *event)
{
    for (size_t i = 0; i < array_size(KINDS); i++) {
        struct gateway_event found = {.call = {.arguments = &NO_ARGUMENTS}};

        if (!str_eq(type, KINDS[i].type) || !json_get_str(payload, KINDS[i].id, &found.call.id) ||
            !is_id(found.call.id))
            continue;
        found.kind = KINDS[i].read(payload, &found.call) ? KINDS[i].kind : KINDS[i].otherwise;
        if (found.kind == GATEWAY_EVENT_NONE)
            return;
        if (found.kind == GATEWAY_EVENT_BAD_CALL) {
            found.call.name = STR_EMPTY;
            found.call.arguments = &NO_ARGUMENTS;
            err_set(&found.why, ERR_INVALID_ARGUMENT,
                    "it needs the name of a tool, and arguments that are an object");
        }
        *event = found;
        return;
    }
}

/* ---- a call in JSON that the parser refuses ---- */

/* The end of the value that begins the text; its length if it has none. */
static size_t value_end(struct str text)
{
    size_t depth = 0;
    bool is_in_string = false;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (is_in_string) {
            i += c == '\\';
            is_in_string = c != '"';
        } else if (c == '"') {
            is_in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
            return i;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return text.len;
}

/*
 * The text of a member's value. Looks at the members of this object alone, and reads their names as
 * they are written; what they hold may be anything. False if there is none, or several.
 */
static bool find_member(struct str object, struct str key, struct str *out_value)
{
    struct str rest = str_trim(object);
    bool is_found = false;

    if (rest.len == 0 || rest.ptr[0] != '{')
        return false;
    do {
        const char *quote;
        struct str name;
        struct str value;
        size_t end;

        rest = str_trim(str_slice(rest, 1, rest.len));
        if (rest.len == 0 || rest.ptr[0] != '"')
            break;
        rest = str_slice(rest, 1, rest.len);
        quote = memchr(rest.ptr, '"', rest.len);
        if (quote == NULL)
            break;
        name = str_slice(rest, 0, (size_t)(quote - rest.ptr));
        rest = str_trim(str_slice(rest, name.len + 1, rest.len));
        if (rest.len == 0 || rest.ptr[0] != ':')
            break;
        rest = str_slice(rest, 1, rest.len);
        end = value_end(rest);
        value = str_trim(str_slice(rest, 0, end));
        rest = str_slice(rest, end, rest.len);
        if (!str_eq(name, key))
            continue;
        if (is_found)
            return false;
        is_found = true;
        *out_value = value;
    } while (rest.len > 0 && rest.ptr[0] == ',');
    return is_found;
}

/* A call is refused rather than ignored: somebody waits for its answer. */
static void read_unreadable(struct str data, const struct err *why, struct gateway_event *event)
{
    struct str type;
    struct str payload;
    struct str id;
    struct str tool;

    if (!find_member(data, STR("type"), &type) || !str_eq(type, STR("\"filesystem-request\"")) ||
        !find_member(data, STR("payload"), &payload) ||
        !find_member(payload, STR("requestId"), &id) || id.len < 2 || id.ptr[0] != '"' ||
        id.ptr[id.len - 1] != '"')
        return;
    id = str_slice(id, 1, id.len - 2);
    /* With an escape it would be another one. */
    if (!is_id(id) || memchr(id.ptr, '\\', id.len) != NULL || memchr(id.ptr, '"', id.len) != NULL)
        return;
    event->kind = GATEWAY_EVENT_BAD_CALL;
    event->call = (struct gateway_call){
        .id = id,
        .arguments = &NO_ARGUMENTS,
        .shape = find_member(payload, STR("toolCall"), &tool) ? GATEWAY_SHAPE_RESULT
                                                              : GATEWAY_SHAPE_DATA,
    };
    event->why = *why;
}

int gateway_event_parse(struct arena *arena, struct str name, struct str data,
                        struct gateway_event *out_event)
{
    const struct json_limits limits = {GATEWAY_MAX_EVENT_BYTES, GATEWAY_MAX_EVENT_DEPTH};
    const struct json_value *document;
    const struct json_value *payload;
    struct err why = ERR_INIT;
    struct str type;
    int r;

    *out_event = (struct gateway_event){.kind = GATEWAY_EVENT_NONE};
    if (!str_eq(name, STR("message")))
        return 0;
    r = json_parse(arena, data, limits, &document, &why);
    if (r == ERR_NO_MEMORY)
        return r;
    if (r < 0)
        read_unreadable(data, &why, out_event);
    if (r < 0 || !json_get_str(document, STR("type"), &type))
        return 0;
    if (str_eq(type, STR("gateway-disconnect"))) {
        out_event->kind = GATEWAY_EVENT_DISCONNECT;
        return 0;
    }
    payload = json_get(document, STR("payload"));
    if (payload != NULL)
        read_payload(type, payload, out_event);
    return 0;
}
