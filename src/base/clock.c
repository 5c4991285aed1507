/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

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

void clock_format_iso(int64_t wall_ms, char out_text[CLOCK_ISO_BYTES])
{
    int64_t ms = wall_ms % 1000;
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm utc;

    if (ms < 0) {
        ms += 1000;
        seconds--;
    }
    if (gmtime_r(&seconds, &utc) == NULL || utc.tm_year > 9999 - 1900 || utc.tm_year < -1900) {
        snprintf(out_text, CLOCK_ISO_BYTES, "out-of-range");
        return;
    }
    snprintf(out_text, CLOCK_ISO_BYTES, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900,
             utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, (int)ms);
}
