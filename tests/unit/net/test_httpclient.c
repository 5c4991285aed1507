/* SPDX-License-Identifier: Apache-2.0 */
/* The client with servers whose every byte the test writes. */
#include "test.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "httpclient_stats.h"
#include "loop_until.h"
#include "net/http/client.h"
#include "raw_server.h"

enum { TEXT_BYTES = 32 << 20, LARGE_BYTES = 16 << 20, ANSWER_BYTES = 64, CALLS = 20 };

static struct clock fake;
static struct loop *loop;
static struct raw_server server;
static struct httpclient *client;
static struct httpurl url;

/* How a call went. */
struct seen {
    struct httpclient_call *call;
    struct buf body;
    struct buf pieces;
    int heads;
    int done;
    int code;
    int status;
    struct err err;
    bool cancels_in_head;
    bool cancels_in_bytes;
};

static void note_head(void *data, const struct http_response *response)
{
    struct seen *seen = data;

    seen->heads++;
    seen->status = response->status;
    if (seen->cancels_in_head)
        httpclient_cancel(seen->call);
}

static void note_bytes(void *data, struct str bytes)
{
    struct seen *seen = data;

    assert_int_equal(buf_append_str(&seen->pieces, bytes), 0);
    if (seen->cancels_in_bytes)
        httpclient_cancel(seen->call);
}

static void note_done(void *data, const struct httpclient_result *result)
{
    struct seen *seen = data;

    seen->done++;
    seen->code = result->code;
    seen->err = result->err;
    seen->status = result->response != NULL ? result->response->status : 0;
    assert_int_equal(buf_append_str(&seen->body, result->body), 0);
}

static const struct httpclient_events COLLECTING = {.on_done = note_done};
static const struct httpclient_events STREAMING = {
    .on_head = note_head, .on_bytes = note_bytes, .on_done = note_done};

static void seen_init(struct seen *seen)
{
    *seen = (struct seen){.body = BUF_INIT(TEXT_BYTES), .pieces = BUF_INIT(TEXT_BYTES)};
}

static void seen_done(struct seen *seen)
{
    buf_done(&seen->body);
    buf_done(&seen->pieces);
}

static bool only_our_server(void *data, const struct httpurl *asked)
{
    (void)data;
    return httpurl_same_origin(asked, &url) || str_ends_with(str_from(asked->host), STR(".test"));
}

/* For "slow.test": where nobody ever answers. For "hang.test": waits for the other end to close. */
static struct sockaddr_in full;
static int hanging[2];

static int look_up(const char *host, uint16_t port, struct dial_addresses *out)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};

    if (strcmp(host, "hang.test") == 0) {
        char byte;

        (void)!read(hanging[0], &byte, 1);
        return ERR_HOST_UNKNOWN;
    }
    if (strcmp(host, "slow.test") == 0) {
        memcpy(&out->list[out->count++], &full, sizeof(full));
        v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        memcpy(&out->list[out->count++], &v4, sizeof(v4));
        return 0;
    }
    if (strcmp(host, "name.test") != 0 || port != server.port)
        return ERR_HOST_UNKNOWN;
    /* Nobody listens on the port of the first address. */
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    memcpy(&out->list[out->count++], &v4, sizeof(v4));
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memcpy(&out->list[out->count++], &v4, sizeof(v4));
    return 0;
}

static int begin(void **state)
{
    const struct httpclient_config config = {.may_reach = only_our_server,
                                             .lookup = look_up,
                                             .max_connections = 4,
                                             .max_calls = CALLS,
                                             .max_held_bytes = LARGE_BYTES + 1000};
    char text[64];

    (void)state;
    clock_fake_init(&fake, 0);
    assert_int_equal(loop_new(&fake, &loop), 0);
    raw_server_init(&server, loop);
    snprintf(text, sizeof(text), "http://127.0.0.1:%u/base/", server.port);
    assert_int_equal(httpurl_parse(str_from(text), &url, NULL), 0);
    assert_int_equal(httpclient_new(loop, &config, &client), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    httpclient_free(client);
    raw_server_done(&server);
    loop_free(loop);
    return 0;
}

static void pass(int64_t ms)
{
    clock_fake_advance(&fake, ms);
    loop_run_due_timers(loop);
}

static struct httpclient_request get_of(const char *target)
{
    return (struct httpclient_request){
        .method = HTTP_METHOD_GET, .url = &url, .target = str_from(target), .may_repeat = true};
}

static void send_get(struct seen *seen, const char *target)
{
    struct httpclient_request request = get_of(target);

    seen_init(seen);
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, seen, &seen->call, NULL), 0);
}

