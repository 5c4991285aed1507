/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "http_fixture.h"

enum { GOT_BYTES = 64 << 20, HEAD_MS = 1000, BODY_MS = 2000, IDLE_MS = 5000, SEND_MS = 3000 };
enum { COLLECTED_BYTES = 200000 };

static const struct httpserver_config LIMITS = {
    .max_connections = 8,
    .max_collected_bytes = COLLECTED_BYTES,
    .head_ms = HEAD_MS,
    .body_window_ms = BODY_MS,
    .body_window_bytes = 10,
    .idle_ms = IDLE_MS,
    .send_window_ms = SEND_MS,
    .send_window_bytes = 1000,
    .linger_ms = 500,
};

static struct http_fixture *fixture;

static int begin_with(unsigned max_unmarked)
{
    struct httpserver_config config = LIMITS;

    config.max_unmarked = max_unmarked;
    fixture = malloc(sizeof(*fixture));
    assert_non_null(fixture);
    http_fixture_init(fixture, &config);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    return begin_with(0);
}

/* Half of the connections are for those whom a handler knows. */
static int begin_reserved(void **state)
{
    (void)state;
    return begin_with(4);
}

static int end(void **state)
{
    (void)state;
    http_fixture_done(fixture);
    free(fixture);
    return 0;
}

static int ask(struct str request)
{
    int fd = http_fixture_connect(fixture);

    assert_true(http_fixture_send(fixture, fd, request));
    http_fixture_turn(fixture);
    return fd;
}

/* What has come begins with this; true when the server has closed. */
static bool answers(int fd, const char *beginning)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    bool is_closed = http_fixture_receive(fixture, fd, &got);

    if (!str_starts_with(buf_view(&got), str_from(beginning)) ||
        (beginning[0] == '\0' && got.len > 0))
        fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&got)), beginning);
    return is_closed;
}

static void leave(int fd)
{
    close(fd);
    http_fixture_turn(fixture);
}

#define GET(path) STR("GET " path " HTTP/1.1\r\nHost: x\r\n\r\n")

/* ---- time ---- */

static void who_says_nothing_is_let_go_without_a_word(void **state)
{
    int fd = http_fixture_connect(fixture);

    (void)state;
    http_fixture_pass(fixture, HEAD_MS - 1);
    assert_false(answers(fd, ""));
    http_fixture_pass(fixture, 1);
    assert_true(answers(fd, ""));
    assert_int_equal(http_fixture_connections(fixture), 0);
    leave(fd);
}

static void a_head_that_drips_is_refused(void **state)
{
    int fd = ask(STR("GET /hello HT"));

    (void)state;
    /* A byte now and then does not buy time. */
    for (int i = 0; i < 9; i++) {
        http_fixture_pass(fixture, HEAD_MS / 10);
        assert_true(http_fixture_send(fixture, fd, STR("T")));
    }
    assert_false(answers(fd, ""));
    http_fixture_pass(fixture, HEAD_MS / 10);
    assert_true(answers(fd, "HTTP/1.1 408 Request Timeout\r\n"));
    leave(fd);
}

static void a_body_that_drips_is_refused(void **state)
{
    int fd = ask(STR("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\n\r\n"));

    (void)state;
    assert_true(http_fixture_send(fixture, fd, STR("0123456789")));
    http_fixture_pass(fixture, BODY_MS);
    assert_false(answers(fd, ""));
    assert_true(http_fixture_send(fixture, fd, STR("012345678")));
    http_fixture_pass(fixture, BODY_MS);
    assert_true(answers(fd, "HTTP/1.1 408 "));
    leave(fd);
}

static void a_body_that_keeps_coming_has_all_the_time(void **state)
{
    int fd = ask(STR("POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n"));

    (void)state;
    for (int i = 0; i < 50; i++) {
        assert_true(http_fixture_send(fixture, fd, STR("0123456789")));
        http_fixture_pass(fixture, BODY_MS);
    }
    assert_false(answers(fd, "HTTP/1.1 200 "));
    leave(fd);
}

