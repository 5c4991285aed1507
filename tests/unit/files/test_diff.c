/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <time.h>

#include "files/diff.h"

enum { OUT_BYTES = 64 << 20, ROUNDS = 3000, BOUNDED_SECONDS = 20 };

static void make_diff(struct str before, struct str after, size_t max_bytes, struct buf *out)
{
    const struct diff_options options = {.name = STR("dir/a.txt"), .max_bytes = max_bytes};

    buf_clear(out);
    assert_int_equal(diff_unified(before, after, &options, out), 0);
}

/* ---- a reader of diffs, as strict as can be ---- */

static struct str take_line(struct str *rest)
{
    size_t end = str_find(*rest, STR("\n"));
    struct str line = str_slice(*rest, 0, end == SIZE_MAX ? rest->len : end + 1);

    *rest = str_slice(*rest, line.len, rest->len);
    return line;
}

static size_t take_number(struct str *text)
{
    size_t number = 0;

    assert_true(text->len > 0 && text->ptr[0] >= '0' && text->ptr[0] <= '9');
    while (text->len > 0 && text->ptr[0] >= '0' && text->ptr[0] <= '9') {
        number = number * 10 + (size_t)(text->ptr[0] - '0');
        *text = str_slice(*text, 1, text->len);
    }
    return number;
}

static void take_literal(struct str *text, struct str literal)
{
    assert_true(str_starts_with(*text, literal));
    *text = str_slice(*text, literal.len, text->len);
}

static void take_range(struct str *text, size_t *out_start, size_t *out_count)
{
    *out_start = take_number(text);
    *out_count = 1;
    if (text->len > 0 && text->ptr[0] == ',') {
        take_literal(text, STR(","));
        *out_count = take_number(text);
    }
}

struct patching {
    struct str old; /* what is not used yet */
    size_t old_line;
    size_t new_line;
    struct buf *out;
};

static void copy_line(struct patching *patching)
{
    struct str line = take_line(&patching->old);

    assert_true(line.len > 0);
    assert_int_equal(buf_append_str(patching->out, line), 0);
    patching->old_line++;
    patching->new_line++;
}

static void apply_hunk(struct patching *patching, struct str header, struct str *diff)
{
    size_t old_start, old_count, new_start, new_count;

    take_literal(&header, STR("@@ -"));
    take_range(&header, &old_start, &old_count);
    take_literal(&header, STR(" +"));
    take_range(&header, &new_start, &new_count);
    take_literal(&header, STR(" @@\n"));
    assert_int_equal(header.len, 0);
    /* An empty range is named by the line before it. */
    while (patching->old_line < old_start - (old_count > 0))
        copy_line(patching);
    assert_int_equal(patching->new_line, new_start - (new_count > 0));
    while (old_count > 0 || new_count > 0) {
        struct str line = take_line(diff);
        char mark;

        assert_true(line.len > 1 || (line.len == 1 && line.ptr[0] != '\n'));
        mark = line.ptr[0];
        line = str_slice(line, 1, line.len);
        if (str_starts_with(*diff, STR("\\ No newline"))) {
            (void)take_line(diff);
            line.len--;
        }
        if (mark != '+') {
            assert_true(str_eq(take_line(&patching->old), line));
            assert_true(old_count-- > 0);
            patching->old_line++;
        }
        if (mark != '-') {
            assert_int_equal(buf_append_str(patching->out, line), 0);
            assert_true(new_count-- > 0);
            patching->new_line++;
        }
        assert_true(mark == ' ' || mark == '+' || mark == '-');
    }
}

static void apply(struct str before, struct str diff, struct buf *out)
{
    struct patching patching = {.old = before, .out = out};

    buf_clear(out);
    if (diff.len > 0) {
        assert_str(take_line(&diff), "--- a/dir/a.txt\n");
        assert_str(take_line(&diff), "+++ b/dir/a.txt\n");
    }
    while (diff.len > 0)
        apply_hunk(&patching, take_line(&diff), &diff);
    while (patching.old.len > 0)
        copy_line(&patching);
}

static void check_round_trip(struct str before, struct str after)
{
    cleanup_buf struct buf diff = BUF_INIT(OUT_BYTES);
    cleanup_buf struct buf result = BUF_INIT(OUT_BYTES);

    make_diff(before, after, 0, &diff);
    apply(before, buf_view(&diff), &result);
    assert_true(str_eq(buf_view(&result), after));
}

/* ---- examples ---- */

