/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time, read from an object so that tests can control it. Deadlines and timers use monotonic time;
 * records for people use wall time.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/str.h"

struct clock {
    bool is_fake;
    int64_t fake_monotonic_ms;
    int64_t fake_wall_ms;
};

/* The system clock. */
extern const struct clock clock_system;

/* Since some fixed moment; never goes back, and is not affected by setting the time. */
int64_t clock_monotonic_ms(const struct clock *clock);

/* Since 1970-01-01 UTC. */
int64_t clock_wall_ms(const struct clock *clock);

/* The moment `ms` from now, for waiting on the system's monotonic clock. */
struct timespec clock_after_ms(int64_t ms);

/*
 * A nonblocking descriptor that is readable each `every_ms` until it is read, by the system's
 * clock; or -1 with errno. For those who cannot be told of a change and have to look.
 */
int clock_ticker(int64_t every_ms);

/* For tests: stands still until advanced. */
void clock_fake_init(struct clock *clock, int64_t wall_ms);
void clock_fake_advance(struct clock *clock, int64_t by_ms);

/* "2026-03-01T12:00:00.123Z"; "out-of-range" before the year 0 and after the year 9999. */
enum { CLOCK_ISO_BYTES = 40 };
#define CLOCK_LAST_MS INT64_C(253402300799999) /* of the year 9999 */
void clock_format_iso(int64_t wall_ms, char out_text[CLOCK_ISO_BYTES]);

/* A parsed time; missing parts are 0. */
struct clock_iso {
    int year;
    int month;
    int day;
    int hour;
    int minute;
    int second;
    int ms;
    int zone_minutes; /* east of UTC */
    bool has_time;
    bool has_space; /* before the time, instead of the T */
    bool has_zone;
};

/*
 * Parses "2026-12-01", "2026-12-01T18:00", "2026-12-01 18:00:30.5+01:00"; only existing days, from
 * 1970 to the year 9999.
 */
bool clock_parse_iso(struct str text, struct clock_iso *out_time);

/* In ms since 1970; UTC without a zone. */
int64_t clock_iso_ms(const struct clock_iso *time);

#endif
