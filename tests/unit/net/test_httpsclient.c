/* SPDX-License-Identifier: Apache-2.0 */
/* The client with TLS: a trusted server, and untrusted ones. */
#include "test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "httpclient_stats.h"
#include "loop_until.h"
#include "net/http/client.h"
#include "net/http/exchange.h"
#include "net/http/server.h"
#include "raw_server.h"
#include "tls_ends.h"

enum { BODY_BYTES = 1 << 20 };

static struct tls_world world;
static struct clock fake;
static struct loop *loop;
static struct httpserver *server;
static struct tls_context *server_tls;
static struct tls_context *client_tls;
static struct httpclient *client;
static struct httpurl url;

struct seen {
    int done;
    int code;
    int status;
    struct err err;
};

static void note_done(void *data, const struct httpclient_result *result)
{
    struct seen *seen = data;

    seen->done++;
    seen->code = result->code;
    seen->err = result->err;
    seen->status = result->response != NULL ? result->response->status : 0;
}

static const struct httpclient_events EVENTS = {.on_done = note_done};

static bool anybody(void *data, const struct httpurl *asked)
{
    (void)data;
    (void)asked;
    return true;
}

static int make_server_filter(void *data, struct filter **out_filter)
{
    (void)data;
    return tls_server_new(server_tls, out_filter);
}

static int make_client_filter(void *data, struct str host, struct filter **out_filter,
                              struct err *err)
{
    (void)data;
    return tls_client_new(client_tls, host, out_filter, err);
}

static int look_up(const char *host, uint16_t port, struct dial_addresses *out)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};

    (void)host;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memcpy(&out->list[out->count++], &v4, sizeof(v4));
    return 0;
}

static void answer(void *data, struct exchange *exchange)
{
    (void)data;
    exchange_answer(exchange, &(struct http_answer){.status = 200});
}

static void handle(void *data, struct exchange *exchange)
{
    exchange_collect(exchange, BODY_BYTES, answer, data);
}

static int begin(void **state)
{
    const struct httpserver_config serving = {.on_request = handle,
                                              .make_filter = make_server_filter};
    const struct httpclient_config asking = {
        .may_reach = anybody, .make_filter = make_client_filter, .lookup = look_up};
    struct address address;
    int fd;

    (void)state;
    tls_world_init(&world);
    fake = world.clock;
    server_tls = tls_context_ref(world.server_context);
    client_tls = tls_context_ref(world.client_context);
    assert_int_equal(loop_new(&fake, &loop), 0);
    assert_int_equal(address_parse(STR("127.0.0.1:0"), &address), 0);
    assert_int_equal(address_listen(&address, NULL, &fd), 0);
    assert_int_equal(address_of(fd, &address), 0);
    assert_int_equal(httpserver_new(loop, fd, &serving, &server), 0);
    assert_int_equal(httpclient_new(loop, &asking, &client), 0);
    assert_int_equal(httpurl_parse(STR("https://host.test"), &url, NULL), 0);
    url.port = address.port;
    return 0;
}

static int end(void **state)
{
    (void)state;
    httpclient_free(client);
    httpserver_free(server);
    loop_free(loop);
    tls_context_unref(server_tls);
    tls_context_unref(client_tls);
    tls_world_done(&world);
    return 0;
}

static int ask(struct seen *seen)
{
    cleanup_buf struct buf body = BUF_INIT(BODY_BYTES);
    struct httpclient_request request = {.method = HTTP_METHOD_POST,
                                         .url = &url,
                                         .target = STR("/x"),
                                         .body = &body,
                                         .may_repeat = true};
    struct httpclient_call *call;

    *seen = (struct seen){0};
    assert_int_equal(buf_reserve(&body, BODY_BYTES), 0);
    memset(body.data, 'x', BODY_BYTES);
    body.len = BODY_BYTES;
    assert_int_equal(httpclient_send(client, &request, &EVENTS, seen, &call, NULL), 0);
    loop_until(loop, seen->done == 1);
    return seen->code;
}

static void a_server_that_is_known_is_talked_to(void **state)
{
    struct seen seen;

    (void)state;
    assert_int_equal(ask(&seen), 0);
    assert_int_equal(seen.status, 200);
    assert_int_equal(ask(&seen), 0);
    assert_int_equal(httpclient_stats(client).dialled, 1);
}

static void another_host_is_not(void **state)
{
    char words[128];
    struct seen seen;

    (void)state;
    snprintf(url.host, sizeof(url.host), "other.test");
    snprintf(words, sizeof(words), "other.test:%u: %s", url.port, err_text(ERR_TLS_WRONG_HOST));
    assert_int_equal(ask(&seen), ERR_TLS_WRONG_HOST);
    assert_string_equal(seen.err.message, words);
}

static void a_certificate_that_nobody_vouches_for_is_not(void **state)
{
    struct certificate stranger;
    struct seen seen;

    (void)state;
    certificate_make(&stranger, &(struct certificate_plan){.name = "host.test",
                                                           .alternatives = "DNS:host.test",
                                                           .from_s = -TLS_ENDS_DAY_S,
                                                           .until_s = TLS_ENDS_DAY_S});
    tls_context_unref(server_tls);
    server_tls = server_context_of(&world, &stranger);
    assert_int_equal(ask(&seen), ERR_TLS_UNTRUSTED);
    certificate_done(&stranger);
}

