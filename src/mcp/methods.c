/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

#include <stdio.h>

const struct json_value mcp_empty_object = {.type = JSON_OBJECT, .span = 1};

int mcp_need_str(const struct json_value *object, struct str key, size_t max, struct str *out_text,
                 struct err *err)
{
    char name[ERR_FIELD_BYTES];
    struct str text;

    snprintf(name, sizeof(name), "%.*s", STR_ARG(key));
    if (!json_get_str(object, key, &text))
        return err_set_field(err, ERR_INVALID_ARGUMENT, name, "\"%s\" is missing or no string",
                             name);
    if (text.len > max)
        return err_set_field(err, ERR_INVALID_ARGUMENT, name, "\"%s\" is longer than %zu bytes",
                             name, max);
    *out_text = text;
    return 0;
}

/* Leaves the cursor as it is when there is none. */
static int read_cursor(const struct mcp_request *request, struct str *out_cursor, struct err *err)
{
    if (json_get(request->params, STR("cursor")) == NULL)
        return 0;
    return mcp_need_str(request->params, STR("cursor"), MCP_CURSOR_BYTES, out_cursor, err);
}

/* A cursor of ours is the number of the first tool that was not sent. */
static int tools_list(struct mcp_session *session, const struct mcp_request *request,
                      struct err *err)
{
    const struct mcp_server *server = session->server;
    size_t page = server->page_size;
    struct str members[2 * MCP_MAX_PAGE + 8];
    char next[sizeof("],\"nextCursor\":\"\"") + 20];
    struct str cursor = STR_EMPTY;
    int64_t start = 0;
    size_t end;
    size_t n = 0;
    int r = read_cursor(request, &cursor, err);

    if (r < 0)
        return r;
    if (cursor.len > 0 &&
        (!str_to_int64(cursor, &start) || start <= 0 || (uint64_t)start >= server->tool_count))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "cursor", "no such cursor");
    if (page == 0 || page > MCP_MAX_PAGE)
        page = MCP_MAX_PAGE;
    end = server->tool_count - (size_t)start > page ? (size_t)start + page : server->tool_count;
    members[n++] = STR("\"tools\":[");
    for (size_t i = (size_t)start; i < end; i++) {
        if (i > (size_t)start)
            members[n++] = STR(",");
        members[n++] = server->tools[i]->listing;
    }
    if (end < server->tool_count) {
        snprintf(next, sizeof(next), "],\"nextCursor\":\"%zu\"", end);
        members[n++] = str_from(next);
    } else {
        members[n++] = STR("]");
    }
    mcp_answer_parts(session, NULL, request->id, mcp_stamp(session, request->is_modern, true),
                     members, n);
    return 0;
}

static const struct catalog_tool *find_tool(const struct mcp_server *server, struct str name)
{
    for (size_t i = 0; i < server->tool_count; i++) {
        if (str_eq(server->tools[i]->name, name))
            return server->tools[i];
    }
    return NULL;
}

static int tools_call(struct mcp_session *session, const struct mcp_request *request,
                      struct err *err)
{
    const struct json_value *arguments = json_get(request->params, STR("arguments"));
    const struct catalog_tool *tool;
    struct mcp_call *call;
    struct str name = STR_EMPTY;
    int r = mcp_need_str(request->params, STR("name"), SIZE_MAX, &name, err);

    if (r < 0)
        return r;
    tool = find_tool(session->server, name);
    if (tool == NULL)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "name", "no tool is called \"%.*s\"",
                             STR_ARG(str_slice(name, 0, 64)));
    if (arguments == NULL || arguments->type == JSON_NULL)
        arguments = &mcp_empty_object;
    if (arguments->type != JSON_OBJECT)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "arguments",
                             "\"arguments\" is not an object");
    call = mcp_call_new(session, request, MCP_TOOL_CALL, err);
    if (call == NULL)
        return err->code;
    call->tool = tool;
    call->arguments = arguments;
    return mcp_call_begin(session, call, err);
}

static int resources_list(struct mcp_session *session, const struct mcp_request *request,
                          struct err *err)
{
    struct mcp_call *call;
    struct str cursor = STR_EMPTY;
    int r = read_cursor(request, &cursor, err);

