/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

#include <assert.h>

/* Size of the output buffer kept between messages. */
enum { KEPT_OUT_BYTES = 64 << 10 };

/* An answer belongs to its call, or to the message being handled. */
static struct mcp_outgoing answer_to(const struct mcp_session *session, const struct mcp_call *call,
                                     struct str id)
{
    return (struct mcp_outgoing){
        .kind = MCP_SENT_RESULT,
        .origin = call != NULL ? call->origin : session->origin,
        .call = call,
        .id = id,
        .http_status = MCP_HTTP_OK,
    };
}

/* The empty buffer for the next message. */
static struct buf *fresh_out(struct mcp_session *session)
{
    struct buf *out = &session->service->out;

    if (out->capacity > KEPT_OUT_BYTES)
        buf_done(out);
    buf_clear(out);
    return out;
}

const struct buf *mcp_stamp(const struct mcp_session *session, bool is_modern, bool is_cacheable)
{
    if (!is_modern)
        return NULL;
    return is_cacheable ? &session->service->cacheable_stamp : &session->service->stamp;
}

/* An object without its braces and surrounding space. */
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
    const struct mcp_outgoing about = answer_to(session, call, id);
    __attribute__((uninitialized)) struct str parts[2 * MCP_MAX_PAGE + 16]; /* n of them are made */
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
    session->host->send(session->data, &about, parts, n);
}

void mcp_answer_error(struct mcp_session *session, const struct mcp_call *call, struct str id,
                      int code, int http_status, struct str message, struct str data)
{
    struct mcp_outgoing about = answer_to(session, call, id);
    struct buf *out = fresh_out(session);
    struct str view;

    about.kind = MCP_SENT_ERROR;
    about.rpc_code = code;
    about.http_status = http_status;
    if (jsonrpc_write_error(out, id, code, message, data) == 0) {
        view = buf_view(out);
        session->host->send(session->data, &about, &view, 1);
        return;
    }
    /* No memory for words: an answer there must be, or the client waits for ever. */
    if (id.len > 0) {
        struct str parts[] = {
            STR("{\"jsonrpc\":\"2.0\",\"id\":"),
            id,
            STR(",\"error\":{\"code\":-32603,\"message\":\"out of memory\"}}"),
        };

        about.rpc_code = JSONRPC_INTERNAL_ERROR;
        session->host->send(session->data, &about, parts, array_size(parts));
    }
}

void mcp_answer_err_as(struct mcp_session *session, const struct mcp_call *call, struct str id,
                       int code, int http_status, const struct err *err)
{
    cleanup_buf struct buf data = BUF_INIT(8 * (size_t)ERR_MESSAGE_BYTES);

    if (jsonrpc_write_err_data(&data, err) < 0)
        buf_clear(&data);
    mcp_answer_error(session, call, id, code, http_status,
                     str_from(err->message[0] != '\0' ? err->message : err_text(err->code)),
                     buf_view(&data));
}

void mcp_answer_err(struct mcp_session *session, const struct mcp_call *call, struct str id,
                    const struct err *err)
{
    mcp_answer_err_as(session, call, id, err_rpc_code(err->code), MCP_HTTP_OK, err);
}

/* Not an answer: a notification without an id, a question with one. */
static int send_unasked(struct mcp_session *session, const struct mcp_outgoing *about,
                        struct str id, struct str method, struct str params)
{
    struct buf *out = fresh_out(session);
    struct str view;
    int r = jsonrpc_write_request(out, id, method, params);

    if (r < 0)
        return r;
    view = buf_view(out);
    session->host->send(session->data, about, &view, 1);
    return 0;
}

void mcp_notify(struct mcp_session *session, const struct mcp_call *call, struct str method,
                struct str params)
{
    const struct mcp_outgoing about = {
        .kind = MCP_SENT_NOTIFICATION,
        .origin = call != NULL ? call->origin : 0,
        .call = call,
        .id = STR_EMPTY,
        .http_status = MCP_HTTP_OK,
    };

    /* Without memory it is lost, but nobody waits for it. */
    send_unasked(session, &about, STR_EMPTY, method, params);
}

void mcp_notify_stream(struct mcp_session *session, const struct mcp_stream *stream,
                       struct str method, struct str params)
{
    const struct mcp_outgoing about = {
        .kind = MCP_SENT_NOTIFICATION,
        .origin = stream->origin,
        .id = STR_EMPTY,
        .http_status = MCP_HTTP_OK,
    };

    send_unasked(session, &about, STR_EMPTY, method, params);
}

int mcp_send_question(struct mcp_session *session, const struct mcp_call *call, struct str id,
                      struct str method, struct str params)
{
    const struct mcp_outgoing about = {
        .kind = MCP_SENT_QUESTION,
        .origin = call != NULL ? call->origin : 0,
        .call = call,
        .id = STR_EMPTY,
        .http_status = MCP_HTTP_OK,
    };

    return send_unasked(session, &about, id, method, params);
}

void mcp_end_stream(struct mcp_session *session, const struct mcp_stream *stream)
{
    const struct mcp_outgoing about = {
        .kind = MCP_SENT_RESULT,
        .origin = stream->origin,
        .id = stream->id,
        .http_status = MCP_HTTP_OK,
    };
    struct str parts[] = {
        STR("{\"jsonrpc\":\"2.0\",\"id\":"),
        stream->id,
        STR(",\"result\":{\"resultType\":\"complete\",\"_meta\":{\"" MCP_META_SUBSCRIPTION "\":"),
        stream->id,
        STR(",\"" MCP_META_SERVER "\":"),
        buf_view(&session->service->server_info),
        STR("}}}"),
    };

    session->host->send(session->data, &about, parts, array_size(parts));
}
