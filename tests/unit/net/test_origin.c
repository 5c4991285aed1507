/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/err.h"
#include "net/http/origin.h"

static const struct origin_policy LOOPBACK = {.is_loopback = true, .port = 8080};

static void a_loopback_server_has_three_names_with_its_port(void **state)
{
    (void)state;
    assert_int_equal(origin_check_host(&LOOPBACK, STR("localhost:8080")), 0);
    assert_int_equal(origin_check_host(&LOOPBACK, STR("LocalHost:8080")), 0);
    assert_int_equal(origin_check_host(&LOOPBACK, STR("127.0.0.1:8080")), 0);
    assert_int_equal(origin_check_host(&LOOPBACK, STR("[::1]:8080")), 0);
}

static void other_names_are_those_of_somebody_else(void **state)
{
    static const char *const names[] = {
        "",
        "evil.example",
        "evil.example:8080",
        "localhost",
        "localhost:8081",
        "localhost:",
        "localhost:080800",
        "localhost:73616", /* 8080 in sixteen bits */
        "localhost:-8080",
        "localhost:+8080",
        "localhost.:8080",
        "localhost.evil.example:8080",
        "xlocalhost:8080",
        "127.0.0.2:8080",
        "127.0.0.1.evil.example:8080",
        "127.1:8080",
        "0.0.0.0:8080",
        "[::2]:8080",
        "::1:8080",
        "[::1]",
        ":8080",
    };

    (void)state;
    for (size_t i = 0; i < array_size(names); i++)
        if (origin_check_host(&LOOPBACK, str_from(names[i])) != ERR_HOST_DENIED)
            fail_msg("%s passed", names[i]);
}

static void the_port_of_http_need_not_be_said(void **state)
{
    const struct origin_policy policy = {.is_loopback = true, .port = 80};

    (void)state;
    assert_int_equal(origin_check_host(&policy, STR("localhost")), 0);
    assert_int_equal(origin_check_host(&policy, STR("[::1]")), 0);
    assert_int_equal(origin_check_host(&policy, STR("localhost:80")), 0);
    assert_int_equal(origin_check_origin(&policy, STR("http://localhost")), 0);
    assert_int_equal(origin_check_origin(&policy, STR("https://localhost")), ERR_ORIGIN_DENIED);
}

static void further_names_can_be_allowed(void **state)
{
    const struct str hosts[] = {STR("gate.example"), STR("gate.example:8443")};
    struct origin_policy policy = {
        .is_loopback = true, .port = 8080, .hosts = hosts, .host_count = 2};

    (void)state;
    assert_int_equal(origin_check_host(&policy, STR("Gate.Example:8443")), 0);
    assert_int_equal(origin_check_host(&policy, STR("gate.example:8080")), ERR_HOST_DENIED);
    assert_int_equal(origin_check_origin(&policy, STR("https://gate.example")), 0);
    policy.is_loopback = false;
    assert_int_equal(origin_check_host(&policy, STR("localhost:8080")), ERR_HOST_DENIED);
    policy.host_count = 0;
    assert_int_equal(origin_check_host(&policy, STR("whatever.example")), 0);
}

static void pages_of_its_own_may_ask(void **state)
{
    (void)state;
    assert_int_equal(origin_check_origin(&LOOPBACK, STR("http://localhost:8080")), 0);
    assert_int_equal(origin_check_origin(&LOOPBACK, STR("https://127.0.0.1:8080")), 0);
    assert_int_equal(origin_check_origin(&LOOPBACK, STR("http://[::1]:8080")), 0);
}

static void other_pages_may_not(void **state)
{
    static const char *const origins[] = {
        "",
        "null",
        "https://evil.example",
        "http://localhost:3000",
        "http://localhost",
        "http://localhost:8080/",
        "http://localhost:8080.evil.example",
        "http://localhost:8080@evil.example",
        "file://localhost:8080",
        "localhost:8080",
        "http://",
    };

    (void)state;
    for (size_t i = 0; i < array_size(origins); i++)
        if (origin_check_origin(&LOOPBACK, str_from(origins[i])) != ERR_ORIGIN_DENIED)
            fail_msg("%s passed", origins[i]);
}

