/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WebSocket on a connection of the HTTP server: the handshake, messages in both directions, and
 * the end. Who may open one is for the handler to decide before.
 */
#ifndef NET_WEBSOCKET_SERVE_H
#define NET_WEBSOCKET_SERVE_H

#include "loop/loop.h"
#include "net/http/exchange.h"
#include "net/websocket/websocket.h"

struct wsserve;

struct wsserve_events {
    /* A whole message of the client. May be NULL. */
    void (*on_message)(void *data, enum websocket_kind kind, struct str bytes);
    /* All that was sent was taken by the system. May be NULL. */
    void (*on_drained)(void *data);
    /* The client closed or left: the last event, and the handle is invalid. */
    void (*on_gone)(void *data);
};

/*
 * Answers a request for a WebSocket with 101, or with 400 or 426 (then ERR_*). The exchange is the
 * module's from now on. Callbacks never come from inside this call. `protocols` are those that the
 * handler accepts; the client's first one among them is used.
 */
int wsserve_accept(struct loop *loop, struct exchange *exchange, const struct str *protocols,
                   size_t protocol_count, const struct websocket_limits *limits,
                   const struct wsserve_events *events, void *data, struct wsserve **out_socket);

/* ERR_BUSY or ERR_TOO_LARGE: the queue is full, and nothing was sent; ERR_WS_CLOSED. */
int wsserve_send(struct wsserve *socket, enum websocket_kind kind, struct str bytes);

/* Bytes that the client has not taken. */
size_t wsserve_kept(const struct wsserve *socket);

/* Closes after what was sent; no event comes any more, and the handle is invalid. */
void wsserve_close(struct wsserve *socket, uint16_t code, struct str reason);

#endif
