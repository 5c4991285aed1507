/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/audit/moment.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum { MAX_DIGITS = 9 };

/* ---- so long ago ---- */

static bool parse_ago(struct str text, int64_t now_ms, int64_t *out_ms)
{
    static const struct {
        struct str unit;
        int64_t ms;
    } units[] = {
        {STR_LITERAL("s"), 1000},
        {STR_LITERAL("m"), 60 * 1000},
        {STR_LITERAL("min"), 60 * 1000},
        {STR_LITERAL("h"), 60 * 60 * 1000},
        {STR_LITERAL("d"), 24 * 60 * 60 * 1000},
        {STR_LITERAL("w"), 7 * 24 * 60 * 60 * 1000},
    };
    size_t digits = 0;
    int64_t number;

    while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9')
        digits++;
    if (digits > MAX_DIGITS || !str_to_int64(str_slice(text, 0, digits), &number))
        return false;
    text = str_slice(text, digits, text.len);
    for (size_t i = 0; i < array_size(units); i++) {
        if (str_eq(text, units[i].unit)) {
            *out_ms = now_ms - number * units[i].ms;
            return true;
        }
    }
    return false;
}

/* ---- days ---- */

static bool midnight(int64_t now_ms, int days_before, int64_t *out_ms)
{
    time_t now = (time_t)(now_ms / 1000);
    struct tm day;
    time_t start;

    if (localtime_r(&now, &day) == NULL)
        return false;
    day = (struct tm){.tm_year = day.tm_year,
                      .tm_mon = day.tm_mon,
                      .tm_mday = day.tm_mday - days_before,
                      .tm_isdst = -1};
    start = mktime(&day);
    *out_ms = (int64_t)start * 1000;
    return start != (time_t)-1;
}

/* ---- ISO 8601 ---- */

static bool parse_iso(struct str text, int64_t *out_ms)
{
    struct clock_iso iso;
    struct tm local;
    time_t seconds;

    if (!clock_parse_iso(text, &iso))
        return false;
    if (iso.has_zone) {
        *out_ms = clock_iso_ms(&iso);
        return true;
    }
    local = (struct tm){.tm_year = iso.year - 1900,
                        .tm_mon = iso.month - 1,
                        .tm_mday = iso.day,
                        .tm_hour = iso.hour,
                        .tm_min = iso.minute,
                        .tm_sec = iso.second,
                        .tm_isdst = -1};
    seconds = mktime(&local);
    *out_ms = (int64_t)seconds * 1000 + iso.ms;
    return seconds != (time_t)-1;
}

int moment_parse(struct str text, int64_t now_ms, int64_t *out_ms, struct err *err)
{
    int64_t ms;
    bool is_read = str_eq(text, STR("today")) ? midnight(now_ms, 0, &ms)
                   : str_eq(text, STR("yesterday"))
                       ? midnight(now_ms, 1, &ms)
                       : parse_ago(text, now_ms, &ms) || parse_iso(text, &ms);

    if (!is_read)
        return err_set(
            err, ERR_INVALID_OPTION,
            "'%.*s' is not a time: use 2h, 7d, today, yesterday, 2026-03-01 or 2026-03-01T12:00",
            STR_ARG(text));
    /* Before the first that there can be is from the start; 0 means no limit at all. */
    *out_ms = ms <= 0 ? 1 : ms < CLOCK_LAST_MS ? ms : CLOCK_LAST_MS; /* of a zone's, too */
    return 0;
}
