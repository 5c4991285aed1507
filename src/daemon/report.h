/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon says about itself, as JSON: the same words on its local port and on its control
 * socket. Nothing in them is a secret, and none may become one.
 */
#ifndef DAEMON_REPORT_H
#define DAEMON_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum { REPORT_MAX_BYTES = 32 << 10 };

struct report {
    bool is_connected;
    struct str dir; /* the folder; a name of any bytes */
    struct str url; /* of the server; said only while connected, as is: */
    int64_t connected_wall_ms;
};

/* {"status":"ok","dir","connected"} */
int report_health(const struct report *report, struct buf *out);

/* {"connected","dir","connectedAt","url"}, the last two null when not connected. */
int report_status(const struct report *report, struct buf *out);

/* {"status":"connected","dir"}: of a connection that was asked for. */
int report_connected(const struct report *report, struct buf *out);

#endif
