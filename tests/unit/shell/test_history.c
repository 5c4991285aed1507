/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "draw.h"
#include "shell/history.h"

enum { ALL = 1 << 20 };

static struct history_window read_from(const struct history *history, uint64_t cursor, size_t max,
                                       bool is_over, struct buf *out)
{
    struct history_window window = {0};

    buf_clear(out);
    assert_int_equal(history_read(history, cursor, max, is_over, out, &window), 0);
    return window;
}

static void a_reader_goes_on_where_it_was(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(ALL);
    struct history history;
    struct history_window window;

    (void)state;
    history_init(&history, 64);
    window = read_from(&history, 0, ALL, false, &out);
    assert_int_equal(window.next, 0);
    assert_int_equal(history_add(&history, STR("one ")), 0);
    window = read_from(&history, window.next, ALL, false, &out);
    assert_str(buf_view(&out), "one ");
    assert_int_equal(history_add(&history, STR("two")), 0);
    window = read_from(&history, window.next, ALL, false, &out);
    assert_str(buf_view(&out), "two");
    assert_int_equal(window.next, 7);
    assert_int_equal(window.dropped, 0);
    /* A place that is not there yet is the end. */
    window = read_from(&history, 1000, ALL, false, &out);
    assert_str(buf_view(&out), "");
    assert_int_equal(window.next, 7);
    /* And an old one can be read again, in steps. */
    window = read_from(&history, 0, 3, false, &out);
    assert_str(buf_view(&out), "one");
    assert_int_equal(window.next, 3);
    history_done(&history);
}

static void what_is_gone_is_counted(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(ALL);
    struct history history;
    struct history_window window;

    (void)state;
    history_init(&history, 8);
    assert_int_equal(history_add(&history, STR("0123456789")), 0);
    window = read_from(&history, 1, ALL, false, &out);
    assert_str(buf_view(&out), "23456789");
    assert_int_equal(window.dropped, 1);
    assert_int_equal(history_add(&history, STR("abcdefghijklmnopqrstuvwxyz")), 0);
    window = read_from(&history, 10, ALL, false, &out);
    assert_str(buf_view(&out), "stuvwxyz");
    assert_int_equal(window.dropped, 18);
    assert_int_equal(window.next, 36);
    history_done(&history);
}

static void a_character_comes_whole(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(ALL);
    struct history history;
    struct history_window window;

    (void)state;
    history_init(&history, 8);
    assert_int_equal(history_add(&history, STR("a\xE2\x82")), 0);
    window = read_from(&history, 0, ALL, false, &out);
    assert_str(buf_view(&out), "a");
    assert_int_equal(window.next, 1);
    /* At the job's end nothing is coming that it could wait for. */
    window = read_from(&history, 1, ALL, true, &out);
    assert_str(buf_view(&out), "\uFFFD\uFFFD");
    assert_int_equal(window.next, 3);
    assert_int_equal(history_add(&history, STR("\xAC")), 0);
    (void)read_from(&history, 1, ALL, false, &out);
    assert_str(buf_view(&out), "€");
    /* A step that ends inside one ends before it, and one too small for any gets on. */
    (void)read_from(&history, 0, 2, false, &out);
    assert_str(buf_view(&out), "a");
    window = read_from(&history, 1, 2, false, &out);
    assert_int_equal(window.next, 3);
    /* Its rest alone is dropped with it. */
    assert_int_equal(history_add(&history, STR("bcdefg")), 0);
    window = read_from(&history, 0, ALL, false, &out);
    assert_str(buf_view(&out), "bcdefg");
    assert_int_equal(window.dropped, 4);
    history_done(&history);
}

static void any_reader_gets_the_end_of_any_stream(void **state)
{

    (void)state;
    draw_seed = 5;
    for (int round = 0; round < 500; round++) {
        cleanup_buf struct buf whole = BUF_INIT(ALL);
        cleanup_buf struct buf out = BUF_INIT(ALL);
        struct history history;
        uint64_t cursor = 0;

        history_init(&history, draw(50) + 1);
        for (int step = 0; step < 40; step++) {
            struct history_window window;
            char piece[64];
            size_t len = draw(sizeof(piece));

            for (size_t i = 0; i < len; i++)
                piece[i] = (char)('a' + draw(26));
            assert_int_equal(buf_append(&whole, piece, len), 0);
            assert_int_equal(history_add(&history, (struct str){piece, len}), 0);
            assert_int_equal(history.total, whole.len);
            if (draw(3) == 0)
                continue;
            window = read_from(&history, cursor, draw(60) + 1, false, &out);
            assert_true(window.next >= cursor);
            assert_int_equal(window.next - cursor, window.dropped + out.len);
            if (out.len > 0)
                assert_memory_equal(out.data, whole.data + cursor + window.dropped, out.len);
            cursor = window.next;
        }
        history_done(&history);
    }
}

TEST_MAIN(cmocka_unit_test(a_reader_goes_on_where_it_was),
          cmocka_unit_test(what_is_gone_is_counted), cmocka_unit_test(a_character_comes_whole),
          cmocka_unit_test(any_reader_gets_the_end_of_any_stream))