static void send_stream(struct seen *seen)
{
    struct httpclient_request request = get_of("/events");

    seen_init(seen);
    assert_int_equal(httpclient_send(client, &request, &STREAMING, seen, &seen->call, NULL), 0);
}

/* A request comes, is read and thrown away. */
static int take(void)
{
    cleanup_buf struct buf got = BUF_INIT(TEXT_BYTES);
    int fd = raw_server_accept(&server);

    raw_server_read_head(&server, fd, &got);
    return fd;
}

static struct httpclient_stats stats(void)
{
    return httpclient_stats(client);
}

static void a_request_is_what_was_asked_for(void **state)
{
    const struct http_field fields[] = {{STR("X-Key"), STR("k")}, {STR("Accept"), STR("a/b")}};
    cleanup_buf struct buf body = BUF_INIT(100);
    cleanup_buf struct buf got = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf wanted = BUF_INIT(TEXT_BYTES);
    struct httpclient_request request = {.method = HTTP_METHOD_POST,
                                         .url = &url,
                                         .target = STR("/x?y=z"),
                                         .fields = fields,
                                         .field_count = 2,
                                         .body = &body};
    struct seen seen;
    int fd;

    (void)state;
    seen_init(&seen);
    assert_int_equal(buf_append_str(&body, STR("{}")), 0);
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, &seen, &seen.call, NULL), 0);
    fd = raw_server_accept(&server);
    raw_server_read(&server, fd, &got, STR("\r\n\r\n{}"));
    assert_int_equal(buf_printf(&wanted,
                                "POST /base/x?y=z HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX-Key: k\r\n"
                                "Accept: a/b\r\nContent-Length: 2\r\n\r\n{}",
                                server.port),
                     0);
    assert_true(str_eq(buf_view(&got), buf_view(&wanted)));
    raw_server_write(&server, fd, STR("HTTP/1.1 201 Made\r\nContent-Length: 4\r\n\r\ndone"));
    loop_until(loop, seen.done == 1);
    assert_int_equal(seen.code, 0);
    assert_int_equal(seen.status, 201);
    assert_str(buf_view(&seen.body), "done");
    close(fd);
    seen_done(&seen);
}

static void a_connection_is_kept_for_the_next_request(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(TEXT_BYTES);
    struct seen seen;
    int fd;

    (void)state;
    send_get(&seen, "/1");
    fd = take();
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    loop_until(loop, seen.done == 1);
    assert_int_equal(stats().idle, 1);
    send_get(&seen, "/2");
    raw_server_read_head(&server, fd, &got);
    raw_server_write(
        &server, fd,
        STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"));
    loop_until(loop, seen.done == 1);
    assert_str(buf_view(&seen.body), "x");
    assert_int_equal(stats().dialled, 1);
    /* And not for ever. */
    pass(HTTPCLIENT_KEEP_MS);
    raw_server_await_close(&server, fd);
    assert_int_equal(stats().connections, 0);
    seen_done(&seen);
}

static void a_connection_that_the_server_closed_meanwhile_is_replaced(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(TEXT_BYTES);
    struct seen seen;
    int fd;

    (void)state;
    send_get(&seen, "/1");
    fd = take();
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    loop_until(loop, seen.done == 1);
    send_get(&seen, "/2");
    raw_server_read_head(&server, fd, &got);
    close(fd);
    fd = take();
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    loop_until(loop, seen.done == 1);
    assert_int_equal(seen.code, 0);
    assert_int_equal(stats().dialled, 2);
    close(fd);
    seen_done(&seen);
}

static void a_new_connection_that_closes_is_not_tried_again(void **state)
{
    struct seen seen;
    int fd;

    (void)state;
    send_get(&seen, "/1");
    fd = take();
    close(fd);
    loop_until(loop, seen.done == 1);
    assert_int_equal(seen.code, ERR_CONNECTION_LOST);
    assert_true(raw_server_is_alone(&server));
    seen_done(&seen);
}

static void what_may_not_be_repeated_gets_a_new_connection(void **state)
{
    struct httpclient_request request = get_of("/once");
    struct seen first;
    struct seen once;
    int fd;
    int other;

    (void)state;
    send_get(&first, "/1");
    fd = take();
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    loop_until(loop, first.done == 1);
    request.may_repeat = false;
    seen_init(&once);
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, &once, &once.call, NULL), 0);
    other = take();
    close(other);
    loop_until(loop, once.done == 1);
    assert_int_equal(once.code, ERR_CONNECTION_LOST);
    close(fd);
    seen_done(&first);
    seen_done(&once);
}

