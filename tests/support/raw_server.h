/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of which the test writes every byte, on a local port and in the test's own thread: for
 * what no proper server would send.
 */
#ifndef TESTS_SUPPORT_RAW_SERVER_H
#define TESTS_SUPPORT_RAW_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "loop/loop.h"

struct raw_server {
    struct loop *loop;
    int fd;
    uint16_t port;
};

void raw_server_init(struct raw_server *server, struct loop *loop);
void raw_server_done(struct raw_server *server);

/* The next connection, as a nonblocking descriptor. */
int raw_server_accept(struct raw_server *server);
/* No connection has come, though the loop ran. */
bool raw_server_is_alone(struct raw_server *server);

/* Runs the loop until what the client sent ends with `ending`; the text is in `out`. */
void raw_server_read(struct raw_server *server, int fd, struct buf *out, struct str ending);
/* Reads a whole head. */
void raw_server_read_head(struct raw_server *server, int fd, struct buf *out);
/* Runs the loop until everything was sent. */
void raw_server_write(struct raw_server *server, int fd, struct str bytes);
/* Runs the loop until the client has closed. */
void raw_server_await_close(struct raw_server *server, int fd);

#endif