static void an_idle_connection_is_closed_in_the_end(void **state)
{
    int fd = ask(GET("/hello"));

    (void)state;
    assert_false(answers(fd, "HTTP/1.1 200 OK"));
    http_fixture_pass(fixture, IDLE_MS - 1);
    assert_true(http_fixture_send(fixture, fd, GET("/hello")));
    assert_false(answers(fd, "HTTP/1.1 200 OK"));
    http_fixture_pass(fixture, IDLE_MS - 1);
    assert_false(answers(fd, ""));
    http_fixture_pass(fixture, 1);
    assert_true(answers(fd, ""));
    leave(fd);
}

static void a_handler_may_take_its_time(void **state)
{
    int fd = ask(GET("/later"));

    (void)state;
    http_fixture_pass(fixture, INT64_C(3600000));
    http_fixture_answer_waiting(fixture);
    assert_false(answers(fd, "HTTP/1.1 200 OK"));
    leave(fd);
}

static void after_a_refusal_the_client_has_a_moment_to_read_it(void **state)
{
    int fd = ask(STR("nonsense\r\n"));

    (void)state;
    assert_int_equal(http_fixture_connections(fixture), 1);
    assert_true(http_fixture_send(fixture, fd, STR("more nonsense that nobody reads")));
    http_fixture_pass(fixture, 499);
    assert_int_equal(http_fixture_connections(fixture), 1);
    http_fixture_pass(fixture, 1);
    assert_int_equal(http_fixture_connections(fixture), 0);
    assert_true(answers(fd, "HTTP/1.1 400 "));
    leave(fd);
}

/* ---- clients that leave ---- */

static void a_handler_that_wants_to_know_is_told_that_the_client_left(void **state)
{
    int fd = ask(GET("/watched"));

    (void)state;
    assert_int_equal(fixture->gone, 0);
    leave(fd);
    assert_int_equal(fixture->gone, 1);
    assert_int_equal(http_fixture_connections(fixture), 0);
    assert_str(buf_view(&fixture->log), "GET /watched 0 cut\n");
}

static void one_that_does_not_answers_nobody(void **state)
{
    int fd = ask(GET("/later"));

    (void)state;
    leave(fd);
    http_fixture_answer_waiting(fixture);
    assert_int_equal(http_fixture_connections(fixture), 0);
}

static void who_only_stops_sending_gets_the_answer(void **state)
{
    int fd =
        ask(STR("GET /later HTTP/1.1\r\nHost: x\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n"));
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);

    (void)state;
    shutdown(fd, SHUT_WR);
    http_fixture_turn(fixture);
    http_fixture_answer_waiting(fixture);
    assert_true(http_fixture_receive(fixture, fd, &got));
    assert_true(str_find(buf_view(&got), STR("later\n")) != SIZE_MAX);
    assert_true(str_find(buf_view(&got), STR("hello\n")) != SIZE_MAX);
    assert_int_equal(http_fixture_connections(fixture), 0);
    leave(fd);
}