    if (r < 0)
        return r;
    call = mcp_call_new(session, request, MCP_RESOURCES_LIST, err);
    if (call == NULL)
        return err->code;
    call->cursor = cursor;
    call->is_cacheable = true;
    return mcp_call_begin(session, call, err);
}

static int templates_list(struct mcp_session *session, const struct mcp_request *request,
                          struct err *err)
{
    struct str templates = session->server->resource_templates;
    struct str members[] = {
        STR("\"resourceTemplates\":"),
        templates.len > 0 ? templates : STR("[]"),
    };
    struct str cursor = STR_EMPTY;
    int r = read_cursor(request, &cursor, err);

    if (r < 0)
        return r;
    if (cursor.len > 0)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "cursor", "no such cursor");
    mcp_answer_parts(session, NULL, request->id, mcp_stamp(session, request->is_modern, true),
                     members, array_size(members));
    return 0;
}

static int resources_read(struct mcp_session *session, const struct mcp_request *request,
                          struct err *err)
{
    struct mcp_call *call;
    struct str uri;
    int r = mcp_need_str(request->params, STR("uri"), MCP_MAX_URI_BYTES, &uri, err);

    if (r < 0)
        return r;
    call = mcp_call_new(session, request, MCP_RESOURCE_READ, err);
    if (call == NULL)
        return err->code;
    call->is_cacheable = true;
    return mcp_call_begin_about(session, call, uri, err);
}

static int read_reference(const struct mcp_request *request, struct str *out_uri, struct err *err)
{
    const struct json_value *reference = json_get(request->params, STR("ref"));
    struct str type;

    if (reference == NULL || !json_get_str(reference, STR("type"), &type))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "ref", "\"ref\" has no type");
    if (!str_eq(type, STR("ref/resource")))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "ref",
                             "only the arguments of resource templates can be completed");
    return mcp_need_str(reference, STR("uri"), MCP_MAX_URI_BYTES, out_uri, err);
}

static int complete(struct mcp_session *session, const struct mcp_request *request, struct err *err)
{
    const struct json_value *argument = json_get(request->params, STR("argument"));
    const struct json_value *context = json_get(request->params, STR("context"));
    struct mcp_call *call;
    struct str name;
    struct str value;
    struct str uri;
    int r = read_reference(request, &uri, err);

    if (r == 0)
        r = mcp_need_str(argument != NULL ? argument : &mcp_empty_object, STR("name"),
                         MCP_MAX_URI_BYTES, &name, err);
    if (r == 0)
        r = mcp_need_str(argument, STR("value"), MCP_MAX_URI_BYTES, &value, err);
    if (r < 0)
        return r;
    call = mcp_call_new(session, request, MCP_COMPLETE, err);
    if (call == NULL)
        return err->code;
    call->argument_name = name;
    call->argument_value = value;
    if (context != NULL)
        context = json_get(context, STR("arguments"));
    call->context = context != NULL && context->type == JSON_OBJECT ? context : NULL;
    return mcp_call_begin_about(session, call, uri, err);
}

enum {
    LEGACY = 1,
    MODERN = 2,
    BEFORE_INITIALIZE = 4,
};

enum feature {
    ALWAYS,
    RESOURCES,
    SUBSCRIPTIONS,
    COMPLETIONS,
    LOGGING,
};

static const struct method {
    struct str name;
    unsigned eras;
    enum feature feature;
    mcp_handler_fn *handle;
} methods[] = {
    {STR_LITERAL("completion/complete"), LEGACY | MODERN, COMPLETIONS, complete},
    {STR_LITERAL("initialize"), LEGACY | BEFORE_INITIALIZE, ALWAYS, mcp_initialize},
    {STR_LITERAL("logging/setLevel"), LEGACY, LOGGING, mcp_set_level},
    {STR_LITERAL("ping"), LEGACY | BEFORE_INITIALIZE, ALWAYS, mcp_ping},
    {STR_LITERAL("resources/list"), LEGACY | MODERN, RESOURCES, resources_list},
    {STR_LITERAL("resources/read"), LEGACY | MODERN, RESOURCES, resources_read},
    {STR_LITERAL("resources/subscribe"), LEGACY, SUBSCRIPTIONS, mcp_subscribe},
    {STR_LITERAL("resources/templates/list"), LEGACY | MODERN, RESOURCES, templates_list},
    {STR_LITERAL("resources/unsubscribe"), LEGACY, SUBSCRIPTIONS, mcp_unsubscribe},
    {STR_LITERAL("server/discover"), MODERN, ALWAYS, mcp_discover},
    {STR_LITERAL("subscriptions/listen"), MODERN, ALWAYS, mcp_listen},
    {STR_LITERAL("tools/call"), LEGACY | MODERN, ALWAYS, tools_call},
    {STR_LITERAL("tools/list"), LEGACY | MODERN, ALWAYS, tools_list},
};

