/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "search/content.h"
#include "search/engine.h"
#include "search/matcher.h"

static const struct pattern_options literal = {0};
static const struct pattern_options literal_any_case = {.ignores_case = true};
static const struct pattern_options regex = {.is_regex = true};
static const struct pattern_options regex_any_case = {.is_regex = true, .ignores_case = true};

static size_t count_lines(const char *pattern_text, const struct pattern_options *options,
                          struct str text)
{
    cleanup_pattern struct pattern *pattern = NULL;
    cleanup_matcher struct matcher *matcher = NULL;
    struct err err = ERR_INIT;
    size_t count = SIZE_MAX;

    if (pattern_compile(str_from(pattern_text), options, &pattern, &err) < 0)
        fail_msg("%s: %s", pattern_text, err.message);
    assert_int_equal(matcher_new(pattern, NULL, &matcher), 0);
    assert_int_equal(matcher_count(matcher, text, &count), 0);
    return count;
}

static struct matcher_line first_line(const char *pattern_text,
                                      const struct pattern_options *options, struct str text)
{
    cleanup_pattern struct pattern *pattern = NULL;
    cleanup_matcher struct matcher *matcher = NULL;
    struct matcher_line line = {.is_found = false};

    assert_int_equal(pattern_compile(str_from(pattern_text), options, &pattern, NULL), 0);
    assert_int_equal(matcher_new(pattern, NULL, &matcher), 0);
    assert_int_equal(matcher_next(matcher, text, 0, &line), 0);
    return line;
}

/* ---- lines ---- */

/* The numbers are those that `rg -c` of ripgrep 13 prints. */
static void lines_are_counted_as_ripgrep_counts(void **state)
{
    static const struct {
        const char *pattern;
        struct str text;
        size_t lines;
    } cases[] = {
        {"a", STR_LITERAL("a\nb\na"), 2},
        {"a", STR_LITERAL("aaa\n"), 1},
        {"", STR_LITERAL("a\n\nb\n"), 3},
        {"", STR_LITERAL(""), 0},
        {"^$", STR_LITERAL("a\n\n\nb\n"), 2},
        {"^$", STR_LITERAL("\n"), 1},
        {"^$", STR_LITERAL("a\n"), 0},
        {"$", STR_LITERAL("a\nb"), 2},
        {"b$", STR_LITERAL("ab\nb\r\nb"), 2},
        {"b\\r$", STR_LITERAL("ab\nb\r\nb"), 1},
        {"^b", STR_LITERAL("b\nab\nb"), 2},
        {"a.b", STR_LITERAL("a\nb\na\rb\n"), 1},
        {"a\\sb", STR_LITERAL("a\nb\na b\n"), 1},
        {"a[^x]b", STR_LITERAL("a\nb\na-b\n"), 1},
        {"\\w+", STR_LITERAL("\xc3\xa9\n-\n"), 1},
        {"^\\w$", STR_LITERAL("\xc3\xa9\na\nab\n"), 2},
        {"\\bfoo\\b",
         STR_LITERAL("foo\nfoo_\n\xc3\xa9"
                     "foo\n(foo)\n"),
         2},
        {"^.$", STR_LITERAL("\xff\n\xc3\xa9\nx\n"), 2},
        {"a",
         STR_LITERAL("\xff"
                     "a\xff\n"),
         1},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++)
        if (count_lines(cases[i].pattern, &regex, cases[i].text) != cases[i].lines)
            fail_msg("/%s/ in case %zu", cases[i].pattern, i);
}

static void a_line_is_told_with_its_first_match(void **state)
{
    struct str text = STR("one\ntwo foo foo\nfoo");
    struct matcher_line line = first_line("foo", &literal, text);

    (void)state;
    assert_true(line.is_found);
    assert_int_equal(line.start, 4);
    assert_int_equal(line.end, 15);
    assert_int_equal(line.match_start, 8);
    assert_int_equal(line.match_end, 11);
    line = first_line("f.*|t", &regex, text);
    assert_int_equal(line.match_start, 4);
    assert_int_equal(line.match_end, 5);
    line = first_line("o{2}|w", &regex, text);
    assert_int_equal(line.match_start, 5);
    assert_false(first_line("four", &literal, text).is_found);
}

