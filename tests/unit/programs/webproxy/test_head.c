/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/cleanup.h"
#include "programs/webproxy/webproxy.h"

static void assert_status(const char *head, int status)
{
    struct webproxy_request request;
    int r = webproxy_read_head(str_from(head), &request);

    if (r != status)
        fail_msg("%s: %d", head, r);
}

/* What a server gets. */
static void assert_written(const char *head, const char *host, uint16_t port, const char *written)
{
    cleanup_buf struct buf out = BUF_INIT(2 * WEBPROXY_HEAD_BYTES);
    struct webproxy_request request;
    const char *text;

    assert_int_equal(webproxy_read_head(str_from(head), &request), 0);
    assert_false(request.is_tunnel);
    assert_true(str_eq(request.host, str_from(host)));
    assert_int_equal(request.port, port);
    assert_int_equal(webproxy_write_head(&request, &out), 0);
    assert_int_equal(buf_terminate(&out, &text), 0);
    assert_string_equal(text, written);
}

static void a_tunnel_leads_to_host_and_port(void **state)
{
    struct webproxy_request request;

    (void)state;
    assert_int_equal(webproxy_read_head(STR("CONNECT example.com:443 HTTP/1.1\r\n"
                                            "Host: example.com:443\r\n\r\n"),
                                        &request),
                     0);
    assert_true(request.is_tunnel);
    assert_true(str_eq(request.host, STR("example.com")));
    assert_int_equal(request.port, 443);
    assert_status("CONNECT [2001:db8::7]:443 HTTP/1.0\r\n\r\n", 0);
    assert_status("CONNECT example.com HTTP/1.1\r\n\r\n", 400);
    assert_status("CONNECT http://example.com:443 HTTP/1.1\r\n\r\n", 400);
    assert_status("CONNECT user@example.com:443 HTTP/1.1\r\n\r\n", 400);
}

static void a_request_is_passed_on_without_words_for_proxies(void **state)
{
    (void)state;
    assert_written("GET http://example.com HTTP/1.1\r\n\r\n", "example.com", 80,
                   "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n");
    assert_written(
        "POST HTTP://Example.com:8080/a?b=http://c HTTP/1.1\r\nHost: example.com:8080\r\n"
        "Proxy-Connection: keep-alive\r\nCONNECTION: keep-alive\r\n"
        "Proxy-Authorization: Basic x\r\nContent-Length: 1\r\n\r\n",
        "Example.com", 8080,
        "POST /a?b=http://c HTTP/1.1\r\nHost: Example.com:8080\r\nContent-Length: 1\r\n"
        "Connection: close\r\n\r\n");
}

static void a_server_learns_the_host_that_was_checked(void **state)
{
    (void)state;
    assert_written("GET http://good.test/ HTTP/1.1\r\nA: b\r\nHost: evil.test\r\n"
                   "HOST:evil.test:81\r\n\r\n",
                   "good.test", 80,
                   "GET / HTTP/1.1\r\nHost: good.test\r\nA: b\r\nConnection: close\r\n\r\n");
    assert_written("GET http://[2001:db8::7]:81/ HTTP/1.1\r\n\r\n", "2001:db8::7", 81,
                   "GET / HTTP/1.1\r\nHost: [2001:db8::7]:81\r\nConnection: close\r\n\r\n");
}

/* Its client may not understand what newer ones do, like answers in chunks. */
static void an_old_request_stays_old(void **state)
{
    (void)state;
    assert_written("GET http://good.test/ HTTP/1.0\r\n\r\n", "good.test", 80,
                   "GET / HTTP/1.0\r\nHost: good.test\r\nConnection: close\r\n\r\n");
}

static void an_address_may_have_no_path(void **state)
{
    (void)state;
    assert_written("GET http://good.test?a/b HTTP/1.1\r\n\r\n", "good.test", 80,
                   "GET /?a/b HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n");
    assert_written(
        "GET http://good.test:8080?a@evil.test/ HTTP/1.1\r\n\r\n", "good.test", 8080,
        "GET /?a@evil.test/ HTTP/1.1\r\nHost: good.test:8080\r\nConnection: close\r\n\r\n");
}

static void what_is_no_request_to_a_proxy_is_refused(void **state)
{
    (void)state;
    assert_status("GET / HTTP/1.1\r\n\r\n", 400);
    assert_status("GET http://example.com/ HTTP/1.1\r\n", 400);
    assert_status("GET http://example.com/\r\n\r\n", 400);
    assert_status("GET http://example.com/ HTTP/1.1 x\r\n\r\n", 400);
    assert_status("GET  http://example.com/ HTTP/1.1\r\n\r\n", 400);
    assert_status("GET http://example.com/ HTTP/1.\r\n\r\n", 400);
    assert_status("GET http://example.com/ HTTP/1.10\r\n\r\n", 400);
    assert_status("get http://example.com/ HTTP/1.1\r\n\r\n", 400);
    assert_status("GET http://exa\tmple.com/ HTTP/1.1\r\n\r\n", 400);
    assert_status("GET http://user@example.com/ HTTP/1.1\r\n\r\n", 400);
    assert_status("GET http:///x HTTP/1.1\r\n\r\n", 400);
    assert_status("GET ftp://example.com/ HTTP/1.1\r\n\r\n", 501);
    assert_status("\r\n\r\n", 400);
    assert_status("", 400);
}

/* What a server may read as other headers than those that were looked at here. */
static void unclear_headers_are_refused(void **state)
{
    static const char *const unclear[] = {
        "A: b\nHost: evil.test\r\n",
        "A: b\rHost: evil.test\r\n",
        "Host : evil.test\r\n",
        "A: b\r\n Host: evil.test\r\n",
        " Host: evil.test\r\n",
        "A: b\r\n\tc\r\n",
        "Host\r\n",
        ": b\r\n",
        "A\x0b: b\r\n",
        "A: b\x7f\r\n",
    };
    struct webproxy_request request;
    char head[128];

    (void)state;
    for (size_t i = 0; i < array_size(unclear); i++) {
        snprintf(head, sizeof(head), "GET http://good.test/ HTTP/1.1\r\n%s\r\n", unclear[i]);
        assert_status(head, 400);
    }
    assert_int_equal(
        webproxy_read_head(STR("GET http://good.test/ HTTP/1.1\r\nA: b\0c\r\n\r\n"), &request),
        400);
    assert_written("GET http://good.test/ HTTP/1.1\r\nx-A_1.~:\tb \xc3\xa4: c\r\nB:\r\n\r\n",
                   "good.test", 80,
                   "GET / HTTP/1.1\r\nHost: good.test\r\nx-A_1.~:\tb \xc3\xa4: c\r\nB:\r\n"
                   "Connection: close\r\n\r\n");
}

/* In another protocol, further requests would go by unread. */
static void a_link_stays_with_its_protocol(void **state)
{
    (void)state;
    assert_written("GET http://good.test/ HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                   "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nTE: trailers\r\n\r\n",
                   "good.test", 80,
                   "GET / HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n");
}

TEST_MAIN(cmocka_unit_test(a_tunnel_leads_to_host_and_port),
          cmocka_unit_test(a_request_is_passed_on_without_words_for_proxies),
          cmocka_unit_test(a_server_learns_the_host_that_was_checked),
          cmocka_unit_test(unclear_headers_are_refused),
          cmocka_unit_test(a_link_stays_with_its_protocol),
          cmocka_unit_test(an_old_request_stays_old), cmocka_unit_test(an_address_may_have_no_path),
          cmocka_unit_test(what_is_no_request_to_a_proxy_is_refused))
