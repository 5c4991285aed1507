/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question to the daemon that runs here already, over the socket of cli/status.h: found in
 * the place where one of our own would have it, then where others may have put theirs.
 */
#ifndef CLI_DAEMONQUERY_H
#define CLI_DAEMONQUERY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct daemon_query {
    uint16_t port;           /* which daemon, if there are several */
    int64_t wait_s;          /* for each step of one that does not answer */
    const struct str *parts; /* of the request */
    size_t part_count;
};

/*
 * Asks, and appends all that is answered until the daemon closes. ERR_NOT_FOUND: there is none. One
 * that another user pretends to be is not asked: ERR_PERMISSION_DENIED.
 */
int daemon_query_ask(const struct daemon_query *query, struct buf *out, pid_t *out_pid,
                     struct err *err);

#endif
