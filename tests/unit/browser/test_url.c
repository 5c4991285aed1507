/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/err.h"
#include "base/hostrange.h"
#include "browser/keys.h"
#include "browser/url.h"
#include "browser/wire.h"

static void the_host_and_port_of_an_address_are_found(void **state)
{
    static const struct {
        const char *text;
        enum browser_scheme scheme;
        const char *host;
        int port;
    } known[] = {
        {"http://example.com/", BROWSER_WEB, "example.com", 80},
        {"HTTPS://Example.com:8443/a?b#c", BROWSER_WEB, "Example.com", 8443},
        {"http://[::1]:9/", BROWSER_WEB, "[::1]", 9},
        {"http://[::1]/", BROWSER_WEB, "[::1]", 80},
        {"https://x?y=http://z/", BROWSER_WEB, "x", 443},
        {"wss://s:1", BROWSER_WEB, "s", 1},
        {"blob:http://h/1-2", BROWSER_WEB, "h", 80},
        {"about:blank", BROWSER_BLANK, "", 0},
        {"data:text/html,hi", BROWSER_BLANK, "", 0},
        {"", BROWSER_BLANK, "", 0},
        {"file:///etc/passwd", BROWSER_FILE, "", 0},
        {"File:a b\\c", BROWSER_FILE, "", 0},
        {"blob:file:///1-2", BROWSER_BLANK, "", 0},
        {"chrome://settings", BROWSER_OTHER, "", 0},
        {"javascript:alert(1)", BROWSER_OTHER, "", 0},
        {"/path", BROWSER_OTHER, "", 0},
    };
    static const char *const bad[] = {
        "http://a@b/", "http://a b/",     "http://a\\b/", "http://",
        "http:///x",   "http://h:99999/", "http://h\t/",  "https://good.com\\@evil.com/"};

    (void)state;
    for (size_t i = 0; i < array_size(known); i++) {
        struct browser_url url;

        assert_true(browser_url_parse(str_from(known[i].text), &url));
        assert_int_equal(url.scheme, known[i].scheme);
        assert_true(str_eq_c(url.host, known[i].host));
        assert_int_equal(url.port, known[i].port);
    }
    for (size_t i = 0; i < array_size(bad); i++) {
        struct browser_url url;

        assert_false(browser_url_parse(str_from(bad[i]), &url));
    }
}

static void hosts_of_private_networks_are_known(void **state)
{
    static const char *const private[] = {
        "127.0.0.1",         "127.9.9.9",     "localhost",  "x.localhost",    "LOCALHOST.",
        "0.0.0.0",           "10.1.2.3",      "172.16.0.1", "172.31.255.255", "192.168.1.1",
        "169.254.1.1",       "100.64.0.1",    "[::1]",      "[fe80::1]",      "[fd00::1]",
        "[::ffff:10.0.0.1]", "printer.local", "a.internal", "router.lan",     "x.home.arpa",
        "224.0.0.1",         "[ff02::1]"};
    static const char *const public[] = {"example.com", "8.8.8.8",       "172.32.0.1",
                                         "11.0.0.1",    "[2001:db8::1]", "10.com",
                                         "mylocalhost", "local.example", "192.169.0.1"};

    (void)state;
    for (size_t i = 0; i < array_size(private); i++)
        assert_true(hostrange_is_private(str_from(private[i])));
    for (size_t i = 0; i < array_size(public); i++)
        assert_false(hostrange_is_private(str_from(public[i])));
    assert_true(hostrange_is_loopback(STR("[::ffff:127.0.0.1]")));
    assert_false(hostrange_is_loopback(STR("10.0.0.1")));
}

static void keys_have_names_and_codes(void **state)
{
    struct browser_key key;

    (void)state;
    assert_true(browser_key_find(STR("enter"), &key));
    assert_string_equal(key.key, "Enter");
    assert_string_equal(key.text, "\r");
    assert_true(browser_key_find(STR("A"), &key));
    assert_string_equal(key.code, "KeyA");
    assert_int_equal(key.windows, 'A');
    assert_true(browser_key_find(STR("?"), &key));
    assert_string_equal(key.code, "Slash");
    assert_true(browser_key_find(STR("F12"), &key));
    assert_int_equal(key.windows, 123);
    assert_true(browser_key_find(STR("Ctrl"), &key));
    assert_int_equal(key.modifier, KEY_CONTROL);
    assert_true(browser_key_find(STR("\xe6\xbc\xa2"), &key));
    assert_string_equal(key.text, "\xe6\xbc\xa2");
    assert_false(browser_key_find(STR(""), &key));
    assert_false(browser_key_find(STR("F99"), &key));
    assert_false(browser_key_find(STR("Entr"), &key));
}

static void a_stream_is_cut_into_messages(void **state)
{
    struct browser_wire wire = BROWSER_WIRE_INIT;
    char stream[2 * BROWSER_LENGTH_BYTES + 5];
    struct str message;

    (void)state;
    browser_wire_length(2, stream);
    memcpy(stream + BROWSER_LENGTH_BYTES, "{}", 2);
    browser_wire_length(3, stream + BROWSER_LENGTH_BYTES + 2);
    memcpy(stream + 2 * BROWSER_LENGTH_BYTES + 2, "[1]", 3);
    assert_int_equal(browser_wire_feed(&wire, (struct str){stream, 5}), 0);
    assert_int_equal(browser_wire_next(&wire, &message), 0);
    assert_int_equal(message.len, 0);
    assert_int_equal(browser_wire_feed(&wire, (struct str){stream + 5, sizeof(stream) - 5}), 0);
    assert_int_equal(browser_wire_next(&wire, &message), 0);
    assert_true(str_eq(message, STR("{}")));
    assert_int_equal(browser_wire_next(&wire, &message), 0);
    assert_true(str_eq(message, STR("[1]")));
    assert_int_equal(browser_wire_next(&wire, &message), 0);
    assert_int_equal(message.len, 0);
    assert_int_equal(browser_wire_feed(&wire, STR("\xff\xff\xff\xff")), 0);
    assert_int_equal(browser_wire_next(&wire, &message), ERR_TOO_LARGE);
    browser_wire_done(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_and_port_of_an_address_are_found),
        cmocka_unit_test(hosts_of_private_networks_are_known),
        cmocka_unit_test(keys_have_names_and_codes),
        cmocka_unit_test(a_stream_is_cut_into_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
