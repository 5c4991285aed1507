/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

#include <assert.h>
#include <stdlib.h>

#include "protocol/requestid.h"

int mcp_session_new(struct mcp_service *service, const struct mcp_session_config *config,
                    struct mcp_session **out_session)
{
    struct mcp_session *session = calloc(1, sizeof(*session));

    if (session == NULL)
        return ERR_NO_MEMORY;
    session->service = service;
    session->server = service->server;
    session->host = service->host;
    session->data = config->data;
    session->principal = config->principal;
    session->is_stateless = config->is_stateless;
    /* Only warnings, until the client sets a level. */
    session->level = MCP_WARNING;
    session->call_ids.max = MCP_MAX_CALLS;
    session->questions.max = MCP_MAX_OPEN_QUESTIONS;
    session->watched.max = MCP_MAX_SUBSCRIPTIONS;
    session->stream_ids.max = MCP_MAX_STREAMS;
    list_init(&session->calls);
    list_init(&session->streams);
    mcp_stream_init(&session->legacy);
    list_append(&service->sessions, &session->link);
    *out_session = session;
    return 0;
}

void mcp_session_free(struct mcp_session *session)
{
    if (session == NULL)
        return;
    assert(!session->is_receiving && "a session is not freed from inside itself");
    list_remove(&session->link);
    while (!list_is_empty(&session->calls))
        mcp_call_detach(session, list_entry(session->calls.next, struct mcp_call, link));
    while (!list_is_empty(&session->streams))
        mcp_stream_close(session, list_entry(session->streams.next, struct mcp_stream, link));
    mcp_stream_clear(session, &session->legacy);
    map_done(&session->call_ids);
    map_done(&session->questions);
    map_done(&session->watched);
    map_done(&session->stream_ids);
    free(session);
}

size_t mcp_session_call_count(const struct mcp_session *session)
{
    return session->call_count;
}

static int refusal_code(const struct err *err)
{
    switch (err->code) {
    case ERR_TOO_LARGE: /* the message here, not a parameter in it */
    case ERR_INVALID_ARGUMENT:
        return JSONRPC_INVALID_REQUEST;
    case ERR_HEADER_MISMATCH:
        return MCP_HEADER_MISMATCH;
    default:
        return err_rpc_code(err->code);
    }
}

void mcp_session_refuse(struct mcp_session *session, struct str id, const struct err *err)
{
    mcp_answer_err_as(session, NULL, id, refusal_code(err), err_http_status(err->code), err);
}

int mcp_write_refusal(struct buf *out, struct str id, const struct err *err)
{
    cleanup_buf struct buf data = BUF_INIT(8 * (size_t)ERR_MESSAGE_BYTES);
    int r = jsonrpc_write_err_data(&data, err);

    if (r < 0)
        return r;
    return jsonrpc_write_error(
        out, id, refusal_code(err),
        str_from(err->message[0] != '\0' ? err->message : err_text(err->code)), buf_view(&data));
}

/* Refuses it as a whole, but answers its id if there is one. */
static void refuse_unread(struct mcp_session *session, struct str bytes, const struct err *err)
{
    struct requestid scan;

    requestid_init(&scan);
    requestid_feed(&scan, bytes);
    mcp_session_refuse(session, requestid_end(&scan), err);
}

static void cancel_request(struct mcp_session *session, struct mcp_message *message,
                           const struct json_value *params)
{
    const struct json_value *id = params != NULL ? json_get(params, STR("requestId")) : NULL;
    struct mcp_call *call;
    struct mcp_stream *stream;
    struct str text;

    if (id == NULL || jsonrpc_id_text(&message->arena, id, &text, NULL) < 0)
        return;
    call = map_get(&session->call_ids, text);
    stream = map_get(&session->stream_ids, text);
    if (call != NULL)
        mcp_call_cancel(session, call);
    else if (stream != NULL)
        mcp_stream_close(session, stream);
}

static void take_notification(struct mcp_session *session, struct mcp_message *message,
                              const struct jsonrpc_message *rpc)
{
    if (str_eq(rpc->method, STR("notifications/cancelled")))
        cancel_request(session, message, rpc->params);
    else if (str_eq(rpc->method, STR("notifications/initialized")) ||
             str_eq(rpc->method, STR("notifications/roots/list_changed")))
        mcp_ask_for_roots(session);
    /* Any other is for another recipient, or of a later revision. */
}

