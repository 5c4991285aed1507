/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random needles, sequences and runs in random texts: every scan that this processor has finds what
 * the plain one finds, and reads nothing outside the text.
 */
#include "test.h"

#include <sys/mman.h>
#include <unistd.h>

#include "draw.h"
#include "search/scan.h"

enum { SCANS = 2000, TEXTS = 4, TEXT_MAX_BYTES = 500 };

static const unsigned char alphabet[] = {'a', 'b', 'b', '_', '\n', '1', 0, 0x80, 0xC3, 0xFF};

static char *page; /* between two that cannot be read */
static size_t page_bytes;

static int map_page(void **state)
{
    char *pages;

    (void)state;
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    pages = mmap(NULL, 3 * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return -1;
    page = pages + page_bytes;
    return mprotect(page, page_bytes, PROT_READ | PROT_WRITE);
}

static int unmap_page(void **state)
{
    (void)state;
    return munmap(page - page_bytes, 3 * page_bytes);
}

static unsigned char draw_byte(void)
{
    return alphabet[draw(array_size(alphabet))];
}

/* Where it ends, or where it begins, nothing more can be read. Of `members` bytes more than of
 * others, if there is one. */
static struct str draw_page(const struct byteset *members)
{
    size_t len = draw(TEXT_MAX_BYTES);
    char *text = draw(2) == 0 ? page : page + page_bytes - len;

    for (size_t i = 0; i < len; i++) {
        unsigned char byte = draw_byte();

        for (unsigned tries = 0; members != NULL && tries < 12 && !byteset_has(members, byte);
             tries++)
            byte = draw_byte();
        text[i] = (char)byte;
    }
    return (struct str){text, len};
}

static struct scan_range draw_range(struct str text)
{
    struct scan_range range = {(const unsigned char *)text.ptr, text.len, 0, 0, text.len};

    if (draw(2) == 0)
        range.floor = draw(text.len + 1);
    range.from = range.floor;
    if (draw(2) == 0)
        range.from += draw(text.len - range.from + 1);
    if (draw(2) == 0)
        range.until = range.from + draw(text.len - range.from + 1);
    return range;
}

/* All hits of both, one behind the other. */
static size_t compare(const struct scan *plain, const struct scan *scan, struct scan_range range,
                      enum scan_level level)
{
    for (size_t count = 0;; count++) {
        struct scan_hit wanted = {0}, found = {0};
        bool is_wanted = scan_next(plain, &range, &wanted);
        bool is_found = scan_next(scan, &range, &found);

        if (is_wanted != is_found || wanted.start != found.start || wanted.end != found.end ||
            wanted.is_exact != found.is_exact)
            fail_msg("level %d, %zu bytes, %zu %zu-%zu: %d %zu-%zu, not %d %zu-%zu", level,
                     range.len, range.floor, range.from, range.until, is_found, found.start,
                     found.end, is_wanted, wanted.start, wanted.end);
        if (!is_wanted)
            return count;
        range.from = (wanted.start > range.from ? wanted.start : range.from) + 1;
    }
}

/* `plain` is a needle if there is no window. */
static size_t compare_levels(const struct scan *plain, const struct window *window)
{
    size_t count = 0;

    for (int level = SCAN_PLAIN + 1; level < SCAN_LEVELS; level++) {
        struct scan scan;

        if (!scan_has_level((enum scan_level)level))
            continue;
        if (window != NULL)
            scan_init_window(&scan, (enum scan_level)level, window);
        else
            scan_init_needle(&scan, (enum scan_level)level, plain->needle);
        assert_ptr_not_equal(scan.next, plain->next);
        for (size_t t = 0; t < TEXTS; t++) {
            bool is_run = window != NULL && window->kind == WINDOW_RUN;
            struct str text = draw_page(is_run ? &window->run_set : NULL);

            count += compare(plain, &scan, draw_range(text), (enum scan_level)level);
        }
    }
    return count;
}

/* There is one on every processor that is supported. */
static void the_best_is_not_the_plain_one(void **state)
{
    struct scan best, plain;

    (void)state;
    scan_init_needle(&best, SCAN_BEST, STR("a"));
    scan_init_needle(&plain, SCAN_PLAIN, STR("a"));
    assert_ptr_not_equal(best.next, plain.next);
}

static void needles_are_found_as_by_the_plain_scan(void **state)
{
    size_t count = 0;

    (void)state;
    draw_seed = 88172645463325252U;
    for (size_t i = 0; i < SCANS; i++) {
        char needle[WINDOW_MAX_LENGTH];
        size_t len = 1 + draw(draw(4) == 0 ? sizeof(needle) : 4);
        struct scan plain;

        for (size_t j = 0; j < len; j++)
            needle[j] = (char)draw_byte();
        scan_init_needle(&plain, SCAN_PLAIN, (struct str){needle, len});
        count += compare_levels(&plain, NULL);
    }
    assert_true(count > SCANS);
}

static void draw_set(struct byteset *set)
{
    *set = (struct byteset){{0}};
    for (size_t left = 1 + draw(4); left > 0; left--)
        byteset_add(set, draw_byte());
    if (draw(4) == 0)
        byteset_add_range(set, 0x80, 0xFF);
}

static void draw_sequences(struct window *window)
{
    size_t least = 1 + draw(5);

    *window = (struct window){.kind = WINDOW_SEQUENCES, .set_count = WINDOW_MAX_SETS};
    for (size_t i = 0; i < WINDOW_MAX_SETS; i++)
        draw_set(&window->sets[i]);
    window->count = 1 + (unsigned)draw(array_size(window->sequences));
    for (size_t i = 0; i < window->count; i++) {
        struct window_sequence *sequence = &window->sequences[i];

        sequence->length = (uint8_t)(least + draw(6));
        sequence->is_exact = draw(2) == 0;
        sequence->starts_line = sequence->length > 2 && draw(4) == 0;
        sequence->ends_line = sequence->length > 2 && draw(4) == 0;
        for (size_t j = 0; j < sequence->length; j++)
            sequence->sets[j] = (uint8_t)draw(WINDOW_MAX_SETS);
    }
}

static void sequences_are_found_as_by_the_plain_scan(void **state)
{
    size_t count = 0;

    (void)state;
    draw_seed = 88172645463325252U;
    for (size_t i = 0; i < SCANS; i++) {
        struct window window;
        struct scan plain;

        draw_sequences(&window);
        scan_init_window(&plain, SCAN_PLAIN, &window);
        count += compare_levels(&plain, &window);
    }
    assert_true(count > SCANS);
}

static void runs_are_found_as_by_the_plain_scan(void **state)
{
    size_t count = 0;

    (void)state;
    draw_seed = 88172645463325252U;
    for (size_t i = 0; i < SCANS; i++) {
        struct window window = {.kind = WINDOW_RUN,
                                .run_length = 1 + (unsigned)draw(WINDOW_MAX_RUN)};
        struct scan plain;

        /* Of the bytes beyond ASCII all are members, or none. */
        for (size_t left = 1 + draw(4); left > 0; left--)
            byteset_add(&window.run_set, draw_byte() & 0x7F);
        if (draw(2) == 0)
            byteset_add_range(&window.run_set, 0x80, 0xFF);
        scan_init_window(&plain, SCAN_PLAIN, &window);
        count += compare_levels(&plain, &window);
    }
    assert_true(count > SCANS);
}

static void newlines_are_counted_as_by_the_plain_scan(void **state)
{
    (void)state;
    draw_seed = 88172645463325252U;
    for (size_t i = 0; i < SCANS; i++) {
        struct str text = draw_page(NULL);

        for (int level = SCAN_BEST; level < SCAN_LEVELS; level++)
            assert_int_equal(scan_count_newlines_by((enum scan_level)level, text),
                             scan_count_newlines_by(SCAN_PLAIN, text));
    }
}

#define page_test(name) cmocka_unit_test_setup_teardown(name, map_page, unmap_page)

TEST_MAIN(cmocka_unit_test(the_best_is_not_the_plain_one),
          page_test(needles_are_found_as_by_the_plain_scan),
          page_test(sequences_are_found_as_by_the_plain_scan),
          page_test(runs_are_found_as_by_the_plain_scan),
          page_test(newlines_are_counted_as_by_the_plain_scan))
