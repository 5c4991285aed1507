/* SPDX-License-Identifier: Apache-2.0 */
/* One byte at a time: for other processors, and for the ends that the vector scanners leave. */
#include "search/scan_internal.h"

static bool plain_needle(const struct scan *scan, const struct scan_range *range,
                         struct scan_hit *hit)
{
    size_t distance = scan->second_at - scan->first_at;
    size_t last = scan_last(range, distance + 1);
    unsigned char first = (unsigned char)scan->needle.ptr[scan->first_at];
    unsigned char second = (unsigned char)scan->needle.ptr[scan->second_at];
    size_t at = range->from;

    while (at < last) {
        const unsigned char *found = memchr(range->data + at, first, last - at);

        if (found == NULL)
            return false;
        at = (size_t)(found - range->data);
        if (range->data[at + distance] == second && scan_is_needle(scan, range, at, hit))
            return true;
        at++;
    }
    return false;
}

static inline unsigned buckets_of(const struct scan *scan, unsigned position, unsigned char byte)
{
    return scan->low[position][byte & 15] & scan->high[position][byte >> 4];
}

static bool plain_sequences(const struct scan *scan, const struct scan_range *range,
                            struct scan_hit *hit)
{
    size_t last = scan_last(range, scan->width);
    unsigned second = scan->width > 1;
    const unsigned char *data_0 = range->data + scan->offsets[0];
    const unsigned char *data_1 = range->data + scan->offsets[second];

    for (size_t at = range->from; at < last; at++) {
        /* Both at once without testing the first alone, which would be unpredictable. */
        unsigned buckets = buckets_of(scan, 0, data_0[at]) & buckets_of(scan, second, data_1[at]);

        if (buckets == 0)
            continue;
        for (unsigned i = 2; i < scan->width; i++)
            buckets &= buckets_of(scan, i, range->data[at + scan->offsets[i]]);
        if (buckets != 0 && scan_is_sequence(scan, range, at, buckets, hit))
            return true;
    }
    return false;
}

static bool plain_run(const struct scan *scan, const struct scan_range *range, struct scan_hit *hit)
{
    const struct byteset *set = &scan->window.run_set;
    size_t length = scan->window.run_length;
    size_t last = scan_last(range, length);
    size_t at = range->from;

    while (at < last) {
        size_t i = length;

        /* From its end: the byte that breaks a run says where the next can begin. */
        while (i > 0 && byteset_has(set, range->data[at + i - 1]))
            i--;
        if (i == 0) {
            *hit = (struct scan_hit){at, at + length, false};
            return true;
        }
        at += i;
    }
    return false;
}

static size_t plain_newlines(const unsigned char *data, size_t len)
{
    size_t count = 0;

    for (size_t i = 0; i < len; i++)
        count += data[i] == '\n';
    return count;
}

const struct scan_functions scan_plain = {plain_needle, plain_sequences, plain_run, plain_newlines};
