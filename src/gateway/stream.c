/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/internal.h"

enum {
    /* A document takes up to 16 bytes for each two of its text, and the arena a little more. */
    EVENT_ARENA_FACTOR = 12,
};

static bool is_event_stream(const struct http_response *response)
{
    struct str type;
    struct str media = STR_EMPTY;

    if (!http_response_header(response, STR("content-type"), &type))
        return false;
    str_cut(&type, ';', &media);
    return str_eq_nocase(str_trim(media), STR("text/event-stream"));
}

void gateway_stream_close(struct gateway *gateway)
{
    struct httpclient_call *call = gateway->stream;

    gateway->stream = NULL;
    gateway->is_stream_open = false;
    httpclient_cancel(call);
}

static void on_head(void *data, const struct http_response *response)
{
    struct gateway *gateway = data;
    int status = response->status;

    if (status == 200 && is_event_stream(response)) {
        gateway->is_stream_open = true;
        gateway->why = (struct err)ERR_INIT;
        gateway_move(gateway, RECONNECT_STREAM_OPENED);
        return;
    }
    if (status == 200)
        err_set(&gateway->why, ERR_GATEWAY_ANSWER, "%s did not send an event stream",
                gateway->url.host);
    else
        gateway_note_status(gateway, status, STR_EMPTY);
    gateway_stream_close(gateway);
    gateway_move(gateway, status == 401 || status == 403 ? RECONNECT_STREAM_DENIED
                                                         : RECONNECT_STREAM_FAILED);
}

static void on_event(void *data, const struct sse_received *event)
{
    cleanup_arena struct arena arena =
        ARENA_INIT((size_t)GATEWAY_MAX_EVENT_BYTES * EVENT_ARENA_FACTOR);
    struct gateway *gateway = data;
    struct gateway_event read;

    /* What follows the end of the session, in the same piece, is ignored. */
    if (gateway->stream == NULL)
        return;
    /* Without memory for it the call is lost, as if the stream had been cut before it. */
    if (gateway_event_parse(&arena, event->type, event->data, &read) < 0)
        return;
    switch (read.kind) {
    case GATEWAY_EVENT_NONE:
        break;
    case GATEWAY_EVENT_CALL:
    case GATEWAY_EVENT_BAD_CALL:
        gateway_answers_take(gateway, &read);
        break;
    case GATEWAY_EVENT_QUERY:
        if (gateway->has_extensions)
            gateway_answers_take(gateway, &read);
        break;
    case GATEWAY_EVENT_CANCEL:
        if (gateway->has_extensions)
            gateway_answers_cancel(gateway, read.call.id);
        break;
    case GATEWAY_EVENT_DECISION:
        if (gateway->has_extensions && gateway->config.owner->on_decision != NULL)
            gateway->config.owner->on_decision(gateway->config.data, read.call.id, read.call.name);
        break;
    case GATEWAY_EVENT_DISCONNECT:
        gateway_move(gateway, RECONNECT_DISMISSED);
        break;
    }
}

static void on_bytes(void *data, struct str bytes)
{
    struct gateway *gateway = data;
    const struct sse_handler handler = {.event = on_event, .data = gateway};
    int r = sse_reader_feed(&gateway->reader, bytes, &handler);

    if (r == 0 || gateway->stream == NULL)
        return;
    err_set(&gateway->why, r, "%s sent an event that is too large", gateway->url.host);
    gateway_stream_close(gateway);
    gateway_move(gateway, RECONNECT_STREAM_ENDED);
}

static void on_done(void *data, const struct httpclient_result *result)
{
    struct gateway *gateway = data;
    bool was_open = gateway->is_stream_open;

    gateway->stream = NULL;
    gateway->is_stream_open = false;
    if (result->code < 0)
        gateway->why = result->err;
    else
        err_set(&gateway->why, ERR_CONNECTION_LOST, "%s closed the event stream",
                gateway->url.host);
    gateway_move(gateway, was_open ? RECONNECT_STREAM_ENDED : RECONNECT_STREAM_FAILED);
}

static const struct httpclient_events EVENTS = {
    .on_head = on_head, .on_bytes = on_bytes, .on_done = on_done};

static int write_target(const struct gateway *gateway, struct buf *target)
{
    int r = gateway_target(gateway, STR("events"), target);

    /* The older servers look for the key here alone. */
    if (r == 0 && gateway->dialect == GATEWAY_SEED)
        r = buf_append_str(target, STR("?apiKey="));
    if (r == 0 && gateway->dialect == GATEWAY_SEED)
        r = gateway_append_escaped(target, secret_reveal(&gateway->key));
    return r;
}

void gateway_stream_open(struct gateway *gateway)
{
    cleanup_buf struct buf target = BUF_INIT(TARGET_BYTES);
    const struct http_field fields[] = {gateway_key_field(gateway),
                                        {STR("Accept"), STR("text/event-stream")},
                                        {STR("Cache-Control"), STR("no-cache")}};
    struct httpclient_request request = {.method = HTTP_METHOD_GET,
                                         .url = &gateway->url,
                                         .fields = fields,
                                         .field_count = array_size(fields),
                                         .head_ms = GATEWAY_STREAM_HEAD_MS,
                                         .idle_ms = GATEWAY_SILENCE_MS};
    int r = buf_reserve(&target, TARGET_BYTES);

    sse_reader_restart(&gateway->reader);
    if (r == 0)
        r = write_target(gateway, &target);
    request.target = buf_view(&target);
    if (r == 0)
        r = httpclient_send(gateway->config.http, &request, &EVENTS, gateway, &gateway->stream,
                            &gateway->why);
    secret_wipe(target.data, target.len);
    if (r < 0)
        gateway_move(gateway, RECONNECT_STREAM_FAILED);
}
