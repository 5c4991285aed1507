/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generated patterns over generated texts: with every scan, with and without JIT, the same lines
 * and matches as PCRE2 alone.
 */
#include "test.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "draw.h"
#include "search/matcher.h"
#include "search_reference.h"

enum { PATTERNS = 6000, TEXTS = 4, TEXT_MAX_BYTES = 1 << 16, PATTERN_MAX = 1 << 10 };

#define DRAW(list) (list)[draw(array_size(list))]

static const char *const atoms[] = {
    "a",
    "b",
    "c",
    "_",
    "k",
    "s",
    "ab",
    "foo",
    "bar",
    "init",
    "x",
    "K",
    "S",
    "1",
    "\\.",
    "\\(",
    ".",
    "\\w",
    "\\d",
    "\\s",
    "\\W",
    "\\S",
    "\\D",
    "[a-c]",
    "[^a]",
    "[ks]",
    "[0-9]",
    "[a-z_]",
    "[\\w-]",
    "[^\\s]",
    "[\xc3\xb6-\xc3\xbc]",
    "\xc3\xb6",
    "\xc3\x9f",
    "\xd0\xb8",
    "\xd1\x80",
    "\xce\xb8",
    "\xc7\x85",
    "\xe2\x84\xaa",
    "\xc5\xbf",
    "\\x{e9}",
    "\\b",
    "\\B",
    "^",
    "$",
    "\\t",
    "}",
    "\\}",
    "[]a]",
    "(?=a)",
    "(?!b)",
    "(?<=a)",
    "(?<!b)",
    "(?i)",
    "(?-i)",
    "\\x41",
    "\\p{Lu}",
    "\\A",
    "\\z",
    " ",
    "\\1",
    "(a)",
    "\\pL",
    "[^\xc3\xb6k]",
    "\\r",
    "\\n",
    "{",
    "[a\\n]",
    "(?>a|ab)",
    "\\Qa.b\\E",
    "[[:alpha:]]",
    "\\h",
    "\\N",
};
static const char *const counts[] = {"*",  "+",  "?",     "{2}", "{2,}",  "{1,3}",
                                     "*?", "+?", "??",    "{0}", "{3}",   "{4,}",
                                     "*+", "++", "{0,2}", "{9}", "{2}{2}"};

static void draw_sequence(struct buf *out, unsigned depth);

static void draw_atom(struct buf *out, unsigned depth)
{
    if (depth > 0 && draw(5) == 0) {
        static const char *const opens[] = {"(", "(?:", "(?i:", "(?<n>", "(?>", "(?:", "(?s:"};

        buf_append_str(out, str_from(DRAW(opens)));
        draw_sequence(out, depth - 1);
        while (draw(3) == 0) {
            buf_append_char(out, '|');
            draw_sequence(out, depth - 1);
        }
        buf_append_char(out, ')');
    } else {
        buf_append_str(out, str_from(DRAW(atoms)));
    }
    if (draw(4) == 0)
        buf_append_str(out, str_from(DRAW(counts)));
}

static void draw_sequence(struct buf *out, unsigned depth)
{
    for (size_t left = 1 + draw(5); left > 0; left--)
        draw_atom(out, depth);
}

static void draw_pattern(struct buf *out)
{
    buf_clear(out);
    draw_sequence(out, 3);
    while (draw(6) == 0) {
        buf_append_char(out, '|');
        draw_sequence(out, 2);
    }
}

static void draw_lines(struct buf *out)
{
    static const char *const pieces[] = {
        "a",
        "b",
        "c",
        "_",
        "k",
        "K",
        "s",
        "S",
        "ab",
        "foo",
        "bar",
        "init",
        "1",
        "22",
        ".",
        "(",
        "{",
        "}",
        " ",
        "\t",
        "\n",
        "\n",
        "\n",
        "\r\n",
        "\xc3\xb6",
        "\xc3\x96",
        "\xc3\x9f",
        "\xe1\xba\x9e",
        "\xd0\xb8",
        "\xd0\x98",
        "\xd1\x80",
        "\xd0\xa0",
        "\xce\xb8",
        "\xcf\x91",
        "\xc7\x85",
        "\xc7\x86",
        "\xe2\x84\xaa",
        "\xc5\xbf",
        "\xc3\xa9",
        "abcabcabc_",
        "a.b",
        "AB",
        "FOO",
        "\xf0\x9f\x98\x80",
        "x",
        "\xc2\xa0",
        "X",
        "A",
        "B",
        "aaaaaaaaaa",
        "INIT",
        /* Not valid: */
        "\xc3",
        "\x80",
        "\xff",
        "\xe2\x84",
        "\xed\xa0\x80",
    };
    size_t count = array_size(pieces) - (draw(2) == 0 ? 5 : 0);
    size_t most = draw(4) == 0 ? 400 : 60;

    buf_clear(out);
    for (size_t left = draw(most); left > 0; left--)
        buf_append_str(out, str_from(pieces[draw(count)]));
}

