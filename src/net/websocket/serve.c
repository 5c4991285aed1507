/* SPDX-License-Identifier: Apache-2.0 */
#include "net/websocket/serve.h"

#include <stdlib.h>

#include "loop/timer.h"
#include "net/websocket/handshake.h"

enum {
    CLOSING_MS = 5000, /* for the client's part of closing */
    LINES_BYTES = 8 << 10,
};

struct wsserve {
    struct exchange *exchange;
    struct websocket *websocket;
    const struct wsserve_events *events; /* NULL after wsserve_close() */
    void *data;
    struct timer closing;
};

/* ---- the end ---- */

static void free_socket(struct wsserve *socket)
{
    timer_stop(&socket->closing);
    websocket_free(socket->websocket);
    free(socket);
}

/* The exchange is over by now, or the caller ends it. */
static void tell_gone(struct wsserve *socket)
{
    const struct wsserve_events *events = socket->events;
    void *data = socket->data;

    free_socket(socket);
    if (events != NULL)
        events->on_gone(data);
}

static void on_gone(void *data)
{
    tell_gone(data);
}

static void on_not_closed(void *data)
{
    struct wsserve *socket = data;

    exchange_cut(socket->exchange);
    free_socket(socket);
}

/* After each step: both sides have closed, or it failed. */
static void end_if_over(struct wsserve *socket, int error)
{
    struct exchange *exchange = socket->exchange;

    if (error == 0 && !websocket_is_over(socket->websocket))
        return;
    /* The close that says why was sent by then, if anything could be. */
    exchange_end(exchange);
    tell_gone(socket);
}

/* ---- bytes ---- */

static int send_parts(void *data, const struct str *parts, size_t count, size_t *out_taken)
{
    struct wsserve *socket = data;
    size_t bytes = 0;
    int r;

    if (count > EXCHANGE_MAX_PARTS)
        count = EXCHANGE_MAX_PARTS;
    for (size_t i = 0; i < count; i++)
        bytes += parts[i].len;
    r = exchange_write(socket->exchange, parts, count);
    *out_taken = r == 0 ? bytes : 0; /* else when it has drained */
    return 0;
}

static void take_message(void *data, enum websocket_kind kind, struct str bytes)
{
    struct wsserve *socket = data;

    if (socket->events != NULL && socket->events->on_message != NULL)
        socket->events->on_message(socket->data, kind, bytes);
}

static void take_close(void *data, uint16_t code, struct str reason)
{
    (void)data; /* end_if_over() sees it */
    (void)code;
    (void)reason;
}

static void on_bytes(void *data, struct str bytes)
{
    struct wsserve *socket = data;
    struct err err = ERR_INIT;

    end_if_over(socket, websocket_receive(socket->websocket, bytes, &err));
}

static void on_drained(void *data)
{
    struct wsserve *socket = data;
    int r = websocket_flush(socket->websocket);

    if (r == 0 && socket->events != NULL && socket->events->on_drained != NULL &&
        wsserve_kept(socket) == 0)
        socket->events->on_drained(socket->data); /* wsserve_close() inside frees nothing */
    end_if_over(socket, r);
}

static const struct exchange_events exchange_events = {.on_gone = on_gone,
                                                       .on_drained = on_drained};

/* ---- the handshake ---- */

static int accept_handshake(const struct http_request *request, const struct str *protocols,
                            size_t protocol_count, struct buf *out_lines)
{
    struct wshandshake_header headers[HTTP_MAX_HEADERS];
    struct wshandshake_answer answer;
    struct err err = ERR_INIT;
    int r;

    for (size_t i = 0; i < request->header_count; i++) {
        struct http_field field = http_header_at(request, i);

        headers[i] = (struct wshandshake_header){field.name, field.value};
    }
    r = wshandshake_accept(
        &(struct wshandshake_request){.method = http_method_name(request->method),
                                      .is_http11 = request->minor > 0,
                                      .headers = headers,
                                      .header_count = request->header_count},
        protocols, protocol_count, &answer, &err);
    return r < 0 ? r : wshandshake_write_answer(&answer, out_lines);
}

static int refuse(struct exchange *exchange, int error)
{
    const struct http_field version = {STR("Sec-WebSocket-Version"), STR("13")};

    if (error == ERR_WS_VERSION)
        exchange_answer(exchange,
                        &(struct http_answer){.status = 426, .fields = &version, .field_count = 1});
    else
        exchange_answer_error(exchange, error);
    return error;
}

int wsserve_accept(struct loop *loop, struct exchange *exchange, const struct str *protocols,
                   size_t protocol_count, const struct websocket_limits *limits,
                   const struct wsserve_events *events, void *data, struct wsserve **out_socket)
{
    cleanup_buf struct buf lines = BUF_INIT(LINES_BYTES);
    struct wsserve *socket;
    int r = accept_handshake(exchange_request(exchange), protocols, protocol_count, &lines);

    if (r < 0)
        return refuse(exchange, r);
    socket = calloc(1, sizeof(*socket));
    if (socket == NULL)
        return refuse(exchange, ERR_NO_MEMORY);
    *socket = (struct wsserve){.exchange = exchange, .events = events, .data = data};
    timer_init(&socket->closing, loop, on_not_closed, socket);
    r = websocket_new(
        WEBSOCKET_SERVER, limits,
        &(struct websocket_sink){
            .message = take_message, .wire = send_parts, .closed = take_close, .data = socket},
        &socket->websocket);
    if (r < 0) {
        free(socket);
        return refuse(exchange, r);
    }
    exchange_watch(exchange, &exchange_events, socket);
    r = exchange_upgrade(exchange, buf_view(&lines), on_bytes);
    if (r < 0) {
        exchange_watch(exchange, NULL, NULL);
        free_socket(socket);
        return refuse(exchange, r);
    }
    *out_socket = socket;
    return 0;
}

/* ---- for the owner ---- */

int wsserve_send(struct wsserve *socket, enum websocket_kind kind, struct str bytes)
{
    return websocket_send(socket->websocket, kind, bytes);
}

size_t wsserve_kept(const struct wsserve *socket)
{
    return exchange_kept(socket->exchange) + websocket_queued(socket->websocket);
}

void wsserve_close(struct wsserve *socket, uint16_t code, struct str reason)
{
    socket->events = NULL;
    exchange_take_pieces(socket->exchange);
    if (websocket_close(socket->websocket, code, reason) < 0) {
        /* The client has closed, or nothing works any more; the loop ends it. */
        timer_start(&socket->closing, 0);
        return;
    }
    timer_start(&socket->closing, CLOSING_MS);
}
