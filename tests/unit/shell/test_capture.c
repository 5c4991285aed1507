/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>

#include "base/utf8.h"
#include "draw.h"
#include "shell/capture.h"
#include "shell/text.h"

enum { TEXT_MAX = 4 << 20 };

static void feed(struct capture *capture, struct str bytes)
{
    assert_int_equal(capture_add(capture, bytes), 0);
}

static struct str text_of(const struct capture *capture, struct buf *out)
{
    buf_clear(out);
    assert_int_equal(capture_text(capture, out), 0);
    return buf_view(out);
}

static void what_fits_comes_back_as_it_was(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(TEXT_MAX);
    struct capture capture;

    (void)state;
    capture_init(&capture, 16);
    assert_str(text_of(&capture, &out), "");
    feed(&capture, STR("seven b"));
    assert_str(text_of(&capture, &out), "seven b");
    feed(&capture, STR("ytes more"));
    assert_str(text_of(&capture, &out), "seven bytes more");
    capture_done(&capture);
}

static void the_middle_is_left_out_and_counted(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(TEXT_MAX);
    struct capture capture;

    (void)state;
    capture_init(&capture, 8);
    feed(&capture, STR("0123456789"));
    assert_str(text_of(&capture, &out), "0123\n[… 2 bytes omitted …]\n6789");
    feed(&capture, STR("a"));
    assert_str(text_of(&capture, &out), "0123\n[… 3 bytes omitted …]\n789a");
    feed(&capture, STR("bcdefghijklmnop"));
    assert_str(text_of(&capture, &out), "0123\n[… 18 bytes omitted …]\nmnop");
    capture_done(&capture);

    /* No line is made where one ended just then. */
    capture_init(&capture, 4);
    feed(&capture, STR("a\nbcd"));
    assert_str(text_of(&capture, &out), "a\n[… 1 byte omitted …]\ncd");
    capture_done(&capture);
}

static void no_character_is_cut_in_two(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(TEXT_MAX);
    struct capture capture;

    (void)state;
    capture_init(&capture, 8);
    feed(&capture, STR("abc€------€fgh")); /* each lies across an edge of what is kept */
    assert_str(text_of(&capture, &out), "abc\n[… 12 bytes omitted …]\nfgh");
    capture_done(&capture);

    /* One across the joint of the halves is whole, also when it comes in pieces. */
    capture_init(&capture, 8);
    feed(&capture, STR("abc\xE2"));
    feed(&capture, STR("\x82"));
    feed(&capture, STR("\xAC"));
    feed(&capture, STR("d"));
    assert_str(text_of(&capture, &out), "abc€d");
    capture_done(&capture);
}

static void what_is_no_text_is_replaced(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(TEXT_MAX);
    struct capture capture;

    (void)state;
    capture_init(&capture, 64);
    feed(&capture, STR("a\xFF"
                       "b\xC0\x80"
                       "c\xED\xA0\x80"
                       "d\0e\xE2\x82"));
    assert_str(text_of(&capture, &out), "a\uFFFDb\uFFFD\uFFFDc\uFFFD\uFFFD\uFFFDd\0e\uFFFD\uFFFD");
    capture_done(&capture);
}

/* What the text must be, made from the whole at once. */
static void expect_text(struct str whole, size_t max_bytes, struct buf *out)
{
    struct str head = str_slice(whole, 0, max_bytes / 2);
    struct str tail = str_slice(whole, whole.len - (max_bytes - max_bytes / 2), whole.len);
    char size[TEXT_SIZE_BYTES];

    buf_clear(out);
    if (whole.len <= max_bytes) {
        assert_int_equal(text_append(out, whole), 0);
        return;
    }
    while (tail.len > 0 && (tail.ptr[0] & 0xC0) == 0x80 && tail.len + 3 > max_bytes - max_bytes / 2)
        tail = str_slice(tail, 1, tail.len);
    head.len -= text_unfinished(head);
    assert_int_equal(text_append(out, head), 0);
    assert_int_equal(buf_printf(out, "%s[… %s omitted …]\n",
                                head.len > 0 && head.ptr[head.len - 1] != '\n' ? "\n" : "",
                                text_size(whole.len - head.len - tail.len, size)),
                     0);
    assert_int_equal(text_append(out, tail), 0);
}