/* Both are found by the newline between them. */
static void a_line_end_comes_before_the_next_line_start(void **state)
{
    (void)state;
    assert_int_equal(count_lines("x|^  |e$", &regex, STR("-\nabe\n  b\n-\n")), 2);
    assert_int_equal(count_lines("x|^  |(?=e)e$", &regex, STR("-\nabe\n  b\n-\n")), 2);
}

static void a_literal_stands_for_itself(void **state)
{
    (void)state;
    assert_int_equal(count_lines("a.(b", &literal, STR("a.(b\naxxb\n")), 1);
    assert_int_equal(count_lines("A.(B", &literal_any_case, STR("a.(b\naxxb\n")), 1);
    assert_int_equal(count_lines("\\n", &literal, STR("\\n\nn\n")), 1);
}

static void case_is_unicodes(void **state)
{
    (void)state;
    assert_int_equal(count_lines("GR\xc3\x96\xc3\x9f"
                                 "E",
                                 &literal_any_case,
                                 STR("gr\xc3\xb6\xc3\x9f"
                                     "e\nGr\xc3\x96\xe1\xba\x9e"
                                     "e\ngrosse\n")),
                     2);
    assert_int_equal(
        count_lines("\xd1\x80\xd0\xb0\xd0\xb7", &literal_any_case,
                    STR("\xd0\xa0\xd0\x90\xd0\x97\n\xd1\x80\xd0\xb0\xd0\xb7\n\xd1\x80\n")),
        2);
    /* The Kelvin sign and the long s are a k and an s. */
    assert_int_equal(
        count_lines("task", &literal_any_case, STR("TASK\nta\xc5\xbfk\ntas\xe2\x84\xaa\ntax\n")),
        3);
    assert_int_equal(count_lines("ta\xc5\xbfk", &literal_any_case, STR("TASK\ntax\n")), 1);
    assert_int_equal(count_lines("t[a-z]{2}k", &regex_any_case, STR("ta\xc5\xbfk\n")), 1);
    assert_int_equal(count_lines("(?i)ss(?-i)S", &regex, STR("Ss\nSsS\n\xc5\xbf\xc5\xbfS\n")), 2);
}

static void what_matches_nothing_finds_nothing(void **state)
{
    (void)state;
    assert_int_equal(count_lines("a\\nb", &regex, STR("a\nb\n")), 0);
    assert_int_equal(count_lines("a^b", &regex, STR("a\nb\nab\n")), 0);
    assert_int_equal(count_lines("a$b", &regex, STR("a\nb\nab\n")), 0);
    assert_int_equal(count_lines("$^", &regex, STR("a\n\nb\n")), 1);
    assert_int_equal(count_lines("(?:x|$)(?:^|y)", &regex, STR("a\n\nxy\n")), 2);
}

/* ---- refusals ---- */

static int refusal(struct str text, const struct pattern_options *options, struct err *err)
{
    struct pattern *pattern = NULL;
    int r = pattern_compile(text, options, &pattern, err);

    assert_null(pattern);
    return r;
}

static void a_pattern_that_cannot_be_is_refused_with_words(void **state)
{
    static const char *const wrong[] = {"(", "a**b(", "[z-a]", "\\C", "(?<n>a)(?<n>b)", "*", "\\"};
    char nested[2 * PATTERN_MAX_NESTING + 3];
    char long_text[PATTERN_MAX_BYTES + 1];
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < array_size(wrong); i++) {
        assert_int_equal(refusal(str_from(wrong[i]), &regex, &err), ERR_INVALID_ARGUMENT);
        assert_non_null(strstr(err.message, "not valid at byte"));
    }
    assert_int_equal(refusal(STR("a\nb"), &literal, &err), ERR_INVALID_ARGUMENT);
    assert_int_equal(refusal(STR("a\xff"), &literal, &err), ERR_INVALID_UTF8);
    memset(nested, '(', PATTERN_MAX_NESTING + 1);
    memset(nested + PATTERN_MAX_NESTING + 1, ')', PATTERN_MAX_NESTING + 1);
    assert_int_equal(refusal((struct str){nested, sizeof(nested) - 1}, &regex, &err),
                     ERR_INVALID_ARGUMENT);
    memset(long_text, 'a', sizeof(long_text));
    assert_int_equal(refusal((struct str){long_text, sizeof(long_text)}, &literal, &err),
                     ERR_TOO_LARGE);
    assert_int_equal(refusal(STR("((a{60}b){60}c){60}d"), &regex, &err), ERR_TOO_LARGE);
}

/* ---- limits ---- */

