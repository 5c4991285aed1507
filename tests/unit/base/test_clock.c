/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <poll.h>
#include <unistd.h>

#include "base/clock.h"

static void the_fake_clock_moves_only_when_told(void **state)
{
    struct clock clock;

    (void)state;
    clock_fake_init(&clock, 1000);
    assert_int_equal(clock_wall_ms(&clock), 1000);
    assert_int_equal(clock_monotonic_ms(&clock), 0);
    clock_fake_advance(&clock, 250);
    assert_int_equal(clock_wall_ms(&clock), 1250);
    assert_int_equal(clock_monotonic_ms(&clock), 250);
}

static void the_system_clock_runs_forward(void **state)
{
    int64_t before = clock_monotonic_ms(&clock_system);

    (void)state;
    assert_true(clock_monotonic_ms(&clock_system) >= before);
    /* Past 2020, or this machine's time is not set. */
    assert_true(clock_wall_ms(&clock_system) > 1577836800000);
}

static void a_ticker_can_be_waited_for_again_and_again(void **state)
{
    struct pollfd waiting = {.fd = clock_ticker(1), .events = POLLIN};
    uint64_t ticks;

    (void)state;
    assert_true(waiting.fd >= 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(poll(&waiting, 1, -1), 1);
        assert_int_equal(read(waiting.fd, &ticks, sizeof(ticks)), sizeof(ticks));
    }
    close(waiting.fd);
}

static void times_are_written_as_iso_8601(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {951782400123, "2000-02-29T00:00:00.123Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {253402300800000, "out-of-range"},
        {INT64_MAX, "out-of-range"},
        {INT64_MIN, "out-of-range"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        char text[CLOCK_ISO_BYTES];

        clock_format_iso(cases[i].ms, text);
        assert_string_equal(text, cases[i].text);
    }
}

static int64_t ns_between(struct timespec from, struct timespec to)
{
    return (int64_t)(to.tv_sec - from.tv_sec) * 1000000000 + (to.tv_nsec - from.tv_nsec);
}

static void a_moment_ahead_is_no_sooner_and_well_formed(void **state)
{
    static const int64_t spans_ms[] = {0, 1, 999, 1000, 1001, 123456};

    (void)state;
    for (size_t i = 0; i < array_size(spans_ms); i++) {
        struct timespec before, after;
        struct timespec then;

        clock_gettime(CLOCK_MONOTONIC, &before);
        then = clock_after_ms(spans_ms[i]);
        clock_gettime(CLOCK_MONOTONIC, &after);
        assert_in_range(then.tv_nsec, 0, 999999999);
        assert_true(ns_between(before, then) >= spans_ms[i] * 1000000);
        assert_true(ns_between(after, then) <= spans_ms[i] * 1000000);
    }
}

TEST_MAIN(cmocka_unit_test(a_moment_ahead_is_no_sooner_and_well_formed),
          cmocka_unit_test(the_fake_clock_moves_only_when_told),
          cmocka_unit_test(the_system_clock_runs_forward),
          cmocka_unit_test(a_ticker_can_be_waited_for_again_and_again),
          cmocka_unit_test(times_are_written_as_iso_8601))