static void one_that_has_expired_is_not(void **state)
{
    struct certificate old;
    struct seen seen;

    (void)state;
    certificate_make(&old, &(struct certificate_plan){.name = "host.test",
                                                      .alternatives = "DNS:host.test",
                                                      .issuer = &world.authority,
                                                      .from_s = -2 * TLS_ENDS_DAY_S,
                                                      .until_s = -TLS_ENDS_DAY_S});
    tls_context_unref(server_tls);
    server_tls = server_context_of(&world, &old);
    assert_int_equal(ask(&seen), ERR_TLS_EXPIRED);
    certificate_done(&old);
}

static void a_server_that_speaks_plainly_is_not(void **state)
{
    struct raw_server plain;
    struct httpclient_request request = {
        .method = HTTP_METHOD_GET, .url = &url, .target = STR("/x")};
    struct httpclient_call *call;
    struct seen seen = {0};
    int fd;

    (void)state;
    raw_server_init(&plain, loop);
    url.port = plain.port;
    assert_int_equal(httpclient_send(client, &request, &EVENTS, &seen, &call, NULL), 0);
    fd = raw_server_accept(&plain);
    raw_server_write(&plain, fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    loop_until(loop, seen.done == 1);
    assert_true(seen.code == ERR_TLS_HANDSHAKE || seen.code == ERR_TLS_BROKEN);
    assert_int_equal(seen.status, 0);
    close(fd);
    raw_server_done(&plain);
}

static void a_handshake_that_does_not_end_is_given_up(void **state)
{
    struct raw_server silent;
    struct httpclient_request request = {
        .method = HTTP_METHOD_GET, .url = &url, .target = STR("/x")};
    struct httpclient_call *call;
    struct seen seen = {0};
    int fd;

    (void)state;
    raw_server_init(&silent, loop);
    url.port = silent.port;
    assert_int_equal(httpclient_send(client, &request, &EVENTS, &seen, &call, NULL), 0);
    fd = raw_server_accept(&silent);
    clock_fake_advance(&fake, HTTPCLIENT_CONNECT_MS);
    loop_run_due_timers(loop);
    loop_until(loop, seen.done == 1);
    assert_int_equal(seen.code, ERR_TIMED_OUT);
    raw_server_await_close(&silent, fd);
    raw_server_done(&silent);
}

/* Carries what has come from one side to the other. */
static void relay(int from, int to)
{
    char bytes[64 << 10];
    ssize_t got = read(from, bytes, sizeof(bytes));

    for (ssize_t sent = 0; got > 0 && sent < got;) {
        ssize_t n = send(to, bytes + sent, (size_t)(got - sent), MSG_NOSIGNAL);

        if (n > 0)
            sent += n;
        else
            loop_until_step(loop);
    }
}

static bool carry(int client_fd, int server_fd, const struct seen *seen)
{
    relay(client_fd, server_fd);
    relay(server_fd, client_fd);
    return seen->done == 1;
}

static void a_tunnel_carries_it(void **state)
{
    struct httpclient_request request = {
        .method = HTTP_METHOD_GET, .url = &url, .target = STR("/x")};
    struct httpproxies proxies = {.has_https = true};
    const struct httpclient_config asking = {
        .may_reach = anybody, .make_filter = make_client_filter, .proxies = &proxies};
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(url.port)};
    cleanup_buf struct buf got = BUF_INIT(BODY_BYTES);
    cleanup_fd int server_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct raw_server proxy;
    struct httpclient *behind;
    struct httpclient_call *call;
    struct seen seen = {0};
    int fd;

    (void)state;
    raw_server_init(&proxy, loop);
    assert_int_equal(httpurl_parse(STR("http://127.0.0.1"), &proxies.https.url, NULL), 0);
    proxies.https.url.port = proxy.port;
    assert_int_equal(httpclient_new(loop, &asking, &behind), 0);
    assert_int_equal(httpclient_send(behind, &request, &EVENTS, &seen, &call, NULL), 0);
    fd = raw_server_accept(&proxy);
    raw_server_read_head(&proxy, fd, &got);
    assert_true(str_starts_with(buf_view(&got), STR("CONNECT host.test:")));
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(server_fd, (struct sockaddr *)&there, sizeof(there)), 0);
    assert_int_equal(fcntl(server_fd, F_SETFL, O_NONBLOCK), 0);
    raw_server_write(&proxy, fd, STR("HTTP/1.1 200 OK\r\n\r\n"));
    loop_until(loop, carry(fd, server_fd, &seen));
    assert_int_equal(seen.code, 0);
    assert_int_equal(seen.status, 200);
    close(fd);
    httpclient_free(behind);
    raw_server_done(&proxy);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
TEST_MAIN(CASE(a_server_that_is_known_is_talked_to), CASE(another_host_is_not),
          CASE(a_certificate_that_nobody_vouches_for_is_not), CASE(one_that_has_expired_is_not),
          CASE(a_server_that_speaks_plainly_is_not),
          CASE(a_handshake_that_does_not_end_is_given_up), CASE(a_tunnel_carries_it))