static void a_client_may_leave_in_every_place_of_a_request(void **state)
{
    const struct str request =
        STR("POST /count HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            "3\r\nabc\r\n0\r\nA: b\r\n\r\nGET /pieces HTTP/1.1\r\nHost: x\r\n\r\nGET /h");

    (void)state;
    for (size_t i = 0; i <= request.len; i++) {
        int fd = ask(str_slice(request, 0, i));

        leave(fd);
        assert_int_equal(http_fixture_connections(fixture), 0);
    }
}

static void a_client_that_leaves_in_the_middle_of_an_answer(void **state)
{
    const struct str piece = STR("some of an answer that is longer than a few bytes");
    int fd = ask(GET("/watched"));
    struct exchange *exchange = fixture->waiting[0];

    (void)state;
    exchange_begin(exchange, &(struct http_answer){.status = 200});
    assert_int_equal(exchange_write(exchange, &piece, 1), 0);
    close(fd);
    /* Written to a peer that is gone, before anybody knows. */
    assert_int_equal(exchange_write(exchange, &piece, 1), 0);
    assert_int_equal(exchange_write(exchange, &piece, 1), 0);
    assert_int_equal(fixture->gone, 0);
    http_fixture_turn(fixture);
    assert_int_equal(fixture->gone, 1);
    assert_int_equal(http_fixture_connections(fixture), 0);
    assert_str(buf_view(&fixture->log), "GET /watched 200 cut\n");
}

/* Short and long ones are written in different ways. */
static void pieces_of_any_length_arrive_as_chunks(void **state)
{
    static const size_t sizes[] = {1, 9, 10, 15, 16, 255, 256, 2047, 2048, 2049, 5000};
    static char text[5000];
    int fd = ask(GET("/watched"));
    struct exchange *exchange = fixture->waiting[0];

    (void)state;
    fixture->waiting_count = 0;
    memset(text, 'a', sizeof(text));
    exchange_begin(exchange, &(struct http_answer){.status = 200});
    assert_false(answers(fd, "HTTP/1.1 200 OK\r\n"));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const struct str parts[] = {{text, sizes[i] / 2}, {text, sizes[i] - sizes[i] / 2}};
        cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
        cleanup_buf struct buf wanted = BUF_INIT(GOT_BYTES);

        assert_int_equal(buf_printf(&wanted, "%zx\r\n%.*s\r\n", sizes[i], (int)sizes[i], text), 0);
        assert_int_equal(exchange_write(exchange, parts, 2), 0);
        assert_false(http_fixture_receive(fixture, fd, &got));
        assert_true(str_eq(buf_view(&got), buf_view(&wanted)));
    }
    exchange_end(exchange);
    assert_false(answers(fd, "0\r\n\r\n"));
    leave(fd);
}

static unsigned told_late;

static void note_late(void *data)
{
    (void)data;
    told_late++;
}

static void who_asks_too_late_is_told_too(void **state)
{
    static const struct exchange_events events = {.on_gone = note_late};
    const struct str piece = STR("for nobody");
    int fd = ask(GET("/later"));
    struct exchange *exchange = fixture->waiting[0];

    (void)state;
    fixture->waiting_count = 0;
    leave(fd);
    exchange_begin(exchange, &(struct http_answer){.status = 200});
    assert_int_equal(exchange_write(exchange, &piece, 1), 0);
    http_fixture_turn(fixture);
    assert_int_equal(http_fixture_connections(fixture), 1);
    exchange_watch(exchange, &events, NULL);
    assert_int_equal(told_late, 0);
    http_fixture_turn(fixture);
    assert_int_equal(told_late, 1);
    assert_int_equal(http_fixture_connections(fixture), 0);
}

/* ---- slow readers ---- */

static void a_reader_that_stalls_is_cut_off(void **state)
{
    static char large[4 << 20];
    const struct str part = {large, sizeof(large)};
    int fd = ask(GET("/watched"));

    (void)state;
    exchange_answer(fixture->waiting[0],
                    &(struct http_answer){.status = 200, .parts = &part, .part_count = 1});
    fixture->waiting_count = 0;
    http_fixture_pass(fixture, SEND_MS - 1);
    assert_int_equal(http_fixture_connections(fixture), 1);
    http_fixture_pass(fixture, 1);
    assert_int_equal(http_fixture_connections(fixture), 0);
    leave(fd);
}

static void a_reader_that_stalls_makes_room_when_it_is_needed(void **state)
{
    static char large[4 << 20];
    const struct str part = {large, sizeof(large)};
    int stalled = ask(GET("/watched"));
    int reading = ask(GET("/watched"));
    ssize_t got = 0;

    (void)state;
    for (size_t i = 0; i < 2; i++)
        exchange_answer(fixture->waiting[i],
                        &(struct http_answer){.status = 200, .parts = &part, .part_count = 1});
    fixture->waiting_count = 0;
    http_fixture_pass(fixture, 99);
    httpserver_shed(fixture->server, 100);
    http_fixture_turn(fixture);
    assert_int_equal(http_fixture_connections(fixture), 2);
    while (got < (ssize_t)sizeof(large) / 2) {
        static char some[100000];
        ssize_t n = read(reading, some, sizeof(some));

        assert_true(n > 0);
        got += n;
        http_fixture_turn(fixture);
    }
    http_fixture_pass(fixture, 1);
    httpserver_shed(fixture->server, 100);
    http_fixture_turn(fixture);
    assert_int_equal(http_fixture_connections(fixture), 1);
    leave(stalled);
    leave(reading);
}

