/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server whose every byte a test writes, on a port of this machine and in the test's own thread:
 * for what no decent server would say.
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

/* The next connection, as a descriptor that does not block. */
int raw_server_accept(struct raw_server *server);
/* None has come, though the loop had its chance. */
bool raw_server_is_alone(struct raw_server *server);

/* Turns the loop until what has come of the client ends with that; the text is in `out`. */
void raw_server_read(struct raw_server *server, int fd, struct buf *out, struct str ending);
/* A whole head. */
void raw_server_read_head(struct raw_server *server, int fd, struct buf *out);
/* Turns the loop until all of it has left. */
void raw_server_write(struct raw_server *server, int fd, struct str bytes);
/* Turns the loop until the client has closed. */
void raw_server_await_close(struct raw_server *server, int fd);

#endif