static bool is_offered(const struct mcp_server *server, enum feature feature)
{
    switch (feature) {
    case ALWAYS:
        return true;
    case RESOURCES:
        return server->has_resources;
    case SUBSCRIPTIONS:
        return server->has_resources && server->has_subscriptions;
    case COMPLETIONS:
        return server->has_completions;
    case LOGGING:
        return server->has_logging;
    }
    return false;
}

static const struct method *find_method(const struct mcp_server *server, struct str name)
{
    for (size_t i = 0; i < array_size(methods); i++) {
        if (str_eq(methods[i].name, name))
            return is_offered(server, methods[i].feature) ? &methods[i] : NULL;
    }
    return NULL;
}

static int read_progress_token(struct mcp_request *request, struct err *err)
{
    const struct json_value *meta = json_get(request->params, STR("_meta"));
    const struct json_value *token;

    if (meta == NULL)
        return 0;
    if (meta->type != JSON_OBJECT)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "_meta", "\"_meta\" is not an object");
    token = json_get(meta, STR("progressToken"));
    if (token == NULL)
        return 0;
    if (jsonrpc_id_text(&request->message->arena, token, &request->progress_token, NULL) < 0)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "_meta.progressToken",
                             "a progress token is a string or an integer of at most %d bytes",
                             JSONRPC_MAX_ID_BYTES);
    return 0;
}

/* The method's turn, if this request may use it. */
static int handle(struct mcp_session *session, const struct mcp_request *request, struct str name,
                  struct err *err)
{
    const struct method *method = find_method(session->server, name);
    unsigned era = request->is_modern ? MODERN : LEGACY;

    if (method == NULL || (request->is_modern && (method->eras & MODERN) == 0)) {
        err_set(err, ERR_UNSUPPORTED, "no method is called \"%.*s\"",
                STR_ARG(str_slice(name, 0, 64)));
        mcp_answer_err_as(session, NULL, request->id, JSONRPC_METHOD_NOT_FOUND, err);
        return 0;
    }
    if ((method->eras & era) == 0)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "_meta",
                             "\"_meta\" must name the protocol version and the client's "
                             "capabilities");
    if (!request->is_modern && !session->is_initialized &&
        (method->eras & BEFORE_INITIALIZE) == 0) {
        err_set(err, ERR_INVALID_ARGUMENT, "\"initialize\" comes first");
        mcp_answer_err_as(session, NULL, request->id, JSONRPC_INVALID_REQUEST, err);
        return 0;
    }
    return method->handle(session, request, err);
}

void mcp_dispatch_request(struct mcp_session *session, struct mcp_message *message,
                          const struct jsonrpc_message *rpc)
{
    struct mcp_request request = {
        .message = message,
        .id = rpc->id,
        .params = rpc->params != NULL ? rpc->params : &mcp_empty_object,
        .progress_token = STR_EMPTY,
        .level = MCP_SILENT,
        .client = {session->client, session->client_len},
    };
    struct err err = ERR_INIT;
    int r;

    if (map_get(&session->call_ids, rpc->id) != NULL ||
        map_get(&session->stream_ids, rpc->id) != NULL) {
        err_set(&err, ERR_ALREADY_EXISTS, "another request with this id has not been answered yet");
        mcp_answer_err_as(session, NULL, rpc->id, JSONRPC_INVALID_REQUEST, &err);
        return;
    }
    request.is_modern = mcp_is_modern(request.params);
    r = read_progress_token(&request, &err);
    if (r == 0 && request.is_modern)
        r = mcp_read_envelope(session, &request, &err);
    if (r == 0)
        r = handle(session, &request, rpc->method, &err);
    if (r < 0)
        mcp_answer_err(session, NULL, rpc->id, &err);
}