static void one_changed_line_has_three_lines_around_it(void **state)
{
    cleanup_buf struct buf diff = BUF_INIT(OUT_BYTES);

    (void)state;
    make_diff(STR("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), STR("1\n2\n3\n4\nfive\n6\n7\n8\n9\n"), 0, &diff);
    assert_str(buf_view(&diff), "--- a/dir/a.txt\n+++ b/dir/a.txt\n@@ -2,7 +2,7 @@\n"
                                " 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

static void equal_texts_have_no_diff(void **state)
{
    cleanup_buf struct buf diff = BUF_INIT(OUT_BYTES);

    (void)state;
    make_diff(STR("a\nb"), STR("a\nb"), 0, &diff);
    assert_int_equal(diff.len, 0);
    make_diff(STR_EMPTY, STR_EMPTY, 0, &diff);
    assert_int_equal(diff.len, 0);
}

static void a_missing_last_line_feed_is_said(void **state)
{
    cleanup_buf struct buf diff = BUF_INIT(OUT_BYTES);

    (void)state;
    make_diff(STR("a\nb\n"), STR("a\nb"), 0, &diff);
    assert_str(buf_view(&diff), "--- a/dir/a.txt\n+++ b/dir/a.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n"
                                "\\ No newline at end of file\n");
    make_diff(STR("x"), STR("y"), 0, &diff);
    assert_str(buf_view(&diff), "--- a/dir/a.txt\n+++ b/dir/a.txt\n@@ -1 +1 @@\n-x\n"
                                "\\ No newline at end of file\n+y\n\\ No newline at end of file\n");
}

static void an_empty_side_is_line_zero(void **state)
{
    cleanup_buf struct buf diff = BUF_INIT(OUT_BYTES);

    (void)state;
    make_diff(STR_EMPTY, STR("a\nb\n"), 0, &diff);
    assert_str(buf_view(&diff), "--- a/dir/a.txt\n+++ b/dir/a.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    make_diff(STR("a\n"), STR_EMPTY, 0, &diff);
    assert_str(buf_view(&diff), "--- a/dir/a.txt\n+++ b/dir/a.txt\n@@ -1 +0,0 @@\n-a\n");
}

static void line_ends_are_part_of_the_line(void **state)
{
    cleanup_buf struct buf diff = BUF_INIT(OUT_BYTES);

    (void)state;
    make_diff(STR("a\r\nb\r\n"), STR("a\r\nb\n"), 0, &diff);
    assert_str(buf_view(&diff), "--- a/dir/a.txt\n+++ b/dir/a.txt\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n"
                                "+b\n");
}

static void far_changes_have_hunks_of_their_own(void **state)
{
    cleanup_buf struct buf diff = BUF_INIT(OUT_BYTES);

    (void)state;
    /* Six equal lines between them share one hunk, seven do not. */
    make_diff(STR("x\n1\n2\n3\n4\n5\n6\ny\n"), STR("X\n1\n2\n3\n4\n5\n6\nY\n"), 0, &diff);
    assert_str(buf_view(&diff), "--- a/dir/a.txt\n+++ b/dir/a.txt\n@@ -1,8 +1,8 @@\n-x\n+X\n"
                                " 1\n 2\n 3\n 4\n 5\n 6\n-y\n+Y\n");
    make_diff(STR("x\n1\n2\n3\n4\n5\n6\n7\ny\n"), STR("X\n1\n2\n3\n4\n5\n6\n7\nY\n"), 0, &diff);
    assert_str(buf_view(&diff), "--- a/dir/a.txt\n+++ b/dir/a.txt\n@@ -1,4 +1,4 @@\n-x\n+X\n"
                                " 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-y\n+Y\n");
}

static void equal_lines_before_and_after_are_only_counted(void **state)
{
    cleanup_buf struct buf before = BUF_INIT(OUT_BYTES);
    cleanup_buf struct buf after = BUF_INIT(OUT_BYTES);
    cleanup_buf struct buf diff = BUF_INIT(OUT_BYTES);

    (void)state;
    for (int i = 1; i <= 1000; i++) {
        buf_printf(&before, "%d\n", i);
        buf_printf(&after, i == 500 ? "five hundred\n" : "%d\n", i);
    }
    make_diff(buf_view(&before), buf_view(&after), 0, &diff);
    assert_str(buf_view(&diff), "--- a/dir/a.txt\n+++ b/dir/a.txt\n@@ -497,7 +497,7 @@\n"
                                " 497\n 498\n 499\n-500\n+five hundred\n 501\n 502\n 503\n");
    /* Bytes in common that are no whole lines are part of the change. */
    make_diff(STR("1\n2\n3\n4\nab\nxyz\n5\n6\n7\n8\n"), STR("1\n2\n3\n4\nac\nyz\n5\n6\n7\n8\n"), 0,
              &diff);
    assert_str(buf_view(&diff), "--- a/dir/a.txt\n+++ b/dir/a.txt\n@@ -2,8 +2,8 @@\n 2\n 3\n 4\n"
                                "-ab\n-xyz\n+ac\n+yz\n 5\n 6\n 7\n");
    make_diff(STR("a\nb\n"), STR("x\na\nb\n"), 0, &diff);
    assert_str(buf_view(&diff), "--- a/dir/a.txt\n+++ b/dir/a.txt\n@@ -1,2 +1,3 @@\n+x\n a\n b\n");
}

static void a_name_cannot_forge_lines(void **state)
{
    const struct diff_options options = {.name = STR("a\n+++ b/evil\x1b[2J\u202e\xff")};
    cleanup_buf struct buf diff = BUF_INIT(OUT_BYTES);

    (void)state;
    assert_int_equal(diff_unified(STR("1\n"), STR("2\n"), &options, &diff), 0);
    assert_true(
        str_starts_with(buf_view(&diff), STR("--- a/a?+++ b/evil?[2J??\n+++ b/a?+++ b/evil")));
}

static void a_long_diff_is_cut_between_hunks(void **state)
{
    cleanup_buf struct buf before = BUF_INIT(OUT_BYTES);
    cleanup_buf struct buf after = BUF_INIT(OUT_BYTES);
    cleanup_buf struct buf diff = BUF_INIT(OUT_BYTES);
    cleanup_buf struct buf small = BUF_INIT(600);
    struct str note;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        buf_printf(&before, "line %d\n", i);
        buf_printf(&after, i % 20 == 0 ? "LINE %d\n" : "line %d\n", i);
    }
    make_diff(buf_view(&before), buf_view(&after), 1000, &diff);
    assert_in_range(diff.len, 500, 1100);
    note = str_slice(buf_view(&diff), str_find(buf_view(&diff), STR("…")), diff.len);
    assert_true(str_starts_with(note, STR("… the diff continues at line ")));
    assert_true(str_ends_with(note, STR("truncated here\n")));
    /* So does the buffer's own ceiling. */
    make_diff(buf_view(&before), buf_view(&after), 0, &small);
    assert_true(str_ends_with(buf_view(&small), STR("truncated here\n")));
}

static void the_smallest_change_is_found(void **state)
{
    cleanup_buf struct buf before = BUF_INIT(OUT_BYTES);
    cleanup_buf struct buf after = BUF_INIT(OUT_BYTES);
    cleanup_buf struct buf diff = BUF_INIT(OUT_BYTES);
    size_t changed = 0;
    struct str rest;

    (void)state;
    /* Many equal lines everywhere: braces and blanks, as in programs. */
    for (int i = 0; i < 400; i++) {
        buf_printf(&before, "{\n\n  f(%d);\n}\n", i);
        buf_printf(&after, i == 200 ? "{\n\n  f(%d);\n  g();\n}\n" : "{\n\n  f(%d);\n}\n", i);
    }
    make_diff(buf_view(&before), buf_view(&after), 0, &diff);
    rest = buf_view(&diff);
    (void)take_line(&rest);
    (void)take_line(&rest);
    while (rest.len > 0) {
        struct str line = take_line(&rest);

        changed += line.ptr[0] == '+' || line.ptr[0] == '-';
    }
    assert_int_equal(changed, 1);
}

/* ---- properties ---- */

static unsigned next_random(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245U + 12345U;
    return (*seed >> 16) % below;
}

static void add_random_line(unsigned *seed, unsigned variety, struct buf *out)
{
    static const char *const words[] = {"", "a", "b", "c", "}", "\t", "- x", "+ y", "@@", "\r"};
    unsigned word = next_random(seed, variety);

    if (word < array_size(words))
        buf_printf(out, "%s\n", words[word]);
    else
        buf_printf(out, "line %u\n", word);
}

/* The first text with lines taken out, put in and moved about. */
static void mutate(unsigned *seed, struct str before, unsigned variety, struct buf *out)
{
    while (before.len > 0) {
        struct str line = take_line(&before);

        switch (next_random(seed, 8)) {
        case 0:
            break;
        case 1:
            add_random_line(seed, variety, out);
            break;
        case 2:
            add_random_line(seed, variety, out);
            buf_append_str(out, line);
            break;
        default:
            buf_append_str(out, line);
        }
    }
}

static void applying_the_diff_gives_the_second_text(void **state)
{
    unsigned seed = 1;

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        cleanup_buf struct buf before = BUF_INIT(OUT_BYTES);
        cleanup_buf struct buf after = BUF_INIT(OUT_BYTES);
        unsigned variety = 1 + next_random(&seed, 20);
        unsigned lines = next_random(&seed, 60);

        for (unsigned n = 0; n < lines; n++)
            add_random_line(&seed, variety, &before);
        if (i % 3 == 0) {
            lines = next_random(&seed, 60);
            for (unsigned n = 0; n < lines; n++)
                add_random_line(&seed, variety, &after);
        } else {
            mutate(&seed, buf_view(&before), variety, &after);
        }
        if (before.len > 0 && next_random(&seed, 4) == 0)
            before.len--;
        if (after.len > 0 && next_random(&seed, 4) == 0)
            after.len--;
        check_round_trip(buf_view(&before), buf_view(&after));
    }
}

static void keep_changed_lines(struct str diff, struct buf *out)
{
    buf_clear(out);
    (void)take_line(&diff);
    (void)take_line(&diff);
    while (diff.len > 0) {
        struct str line = take_line(&diff);

        if (line.ptr[0] == '+' || line.ptr[0] == '-')
            buf_append_str(out, line);
    }
}

static void put_between(struct str text, struct buf *out)
{
    for (int i = 0; i < 50; i++)
        buf_printf(out, "before %d\n", i);
    buf_append_str(out, text);
    for (int i = 0; i < 50; i++)
        buf_printf(out, "after %d\n", i);
}

static void equal_lines_around_change_nothing(void **state)
{
    unsigned seed = 3;

    (void)state;
    for (int i = 0; i < ROUNDS / 3; i++) {
        struct buf texts[2] = {BUF_INIT(OUT_BYTES), BUF_INIT(OUT_BYTES)};
        struct buf long_texts[2] = {BUF_INIT(OUT_BYTES), BUF_INIT(OUT_BYTES)};
        cleanup_buf struct buf diff = BUF_INIT(OUT_BYTES);
        cleanup_buf struct buf changed = BUF_INIT(OUT_BYTES);
        cleanup_buf struct buf changed_inside = BUF_INIT(OUT_BYTES);
        unsigned variety = 1 + next_random(&seed, 20);
        unsigned lines = next_random(&seed, 30);

        for (unsigned n = 0; n < lines; n++)
            add_random_line(&seed, variety, &texts[0]);
        mutate(&seed, buf_view(&texts[0]), variety, &texts[1]);
        make_diff(buf_view(&texts[0]), buf_view(&texts[1]), 0, &diff);
        keep_changed_lines(buf_view(&diff), &changed);
        for (int side = 0; side < 2; side++)
            put_between(buf_view(&texts[side]), &long_texts[side]);
        make_diff(buf_view(&long_texts[0]), buf_view(&long_texts[1]), 0, &diff);
        keep_changed_lines(buf_view(&diff), &changed_inside);
        assert_true(str_eq(buf_view(&changed), buf_view(&changed_inside)));
        check_round_trip(buf_view(&long_texts[0]), buf_view(&long_texts[1]));
        for (int side = 0; side < 2; side++) {
            buf_done(&texts[side]);
            buf_done(&long_texts[side]);
        }
    }
}

/* Nothing in common but a few lines everywhere: the search alone would take for ever. */
static void hostile_texts_take_bounded_time(void **state)
{
    static const unsigned varieties[] = {2, 40, 100000};
    struct timespec start, end;

    (void)state;
    for (size_t v = 0; v < array_size(varieties); v++) {
        cleanup_buf struct buf before = BUF_INIT(OUT_BYTES);
        cleanup_buf struct buf after = BUF_INIT(OUT_BYTES);
        unsigned seed = 7;

        for (int i = 0; i < 100000; i++) {
            add_random_line(&seed, varieties[v], &before);
            add_random_line(&seed, varieties[v], &after);
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
        check_round_trip(buf_view(&before), buf_view(&after));
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        assert_true(end.tv_sec - start.tv_sec < BOUNDED_SECONDS);
    }
}

TEST_MAIN(cmocka_unit_test(one_changed_line_has_three_lines_around_it),
          cmocka_unit_test(equal_texts_have_no_diff),
          cmocka_unit_test(a_missing_last_line_feed_is_said),
          cmocka_unit_test(an_empty_side_is_line_zero),
          cmocka_unit_test(line_ends_are_part_of_the_line),
          cmocka_unit_test(far_changes_have_hunks_of_their_own),
          cmocka_unit_test(equal_lines_before_and_after_are_only_counted),
          cmocka_unit_test(a_name_cannot_forge_lines),
          cmocka_unit_test(a_long_diff_is_cut_between_hunks),
          cmocka_unit_test(the_smallest_change_is_found),
          cmocka_unit_test(applying_the_diff_gives_the_second_text),
          cmocka_unit_test(equal_lines_around_change_nothing),
          cmocka_unit_test(hostile_texts_take_bounded_time))
