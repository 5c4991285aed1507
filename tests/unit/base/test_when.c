/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <time.h>

#include "base/when.h"

#define MINUTE INT64_C(60000)
#define DAY    (24 * 60 * MINUTE)

/* 2026-03-31T10:30:00Z, two days into the summer time of that year. */
#define NOW INT64_C(1774953000000)

static int start(void **state)
{
    (void)state;
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    return 0;
}

static void expect(int64_t ms, enum when_form form, const char *wanted)
{
    char text[WHEN_BYTES];

    when_format(ms, NOW, form, text);
    assert_string_equal(text, wanted);
}

static void expect_relative(int64_t ms, const char *wanted)
{
    char text[WHEN_BYTES];

    when_relative(ms, NOW, text);
    assert_string_equal(text, wanted);
}

static void times_are_shown_in_the_users_zone(void **state)
{
    (void)state;
    expect(NOW, WHEN_SECONDS, "2026-03-31 12:30:00");
    expect(NOW, WHEN_MINUTES, "2026-03-31 12:30");
    expect(NOW - 3 * DAY, WHEN_SHORT, "03-28 11:30");
    expect(NOW - 365 * DAY, WHEN_SHORT, "2025-03-31");
    expect(NOW + 365 * DAY, WHEN_SHORT, "2027-03-31");
    expect(INT64_MIN, WHEN_MINUTES, "1970-01-01 01:00");
}

static void how_long_ago_is_told_in_one_unit(void **state)
{
    (void)state;
    expect_relative(NOW, "just now");
    expect_relative(NOW - MINUTE + 1, "just now");
    expect_relative(NOW - MINUTE, "1 minute ago");
    expect_relative(NOW - 119 * MINUTE, "1 hour ago");
    expect_relative(NOW - 3 * DAY, "3 days ago");
    expect_relative(NOW - 70 * DAY, "2 months ago");
    expect_relative(NOW - 800 * DAY, "2 years ago");
    expect_relative(NOW + 1, "in 1 minute");
    expect_relative(NOW + 5 * MINUTE, "in 5 minutes");
    expect_relative(NOW + 120 * MINUTE - 1, "in 2 hours");
    expect_relative(NOW + DAY, "in 1 day");
    expect_relative(INT64_MAX, "in 7979 years");
    expect_relative(INT64_MIN, "56 years ago");
}

TEST_MAIN(cmocka_unit_test_setup(times_are_shown_in_the_users_zone, start),
          cmocka_unit_test_setup(how_long_ago_is_told_in_one_unit, start))
