/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/cancel.h"
#include "base/checked.h"

static void a_token_tells_cancel_from_deadline(void **state)
{
    struct clock clock;
    struct cancel token;

    (void)state;
    clock_fake_init(&clock, 0);
    cancel_init(&token, &clock, 100);
    assert_int_equal(cancel_check(&token), 0);
    clock_fake_advance(&clock, 99);
    assert_int_equal(cancel_check(&token), 0);
    clock_fake_advance(&clock, 1);
    assert_int_equal(cancel_check(&token), ERR_TIMED_OUT);
    cancel_now(&token);
    assert_int_equal(cancel_check(&token), ERR_CANCELLED);
}

static void no_token_and_no_deadline_never_end(void **state)
{
    struct clock clock;
    struct cancel token;

    (void)state;
    clock_fake_init(&clock, 0);
    cancel_init(&token, &clock, CANCEL_NO_DEADLINE);
    clock_fake_advance(&clock, INT64_MAX / 2);
    assert_int_equal(cancel_check(&token), 0);
    assert_int_equal(cancel_check(NULL), 0);
}

static void sums_that_would_wrap_are_refused(void **state)
{
    size_t result = 7;

    (void)state;
    assert_false(checked_add(SIZE_MAX, 1, &result));
    assert_false(checked_mul(SIZE_MAX / 2, 3, &result));
    assert_int_equal(result, 7);
    assert_true(checked_add(SIZE_MAX - 1, 1, &result));
    assert_true(result == SIZE_MAX);
    assert_true(checked_mul(6, 7, &result));
    assert_int_equal(result, 42);
    assert_true(checked_add_ms(INT64_MAX - 5, 10) == INT64_MAX);
    assert_true(checked_add_ms(INT64_MIN + 5, -10) == INT64_MIN);
    assert_int_equal(checked_add_ms(5, 10), 15);
}

TEST_MAIN(cmocka_unit_test(a_token_tells_cancel_from_deadline),
          cmocka_unit_test(no_token_and_no_deadline_never_end),
          cmocka_unit_test(sums_that_would_wrap_are_refused))
