/* SPDX-License-Identifier: Apache-2.0 */
/* Which proxy is used, and a client that uses one. */
#include "test.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/redact.h"
#include "loop_until.h"
#include "net/http/client.h"
#include "raw_server.h"

enum { TEXT_BYTES = 1 << 20 };

/* The environment of a test: names and values in turn. */
static const char *const *environment;

static const char *get(const char *name)
{
    for (size_t i = 0; environment[i] != NULL; i += 2)
        if (strcmp(environment[i], name) == 0)
            return environment[i + 1];
    return NULL;
}

static const char *proxy_for(const struct httpproxies *proxies, const char *text)
{
    const struct httpproxy *proxy;
    struct httpurl url;

    assert_int_equal(httpurl_parse(str_from(text), &url, NULL), 0);
    proxy = httpproxies_for(proxies, &url);
    return proxy != NULL ? proxy->url.host : "";
}

static void the_environment_decides(void **state)
{
    static const char none[] = "near.test, .wide.test,*.star.test,10.0.0.0/8,fd00::/8,192.0.2.1,"
                               "port.test:81";
    static const char *const both[] = {
        "http_proxy", "http://plain.test:3128", "HTTPS_PROXY", "tls.test:3129",
        "HTTP_PROXY", "http://ignored.test",    "no_proxy",    none,
        NULL};
    static const struct {
        const char *url;
        const char *proxy;
    } rows[] = {{"http://far.test", "plain.test"},
                {"https://far.test", "tls.test"},
                {"http://near.test", ""},
                {"http://a.near.test:99", ""},
                {"http://anear.test", "plain.test"},
                {"https://x.wide.test", ""},
                {"https://wide.test", ""},
                {"https://x.star.test", ""},
                {"http://10.1.2.3", ""},
                {"http://11.1.2.3", "plain.test"},
                {"http://192.0.2.1", ""},
                {"http://192.0.2.2", "plain.test"},
                {"http://[fd12::1]", ""},
                {"http://[fe12::1]", "plain.test"},
                {"http://port.test:81", ""},
                {"http://port.test", "plain.test"},
                {"http://localhost:5678", ""},
                {"http://127.0.0.1", ""},
                {"http://a.localhost", ""},
                {"http://[::1]", ""},
                {"http://localhost.test", "plain.test"}};
    struct httpproxies proxies;

    (void)state;
    environment = both;
    assert_int_equal(httpproxies_from(get, &proxies, NULL), 0);
    for (size_t i = 0; i < array_size(rows); i++)
        if (strcmp(proxy_for(&proxies, rows[i].url), rows[i].proxy) != 0)
            fail_msg("%s by way of '%s'", rows[i].url, proxy_for(&proxies, rows[i].url));
    httpproxies_done(&proxies);
}

static void nothing_said_is_no_proxy(void **state)
{
    static const char *const empty[] = {"http_proxy", "", "https_proxy", "", NULL};
    static const char *const star[] = {"http_proxy", "p.test", "NO_PROXY", "*", NULL};
    static const char *const cgi[] = {"HTTP_PROXY", "http://evil.test", "REQUEST_METHOD", "GET",
                                      NULL};
    static const char *const *const rows[] = {empty, star, cgi};
    struct httpproxies proxies;

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        environment = rows[i];
        assert_int_equal(httpproxies_from(get, &proxies, NULL), 0);
        assert_string_equal(proxy_for(&proxies, "http://far.test"), "");
        httpproxies_done(&proxies);
    }
    assert_null(httpproxies_for(NULL, NULL));
}

static void what_is_no_proxy_is_an_error_without_its_secrets(void **state)
{
    static const char *const texts[] = {"socks5://user:hush@p.test",  "https://p.test",
                                        "http://user:hush%zz@p.test", "http://user:hush@",
                                        "http://p.test/path",         "user:hush@p test"};

    (void)state;
    for (size_t i = 0; i < array_size(texts); i++) {
        const char *const rows[] = {"https_proxy", texts[i], NULL};
        cleanup_buf struct buf logged = BUF_INIT(ERR_MESSAGE_BYTES);
        struct err err = ERR_INIT;
        struct httpproxies proxies;

        environment = rows;
        assert_int_equal(httpproxies_from(get, &proxies, &err), ERR_INVALID_ARGUMENT);
        assert_string_equal(err.field, "https_proxy");
        assert_null(strstr(err.message, "hush"));
        /* And what to write instead is not taken for one. */
        assert_int_equal(redact_all(str_from(err.message), &logged), 0);
        assert_true(str_eq_c(buf_view(&logged), err.message));
    }
}

/* ---- a client behind one ---- */

struct seen {
    int done;
    int code;
    struct err err;
};

static void note_done(void *data, const struct httpclient_result *result)
{
    struct seen *seen = data;

    seen->done++;
    seen->code = result->code;
    seen->err = result->err;
}

static const struct httpclient_events EVENTS = {.on_done = note_done};

static bool anybody(void *data, const struct httpurl *url)
{
    (void)data;
    (void)url;
    return true;
}

/* No filter is made before the proxy has agreed: this one tells that it was asked for. */
static int no_filter(void *data, struct str host, struct filter **out_filter, struct err *err)
{
    (void)out_filter;
    assert_str(host, "far.test");
    ++*(int *)data;
    return err_set_plain(err, ERR_TLS_VERSION);
}

struct behind {
    bool is_gone; /* the proxy, before anybody came */
    struct clock clock;
    struct loop *loop;
    struct raw_server proxy;
    struct httpproxies proxies;
    struct httpclient *client;
    struct seen seen;
    int filters;
};

