/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanners for processors with a lookup of sixteen values at once, written once for every
 * width. The including file defines the vector type by VECTOR_... macros, and puts the functions
 * into its table. Macros whose names are not obvious:
 *
 *     VECTOR_UPPER           the upper half of each byte
 *     VECTOR_SIGNS           of a comparison: a bit for each byte that is equal, VECTOR_SIGN_BITS
 *                            apart
 *     VECTOR_NONZERO         same for each byte that is not 0
 *     VECTOR_NONZERO_64      same for an array of 64 bytes, without gaps between bits
 *     VECTOR_COUNT           of two comparisons: how many bytes are equal
 */
#ifndef SEARCH_SCAN_VECTOR_H
#define SEARCH_SCAN_VECTOR_H

#include "search/scan_internal.h"

#define VECTOR_INLINE VECTOR_TARGET static inline __attribute__((always_inline))

/*
 * Most steps find nothing. With this hint the compiler keeps constants in registers; none survive a
 * call, and they would be reloaded at every step.
 */
#define VECTOR_MOSTLY(condition) __builtin_expect(condition, true)

/* The rest, where no whole vector fits. */
static inline struct scan_range rest_of(const struct scan_range *range, size_t at)
{
    struct scan_range rest = *range;

    rest.from = at;
    return rest;
}

/*
 * Whether there is a step from *at. The last one is moved back to end at `last`: checking twice is
 * cheaper than checking the rest byte by byte.
 */
static inline bool has_step(size_t *at, size_t first, size_t last, size_t step)
{
    if (*at + step <= last)
        return true;
    if (*at >= last || last < first + step)
        return false;
    *at = last - step;
    return true;
}

/* ---- needles ---- */

/*
 * Whether the needle is at one of the positions in `found`, which are those of the vector `skipped`
 * bytes after `at`.
 */
VECTOR_INLINE bool is_needle_at(const struct scan *scan, const struct scan_range *range, size_t at,
                                size_t skipped, uint64_t found, struct scan_hit *hit)
{
    for (; found != 0; found &= found - 1) {
        size_t i = skipped + (size_t)__builtin_ctzll(found) / VECTOR_SIGN_BITS;

        if (scan_is_needle(scan, range, at + i, hit))
            return true;
    }
    return false;
}

VECTOR_TARGET static bool vector_needle(const struct scan *scan, const struct scan_range *range,
                                        struct scan_hit *hit)
{
    size_t distance = scan->second_at - scan->first_at;
    size_t last = scan_last(range, distance + 1);
    VECTOR first = VECTOR_FILL(scan->needle.ptr[scan->first_at]);
    VECTOR second = VECTOR_FILL(scan->needle.ptr[scan->second_at]);
    const unsigned char *data = range->data;
    struct scan_range rest;
    size_t at = range->from;

    for (; has_step(&at, range->from, last, 2 * VECTOR_BYTES); at += 2 * VECTOR_BYTES) {
        VECTOR a = VECTOR_AND(VECTOR_EQ(VECTOR_LOAD(data + at), first),
                              VECTOR_EQ(VECTOR_LOAD(data + at + distance), second));
        VECTOR b = VECTOR_AND(VECTOR_EQ(VECTOR_LOAD(data + at + VECTOR_BYTES), first),
                              VECTOR_EQ(VECTOR_LOAD(data + at + VECTOR_BYTES + distance), second));

        if (VECTOR_MOSTLY(VECTOR_SIGNS(VECTOR_OR(a, b)) == 0))
            continue;
        if (is_needle_at(scan, range, at, 0, VECTOR_SIGNS(a), hit) ||
            is_needle_at(scan, range, at, VECTOR_BYTES, VECTOR_SIGNS(b), hit))
            return true;
    }
    rest = rest_of(range, at);
    return scan_plain.needle(scan, &rest, hit);
}

/* ---- sequences ---- */

VECTOR_INLINE VECTOR look_up(VECTOR bytes, VECTOR low, VECTOR high)
{
    return VECTOR_AND(VECTOR_SHUFFLE(low, VECTOR_AND(bytes, VECTOR_FILL(0x0F))),
                      VECTOR_SHUFFLE(high, VECTOR_UPPER(bytes)));
}

/* Checks the positions after the first two, for candidates, and then the rest of each sequence. */
VECTOR_INLINE bool verify(const struct scan *scan, const struct scan_range *range, size_t at,
                          VECTOR buckets, const unsigned width, struct scan_hit *hit)
{
    uint8_t bytes[VECTOR_BYTES];
    uint64_t found;

    for (unsigned i = 2; i < width; i++)
        buckets =
            VECTOR_AND(buckets, look_up(VECTOR_LOAD(range->data + at + scan->offsets[i]),
                                        VECTOR_TABLE(scan->low[i]), VECTOR_TABLE(scan->high[i])));
    found = VECTOR_NONZERO(buckets);
    if (found == 0)
        return false;
    VECTOR_STORE(bytes, buckets);
    for (; found != 0; found &= found - 1) {
        unsigned i = (unsigned)__builtin_ctzll(found) / VECTOR_SIGN_BITS;

        if (scan_is_sequence(scan, range, at + i, bytes[i], hit))
            return true;
    }
    return false;
}

