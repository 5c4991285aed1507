/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

#include <stdio.h>

enum { NAME_SHOWN_BYTES = 64 };

const struct json_value mcp_empty_object = {.type = JSON_OBJECT, .span = 1};

static int refuse_str(struct str key, size_t max, bool is_there, struct err *err)
{
    char name[ERR_FIELD_BYTES];

    snprintf(name, sizeof(name), "%.*s", STR_ARG(key));
    if (!is_there)
        return err_set_field(err, ERR_INVALID_ARGUMENT, name, "\"%s\" is missing or not a string",
                             name);
    return err_set_field(err, ERR_INVALID_ARGUMENT, name, "\"%s\" is longer than %zu bytes", name,
                         max);
}

int mcp_need_str(const struct json_value *object, struct str key, size_t max, struct str *out_text,
                 struct err *err)
{
    struct str text = STR_EMPTY;
    bool is_there = json_get_str(object, key, &text);

    if (!is_there || text.len > max)
        return refuse_str(key, max, is_there, err);
    *out_text = text;
    return 0;
}

int mcp_read_cursor(const struct mcp_envelope *request, struct str *out_cursor, struct err *err)
{
    if (json_get(request->params, STR("cursor")) == NULL)
        return 0;
    return mcp_need_str(request->params, STR("cursor"), MCP_CURSOR_BYTES, out_cursor, err);
}

static bool offers(void *service, const struct catalog_tool *tool)
{
    return mcp_service_find_tool(service, tool->name) == tool;
}

/* What the owner of the offer knows better than the catalogue; NULL: nothing. */
static const char *why_not(const struct mcp_offer *offer, struct str name)
{
    const struct catalog_tool *tool = catalog_find(name);

    if (tool == NULL)
        return NULL;
    if (offer->why_no_files != NULL &&
        (tool->group == CATALOG_FILESYSTEM_READ || tool->group == CATALOG_FILESYSTEM_WRITE))
        return offer->why_no_files;
    return offer->why_not;
}

/* Those of a workspace have a catalogue of their own: nothing that a user opens adds any. */
static bool is_catalogue(const struct mcp_offer *offer)
{
    return offer->tool_count == 0 ||
           catalog_find(offer->tools[0]->tool->name) == offer->tools[0]->tool;
}

static int refuse_unknown(const struct mcp_offer *offer, struct str name, struct err *err)
{
    char known[ERR_MESSAGE_BYTES];
    size_t len = 0;

    for (size_t i = 0; i < offer->tool_count && len < sizeof(known); i++)
        len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%.*s", i > 0 ? ", " : "",
                                STR_ARG(offer->tools[i]->tool->name));
    return err_set_field(err, ERR_INVALID_ARGUMENT, "name",
                         "unknown tool \"%.*s\"; the tools are %s",
                         str_print_length(str_slice(name, 0, NAME_SHOWN_BYTES)), name.ptr, known);
}

static int tools_call(struct mcp_session *session, const struct mcp_envelope *request,
                      struct err *err)
{
    const struct json_value *arguments = json_get(request->params, STR("arguments"));
    const struct catalog_tool *tool;
    struct mcp_call *call;
    struct str name = STR_EMPTY;
    const char *reason;
    int r = mcp_need_str(request->params, STR("name"), SIZE_MAX, &name, err);

    if (r < 0)
        return r;
    tool = mcp_service_find_tool(session->service, name);
    reason = tool == NULL ? why_not(&session->service->offer->offer, name) : NULL;
    if (reason != NULL)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "name", "%.*s is not offered: %s",
                             STR_ARG(name), reason);
    if (tool == NULL && !is_catalogue(&session->service->offer->offer))
        return refuse_unknown(&session->service->offer->offer, name, err);
    if (tool == NULL)
        return catalog_refuse(name, offers, session->service, ERR_INVALID_ARGUMENT, err);
    if (arguments == NULL || arguments->type == JSON_NULL)
        arguments = &mcp_empty_object;
    if (arguments->type != JSON_OBJECT)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "arguments",
                             "\"arguments\" is not an object");
    call = mcp_call_new(session, request, MCP_TOOL_CALL, err);
    if (call == NULL)
        return err->code;
    call->offer = session->service->offer;
    call->request.tool.tool = tool;
    call->request.tool.arguments = arguments;
    r = mcp_call_take_answers(session, call, request, err);
    return r < 0 ? r : mcp_call_begin(session, call, err);
}

