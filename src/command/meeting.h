/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question to the daemon that runs here already, over the socket of command/status.h: found in
 * the place where one of our own would have it, then where others may have put theirs.
 */
#ifndef COMMAND_MEETING_H
#define COMMAND_MEETING_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct meeting {
    uint16_t port;           /* which daemon, if there are several */
    int64_t wait_s;          /* for each step of one that does not answer */
    const struct str *parts; /* of the request */
    size_t part_count;
};

/*
 * Asks, and appends all that is answered until the daemon closes. ERR_NOT_FOUND: there is none. One
 * that another user pretends to be is not asked: ERR_PERMISSION_DENIED.
 */
int meeting_ask(const struct meeting *meeting, struct buf *out, pid_t *out_pid, struct err *err);

#endif
