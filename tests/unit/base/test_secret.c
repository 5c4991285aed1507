/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/err.h"
#include "base/secret.h"

static void equal_only_to_the_same_bytes(void **state)
{
    cleanup_secret struct secret secret = SECRET_INIT;

    (void)state;
    assert_int_equal(secret_set(&secret, STR("gw_abc")), 0);
    assert_true(secret_eq(&secret, STR("gw_abc")));
    assert_false(secret_eq(&secret, STR("gw_abd")));
    assert_false(secret_eq(&secret, STR("Gw_abc")));
    assert_false(secret_eq(&secret, STR("gw_abc\0")));
    assert_false(secret_eq(&secret, STR("gw_ab")));
    assert_false(secret_eq(&secret, STR("")));
}

static void an_empty_secret_matches_nothing(void **state)
{
    cleanup_secret struct secret secret = SECRET_INIT;

    (void)state;
    assert_false(secret_eq(&secret, STR("")));
    assert_int_equal(secret_set(&secret, STR("")), ERR_INVALID_ARGUMENT);
    assert_int_equal(secret_generate(&secret, STR("gw_"), 0), ERR_INVALID_ARGUMENT);
}

static void a_refused_secret_leaves_the_old_one(void **state)
{
    cleanup_secret struct secret secret = SECRET_INIT;
    char text[SECRET_MAX_BYTES + 1];

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_int_equal(secret_set(&secret, STR("old")), 0);
    assert_int_equal(secret_set(&secret, (struct str){text, sizeof(text)}), ERR_TOO_LARGE);
    assert_int_equal(secret_generate(&secret, STR("old"), SECRET_MAX_BYTES), ERR_TOO_LARGE);
    assert_true(secret_eq(&secret, STR("old")));
    assert_int_equal(secret_set(&secret, (struct str){text, SECRET_MAX_BYTES}), 0);
}

static void generated_secrets_carry_their_prefix_and_differ(void **state)
{
    cleanup_secret struct secret a = SECRET_INIT;
    cleanup_secret struct secret b = SECRET_INIT;

    (void)state;
    assert_int_equal(secret_generate(&a, STR("sess_"), 32), 0);
    assert_int_equal(secret_generate(&b, STR("sess_"), 32), 0);
    assert_int_equal(secret_reveal(&a).len, 37);
    assert_true(str_starts_with(secret_reveal(&a), STR("sess_")));
    assert_false(secret_eq(&a, secret_reveal(&b)));
}

static void a_done_secret_leaves_no_bytes(void **state)
{
    struct secret secret = SECRET_INIT;
    char zeros[sizeof(secret)] = {0};

    (void)state;
    assert_int_equal(secret_set(&secret, STR("password")), 0);
    secret_done(&secret);
    assert_memory_equal(&secret, zeros, sizeof(secret));
}

static void memory_is_equal_only_byte_for_byte(void **state)
{
    (void)state;
    assert_true(secret_bytes_eq("", "", 0));
    assert_true(secret_bytes_eq("abcd", "abcd", 4));
    assert_false(secret_bytes_eq("abcd", "abce", 4));
    assert_false(secret_bytes_eq("abcd", "bbcd", 4));
    /* Differences must not cancel each other out. */
    assert_false(secret_bytes_eq("\x01\x01", "\x02\x02", 2));
}

static void one_other_bit_anywhere_is_a_difference(void **state)
{
    unsigned char left[40] = {0};
    unsigned char right[sizeof(left)] = {0};

    (void)state;
    for (size_t len = 0; len <= sizeof(left); len++) {
        assert_true(secret_bytes_eq(left, right, len));
        for (size_t bit = 0; bit < 8 * len; bit++) {
            right[bit / 8] ^= (unsigned char)(1 << bit % 8);
            assert_false(secret_bytes_eq(left, right, len));
            right[bit / 8] = 0;
        }
        if (len < sizeof(left)) { /* behind the last it does not count */
            right[len] = 1;
            assert_true(secret_bytes_eq(left, right, len));
            right[len] = 0;
        }
    }
}

static void a_long_secret_keeps_its_bytes_and_its_ceiling(void **state)
{
    static char large[SECRET_TEXT_MAX_BYTES + 1];
    cleanup_secret_text struct secret_text secret = SECRET_TEXT_INIT;

    (void)state;
    memset(large, 'k', sizeof(large));
    assert_str(secret_text_reveal(&secret), "");
    assert_int_equal(secret_text_set(&secret, STR("key")), 0);
    assert_int_equal(secret_text_set(&secret, STR_EMPTY), ERR_INVALID_ARGUMENT);
    assert_int_equal(secret_text_set(&secret, (struct str){large, sizeof(large)}), ERR_TOO_LARGE);
    assert_str(secret_text_reveal(&secret), "key");
    /* Its own text again: the copy is made before the old one is wiped. */
    assert_int_equal(secret_text_set(&secret, secret_text_reveal(&secret)), 0);
    assert_str(secret_text_reveal(&secret), "key");
    assert_int_equal(secret_text_set(&secret, (struct str){large, sizeof(large) - 1}), 0);
    assert_int_equal(secret_text_reveal(&secret).len, SECRET_TEXT_MAX_BYTES);
    secret_text_done(&secret);
    assert_int_equal(secret_text_reveal(&secret).len, 0);
}

TEST_MAIN(cmocka_unit_test(equal_only_to_the_same_bytes),
          cmocka_unit_test(an_empty_secret_matches_nothing),
          cmocka_unit_test(a_refused_secret_leaves_the_old_one),
          cmocka_unit_test(generated_secrets_carry_their_prefix_and_differ),
          cmocka_unit_test(memory_is_equal_only_byte_for_byte),
          cmocka_unit_test(one_other_bit_anywhere_is_a_difference),
          cmocka_unit_test(a_done_secret_leaves_no_bytes),
          cmocka_unit_test(a_long_secret_keeps_its_bytes_and_its_ceiling))