static int search(const char *pattern_text, const struct pattern_options *options, struct str text,
                  const struct cancel *cancel)
{
    cleanup_pattern struct pattern *pattern = NULL;
    cleanup_matcher struct matcher *matcher = NULL;
    size_t count;

    assert_int_equal(pattern_compile(str_from(pattern_text), options, &pattern, NULL), 0);
    assert_int_equal(matcher_new(pattern, cancel, &matcher), 0);
    return matcher_count(matcher, text, &count);
}

static struct str repeated(char c, size_t count, char last, char **out_memory)
{
    *out_memory = malloc(count + 1);
    assert_non_null(*out_memory);
    memset(*out_memory, c, count);
    (*out_memory)[count] = last;
    return (struct str){*out_memory, count + 1};
}

/* With JIT and without: the error comes, and not an hour later. */
static void a_pattern_without_end_is_an_error(void **state)
{
    static const char *const patterns[] = {
        "(a+)+$",        "(.*)*x!",          "(a|aa)+$",
        "(a|a?)+$",      "(\\w*\\w*)*[!x]y", "(?:a?){40}a{40}[xy]b",
        "(a*)*\\1b[xy]",
    };
    cleanup_free char *memory = NULL;
    struct str text = repeated('a', 3000, '!', &memory);

    (void)state;
    for (size_t i = 0; i < array_size(patterns); i++) {
        for (int has_no_jit = 0; has_no_jit < 2; has_no_jit++) {
            struct pattern_options options = {
                .is_regex = true, .has_no_prefilter = true, .has_no_jit = has_no_jit != 0};
            int r = search(patterns[i], &options, text, NULL);

            if (r != ERR_PATTERN_COST && r != 0)
                fail_msg("%s: %s", patterns[i], err_name(r));
        }
    }
    assert_int_equal(search("(a+)+$", &regex, text, NULL), ERR_PATTERN_COST);
    assert_int_equal(search("(a|a?)+$", &regex, text, NULL), ERR_PATTERN_COST);
}

/* Of few steps, each as long as the line; and of many places to start from. */
static void a_long_line_costs_no_more_than_its_time(void **state)
{
    static const char *const patterns[] = {"^.*?.*+!b", ".*?.*+!b", "^.*?.*?.*+!b"};
    cleanup_free char *memory = NULL;
    struct str text = repeated('a', 1000000, '!', &memory);
    unsigned stopped = 0;

    (void)state;
    for (size_t i = 0; i < array_size(patterns); i++) {
        for (int has_no_jit = 0; has_no_jit < 2; has_no_jit++) {
            struct pattern_options options = {
                .is_regex = true, .has_no_prefilter = true, .has_no_jit = has_no_jit != 0};

            struct cancel soon;
            int r = search(patterns[i], &options, text, NULL);

            /* Some versions of the engine see at once that nothing matches, which is true. */
            if (r == 0)
                continue;
            assert_int_equal(r, ERR_PATTERN_COST);
            stopped++;
            /* Long before that second is over. */
            cancel_init(&soon, &clock_system, clock_monotonic_ms(&clock_system) + 20);
            assert_int_equal(search(patterns[i], &options, text, &soon), ERR_TIMED_OUT);
        }
    }
    assert_true(stopped > 0);
}

/* Cubic: each start is within its steps, but there are many. */
static void a_slow_line_sees_the_deadline(void **state)
{
    cleanup_free char *memory = NULL;
    struct str text = repeated('a', 400, '!', &memory);
    struct pattern_options options = {.is_regex = true, .has_no_prefilter = true};
    struct clock clock;
    struct cancel cancel;

    (void)state;
    clock_fake_init(&clock, 0);
    cancel_init(&cancel, &clock, 0);
    assert_int_equal(search("\\w*\\w*[xy][zw]", &options, text, &cancel), ERR_TIMED_OUT);
}

static void a_long_text_sees_the_token(void **state)
{
    enum { LENGTH = 8 << 20 };
    cleanup_free char *memory = NULL;
    struct str text = repeated('a', LENGTH, '\n', &memory);
    struct clock clock;
    struct cancel cancel;

    (void)state;
    clock_fake_init(&clock, 0);
    cancel_init(&cancel, &clock, CANCEL_NO_DEADLINE);
    assert_int_equal(search("b", &literal, text, &cancel), 0);
    cancel_now(&cancel);
    assert_int_equal(search("b", &literal, text, &cancel), ERR_CANCELLED);
    memset(memory, '\n', LENGTH);
    assert_int_equal(search("\\w|\\s", &regex, text, &cancel), ERR_CANCELLED);
}