static void a_reader_that_is_slow_but_reads_is_not(void **state)
{
    static char large[2 << 20];
    static char some[100000];
    const struct str part = {large, sizeof(large)};
    int fd = ask(GET("/watched"));

    (void)state;
    exchange_answer(fixture->waiting[0],
                    &(struct http_answer){.status = 200, .parts = &part, .part_count = 1});
    fixture->waiting_count = 0;
    for (size_t got = 0; got < sizeof(large) / 2; got += sizeof(some)) {
        for (size_t at = 0; at < sizeof(some);) {
            ssize_t n = read(fd, some, sizeof(some) - at);

            assert_true(n > 0);
            at += (size_t)n;
            http_fixture_turn(fixture);
        }
        http_fixture_pass(fixture, SEND_MS - 1);
    }
    assert_int_equal(http_fixture_connections(fixture), 1);
    leave(fd);
}

static void pipelined_answers_wait_for_a_reader(void **state)
{
    cleanup_buf struct buf requests = BUF_INIT(GOT_BYTES);
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    const struct str one = GET("/hello");
    int fd = http_fixture_connect(fixture);
    struct httpserver_stats stats;
    size_t answered = 0;
    struct str rest;

    (void)state;
    for (int i = 0; i < 20000; i++)
        assert_int_equal(buf_append_str(&requests, one), 0);
    rest = buf_view(&requests);
    /* As long as the server takes them, without reading an answer. */
    for (int stuck = 0; stuck < 5 && rest.len > 0;) {
        ssize_t sent = send(fd, rest.ptr, rest.len, MSG_NOSIGNAL);

        stuck = sent > 0 ? 0 : stuck + 1;
        if (sent > 0)
            rest = str_slice(rest, (size_t)sent, SIZE_MAX);
        http_fixture_turn(fixture);
    }
    httpserver_stats(fixture->server, &stats);
    assert_true(stats.requests < 20000);
    while (answered < 20000) {
        size_t before = got.len;

        http_fixture_receive(fixture, fd, &got);
        if (rest.len > 0) {
            ssize_t sent = send(fd, rest.ptr, rest.len, MSG_NOSIGNAL);

            if (sent > 0)
                rest = str_slice(rest, (size_t)sent, SIZE_MAX);
        }
        http_fixture_turn(fixture);
        httpserver_stats(fixture->server, &stats);
        answered = stats.requests;
        assert_true(got.len > before || answered == 20000 || rest.len > 0);
    }
    http_fixture_receive(fixture, fd, &got);
    answered = 0;
    for (size_t at = 0; (at = str_find(str_slice(buf_view(&got), answered, SIZE_MAX),
                                       STR("hello\n"))) != SIZE_MAX;)
        answered += at + 6;
    assert_int_equal(answered, got.len);
    leave(fd);
}

static void a_flood_of_pipelined_requests_lets_others_in_between(void **state)
{
    cleanup_buf struct buf requests = BUF_INIT(GOT_BYTES);
    struct httpserver_stats stats;
    int fd = http_fixture_connect(fixture);

    (void)state;
    for (int i = 0; i < 200; i++)
        assert_int_equal(buf_append_str(&requests, GET("/hello")), 0);
    assert_true(send(fd, requests.data, requests.len, 0) == (ssize_t)requests.len);
    uv_run(loop_uv(fixture->loop), UV_RUN_NOWAIT);
    httpserver_stats(fixture->server, &stats);
    assert_in_range(stats.requests, 1, 64);
    for (int i = 0; i < 10; i++)
        http_fixture_turn(fixture);
    httpserver_stats(fixture->server, &stats);
    assert_int_equal(stats.requests, 200);
    leave(fd);
}

