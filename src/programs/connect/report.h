/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon says about itself, as JSON: the same words on its local port and on its control
 * socket. Nothing in them is a secret, and none may become one.
 */
#ifndef PROGRAMS_CONNECT_REPORT_H
#define PROGRAMS_CONNECT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { REPORT_MAX_BYTES = 32 << 10 };

enum report_state {
    REPORT_IDLE,         /* nobody wants a connection */
    REPORT_ASKING,       /* the user is asked */
    REPORT_CONNECTING,   /* for the first time */
    REPORT_CONNECTED,    /* calls can come */
    REPORT_RECONNECTING, /* the way to the server is lost */
    REPORT_REFUSED,      /* the same, and the server does not take the key any more */
    REPORT_LEAVING,
};

struct report {
    enum report_state state;
    bool is_connected; /* also while a stream that broke is opened anew, until that fails */
    bool has_session;  /* that the server may know: no other one is begun beside it */
    struct str dir;    /* the folder; a name of any bytes */
    struct str url;    /* of the server; pages hear it only while connected, as they do this: */
    int64_t connected_wall_ms;
    char why[ERR_MESSAGE_BYTES]; /* it is not connected; empty where there is no reason */
};

/* {"status":"ok","dir","connected"} */
int report_health(const struct report *report, struct buf *out);

/* {"connected","dir","connectedAt","url"}, the last two null when not connected. */
int report_status(const struct report *report, struct buf *out);

/* The same and {"state","server","reason"}: what the user's own commands are told. */
int report_whole(const struct report *report, struct buf *out);

/* {"status":"connected","dir"}: of a connection that was asked for. */
int report_connected(const struct report *report, struct buf *out);

#endif