VECTOR_INLINE bool sequences_of_width(const struct scan *scan, const struct scan_range *range,
                                      struct scan_hit *hit, const unsigned width)
{
    size_t last = scan_last(range, width);
    VECTOR low_0 = VECTOR_TABLE(scan->low[0]), high_0 = VECTOR_TABLE(scan->high[0]);
    VECTOR low_1 = VECTOR_TABLE(scan->low[1]), high_1 = VECTOR_TABLE(scan->high[1]);
    const unsigned char *data_0 = range->data + scan->offsets[0];
    const unsigned char *data_1 = range->data + scan->offsets[1];
    struct scan_range rest;
    size_t at = range->from;

    for (; has_step(&at, range->from, last, 2 * VECTOR_BYTES); at += 2 * VECTOR_BYTES) {
        size_t next = at + VECTOR_BYTES;
        VECTOR a = look_up(VECTOR_LOAD(data_0 + at), low_0, high_0);
        VECTOR b = look_up(VECTOR_LOAD(data_0 + next), low_0, high_0);

        if (width > 1) {
            a = VECTOR_AND(a, look_up(VECTOR_LOAD(data_1 + at), low_1, high_1));
            b = VECTOR_AND(b, look_up(VECTOR_LOAD(data_1 + next), low_1, high_1));
        }
        if (VECTOR_MOSTLY(VECTOR_IS_ZERO(VECTOR_OR(a, b))))
            continue;
        if (verify(scan, range, at, a, width, hit) || verify(scan, range, next, b, width, hit))
            return true;
    }
    rest = rest_of(range, at);
    return scan_plain.sequences(scan, &rest, hit);
}

VECTOR_TARGET static bool vector_sequences(const struct scan *scan, const struct scan_range *range,
                                           struct scan_hit *hit)
{
    switch (scan->width) {
    case 1:
        return sequences_of_width(scan, range, hit, 1);
    case 2:
        return sequences_of_width(scan, range, hit, 2);
    case 3:
        return sequences_of_width(scan, range, hit, 3);
    default:
        return sequences_of_width(scan, range, hit, SCAN_WIDTH);
    }
}

/* ---- runs ---- */

enum { RUN_BLOCK = 64 };

/* A bit for each of the next 64 bytes that is in the set. */
VECTOR_INLINE uint64_t members(const unsigned char *data, VECTOR low, VECTOR high, bool has_high)
{
    VECTOR found[RUN_BLOCK / VECTOR_BYTES];

    /* Otherwise gcc keeps them in memory. */
#pragma GCC unroll 4
    for (unsigned i = 0; i < RUN_BLOCK / VECTOR_BYTES; i++) {
        VECTOR bytes = VECTOR_LOAD(data + (size_t)i * VECTOR_BYTES);

        found[i] = look_up(bytes, low, high);
        if (has_high)
            found[i] = VECTOR_OR(found[i], VECTOR_AND(bytes, VECTOR_FILL(0x80)));
    }
    return VECTOR_NONZERO_64(found);
}

VECTOR_TARGET static bool vector_run(const struct scan *scan, const struct scan_range *range,
                                     struct scan_hit *hit)
{
    unsigned length = scan->window.run_length;
    size_t last = scan_last(range, length);
    VECTOR low = VECTOR_TABLE(scan->low[0]), high = VECTOR_TABLE(scan->high[0]);
    struct scan_range rest;
    size_t before = 0; /* members directly before this block */
    size_t at = range->from;

    for (; at + RUN_BLOCK <= last; at += RUN_BLOCK) {
        uint64_t mask = members(range->data + at, low, high, scan->run_has_high);
        unsigned lead = mask == UINT64_MAX ? RUN_BLOCK : (unsigned)__builtin_ctzll(~mask);
        uint64_t runs = mask;

        if (before + lead >= length) {
            *hit = (struct scan_hit){at - before, at - before + length, false};
            return true;
        }
        for (unsigned i = 0; i < scan->shift_count; i++)
            runs &= runs >> scan->shifts[i];
        if (runs != 0) {
            size_t start = at + (size_t)__builtin_ctzll(runs);

            *hit = (struct scan_hit){start, start + length, false};
            return true;
        }
        /* Not all are members, or the run would have been long enough: it has at most 64. */
        before = (size_t)__builtin_clzll(~mask);
    }
    rest = rest_of(range, at - before);
    return scan_plain.run(scan, &rest, hit);
}

/* ---- newlines ---- */

VECTOR_TARGET static size_t vector_newlines(const unsigned char *data, size_t len)
{
    VECTOR newline = VECTOR_FILL('\n');
    size_t count = 0;
    size_t at = 0;

    for (; len - at >= 2 * VECTOR_BYTES; at += 2 * VECTOR_BYTES) {
        VECTOR a = VECTOR_EQ(VECTOR_LOAD(data + at), newline);
        VECTOR b = VECTOR_EQ(VECTOR_LOAD(data + at + VECTOR_BYTES), newline);

        count += VECTOR_COUNT(a, b);
    }
    return count + scan_plain.newlines(data + at, len - at);
}

#endif