static void further_pages_can_be_allowed(void **state)
{
    const struct str origins[] = {STR("https://app.example"), STR("http://localhost:*")};
    const struct origin_policy policy = {
        .is_loopback = true, .port = 8080, .origins = origins, .origin_count = 2};

    (void)state;
    assert_int_equal(origin_check_origin(&policy, STR("https://app.example")), 0);
    assert_int_equal(origin_check_origin(&policy, STR("http://localhost:6274")), 0);
    assert_int_equal(origin_check_origin(&policy, STR("http://localhost")), 0);
    assert_int_equal(origin_check_origin(&policy, STR("http://localhost:")), ERR_ORIGIN_DENIED);
    assert_int_equal(origin_check_origin(&policy, STR("http://localhost:1.evil.example")),
                     ERR_ORIGIN_DENIED);
    assert_int_equal(origin_check_origin(&policy, STR("http://localhost.evil.example")),
                     ERR_ORIGIN_DENIED);
    assert_int_equal(origin_check_origin(&policy, STR("http://app.example")), ERR_ORIGIN_DENIED);
}

/* A port is asked for by its colon: without it the rest belongs to the host. */
static void any_port_of_a_page_is_no_longer_host(void **state)
{
    static const struct {
        const char *pattern;
        const char *origin;
        bool is_taken;
    } rows[] = {
        {"http://10.0.0.1:*", "http://10.0.0.1", true},
        {"http://10.0.0.1:*", "http://10.0.0.1:8", true},
        {"http://10.0.0.1:*", "http://10.0.0.1:65535", true},
        {"http://10.0.0.1:*", "http://10.0.0.12", false},
        {"http://10.0.0.1:*", "http://10.0.0.123", false},
        {"http://10.0.0.1:*", "http://10.0.0.123:80", false},
        {"http://10.0.0.1:*", "http://10.0.0.1.2", false},
        {"http://10.0.0.1:*", "http://10.0.0.1:", false},
        {"http://10.0.0.1:*", "http://10.0.0.1:8a", false},
        {"http://10.0.0.1:*", "http://10.0.0.1:-8", false},
        {"http://10.0.0.1:*", "http://10.0.0.1:80:80", false},
        {"http://10.0.0.1:*", "http://10.0.0.1/80", false},
        {"http://10.0.0.1:*", "http://10.0.0.1@80", false},
        {"http://10.0.0.1:*", "https://10.0.0.1:80", false},
        {"http://10.0.0.1:*", "http://10.0.0.", false},
        {"http://host1:*", "http://host12", false},
        {"http://[::1]:*", "http://[::1]:80", true},
        {"http://[::1]:*", "http://[::1]80", false},
        {"http://10.0.0.1:80", "http://10.0.0.1:80", true},
        {"http://10.0.0.1:80", "http://10.0.0.1:8", false},
        {"http://10.0.0.1:80", "http://10.0.0.1:8080", false},
        {"http://10.0.0.1:80", "http://10.0.0.1", false},
        {"http://10.0.0.1", "http://10.0.0.1:80", false},
        {"http://10.0.0.1", "http://10.0.0.123", false},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        const struct str pattern = str_from(rows[i].pattern);
        const struct origin_policy policy = {
            .is_loopback = true, .port = 9, .origins = &pattern, .origin_count = 1};
        int wanted = rows[i].is_taken ? 0 : ERR_ORIGIN_DENIED;

        if (origin_check_origin(&policy, str_from(rows[i].origin)) != wanted)
            fail_msg("%s with %s", rows[i].pattern, rows[i].origin);
    }
}

TEST_MAIN(cmocka_unit_test(a_loopback_server_has_three_names_with_its_port),
          cmocka_unit_test(other_names_are_those_of_somebody_else),
          cmocka_unit_test(the_port_of_http_need_not_be_said),
          cmocka_unit_test(further_names_can_be_allowed),
          cmocka_unit_test(pages_of_its_own_may_ask), cmocka_unit_test(other_pages_may_not),
          cmocka_unit_test(further_pages_can_be_allowed),
          cmocka_unit_test(any_port_of_a_page_is_no_longer_host))