static void what_nobody_asked_for_ends_a_kept_connection(void **state)
{
    struct seen seen;
    int fd;

    (void)state;
    send_get(&seen, "/1");
    fd = take();
    /* Behind the answer, in one piece with it and later. */
    raw_server_write(&server, fd,
                     STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n"));
    loop_until(loop, seen.done == 1);
    assert_int_equal(seen.code, 0);
    raw_server_await_close(&server, fd);
    send_get(&seen, "/2");
    fd = take();
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    loop_until(loop, seen.done == 1);
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    raw_server_await_close(&server, fd);
    assert_int_equal(stats().connections, 0);
    seen_done(&seen);
}

static void a_stream_comes_as_it_is_sent(void **state)
{
    struct seen seen;
    int fd;

    (void)state;
    send_stream(&seen);
    fd = take();
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\n\r\n"));
    loop_until(loop, seen.heads == 1);
    raw_server_write(&server, fd, STR("data: 1\n\n"));
    loop_until(loop, seen.pieces.len == 9);
    assert_int_equal(seen.done, 0);
    raw_server_write(&server, fd, STR("data: 2\n\n"));
    loop_until(loop, seen.pieces.len == 18);
    close(fd);
    loop_until(loop, seen.done == 1);
    assert_int_equal(seen.code, 0);
    seen_done(&seen);
}

static void an_answer_that_is_cut_short_is_none(void **state)
{
    struct seen seen;
    int fd;

    (void)state;
    send_get(&seen, "/1");
    fd = take();
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
    close(fd);
    loop_until(loop, seen.done == 1);
    assert_int_equal(seen.code, ERR_CONNECTION_LOST);
    seen_done(&seen);
}

static void nonsense_is_refused(void **state)
{
    struct seen seen;
    int fd;

    (void)state;
    send_get(&seen, "/1");
    fd = take();
    raw_server_write(&server, fd,
                     STR("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"));
    loop_until(loop, seen.done == 1);
    assert_int_equal(seen.code, ERR_HTTP_ANSWER);
    raw_server_await_close(&server, fd);
    seen_done(&seen);
}

static void an_answer_has_a_ceiling(void **state)
{
    struct httpclient_request request = get_of("/1");
    struct seen seen;
    int fd;

    (void)state;
    request.max_answer_bytes = ANSWER_BYTES;
    seen_init(&seen);
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, &seen, &seen.call, NULL), 0);
    fd = take();
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
    for (int i = 0; i <= ANSWER_BYTES && seen.done == 0; i++)
        raw_server_write(&server, fd, STR("1\r\nx\r\n"));
    loop_until(loop, seen.done == 1);
    assert_int_equal(seen.code, ERR_TOO_LARGE);
    raw_server_await_close(&server, fd);
    seen_done(&seen);
}

static void nobody_is_followed_elsewhere(void **state)
{
    struct seen seen;
    int fd;

    (void)state;
    send_get(&seen, "/1");
    fd = take();
    raw_server_write(
        &server, fd,
        STR("HTTP/1.1 302 Found\r\nLocation: https://evil.test/\xc2\x9bx?key=sess_secret\r\n"
            "Content-Length: 0\r\n\r\n"));
    loop_until(loop, seen.done == 1);
    assert_int_equal(seen.code, ERR_HTTP_REDIRECT);
    assert_string_equal(
        seen.err.message,
        "127.0.0.1 redirects to https://evil.test/\\u{9b}x; redirects are not followed");
    assert_true(raw_server_is_alone(&server));
    close(fd);
    seen_done(&seen);
}