static void take_one(struct mcp_session *session, struct mcp_message *message,
                     const struct jsonrpc_message *rpc)
{
    switch (rpc->kind) {
    case JSONRPC_REQUEST:
        mcp_dispatch_request(session, message, rpc);
        return;
    case JSONRPC_NOTIFICATION:
        take_notification(session, message, rpc);
        return;
    case JSONRPC_RESPONSE:
        mcp_take_response(session, message, rpc);
        return;
    }
}

/* Only one revision has batches; in others they are an error worth naming. */
static int check_batch(const struct mcp_session *session, const struct json_value *batch,
                       struct err *err)
{
    if (!session->is_initialized || session->revision != MCP_2025_03_26)
        return err_set(
            err, ERR_INVALID_ARGUMENT,
            "batches are not supported in this version of MCP; send one message at a time");
    if (batch->size == 0 || batch->size > MCP_MAX_BATCH)
        return err_set(err, ERR_INVALID_ARGUMENT, "a batch must have 1 to %d messages, not %u",
                       MCP_MAX_BATCH, batch->size);
    return 0;
}

bool mcp_session_splits(const struct mcp_session *session, const struct mcp_message *message)
{
    return message->kind == MCP_BATCH && check_batch(session, message->document, NULL) == 0;
}

static void take_batch(struct mcp_session *session, struct mcp_message *message)
{
    const struct json_value *batch = message->document;
    struct err err = ERR_INIT;

    if (check_batch(session, batch, &err) < 0) {
        mcp_session_refuse(session, STR_EMPTY, &err);
        return;
    }
    json_each_item (document, batch) {
        struct jsonrpc_message rpc;
        struct str id;

        if (jsonrpc_read(&message->arena, document, &rpc, &id, &err) < 0)
            mcp_session_refuse(session, id, &err);
        else
            take_one(session, message, &rpc);
    }
}

/* Handles everything except unreadable messages. */
static void take(struct mcp_session *session, struct mcp_message *message)
{
    if (message->kind == MCP_BATCH)
        take_batch(session, message);
    else
        take_one(session, message, &message->rpc);
}

void mcp_session_receive(struct mcp_session *session, struct str bytes)
{
    size_t max = mcp_max_held_bytes(session->server);
    struct mcp_message *message;
    struct err err = ERR_INIT;

    assert(!session->is_receiving && "the host does not hand over messages from inside a call");
    message = mcp_message_read(session->service, bytes,
                               max > session->held_bytes ? max - session->held_bytes : 0, &err);
    session->is_receiving = true;
    if (message != NULL && message->kind != MCP_UNREADABLE) {
        take(session, message);
    } else if (message != NULL && message->document != NULL) {
        mcp_session_refuse(session, message->rpc.id, &err);
    } else {
        /* It would have fitted without the others. */
        if (err.code == ERR_TOO_LARGE && session->held_bytes > 0 &&
            bytes.len <= mcp_max_message_bytes(session->server))
            mcp_check_held(session, max, &err);
        refuse_unread(session, bytes, &err);
    }
    session->is_receiving = false;
    if (message != NULL)
        mcp_message_unref(session, message);
}

void mcp_session_take(struct mcp_session *session, struct mcp_message *message, uint64_t origin)
{
    assert(!session->is_receiving && "the host does not hand over messages from inside a call");
    session->is_receiving = true;
    session->origin = origin;
    message->origin = origin;
    if (message->kind == MCP_UNREADABLE)
        mcp_session_refuse(session, mcp_message_id(message), &message->unread->err);
    else
        take(session, message);
    session->origin = 0;
    session->is_receiving = false;
    mcp_message_unref(session, message);
}

bool mcp_session_is_waiting(const struct mcp_session *session, uint64_t origin)
{
    list_each (node, &session->calls) {
        const struct mcp_call *call = list_entry(node, struct mcp_call, link);

        if (!call->is_cancelled && (origin == 0 || call->origin == origin))
            return true;
    }
    list_each (node, &session->streams) {
        if (origin == 0 || list_entry(node, struct mcp_stream, link)->origin == origin)
            return true;
    }
    return false;
}

void *mcp_session_data(const struct mcp_session *session)
{
    return session->data;
}

void mcp_session_end_streams(struct mcp_session *session)
{
    while (!list_is_empty(&session->streams)) {
        struct mcp_stream *stream = list_entry(session->streams.next, struct mcp_stream, link);

        mcp_end_stream(session, stream);
        mcp_stream_close(session, stream);
    }
}
