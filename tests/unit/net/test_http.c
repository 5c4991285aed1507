/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "net/http/http.h"

static void tokens_have_no_separators(void **state)
{
    static const char *const separators = "()<>@,;:\\\"/[]?={} \t\r\n\x7f\x80";

    (void)state;
    assert_true(http_is_token(STR("Content-Type")));
    assert_true(http_is_token(STR("!#$%&'*+-.^_`|~09azAZ")));
    assert_false(http_is_token(STR_EMPTY));
    assert_false(http_is_token((struct str){"a\0b", 3}));
    for (const char *c = separators; *c != '\0'; c++)
        assert_false(http_is_token((struct str){c, 1}));
}

static void values_hold_no_controls(void **state)
{
    (void)state;
    assert_true(http_is_field_value(STR("a b\tc \xc3\xa4")));
    assert_true(http_is_field_value(STR_EMPTY));
    for (int c = 0; c < 0x20; c++) {
        char byte = (char)c;

        assert_int_equal(http_is_field_value((struct str){&byte, 1}), c == '\t');
    }
    assert_false(http_is_field_value(STR("\x7f")));
}

static void methods_are_named_in_capitals(void **state)
{
    enum http_method method;

    (void)state;
    for (int i = 0; i < HTTP_METHOD_COUNT; i++) {
        assert_true(http_method_from(http_method_name((enum http_method)i), &method));
        assert_int_equal(method, i);
    }
    assert_false(http_method_from(STR("get"), &method));
    assert_false(http_method_from(STR("GE"), &method));
}

static void accept_lists_are_understood(void **state)
{
    const struct str json = STR("application/json");

    (void)state;
    assert_true(http_accepts(STR("application/json"), json));
    assert_true(http_accepts(STR("text/html, Application/JSON;q=0.5"), json));
    assert_true(http_accepts(STR("application/*"), json));
    assert_true(http_accepts(STR("text/plain,*/*;q=0.1"), json));
    assert_true(http_accepts(STR("application/json; charset=utf-8"), json));
    assert_false(http_accepts(STR("application/json;q=0"), json));
    assert_false(http_accepts(STR("application/json; q=0.000"), json));
    assert_false(http_accepts(STR("application/jsonx, application, text/*, json"), json));
    assert_false(http_accepts(STR_EMPTY, json));
}

static void dates_are_those_of_http(void **state)
{
    char text[HTTP_DATE_BYTES];

    (void)state;
    http_format_date(INT64_C(784111777123), text);
    assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
    http_format_date(INT64_C(1709210096000), text);
    assert_string_equal(text, "Thu, 29 Feb 2024 12:34:56 GMT");
}

static void every_status_has_a_reason(void **state)
{
    (void)state;
    assert_string_equal(http_reason(431), "Request Header Fields Too Large");
    assert_string_equal(http_reason(299), "Unknown");
}

static void a_control_is_found_at_every_place_of_a_value(void **state)
{
    (void)state;
    for (size_t len = 1; len <= 26; len++) {
        for (size_t at = 0; at < len; at++) {
            char text[26];

            memset(text, 'v', sizeof(text));
            for (int c = 0; c < 256; c++) {
                text[at] = (char)c;
                assert_int_equal(http_is_field_value((struct str){text, len}),
                                 (c >= 0x20 || c == '\t') && c != 0x7f);
            }
        }
    }
}

TEST_MAIN(cmocka_unit_test(a_control_is_found_at_every_place_of_a_value),
          cmocka_unit_test(tokens_have_no_separators), cmocka_unit_test(values_hold_no_controls),
          cmocka_unit_test(methods_are_named_in_capitals),
          cmocka_unit_test(accept_lists_are_understood), cmocka_unit_test(dates_are_those_of_http),
          cmocka_unit_test(every_status_has_a_reason))
