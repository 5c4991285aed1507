/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "files/passage.h"

struct change {
    const char *text, *old, *new;
    enum passage_kind kind;
    size_t count;
    const char *after;
};

static void assert_change(const struct change *change)
{
    cleanup_passage struct passage passage = {0};
    cleanup_buf struct buf after = BUF_INIT(1 << 20);
    const char *result;
    uint64_t size;

    assert_int_equal(passage_find(&passage, str_from(change->text), str_from(change->old)), 0);
    if (passage.count != change->count || passage.kind != change->kind)
        fail_msg("%s in %s: %zu matches of kind %d", change->old, change->text, passage.count,
                 (int)passage.kind);
    assert_int_equal(passage_replace_with(&passage, str_from(change->new), &size), 0);
    assert_int_equal(passage_append_replaced(&passage, &after), 0);
    assert_int_equal(after.len, size);
    assert_int_equal(buf_terminate(&after, &result), 0);
    assert_string_equal(result, change->after);
}

static void assert_changes(const struct change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_change(&changes[i]);
}

static void exact_matches_are_all_replaced(void **state)
{
    static const struct change changes[] = {
        {"one two", "two", "2", PASSAGE_EXACT, 1, "one 2"},
        {"aaa", "aa", "b", PASSAGE_EXACT, 1, "ba"},
        {"a b a", "a", "", PASSAGE_EXACT, 2, " b "},
        {"a", "a", "a\nb", PASSAGE_EXACT, 1, "a\nb"},
        {"  x\n x\n", " x", " y", PASSAGE_EXACT, 2, "  y\n y\n"},
        /* An exact match wins over others. */
        {"a  b\na b\n", "a b", "c", PASSAGE_EXACT, 1, "a  b\nc\n"},
    };

    (void)state;
    assert_changes(changes, array_size(changes));
}

static void inserted_lines_get_the_line_ends_of_the_place(void **state)
{
    static const struct change changes[] = {
        {"one\r\ntwo\r\n", "two", "2\n3", PASSAGE_EXACT, 1, "one\r\n2\r\n3\r\n"},
        {"one\ntwo\n", "two", "2\r\n3", PASSAGE_EXACT, 1, "one\n2\n3\n"},
        {"one\r\ntwo", "two", "2\n3", PASSAGE_EXACT, 1, "one\r\n2\r\n3"},
        /* Of a mixed file, those of the line. */
        {"a\r\nx\nb\n", "x", "y\nz", PASSAGE_EXACT, 1, "a\r\ny\nz\nb\n"},
        {"x\r\na\nx\n", "x", "y\nz", PASSAGE_EXACT, 2, "y\r\nz\r\na\ny\nz\n"},
        /* A line end is replaced whole. */
        {"a\r\nb\r\nc\r\n", "\nb", "\nB", PASSAGE_EXACT, 1, "a\r\nB\r\nc\r\n"},
        {"a\r\nb\r\nc\r\n", "\nb", "", PASSAGE_EXACT, 1, "a\r\nc\r\n"},
        {"\r\nx\r\nx\r", "\nx\r", "-", PASSAGE_EXACT, 2, "--"},
        {"a\r\nb\r\nc", "a\nb\n", "1\n2\n", PASSAGE_LINE_ENDS, 1, "1\r\n2\r\nc"},
        {"a\r\nb\r\na\r\nb\r\n", "a\nb", "x\ny", PASSAGE_LINE_ENDS, 2, "x\r\ny\r\nx\r\ny\r\n"},
        {"a\nb\nc\n", "a\r\nb\r\n", "x\r\n", PASSAGE_LINE_ENDS, 1, "x\nc\n"},
        /* A CR that ends no line stays. */
        {"a\rb\n", "b", "c\rd", PASSAGE_EXACT, 1, "a\rc\rd\n"},
    };

    (void)state;
    assert_changes(changes, array_size(changes));
}

