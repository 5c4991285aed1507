/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/clock.h"
#include "permission/rules/expiry.h"

/* The time again, as the clock writes it; empty if it is none. */
static const char *read_again(const char *text)
{
    static char again[CLOCK_ISO_BYTES];
    int64_t ms;

    again[0] = '\0';
    if (expiry_read_time(str_from(text), &ms))
        clock_format_iso(ms, again);
    return again;
}

static void times_are_read(void **state)
{
    (void)state;
    assert_string_equal(read_again("2026-12-01"), "2026-12-01T00:00:00.000Z");
    assert_string_equal(read_again("2026-12-01T18:30Z"), "2026-12-01T18:30:00.000Z");
    assert_string_equal(read_again("2026-12-01T18:30:05Z"), "2026-12-01T18:30:05.000Z");
    assert_string_equal(read_again("2026-12-01T18:30:05.25Z"), "2026-12-01T18:30:05.250Z");
    assert_string_equal(read_again("2026-12-01T18:30:05.1234567Z"), "2026-12-01T18:30:05.123Z");
    assert_string_equal(read_again("2026-12-01T00:30+01:30"), "2026-11-30T23:00:00.000Z");
    assert_string_equal(read_again("2026-12-01T23:30-05:00"), "2026-12-02T04:30:00.000Z");
    assert_string_equal(read_again("2028-02-29"), "2028-02-29T00:00:00.000Z");
    assert_string_equal(read_again("2000-02-29"), "2000-02-29T00:00:00.000Z");
    assert_string_equal(read_again("9999-12-31T23:59:59.999Z"), "9999-12-31T23:59:59.999Z");
}

static void every_day_of_four_hundred_years_comes_back(void **state)
{
    (void)state;
    for (int64_t day = 1; day < 400 * 365 + 97; day++) {
        char text[CLOCK_ISO_BYTES];
        int64_t ms;

        clock_format_iso(day * 86400000 + 123, text);
        assert_true(expiry_read_time(str_from(text), &ms));
        assert_int_equal(ms, day * 86400000 + 123);
    }
}

static void what_is_no_time_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "2026",
        "2026-12",
        "2026-12-1",
        "2026-13-01",
        "2026-00-01",
        "2026-12-00",
        "2026-04-31",
        "2026-02-29",
        "2100-02-29",
        "1969-12-31",
        "1970-01-01",
        "10000-01-01",
        "2026-12-01T",
        "2026-12-01 18:00Z",
        "2026-12-01T18Z",
        "2026-12-01T18:00",
        "2026-12-01T24:00Z",
        "2026-12-01T18:60Z",
        "2026-12-01T18:00:60Z",
        "2026-12-01T18:00:00.Z",
        "2026-12-01T18:00+1:00",
        "2026-12-01T18:00+01",
        "2026-12-01T18:00Zx",
        "2026-12-01x",
        "9999-12-31T23:59-01:00",
        "+026-12-01",
        "-2026-12-01",
    };

    (void)state;
    for (size_t i = 0; i < array_size(texts); i++)
        assert_string_equal(read_again(texts[i]), "");
}

static void spans_are_read(void **state)
{
    int64_t ms = 7;

    (void)state;
    assert_true(expiry_read_span(STR("90s"), &ms));
    assert_int_equal(ms, 90000);
    assert_true(expiry_read_span(STR("30min"), &ms));
    assert_int_equal(ms, 1800000);
    assert_true(expiry_read_span(STR("30m"), &ms));
    assert_int_equal(ms, 30 * 60 * 1000);
    assert_true(expiry_read_span(STR("2m"), &ms));
    assert_int_equal(ms, 120000);
    assert_true(expiry_read_span(STR("2h"), &ms));
    assert_int_equal(ms, 7200000);
    assert_true(expiry_read_span(STR("7d"), &ms));
    assert_int_equal(ms, 604800000);
    assert_true(expiry_read_span(STR("2w"), &ms));
    assert_int_equal(ms, 1209600000);
    ms = 7;
    assert_false(expiry_read_span(STR("0h"), &ms));
    assert_false(expiry_read_span(STR("-1h"), &ms));
    assert_false(expiry_read_span(STR("h"), &ms));
    assert_false(expiry_read_span(STR("2"), &ms));
    assert_false(expiry_read_span(STR("2 h"), &ms));
    assert_false(expiry_read_span(STR("2x"), &ms));
    assert_false(expiry_read_span(STR("9223372036854775807w"), &ms));
    assert_false(expiry_read_span(STR("99999999999999999999s"), &ms));
    assert_int_equal(ms, 7);
}

TEST_MAIN(cmocka_unit_test(times_are_read),
          cmocka_unit_test(every_day_of_four_hundred_years_comes_back),
          cmocka_unit_test(what_is_no_time_is_refused), cmocka_unit_test(spans_are_read))