/* ---- limits ---- */

static void too_many_connections_are_turned_away(void **state)
{
    int fds[9];
    struct httpserver_stats stats;

    (void)state;
    for (int i = 0; i < 9; i++)
        fds[i] = http_fixture_connect(fixture);
    assert_true(answers(fds[8], "HTTP/1.1 503 "));
    assert_false(answers(fds[7], ""));
    leave(fds[0]);
    leave(fds[8]);
    fds[0] = ask(GET("/hello"));
    assert_false(answers(fds[0], "HTTP/1.1 200 "));
    httpserver_stats(fixture->server, &stats);
    assert_int_equal(stats.turned_away, 1);
    for (int i = 0; i < 8; i++)
        leave(fds[i]);
}

/* Two more than strangers may have: the last are there, the first had to go. */
static void connect_strangers(int fds[6])
{
    for (int i = 0; i < 6; i++)
        fds[i] = i % 2 == 0 ? http_fixture_connect(fixture) : ask(STR("GET /hello HT"));
    http_fixture_turn(fixture);
    for (int i = 0; i < 6; i++)
        assert_int_equal(answers(fds[i], ""), i < 2);
}

static void strangers_make_room_for_one_another_and_for_who_is_known(void **state)
{
    int known[8];
    int strangers[6];

    (void)state;
    known[0] = ask(GET("/known"));
    assert_false(answers(known[0], "HTTP/1.1 200 "));
    connect_strangers(strangers);
    assert_int_equal(http_fixture_connections(fixture), 5);
    for (int i = 1; i < 8; i++) {
        known[i] = ask(GET("/known"));
        assert_false(answers(known[i], "HTTP/1.1 200 "));
    }
    /* Whoever is known stays, also when nothing but such are left. */
    assert_int_equal(http_fixture_connections(fixture), 8);
    for (int i = 2; i < 6; i++)
        assert_true(answers(strangers[i], ""));
    leave(strangers[0]);
    strangers[0] = http_fixture_connect(fixture);
    assert_true(answers(strangers[0], "HTTP/1.1 503 "));
    for (int i = 0; i < 8; i++) {
        assert_true(http_fixture_send(fixture, known[i], GET("/hello")));
        assert_false(answers(known[i], "HTTP/1.1 200 "));
        close(known[i]);
    }
    for (int i = 0; i < 6; i++)
        close(strangers[i]);
    http_fixture_turn(fixture);
    assert_int_equal(http_fixture_connections(fixture), 0);
}

/* What a handler still works for is not freed under it, and keeps its place until then. */
static void a_stranger_whose_request_is_handled_makes_room_too(void **state)
{
    int handled = ask(GET("/later"));
    int strangers[6];

    (void)state;
    connect_strangers(strangers);
    assert_true(answers(handled, ""));
    http_fixture_answer_waiting(fixture);
    http_fixture_turn(fixture);
    assert_int_equal(http_fixture_connections(fixture), 4);
    close(handled);
    for (int i = 0; i < 6; i++)
        close(strangers[i]);
    http_fixture_turn(fixture);
}

static struct httpserver_stats stats_of(const struct httpserver *server)
{
    struct httpserver_stats stats;

    httpserver_stats(server, &stats);
    return stats;
}

static int gather(size_t length, size_t sent)
{
    static char body[COLLECTED_BYTES];
    char head[100];
    int len = snprintf(head, sizeof(head),
                       "POST /gather HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", length);
    int fd = ask((struct str){head, (size_t)len});

    assert_true(http_fixture_send(fixture, fd, (struct str){body, sent}));
    http_fixture_turn(fixture);
    return fd;
}

