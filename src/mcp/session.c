/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

#include <assert.h>
#include <stdlib.h>

#include "protocol/requestid.h"

enum { CONSTANT_BYTES = 64 << 10 };

int mcp_session_new(const struct mcp_server *server, const struct mcp_host *host, void *data,
                    struct mcp_session **out_session)
{
    struct mcp_session *session = calloc(1, sizeof(*session));
    int r;

    if (session == NULL)
        return ERR_NO_MEMORY;
    session->server = server;
    session->host = host;
    session->data = data;
    /* Silence unless something is wrong, until the client says what it wants. */
    session->level = MCP_WARNING;
    session->call_ids.max = MCP_MAX_CALLS;
    session->watched.max = MCP_MAX_SUBSCRIPTIONS;
    session->stream_ids.max = MCP_MAX_STREAMS;
    list_init(&session->calls);
    list_init(&session->streams);
    mcp_stream_init(&session->legacy);
    buf_init(&session->server_info, CONSTANT_BYTES);
    buf_init(&session->capabilities, CONSTANT_BYTES);
    buf_init(&session->stamp, CONSTANT_BYTES);
    buf_init(&session->cacheable_stamp, CONSTANT_BYTES);
    buf_init(&session->out, mcp_session_max_message(session) + CONSTANT_BYTES);
    r = mcp_write_constants(session);
    if (r < 0) {
        mcp_session_free(session);
        return r;
    }
    *out_session = session;
    return 0;
}

static void message_free(struct mcp_message *message)
{
    if (message == NULL)
        return;
    arena_done(&message->arena);
    free(message);
}

void mcp_session_free(struct mcp_session *session)
{
    if (session == NULL)
        return;
    assert(!session->is_receiving && "a session is not freed from inside itself");
    while (!list_is_empty(&session->calls))
        mcp_call_detach(session, list_entry(session->calls.next, struct mcp_call, link));
    while (!list_is_empty(&session->streams))
        mcp_stream_close(session, list_entry(session->streams.next, struct mcp_stream, link));
    mcp_stream_clear(session, &session->legacy);
    map_done(&session->call_ids);
    map_done(&session->watched);
    map_done(&session->stream_ids);
    buf_done(&session->server_info);
    buf_done(&session->capabilities);
    buf_done(&session->stamp);
    buf_done(&session->cacheable_stamp);
    buf_done(&session->out);
    message_free(session->spare);
    free(session);
}

size_t mcp_session_max_message(const struct mcp_session *session)
{
    size_t max = session->server->max_message_bytes;

    if (max == 0)
        max = MCP_DEFAULT_MESSAGE_BYTES;
    return max < JSON_MAX_BYTES ? max : JSON_MAX_BYTES;
}

size_t mcp_session_call_count(const struct mcp_session *session)
{
    return session->call_count;
}

void mcp_message_count(struct mcp_session *session, struct mcp_message *message)
{
    session->held_bytes += message->arena.held - message->counted;
    message->counted = message->arena.held;
}

void mcp_message_unref(struct mcp_session *session, struct mcp_message *message)
{
    assert(message->users > 0);
    if (--message->users > 0)
        return;
    if (session != NULL) {
        session->held_bytes -= message->counted;
        message->counted = 0;
        if (session->spare == NULL) {
            arena_reset(&message->arena);
            session->spare = message;
            return;
        }
    }
    message_free(message);
}

/* An empty message with one user. */
static struct mcp_message *message_new(struct mcp_session *session)
{
    size_t max = session->server->max_held_bytes;
    struct mcp_message *message = steal_ptr(&session->spare);

    if (message == NULL)
        message = calloc(1, sizeof(*message));
    if (message == NULL)
        return NULL;
    if (max == 0)
        max = MCP_DEFAULT_HELD_BYTES;
    max = max > session->held_bytes ? max - session->held_bytes : 0;
    message->arena.max = max > MCP_SMALL_MESSAGE_BYTES ? max : MCP_SMALL_MESSAGE_BYTES;
    /* What the last one left behind must not count as over the ceiling. */
    if (message->arena.held > message->arena.max)
        arena_done(&message->arena);
    message->users = 1;
    return message;
}

