/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/http.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "mcp/http_internal.h"
#include "net/http/http.h"

enum { REFUSAL_BYTES = 4 << 10 };

#define JSON_TYPE   STR("application/json")
#define EVENTS_TYPE STR("text/event-stream")

/* ---- refusing ---- */

static void answer_refusal(struct exchange *exchange, int status, struct str id,
                           const struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(REFUSAL_BYTES);
    struct str body = STR_EMPTY;

    if (mcp_write_refusal(&text, id, err) == 0)
        body = buf_view(&text);
    exchange_answer(exchange,
                    &(struct http_answer){
                        .status = status, .type = JSON_TYPE, .parts = &body, .part_count = 1});
}

void mcp_http_refuse(struct exchange *exchange, int status, int error, const char *words)
{
    struct err err = ERR_INIT;

    err_set(&err, error, "%s", words);
    answer_refusal(exchange, status, STR_EMPTY, &err);
}

/* Same for a message whose id is known. */
static void refuse_message(struct exchange *exchange, const struct mcp_message *message,
                           const struct err *err)
{
    answer_refusal(exchange, 400, mcp_message_id(message), err);
}

void mcp_http_challenge(struct exchange *exchange, int error, bool had_token, struct str metadata)
{
    cleanup_buf struct buf challenge = BUF_INIT(REFUSAL_BYTES);
    struct http_field field = {.name = STR("WWW-Authenticate"), .value = STR("Bearer")};
    struct str body = STR("{\"error\":\"a bearer token is required\"}");
    int r = buf_append_str(&challenge, STR("Bearer"));
    bool has_more = false;

    if (r == 0 && had_token) {
        r = buf_append_str(&challenge, error == ERR_SCOPE_MISSING
                                           ? STR(" error=\"insufficient_scope\"")
                                           : STR(" error=\"invalid_token\""));
        body = error == ERR_SCOPE_MISSING
                   ? STR("{\"error\":\"the token does not allow this\"}")
                   : STR("{\"error\":\"unknown token, or one that was revoked: "
                         "your user can give you another\"}");
        has_more = true;
    }
    if (r == 0 && metadata.len > 0) {
        r = buf_append_str(&challenge,
                           has_more ? STR(", resource_metadata=\"") : STR(" resource_metadata=\""));
        if (r == 0)
            r = buf_append_str(&challenge, metadata);
        if (r == 0)
            r = buf_append_char(&challenge, '"');
    }
    if (r == 0)
        field.value = buf_view(&challenge);
    exchange_answer(exchange,
                    &(struct http_answer){.status = error == ERR_SCOPE_MISSING ? 403 : 401,
                                          .type = JSON_TYPE,
                                          .fields = &field,
                                          .field_count = 1,
                                          .parts = &body,
                                          .part_count = 1});
}

/* ---- who comes ---- */

/* "Bearer TOKEN"; empty for anything else. */
static struct str bearer_token(const struct exchange *exchange)
{
    const struct str scheme = STR("Bearer ");
    struct str value = mcp_http_header(exchange, STR("Authorization"));

    if (value.len <= scheme.len || !str_eq_nocase(str_slice(value, 0, scheme.len), scheme) ||
        mcp_http_is_repeated(exchange, STR("Authorization")))
        return STR_EMPTY;
    return str_trim(str_slice(value, scheme.len, value.len));
}

/* False if it was answered. */
static bool admit(const struct mcp_http *http, struct exchange *exchange, struct str *out_principal)
{
    struct str token;
    int r;

    *out_principal = STR_EMPTY;
    if (http->config.authorize == NULL)
        return true;
    token = bearer_token(exchange);
    r = token.len > 0 ? http->config.authorize(http->config.data, token, out_principal)
                      : ERR_UNAUTHORIZED;
    if (r == 0) {
        exchange_mark_connection(exchange);
        return true;
    }
    mcp_http_challenge(exchange, r, token.len > 0, http->config.resource_metadata);
    return false;
}

/* ---- POST ---- */

struct incoming {
    struct mcp_http *http;
    struct exchange *exchange;
    struct mcp_message *message;
    struct str principal;
};

/* Passes the message on. If it leaves something open, the stream watches its connection. */
static void take(struct mcp_http_client *client, struct mcp_http_stream *stream,
                 struct mcp_message *message)
{
    struct mcp_http *http = client->http;
    uint64_t origin = stream != NULL ? stream->origin : 0;

    mcp_session_take(client->session, message, origin);
    /* The stream may be freed; the client is not, until it is reaped. */
    mcp_http_streams_settle(client);
    if (client->is_modern && list_is_empty(&client->streams))
        mcp_http_client_finish(client);
    mcp_http_reap(http);
}

