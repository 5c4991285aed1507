/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

#include <assert.h>

#include "base/jsonwrite.h"

/* What the session keeps of its output buffer between messages. */
enum { KEPT_OUT_BYTES = 64 << 10 };

static void send_parts(struct mcp_session *session, const struct mcp_call *call,
                       const struct str *parts, size_t count)
{
    session->host->send(session->data, call, parts, count);
}

/* The buffer for the next message, empty. */
static struct buf *fresh_out(struct mcp_session *session)
{
    if (session->out.capacity > KEPT_OUT_BYTES)
        buf_done(&session->out);
    buf_clear(&session->out);
    return &session->out;
}

const struct buf *mcp_stamp(const struct mcp_session *session, bool is_modern, bool is_cacheable)
{
    if (!is_modern)
        return NULL;
    return is_cacheable ? &session->cacheable_stamp : &session->stamp;
}

/* An object without its braces and the space inside them. */
static struct str members_of(struct str object)
{
    assert(object.len >= 2 && object.ptr[0] == '{' && object.ptr[object.len - 1] == '}');
    return str_trim((struct str){object.ptr + 1, object.len - 2});
}

void mcp_answer(struct mcp_session *session, const struct mcp_call *call, struct str id,
                const struct buf *stamp, struct str object)
{
    struct str members = members_of(object);

    mcp_answer_parts(session, call, id, stamp, &members, members.len > 0 ? 1 : 0);
}

void mcp_answer_parts(struct mcp_session *session, const struct mcp_call *call, struct str id,
                      const struct buf *stamp, const struct str *members, size_t count)
{
    struct str parts[2 * MCP_MAX_PAGE + 16];
    size_t n = 0;

    assert(count + 8 <= array_size(parts));
    parts[n++] = STR("{\"jsonrpc\":\"2.0\",\"id\":");
    parts[n++] = id;
    parts[n++] = STR(",\"result\":{");
    if (stamp != NULL)
        parts[n++] = buf_view(stamp);
    if (stamp != NULL && count > 0)
        parts[n++] = STR(",");
    for (size_t i = 0; i < count; i++)
        parts[n++] = members[i];
    parts[n++] = STR("}}");
    send_parts(session, call, parts, n);
}

void mcp_answer_error(struct mcp_session *session, const struct mcp_call *call, struct str id,
                      int code, struct str message, struct str data)
{
    struct buf *out = fresh_out(session);
    struct str view;

    if (jsonrpc_write_error(out, id, code, message, data) == 0) {
        view = buf_view(out);
        send_parts(session, call, &view, 1);
        return;
    }
    /* No memory for words: an answer there must be, or the client waits for ever. */
    if (id.len > 0) {
        struct str parts[] = {
            STR("{\"jsonrpc\":\"2.0\",\"id\":"),
            id,
            STR(",\"error\":{\"code\":-32603,\"message\":\"out of memory\"}}"),
        };

        send_parts(session, call, parts, array_size(parts));
    }
}

void mcp_answer_err_as(struct mcp_session *session, const struct mcp_call *call, struct str id,
                       int code, const struct err *err)
{
    cleanup_buf struct buf data = BUF_INIT(8 * (size_t)ERR_MESSAGE_BYTES);

    if (jsonrpc_write_err_data(&data, err) < 0)
        buf_clear(&data);
    mcp_answer_error(session, call, id, code,
                     str_from(err->message[0] != '\0' ? err->message : err_text(err->code)),
                     buf_view(&data));
}

void mcp_answer_err(struct mcp_session *session, const struct mcp_call *call, struct str id,
                    const struct err *err)
{
    mcp_answer_err_as(session, call, id, err_rpc_code(err->code), err);
}

void mcp_notify(struct mcp_session *session, const struct mcp_call *call, struct str method,
                struct str params)
{
    struct buf *out = fresh_out(session);
    struct str view;

    /* A notification that finds no memory is lost, which nobody waits for. */
    if (jsonrpc_write_notification(out, method, params) < 0)
        return;
    view = buf_view(out);
    send_parts(session, call, &view, 1);
}

static void write_member(struct json_writer *writer, struct str key, struct str text)
{
    if (text.len == 0)
        return;
    json_key(writer, key);
    json_write_str(writer, text);
}

static int write_server_info(const struct mcp_server *server, struct buf *out)
{
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    write_member(&writer, STR("name"), server->name);
    write_member(&writer, STR("title"), server->title);
    json_key(&writer, STR("version"));
    json_write_str(&writer, server->version);
    json_end_object(&writer);
    return json_writer_finish(&writer);
}

static void write_empty_object(struct json_writer *writer, struct str key)
{
    json_key(writer, key);
    json_begin_object(writer);
    json_end_object(writer);
}

static int write_capabilities(const struct mcp_server *server, struct buf *out)
{
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    write_empty_object(&writer, STR("tools"));
    if (server->has_resources) {
        json_key(&writer, STR("resources"));
        json_begin_object(&writer);
        if (server->has_subscriptions) {
            json_key(&writer, STR("subscribe"));
            json_write_bool(&writer, true);
        }
        if (server->has_list_changes) {
            json_key(&writer, STR("listChanged"));
            json_write_bool(&writer, true);
        }
        json_end_object(&writer);
    }
    if (server->has_completions)
        write_empty_object(&writer, STR("completions"));
    if (server->has_logging)
        write_empty_object(&writer, STR("logging"));
    json_end_object(&writer);
    return json_writer_finish(&writer);
}

int mcp_write_constants(struct mcp_session *session)
{
    int r = write_server_info(session->server, &session->server_info);

    if (r == 0)
        r = write_capabilities(session->server, &session->capabilities);
    if (r == 0)
        r = buf_printf(&session->stamp,
                       "\"resultType\":\"complete\",\"_meta\":{\"" MCP_META_SERVER "\":%.*s}",
                       STR_ARG(buf_view(&session->server_info)));
    /* Nothing here is costly to ask for again, and files change behind our back. */
    if (r == 0)
        r = buf_printf(&session->cacheable_stamp, "%.*s,\"ttlMs\":0,\"cacheScope\":\"private\"",
                       STR_ARG(buf_view(&session->stamp)));
    return r;
}
