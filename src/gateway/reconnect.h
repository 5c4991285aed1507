/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the daemon connects, waits and gives up: the states of a session with a gateway, moved by
 * one function that knows neither sockets nor time. Who calls it does what it says and tells it
 * what came of that.
 */
#ifndef GATEWAY_RECONNECT_H
#define GATEWAY_RECONNECT_H

#include <stdint.h>

enum {
    RECONNECT_FIRST_MS = 1000, /* then twice as long each time ... */
    RECONNECT_MAX_MS = 30000,  /* ... up to this */
};

/*
 *   OFF -> PAIRING -> OPENING -> OPEN -> WAITING -> OPENING ...
 *                        |                 ^
 *                        |`----------------'
 *                        `-> RENEW_WAITING <-> RENEWING <-> REFUSED
 *   all of them -> LEAVING -> OFF
 */
enum reconnect_state {
    RECONNECT_OFF,           /* no session */
    RECONNECT_PAIRING,       /* init, with a key that the user gave */
    RECONNECT_OPENING,       /* the stream was asked for */
    RECONNECT_OPEN,          /* events come */
    RECONNECT_WAITING,       /* then the stream is asked for again */
    RECONNECT_RENEW_WAITING, /* then init, with the session's key */
    RECONNECT_RENEWING,      /* init, with the session's key */
    RECONNECT_REFUSED,       /* as RENEW_WAITING, but init was denied: a new token is needed */
    RECONNECT_LEAVING,       /* the server was told that this is the end */
};

enum reconnect_event {
    RECONNECT_PAIR,   /* the user gave a key */
    RECONNECT_RESUME, /* there is one of a session from before */
    RECONNECT_INIT_DONE,
    RECONNECT_INIT_DENIED, /* 401, 403 */
    RECONNECT_INIT_FAILED, /* no connection, or any other answer */
    RECONNECT_STREAM_OPENED,
    RECONNECT_STREAM_DENIED,
    RECONNECT_STREAM_FAILED,
    RECONNECT_STREAM_ENDED, /* after it was open; also when nothing came for too long */
    RECONNECT_DELAY_OVER,
    RECONNECT_DISMISSED, /* by the server */
    RECONNECT_LEAVE,     /* by the user */
    RECONNECT_LEFT,      /* the server knows, or does not want to */
};

enum reconnect_action {
    RECONNECT_DO_NOTHING,
    RECONNECT_DO_INIT,
    RECONNECT_DO_OPEN,
    RECONNECT_DO_WAIT, /* for *out_delay_ms, then RECONNECT_DELAY_OVER */
    RECONNECT_DO_TELL, /* the server that this is the end */
    RECONNECT_DO_END,  /* the session is over */
};

struct reconnect {
    enum reconnect_state state;
    unsigned failures; /* since a stream was open */
};

/* An event that does not belong to the state, such as a late one, changes nothing. */
enum reconnect_action reconnect_move(struct reconnect *reconnect, enum reconnect_event event,
                                     int64_t *out_delay_ms);

/* "open", "waiting", for people. */
const char *reconnect_state_name(enum reconnect_state state);

#endif