static void other_whitespace_matches_and_the_files_own_is_kept(void **state)
{
    static const struct change changes[] = {
        /* Tabs in the file, blanks in the passage. */
        {"{\n\tif (x)\n\t\ty();\n}\n", "    if (x)\n        y();\n",
         "    if (x)\n        if (z)\n            y();\n", PASSAGE_BLANKS, 1,
         "{\n\tif (x)\n\t\tif (z)\n\t\t\ty();\n}\n"},
        {"\tif (x)\n\t\ty();\n", "if (x)\n    y();", "if (z)\n    y();\n    y();", PASSAGE_BLANKS,
         1, "\tif (z)\n\t\ty();\n\t\ty();\n"},
        /* Blanks in the file, tabs in the passage. */
        {"    a\n        b\n", "\ta\n\t\tb\n", "\ta\n\t\tb\n\t\t\tc\n", PASSAGE_BLANKS, 1,
         "    a\n        b\n            c\n"},
        /* Another depth of all lines. */
        {"    a:\n      b\n", "a:\n  b\n", "a:\n  b\n  c\n", PASSAGE_BLANKS, 1,
         "    a:\n      b\n      c\n"},
        {"  a:\n    b\n", "a:\n b", "a:\n b\n b", PASSAGE_BLANKS, 1, "  a:\n    b\n    b\n"},
        /* Inside a line, and at its end. */
        {"x =  1;\ny\n", "x = 1;\n", "x = 2;\n", PASSAGE_BLANKS, 1, "x = 2;\ny\n"},
        {"x = 1;  \ny\n", "x = 1;\ny", "x = 2;\ny", PASSAGE_BLANKS, 1, "x = 2;\ny\n"},
        {"f(a, b)\n", "f(a,\n  b)", "g(a)", PASSAGE_BLANKS, 1, "g(a)\n"},
        /* Line ends around it. */
        {"a\n\n\tb\n\nc\n", "\n    b\n\n", "\n    B\n\n", PASSAGE_BLANKS, 1, "a\n\n\tB\n\nc\n"},
        {"a\r\n\tb c\r\nd\r\n", "  b  c\n", "  x\n  y\n", PASSAGE_BLANKS, 1,
         "a\r\n\tx\r\n\ty\r\nd\r\n"},
        /* An empty line gets no indentation. */
        {"\ta\n\tb\n", "  a\n  b\n", "  a\n\n  b\n", PASSAGE_BLANKS, 1, "\ta\n\n\tb\n"},
        {"\ta  b\n", "a b", "", PASSAGE_BLANKS, 1, "\t\n"},
    };

    (void)state;
    assert_changes(changes, array_size(changes));
}

static void what_is_nowhere_is_not_found(void **state)
{
    static const struct {
        const char *text, *old;
    } cases[] = {{"", "a"}, {"a", " \n"}, {"ab", "a b"}, {"a b", "ab"}, {"a", "A"}, {"\r", "\n"}};

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        cleanup_passage struct passage passage = {0};

        assert_int_equal(passage_find(&passage, str_from(cases[i].text), str_from(cases[i].old)),
                         0);
        assert_int_equal(passage.count, 0);
    }
}

static void assert_lines(const char *text, const char *old, const char *expected)
{
    cleanup_passage struct passage passage = {0};
    char lines[PASSAGE_HINT_BYTES];

    assert_int_equal(passage_find(&passage, str_from(text), str_from(old)), 0);
    passage_name_lines(&passage, lines);
    assert_string_equal(lines, expected);
}

static void lines_of_matches_are_told_each_once(void **state)
{
    (void)state;
    assert_lines("x\na\nx x\n\nx", "x", "lines 1, 3, 5");
    assert_lines("a\nx x", "x", "line 2");
    assert_lines("a\n\nx y\n", "\nx", "line 3");
    assert_lines("\tx  y\n\nx   y\n", " x y", "lines 1, 3");
    assert_lines("x\nx\nx\nx\nx\nx\nx\nx\nx\nx\n", "x", "lines 1, 2, 3, 4, 5, 6, 7, 8, …");
}

TEST_MAIN(cmocka_unit_test(exact_matches_are_all_replaced),
          cmocka_unit_test(inserted_lines_get_the_line_ends_of_the_place),
          cmocka_unit_test(other_whitespace_matches_and_the_files_own_is_kept),
          cmocka_unit_test(what_is_nowhere_is_not_found),
          cmocka_unit_test(lines_of_matches_are_told_each_once))