static void bodies_have_a_ceiling_together(void **state)
{
    int fds[] = {gather(150000, 100000), gather(150000, 90000), gather(80000, 80000),
                 gather(10000, 10000)};

    (void)state;
    assert_false(answers(fds[0], ""));
    assert_false(answers(fds[1], ""));
    assert_true(answers(fds[2], "HTTP/1.1 503 "));
    /* A word of some lines gets through. */
    assert_false(answers(fds[3], "HTTP/1.1 200 "));
    assert_in_range(stats_of(fixture->server).collected_bytes, 190000, COLLECTED_BYTES);
    leave(fds[0]);
    leave(fds[2]);
    leave(fds[3]);
    fds[0] = gather(80000, 80000);
    assert_false(answers(fds[0], "HTTP/1.1 200 "));
    leave(fds[0]);
    leave(fds[1]);
    assert_int_equal(stats_of(fixture->server).collected_bytes, 0);
}

static void one_address_has_not_all_connections(void **state)
{
    struct httpserver_config config = {.max_per_address = 2};
    struct address address;
    struct sockaddr_storage to;
    socklen_t len = sizeof(to);
    struct httpserver *server;
    int fds[4];
    int listen_fd;

    (void)state;
    assert_int_equal(address_parse(STR("127.0.0.1:0"), &address), 0);
    assert_int_equal(address_listen(&address, NULL, &listen_fd), 0);
    assert_int_equal(getsockname(listen_fd, (struct sockaddr *)&to, &len), 0);
    assert_int_equal(httpserver_new(fixture->loop, listen_fd, &config, &server), 0);
    for (int i = 0; i < 3; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(connect(fds[i], (struct sockaddr *)&to, len), 0);
    }
    do
        loop_run_once(fixture->loop);
    while (stats_of(server).accepted < 3);
    assert_int_equal(stats_of(server).connections, 2);
    assert_int_equal(stats_of(server).turned_away, 1);
    close(fds[0]);
    do
        loop_run_once(fixture->loop);
    while (stats_of(server).connections > 1);
    fds[3] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fds[3], (struct sockaddr *)&to, len), 0);
    do
        loop_run_once(fixture->loop);
    while (stats_of(server).accepted < 4);
    assert_int_equal(stats_of(server).turned_away, 1);
    httpserver_free(server);
    for (int i = 1; i < 4; i++)
        close(fds[i]);
}

static void descriptors_that_run_out_are_waited_for(void **state)
{
    struct rlimit old;
    struct rlimit few;
    struct httpserver_stats stats;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = old;
    few.rlim_cur = (rlim_t)fd + 1;
    assert_int_equal(connect(fd, (struct sockaddr *)&fixture->address, fixture->address_len), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    http_fixture_turn(fixture);
    httpserver_stats(fixture->server, &stats);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(stats.accepted, 0);
    /* It does not look again before some time has passed. */
    http_fixture_turn(fixture);
    assert_int_equal(http_fixture_connections(fixture), 0);
    http_fixture_pass(fixture, 100);
    assert_int_equal(http_fixture_connections(fixture), 1);
    leave(fd);
}

/* ---- answers ---- */

static void fields_cannot_end_the_head(void **state)
{
    static const struct http_field bad[] = {
        {STR_LITERAL("Location"), STR_LITERAL("/\r\nSet-Cookie: a=b")},
        {STR_LITERAL("A: b\r\nC"), STR_LITERAL("d")},
        {STR_LITERAL("Content-Length"), STR_LITERAL("0")},
        {STR_LITERAL("transfer-encoding"), STR_LITERAL("chunked")},
    };
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);

    (void)state;
    for (size_t i = 0; i < 2 * array_size(bad); i++) {
        int fd = ask(GET("/later"));
        const struct http_answer answer = {.status = 200, .fields = &bad[i / 2], .field_count = 1};
        struct exchange *exchange = fixture->waiting[0];

        fixture->waiting_count = 0;
        if (i % 2 == 0) {
            exchange_answer(exchange, &answer);
        } else {
            exchange_begin(exchange, &answer);
            exchange_end(exchange);
        }
        buf_clear(&got);
        http_fixture_receive(fixture, fd, &got);
        assert_true(str_starts_with(buf_view(&got), STR("HTTP/1.1 500 ")));
        assert_true(str_find(buf_view(&got), STR("Cookie")) == SIZE_MAX);
        leave(fd);
    }
}