static void accept_silently(struct exchange *exchange)
{
    exchange_answer(exchange, &(struct http_answer){.status = 202});
}

static bool is_busy(const struct mcp_http *http)
{
    return http->is_closed || http->stream_count >= http->config.max_requests;
}

/* Handles the request on a client of its own, or on its session. */
static void take_request(const struct incoming *in, struct mcp_http_client *client, bool is_batch,
                         bool opens_session)
{
    struct mcp_http_stream *stream;

    if (mcp_http_stream_new(client, ++in->http->last_origin, in->exchange, &stream) < 0) {
        mcp_message_free(in->message);
        if (client->is_modern || opens_session)
            mcp_http_client_finish(client);
        mcp_http_reap(in->http);
        return;
    }
    stream->is_batch = is_batch;
    client->is_unsettled |= is_batch;
    stream->opens_session = opens_session;
    take(client, stream, in->message);
}

/* On a client that lives only for this message. */
static void take_alone(const struct incoming *in, bool is_modern, bool opens_session)
{
    struct mcp_http_client *client;

    if (is_busy(in->http) || mcp_http_client_new(in->http, is_modern, in->principal, &client) < 0) {
        mcp_message_free(in->message);
        mcp_http_refuse(in->exchange, 503, ERR_BUSY, "the server is busy; try again later");
        return;
    }
    take_request(in, client, false, opens_session);
}

/* ---- POST, modern ---- */

static void take_modern(const struct incoming *in)
{
    struct err err = ERR_INIT;

    switch (mcp_message_kind(in->message)) {
    case MCP_REQUEST:
        /* Without `_meta` the library says what is missing. */
        if (mcp_message_is_modern(in->message) &&
            mcp_http_check_headers(in->http, in->exchange, in->message, &err) < 0)
            break;
        take_alone(in, true, false);
        return;
    case MCP_NOTIFICATION:
        /* There is nothing here that one could be about. */
        mcp_message_free(in->message);
        accept_silently(in->exchange);
        return;
    case MCP_BATCH:
    case MCP_RESPONSE:
    case MCP_UNREADABLE:
        err_set(&err, ERR_INVALID_REQUEST, "a request or a notification is expected");
        break;
    }
    refuse_message(in->exchange, in->message, &err);
    mcp_message_free(in->message);
}

/* ---- POST, legacy ---- */

/* False if it was answered. */
static bool find_session(struct mcp_http *http, struct exchange *exchange, struct str principal,
                         struct mcp_http_client **out_client)
{
    struct str id = mcp_http_header(exchange, STR("Mcp-Session-Id"));

    if (id.len == 0 || mcp_http_is_repeated(exchange, STR("Mcp-Session-Id"))) {
        mcp_http_refuse(exchange, 400, ERR_INVALID_REQUEST,
                        "the header Mcp-Session-Id is missing, or there are several");
        return false;
    }
    *out_client = mcp_http_client_find(http, id, principal);
    if (*out_client == NULL) {
        mcp_http_refuse(exchange, 404, ERR_SESSION_OVER,
                        "this session is over; send initialize to start a new one");
        return false;
    }
    mcp_http_client_use(*out_client);
    return true;
}

static void take_legacy(const struct incoming *in)
{
    enum mcp_message_kind kind = mcp_message_kind(in->message);
    struct mcp_http_client *client;

    if (kind == MCP_REQUEST && str_eq(mcp_message_method(in->message), STR("initialize"))) {
        take_alone(in, false, true);
        return;
    }
    if (!find_session(in->http, in->exchange, in->principal, &client)) {
        mcp_message_free(in->message);
        return;
    }
    switch (kind) {
    case MCP_NOTIFICATION:
    case MCP_RESPONSE:
        accept_silently(in->exchange);
        take(client, NULL, in->message);
        return;
    case MCP_UNREADABLE:
    case MCP_REQUEST:
    case MCP_BATCH:
        if (!is_busy(in->http)) {
            take_request(in, client, mcp_session_splits(client->session, in->message), false);
            return;
        }
        mcp_message_free(in->message);
        mcp_http_refuse(in->exchange, 503, ERR_BUSY, "the server is busy; try again later");
        return;
    }
}