static void strangers_are_not_talked_to(void **state)
{
    struct httpclient_request request = get_of("/1");
    struct httpclient_call *call;
    struct err err = ERR_INIT;
    struct httpurl other;
    char text[64];

    (void)state;
    /* The same address by another name, another scheme. */
    snprintf(text, sizeof(text), "http://localhost:%u", server.port);
    assert_int_equal(httpurl_parse(str_from(text), &other, NULL), 0);
    request.url = &other;
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, NULL, &call, &err),
                     ERR_SERVER_DENIED);
    other = url;
    other.is_tls = true;
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, NULL, &call, &err),
                     ERR_SERVER_DENIED);
    assert_true(raw_server_is_alone(&server));
    assert_int_equal(stats().dialled, 0);
}

static void headers_cannot_end_their_line(void **state)
{
    static const struct http_field fields[] = {
        {STR_LITERAL("X"), STR_LITERAL("a\r\nY: b")},
        {STR_LITERAL("X Y"), STR_LITERAL("a")},
        {STR_LITERAL("Host"), STR_LITERAL("other")},
        {STR_LITERAL("Content-Length"), STR_LITERAL("7")},
        {STR_LITERAL("transfer-encoding"), STR_LITERAL("chunked")},
    };
    static const char *const targets[] = {"", "x", "/a b", "/a\r\n", "/a#b", "/\xc3\xa4"};
    struct httpclient_call *call;

    (void)state;
    for (size_t i = 0; i < array_size(fields); i++) {
        struct httpclient_request request = get_of("/1");

        request.fields = &fields[i];
        request.field_count = 1;
        assert_int_equal(httpclient_send(client, &request, &COLLECTING, NULL, &call, NULL),
                         ERR_INVALID_ARGUMENT);
    }
    for (size_t i = 0; i < array_size(targets); i++) {
        struct httpclient_request request = get_of(targets[i]);

        assert_int_equal(httpclient_send(client, &request, &COLLECTING, NULL, &call, NULL),
                         ERR_INVALID_ARGUMENT);
    }
    assert_int_equal(stats().calls, 0);
}

static void a_large_body_goes_whole(void **state)
{
    cleanup_buf struct buf body = BUF_INIT(LARGE_BYTES);
    cleanup_buf struct buf got = BUF_INIT(TEXT_BYTES);
    struct httpclient_request request = {
        .method = HTTP_METHOD_POST, .url = &url, .target = STR("/x"), .body = &body};
    struct httpclient_call *call;
    struct seen seen;
    int fd;

    (void)state;
    seen_init(&seen);
    assert_int_equal(buf_reserve(&body, LARGE_BYTES), 0);
    for (size_t i = 0; i < LARGE_BYTES; i++)
        body.data[i] = (char)('a' + i % 23);
    body.data[LARGE_BYTES - 1] = '!';
    body.len = LARGE_BYTES;
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, &seen, &seen.call, NULL), 0);
    assert_int_equal(body.len, 0);
    /* The ceiling of all bodies together is near. */
    assert_int_equal(buf_reserve(&body, 2000), 0);
    body.len = 2000;
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, &seen, &call, NULL), ERR_BUSY);
    assert_int_equal(body.len, 2000);
    fd = raw_server_accept(&server);
    raw_server_read(&server, fd, &got, STR("!"));
    assert_true(got.len > LARGE_BYTES);
    assert_memory_equal(got.data + got.len - LARGE_BYTES, "abc", 3);
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    loop_until(loop, seen.done == 1);
    assert_int_equal(seen.code, 0);
    /* All of it had gone, so the connection is good for more. */
    assert_int_equal(stats().idle, 1);
    close(fd);
    seen_done(&seen);
}

static void an_answer_before_the_body_has_gone_costs_the_connection(void **state)
{
    cleanup_buf struct buf body = BUF_INIT(LARGE_BYTES);
    struct httpclient_request request = {
        .method = HTTP_METHOD_POST, .url = &url, .target = STR("/x"), .body = &body};
    struct seen seen;
    int fd;

    (void)state;
    seen_init(&seen);
    assert_int_equal(buf_reserve(&body, LARGE_BYTES), 0);
    memset(body.data, 'a', LARGE_BYTES);
    body.len = LARGE_BYTES;
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, &seen, &seen.call, NULL), 0);
    fd = raw_server_accept(&server);
    raw_server_write(&server, fd, STR("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"));
    loop_until(loop, seen.done == 1);
    assert_int_equal(seen.code, 0);
    assert_int_equal(seen.status, 413);
    assert_int_equal(stats().connections, 0);
    close(fd);
    seen_done(&seen);
}

