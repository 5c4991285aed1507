/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "base/utf8.h"
#include "console/page.h"
#include "draw.h"

/* What is shown, lines joined by '/'. */
static void join(const struct console_page *page, struct buf *out)
{
    struct str rest = buf_view(&page->text);
    enum page_style style;
    struct str line;
    size_t count = 0;

    for (buf_clear(out); page_next(&rest, &style, &line); count++) {
        assert_true(style < PAGE_STYLES);
        if (count > 0)
            assert_int_equal(buf_append_char(out, '/'), 0);
        assert_int_equal(buf_append_str(out, line), 0);
    }
    assert_int_equal(count, page->lines);
    assert_int_equal(page->error, 0);
}

/* Where a character is written out, and where it is shown as it is. */
static void what_cannot_be_seen_or_turns_its_line_is_written_out(void **state)
{
    static const uint32_t written[] = {
        0x1D159, 0x13430, 0x110BD, 0x1BCA0, 0x600,  0x2065, 0x378,    0xE000,
        0xFFFE,  0x2800,  0x3164,  0x20DD,  0x2003, 0x5D0,  0x627,    0x661,
        0x7C1,   0x10800, 0x1E900, 0x2028,  0xAD,   0x200D, 0x10FFFD, 0x488,
    };
    static const uint32_t shown[] = {0xE9,  0x3B1,  0x416,  0xE01,  0xE31,
                                     0x905, 0x4E00, 0xAC00, 0x1F600};
    cleanup_buf struct buf out = BUF_INIT(1024);

    (void)state;
    for (size_t i = 0; i < array_size(written) + array_size(shown); i++) {
        bool is_shown = i >= array_size(written);
        uint32_t code_point = is_shown ? shown[i - array_size(written)] : written[i];
        char bytes[4];
        size_t len = utf8_encode(code_point, bytes);
        struct console_page page;

        page_init(&page, 40, true);
        page_quote(&page, PAGE_PLAIN, (struct str){bytes, len}, PAGE_LINE);
        join(&page, &out);
        assert_int_equal(str_find(buf_view(&out), STR("\\u{")) == SIZE_MAX, is_shown);
        page_done(&page);
    }
}