static void on_body(void *data, struct exchange *exchange)
{
    struct incoming in = {.http = data, .exchange = exchange};
    struct str revision = mcp_http_header(exchange, STR("MCP-Protocol-Version"));
    enum mcp_era era = mcp_revision_era(revision);
    int r;

    /* Checked again: what came with the head is not kept meanwhile. */
    if (!admit(in.http, exchange, &in.principal))
        return;
    r = mcp_message_parse(in.http->service, exchange_request(exchange)->body, &in.message);
    if (r < 0) {
        exchange_answer_error(exchange, r);
        return;
    }
    if (era == MCP_MODERN || mcp_message_is_modern(in.message)) {
        take_modern(&in);
    } else if (mcp_message_kind(in.message) == MCP_UNREADABLE) {
        take_alone(&in, true, false);
    } else if (revision.len > 0 && era == MCP_NO_ERA) {
        struct err err = ERR_INIT;

        err_set(&err, ERR_INVALID_REQUEST, "unsupported protocol version");
        refuse_message(exchange, in.message, &err);
        mcp_message_free(in.message);
    } else {
        take_legacy(&in);
    }
}

static bool is_json(struct str content_type)
{
    struct str type = content_type;
    const char *end = memchr(type.ptr, ';', type.len);

    if (end != NULL)
        type.len = (size_t)(end - type.ptr);
    return str_eq_nocase(str_trim(type), JSON_TYPE);
}

static void on_post(struct mcp_http *http, struct exchange *exchange)
{
    struct str accepted = mcp_http_header(exchange, STR("Accept"));

    if (!is_json(mcp_http_header(exchange, STR("Content-Type"))))
        mcp_http_refuse(exchange, 415, ERR_INVALID_REQUEST,
                        "Content-Type must be application/json");
    else if (!http_accepts(accepted, JSON_TYPE) || !http_accepts(accepted, EVENTS_TYPE))
        mcp_http_refuse(exchange, 406, ERR_INVALID_REQUEST,
                        "Accept must include application/json and text/event-stream");
    else
        exchange_collect(exchange, mcp_service_max_message(http->service), on_body, http);
}

/* ---- GET and DELETE ---- */

static void refuse_method(struct exchange *exchange, struct str allowed)
{
    const struct http_field field = {.name = STR("Allow"), .value = allowed};

    exchange_answer(exchange,
                    &(struct http_answer){.status = 405, .fields = &field, .field_count = 1});
}

static void on_get(struct mcp_http *http, struct exchange *exchange, struct str principal)
{
    struct mcp_http_client *client;

    if (!http_accepts(mcp_http_header(exchange, STR("Accept")), EVENTS_TYPE)) {
        mcp_http_refuse(exchange, 406, ERR_INVALID_REQUEST,
                        "Accept must include text/event-stream");
        return;
    }
    if (is_busy(http)) {
        mcp_http_refuse(exchange, 503, ERR_BUSY, "the server is busy; try again later");
        return;
    }
    if (!find_session(http, exchange, principal, &client))
        return;
    mcp_http_resume(client, exchange, mcp_http_header(exchange, STR("Last-Event-ID")));
}

static void on_delete(struct mcp_http *http, struct exchange *exchange, struct str principal)
{
    struct mcp_http_client *client;

    if (!find_session(http, exchange, principal, &client))
        return;
    mcp_http_client_finish(client);
    exchange_answer(exchange, &(struct http_answer){.status = 204});
    mcp_http_reap(http);
}

void mcp_http_handle(void *data, struct exchange *exchange)
{
    struct mcp_http *http = data;
    enum http_method method = exchange_request(exchange)->method;
    struct str principal;

    if (!admit(http, exchange, &principal))
        return;
    if (method == HTTP_METHOD_POST) {
        on_post(http, exchange);
        return;
    }
    /* The modern era has neither. */
    if (mcp_revision_era(mcp_http_header(exchange, STR("MCP-Protocol-Version"))) == MCP_MODERN)
        refuse_method(exchange, STR("POST"));
    else if (method == HTTP_METHOD_GET)
        on_get(http, exchange, principal);
    else if (method == HTTP_METHOD_DELETE)
        on_delete(http, exchange, principal);
    else
        refuse_method(exchange, STR("GET, POST, DELETE"));
}

/* ---- the host's side ---- */

static void on_start(void *data, struct mcp_call *call)
{
    const struct mcp_http *http = ((struct mcp_http_client *)data)->http;

    http->config.host->start(http->config.data, call);
}

static void on_cancel(void *data, struct mcp_call *call)
{
    struct mcp_http_client *client = data;
    const struct mcp_http *http = client->http;
    struct mcp_http_stream *stream = mcp_http_stream_find(client, mcp_call_origin(call));

    if (stream != NULL) {
        stream->is_cancelled = true;
        client->is_unsettled = true;
    }
    http->config.host->cancel(http->config.data, call);
}

static void on_answered(void *data, struct mcp_call *call)
{
    const struct mcp_http *http = ((struct mcp_http_client *)data)->http;

    http->config.host->answered(http->config.data, call);
}

