/* SPDX-License-Identifier: Apache-2.0 */
/* A parsed moment, written as ISO 8601 and parsed again, is the same. */
#include <assert.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/when.h"
#include "programs/audit/moment.h"

/* A Monday in March. */
#define NOW INT64_C(1772449200000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char shown[WHEN_BYTES];
    char away[WHEN_BYTES];
    char iso[CLOCK_ISO_BYTES];
    struct clock_iso time;
    int64_t first = 0;
    int64_t second = 0;

    if (size > 0 && clock_parse_iso((struct str){(const char *)data, size}, &time)) {
        struct clock_iso again;

        first = clock_iso_ms(&time);
        clock_format_iso(first, iso);
        if (first >= 0 && first <= CLOCK_LAST_MS) {
            assert(clock_parse_iso(str_from(iso), &again));
            assert(clock_iso_ms(&again) == first);
        }
    }
    if (size == 0 || moment_parse((struct str){(const char *)data, size}, NOW, &first, NULL) < 0)
        return 0;
    assert(first > 0);
    when_format(first, NOW, WHEN_SHORT, shown);
    when_relative(first, NOW, away);
    clock_format_iso(first, iso);
    assert(moment_parse(str_from(iso), NOW, &second, NULL) == 0);
    assert(first == second);
    return 0;
}
