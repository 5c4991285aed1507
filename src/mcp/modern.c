/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

#include <stdio.h>

#include "base/jsonwrite.h"
#include "base/utf8.h"

bool mcp_is_modern(const struct json_value *params)
{
    const struct json_value *meta = json_get(params, STR("_meta"));

    return meta != NULL && json_get(meta, STR(MCP_META_VERSION)) != NULL;
}

static void refuse_version(struct mcp_session *session, const struct mcp_envelope *request,
                           struct str asked)
{
    cleanup_buf struct buf data = BUF_INIT(64 << 10);
    struct json_writer writer;
    struct err err = ERR_INIT;

    /* A revision is a date; what is longer is not worth repeating. */
    asked = str_slice(asked, 0, 64);
    json_writer_init(&writer, &data);
    json_begin_object(&writer);
    json_key(&writer, STR("supported"));
    json_begin_array(&writer);
    json_write_str(&writer, STR(MCP_MODERN_REVISION));
    json_end_array(&writer);
    json_key(&writer, STR("requested"));
    json_write_str_lossy(&writer, asked);
    json_end_object(&writer);
    if (json_writer_finish(&writer) < 0)
        buf_clear(&data);
    err_set(&err, ERR_UNSUPPORTED, "protocol version \"%.*s\" is not supported", STR_ARG(asked));
    mcp_answer_error(session, NULL, request->id, MCP_UNSUPPORTED_VERSION, MCP_HTTP_BAD_REQUEST,
                     str_from(err.message), buf_view(&data));
}

static int read_client(const struct json_value *info, struct str *out_name, struct err *err)
{
    struct str version;

    if (info != NULL && (!json_get_str(info, STR("name"), out_name) ||
                         !json_get_str(info, STR("version"), &version)))
        return err_set_field(err, ERR_INVALID_ARGUMENT, MCP_META_CLIENT,
                             "clientInfo must have a name and a version");
    *out_name = utf8_cut(*out_name, MCP_CLIENT_BYTES - 1);
    return 0;
}

int mcp_read_envelope(struct mcp_session *session, struct mcp_envelope *request, struct err *err)
{
    const struct json_value *meta = json_get(request->params, STR("_meta"));
    const struct json_value *capabilities = json_get(meta, STR(MCP_META_CAPABILITIES));
    const struct json_value *level = json_get(meta, STR(MCP_META_LEVEL));
    struct str version;
    int r = mcp_need_str(meta, STR(MCP_META_VERSION), SIZE_MAX, &version, err);

    if (r < 0)
        return r;
    /* Before the rest: another revision may have another envelope. */
    if (!str_eq(version, STR(MCP_MODERN_REVISION))) {
        refuse_version(session, request, version);
        return 1;
    }
    if (capabilities == NULL || capabilities->type != JSON_OBJECT)
        return err_set_field(err, ERR_INVALID_ARGUMENT, MCP_META_CAPABILITIES,
                             "\"_meta\" has no \"" MCP_META_CAPABILITIES "\"");
    request->capabilities = capabilities;
    if (level != NULL &&
        (level->type != JSON_STRING || !mcp_level_from(json_str(level), &request->level)))
        return err_set_field(err, ERR_INVALID_ARGUMENT, MCP_META_LEVEL, "unknown log level");
    return read_client(json_get(meta, STR(MCP_META_CLIENT)), &request->client, err);
}

int mcp_discover(struct mcp_session *session, const struct mcp_envelope *request, struct err *err)
{
    struct str instructions = session->server->instructions;
    cleanup_buf struct buf result = BUF_INIT(1 << 20);
    struct json_writer writer;
    int r;

    json_writer_init(&writer, &result);
    json_begin_object(&writer);
    json_key(&writer, STR("supportedVersions"));
    json_begin_array(&writer);
    json_write_str(&writer, STR(MCP_MODERN_REVISION));
    json_end_array(&writer);
    json_key(&writer, STR("capabilities"));
    json_splice(&writer, buf_view(&session->service->capabilities));
    if (instructions.len > 0) {
        json_key(&writer, STR("instructions"));
        json_write_str(&writer, instructions);
    }
    json_end_object(&writer);
    r = json_writer_finish(&writer);
    if (r < 0)
        return err_set_plain(err, r);
    mcp_answer(session, NULL, request->id, mcp_stamp(session, true, true), buf_view(&result));
    return 0;
}