/* Linear work on a long line is done, whatever compiled code counts. */
static void a_long_line_is_searched(void **state)
{
    enum { LENGTH = ENGINE_MAX_LINE_BYTES - 1 };
    cleanup_free char *memory = NULL;
    struct str text = repeated('b', LENGTH, '"', &memory);

    (void)state;
    memory[0] = '"';
    assert_int_equal(count_lines("\"(?:[^\"\\\\]|\\\\.)*\"", &regex,
                                 (struct str){memory + LENGTH - 20000, 20001}),
                     0);
    memory[LENGTH - 20000] = '"';
    assert_int_equal(count_lines("\"(?:[^\"\\\\]|\\\\.)*\"", &regex,
                                 (struct str){memory + LENGTH - 20000, 20001}),
                     1);
    assert_int_equal(count_lines("[ab]\"$", &regex, text), 1);
    assert_int_equal(count_lines("^[^b].*\"$", &regex, text), 1);
}

static void a_line_too_long_for_the_engine_is_an_error(void **state)
{
    cleanup_free char *memory = NULL;
    struct str text = repeated('b', ENGINE_MAX_LINE_BYTES + 1, 'c', &memory);

    (void)state;
    assert_int_equal(search("b+c", &regex, text, NULL), ERR_TOO_LARGE);
    text.len = ENGINE_MAX_COMPARED_BYTES + 1;
    assert_int_equal(search("(b+)\\1c",
                            &(struct pattern_options){.is_regex = true, .has_no_prefilter = true},
                            text, NULL),
                     ERR_TOO_LARGE);
    text.len = ENGINE_MAX_LINE_BYTES + 2;
    /* What needs no engine has no such limit, and what cannot match is not asked about. */
    assert_int_equal(count_lines("bc", &literal, text), 1);
    assert_int_equal(count_lines("b+cd", &regex, text), 0);
}

/* ---- content ---- */

static void a_nul_at_the_beginning_is_binary(void **state)
{
    cleanup_free char *memory = NULL;
    struct str text = repeated('a', CONTENT_LOOK_BYTES, '\0', &memory);

    (void)state;
    assert_false(content_is_binary(text));
    memory[CONTENT_LOOK_BYTES - 1] = '\0';
    assert_true(content_is_binary(text));
    assert_false(content_is_binary(STR_EMPTY));
    assert_true(content_is_binary(STR("\xff\xfe"
                                      "a\0")));
}

static void newlines_are_counted(void **state)
{
    enum { LENGTH = 700 };

    (void)state;
    for (size_t len = 0; len < LENGTH; len++) {
        cleanup_free char *text = malloc(len + 1);
        size_t wanted = 0;

        assert_non_null(text);
        for (size_t i = 0; i < len; i++) {
            text[i] = i * 7 % 5 == 0 ? '\n' : 'a';
            wanted += text[i] == '\n';
        }
        for (int level = SCAN_BEST; level < SCAN_LEVELS; level++)
            assert_int_equal(
                scan_count_newlines_by((enum scan_level)level, (struct str){text, len}), wanted);
        assert_int_equal(scan_count_newlines((struct str){text, len}), wanted);
    }
}

TEST_MAIN(cmocka_unit_test(lines_are_counted_as_ripgrep_counts),
          cmocka_unit_test(a_line_is_told_with_its_first_match),
          cmocka_unit_test(a_line_end_comes_before_the_next_line_start),
          cmocka_unit_test(a_literal_stands_for_itself), cmocka_unit_test(case_is_unicodes),
          cmocka_unit_test(what_matches_nothing_finds_nothing),
          cmocka_unit_test(a_pattern_that_cannot_be_is_refused_with_words),
          cmocka_unit_test(a_pattern_without_end_is_an_error),
          cmocka_unit_test(a_long_line_costs_no_more_than_its_time),
          cmocka_unit_test(a_slow_line_sees_the_deadline),
          cmocka_unit_test(a_long_text_sees_the_token), cmocka_unit_test(a_long_line_is_searched),
          cmocka_unit_test(a_line_too_long_for_the_engine_is_an_error),
          cmocka_unit_test(a_nul_at_the_beginning_is_binary),
          cmocka_unit_test(newlines_are_counted))