static void any_output_in_any_pieces_gives_its_beginning_and_end(void **state)
{
    static const char *const words[] = {"a",    "bc\n", "€",  "ü",         "\xF0\x9F\x98\x80",
                                        "\xFF", "\xE2", "\n", "0123456789"};

    (void)state;
    draw_seed = 11;
    for (int round = 0; round < 2000; round++) {
        cleanup_buf struct buf whole = BUF_INIT(TEXT_MAX);
        cleanup_buf struct buf wanted = BUF_INIT(TEXT_MAX);
        cleanup_buf struct buf got = BUF_INIT(TEXT_MAX);
        size_t max_bytes = draw(40) + 8;
        size_t count = draw(60);
        struct capture capture;
        struct str rest;

        for (size_t i = 0; i < count; i++)
            assert_int_equal(buf_append_str(&whole, str_from(words[draw(array_size(words))])), 0);
        capture_init(&capture, max_bytes);
        for (rest = buf_view(&whole); rest.len > 0;) {
            size_t step = draw(30) + 1;

            feed(&capture, str_slice(rest, 0, step));
            rest = str_slice(rest, step, rest.len);
        }
        assert_int_equal(capture.total, whole.len);
        expect_text(buf_view(&whole), max_bytes, &wanted);
        text_of(&capture, &got);
        assert_int_equal(got.len, wanted.len);
        if (got.len > 0)
            assert_memory_equal(got.data, wanted.data, wanted.len);
        assert_true(utf8_is_valid(buf_view(&got)));
        assert_true(capture.head.capacity + capture.tail.ring.capacity <= max_bytes);
        capture_done(&capture);
    }
}

static struct str last_line(const struct capture *capture, struct buf *out)
{
    buf_clear(out);
    assert_int_equal(capture_last_line(capture, 10, out), 0);
    return buf_view(out);
}

static void the_last_line_is_the_last_that_says_something(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(TEXT_MAX);
    struct capture capture;

    (void)state;
    capture_init(&capture, 128);
    assert_str(last_line(&capture, &out), "");
    feed(&capture, STR("one\ntwo\n\n"));
    assert_str(last_line(&capture, &out), "two");
    feed(&capture, STR("10 %\r20 %\r30 %"));
    assert_str(last_line(&capture, &out), "30 %");
    feed(&capture, STR("\nfour is a long line: \xE2\x82\xAC"));
    assert_str(last_line(&capture, &out), "four is a ");
    capture_done(&capture);
}

static void sizes_are_told_in_three_digits(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 bytes"},     {1, "1 byte"},          {999, "999 bytes"},
        {1000, "1.0 KB"},   {97234567, "97.2 MB"},  {999949, "999.9 KB"},
        {999950, "1.0 MB"}, {1000000000, "1.0 GB"}, {UINT64_MAX, "18446744.1 TB"},
    };
    char text[TEXT_SIZE_BYTES];

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++)
        assert_string_equal(text_size(cases[i].bytes, text), cases[i].text);
}

static void a_character_is_unfinished_only_if_it_can_be_finished(void **state)
{
    static const struct {
        const char *bytes;
        size_t unfinished;
    } cases[] = {
        {"a", 0},        {"\xC3", 1},         {"\xC3\xBC", 0},         {"\xC0", 0},
        {"\xE2", 1},     {"\xE2\x82", 2},     {"\xE2\x82\xAC", 0},     {"\xE0\x80", 0},
        {"\xE0\xA0", 2}, {"\xED\xA0", 0},     {"\xED\x9F", 2},         {"\xF0", 1},
        {"\xF0\x9F", 2}, {"\xF0\x9F\x98", 3}, {"\xF0\x9F\x98\x80", 0}, {"\xF4\x90", 0},
        {"\x80", 0},     {"\xFF", 0},         {"\x80\x80\x80", 0},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++)
        assert_int_equal(text_unfinished(str_from(cases[i].bytes)), cases[i].unfinished);
    assert_int_equal(text_unfinished(STR_EMPTY), 0);
}

TEST_MAIN(cmocka_unit_test(what_fits_comes_back_as_it_was),
          cmocka_unit_test(the_middle_is_left_out_and_counted),
          cmocka_unit_test(no_character_is_cut_in_two),
          cmocka_unit_test(what_is_no_text_is_replaced),
          cmocka_unit_test(any_output_in_any_pieces_gives_its_beginning_and_end),
          cmocka_unit_test(the_last_line_is_the_last_that_says_something),
          cmocka_unit_test(sizes_are_told_in_three_digits),
          cmocka_unit_test(a_character_is_unfinished_only_if_it_can_be_finished))
