/* SPDX-License-Identifier: Apache-2.0 */
/* How often something may be tried. */
#include "programs/server/throttle.h"

#include <stdlib.h>

#include "test.h"

enum { INTERVAL_MS = 1000, AT_ONCE = 3 };

static struct throttle *make(void)
{
    struct throttle *throttle = calloc(1, sizeof(*throttle));

    assert_non_null(throttle);
    throttle->interval_ms = INTERVAL_MS;
    throttle->at_once = AT_ONCE;
    return throttle;
}

static void tries_run_out_and_come_back(void **state)
{
    cleanup_free struct throttle *throttle = make();
    const struct str anna = STR("anna");
    int64_t now_ms = 5000;
    int64_t wait_ms = 0;

    (void)state;
    for (int i = 0; i < AT_ONCE; i++)
        assert_true(throttle_take(throttle, anna, now_ms, &wait_ms));
    assert_false(throttle_take(throttle, anna, now_ms, &wait_ms));
    assert_int_equal(wait_ms, INTERVAL_MS);
    /* Refused tries cost nothing more. */
    assert_false(throttle_take(throttle, anna, now_ms + 400, &wait_ms));
    assert_int_equal(wait_ms, INTERVAL_MS - 400);
    assert_false(throttle_has(throttle, anna, now_ms + 999, &wait_ms));
    assert_true(throttle_has(throttle, anna, now_ms + INTERVAL_MS, &wait_ms));
    assert_true(throttle_take(throttle, anna, now_ms + INTERVAL_MS, &wait_ms));
    assert_false(throttle_take(throttle, anna, now_ms + INTERVAL_MS, &wait_ms));
    /* After a long time there are as many as at first, and no more. */
    now_ms += 1000 * INTERVAL_MS;
    for (int i = 0; i < AT_ONCE; i++)
        assert_true(throttle_take(throttle, anna, now_ms, &wait_ms));
    assert_false(throttle_take(throttle, anna, now_ms, &wait_ms));
}

static void a_try_can_be_given_back(void **state)
{
    cleanup_free struct throttle *throttle = make();
    int64_t wait_ms;

    (void)state;
    for (int i = 0; i < 10 * AT_ONCE; i++) {
        assert_true(throttle_take(throttle, STR("anna"), 5000, &wait_ms));
        throttle_give_back(throttle, STR("anna"));
    }
    for (int i = 0; i < AT_ONCE; i++)
        assert_true(throttle_take(throttle, STR("anna"), 5000, &wait_ms));
    assert_false(throttle_take(throttle, STR("anna"), 5000, &wait_ms));
}

TEST_MAIN(cmocka_unit_test(tries_run_out_and_come_back), cmocka_unit_test(a_try_can_be_given_back))
