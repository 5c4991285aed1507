/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to the scanners of search/scan.h. */
#ifndef SEARCH_SCAN_INTERNAL_H
#define SEARCH_SCAN_INTERNAL_H

#include "search/scan.h"

extern const struct scan_functions scan_plain;
#if defined(__x86_64__)
extern const struct scan_functions scan_ssse3;
extern const struct scan_functions scan_avx2;
#elif defined(__aarch64__)
extern const struct scan_functions scan_neon;
#endif

/* Whether the needle is there, if its first compared byte is at `at`. */
static inline bool scan_is_needle(const struct scan *scan, const struct scan_range *range,
                                  size_t at, struct scan_hit *hit)
{
    size_t start = at - scan->first_at;

    if (at < range->floor + scan->first_at || range->len - start < scan->needle.len ||
        memcmp(range->data + start, scan->needle.ptr, scan->needle.len) != 0)
        return false;
    *hit = (struct scan_hit){
        start + scan->needle_starts_line,
        start + scan->needle.len - scan->needle_ends_line,
        scan->needle_is_exact,
    };
    return true;
}

/* Whether one of the sequences in these buckets is there, with its anchor at `at`. */
bool scan_is_sequence(const struct scan *scan, const struct scan_range *range, size_t at,
                      unsigned buckets, struct scan_hit *hit);

/* Upper bound for the first compared byte: the end of the range, or what fits into the text. */
static inline size_t scan_last(const struct scan_range *range, size_t width)
{
    size_t last = range->len < width ? 0 : range->len - width + 1;

    return last < range->until ? last : range->until;
}

#endif