static void a_piece_that_a_slow_client_cannot_keep_is_refused(void **state)
{
    static char large[1 << 20];
    const struct str part = {large, sizeof(large)};
    int fd = ask(GET("/watched"));
    struct exchange *exchange = fixture->waiting[0];
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    unsigned taken = 0;

    (void)state;
    exchange_begin(exchange, &(struct http_answer){.status = 200});
    while (exchange_write(exchange, &part, 1) == 0)
        taken++;
    assert_in_range(taken, 15, 17);
    http_fixture_receive(fixture, fd, &got);
    assert_true(got.len > taken * sizeof(large));
    assert_true(fixture->drained >= 1);
    assert_int_equal(exchange_kept(exchange), 0);
    assert_int_equal(exchange_write(exchange, &part, 1), 0);
    fixture->waiting_count = 0;
    exchange_end(exchange);
    buf_clear(&got);
    assert_false(http_fixture_receive(fixture, fd, &got));
    assert_true(str_ends_with(buf_view(&got), STR("\r\n0\r\n\r\n")));
    leave(fd);
}

static void a_cut_answer_looks_incomplete(void **state)
{
    const struct str part = STR("half");
    int fd = ask(GET("/watched"));
    struct exchange *exchange = fixture->waiting[0];
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);

    (void)state;
    exchange_begin(exchange, &(struct http_answer){.status = 200});
    assert_int_equal(exchange_write(exchange, &part, 1), 0);
    exchange_cut(exchange);
    http_fixture_turn(fixture);
    assert_true(http_fixture_receive(fixture, fd, &got));
    assert_true(str_ends_with(buf_view(&got), STR("4\r\nhalf\r\n")));
    assert_int_equal(fixture->gone, 0);
    leave(fd);
}

static void every_request_is_logged_once(void **state)
{
    int fd =
        ask(STR("GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /pieces?a=b HTTP/1.1\r\nHost: x\r\n\r\n"
                "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n"
                "nonsense\r\n"));

    (void)state;
    assert_true(http_fixture_send(fixture, fd, (struct str){(char[90]){0}, 90}));
    leave(fd);
    assert_str(buf_view(&fixture->log), "GET /hello 200 complete\nGET /pieces?a=b 200 complete\n"
                                        "POST /echo 413 complete\n-  400 complete\n");
}

/* ---- the end ---- */

static void note_finished(void *data)
{
    ++*(unsigned *)data;
}

static void a_shutdown_lets_answers_finish_and_closes_the_idle(void **state)
{
    int idle = ask(GET("/hello"));
    int busy = ask(GET("/later"));
    int fresh = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    unsigned finished = 0;

    (void)state;
    httpserver_shutdown(fixture->server, 10000, note_finished, &finished);
    http_fixture_turn(fixture);
    assert_true(answers(idle, "HTTP/1.1 200 "));
    assert_int_not_equal(connect(fresh, (struct sockaddr *)&fixture->address, fixture->address_len),
                         0);
    assert_int_equal(finished, 0);
    http_fixture_answer_waiting(fixture);
    assert_true(http_fixture_receive(fixture, busy, &got));
    assert_true(str_find(buf_view(&got), STR("Connection: close\r\n")) != SIZE_MAX);
    leave(busy);
    assert_int_equal(finished, 1);
    close(idle);
    close(fresh);
}

static void a_shutdown_has_a_deadline(void **state)
{
    int fd = ask(GET("/watched"));
    unsigned finished = 0;

    (void)state;
    httpserver_shutdown(fixture->server, 10000, note_finished, &finished);
    http_fixture_pass(fixture, 9999);
    assert_int_equal(fixture->gone, 0);
    http_fixture_pass(fixture, 1);
    assert_int_equal(fixture->gone, 1);
    assert_int_equal(finished, 1);
    leave(fd);
}

