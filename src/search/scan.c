/* SPDX-License-Identifier: Apache-2.0 */
#include "search/scan.h"

#if defined(__x86_64__)
#include <sys/platform/x86.h>
#endif

#include "search/rarity.h"
#include "search/scan_internal.h"

/*
 * NULL if this processor does not support it. The C library has asked the processor already;
 * the compiler's own functions would ask again at each start, which takes long in a virtual
 * machine.
 */
static const struct scan_functions *functions_at(enum scan_level level)
{
    switch (level) {
#if defined(__x86_64__)
    case SCAN_AVX2:
        return CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(POPCNT) ? &scan_avx2 : NULL;
    case SCAN_SSSE3:
        return CPU_FEATURE_ACTIVE(SSSE3) ? &scan_ssse3 : NULL;
#elif defined(__aarch64__)
    /* All of them have it. */
    case SCAN_NEON:
        return &scan_neon;
#endif
    case SCAN_PLAIN:
        return &scan_plain;
    default:
        return NULL;
    }
}

static const struct scan_functions *functions_of(enum scan_level level)
{
    const struct scan_functions *functions = NULL;

    if (level == SCAN_BEST)
        level = SCAN_LEVELS;
    for (; functions == NULL && level > SCAN_PLAIN; level--)
        functions = functions_at(level);
    return functions != NULL ? functions : &scan_plain;
}

bool scan_has_level(enum scan_level level)
{
    return level == SCAN_BEST || functions_at(level) != NULL;
}

/* ---- needles ---- */

static void init_needle(struct scan *scan, struct str needle)
{
    size_t rarest = 0, second = 0;
    unsigned second_rarity = 0;

    for (size_t i = 1; i < needle.len; i++)
        if (rarity_of_byte((unsigned char)needle.ptr[i]) <
            rarity_of_byte((unsigned char)needle.ptr[rarest]))
            rarest = i;
    second = rarest;
    for (size_t i = 0; i < needle.len; i++) {
        unsigned rarity = rarity_of_byte((unsigned char)needle.ptr[i]);

        if (i != rarest && (second == rarest || rarity < second_rarity)) {
            second = i;
            second_rarity = rarity;
        }
    }
    scan->needle = needle;
    scan->first_at = rarest < second ? rarest : second;
    scan->second_at = rarest < second ? second : rarest;
}

void scan_init_needle(struct scan *scan, enum scan_level level, struct str needle)
{
    *scan = (struct scan){.next = functions_of(level)->needle, .needle_is_exact = true};
    init_needle(scan, needle);
}

/* The only member of a set, or -1. */
static int only_byte(const struct byteset *set)
{
    int only = -1;

    for (unsigned byte = 0; byte < 256; byte++) {
        if (!byteset_has(set, byte))
            continue;
        if (only >= 0)
            return -1;
        only = (int)byte;
    }
    return only;
}

/* One sequence of single bytes is a needle. */
static bool init_needle_of_window(struct scan *scan)
{
    const struct window_sequence *sequence = &scan->window.sequences[0];

    if (scan->window.count != 1)
        return false;
    for (unsigned i = 0; i < sequence->length; i++) {
        int byte = only_byte(&scan->window.sets[sequence->sets[i]]);

        if (byte < 0)
            return false;
        scan->needle_bytes[i] = (char)byte;
    }
    scan->needle_is_exact = sequence->is_exact;
    scan->needle_starts_line = sequence->starts_line;
    scan->needle_ends_line = sequence->ends_line;
    init_needle(scan, (struct str){scan->needle_bytes, sequence->length});
    return true;
}

/* ---- sequences ---- */

/* Start of its rarest `width` neighbours. */
static unsigned anchor_of(const struct window *window, const struct window_sequence *sequence,
                          unsigned width)
{
    double best_rate = 2;
    unsigned best = 0;

    for (unsigned i = 0; i + width <= sequence->length; i++) {
        double rate = 1;

        for (unsigned j = 0; j < width; j++)
            rate *= rarity_of_set(&window->sets[sequence->sets[i + j]]);
        if (rate < best_rate) {
            best_rate = rate;
            best = i;
        }
    }
    return best;
}

static void allow_bytes(struct scan *scan, unsigned position, const struct byteset *set,
                        unsigned bucket)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        if (!byteset_has(set, byte))
            continue;
        scan->low[position][byte & 15] |= (uint8_t)(1U << bucket);
        scan->high[position][byte >> 4] |= (uint8_t)(1U << bucket);
    }
}

/* How many bytes pass this position alone, by frequency. */
static unsigned passing(const struct scan *scan, unsigned position)
{
    unsigned sum = 0;

    for (unsigned byte = 0; byte < 256; byte++)
        if ((scan->low[position][byte & 15] & scan->high[position][byte >> 4]) != 0)
            sum += rarity_of_byte((unsigned char)byte);
    return sum;
}

