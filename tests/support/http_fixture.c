/* SPDX-License-Identifier: Apache-2.0 */
#include "http_fixture.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

enum {
    QUIET_TURNS = 3, /* libuv needs one to close what another one has found */
    LOG_BYTES = 1 << 20,
    START_MS = 784111777, /* 1994-11-06T08:49:37Z, in seconds */
};

static void answer_text(struct exchange *exchange, int status, struct str body)
{
    exchange_answer(exchange, &(struct http_answer){.status = status,
                                                    .type = STR("text/plain"),
                                                    .parts = &body,
                                                    .part_count = 1});
}

static void echo(void *data, struct exchange *exchange)
{
    (void)data;
    answer_text(exchange, 200, exchange_request(exchange)->body);
}

static void waiting_gone(void *data)
{
    struct http_fixture *fixture = data;

    fixture->gone++;
    /* Only one is ever watched. */
    fixture->waiting_count = 0;
}

static void waiting_drained(void *data)
{
    ((struct http_fixture *)data)->drained++;
}

static const struct exchange_events WAITING_EVENTS = {.on_gone = waiting_gone,
                                                      .on_drained = waiting_drained};

static void park(struct http_fixture *fixture, struct exchange *exchange)
{
    assert(fixture->waiting_count < HTTP_FIXTURE_WAITING);
    fixture->waiting[fixture->waiting_count++] = exchange;
}

static void pieces(struct exchange *exchange)
{
    const struct str first[] = {STR("one "), STR("two")};
    const struct str second = STR(" three\n");

    exchange_begin(exchange, &(struct http_answer){.status = 200, .type = STR("text/plain")});
    exchange_write(exchange, first, 2);
    exchange_write(exchange, &second, 1);
    exchange_end(exchange);
}

static void gathered(void *data, struct exchange *exchange)
{
    (void)data;
    answer_text(exchange, 200, STR("gathered\n"));
}

static void count(void *data, struct exchange *exchange)
{
    char text[32];

    (void)data;
    snprintf(text, sizeof(text), "%zu\n", exchange_request(exchange)->body.len);
    answer_text(exchange, 200, str_from(text));
}

static void handle(void *data, struct exchange *exchange)
{
    struct http_fixture *fixture = data;
    struct str path = exchange_request(exchange)->path;

    if (str_eq(path, STR("/hello"))) {
        answer_text(exchange, 200, STR("hello\n"));
    } else if (str_eq(path, STR("/known"))) {
        exchange_mark_connection(exchange);
        answer_text(exchange, 200, STR("hello\n"));
    } else if (str_eq(path, STR("/pieces"))) {
        pieces(exchange);
    } else if (str_eq(path, STR("/later"))) {
        park(fixture, exchange);
    } else if (str_eq(path, STR("/watched"))) {
        park(fixture, exchange);
        exchange_watch(exchange, &WAITING_EVENTS, fixture);
    } else if (str_eq(path, STR("/echo"))) {
        exchange_collect(exchange, HTTP_FIXTURE_ECHO_BYTES, echo, fixture);
    } else if (str_eq(path, STR("/gather"))) {
        exchange_collect(exchange, HTTP_FIXTURE_GATHER_BYTES, gathered, fixture);
    } else if (str_eq(path, STR("/count"))) {
        exchange_collect(exchange, HTTP_FIXTURE_GATHER_BYTES, count, fixture);
    } else if (str_eq(path, STR("/unread"))) {
        answer_text(exchange, 200, STR("unread\n"));
    } else {
        exchange_answer_error(exchange, ERR_NOT_FOUND);
    }
}

static void write_access(void *data, const struct http_access *access)
{
    struct http_fixture *fixture = data;
    struct str method = access->method.len > 0 ? access->method : STR("-");

    (void)buf_printf(&fixture->log, "%.*s %.*s %d %s\n", STR_ARG(method), STR_ARG(access->target),
                     access->status, access->is_complete ? "complete" : "cut");
}

void http_fixture_init(struct http_fixture *fixture, const struct httpserver_config *config)
{
    struct httpserver_config ours = config != NULL ? *config : (struct httpserver_config){0};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memset(fixture, 0, sizeof(*fixture));
    clock_fake_init(&fixture->clock, START_MS * INT64_C(1000));
    assert(loop_new(&fixture->clock, &fixture->loop) == 0);
    buf_init(&fixture->log, LOG_BYTES);
    /* The kernel chooses a name that is no file. */
    fixture->address.sun_family = AF_UNIX;
    fixture->address_len = sizeof(sa_family_t);
    assert(bind(fd, (struct sockaddr *)&fixture->address, fixture->address_len) == 0);
    fixture->address_len = sizeof(fixture->address);
    assert(getsockname(fd, (struct sockaddr *)&fixture->address, &fixture->address_len) == 0);
    assert(listen(fd, 4096) == 0);
    if (ours.on_request == NULL) {
        ours.on_request = handle;
        ours.data = fixture;
        ours.on_access = write_access;
    }
    assert(httpserver_new(fixture->loop, fd, &ours, &fixture->server) == 0);
}

void http_fixture_done(struct http_fixture *fixture)
{
    httpserver_free(fixture->server);
    loop_free(fixture->loop);
    buf_done(&fixture->log);
}

void http_fixture_turn(struct http_fixture *fixture)
{
    for (int i = 0; i < QUIET_TURNS; i++)
        uv_run(loop_uv(fixture->loop), UV_RUN_NOWAIT);
}

void http_fixture_pass(struct http_fixture *fixture, int64_t ms)
{
    clock_fake_advance(&fixture->clock, ms);
    loop_run_due_timers(fixture->loop);
    http_fixture_turn(fixture);
}

int http_fixture_connect(struct http_fixture *fixture)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert(fd >= 0);
    assert(connect(fd, (struct sockaddr *)&fixture->address, fixture->address_len) == 0);
    http_fixture_turn(fixture);
    return fd;
}

bool http_fixture_send(struct http_fixture *fixture, int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t sent = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

        if (sent < 0 && errno != EAGAIN)
            return false;
        if (sent > 0)
            bytes = str_slice(bytes, (size_t)sent, SIZE_MAX);
        http_fixture_turn(fixture);
    }
    return true;
}

bool http_fixture_receive(struct http_fixture *fixture, int fd, struct buf *out)
{
    http_fixture_turn(fixture); /* what a test has sent waits for the end of the turn */
    while (true) {
        ssize_t got;

        assert(buf_reserve(out, 4096) == 0);
        got = read(fd, out->data + out->len, 4096);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            return true;
        if (got < 0)
            return false;
        out->len += (size_t)got;
        http_fixture_turn(fixture);
    }
}

void http_fixture_answer_waiting(struct http_fixture *fixture)
{
    struct exchange *exchange = fixture->waiting[0];

    assert(fixture->waiting_count > 0);
    fixture->waiting_count--;
    memmove(fixture->waiting, fixture->waiting + 1,
            fixture->waiting_count * sizeof(fixture->waiting[0]));
    answer_text(exchange, 200, STR("later\n"));
    http_fixture_turn(fixture);
}

size_t http_fixture_connections(struct http_fixture *fixture)
{
    struct httpserver_stats stats;

    httpserver_stats(fixture->server, &stats);
    return stats.connections;
}