static int resources_list(struct mcp_session *session, const struct mcp_envelope *request,
                          struct err *err)
{
    struct mcp_call *call;
    struct str cursor = STR_EMPTY;
    int r = mcp_read_cursor(request, &cursor, err);

    if (r < 0)
        return r;
    call = mcp_call_new(session, request, MCP_RESOURCES_LIST, err);
    if (call == NULL)
        return err->code;
    call->request.cursor = cursor;
    call->is_cacheable = true;
    return mcp_call_begin(session, call, err);
}

static int templates_list(struct mcp_session *session, const struct mcp_envelope *request,
                          struct err *err)
{
    struct str templates = session->server->resource_templates;
    struct str members[] = {
        STR("\"resourceTemplates\":"),
        templates.len > 0 ? templates : STR("[]"),
    };
    struct str cursor = STR_EMPTY;
    int r = mcp_read_cursor(request, &cursor, err);

    if (r < 0)
        return r;
    if (cursor.len > 0)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "cursor", "invalid cursor");
    mcp_answer_parts(session, NULL, request->id, mcp_stamp(session, request->is_modern, true),
                     members, array_size(members));
    return 0;
}

static int resources_read(struct mcp_session *session, const struct mcp_envelope *request,
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
    call->request.uri = uri;
    r = mcp_call_take_answers(session, call, request, err);
    return r < 0 ? r : mcp_call_begin(session, call, err);
}

enum {
    LEGACY = 1,
    MODERN = 2,
    BEFORE_INITIALIZE = 4,
};

enum feature {
    ALWAYS,
    PROMPTS,
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
    {STR_LITERAL("completion/complete"), LEGACY | MODERN, COMPLETIONS, mcp_complete},
    {STR_LITERAL("initialize"), LEGACY | BEFORE_INITIALIZE, ALWAYS, mcp_initialize},
    {STR_LITERAL("logging/setLevel"), LEGACY, LOGGING, mcp_set_level},
    {STR_LITERAL("ping"), LEGACY | BEFORE_INITIALIZE, ALWAYS, mcp_ping},
    {STR_LITERAL("prompts/get"), LEGACY | MODERN, PROMPTS, mcp_prompts_get},
    {STR_LITERAL("prompts/list"), LEGACY | MODERN, PROMPTS, mcp_prompts_list},
    {STR_LITERAL("resources/list"), LEGACY | MODERN, RESOURCES, resources_list},
    {STR_LITERAL("resources/read"), LEGACY | MODERN, RESOURCES, resources_read},
    {STR_LITERAL("resources/subscribe"), LEGACY, SUBSCRIPTIONS, mcp_subscribe},
    {STR_LITERAL("resources/templates/list"), LEGACY | MODERN, RESOURCES, templates_list},
    {STR_LITERAL("resources/unsubscribe"), LEGACY, SUBSCRIPTIONS, mcp_unsubscribe},
    {STR_LITERAL("server/discover"), MODERN, ALWAYS, mcp_discover},
    {STR_LITERAL("subscriptions/listen"), MODERN, ALWAYS, mcp_listen},
    {STR_LITERAL("tools/call"), LEGACY | MODERN, ALWAYS, tools_call},
    {STR_LITERAL("tools/list"), LEGACY | MODERN, ALWAYS, mcp_tools_list},
};

