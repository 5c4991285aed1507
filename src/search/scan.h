/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a window (search/window.h), or a needle of plain bytes, in a text: many bytes at a time if
 * the processor can, else one by one, with the same result. Reads nothing outside the text. A scan
 * is immutable and shared by threads.
 */
#ifndef SEARCH_SCAN_H
#define SEARCH_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "search/window.h"

/* Vector width; falls back to what the processor supports. */
enum scan_level {
    SCAN_BEST,
    SCAN_PLAIN,
    SCAN_NEON,
    SCAN_SSSE3,
    SCAN_AVX2,
    SCAN_LEVELS,
};

enum { SCAN_WIDTH = 4, SCAN_BUCKETS = 8, SCAN_MAX_SHIFTS = 8 };

struct scan;

struct scan_range {
    const unsigned char *data;
    size_t len;
    size_t floor; /* hits that begin before it do not count */
    size_t from;  /* the first compared byte is at or after this, */
    size_t until; /* and before this */
};

struct scan_hit {
    size_t start, end;
    bool is_exact;
};

struct scan_functions {
    bool (*needle)(const struct scan *scan, const struct scan_range *range, struct scan_hit *hit);
    bool (*sequences)(const struct scan *scan, const struct scan_range *range,
                      struct scan_hit *hit);
    bool (*run)(const struct scan *scan, const struct scan_range *range, struct scan_hit *hit);
    size_t (*newlines)(const unsigned char *data, size_t len);
};

struct scan {
    bool (*next)(const struct scan *scan, const struct scan_range *range, struct scan_hit *hit);

    /*
     * A needle: its two rarest bytes are compared first. It may include the newline before or after
     * a line at its ends.
     */
    struct str needle;
    size_t first_at, second_at;
    bool needle_is_exact, needle_starts_line, needle_ends_line;
    char needle_bytes[WINDOW_MAX_LENGTH]; /* of a needle made from a window */

    /*
     * Sequences: compares `width` neighbours of each at once, starting with the two rarest, at
     * these offsets. A byte is looked up by its lower and its upper half; bit b says that it may
     * belong to a sequence of bucket b, which has the sequences b, b + 8 and so on.
     */
    unsigned width;
    uint8_t offsets[SCAN_WIDTH];
    uint8_t low[SCAN_WIDTH][16];
    uint8_t high[SCAN_WIDTH][16];
    uint8_t anchors[WINDOW_MAX_SEQUENCES + WINDOW_MAX_RARE_CASES];
    struct window window;

    /* A run: row 0 of the tables above for ASCII, and one answer for all other bytes. */
    bool run_has_high;
    unsigned shift_count;
    uint8_t shifts[SCAN_MAX_SHIFTS];
};

/* Whether the processor supports this level. Always true for the best and the plain one. */
bool scan_has_level(enum scan_level level);

/* Copies the window, which must be of sequences or a run. */
void scan_init_window(struct scan *scan, enum scan_level level, const struct window *window);

/* The needle must not be empty and must outlive the scan. */
void scan_init_needle(struct scan *scan, enum scan_level level, struct str needle);

/*
 * The next hit whose first compared byte lies in the range; false if there is none. Sequences of
 * one line may be found in another order than they begin.
 */
static inline bool scan_next(const struct scan *scan, const struct scan_range *range,
                             struct scan_hit *hit)
{
    return scan->next(scan, range, hit);
}

/* Number of newlines. */
size_t scan_count_newlines(struct str text);
size_t scan_count_newlines_by(enum scan_level level, struct str text);

#endif