struct totals {
    size_t patterns, lines, scanned;
};

static bool is_same(const struct matcher_line *a, const struct matcher_line *b)
{
    return a->is_found == b->is_found && a->start == b->start && a->end == b->end &&
           a->match_start == b->match_start && a->match_end == b->match_end;
}

static void compare(struct str pattern_text, const struct pattern_options *options, struct str text,
                    struct search_reference *reference, struct matcher *matcher,
                    struct totals *totals)
{
    size_t from = 0, count = 0, counted = 0;

    for (;;) {
        struct matcher_line wanted, found;

        if (!search_reference_next(reference, text, from, &wanted))
            return;
        if (matcher_next(matcher, text, from, &found) < 0 || !is_same(&wanted, &found))
            fail_msg("/%.*s/%s%s level %d jit %d: \"%.*s\" from %zu: %d [%zu %zu] %zu-%zu, not %d "
                     "[%zu %zu] %zu-%zu",
                     STR_ARG(pattern_text), options->is_regex ? "" : "F",
                     options->ignores_case ? "i" : "", options->level, !options->has_no_jit,
                     STR_ARG(text), from, found.is_found, found.start, found.end, found.match_start,
                     found.match_end, wanted.is_found, wanted.start, wanted.end, wanted.match_start,
                     wanted.match_end);
        if (!wanted.is_found)
            break;
        count++;
        from = wanted.end + 1;
    }
    assert_int_equal(matcher_count(matcher, text, &counted), 0);
    if (counted != count)
        fail_msg("/%.*s/: %zu lines counted, not %zu: \"%.*s\"", STR_ARG(pattern_text), counted,
                 count, STR_ARG(text));
    totals->lines += count;
}

/* The text in memory of exactly its size, so that a sanitizer sees a byte too far. */
static struct str exact_copy(struct str text, char **out_memory)
{
    *out_memory = malloc(text.len > 0 ? text.len : 1);
    assert_non_null(*out_memory);
    memcpy(*out_memory, text.ptr, text.len);
    return (struct str){*out_memory, text.len};
}

/* Each level that is there with compiled code, and the best one also without. */
static bool choose(struct pattern_options *options, enum scan_level level)
{
    options->level = level;
    options->has_no_jit = level == SCAN_BEST;
    return scan_has_level(level);
}

static void compare_pattern(struct str pattern_text, struct pattern_options options,
                            struct buf *text, struct totals *totals)
{
    struct search_reference references[2]; /* compiled, interpreted */
    struct pattern *patterns[SCAN_LEVELS] = {NULL};
    struct matcher *matchers[SCAN_LEVELS] = {NULL};

    if (!search_reference_init(&references[0], pattern_text, options.is_regex, options.ignores_case,
                               true) ||
        !search_reference_init(&references[1], pattern_text, options.is_regex, options.ignores_case,
                               false))
        return;
    for (int level = SCAN_BEST; level < SCAN_LEVELS; level++) {
        struct err err = ERR_INIT;

        if (!choose(&options, (enum scan_level)level))
            continue;
        if (pattern_compile(pattern_text, &options, &patterns[level], &err) < 0)
            fail_msg("/%.*s/: %s", STR_ARG(pattern_text), err.message);
        assert_int_equal(matcher_new(patterns[level], NULL, &matchers[level]), 0);
    }
    for (size_t t = 0; t < TEXTS; t++) {
        cleanup_free char *memory = NULL;
        struct str exact;

        draw_lines(text);
        exact = exact_copy(buf_view(text), &memory);
        for (int level = SCAN_BEST; level < SCAN_LEVELS; level++) {
            if (!choose(&options, (enum scan_level)level))
                continue;
            /* The interpreter sees no line end behind invalid bytes; what was compiled does. */
            if (options.has_no_jit && !utf8_is_valid(exact))
                continue;
            compare(pattern_text, &options, exact, &references[options.has_no_jit], matchers[level],
                    totals);
        }
    }
    for (int i = SCAN_BEST; i < SCAN_LEVELS; i++) {
        matcher_free(matchers[i]);
        pattern_free(patterns[i]);
    }
    search_reference_done(&references[0]);
    search_reference_done(&references[1]);
    totals->patterns++;
}

static void generated_patterns_match_as_pcre2_alone(void **state)
{
    cleanup_buf struct buf pattern = BUF_INIT(PATTERN_MAX);
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX_BYTES);
    const char *given = getenv("GATEHOUSE_SEARCH_SEED");
    struct totals totals = {0};

    (void)state;
    draw_seed = given != NULL ? strtoull(given, NULL, 10) | 1 : 88172645463325252U;
    while (totals.patterns < PATTERNS) {
        struct pattern_options options = {.is_regex = draw(8) > 0, .ignores_case = draw(3) == 0};

        draw_pattern(&pattern);
        compare_pattern(buf_view(&pattern), options, &text, &totals);
    }
    /* Patterns that match nothing would show nothing. */
    assert_true(totals.lines > PATTERNS);
}

