/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/rules/expiry.h"

#include <stddef.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define DAY_MS    (24 * 60 * MINUTE_MS)

bool expiry_read_time(struct str text, int64_t *out_wall_ms)
{
    struct clock_iso time;
    int64_t ms;

    if (!clock_parse_iso(text, &time) || time.has_space || (time.has_time && !time.has_zone))
        return false;
    ms = clock_iso_ms(&time);
    /* 0 would mean never. */
    if (ms <= 0 || ms > CLOCK_LAST_MS)
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
        {STR_LITERAL("s"), SECOND_MS},   {STR_LITERAL("m"), MINUTE_MS},
        {STR_LITERAL("min"), MINUTE_MS}, {STR_LITERAL("h"), 60 * MINUTE_MS},
        {STR_LITERAL("d"), DAY_MS},      {STR_LITERAL("w"), 7 * DAY_MS},
    };

    for (size_t i = 0; i < array_size(units); i++) {
        int64_t number;

        if (!str_ends_with(text, units[i].name) ||
            !str_to_int64(str_slice(text, 0, text.len - units[i].name.len), &number))
            continue;
        if (number <= 0 || number > CLOCK_LAST_MS / units[i].ms)
            return false;
        *out_ms = number * units[i].ms;
        return true;
    }
    return false;
}
