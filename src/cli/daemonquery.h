/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a request to the running daemon, over the socket of cli/status.h. Looks for the socket at
 * our own default place first, then where daemons with other settings may have put it.
 */
#ifndef CLI_DAEMONQUERY_H
#define CLI_DAEMONQUERY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct daemon_query {
    uint16_t port;           /* which daemon, if there are several */
    int64_t wait_ms;         /* timeout of each step */
    const struct str *parts; /* of the request */
    size_t part_count;
    /*
     * Or NULL. Gets a pidfd, -1 if the kernel has none, before anything is sent: if the daemon
     * answers, it is that process, whatever its number was used for since.
     */
    int *out_pidfd;
};

enum { DAEMON_QUERY_MAX_PORTS = 64 };

/* The ports of daemons whose sockets are there, in order; some may be dead. Returns their number.
 */
size_t daemon_query_ports(uint16_t out_ports[DAEMON_QUERY_MAX_PORTS]);

/*
 * Appends the whole response, until the daemon closes the connection. ERR_NOT_FOUND if there is no
 * daemon; ERR_PERMISSION_DENIED, without sending anything, if the socket is another user's.
 */
int daemon_query_ask(const struct daemon_query *query, struct buf *out, pid_t *out_pid,
                     struct err *err);

/*
 * The same in two steps, so that several daemons are asked before one is waited for. The process is
 * known once it is connected to, also if that is all that works. The second waits for each piece
 * of the answer until `end_ms` of the monotonic clock, or for a moment if that has passed.
 */
int daemon_query_send(const struct daemon_query *query, int *out_fd, pid_t *out_pid,
                      struct err *err);
int daemon_query_read(int fd, int64_t end_ms, struct buf *out, struct err *err);

#endif
