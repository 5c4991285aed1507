/* SPDX-License-Identifier: Apache-2.0 */
#include "base/when.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define MINUTE_MS INT64_C(60000)
#define DAY_MS    INT64_C(86400000)
#define NEAR_MS   (300 * DAY_MS) /* from now: the day tells the year */

static int64_t in_range(int64_t ms)
{
    return ms < 0 ? 0 : ms < CLOCK_LAST_MS ? ms : CLOCK_LAST_MS;
}

void when_format(int64_t ms, int64_t now_ms, enum when_form form, char out_text[WHEN_BYTES])
{
    int64_t away = in_range(ms) - in_range(now_ms);
    time_t seconds = (time_t)(in_range(ms) / 1000);
    char text[WHEN_BYTES];
    struct tm tm;

    if (localtime_r(&seconds, &tm) == NULL ||
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) == 0)
        snprintf(out_text, WHEN_BYTES, "-");
    else if (form == WHEN_SHORT && away > -NEAR_MS && away < NEAR_MS)
        snprintf(out_text, WHEN_BYTES, "%.11s", text + strlen("2026-"));
    else
        snprintf(out_text, WHEN_BYTES, "%.*s",
                 form == WHEN_SHORT     ? (int)strlen("2026-03-01")
                 : form == WHEN_MINUTES ? (int)strlen("2026-03-01 12:00")
                                        : WHEN_BYTES,
                 text);
}

void when_relative(int64_t ms, int64_t now_ms, char out_text[WHEN_BYTES])
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"year", 365 * DAY_MS},
                 {"month", 30 * DAY_MS},
                 {"day", DAY_MS},
                 {"hour", 60 * MINUTE_MS},
                 {"minute", MINUTE_MS}};
    int64_t away = in_range(ms) - in_range(now_ms);
    bool is_past = away <= 0;

    for (size_t i = 0; i < array_size(units); i++) {
        intmax_t count = (is_past ? -away : away + MINUTE_MS - 1) / units[i].ms;

        if (count == 0)
            continue;
        snprintf(out_text, WHEN_BYTES, "%s%jd %s%s%s", is_past ? "" : "in ", count, units[i].name,
                 count == 1 ? "" : "s", is_past ? " ago" : "");
        return;
    }
    snprintf(out_text, WHEN_BYTES, "just now");
}