/* Texts long enough for several vectors, with what is searched for at every place once. */
static void matches_are_found_at_every_place(void **state)
{
    static const char *const texts[] = {
        "foo_init(", "k",  "[a-c]{9}_",        "^xb",      "b$", "a{25,}", "\\w{25,}",
        "ab|foo",    "s_", "[0-9]{2}\\.[a-c]", "\xc3\xb6x"};
    static const char *const matching[] = {"foo_init(",
                                           "k",
                                           "abcabcabc_",
                                           "xb",
                                           "b",
                                           "aaaaaaaaaaaaaaaaaaaaaaaaa",
                                           "aaaaaaaaaaaaaaaaaaaaaaaab",
                                           "foo",
                                           "s_",
                                           "22.c",
                                           "\xc3\xb6x"};
    enum { LENGTH = 300 };

    (void)state;
    for (size_t i = 0; i < array_size(texts); i++) {
        for (int level = SCAN_PLAIN; level < SCAN_LEVELS; level++) {
            struct pattern_options options = {.is_regex = strchr(texts[i], '(') == NULL,
                                              .level = (enum scan_level)level};
            cleanup_pattern struct pattern *pattern = NULL;
            cleanup_matcher struct matcher *matcher = NULL;
            struct str match = str_from(matching[i]);

            if (!scan_has_level(options.level))
                continue;
            assert_int_equal(pattern_compile(str_from(texts[i]), &options, &pattern, NULL), 0);
            assert_int_equal(matcher_new(pattern, NULL, &matcher), 0);
            for (size_t at = 0; at + match.len <= LENGTH; at++) {
                cleanup_free char *text = malloc(LENGTH);
                struct matcher_line line;

                assert_non_null(text);
                memset(text, '-', LENGTH);
                memcpy(text + at, match.ptr, match.len);
                if (texts[i][0] == '^' && at > 0)
                    text[at - 1] = '\n';
                if (texts[i][strlen(texts[i]) - 1] == '$' && at + match.len < LENGTH)
                    text[at + match.len] = '\n';
                assert_int_equal(matcher_next(matcher, (struct str){text, LENGTH}, 0, &line), 0);
                if (!line.is_found || line.match_start != at || line.match_end != at + match.len)
                    fail_msg("/%s/ level %d at %zu", texts[i], level, at);
            }
        }
    }
}

/* A long text is scanned piece by piece, with a look at the token between them. */
static void matches_are_found_where_two_pieces_meet(void **state)
{
    static const char *const patterns[] = {"foo_init\\(", "[f-h]oo_[a-z]{4}", "\\w{8}", "^foo_init",
                                           "(?i)INIT\\($"};
    enum { PIECE = 1 << 20, LENGTH = PIECE + 4096, LINE = 1024, AROUND = 27 };
    static const char match[] = "foo_init(";
    cleanup_free char *text = malloc(LENGTH);

    (void)state;
    assert_non_null(text);
    /* Few lines, since the engine sees each of them where no scan helps. */
    memset(text, '-', LENGTH);
    for (size_t at = 0; at < LENGTH; at += LINE)
        text[at] = '\n';
    for (size_t i = 0; i < array_size(patterns); i++) {
        for (int level = SCAN_PLAIN; level < SCAN_LEVELS; level++) {
            struct pattern_options options = {.is_regex = true, .level = (enum scan_level)level};
            cleanup_pattern struct pattern *pattern = NULL;
            cleanup_matcher struct matcher *matcher = NULL;

            if (!scan_has_level(options.level))
                continue;
            assert_int_equal(pattern_compile(str_from(patterns[i]), &options, &pattern, NULL), 0);
            assert_int_equal(matcher_new(pattern, NULL, &matcher), 0);
            for (size_t at = PIECE - AROUND; at < PIECE + AROUND; at += 2) {
                struct matcher_line line;

                memset(text + PIECE - AROUND - 1, '\n', 3 * (size_t)AROUND);
                memcpy(text + at, match, sizeof(match) - 1);
                assert_int_equal(matcher_next(matcher, (struct str){text, LENGTH}, 0, &line), 0);
                if (!line.is_found || line.start != at || line.end != at + sizeof(match) - 1)
                    fail_msg("/%s/ level %d at %zu", patterns[i], level, at);
            }
        }
    }
}

TEST_MAIN(cmocka_unit_test(generated_patterns_match_as_pcre2_alone),
          cmocka_unit_test(matches_are_found_at_every_place),
          cmocka_unit_test(matches_are_found_where_two_pieces_meet))
