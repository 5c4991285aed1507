/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "base/domainlist.h"

static bool allows(const struct domainlist *list, const char *host, uint16_t port)
{
    return domainlist_allows(list, str_from(host), port);
}

static void add(struct domainlist *list, const char *text)
{
    assert_int_equal(domainlist_add(list, str_from(text), NULL), 0);
}

static void a_name_is_that_host_alone(void **state)
{
    struct domainlist list = {.count = 0};

    (void)state;
    assert_false(allows(&list, "example.com", 443));
    add(&list, "Example.com");
    assert_true(allows(&list, "example.com", 443) && allows(&list, "EXAMPLE.COM.", 80));
    assert_false(allows(&list, "www.example.com", 443));
    assert_false(allows(&list, "example.com.evil.org", 443));
    assert_false(allows(&list, "badexample.com", 443));
    assert_false(allows(&list, "example.co", 443));
    assert_false(allows(&list, "", 443));
    assert_false(allows(&list, "example.com..", 443));
}

static void what_is_written_is_read_again(void **state)
{
    static const char *const texts[] = {"example.com", "*.example.com",    "*",
                                        "*:9000",      "example.com:8443", "*.example.com:1",
                                        "203.0.113.7", "[2001:db8::1]:443"};
    char written[DOMAINLIST_TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < array_size(texts); i++) {
        struct domainlist list = {.count = 0};

        add(&list, texts[i]);
        domainlist_format(&list.entries[0], written);
        assert_string_equal(written, texts[i]);
    }
}

static void a_star_is_what_is_below(void **state)
{
    struct domainlist list = {.count = 0};

    (void)state;
    add(&list, "*.example.com");
    assert_true(allows(&list, "a.example.com", 443) && allows(&list, "a.b.Example.com", 80));
    assert_false(allows(&list, "example.com", 443));
    assert_false(allows(&list, ".example.com", 443));
    assert_false(allows(&list, "badexample.com", 443));
    add(&list, "*");
    assert_true(allows(&list, "example.org", 443));
    assert_false(allows(&list, "example.org", 22));
}

static void ports_are_those_of_the_web_unless_one_is_named(void **state)
{
    struct domainlist list = {.count = 0};

    (void)state;
    add(&list, "one.example");
    add(&list, "two.example:8443");
    add(&list, "*:9000");
    assert_true(allows(&list, "one.example", 80) && allows(&list, "one.example", 443));
    assert_false(allows(&list, "one.example", 22) || allows(&list, "one.example", 8443));
    assert_true(allows(&list, "two.example", 8443));
    assert_false(allows(&list, "two.example", 443));
    assert_true(allows(&list, "three.example", 9000));
    add(&list, "[2001:db8::7]");
    add(&list, "[2001:db8::8]:8443");
    assert_true(allows(&list, "2001:db8::7", 80) && allows(&list, "2001:db8::7", 443));
    assert_false(allows(&list, "2001:db8::7", 8443));
    assert_true(allows(&list, "2001:db8::8", 8443));
    assert_false(allows(&list, "2001:db8::8", 443) || allows(&list, "2001:db8::8", 80));
}

static void what_is_no_host_is_refused(void **state)
{
    static const char *const wrong[] = {"",           " ",       "https://example.com",
                                        "a/b",        "a b",     "*x.com",
                                        "x.*.com",    "*.",      ".example",
                                        "a:0",        "a:65536", "a:x",
                                        "a:",         "*:",      "*:0",
                                        "user@host",  "[::1",    "[::1]x",
                                        "[example]",  "--help",  "-a.com",
                                        "*.-a.com",   "a:1:2",   "ex\nample",
                                        "\xc3\xa4.de"};
    struct domainlist list = {.count = 0};
    char longest[2 * DOMAINLIST_HOST_BYTES];

    (void)state;
    for (size_t i = 0; i < array_size(wrong); i++) {
        struct err err = ERR_INIT;

        if (domainlist_add(&list, str_from(wrong[i]), &err) != ERR_INVALID_ARGUMENT)
            fail_msg("%s", wrong[i]);
        assert_true(err.message[0] != '\0');
    }
    memset(longest, 'a', sizeof(longest));
    assert_int_equal(domainlist_add(&list, (struct str){longest, DOMAINLIST_HOST_BYTES}, NULL),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(domainlist_add(&list, (struct str){longest, DOMAINLIST_HOST_BYTES - 1}, NULL),
                     0);
    for (size_t i = 1; i < DOMAINLIST_MAX; i++)
        add(&list, "example.com");
    assert_int_equal(domainlist_add(&list, STR("example.com"), NULL), ERR_TOO_LARGE);
}

static void assert_split(const char *text, const char *host, uint16_t port)
{
    struct str found;
    uint16_t found_port;

    assert_true(domainlist_split(str_from(text), 443, &found, &found_port));
    assert_true(str_eq(found, str_from(host)));
    assert_int_equal(found_port, port);
}

static void an_authority_is_split(void **state)
{
    struct str host;
    uint16_t port;

    (void)state;
    assert_split("example.com:8080", "example.com", 8080);
    assert_split("example.com", "example.com", 443);
    assert_split("[2001:db8::7]:80", "2001:db8::7", 80);
    assert_split("[::1]", "::1", 443);
    assert_false(domainlist_split(STR("example.com"), 0, &host, &port));
    assert_false(domainlist_split(STR("2001:db8::7"), 443, &host, &port));
    assert_false(domainlist_split(STR("a\0b:80"), 443, &host, &port));
}

TEST_MAIN(cmocka_unit_test(a_name_is_that_host_alone), cmocka_unit_test(a_star_is_what_is_below),
          cmocka_unit_test(ports_are_those_of_the_web_unless_one_is_named),
          cmocka_unit_test(what_is_no_host_is_refused),
          cmocka_unit_test(what_is_written_is_read_again), cmocka_unit_test(an_authority_is_split))
