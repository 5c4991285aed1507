/* SPDX-License-Identifier: Apache-2.0 */
#include "auditor/moment.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

enum { MAX_DIGITS = 9 };

/* The last that can be written: a zone may lead beyond the year 9999. */
#define LAST_MS INT64_C(253402300799999)

/* Exactly so many digits; or, with 0, as many as there are. */
static bool take_number(struct str *rest, size_t digits, int *out_number)
{
    size_t len = 0;
    int number = 0;

    while (len < rest->len && len < MAX_DIGITS && (digits == 0 || len < digits) &&
           rest->ptr[len] >= '0' && rest->ptr[len] <= '9')
        number = number * 10 + (rest->ptr[len++] - '0');
    if (len == 0 || (digits > 0 && len != digits))
        return false;
    *rest = str_slice(*rest, len, rest->len);
    *out_number = number;
    return true;
}

static bool take_char(struct str *rest, char c)
{
    if (rest->len == 0 || rest->ptr[0] != c)
        return false;
    *rest = str_slice(*rest, 1, rest->len);
    return true;
}

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
    int number;

    if (!take_number(&text, 0, &number))
        return false;
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

struct iso {
    struct tm tm;
    int ms;
    bool has_zone;
    int zone_minutes;
};

static bool take_date(struct str *rest, struct iso *iso)
{
    int year;
    int month;
    int day;

    if (!take_number(rest, 4, &year) || !take_char(rest, '-') || !take_number(rest, 2, &month) ||
        !take_char(rest, '-') || !take_number(rest, 2, &day))
        return false;
    iso->tm =
        (struct tm){.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_isdst = -1};
    return year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* Of ".5" the half second; digits beyond the third are dropped. */
static bool take_fraction(struct str *rest, int *out_ms)
{
    int factor = 100;
    size_t len = 0;

    *out_ms = 0;
    for (; len < rest->len && rest->ptr[len] >= '0' && rest->ptr[len] <= '9'; len++) {
        *out_ms += (rest->ptr[len] - '0') * factor;
        factor /= 10;
    }
    *rest = str_slice(*rest, len, rest->len);
    return len > 0;
}

static bool take_time(struct str *rest, struct iso *iso)
{
    if (!take_char(rest, 'T') && !take_char(rest, ' '))
        return false;
    if (!take_number(rest, 2, &iso->tm.tm_hour) || !take_char(rest, ':') ||
        !take_number(rest, 2, &iso->tm.tm_min))
        return false;
    if (take_char(rest, ':')) {
        if (!take_number(rest, 2, &iso->tm.tm_sec))
            return false;
        if (take_char(rest, '.') && !take_fraction(rest, &iso->ms))
            return false;
    }
    return iso->tm.tm_hour < 24 && iso->tm.tm_min < 60 && iso->tm.tm_sec < 60;
}

static bool take_zone(struct str *rest, struct iso *iso)
{
    bool is_west;
    int hours;
    int minutes;

    iso->has_zone = true;
    if (take_char(rest, 'Z'))
        return true;
    is_west = take_char(rest, '-');
    if ((!is_west && !take_char(rest, '+')) || !take_number(rest, 2, &hours) ||
        !take_char(rest, ':') || !take_number(rest, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    iso->zone_minutes = (hours * 60 + minutes) * (is_west ? -1 : 1);
    return true;
}

static bool parse_iso(struct str text, int64_t *out_ms)
{
    struct iso iso = {.ms = 0};
    struct tm given;
    time_t seconds;

    if (!take_date(&text, &iso))
        return false;
    if (text.len > 0 && !take_time(&text, &iso))
        return false;
    if (text.len > 0 && !take_zone(&text, &iso))
        return false;
    if (text.len > 0)
        return false;
    given = iso.tm;
    seconds = iso.has_zone ? timegm(&iso.tm) : mktime(&iso.tm);
    /* The 31st of February is no day, whatever the C library makes of it. */
    if (seconds == (time_t)-1 || iso.tm.tm_mday != given.tm_mday)
        return false;
    *out_ms = ((int64_t)seconds - (int64_t)iso.zone_minutes * 60) * 1000 + iso.ms;
    return true;
}

int moment_parse(struct str text, int64_t now_ms, int64_t *out_ms, struct err *err)
{
    int64_t ms;
    bool is_read = str_eq(text, STR("today")) ? midnight(now_ms, 0, &ms)
                   : str_eq(text, STR("yesterday"))
                       ? midnight(now_ms, 1, &ms)
                       : parse_ago(text, now_ms, &ms) || parse_iso(text, &ms);

    if (!is_read)
        return err_set(err, ERR_INVALID_OPTION,
                       "'%.*s' is no time: 2h, 7d, today, yesterday, 2026-03-01 or "
                       "2026-03-01T12:00 would be",
                       STR_ARG(text));
    /* Before the first that there can be is from the start; 0 means no limit at all. */
    *out_ms = ms <= 0 ? 1 : ms < LAST_MS ? ms : LAST_MS;
    return 0;
}

void moment_format(int64_t ms, char out_text[MOMENT_BYTES])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;

    if (localtime_r(&seconds, &tm) == NULL ||
        strftime(out_text, MOMENT_BYTES, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        snprintf(out_text, MOMENT_BYTES, "%jd", (intmax_t)ms);
}