static int parse(struct mcp_session *session, struct mcp_message *message, struct str bytes,
                 const struct json_value **out_document, struct err *err)
{
    struct json_limits limits = JSON_LIMITS_DEFAULT;
    char *copy;
    int r;

    limits.max_bytes = mcp_session_max_message(session);
    if (session->server->max_depth != 0)
        limits.max_depth = session->server->max_depth;
    if (bytes.len > limits.max_bytes)
        return err_set(err, ERR_TOO_LARGE, "the message is longer than %zu bytes",
                       limits.max_bytes);
    /* The transport needs its buffer back before the calls have ended. */
    copy = arena_copy(&message->arena, bytes);
    r = copy != NULL
            ? json_parse(&message->arena, (struct str){copy, bytes.len}, limits, out_document, err)
            : err_set_plain(err, message->arena.error);
    if (r == ERR_TOO_LARGE && session->held_bytes > 0)
        return err_set(err, ERR_BUSY, "the calls that wait hold %zu bytes already",
                       session->held_bytes);
    return r;
}

void mcp_session_refuse(struct mcp_session *session, struct str id, const struct err *err)
{
    /* Too large is the message here, not a parameter in it. */
    int code = err->code == ERR_TOO_LARGE ? JSONRPC_INVALID_REQUEST : err_rpc_code(err->code);

    mcp_answer_err_as(session, NULL, id, code, err);
}

/* Refused as a whole, but whoever waits for its answer gets one. */
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
    /* Any other is for somebody else, or of a later revision. */
}

static void take_document(struct mcp_session *session, struct mcp_message *message,
                          const struct json_value *document)
{
    struct jsonrpc_message rpc;
    struct err err = ERR_INIT;
    struct str id;
    int r = jsonrpc_read(&message->arena, document, &rpc, &id, &err);

    if (r < 0) {
        mcp_answer_err_as(session, NULL, id,
                          r == ERR_INVALID_ARGUMENT ? JSONRPC_INVALID_REQUEST : err_rpc_code(r),
                          &err);
        return;
    }
    switch (rpc.kind) {
    case JSONRPC_REQUEST:
        mcp_dispatch_request(session, message, &rpc);
        return;
    case JSONRPC_NOTIFICATION:
        take_notification(session, message, &rpc);
        return;
    case JSONRPC_RESPONSE:
        mcp_take_response(session, &rpc);
        return;
    }
}

/* Batches were in one revision only; elsewhere they are a mistake worth naming. */
static void take_batch(struct mcp_session *session, struct mcp_message *message,
                       const struct json_value *batch)
{
    struct err err = ERR_INIT;

    if (!session->is_initialized || session->revision != MCP_2025_03_26)
        err_set(&err, ERR_INVALID_ARGUMENT,
                "a batch of messages; this revision of MCP has one message at a time");
    else if (batch->size == 0 || batch->size > MCP_MAX_BATCH)
        err_set(&err, ERR_INVALID_ARGUMENT, "a batch has 1 to %d messages, not %u", MCP_MAX_BATCH,
                batch->size);
    if (err.code != 0) {
        mcp_answer_err_as(session, NULL, STR_EMPTY, JSONRPC_INVALID_REQUEST, &err);
        return;
    }
    json_each_item (document, batch)
        take_document(session, message, document);
}

void mcp_session_receive(struct mcp_session *session, struct str bytes)
{
    struct mcp_message *message;
    const struct json_value *document = NULL;
    struct err err = ERR_INIT;

    assert(!session->is_receiving && "the host does not hand over messages from inside a call");
    message = message_new(session);
    if (message == NULL) {
        err_set_plain(&err, ERR_NO_MEMORY);
        refuse_unread(session, bytes, &err);
        return;
    }
    session->is_receiving = true;
    if (parse(session, message, bytes, &document, &err) < 0 || document == NULL)
        refuse_unread(session, bytes, &err);
    else if (document->type == JSON_ARRAY)
        take_batch(session, message, document);
    else
        take_document(session, message, document);
    session->is_receiving = false;
    mcp_message_unref(session, message);
}

void mcp_session_end_streams(struct mcp_session *session)
{
    while (!list_is_empty(&session->streams)) {
        struct mcp_stream *stream = list_entry(session->streams.next, struct mcp_stream, link);
        struct str parts[] = {
            STR("{\"jsonrpc\":\"2.0\",\"id\":"),
            stream->id,
            STR(",\"result\":{\"resultType\":\"complete\",\"_meta\":{\"" MCP_META_SUBSCRIPTION
                "\":"),
            stream->id,
            STR(",\"" MCP_META_SERVER "\":"),
            buf_view(&session->server_info),
            STR("}}}"),
        };

        session->host->send(session->data, NULL, parts, array_size(parts));
        mcp_stream_close(session, stream);
    }
}