static void calls_past_the_connections_wait_for_one(void **state)
{
    struct seen seen[CALLS];
    struct httpclient_request request = get_of("/x");
    struct httpclient_call *call;
    int fds[4];
    int done = 0;

    (void)state;
    for (size_t i = 0; i < CALLS; i++)
        send_get(&seen[i], "/x");
    assert_int_equal(stats().connections, 4);
    assert_int_equal(stats().waiting, CALLS - 4);
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, NULL, &call, NULL), ERR_BUSY);
    for (size_t i = 0; i < array_size(fds); i++)
        fds[i] = raw_server_accept(&server);
    while (done < CALLS)
        for (size_t i = 0; i < array_size(fds) && done < CALLS; i++, done++) {
            cleanup_buf struct buf got = BUF_INIT(TEXT_BYTES);

            raw_server_read_head(&server, fds[i], &got);
            raw_server_write(&server, fds[i], STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
        }
    for (size_t i = 0; i < CALLS; i++) {
        loop_until(loop, seen[i].done == 1);
        assert_int_equal(seen[i].code, 0);
        seen_done(&seen[i]);
    }
    assert_int_equal(stats().dialled, 4);
    for (size_t i = 0; i < array_size(fds); i++)
        close(fds[i]);
}

static void take_body(void *data, const struct httpclient_result *result)
{
    struct seen *seen = data;

    seen->done++;
    seen->code = result->code;
    buf_done(&seen->body);
    seen->body = *result->sent;
    buf_init(result->sent, 0);
}

static void a_body_that_was_not_answered_comes_back(void **state)
{
    static const struct httpclient_events taking = {.on_done = take_body};
    cleanup_buf struct buf body = BUF_INIT(LARGE_BYTES);
    struct httpclient_request request = {
        .method = HTTP_METHOD_POST, .url = &url, .target = STR("/x"), .body = &body};
    struct seen seen;

    (void)state;
    seen_init(&seen);
    /* More than half of what may wait in all, so the second one shows that the first is forgotten.
     */
    assert_int_equal(buf_reserve(&body, LARGE_BYTES), 0);
    memset(body.data, 'b', LARGE_BYTES);
    body.len = LARGE_BYTES;
    for (int i = 1; i <= 2; i++) {
        int fd;

        assert_int_equal(httpclient_send(client, &request, &taking, &seen, &seen.call, NULL), 0);
        fd = raw_server_accept(&server);
        close(fd);
        loop_until(loop, seen.done == i);
        assert_int_equal(seen.code, ERR_CONNECTION_LOST);
        assert_int_equal(seen.body.len, LARGE_BYTES);
        body = seen.body;
        buf_init(&seen.body, 0);
    }
    seen_done(&seen);
}

static void a_head_that_drips_is_given_up(void **state)
{
    struct seen seen;
    int fd;

    (void)state;
    send_get(&seen, "/1");
    fd = take();
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\n"));
    pass(HTTPCLIENT_HEAD_MS / 2);
    raw_server_write(&server, fd, STR("A: b\r\n"));
    assert_int_equal(seen.done, 0);
    pass(HTTPCLIENT_HEAD_MS / 2);
    assert_int_equal(seen.done, 1);
    assert_int_equal(seen.code, ERR_TIMED_OUT);
    raw_server_await_close(&server, fd);
    seen_done(&seen);
}

static void silence_in_the_middle_is_given_up(void **state)
{
    struct seen seen;
    int fd;

    (void)state;
    send_stream(&seen);
    fd = take();
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\n\r\n"));
    loop_until(loop, seen.heads == 1);
    pass(HTTPCLIENT_IDLE_MS - 1);
    raw_server_write(&server, fd, STR(":"));
    loop_until(loop, seen.pieces.len == 1);
    pass(HTTPCLIENT_IDLE_MS - 1);
    assert_int_equal(seen.done, 0);
    pass(1);
    assert_int_equal(seen.done, 1);
    assert_int_equal(seen.code, ERR_TIMED_OUT);
    raw_server_await_close(&server, fd);
    seen_done(&seen);
}

