/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of a WebSocket (RFC 6455), on both sides: bytes in, bytes out through a sink, by
 * wslay. See websocket/handshake.h for how the connection is upgraded; the owner handles sockets,
 * periodic pings and deadlines.
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

/* Close codes used here; RFC 6455 has more. */
enum {
    WEBSOCKET_NORMAL = 1000,
    WEBSOCKET_GOING_AWAY = 1001,
    WEBSOCKET_BAD_FRAME = 1002,
    WEBSOCKET_NO_CODE = 1005, /* never sent: the peer gave none */
    WEBSOCKET_BAD_TEXT = 1007,
    WEBSOCKET_REFUSED = 1008,
    WEBSOCKET_TOO_LARGE = 1009,
    WEBSOCKET_INTERNAL = 1011,
};

enum { WEBSOCKET_MAX_REASON_BYTES = 123, WEBSOCKET_MAX_PING_BYTES = 125 };

struct websocket_limits {
    size_t max_message_bytes; /* of the peer's message, all fragments together */
    size_t max_queue_bytes;   /* for a peer that reads slowly, with frame headers */
};

/* Callbacks of the owner. Strings are valid until the call returns. */
struct websocket_sink {
    /* A whole message; text is UTF-8. */
    void (*message)(void *data, enum websocket_kind kind, struct str bytes);
    /*
     * Sends all parts. Sets how many bytes it took; with fewer than all, the rest waits for
     * websocket_flush(). Returns 0 or an ERR_* code, which ends the connection. Must not call
     * functions of this module.
     */
    int (*wire)(void *data, const struct str *parts, size_t count, size_t *out_taken);
    /*
     * Called once: the peer has closed, with its code or WEBSOCKET_NO_CODE. The reply is being
     * sent.
     */
    void (*closed)(void *data, uint16_t code, struct str reason);
    /* The reply to a ping, or an unsolicited one; may be NULL. */
    void (*pong)(void *data, struct str bytes);
    void *data;
};

/* All callbacks except `wire` may send, close and free. */
int websocket_new(enum websocket_role role, const struct websocket_limits *limits,
                  const struct websocket_sink *sink, struct websocket **out_websocket);
void websocket_free(struct websocket *websocket);

/*
 * Bytes from the connection. ERR_WS_PROTOCOL, ERR_INVALID_UTF8, ERR_TOO_LARGE: the peer violated
 * the protocol, and a close with the matching code was sent if possible; ERR_BUSY: it sends pings
 * and does not read; ERR_CANCELLED: freed meanwhile. Then close the connection.
 */
int websocket_receive(struct websocket *websocket, struct str bytes, struct err *err);

/*
 * ERR_BUSY if it would exceed the queue's limit: nothing was sent, and a retry may work later;
 * ERR_TOO_LARGE if it alone exceeds it. ERR_WS_CLOSED after a close of either side,
 * ERR_INVALID_UTF8 for invalid text.
 */
int websocket_send(struct websocket *websocket, enum websocket_kind kind, struct str bytes);

/* At most WEBSOCKET_MAX_PING_BYTES, which come back by `pong`. */
int websocket_ping(struct websocket *websocket, struct str bytes);

/*
 * Sends a close after all earlier messages. The code must be one that may be sent: 1000 to 1003,
 * 1007 to 1014, 3000 to 4999. The reason is cut to its limit.
 */
int websocket_close(struct websocket *websocket, uint16_t code, struct str reason);

/* Call when the wire accepts bytes again. */
int websocket_flush(struct websocket *websocket);

/* Bytes that wait for the wire. */
size_t websocket_queued(const struct websocket *websocket);

/* Both sides have closed and everything was sent, or it failed: close the connection. */
bool websocket_is_over(const struct websocket *websocket);

#endif