static void on_unsubscribe(void *data, struct mcp_session *session, struct str uri)
{
    const struct mcp_http *http = ((struct mcp_http_client *)data)->http;

    http->config.host->unsubscribe(http->config.data, session, uri);
}

static void on_roots(void *data, struct mcp_session *session, const struct json_value *roots)
{
    const struct mcp_http *http = ((struct mcp_http_client *)data)->http;

    http->config.host->roots(http->config.data, session, roots);
}

static void expire_questions(void *data)
{
    struct mcp_http *http = data;
    int64_t next_ms = mcp_service_expire(http->service);

    if (next_ms >= 0)
        timer_start(&http->questions, next_ms + 1);
    mcp_http_reap(http);
}

/* ---- making ---- */

static void set_defaults(struct mcp_http_config *config)
{
    if (config->max_sessions == 0)
        config->max_sessions = MCP_HTTP_MAX_SESSIONS;
    if (config->max_requests == 0)
        config->max_requests = MCP_HTTP_MAX_REQUESTS;
    if (config->replay_bytes == 0)
        config->replay_bytes = MCP_HTTP_REPLAY_BYTES;
    if (config->total_replay_bytes == 0)
        config->total_replay_bytes = MCP_HTTP_TOTAL_REPLAY_BYTES;
    if (config->idle_ms == 0)
        config->idle_ms = MCP_HTTP_IDLE_MS;
    if (config->max_kept_bytes == 0)
        config->max_kept_bytes = MCP_HTTP_MAX_KEPT_BYTES;
    if (config->retry_ms == 0)
        config->retry_ms = MCP_HTTP_RETRY_MS;
}

int mcp_http_new(const struct mcp_http_config *config, struct mcp_http **out_http)
{
    struct mcp_http *http = calloc(1, sizeof(*http));
    int r;

    if (http == NULL)
        return ERR_NO_MEMORY;
    http->config = *config;
    set_defaults(&http->config);
    http->host = (struct mcp_host){
        .start = on_start,
        .cancel = on_cancel,
        .answered = config->host->answered != NULL ? on_answered : NULL,
        .unsubscribe = on_unsubscribe,
        .roots = config->host->roots != NULL ? on_roots : NULL,
        .send = mcp_http_send,
    };
    http->sessions = (struct map)MAP_INIT(http->config.max_sessions);
    list_init(&http->clients);
    list_init(&http->finished);
    loop_task_init(&http->reap, mcp_http_reap, http);
    timer_init(&http->questions, config->loop, expire_questions, http);
    timer_init(&http->idle, config->loop, mcp_http_expire_idle, http);
    r = mcp_service_new(config->server, &http->host, &http->service);
    if (r == 0)
        r = sse_hub_new(config->loop,
                        &(struct sse_hub_config){.max_kept_bytes = http->config.max_kept_bytes},
                        &http->hub);
    if (r < 0) {
        mcp_http_free(http);
        return r;
    }
    *out_http = http;
    return 0;
}

struct mcp_service *mcp_http_service(const struct mcp_http *http)
{
    return http->service;
}

struct str mcp_http_session_id(const struct mcp_call *call)
{
    struct mcp_session *session = mcp_call_session(call);
    const struct mcp_http_client *client = session != NULL ? mcp_session_data(session) : NULL;

    return client != NULL ? str_from(client->id) : STR_EMPTY;
}

size_t mcp_http_session_count(const struct mcp_http *http)
{
    return http->sessions.count;
}

void mcp_http_part(const struct mcp_call *call)
{
    struct mcp_session *session = mcp_call_session(call);
    struct mcp_http_client *client = session != NULL ? mcp_session_data(session) : NULL;
    struct mcp_http_stream *stream;

    if (client == NULL || client->is_modern || client->is_finished)
        return;
    stream = mcp_http_stream_find(client, mcp_call_origin(call));
    if (stream != NULL && mcp_http_stream_begin(stream) == 0)
        mcp_http_stream_end(stream);
}

void mcp_http_close(struct mcp_http *http)
{
    http->is_closed = true;
    list_each_safe (node, &http->clients) {
        struct mcp_http_client *client = list_entry(node, struct mcp_http_client, link);

        mcp_session_end_streams(client->session);
        mcp_http_client_finish(client);
    }
    mcp_http_reap(http);
}

void mcp_http_free(struct mcp_http *http)
{
    if (http == NULL)
        return;
    mcp_http_close(http);
    timer_stop(&http->questions);
    timer_stop(&http->idle);
    loop_task_cancel(&http->reap);
    if (http->service != NULL)
        mcp_service_free(http->service);
    if (http->hub != NULL)
        sse_hub_free(http->hub);
    map_done(&http->sessions);
    free(http);
}