static void the_whole_has_a_limit_and_waiting_counts(void **state)
{
    struct httpclient_request request = get_of("/1");
    struct seen seen[5];

    (void)state;
    request.whole_ms = 1000;
    for (size_t i = 0; i < array_size(seen); i++) {
        seen_init(&seen[i]);
        assert_int_equal(
            httpclient_send(client, &request, &COLLECTING, &seen[i], &seen[i].call, NULL), 0);
    }
    assert_int_equal(stats().waiting, 1);
    pass(1000);
    for (size_t i = 0; i < array_size(seen); i++) {
        assert_int_equal(seen[i].done, 1);
        assert_int_equal(seen[i].code, ERR_TIMED_OUT);
        seen_done(&seen[i]);
    }
    assert_int_equal(stats().calls, 0);
}

static void a_server_that_does_not_take_the_body_is_given_up(void **state)
{
    cleanup_buf struct buf body = BUF_INIT(LARGE_BYTES);
    struct httpclient_request request = {
        .method = HTTP_METHOD_POST, .url = &url, .target = STR("/x"), .body = &body};
    struct seen seen;
    int fd;

    (void)state;
    seen_init(&seen);
    assert_int_equal(buf_reserve(&body, LARGE_BYTES), 0);
    memset(body.data, 'a', LARGE_BYTES);
    body.len = LARGE_BYTES;
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, &seen, &seen.call, NULL), 0);
    fd = raw_server_accept(&server);
    /* The system takes some of it at first. */
    loop_until(loop, (pass(HTTPCLIENT_IDLE_MS), seen.done == 1));
    assert_int_equal(seen.code, ERR_TIMED_OUT);
    close(fd);
    seen_done(&seen);
}

static void who_cancels_hears_nothing_more(void **state)
{
    struct httpclient_request request = get_of("/looked-up");
    struct httpurl named = url;
    struct seen seen;
    int fd;

    (void)state;
    snprintf(named.host, sizeof(named.host), "name.test");
    request.url = &named;
    seen_init(&seen);
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, &seen, &seen.call, NULL), 0);
    httpclient_cancel(seen.call);
    assert_true(raw_server_is_alone(&server));
    send_get(&seen, "/sent");
    fd = take();
    httpclient_cancel(seen.call);
    raw_server_await_close(&server, fd);
    assert_int_equal(seen.done, 0);

    send_stream(&seen);
    seen.cancels_in_head = true;
    fd = take();
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\n\r\nbody"));
    raw_server_await_close(&server, fd);
    assert_int_equal(seen.heads, 1);
    assert_int_equal(seen.pieces.len, 0);

    send_stream(&seen);
    seen.cancels_in_bytes = true;
    fd = take();
    raw_server_write(&server, fd,
                     STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n"
                         "0\r\n\r\n"));
    raw_server_await_close(&server, fd);
    assert_str(buf_view(&seen.pieces), "a");
    assert_int_equal(seen.done, 0);
    assert_int_equal(stats().calls, 0);
    seen_done(&seen);
}

static void a_name_is_looked_up_and_every_address_tried(void **state)
{
    struct httpclient_request request = get_of("/1");
    struct httpurl named = url;
    struct seen seen;
    int fd;

    (void)state;
    snprintf(named.host, sizeof(named.host), "name.test");
    request.url = &named;
    seen_init(&seen);
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, &seen, &seen.call, NULL), 0);
    fd = take();
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    loop_until(loop, seen.done == 1);
    assert_int_equal(seen.code, 0);
    close(fd);
    /* Another port is a name that nobody knows. */
    named.port = 1;
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, &seen, &seen.call, NULL), 0);
    loop_until(loop, seen.done == 2);
    assert_int_equal(seen.code, ERR_HOST_UNKNOWN);
    assert_string_equal(seen.err.message, "name.test:1: unknown host name");
    seen_done(&seen);
}

static bool is_accepted_meanwhile(int *out_fd)
{
    pass(100);
    *out_fd = accept4(server.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return *out_fd >= 0;
}

static void an_address_that_never_answers_is_passed_over(void **state)
{
    struct httpclient_request request = get_of("/1");
    struct httpurl named = url;
    struct seen seen;
    socklen_t len = sizeof(full);
    int fds[8];
    int fd;

    (void)state;
    /* A queue of one that is full: the system lets further connections wait. */
    full = (struct sockaddr_in){.sin_family = AF_INET};
    full.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t i = 0; i < array_size(fds); i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(fds[i] >= 0);
        if (i == 0) {
            assert_int_equal(bind(fds[0], (struct sockaddr *)&full, len), 0);
            assert_int_equal(listen(fds[0], 0), 0);
            assert_int_equal(getsockname(fds[0], (struct sockaddr *)&full, &len), 0);
        } else {
            (void)connect(fds[i], (struct sockaddr *)&full, len);
        }
    }
    snprintf(named.host, sizeof(named.host), "slow.test");
    request.url = &named;
    request.connect_ms = 1000000;
    seen_init(&seen);
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, &seen, &seen.call, NULL), 0);
    loop_until(loop, is_accepted_meanwhile(&fd));
    assert_int_equal(seen.done, 0);
    httpclient_cancel(seen.call);
    close(fd);
    for (size_t i = 0; i < array_size(fds); i++)
        close(fds[i]);
    seen_done(&seen);
}