static void behind_begin(struct behind *behind, const char *url)
{
    struct httpclient_config config = {
        .may_reach = anybody, .make_filter = no_filter, .proxies = &behind->proxies};
    char text[64];
    const char *rows[] = {"http_proxy", text, "https_proxy", text, NULL};
    struct httpurl there;
    struct httpclient_request request = {
        .method = HTTP_METHOD_GET, .url = &there, .target = STR("/x")};
    struct httpclient_call *call;

    clock_fake_init(&behind->clock, 0);
    behind->seen = (struct seen){0};
    behind->filters = 0;
    config.data = &behind->filters;
    assert_int_equal(loop_new(&behind->clock, &behind->loop), 0);
    raw_server_init(&behind->proxy, behind->loop);
    snprintf(text, sizeof(text), "http://us%%40er:hush@127.0.0.1:%u", behind->proxy.port);
    if (behind->is_gone)
        raw_server_done(&behind->proxy);
    environment = rows;
    assert_int_equal(httpproxies_from(get, &behind->proxies, NULL), 0);
    assert_int_equal(httpclient_new(behind->loop, &config, &behind->client), 0);
    assert_int_equal(httpurl_parse(str_from(url), &there, NULL), 0);
    assert_int_equal(httpclient_send(behind->client, &request, &EVENTS, &behind->seen, &call, NULL),
                     0);
}

static void behind_init(struct behind *behind, const char *url)
{
    behind->is_gone = false;
    behind_begin(behind, url);
}

static void behind_done(struct behind *behind)
{
    httpclient_free(behind->client);
    if (!behind->is_gone)
        raw_server_done(&behind->proxy);
    loop_free(behind->loop);
    httpproxies_done(&behind->proxies);
}

static void plain_requests_name_the_whole_address(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(TEXT_BYTES);
    struct behind behind;
    int fd;

    (void)state;
    behind_init(&behind, "http://far.test/base");
    fd = raw_server_accept(&behind.proxy);
    raw_server_read_head(&behind.proxy, fd, &got);
    assert_str(buf_view(&got), "GET http://far.test/base/x HTTP/1.1\r\nHost: far.test\r\n"
                               "Proxy-Authorization: Basic dXNAZXI6aHVzaA==\r\n\r\n");
    raw_server_write(&behind.proxy, fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    loop_until(behind.loop, behind.seen.done == 1);
    assert_int_equal(behind.seen.code, 0);
    close(fd);
    behind_done(&behind);
}

static void secured_ones_go_through_a_tunnel(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(TEXT_BYTES);
    struct behind behind;
    int fd;

    (void)state;
    behind_init(&behind, "https://far.test/base");
    fd = raw_server_accept(&behind.proxy);
    raw_server_read_head(&behind.proxy, fd, &got);
    assert_str(buf_view(&got), "CONNECT far.test:443 HTTP/1.1\r\nHost: far.test:443\r\n"
                               "Proxy-Authorization: Basic dXNAZXI6aHVzaA==\r\n\r\n");
    assert_int_equal(behind.filters, 0);
    raw_server_write(&behind.proxy, fd, STR("HTTP/1.1 200 Connection established\r\n\r\n"));
    loop_until(behind.loop, behind.seen.done == 1);
    assert_int_equal(behind.filters, 1);
    assert_int_equal(behind.seen.code, ERR_TLS_VERSION);
    close(fd);
    behind_done(&behind);
}

/* By its name, and without what it is told to let us in. */
static void assert_blamed(const struct behind *behind, unsigned port, const char *words)
{
    char text[ERR_MESSAGE_BYTES];

    snprintf(text, sizeof(text), "the proxy 127.0.0.1:%u %s", port, words);
    assert_int_equal(behind->seen.code, ERR_PROXY);
    assert_string_equal(behind->seen.err.message, text);
}

static void a_proxy_that_is_not_there_is_named(void **state)
{
    struct behind behind;

    (void)state;
    behind.is_gone = true;
    behind_begin(&behind, "http://far.test");
    loop_until(behind.loop, behind.seen.done == 1);
    assert_blamed(&behind, behind.proxy.port, "cannot be reached");
    behind_done(&behind);
}

static void a_proxy_that_refuses_or_speaks_out_of_turn_is_left(void **state)
{
    static const struct {
        struct str answer;
        const char *message;
    } rows[] = {
        {STR_LITERAL("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"), "responded with 407"},
        {STR_LITERAL("HTTP/1.1 302 Found\r\nLocation: http://x/\r\nContent-Length: 0\r\n\r\n"),
         "responded with 302"},
        {STR_LITERAL("HTTP/1.1 200 OK\r\n\r\nbytes of nobody"), "does not connect"},
        {STR_LITERAL("SSH-2.0\r\n"), "does not connect"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        cleanup_buf struct buf got = BUF_INIT(TEXT_BYTES);
        struct behind behind;
        int fd;

        behind_init(&behind, "https://far.test");
        fd = raw_server_accept(&behind.proxy);
        raw_server_read_head(&behind.proxy, fd, &got);
        raw_server_write(&behind.proxy, fd, rows[i].answer);
        loop_until(behind.loop, behind.seen.done == 1);
        assert_blamed(&behind, behind.proxy.port, rows[i].message);
        assert_int_equal(behind.filters, 0);
        close(fd);
        behind_done(&behind);
    }
}

TEST_MAIN(cmocka_unit_test(the_environment_decides), cmocka_unit_test(nothing_said_is_no_proxy),
          cmocka_unit_test(what_is_no_proxy_is_an_error_without_its_secrets),
          cmocka_unit_test(plain_requests_name_the_whole_address),
          cmocka_unit_test(secured_ones_go_through_a_tunnel),
          cmocka_unit_test(a_proxy_that_is_not_there_is_named),
          cmocka_unit_test(a_proxy_that_refuses_or_speaks_out_of_turn_is_left))
