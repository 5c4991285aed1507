/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/expiry.h"

#include <stddef.h>

#include "base/cleanup.h"

enum {
    DAY_MINUTES = 24 * 60,
    FIRST_YEAR = 1970,
    LAST_YEAR = 9999,
};
#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define DAY_MS    (DAY_MINUTES * MINUTE_MS)
#define MAX_MS    INT64_C(253402300800000) /* the end of the year 9999 */

/* Takes exactly `digits` digits off *rest. */
static bool take_number(struct str *rest, size_t digits, int *out_number)
{
    int number = 0;

    if (rest->len < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        if (rest->ptr[i] < '0' || rest->ptr[i] > '9')
            return false;
        number = number * 10 + (rest->ptr[i] - '0');
    }
    *rest = str_slice(*rest, digits, rest->len);
    *out_number = number;
    return true;
}

static bool take_char(struct str *rest, char wanted)
{
    if (rest->len == 0 || rest->ptr[0] != wanted)
        return false;
    *rest = str_slice(*rest, 1, rest->len);
    return true;
}

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static bool take_date(struct str *rest, int64_t *out_ms)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t days = 0;
    int year;
    int month;
    int day;

    if (!take_number(rest, 4, &year) || !take_char(rest, '-') || !take_number(rest, 2, &month) ||
        !take_char(rest, '-') || !take_number(rest, 2, &day))
        return false;
    if (year < FIRST_YEAR || year > LAST_YEAR || month < 1 || month > 12 || day < 1 ||
        day > lengths[month - 1] + (month == 2 && is_leap(year)))
        return false;
    for (int y = FIRST_YEAR; y < year; y++)
        days += 365 + is_leap(y);
    for (int m = 1; m < month; m++)
        days += lengths[m - 1] + (m == 2 && is_leap(year));
    *out_ms = (days + day - 1) * DAY_MS;
    return true;
}

/* ".5", ".123456": as far as milliseconds. */
static bool take_fraction(struct str *rest, int64_t *ms)
{
    int64_t worth = 100;
    int digit;

    if (!take_char(rest, '.'))
        return true;
    if (!take_number(rest, 1, &digit))
        return false;
    do {
        *ms += digit * worth;
        worth /= 10;
    } while (take_number(rest, 1, &digit));
    return true;
}

static bool take_clock(struct str *rest, int64_t *ms)
{
    int hour;
    int minute;
    int second = 0;

    if (!take_number(rest, 2, &hour) || !take_char(rest, ':') || !take_number(rest, 2, &minute))
        return false;
    if (take_char(rest, ':') && (!take_number(rest, 2, &second) || !take_fraction(rest, ms)))
        return false;
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    *ms += (hour * 60 + minute) * MINUTE_MS + second * SECOND_MS;
    return true;
}

static bool take_zone(struct str *rest, int64_t *ms)
{
    bool is_east;
    int hours;
    int minutes;

    if (take_char(rest, 'Z'))
        return true;
    is_east = take_char(rest, '+');
    if (!is_east && !take_char(rest, '-'))
        return false;
    if (!take_number(rest, 2, &hours) || !take_char(rest, ':') || !take_number(rest, 2, &minutes) ||
        hours > 23 || minutes > 59)
        return false;
    *ms += (is_east ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS;
    return true;
}

bool expiry_read_time(struct str text, int64_t *out_wall_ms)
{
    int64_t ms;

    if (!take_date(&text, &ms))
        return false;
    if (text.len > 0 &&
        (!take_char(&text, 'T') || !take_clock(&text, &ms) || !take_zone(&text, &ms)))
        return false;
    /* 0 would mean never. */
    if (text.len > 0 || ms <= 0 || ms >= MAX_MS)
        return false;
    *out_wall_ms = ms;
    return true;
}

bool expiry_read_span(struct str text, int64_t *out_ms)
{
    static const struct {
        struct str name;
        int64_t ms;
    } units[] = {
        {STR_LITERAL("s"), SECOND_MS},      {STR_LITERAL("min"), MINUTE_MS},
        {STR_LITERAL("h"), 60 * MINUTE_MS}, {STR_LITERAL("d"), DAY_MS},
        {STR_LITERAL("w"), 7 * DAY_MS},
    };

    for (size_t i = 0; i < array_size(units); i++) {
        int64_t number;

        if (!str_ends_with(text, units[i].name) ||
            !str_to_int64(str_slice(text, 0, text.len - units[i].name.len), &number))
            continue;
        if (number <= 0 || number > MAX_MS / units[i].ms)
            return false;
        *out_ms = number * units[i].ms;
        return true;
    }
    return false;
}