/* An optional boolean; anything else is an error. */
static int read_wish(const struct json_value *filter, struct str key, bool *out_is_wanted,
                     struct err *err)
{
    const struct json_value *wish = json_get(filter, key);
    char name[ERR_FIELD_BYTES];

    if (wish != NULL && wish->type != JSON_BOOL) {
        snprintf(name, sizeof(name), "notifications.%.*s", STR_ARG(key));
        return err_set_field(err, ERR_INVALID_ARGUMENT, name, "\"%.*s\" is not a boolean",
                             STR_ARG(key));
    }
    *out_is_wanted = wish != NULL && wish->integer != 0;
    return 0;
}

static int read_uris(const struct mcp_session *session, struct mcp_call *call,
                     const struct json_value *uris, struct err *err)
{
    static const char field[] = "notifications.resourceSubscriptions";

    if (uris == NULL)
        return 0;
    if (uris->type != JSON_ARRAY)
        return err_set_field(err, ERR_INVALID_ARGUMENT, field, "not an array of URIs");
    json_each_item (uri, uris) {
        if (uri->type != JSON_STRING || uri->size > MCP_MAX_URI_BYTES)
            return err_set_field(err, ERR_INVALID_ARGUMENT, field,
                                 "a URI must be a string of at most %d bytes", MCP_MAX_URI_BYTES);
    }
    if (!session->server->has_resources || !session->server->has_subscriptions)
        return 0;
    if (uris->size + session->interest_count + session->reserved_interests > MCP_MAX_SUBSCRIPTIONS)
        return err_set(err, ERR_BUSY, "at most %d subscriptions are allowed",
                       MCP_MAX_SUBSCRIPTIONS);
    call->request.subscribe.uris =
        arena_alloc_array(&call->message->arena, uris->size, sizeof(struct str));
    if (call->request.subscribe.uris == NULL)
        return err_set_plain(err, call->message->arena.error);
    json_each_item (uri, uris)
        call->request.subscribe.uris[call->request.subscribe.count++] = json_str(uri);
    return 0;
}

/* What was requested and is available; the acknowledgement says which. */
static int read_filter(const struct mcp_session *session, const struct mcp_envelope *request,
                       struct mcp_call *call, struct err *err)
{
    const struct json_value *filter = json_get(request->params, STR("notifications"));

    if (filter == NULL || filter->type != JSON_OBJECT)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "notifications",
                             "\"notifications\" is missing or not an object");
    for (enum mcp_list list = 0; list < MCP_LISTS; list++) {
        bool is_wanted = false;
        int r = read_wish(filter, mcp_list_filter(list), &is_wanted, err);

        if (r < 0)
            return r;
        if (is_wanted)
            call->lists |= 1U << list;
    }
    call->lists &= mcp_changing_lists(session->server);
    return read_uris(session, call, json_get(filter, STR("resourceSubscriptions")), err);
}

int mcp_listen(struct mcp_session *session, const struct mcp_envelope *request, struct err *err)
{
    struct mcp_call *call;
    int r;

    if (session->stream_count >= MCP_MAX_STREAMS)
        return err_set(err, ERR_BUSY, "%d streams are already open", MCP_MAX_STREAMS);
    call = mcp_call_new(session, request, MCP_SUBSCRIBE, err);
    if (call == NULL)
        return err->code;
    call->is_listen = true;
    r = read_filter(session, request, call, err);
    if (r < 0)
        return r;
    return mcp_call_begin(session, call, err);
}
