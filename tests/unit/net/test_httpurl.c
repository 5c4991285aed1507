/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "net/http/url.h"

enum { TEXT_BYTES = 4096 };

static void addresses_are_read(void **state)
{
    static const struct {
        const char *text;
        const char *origin;
        const char *host;
        const char *path;
        uint16_t port;
    } rows[] = {
        {"http://localhost:5678", "http://localhost:5678", "localhost", "", 5678},
        {"HTTPS://N8N.Example/", "https://n8n.example", "n8n.example", "", 443},
        {"https://n8n.example:443", "https://n8n.example", "n8n.example", "", 443},
        {"http://10.0.0.1/n8n/", "http://10.0.0.1", "10.0.0.1", "/n8n", 80},
        {"http://[::1]:80/a/b", "http://[::1]", "::1", "/a/b", 80},
        {"https://[FE80::1]:8443", "https://[fe80::1]:8443", "fe80::1", "", 8443},
        {"http://a-b_c.d:1", "http://a-b_c.d:1", "a-b_c.d", "", 1},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        cleanup_buf struct buf origin = BUF_INIT(TEXT_BYTES);
        struct httpurl url;

        assert_int_equal(httpurl_parse(str_from(rows[i].text), &url, NULL), 0);
        assert_string_equal(url.host, rows[i].host);
        assert_string_equal(url.path, rows[i].path);
        assert_int_equal(url.port, rows[i].port);
        assert_int_equal(httpurl_append_origin(&url, &origin), 0);
        assert_true(str_eq_c(buf_view(&origin), rows[i].origin));
    }
}

static void what_is_no_address_of_a_server_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "localhost:5678",
        "ftp://host",
        "http://",
        "http:///path",
        "http://user@host",
        "http://user:secret@host/",
        "http://host:0",
        "http://host:65536",
        "http://host:",
        "http://host:-1",
        "http://host:80:80",
        "http://host?x",
        "http://host/#x",
        "http://host/a b",
        "http://ho st",
        "http://host\\evil.test",
        "http://host/../x",
        "http://host//x",
        "http://host/%2e%2e/",
        "http://h\xc3\xb6st",
        "http://.host",
        "http://a..b",
        "http://[::1",
        "http://[::1]x",
        "http://[evil]",
        "http://[]",
        "http://0x7f.1",
        "http://127.1",
        "http://2130706433",
        "http://1.2.3.4.5",
        "http://host\r\nX: y",
    };

    (void)state;
    for (size_t i = 0; i < array_size(texts); i++) {
        struct httpurl url = {.port = 7};
        struct err err = ERR_INIT;

        if (httpurl_parse(str_from(texts[i]), &url, &err) == 0)
            fail_msg("%s was taken", texts[i]);
        assert_int_equal(url.port, 7);
        assert_true(err.message[0] != '\0');
        /* A password in it is not repeated. */
        assert_null(strstr(err.message, "secret"));
    }
}

static void lists_say_whom(void **state)
{
    static const struct {
        const char *pattern;
        const char *url;
        bool fits;
    } rows[] = {
        {"https://n8n.example", "https://n8n.example", true},
        {"https://n8n.example/", "https://n8n.example", true},
        {"https://N8N.example:443", "https://n8n.example", true},
        {"https://n8n.example", "http://n8n.example", false},
        {"https://n8n.example", "https://n8n.example:8443", false},
        {"https://n8n.example:*", "https://n8n.example:8443", true},
        {"https://*.example", "https://a.example", true},
        {"https://*.example", "https://a.b.example", false},
        {"https://*.example", "https://example", false},
        {"https://*.example", "https://a.example.evil.test", false},
        {"https://*.example", "https://aexample", false},
        {"https://n8n-*.a*.x", "https://n8n-1.abc.x", true},
        {"https://*", "https://host", true},
        {"https://*", "https://host.test", false},
        {"*", "https://host", false},
        {"http://[::1]:*", "http://[0::1]:99", true},
        {"http://[::2]:*", "http://[::1]:99", false},
        {"https://", "https://host", false},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        struct str pattern = str_from(rows[i].pattern);
        struct httpurl url;

        assert_int_equal(httpurl_parse(str_from(rows[i].url), &url, NULL), 0);
        if (httpurl_is_among(&url, &pattern, 1) != rows[i].fits)
            fail_msg("%s and %s", rows[i].pattern, rows[i].url);
    }
}

static void what_others_can_read_is_known(void **state)
{
    static const struct {
        const char *text;
        bool is_exposed;
    } rows[] = {
        {"http://n8n.example", true},     {"http://10.0.0.1:5678", true},
        {"http://[2001:db8::1]", true},   {"http://localhost.example", true},
        {"http://notlocalhost", true},    {"https://n8n.example", false},
        {"http://localhost:5678", false}, {"http://n8n.localhost", false},
        {"http://127.0.0.1", false},      {"http://127.9.9.9:80", false},
        {"http://[::1]:5678", false},     {"http://128.0.0.1", true},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        struct httpurl url;

        assert_int_equal(httpurl_parse(str_from(rows[i].text), &url, NULL), 0);
        if (httpurl_is_exposed(&url) != rows[i].is_exposed)
            fail_msg("%s", rows[i].text);
    }
}

TEST_MAIN(cmocka_unit_test(addresses_are_read), cmocka_unit_test(what_others_can_read_is_known),
          cmocka_unit_test(what_is_no_address_of_a_server_is_refused),
          cmocka_unit_test(lists_say_whom))