static void a_resolver_that_hangs_holds_nobody_up(void **state)
{
    struct httpclient_request request = get_of("/1");
    struct httpurl named = url;
    struct seen hung;
    struct seen other;
    int fd;

    (void)state;
    assert_int_equal(pipe(hanging), 0);
    snprintf(named.host, sizeof(named.host), "hang.test");
    request.url = &named;
    seen_init(&hung);
    assert_int_equal(httpclient_send(client, &request, &COLLECTING, &hung, &hung.call, NULL), 0);
    send_get(&other, "/2");
    fd = take();
    raw_server_write(&server, fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    loop_until(loop, other.done == 1);
    assert_int_equal(hung.done, 0);
    pass(HTTPCLIENT_CONNECT_MS);
    assert_int_equal(hung.done, 1);
    assert_int_equal(hung.code, ERR_TIMED_OUT);
    /* The end of the client does not wait for it either. */
    httpclient_free(client);
    client = NULL;
    close(hanging[1]);
    close(fd);
    seen_done(&hung);
    seen_done(&other);
}

static void nobody_at_the_port_is_told(void **state)
{
    char words[128];
    struct seen seen;

    (void)state;
    snprintf(words, sizeof(words), "127.0.0.1:%u: %s", server.port, err_text(ERR_UNREACHABLE));
    raw_server_done(&server);
    send_get(&seen, "/1");
    loop_until(loop, seen.done == 1);
    assert_int_equal(seen.code, ERR_UNREACHABLE);
    assert_string_equal(seen.err.message, words);
    seen_done(&seen);
}

static void an_end_of_the_client_ends_its_calls(void **state)
{
    struct seen seen[6];
    int fd;

    (void)state;
    for (size_t i = 0; i < array_size(seen); i++)
        send_get(&seen[i], "/x");
    fd = take();
    httpclient_free(client);
    client = NULL;
    raw_server_await_close(&server, fd);
    for (size_t i = 0; i < array_size(seen); i++) {
        assert_int_equal(seen[i].done, 0);
        seen_done(&seen[i]);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
TEST_MAIN(CASE(a_request_is_what_was_asked_for), CASE(a_connection_is_kept_for_the_next_request),
          CASE(a_connection_that_the_server_closed_meanwhile_is_replaced),
          CASE(a_new_connection_that_closes_is_not_tried_again),
          CASE(what_may_not_be_repeated_gets_a_new_connection),
          CASE(what_nobody_asked_for_ends_a_kept_connection), CASE(a_stream_comes_as_it_is_sent),
          CASE(an_answer_that_is_cut_short_is_none), CASE(nonsense_is_refused),
          CASE(an_answer_has_a_ceiling), CASE(nobody_is_followed_elsewhere),
          CASE(strangers_are_not_talked_to), CASE(headers_cannot_end_their_line),
          CASE(a_large_body_goes_whole),
          CASE(an_answer_before_the_body_has_gone_costs_the_connection),
          CASE(calls_past_the_connections_wait_for_one),
          CASE(a_body_that_was_not_answered_comes_back), CASE(a_head_that_drips_is_given_up),
          CASE(silence_in_the_middle_is_given_up), CASE(the_whole_has_a_limit_and_waiting_counts),
          CASE(a_server_that_does_not_take_the_body_is_given_up),
          CASE(who_cancels_hears_nothing_more), CASE(a_name_is_looked_up_and_every_address_tried),
          CASE(an_address_that_never_answers_is_passed_over),
          CASE(a_resolver_that_hangs_holds_nobody_up), CASE(nobody_at_the_port_is_told),
          CASE(an_end_of_the_client_ends_its_calls))
