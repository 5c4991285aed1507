/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/rand.h"

static void two_draws_differ(void **state)
{
    char a[32];
    char b[32];

    (void)state;
    rand_bytes(a, sizeof(a));
    rand_bytes(b, sizeof(b));
    assert_memory_not_equal(a, b, sizeof(a));
    rand_bytes(a, 0);
}

static void numbers_stay_below_their_bound_and_reach_all_of_it(void **state)
{
    unsigned seen[7] = {0};

    (void)state;
    for (int i = 0; i < 7000; i++) {
        uint32_t drawn = rand_below(7);

        assert_true(drawn < 7);
        seen[drawn]++;
    }
    /* 1000 expected; 14 standard deviations off would be a broken generator. */
    for (int i = 0; i < 7; i++)
        assert_in_range(seen[i], 600, 1400);
    assert_int_equal(rand_below(1), 0);
}

static void check_token(const char *token)
{
    assert_int_equal(strlen(token), 32);
    for (int i = 0; i < 32; i++)
        assert_true((token[i] >= '0' && token[i] <= '9') || (token[i] >= 'A' && token[i] <= 'Z') ||
                    (token[i] >= 'a' && token[i] <= 'z'));
}

static void tokens_are_letters_and_digits_of_the_asked_length(void **state)
{
    char token[33];

    (void)state;
    memset(token, '!', sizeof(token));
    rand_token(token, 32);
    check_token(token);
}

/* Also where one begins in the last bytes of a draw, and ends in the first of the next. */
static void tokens_of_a_pool_differ_and_leave_nothing_behind(void **state)
{
    struct rand_pool pool = {.left = 0};
    char last[33] = "";

    (void)state;
    for (int i = 0; i < 200; i++) {
        char token[33];

        memset(token, '!', sizeof(token));
        rand_pool_token(&pool, token, 32);
        check_token(token);
        assert_string_not_equal(token, last);
        memcpy(last, token, sizeof(last));
        for (size_t at = pool.left; at < RAND_POOL_BYTES; at++)
            assert_int_equal(pool.bytes[at], 0);
    }
}

TEST_MAIN(cmocka_unit_test(two_draws_differ),
          cmocka_unit_test(numbers_stay_below_their_bound_and_reach_all_of_it),
          cmocka_unit_test(tokens_are_letters_and_digits_of_the_asked_length),
          cmocka_unit_test(tokens_of_a_pool_differ_and_leave_nothing_behind))
