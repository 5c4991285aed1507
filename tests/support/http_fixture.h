/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server with a few paths and its clients in one process, on an unnamed Unix socket, with a fake
 * clock and one thread: everything a client sent was handled when http_fixture_turn() returns.
 *
 *     GET  /hello      "hello\n"
 *     GET  /pieces     two pieces
 *     GET  /later      answered by http_fixture_answer_waiting()
 *     GET  /watched    same, and notices if its client leaves
 *     POST /echo       the body, up to 64 bytes
 *     POST /count      how many bytes the body has
 *     POST /unread     answered without a look at the body
 */
#ifndef TESTS_SUPPORT_HTTP_FIXTURE_H
#define TESTS_SUPPORT_HTTP_FIXTURE_H

#include <sys/un.h>

#include "base/buf.h"
#include "base/clock.h"
#include "net/http/server.h"

enum {
    HTTP_FIXTURE_WAITING = 16,
    HTTP_FIXTURE_ECHO_BYTES = 64,
    HTTP_FIXTURE_GATHER_BYTES = 1 << 20
};

struct http_fixture {
    struct clock clock;
    struct loop *loop;
    struct httpserver *server;
    struct sockaddr_un address;
    socklen_t address_len;
    struct exchange *waiting[HTTP_FIXTURE_WAITING];
    size_t waiting_count;
    size_t gone;
    size_t drained;
    struct buf log; /* a line for each access: GET /hello 200 complete */
};

/* `config` gives the limits; the fixture handles requests, unless it sets a handler. */
void http_fixture_init(struct http_fixture *fixture, const struct httpserver_config *config);
void http_fixture_done(struct http_fixture *fixture);

/* Runs the loop until nothing more happens without time or a client. */
void http_fixture_turn(struct http_fixture *fixture);
void http_fixture_pass(struct http_fixture *fixture, int64_t ms);

/* A nonblocking client socket. */
int http_fixture_connect(struct http_fixture *fixture);

/* Sends everything. False if the server has closed. */
bool http_fixture_send(struct http_fixture *fixture, int fd, struct str bytes);

/* Appends what was received; true if the server has closed. */
bool http_fixture_receive(struct http_fixture *fixture, int fd, struct buf *out);

/* Answers the oldest waiting exchange with "later\n". */
void http_fixture_answer_waiting(struct http_fixture *fixture);

size_t http_fixture_connections(struct http_fixture *fixture);

#endif
