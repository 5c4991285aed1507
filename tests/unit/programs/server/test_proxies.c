/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of proxies and of the clients behind them. */
#include "programs/server/proxies.h"

#include "test.h"

static void addresses_are_read_as_proxies_write_them(void **state)
{
    static const char *const good[] = {"192.0.2.7",     "192.0.2.7:1234",     "2001:db8::7",
                                       "[2001:db8::7]", "[2001:db8::7]:1234", "::1"};
    static const char *const bad[] = {"",        "proxy.example", "localhost",
                                      "192.0.2", "1.2.3.4.5",     "2001:db8::7::1",
                                      "[::1",    "unix",          "192.0.2.7, 192.0.2.8"};
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < array_size(good); i++) {
        struct trusted_proxies proxies = {.count = 0};

        assert_int_equal(proxies_add(&proxies, good[i], &err), 0);
        assert_int_equal(proxies.count, 1);
    }
    for (size_t i = 0; i < array_size(bad); i++) {
        struct trusted_proxies proxies = {.count = 0};

        assert_int_equal(proxies_add(&proxies, bad[i], &err), ERR_INVALID_OPTION);
        assert_int_equal(proxies.count, 0);
    }
}

static void there_are_not_too_many(void **state)
{
    struct trusted_proxies proxies = {.count = 0};

    (void)state;
    for (size_t i = 0; i < PROXIES_MAX; i++)
        assert_int_equal(proxies_add(&proxies, "::1", NULL), 0);
    assert_int_equal(proxies_add(&proxies, "::1", NULL), ERR_INVALID_OPTION);
}

static void one_client_has_a_whole_network(void **state)
{
    char one[ADDRESS_IP_BYTES];
    char two[ADDRESS_IP_BYTES];

    (void)state;
    assert_true(str_eq(proxies_network("2001:db8::7", one), proxies_network("2001:db8::8", two)));
    assert_true(str_eq(proxies_network("[2001:db8::7]", one), proxies_network("2001:db8::8", two)));
    assert_false(
        str_eq(proxies_network("2001:db8::7", one), proxies_network("2001:db8:0:1::7", two)));
    assert_false(str_eq(proxies_network("192.0.2.7", one), proxies_network("192.0.2.8", two)));
}

TEST_MAIN(cmocka_unit_test(addresses_are_read_as_proxies_write_them),
          cmocka_unit_test(there_are_not_too_many),
          cmocka_unit_test(one_client_has_a_whole_network))