static void text_from_outside_is_shown_behind_a_gutter(void **state)
{
    static const struct {
        struct str text;
        enum page_text kind;
        const char *shown; /* in 20 columns */
    } cases[] = {
        {STR_LITERAL("plain"), PAGE_LINE, "| plain"},
        {STR_LITERAL(""), PAGE_LINE, "| "},
        {STR_LITERAL("123456789012345678"), PAGE_LINE, "| 123456789012345678"},
        {STR_LITERAL("1234567890123456789"), PAGE_LINE, "| 123456789012345678/: 9"},
        {STR_LITERAL("a\nb\tc\rd"), PAGE_LINE, "| a\\nb\\tc\\rd"},
        {STR_LITERAL("a\n\tb\n"), PAGE_LINES, "| a/|     b"},
        {STR_LITERAL("a\n\nb"), PAGE_LINES, "| a/| /| b"},
        {STR_LITERAL("a b "), PAGE_NAME, "| \"a b \""},
        {STR_LITERAL("a\"\\"), PAGE_NAME, "| \"a\\\"\\\\\""},
        {STR_LITERAL("a\"\\"), PAGE_LINE, "| a\"\\"},
        {STR_LITERAL("\x1b[2J\x7f"), PAGE_LINE, "| \\x1b[2J\\x7f"},
        {STR_LITERAL("\0x"), PAGE_LINE, "| \\x00x"},
        {STR_LITERAL("\xff\xc3"), PAGE_LINE, "| \\xff\\xc3"},
        {STR_LITERAL("\xc2\x9b"), PAGE_LINE, "| \\u{9b}"},
        {STR_LITERAL("\xe2\x80\xae"), PAGE_LINE, "| \\u{202e}"},
        {STR_LITERAL("\xef\xbb\xbf"), PAGE_LINE, "| \\u{feff}"},
        {STR_LITERAL("e\xcc\x81"), PAGE_LINE, "| e\\u{301}"},
        {STR_LITERAL("\xc2\xa0"), PAGE_LINE, "| \\u{a0}"},
        {STR_LITERAL("\xf3\xa0\x84\x80"), PAGE_LINE, "| \\u{e0100}"},
        {STR_LITERAL("\xee\x80\x80"), PAGE_LINE, "| \\u{e000}"},
        {STR_LITERAL("gr\xc3\xbc\xc3\x9f"), PAGE_LINE, "| gr\xc3\xbc\xc3\x9f"},
        /* Written out in one piece, also at the edge. */
        {STR_LITERAL("1234567890123456\x1b"), PAGE_LINE, "| 1234567890123456/: \\x1b"},
        /* Two columns each, so nine in a row. */
        {STR_LITERAL("\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"
                     "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"),
         PAGE_LINE,
         "| \xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"
         "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2/: \xe6\xbc\xa2"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        cleanup_buf struct buf joined = BUF_INIT(4096);
        const char *text = "";
        struct console_page page;

        page_init(&page, 20, true);
        page_quote(&page, PAGE_PLAIN, cases[i].text, cases[i].kind);
        join(&page, &joined);
        assert_int_equal(buf_terminate(&joined, &text), 0);
        assert_string_equal(text, cases[i].shown);
        page_done(&page);
    }
}

/* Where the terminal is not one for UTF-8 its bytes could be controls. */
static void without_utf8_all_else_is_written_out(void **state)
{
    cleanup_buf struct buf joined = BUF_INIT(4096);
    struct console_page page;

    (void)state;
    page_init(&page, 40, false);
    page_quote(&page, PAGE_PLAIN, STR("\xc4\x9b"), PAGE_LINE);
    join(&page, &joined);
    assert_str(buf_view(&joined), "| \\u{11b}");
    page_done(&page);
}

static void a_long_name_keeps_its_ends_and_a_command_everything(void **state)
{
    static char name[4000];
    cleanup_buf struct buf joined = BUF_INIT(1 << 20);
    cleanup_buf struct buf head = BUF_INIT(4096);
    struct console_page page;
    size_t letters = 0;

    (void)state;
    memset(name, 'x', sizeof(name));
    memcpy(name, "BEGIN", 5);
    memcpy(name + sizeof(name) - 3, "END", 3);
    page_init(&page, 80, true);
    page_quote(&page, PAGE_PLAIN, (struct str){name, sizeof(name)}, PAGE_NAME);
    join(&page, &joined);
    assert_true(page.lines < 12);
    assert_int_not_equal(str_find(buf_view(&joined), STR("\"BEGINx")), SIZE_MAX);
    assert_int_not_equal(str_find(buf_view(&joined), STR("xEND\"")), SIZE_MAX);
    assert_int_not_equal(str_find(buf_view(&joined), STR("... 3400 bytes omitted ...")), SIZE_MAX);
    page_done(&page);

    page_init(&page, 80, true);
    page_quote(&page, PAGE_PLAIN, (struct str){name, sizeof(name)}, PAGE_LINE);
    join(&page, &joined);
    for (size_t i = 0; i < joined.len; i++)
        letters += joined.data[i] == 'x';
    assert_int_equal(letters, sizeof(name) - 8);
    page_done(&page);

    assert_int_equal(page_name(&head, (struct str){name, sizeof(name)}, 40, true), 0);
    assert_true(head.len <= 40);
    assert_true(str_starts_with(buf_view(&head), STR("\"BEGIN")));
    assert_true(str_ends_with(buf_view(&head), STR("END\"")));
    assert_int_not_equal(str_find(buf_view(&head), STR("\"..\"")), SIZE_MAX);
    buf_clear(&head);
    assert_int_equal(page_name(&head, STR("short"), 40, true), 0);
    assert_str(buf_view(&head), "\"short\"");
}

static void lines_of_a_diff_have_their_styles(void **state)
{
    static const enum page_style expected[] = {PAGE_FAINT, PAGE_REMOVED, PAGE_ADDED, PAGE_PLAIN};
    struct console_page page;
    struct str rest;
    enum page_style style;
    struct str line;

    (void)state;
    page_init(&page, 80, true);
    page_quote(&page, PAGE_PLAIN, STR("@@ -1 +1 @@\n-a\n+b\n c\n"), PAGE_DIFF);
    rest = buf_view(&page.text);
    for (size_t i = 0; i < array_size(expected); i++) {
        assert_true(page_next(&rest, &style, &line));
        assert_int_equal(style, expected[i]);
    }
    assert_false(page_next(&rest, &style, &line));
    page_done(&page);
}

/* Any bytes: no control, no line too wide, nothing at the edge but the gutter. */
static void nothing_leaves_its_line(void **state)
{
    static const char *const pieces[] = {
        "\x1b",
        "[2J",
        "\r",
        "\n",
        "\t",
        "> 2 Allow once",
        "\xe2\x80\xae",
        "\xc2\x9b",
        "\x80",
        "\xe6\xbc\xa2",
        "\xf0\x9f\x98\x80",
        "| ",
        ": ",
        "\"",
        "\\",
        "a",
        "\xff",
        "\x7f",
        "\x08",
    };

    (void)state;
    draw_seed = 11;
    for (int i = 0; i < 3000; i++) {
        char text[1024];
        struct str drawn = draw_text(text, 40, pieces, array_size(pieces));
        struct console_page page;
        struct str rest;
        struct str line;
        enum page_style style;

        page_init(&page, 16 + draw(40), draw(4) > 0);
        page_quote(&page, PAGE_PLAIN, drawn, (enum page_text)draw(4));
        rest = buf_view(&page.text);
        while (page_next(&rest, &style, &line)) {
            assert_true(str_starts_with(line, STR("| ")) || str_starts_with(line, STR(": ")));
            assert_true(utf8_is_valid(line));
            assert_true(utf8_count(line) <= page.columns);
            for (struct str left = line; left.len > 0;) {
                uint32_t code_point;

                assert_true(utf8_next(&left, &code_point));
                assert_true(utf8_is_printable(code_point));
            }
        }
        page_done(&page);
    }
}

TEST_MAIN(cmocka_unit_test(text_from_outside_is_shown_behind_a_gutter),
          cmocka_unit_test(what_cannot_be_seen_or_turns_its_line_is_written_out),
          cmocka_unit_test(without_utf8_all_else_is_written_out),
          cmocka_unit_test(a_long_name_keeps_its_ends_and_a_command_everything),
          cmocka_unit_test(lines_of_a_diff_have_their_styles),
          cmocka_unit_test(nothing_leaves_its_line))