static void exchange(uint8_t a[16], uint8_t b[16])
{
    uint8_t kept[16];

    memcpy(kept, a, sizeof(kept));
    memcpy(a, b, sizeof(kept));
    memcpy(b, kept, sizeof(kept));
}

/* The rarest positions first. */
static void sort_positions(struct scan *scan)
{
    for (unsigned i = 0; i < scan->width; i++) {
        for (unsigned j = i + 1; j < scan->width; j++) {
            uint8_t offset = scan->offsets[i];

            if (passing(scan, j) >= passing(scan, i))
                continue;
            scan->offsets[i] = scan->offsets[j];
            scan->offsets[j] = offset;
            exchange(scan->low[i], scan->low[j]);
            exchange(scan->high[i], scan->high[j]);
        }
    }
}

static void init_sequences(struct scan *scan)
{
    const struct window *window = &scan->window;

    scan->width = SCAN_WIDTH;
    for (unsigned i = 0; i < window->count; i++)
        if (window->sequences[i].length < scan->width)
            scan->width = window->sequences[i].length;
    for (unsigned i = 0; i < window->count; i++) {
        const struct window_sequence *sequence = &window->sequences[i];
        unsigned anchor = anchor_of(window, sequence, scan->width);

        scan->anchors[i] = (uint8_t)anchor;
        for (unsigned j = 0; j < scan->width; j++)
            allow_bytes(scan, j, &window->sets[sequence->sets[anchor + j]], i % SCAN_BUCKETS);
    }
    for (unsigned i = 0; i < scan->width; i++)
        scan->offsets[i] = (uint8_t)i;
    sort_positions(scan);
}

static bool has_sets(const struct window *window, const struct window_sequence *sequence,
                     const unsigned char *bytes)
{
    for (unsigned i = 0; i < sequence->length; i++)
        if (!byteset_has(&window->sets[sequence->sets[i]], bytes[i]))
            return false;
    return true;
}

/*
 * Of several the one that begins first: a newline may end one line and begin the next, and lines
 * are reported in order.
 */
bool scan_is_sequence(const struct scan *scan, const struct scan_range *range, size_t at,
                      unsigned buckets, struct scan_hit *hit)
{
    const struct window *window = &scan->window;
    bool is_hit = false;

    for (; buckets != 0; buckets &= buckets - 1) {
        for (unsigned i = (unsigned)__builtin_ctz(buckets); i < window->count; i += SCAN_BUCKETS) {
            const struct window_sequence *sequence = &window->sequences[i];
            size_t start = at - scan->anchors[i];

            if (at < range->floor + scan->anchors[i] || range->len - start < sequence->length ||
                (is_hit && start + sequence->starts_line >= hit->start) ||
                !has_sets(window, sequence, range->data + start))
                continue;
            *hit = (struct scan_hit){
                start + sequence->starts_line,
                start + sequence->length - sequence->ends_line,
                sequence->is_exact,
            };
            is_hit = true;
        }
    }
    return is_hit;
}

/* ---- runs ---- */

/* Shifting a mask by these, one after the other, leaves a bit where a run of `length` begins. */
static void init_run(struct scan *scan)
{
    const struct byteset *set = &scan->window.run_set;
    unsigned done = 1;

    for (unsigned byte = 0; byte < 128; byte++)
        if (byteset_has(set, byte))
            scan->low[0][byte & 15] |= (uint8_t)(1U << (byte >> 4));
    for (unsigned half = 0; half < 8; half++)
        scan->high[0][half] = (uint8_t)(1U << half);
    scan->run_has_high = byteset_has(set, 0x80);
    while (done < scan->window.run_length) {
        unsigned left = scan->window.run_length - done;
        unsigned shift = done < left ? done : left;

        scan->shifts[scan->shift_count++] = (uint8_t)shift;
        done += shift;
    }
}

void scan_init_window(struct scan *scan, enum scan_level level, const struct window *window)
{
    const struct scan_functions *functions = functions_of(level);

    *scan = (struct scan){.window = *window};
    if (window->kind == WINDOW_RUN) {
        scan->next = functions->run;
        init_run(scan);
    } else if (init_needle_of_window(scan)) {
        scan->next = functions->needle;
    } else {
        scan->next = functions->sequences;
        init_sequences(scan);
    }
}

/* ---- newlines ---- */

size_t scan_count_newlines_by(enum scan_level level, struct str text)
{
    return functions_of(level)->newlines((const unsigned char *)text.ptr, text.len);
}

size_t scan_count_newlines(struct str text)
{
    return scan_count_newlines_by(SCAN_BEST, text);
}
