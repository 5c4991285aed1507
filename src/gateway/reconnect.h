/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the daemon connects, waits and gives up: the states of a session with a gateway, moved by
 * one function without sockets or clocks. The caller does the returned action and reports its
 * outcome.
 */
#ifndef GATEWAY_RECONNECT_H
#define GATEWAY_RECONNECT_H

#include <stdint.h>

enum {
    RECONNECT_FIRST_MS = 1000, /* doubles each time ... */
    RECONNECT_MAX_MS = 30000,  /* ... up to this */
    RECONNECT_SPREAD = 5,      /* the caller adds up to 1/5, lest all daemons return at once */
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
    RECONNECT_PAIRING,       /* init, with the user's key */
    RECONNECT_OPENING,       /* the stream was requested */
    RECONNECT_OPEN,          /* receiving events */
    RECONNECT_WAITING,       /* before requesting the stream again */
    RECONNECT_RENEW_WAITING, /* before init with the session's key */
    RECONNECT_RENEWING,      /* init, with the session's key */
    RECONNECT_REFUSED,       /* like RENEW_WAITING, but init was denied: a new token is needed */
    RECONNECT_LEAVING,       /* telling the server that the session ends */
};

enum reconnect_event {
    RECONNECT_PAIR,   /* the user gave a key */
    RECONNECT_RESUME, /* a saved session's key is used */
    RECONNECT_INIT_DONE,
    RECONNECT_INIT_DENIED, /* 401, 403 */
    RECONNECT_INIT_FAILED, /* no connection, or any other answer */
    RECONNECT_STREAM_OPENED,
    RECONNECT_STREAM_DENIED,
    RECONNECT_STREAM_FAILED,
    RECONNECT_STREAM_ENDED, /* after it was open; also after too long a silence */
    RECONNECT_DELAY_OVER,
    RECONNECT_DISMISSED, /* by the server */
    RECONNECT_LEAVE,     /* by the user */
    RECONNECT_LEFT,      /* the server knows, or refused to */
};

enum reconnect_action {
    RECONNECT_DO_NOTHING,
    RECONNECT_DO_INIT,
    RECONNECT_DO_OPEN,
    RECONNECT_DO_WAIT, /* for *out_delay_ms, then RECONNECT_DELAY_OVER */
    RECONNECT_DO_TELL, /* tell the server that the session ends */
    RECONNECT_DO_END,  /* the session is over */
};

struct reconnect {
    enum reconnect_state state;
    unsigned failures; /* since a stream was last open */
};

/* Ignores an event that does not fit the state, such as a late one. */
enum reconnect_action reconnect_move(struct reconnect *reconnect, enum reconnect_event event,
                                     int64_t *out_delay_ms);

#endif