static void only_who_is_watched_stays_when_the_others_are_cut(void **state)
{
    static const struct str two =
        STR_LITERAL("GET /hello HTTP/1.1\r\nHost: x\r\n\r\nPOST /echo HTTP/1.1\r\nHost: x\r\n"
                    "Content-Length: 9\r\n\r\nabc");
    cleanup_buf struct buf got = BUF_INIT(1 << 16);
    int watched = ask(GET("/watched"));
    int others[3];

    (void)state;
    others[0] = ask(GET("/hello"));
    others[1] = ask(two);
    others[2] = ask(STR("GET /hello HT"));
    assert_int_equal(http_fixture_connections(fixture), 4);
    httpserver_cut_unwatched(fixture->server);
    http_fixture_turn(fixture);
    assert_int_equal(http_fixture_connections(fixture), 1);
    assert_int_equal(fixture->gone, 0);
    http_fixture_answer_waiting(fixture);
    assert_false(http_fixture_receive(fixture, watched, &got));
    assert_true(str_starts_with(buf_view(&got), STR("HTTP/1.1 200 ")));
    leave(watched);
    for (int i = 0; i < 3; i++)
        close(others[i]);
}

static void freeing_the_server_ends_everything(void **state)
{
    int fds[4];

    (void)state;
    fds[0] = ask(GET("/watched"));
    fds[1] = ask(GET("/later"));
    fds[2] = ask(STR("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"));
    fds[3] = ask(GET("/hello"));
    httpserver_free(fixture->server);
    fixture->server = NULL;
    assert_int_equal(fixture->gone, 1);
    http_fixture_turn(fixture);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
}

#define CASE(name)     cmocka_unit_test_setup_teardown(name, begin, end)
#define RESERVED(name) cmocka_unit_test_setup_teardown(name, begin_reserved, end)
TEST_MAIN(CASE(who_says_nothing_is_let_go_without_a_word), CASE(a_head_that_drips_is_refused),
          CASE(a_body_that_drips_is_refused), CASE(a_body_that_keeps_coming_has_all_the_time),
          CASE(an_idle_connection_is_closed_in_the_end), CASE(a_handler_may_take_its_time),
          CASE(after_a_refusal_the_client_has_a_moment_to_read_it),
          CASE(a_handler_that_wants_to_know_is_told_that_the_client_left),
          CASE(one_that_does_not_answers_nobody), CASE(who_only_stops_sending_gets_the_answer),
          CASE(a_client_may_leave_in_every_place_of_a_request),
          CASE(a_client_that_leaves_in_the_middle_of_an_answer),
          CASE(pieces_of_any_length_arrive_as_chunks), CASE(who_asks_too_late_is_told_too),
          CASE(a_reader_that_stalls_is_cut_off),
          CASE(a_reader_that_stalls_makes_room_when_it_is_needed),
          CASE(a_reader_that_is_slow_but_reads_is_not), CASE(pipelined_answers_wait_for_a_reader),
          CASE(a_flood_of_pipelined_requests_lets_others_in_between),
          CASE(too_many_connections_are_turned_away), CASE(one_address_has_not_all_connections),
          RESERVED(strangers_make_room_for_one_another_and_for_who_is_known),
          RESERVED(a_stranger_whose_request_is_handled_makes_room_too),
          CASE(bodies_have_a_ceiling_together), CASE(descriptors_that_run_out_are_waited_for),
          CASE(fields_cannot_end_the_head), CASE(a_piece_that_a_slow_client_cannot_keep_is_refused),
          CASE(a_cut_answer_looks_incomplete), CASE(every_request_is_logged_once),
          CASE(a_shutdown_lets_answers_finish_and_closes_the_idle), CASE(a_shutdown_has_a_deadline),
          CASE(only_who_is_watched_stays_when_the_others_are_cut),
          CASE(freeing_the_server_ends_everything))
