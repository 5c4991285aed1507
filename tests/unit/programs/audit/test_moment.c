/* SPDX-License-Identifier: Apache-2.0 */
/* Times as people write them: each form, in a zone with summer time. */
#include "test.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "programs/audit/moment.h"

/* 2026-03-31T10:30:00Z, two days into the summer time of that year. */
#define NOW INT64_C(1774953000000)

static int start(void **state)
{
    (void)state;
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    return 0;
}

static void expect(const char *text, const char *wanted)
{
    struct err err = ERR_INIT;
    char found[CLOCK_ISO_BYTES];
    int64_t ms = 0;

    if (moment_parse(str_from(text), NOW, &ms, &err) < 0)
        fail_msg("'%s': %s", text, err.message);
    clock_format_iso(ms, found);
    if (strcmp(found, wanted) != 0)
        fail_msg("'%s' is %s and not %s", text, found, wanted);
}

static void so_long_ago(void **state)
{
    (void)state;
    expect("0s", "2026-03-31T10:30:00.000Z");
    expect("90s", "2026-03-31T10:28:30.000Z");
    expect("30m", "2026-03-31T10:00:00.000Z");
    expect("30min", "2026-03-31T10:00:00.000Z");
    expect("2h", "2026-03-31T08:30:00.000Z");
    expect("7d", "2026-03-24T10:30:00.000Z");
    expect("3w", "2026-03-10T10:30:00.000Z");
    /* Before there was time there was nothing. */
    expect("999999999w", "1970-01-01T00:00:00.001Z");
}

static void days_begin_at_the_users_midnight(void **state)
{
    (void)state;
    expect("today", "2026-03-30T22:00:00.000Z");
    expect("yesterday", "2026-03-29T22:00:00.000Z");
    expect("2026-03-29", "2026-03-28T23:00:00.000Z"); /* the day that has 23 hours */
    expect("2026-03-30", "2026-03-29T22:00:00.000Z");
}

static void times_with_and_without_a_zone(void **state)
{
    (void)state;
    expect("2026-03-01T12:00", "2026-03-01T11:00:00.000Z");
    expect("2026-03-31 12:00:05", "2026-03-31T10:00:05.000Z");
    expect("2026-03-31T12:00:05.5", "2026-03-31T10:00:05.500Z");
    expect("2026-03-31T12:00:05.1239", "2026-03-31T10:00:05.123Z");
    expect("2026-03-31T12:00Z", "2026-03-31T12:00:00.000Z");
    expect("2026-03-31T12:00:00.123Z", "2026-03-31T12:00:00.123Z");
    expect("2026-03-31T12:00+05:30", "2026-03-31T06:30:00.000Z");
    expect("2026-03-31T12:00-08:00", "2026-03-31T20:00:00.000Z");
    /* And after the last year that has four digits there is nothing either. */
    expect("9999-12-31T23:59:59.9-08:00", "9999-12-31T23:59:59.999Z");
}

static void what_is_no_time_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "soon",
        "2",
        "2x",
        "-2h",
        "2h ",
        "h",
        "2 h",
        "tomorrow",
        "2026",
        "2026-3-1",
        "2026-13-01",
        "2026-02-31",
        "2026-03-00",
        "1969-01-01",
        "2026-03-01T",
        "2026-03-01T12",
        "2026-03-01T24:00",
        "2026-03-01T12:60",
        "2026-03-01T12:00:60",
        "2026-03-01T12:00:00.",
        "2026-03-01T12:00+0100",
        "2026-03-01T12:00+24:00",
        "2026-03-01T12:00ZZ",
        "2026-03-01Tx",
        "12:00",
    };

    (void)state;
    for (size_t i = 0; i < array_size(wrong); i++) {
        struct err err = ERR_INIT;
        int64_t ms = 77;

        if (moment_parse(str_from(wrong[i]), NOW, &ms, &err) != ERR_INVALID_OPTION)
            fail_msg("'%s' was taken", wrong[i]);
        assert_int_equal(ms, 77);
        assert_non_null(strstr(err.message, "is not a time"));
    }
}

TEST_MAIN(cmocka_unit_test_setup(so_long_ago, start),
          cmocka_unit_test_setup(days_begin_at_the_users_midnight, start),
          cmocka_unit_test_setup(times_with_and_without_a_zone, start),
          cmocka_unit_test_setup(what_is_no_time_is_refused, start))
