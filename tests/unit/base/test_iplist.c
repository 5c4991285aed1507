/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/err.h"
#include "base/iplist.h"

static bool allows(const struct iplist *list, const char *text)
{
    uint8_t ip[IPLIST_IP_BYTES] = {[10] = 0xff, [11] = 0xff};

    if (inet_pton(AF_INET, text, ip + 12) != 1)
        assert_int_equal(inet_pton(AF_INET6, text, ip), 1);
    return iplist_allows(list, ip);
}

static void add(struct iplist *list, const char *text, bool is_denied)
{
    assert_int_equal(iplist_add(list, str_from(text), is_denied), 0);
}

static void what_is_listed_is_allowed_and_nothing_else(void **state)
{
    struct iplist list = {.count = 0};

    (void)state;
    assert_false(allows(&list, "203.0.113.7"));
    assert_false(iplist_has_allowed(&list));
    add(&list, "203.0.113.128/25", false);
    add(&list, "198.51.100.7", false);
    add(&list, "2001:db8:8000::/33", false);
    assert_true(iplist_has_allowed(&list));
    assert_true(allows(&list, "203.0.113.128") && allows(&list, "203.0.113.255"));
    assert_false(allows(&list, "203.0.113.127") || allows(&list, "203.0.114.128"));
    assert_true(allows(&list, "198.51.100.7"));
    assert_false(allows(&list, "198.51.100.6") || allows(&list, "198.51.100.8"));
    assert_true(allows(&list, "2001:db8:ffff::1"));
    assert_false(allows(&list, "2001:db8:7fff::1") || allows(&list, "2001:db9:8000::1"));
}

static void what_is_denied_is_not_allowed_in_any_order(void **state)
{
    struct iplist list = {.count = 0};

    (void)state;
    add(&list, "203.0.113.7", true);
    assert_false(iplist_has_allowed(&list));
    add(&list, "203.0.113.0/24", false);
    add(&list, "203.0.113.7/32", false);
    add(&list, "203.0.113.64/26", true);
    add(&list, "10.0.0.0/8", true); /* is not allowed anyway */
    assert_true(allows(&list, "203.0.113.8") && allows(&list, "::ffff:203.0.113.8"));
    assert_false(allows(&list, "203.0.113.7") || allows(&list, "::ffff:203.0.113.7"));
    assert_false(allows(&list, "203.0.113.65"));
}

static void what_is_not_public_is_never_allowed(void **state)
{
    static const char *const never[] = {
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.1.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.168.0.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "fe80::1",
        "fec0::1",
        "fc00::1",
        "fd00::1",
        "ff02::1",
        "2002:7f00::1",
        "2001::1",
        "4000::1",
        "100::1",
        "64:ff9b:1::7f00:1",
        "::ffff:0:7f00:1",
    };
    struct iplist list = {.count = 0};

    (void)state;
    add(&list, "0.0.0.0/0", false);
    add(&list, "::/0", false);
    for (size_t i = 0; i < array_size(never); i++)
        if (allows(&list, never[i]))
            fail_msg("%s is allowed", never[i]);
    assert_true(allows(&list, "172.32.0.1") && allows(&list, "192.0.2.1"));
    assert_true(allows(&list, "2a00::1") && allows(&list, "2001:db8::1"));
}

static void one_family_says_nothing_about_the_other(void **state)
{
    struct iplist list = {.count = 0};
    struct iplist four = {.count = 0};

    (void)state;
    add(&list, "::/0", false);
    assert_false(allows(&list, "203.0.113.7"));
    add(&four, "0.0.0.0/0", false);
    assert_false(allows(&four, "2001:db8::1"));
    add(&four, "::/0", true);
    assert_true(allows(&four, "203.0.113.7"));
}

static void other_texts_are_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "x",
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.4/",
        "1.2.3.4/33",
        "1.2.3.4/-0",
        "1.2.3.4/+8",
        "1.2.3.4/ 8",
        " 1.2.3.4",
        "1.2.3.4 ",
        "/8",
        "1.2.3.4/8/8",
        "::/129",
        "::1%lo",
        "[::1]",
        "01.2.3.4",
        "1.2.3.4/99999999999999999999",
        "example.com",
    };
    static const char *const private[] = {
        "127.0.0.1", "10.0.0.0/8",      "192.168.1.0/24", "::1",      "fe80::/10",
        "fd00::/8",  "::ffff:10.0.0.1", "224.0.0.0/8",    "2002::/16"};
    struct iplist list = {.count = 0};

    (void)state;
    for (size_t i = 0; i < array_size(wrong); i++)
        if (iplist_add(&list, str_from(wrong[i]), false) != ERR_INVALID_ARGUMENT)
            fail_msg("'%s' is accepted", wrong[i]);
    for (size_t i = 0; i < array_size(private); i++)
        if (iplist_add(&list, str_from(private[i]), false) != ERR_DENIED_BY_POLICY)
            fail_msg("'%s' is accepted", private[i]);
    assert_int_equal(iplist_add(&list, (struct str){"1.2.3.4\0", 8}, false), ERR_INVALID_ARGUMENT);
    assert_int_equal(list.count, 0);
    for (int i = 0; i < IPLIST_MAX; i++)
        add(&list, "203.0.113.7", i % 2 == 0);
    assert_int_equal(iplist_add(&list, STR("203.0.113.7"), true), ERR_TOO_LARGE);
}

static void a_list_is_the_same_after_it_was_written(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(IPLIST_MAX * IPLIST_TEXT_BYTES);
    struct iplist list = {.count = 0};
    struct iplist again = {.count = 7};

    (void)state;
    add(&list, "203.0.113.99/24", false);
    add(&list, "::ffff:203.0.113.7", true);
    add(&list, "2001:db8::1/32", false);
    add(&list, "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", true);
    assert_int_equal(iplist_write(&list, &text), 0);
    assert_int_equal(buf_append_char(&text, '\0'), 0);
    assert_string_equal(text.data, "203.0.113.0/24 -203.0.113.7/32 2001:db8::/32 "
                                   "-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128");
    assert_int_equal(iplist_read(str_from(text.data), &again), 0);
    assert_int_equal(again.count, list.count);
    assert_memory_equal(again.networks, list.networks, list.count * sizeof(list.networks[0]));
    assert_true(iplist_read(STR("203.0.113.0/24 nonsense"), &again) < 0);
    assert_int_equal(iplist_read(STR_EMPTY, &again), 0);
    assert_int_equal(again.count, 0);
}

TEST_MAIN(cmocka_unit_test(what_is_listed_is_allowed_and_nothing_else),
          cmocka_unit_test(what_is_denied_is_not_allowed_in_any_order),
          cmocka_unit_test(what_is_not_public_is_never_allowed),
          cmocka_unit_test(one_family_says_nothing_about_the_other),
          cmocka_unit_test(other_texts_are_refused),
          cmocka_unit_test(a_list_is_the_same_after_it_was_written))
