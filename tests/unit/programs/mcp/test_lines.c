/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/buf.h"
#include "programs/mcp/lines.h"

enum { CEILING = 8 };

static struct buf told;

static void note_line(void *data, struct str line)
{
    (void)data;
    assert_true(line.len <= CEILING);
    assert_int_equal(buf_printf(&told, "[%.*s]", STR_ARG(line)), 0);
}

static size_t passed; /* bytes of long lines */

static void note_long_piece(void *data, struct str piece)
{
    (void)data;
    passed += piece.len;
    if (piece.len <= 3 * CEILING)
        assert_int_equal(buf_append_str(&told, piece), 0);
}

static void note_long_line(void *data)
{
    (void)data;
    assert_int_equal(buf_append_str(&told, STR(" LONG")), 0);
}

static const struct lines_events events = {
    .on_line = note_line, .on_long_piece = note_long_piece, .on_long_line = note_long_line};

static int reset(void **state)
{
    (void)state;
    buf_done(&told);
    buf_init(&told, 1 << 16);
    return 0;
}

/* The same text, cut into pieces of every size. */
static void assert_lines(struct str text, const char *wanted)
{
    for (size_t step = 1; step <= text.len; step++) {
        struct lines lines;

        buf_clear(&told);
        lines_init(&lines, CEILING);
        for (size_t at = 0; at < text.len; at += step)
            lines_feed(&lines, str_slice(text, at, step), &events);
        lines_end(&lines, &events);
        lines_done(&lines);
        assert_int_equal(told.len, strlen(wanted));
        assert_memory_equal(told.data, wanted, told.len);
    }
}

static void lines_come_whole_however_they_were_cut(void **state)
{
    (void)state;
    assert_lines(STR("a\nbc\nd"), "[a][bc][d]");
    assert_lines(STR("12345678\n12345678\n"), "[12345678][12345678]");
}

static void empty_lines_and_carriage_returns_are_left_out(void **state)
{
    (void)state;
    assert_lines(STR("\n\r\n  \na\r\n\n"), "[a]");
}

static void a_line_that_is_too_long_is_shown_in_passing_and_told_at_its_end(void **state)
{
    (void)state;
    assert_lines(STR("123456789\nb\n"), "123456789 LONG[b]");
    assert_lines(STR("a\n123456789012345678901234\nb\n123456789"),
                 "[a]123456789012345678901234 LONG[b]123456789 LONG");
}

static void what_is_held_stays_small(void **state)
{
    struct lines lines;
    static char flood[1 << 20];

    (void)state;
    passed = 0;
    memset(flood, 'x', sizeof(flood));
    lines_init(&lines, 2 * sizeof(flood));
    for (int i = 0; i < 100; i++)
        lines_feed(&lines, (struct str){flood, sizeof(flood)}, &events);
    assert_true(lines.begun.capacity <= 4 * sizeof(flood));
    lines_feed(&lines, STR("\nz\n"), &events);
    assert_true(lines.begun.capacity <= sizeof(flood));
    assert_int_equal(told.len, strlen(" LONG[z]"));
    assert_int_equal(passed, 100 * sizeof(flood));
    lines_done(&lines);
}

#define lines_test(name) cmocka_unit_test_setup_teardown(name, reset, reset)

TEST_MAIN(lines_test(lines_come_whole_however_they_were_cut),
          lines_test(empty_lines_and_carriage_returns_are_left_out),
          lines_test(a_line_that_is_too_long_is_shown_in_passing_and_told_at_its_end),
          lines_test(what_is_held_stays_small))
