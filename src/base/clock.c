/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <assert.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

const struct clock clock_system = {.is_fake = false};

static int64_t read_ms(clockid_t id)
{
    struct timespec now;
    int r = clock_gettime(id, &now);

    assert(r == 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_monotonic_ms(const struct clock *clock)
{
    return clock->is_fake ? clock->fake_monotonic_ms : read_ms(CLOCK_MONOTONIC);
}

int64_t clock_wall_ms(const struct clock *clock)
{
    return clock->is_fake ? clock->fake_wall_ms : read_ms(CLOCK_REALTIME);
}

int clock_ticker(int64_t every_ms)
{
    const struct timespec period = {.tv_sec = (time_t)(every_ms / 1000),
                                    .tv_nsec = (long)(every_ms % 1000) * 1000000};
    const struct itimerspec times = {.it_interval = period, .it_value = period};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

    if (fd >= 0 && timerfd_settime(fd, 0, &times, NULL) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

struct timespec clock_after_ms(int64_t ms)
{
    const long ns_per_s = 1000000000;
    struct timespec then;
    int r = clock_gettime(CLOCK_MONOTONIC, &then);

    assert(r == 0 && ms >= 0);
    then.tv_sec += (time_t)(ms / 1000);
    then.tv_nsec += (long)(ms % 1000) * 1000000;
    if (then.tv_nsec >= ns_per_s) {
        then.tv_nsec -= ns_per_s;
        then.tv_sec++;
    }
    return then;
}

void clock_fake_init(struct clock *clock, int64_t wall_ms)
{
    *clock = (struct clock){.is_fake = true, .fake_monotonic_ms = 0, .fake_wall_ms = wall_ms};
}

void clock_fake_advance(struct clock *clock, int64_t by_ms)
{
    assert(clock->is_fake && by_ms >= 0);
    clock->fake_monotonic_ms += by_ms;
    clock->fake_wall_ms += by_ms;
}

/* ---- ISO 8601 ---- */

/* The Gregorian calendar, in years that begin in March: a leap day is the last one. */
enum { ERA_DAYS = 146097, ERA_YEARS = 400, DAYS_TO_1970 = 719468 };

static int64_t days_of_date(int year, int month, int day)
{
    int64_t shifted = year - (month <= 2);
    int64_t era = (shifted >= 0 ? shifted : shifted - (ERA_YEARS - 1)) / ERA_YEARS;
    int64_t in_era = shifted - era * ERA_YEARS;
    int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * ERA_DAYS + in_era * 365 + in_era / 4 - in_era / 100 + in_year - DAYS_TO_1970;
}

static char *put_number(char *at, unsigned number, unsigned digits, char behind)
{
    for (unsigned i = digits; i > 0; i--) {
        at[i - 1] = (char)('0' + number % 10);
        number /= 10;
    }
    at[digits] = behind;
    return at + digits + 1;
}

/* Own code: gmtime_r() and snprintf() would take longer than all the rest of a record. */
void clock_format_iso(int64_t wall_ms, char out_text[CLOCK_ISO_BYTES])
{
    const int64_t day_ms = 86400000;
    int64_t first = days_of_date(0, 1, 1) * day_ms;
    unsigned days, era_day, era_year, year_day, month, year, in_day;
    char *at = out_text;

    if (wall_ms < first || wall_ms > CLOCK_LAST_MS) {
        memcpy(out_text, "out-of-range", sizeof("out-of-range"));
        return;
    }
    in_day = (unsigned)((wall_ms - first) % day_ms);
    /* One era more than there is: the January of the year 0 belongs to the era before. */
    days = (unsigned)((wall_ms - first) / day_ms) + ERA_DAYS - 60;
    era_day = days % ERA_DAYS;
    era_year = (era_day - era_day / 1460 + era_day / 36524 - era_day / (ERA_DAYS - 1)) / 365;
    year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
    month = (5 * year_day + 2) / 153; /* 0 is March */
    year = days / ERA_DAYS * ERA_YEARS + era_year + (month >= 10) - ERA_YEARS;
    at = put_number(at, year, 4, '-');
    at = put_number(at, month < 10 ? month + 3 : month - 9, 2, '-');
    at = put_number(at, year_day - (153 * month + 2) / 5 + 1, 2, 'T');
    at = put_number(at, in_day / 3600000, 2, ':');
    at = put_number(at, in_day / 60000 % 60, 2, ':');
    at = put_number(at, in_day / 1000 % 60, 2, '.');
    at = put_number(at, in_day % 1000, 3, 'Z');
    *at = '\0';
}

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

static bool take_date(struct str *rest, struct clock_iso *out)
{
    int next_month;

    if (!take_number(rest, 4, &out->year) || !take_char(rest, '-') ||
        !take_number(rest, 2, &out->month) || !take_char(rest, '-') ||
        !take_number(rest, 2, &out->day) || out->year < 1970 || out->month < 1 || out->month > 12 ||
        out->day < 1)
        return false;
    next_month = out->month % 12 + 1;
    return days_of_date(out->year, out->month, out->day) <
           days_of_date(out->year + (next_month == 1), next_month, 1);
}

/* Digits beyond the third are dropped. */
static bool take_fraction(struct str *rest, int *out_ms)
{
    int worth = 100;
    int digit;

    if (!take_number(rest, 1, &digit))
        return false;
    do {
        *out_ms += digit * worth;
        worth /= 10;
    } while (take_number(rest, 1, &digit));
    return true;
}

static bool take_time(struct str *rest, struct clock_iso *out)
{
    out->has_space = take_char(rest, ' ');
    if (!out->has_space && !take_char(rest, 'T'))
        return false;
    out->has_time = true;
    if (!take_number(rest, 2, &out->hour) || !take_char(rest, ':') ||
        !take_number(rest, 2, &out->minute))
        return false;
    if (take_char(rest, ':') && (!take_number(rest, 2, &out->second) ||
                                 (take_char(rest, '.') && !take_fraction(rest, &out->ms))))
        return false;
    return out->hour < 24 && out->minute < 60 && out->second < 60;
}

static bool take_zone(struct str *rest, struct clock_iso *out)
{
    bool is_west;
    int hours;
    int minutes;

    out->has_zone = true;
    if (take_char(rest, 'Z'))
        return true;
    is_west = take_char(rest, '-');
    if ((!is_west && !take_char(rest, '+')) || !take_number(rest, 2, &hours) ||
        !take_char(rest, ':') || !take_number(rest, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    out->zone_minutes = (hours * 60 + minutes) * (is_west ? -1 : 1);
    return true;
}

bool clock_parse_iso(struct str text, struct clock_iso *out_time)
{
    struct clock_iso time = {0};

    if (!take_date(&text, &time) || (text.len > 0 && !take_time(&text, &time)) ||
        (text.len > 0 && !take_zone(&text, &time)) || text.len > 0)
        return false;
    *out_time = time;
    return true;
}

int64_t clock_iso_ms(const struct clock_iso *time)
{
    int64_t minutes =
        (days_of_date(time->year, time->month, time->day) * 24 + time->hour) * 60 + time->minute;

    return ((minutes - time->zone_minutes) * 60 + time->second) * 1000 + time->ms;
}
