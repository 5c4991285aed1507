/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of a WebSocket, RFC 6455, on both sides: bytes in, bytes out
 * through a sink, by wslay. How the connection became one is in websocket/handshake.h;
 * sockets, pings at intervals and deadlines are the owner's business.
 */
#ifndef NET_WEBSOCKET_WEBSOCKET_H
#define NET_WEBSOCKET_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct websocket;

enum websocket_role { WEBSOCKET_SERVER, WEBSOCKET_CLIENT };
enum websocket_kind { WEBSOCKET_TEXT, WEBSOCKET_BINARY };

/* Codes of a close that mean something here; RFC 6455 has more. */
enum {
    WEBSOCKET_NORMAL = 1000,
    WEBSOCKET_GOING_AWAY = 1001,
    WEBSOCKET_BAD_FRAME = 1002,
    WEBSOCKET_NO_CODE = 1005, /* is never sent: the peer gave none */
    WEBSOCKET_BAD_TEXT = 1007,
    WEBSOCKET_REFUSED = 1008,
    WEBSOCKET_TOO_LARGE = 1009,
    WEBSOCKET_INTERNAL = 1011,
};

enum { WEBSOCKET_MAX_REASON_BYTES = 123, WEBSOCKET_MAX_PING_BYTES = 125 };

struct websocket_limits {
    size_t max_message_bytes; /* of the peer's, all fragments together */
    size_t max_queue_bytes;   /* for a peer that reads slowly, frames and heads */
};

/* The owner's side. Views live until the call returns. */
struct websocket_sink {
    /* A whole message; text is UTF-8. */
    void (*message)(void *data, enum websocket_kind kind, struct str bytes);
    /*
     * Bytes for the wire, all of the parts. Says how many it took; with fewer than all, the rest
     * waits for websocket_flush(). 0 or an ERR_* code, which ends it. Calls nothing here.
     */
    int (*wire)(void *data, const struct str *parts, size_t count, size_t *out_taken);
    /* Once: the peer is done, with its code or WEBSOCKET_NO_CODE. The answer is on its way. */
    void (*closed)(void *data, uint16_t code, struct str reason);
    /* The answer to a ping, or one that nobody asked for; may be NULL. */
    void (*pong)(void *data, struct str bytes);
    void *data;
};

/* The callbacks but `wire` may send, close and free. */
int websocket_new(enum websocket_role role, const struct websocket_limits *limits,
                  const struct websocket_sink *sink, struct websocket **out_websocket);
void websocket_free(struct websocket *websocket);

/*
 * From the connection. ERR_WS_PROTOCOL, ERR_INVALID_UTF8, ERR_TOO_LARGE: the peer broke a rule, and
 * a close with the code for that has gone to the wire as far as it took it; ERR_BUSY: it
 * pings and does not read; ERR_CANCELLED: freed meanwhile. The connection is to be ended.
 */
int websocket_receive(struct websocket *websocket, struct str bytes, struct err *err);

/* The connection has ended: 0 if the peer had closed, ERR_WS_CLOSED if it was cut. */
int websocket_end(const struct websocket *websocket, struct err *err);

/*
 * ERR_BUSY when it would pass the queue's ceiling: nothing was sent, and the same may work later;
 * ERR_TOO_LARGE when it alone would. ERR_WS_CLOSED after a close of either side, ERR_INVALID_UTF8
 * for text that is none.
 */
int websocket_send(struct websocket *websocket, enum websocket_kind kind, struct str bytes);

/* At most WEBSOCKET_MAX_PING_BYTES, which come back by `pong`. */
int websocket_ping(struct websocket *websocket, struct str bytes);

/*
 * Says goodbye; what was sent before goes out before it. The code is one that may be sent:
 * 1000 to 1003, 1007 to 1014, 3000 to 4999. A reason is cut to its size.
 */
int websocket_close(struct websocket *websocket, uint16_t code, struct str reason);

/* The wire takes bytes again. */
int websocket_flush(struct websocket *websocket);

/* Bytes that wait for the wire. */
size_t websocket_queued(const struct websocket *websocket);

/* Both sides have closed and the wire has it, or it failed: the connection has no more use. */
bool websocket_is_over(const struct websocket *websocket);

#endif