static bool is_offered(const struct mcp_server *server, enum feature feature)
{
    switch (feature) {
    case ALWAYS:
        return true;
    case PROMPTS:
        return server->has_prompts;
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

static int read_progress_token(struct mcp_envelope *request, struct err *err)
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
                             "progressToken must be a string or an integer of at most %d bytes",
                             JSONRPC_MAX_ID_BYTES);
    return 0;
}

/* The request itself is invalid, whatever it asks for. */
static int refuse(struct mcp_session *session, const struct mcp_envelope *request, int code,
                  int http_status, const struct err *err)
{
    mcp_answer_err_as(session, NULL, request->id, code, http_status, err);
    return 0;
}

static int refuse_envelope(struct mcp_session *session, const struct mcp_envelope *request,
                           struct err *err)
{
    err_set_field(err, ERR_INVALID_ARGUMENT, "_meta",
                  "\"_meta\" must have the protocol version and the client's capabilities");
    return refuse(session, request, JSONRPC_INVALID_PARAMS, MCP_HTTP_BAD_REQUEST, err);
}

/* Calls the method, if this request may use it. */
static int handle(struct mcp_session *session, const struct mcp_envelope *request, struct str name,
                  struct err *err)
{
    const struct method *method = find_method(session->server, name);

    if (session->is_stateless && !request->is_modern)
        return refuse_envelope(session, request, err);
    if (method == NULL || (request->is_modern && (method->eras & MODERN) == 0)) {
        err_set(err, ERR_UNSUPPORTED, "unknown method \"%.*s\"", STR_ARG(str_slice(name, 0, 64)));
        /* To a legacy client a 404 would say that its session is gone. */
        return refuse(session, request, JSONRPC_METHOD_NOT_FOUND,
                      request->is_modern ? MCP_HTTP_NOT_FOUND : MCP_HTTP_OK, err);
    }
    if (!request->is_modern && (method->eras & LEGACY) == 0)
        return refuse_envelope(session, request, err);
    if (!request->is_modern && !session->is_initialized &&
        (method->eras & BEFORE_INITIALIZE) == 0) {
        err_set(err, ERR_INVALID_ARGUMENT, "send \"initialize\" first");
        return refuse(session, request, JSONRPC_INVALID_REQUEST, MCP_HTTP_BAD_REQUEST, err);
    }
    return method->handle(session, request, err);
}

/* Reads what all requests have in common. */
static int read_request(struct mcp_session *session, struct mcp_envelope *request, struct err *err)
{
    int r;

    request->is_modern = mcp_is_modern(request->params);
    r = read_progress_token(request, err);
    if (r == 0 && request->is_modern)
        r = mcp_read_envelope(session, request, err);
    return r;
}

void mcp_dispatch_request(struct mcp_session *session, struct mcp_message *message,
                          const struct jsonrpc_message *rpc)
{
    struct mcp_envelope request = {
        .message = message,
        .id = rpc->id,
        .params = rpc->params != NULL ? rpc->params : &mcp_empty_object,
        .progress_token = STR_EMPTY,
        .level = MCP_SILENT,
    };
    struct err err = ERR_INIT;
    int r;

    if (map_get(&session->call_ids, rpc->id) != NULL ||
        map_get(&session->stream_ids, rpc->id) != NULL) {
        err_set(&err, ERR_ALREADY_EXISTS, "another request with this id is still pending");
        refuse(session, &request, JSONRPC_INVALID_REQUEST, MCP_HTTP_BAD_REQUEST, &err);
        return;
    }
    r = read_request(session, &request, &err);
    if (r < 0) {
        refuse(session, &request, err_rpc_code(r),
               request.is_modern || session->is_stateless ? MCP_HTTP_BAD_REQUEST : MCP_HTTP_OK,
               &err);
        return;
    }
    if (r == 0)
        r = handle(session, &request, rpc->method, &err);
    if (r < 0)
        mcp_answer_err(session, NULL, rpc->id, &err);
}
