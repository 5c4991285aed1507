/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <pthread.h>
#include <stdio.h>

#include "authority/names/ignore.h"
#include "base/buf.h"
#include "draw.h"
#include "ignore_alone.h"
#include "ignore_reference.h"

static struct ignore_layer *layer_of(struct ignore_layer *parent, const char *directory,
                                     struct str content)
{
    struct ignore_layer *layer = NULL;
    struct err err = ERR_INIT;

    if (ignore_layer_parse(parent, str_from(directory), content, &layer, &err) < 0)
        fail_msg("%s", err.message);
    return layer;
}

/* One row: rules, a name (with a slash behind a directory's), what is to be said. */
struct row {
    struct str rules;
    struct str name;
    enum ignore_decision decision;
};

#define IGNORED(rules, name)                                                                       \
    {                                                                                              \
        STR_LITERAL(rules), STR_LITERAL(name), IGNORE_IGNORED                                      \
    }
#define INCLUDED(rules, name)                                                                      \
    {                                                                                              \
        STR_LITERAL(rules), STR_LITERAL(name), IGNORE_INCLUDED                                     \
    }
#define NONE(rules, name)                                                                          \
    {                                                                                              \
        STR_LITERAL(rules), STR_LITERAL(name), IGNORE_NONE                                         \
    }

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cleanup_ignore_layer struct ignore_layer *layer = layer_of(NULL, "", rows[i].rules);
        bool is_dir = str_ends_with(rows[i].name, STR("/"));
        struct str name = str_slice(rows[i].name, 0, rows[i].name.len - (is_dir ? 1 : 0));

        if (ignore_decide(layer, name, is_dir) != rows[i].decision)
            fail_msg("\"%.*s\" and \"%.*s\"", STR_ARG(rows[i].rules), STR_ARG(rows[i].name));
    }
}

static void names_match_in_any_directory_and_paths_from_their_own(void **state)
{
    static const struct row rows[] = {
        IGNORED("build", "build"),
        IGNORED("build", "a/b/build/"),
        NONE("build", "builds"),
        NONE("build", "build/x"), /* a walk does not get there */
        IGNORED("build/", "a/build/"),
        NONE("build/", "build"),
        IGNORED("/build", "build"),
        NONE("/build", "a/build"),
        IGNORED("a/build", "a/build"),
        NONE("a/build", "b/a/build"),
        IGNORED("/a/build/", "a/build/"),
        NONE("/a/build/", "a/build"),
        NONE("a/build", "a/b/build"),
        IGNORED("*.o", "main.o"),
        IGNORED("*.o", "a/.o"),
        NONE("*.o", "main.oo"),
        NONE("*.o", "o"),
        IGNORED("*.tar.gz", "a/b.tar.gz"),
        IGNORED("*.o/", "x.o/"),
        NONE("*.o/", "x.o"),
        NONE("/*.o", "a/x.o"),
        IGNORED("/*.o", "x.o"),
        NONE("a//b", "a/b"),
        NONE("//a", "a"),
        NONE("a//", "a/"),
        NONE("/", "a/"),
        NONE("//", "a/"),
        NONE("a", ""),
        NONE("*", ""),
    };

    (void)state;
    check_rows(rows, array_size(rows));
}

static void lines_are_read_as_git_reads_them(void **state)
{
    static const struct row rows[] = {
        NONE("# a\n", "# a"),
        NONE("#a", "#a"),
        IGNORED("\\#a", "#a"),
        IGNORED(" #a", " #a"),
        IGNORED("\\!a", "!a"),
        INCLUDED("!!a", "!a"),
        IGNORED("a  ", "a"),
        NONE("a  ", "a  "),
        IGNORED("a\\ ", "a "),
        IGNORED("a\\  ", "a "),
        IGNORED("a\\\\ ", "a\\"), /* the backslash is the one that is escaped */
        IGNORED("a\t", "a\t"),
        IGNORED("a b", "a b"),
        NONE("   ", " "),
        NONE("\n\n!\n!/\n", "!"),
        NONE("a\\", "a\\"),
        NONE("a\\", "a"),
        NONE("a\\/", "a/"),
        IGNORED("a\r\nb\r\n", "a"),
        IGNORED("a\r\nb\r\n", "b"),
        IGNORED("b\r", "b"),
        IGNORED("b\r\r\n", "b\r"),
        IGNORED("b \r\n", "b"),
        IGNORED("\xef\xbb\xbf"
                "a\n",
                "a"),
        NONE("b\n\xef\xbb\xbf"
             "a\n",
             "a"),
        NONE("\xef\xbb\xbf# a\n", "# a"),
        IGNORED("a\0b\n", "a"),
        IGNORED("x\na", "a"),
        IGNORED("a\\/b", "a/b"),
        NONE("\\/a", "a"),
    };

    (void)state;
    check_rows(rows, array_size(rows));
}

static void wildcards_stay_within_a_component(void **state)
{
    static const struct row rows[] = {
        IGNORED("*", "a/b"),
        IGNORED("a*", "ab"),
        IGNORED("a*", "x/a"),
        IGNORED("a*c", "a.b.c"),
        NONE("a*a", "a"),
        NONE("ab*bc", "abc"),
        IGNORED("*b*", "abc"),
        IGNORED("a?c", "abc"),
        NONE("a?c", "ac"),
        NONE("a?c", "a/c"),
        NONE("/*", "a/b"),
        IGNORED("/a*c", "abc"),
        NONE("/a*c", "a/c"),
        IGNORED("a/*", "a/b"),
        NONE("a/*", "a/b/c"),
        IGNORED("a/*/c", "a/b/c"),
        NONE("a/*/c", "a/c"),
        IGNORED("*/c", "a/c"),
        NONE("*/c", "c"),
        IGNORED("\\*", "*"),
        NONE("\\*", "a"),
        IGNORED("a\\?", "a?"),
        IGNORED("?\xa9", "\xc3\xa9"), /* bytes, as for git */
        NONE("?", "\xc3\xa9"),
        IGNORED("{a,b}", "{a,b}"),
    };

    (void)state;
    check_rows(rows, array_size(rows));
}

static void two_stars_as_a_component_are_directories(void **state)
{
    static const struct row rows[] = {
        IGNORED("**/a", "a"),
        IGNORED("**/a", "x/y/a"),
        NONE("**/a", "x/ya"),
        IGNORED("**/a*/", "x/ab/"),
        IGNORED("**/a/b", "x/a/b"),
        IGNORED("**/a/b", "a/b"),
        NONE("**/a/b", "a/x/b"),
        IGNORED("a/**", "a/b"),
        IGNORED("a/**", "a/b/c"),
        NONE("a/**", "a/"),
        IGNORED("a/**/b", "a/b"),
        IGNORED("a/**/b", "a/x/b"),
        IGNORED("a/**/b", "a/x/y/b"),
        NONE("a/**/b", "a/xb"),
        NONE("a/**/b", "c/a/b"),
        IGNORED("a/**/**/b", "a/b"),
        IGNORED("a/***/b", "a/x/b"),
        IGNORED("/**", "a"),
        IGNORED("/**", "a/b"),
        IGNORED("**", "a/b"),
        IGNORED("**/", "a/b/"),
        NONE("**/", "a/b"),
        IGNORED("**/**", "a"),
        NONE("*/**", "a"),
        IGNORED("a/**/b/**/c", "a/b/x/b/c"),
        NONE("a/**/b/**/c", "a/x/c"),
        /* Elsewhere they are one. */
        IGNORED("foo**/bar", "foox/bar"),
        NONE("foo**/bar", "foobar"),
        NONE("foo**/bar", "foo/x/bar"),
        NONE("a/**b", "a/x/b"),
        IGNORED("a/**b", "a/xb"),
        NONE("a/b**", "a/b/c"),
        /* Before an escaped slash at least one. */
        IGNORED("**\\/a", "x/a"),
        NONE("**\\/a", "a"),
    };

    (void)state;
    check_rows(rows, array_size(rows));
}

static void classes_have_the_members_that_git_gives_them(void **state)
{
    static const struct row rows[] = {
        IGNORED("[ab]", "b"),
        NONE("[ab]", "c"),
        IGNORED("[!ab]", "c"),
        IGNORED("[^ab]", "c"),
        NONE("[!ab]", "a"),
        IGNORED("[a-c]x", "bx"),
        IGNORED("[]]", "]"),
        IGNORED("[!]]", "a"),
        NONE("[!]]", "]"),
        IGNORED("[]-a]", "^"),
        IGNORED("[a-]", "-"),
        IGNORED("[-a]", "-"),
        IGNORED("[--0]", "."),
        IGNORED("[a-c-e]", "-"),
        NONE("[a-c-e]", "d"),
        IGNORED("[c-a]", "c"),
        NONE("[c-a]", "b"),
        IGNORED("[a-\\c]", "b"),
        IGNORED("[\\]]", "]"),
        IGNORED("[\\\\]", "\\"),
        IGNORED("[[:digit:]]", "5"),
        NONE("[[:digit:]]", "a"),
        IGNORED("[[:alpha:][:digit:]_]", "_"),
        IGNORED("[![:space:]]", "x"),
        NONE("[![:space:]]", " "),
        NONE("[[:space:]]", "\v"), /* git knows four kinds of space */
        IGNORED("[[:upper:]-z]", "-"),
        NONE("[[:upper:]-z]", "b"),
        NONE("[[:nope:]a]", "a"),
        NONE("[[::]a]", "a]"),
        IGNORED("[[:]", "["),
        IGNORED("[[:a]", ":"),
        NONE("[a", "[a"),
        NONE("[a-", "a"),
        NONE("[a\\", "a"),
        NONE("[", "["),
        NONE("[!", "["),
        NONE("[[:a", "["),
        IGNORED("\\[a", "[a"),
        NONE("x[/]y", "x/y"),
        IGNORED("x[a/]y", "xay"),
        NONE("x[a/]y", "b/xay"), /* the slash anchors it all the same */
        NONE("x[!a]y/z", "x/y/z"),
        IGNORED("[\x80-\xff]", "\xe9"),
    };

    (void)state;
    check_rows(rows, array_size(rows));
}

static void the_last_rule_that_matches_decides(void **state)
{
    static const struct row rows[] = {
        INCLUDED("*.log\n!keep.log", "keep.log"),
        IGNORED("*.log\n!keep.log", "lose.log"),
        IGNORED("!keep.log\n*.log", "keep.log"),
        INCLUDED("*\n!*/\n!*.c", "a/"),
        INCLUDED("*\n!*/\n!*.c", "a/b.c"),
        IGNORED("*\n!*/\n!*.c", "a/b.h"),
        IGNORED("a\n!a/", "a"),
        INCLUDED("a\n!a/", "a/"),
        INCLUDED("a\n!a\nb", "a"),
        IGNORED("a\n!a\na", "a"),
        INCLUDED("[a]*\n/abc\n*c\n!a?c", "abc"),
        IGNORED("!a?c\n[a]*\n/x\n*y", "abc"),
        IGNORED("!a?c\n!abc\n!*c\n/abc", "abc"),
        INCLUDED("/*\n!/foo", "foo/"),
        NONE("/*\n!/foo", "foo/x"),
    };

    (void)state;
    check_rows(rows, array_size(rows));
}

static void rules_further_down_come_first_and_hold_only_there(void **state)
{
    cleanup_ignore_layer struct ignore_layer *top = layer_of(NULL, "", STR("*.log\n/a/x\nb\n"));
    cleanup_ignore_layer struct ignore_layer *a =
        layer_of(top, "a", STR("!*.log\n/b/deep\nlocal\n"));
    cleanup_ignore_layer struct ignore_layer *ab = layer_of(a, "a/b", STR("/x.log\n"));

    (void)state;
    assert_int_equal(ignore_decide(ab, STR("a/b/x.log"), false), IGNORE_IGNORED);
    assert_int_equal(ignore_decide(ab, STR("a/b/y.log"), false), IGNORE_INCLUDED);
    assert_int_equal(ignore_decide(a, STR("a/x"), false), IGNORE_IGNORED);
    assert_int_equal(ignore_decide(a, STR("a/b/deep"), false), IGNORE_IGNORED);
    assert_int_equal(ignore_decide(a, STR("a/c/deep"), false), IGNORE_NONE);
    assert_int_equal(ignore_decide(a, STR("a/c/local"), false), IGNORE_IGNORED);
    /* Names that are not below a layer's directory. */
    assert_int_equal(ignore_decide(ab, STR("x.log"), false), IGNORE_IGNORED);
    assert_int_equal(ignore_decide(ab, STR("ab/x.log"), false), IGNORE_IGNORED);
    assert_int_equal(ignore_decide(ab, STR("local"), false), IGNORE_NONE);
    assert_int_equal(ignore_decide(ab, STR("a"), true), IGNORE_NONE);
    assert_int_equal(ignore_decide(ab, STR("a/b"), true), IGNORE_IGNORED);
    assert_int_equal(ignore_decide(NULL, STR("a"), true), IGNORE_NONE);
}

static void what_lies_in_an_ignored_directory_stays_ignored(void **state)
{
    cleanup_ignore_layer struct ignore_layer *top =
        layer_of(NULL, "", STR("/gone/\n!kept\n!/gone/back/\nouter\n!/in/outer\n"));
    cleanup_ignore_layer struct ignore_layer *gone = layer_of(top, "gone", STR("!*\n"));

    (void)state;
    assert_int_equal(ignore_decide(gone, STR("gone/kept"), false), IGNORE_INCLUDED);
    assert_int_equal(ignore_decide_alone(gone, STR("gone/kept"), false), IGNORE_IGNORED);
    assert_int_equal(ignore_decide_alone(gone, STR("gone/back/x"), false), IGNORE_IGNORED);
    assert_int_equal(ignore_decide_alone(gone, STR("x/kept"), false), IGNORE_INCLUDED);
    assert_int_equal(ignore_decide_alone(gone, STR("x/y"), false), IGNORE_NONE);
    assert_int_equal(ignore_decide_alone(gone, STR("x/outer/y"), false), IGNORE_IGNORED);
    assert_int_equal(ignore_decide_alone(gone, STR("in/outer/y"), false), IGNORE_NONE);
}

static void of_one_directory_the_file_read_last_counts_first(void **state)
{
    cleanup_ignore_layer struct ignore_layer *exclude = layer_of(NULL, "", STR("a\nb\nc\n"));
    cleanup_ignore_layer struct ignore_layer *git = layer_of(exclude, "", STR("!b\n!c\n"));
    cleanup_ignore_layer struct ignore_layer *own = layer_of(git, "", STR("c\n"));

    (void)state;
    assert_int_equal(ignore_decide(own, STR("a"), false), IGNORE_IGNORED);
    assert_int_equal(ignore_decide(own, STR("b"), false), IGNORE_INCLUDED);
    assert_int_equal(ignore_decide(own, STR("c"), false), IGNORE_IGNORED);
}

static void a_layer_keeps_those_above_it(void **state)
{
    struct ignore_layer *top = layer_of(NULL, "", STR("a\n"));
    cleanup_ignore_layer struct ignore_layer *below = layer_of(top, "x", STR("b\n"));

    (void)state;
    ignore_layer_unref(top);
    assert_int_equal(ignore_decide(below, STR("x/a"), false), IGNORE_IGNORED);
}

static void a_file_without_rules_adds_no_layer(void **state)
{
    cleanup_ignore_layer struct ignore_layer *top = layer_of(NULL, "", STR("a\n"));
    cleanup_ignore_layer struct ignore_layer *same = layer_of(top, "x", STR("# a\n\n[z\n!\n"));

    (void)state;
    assert_ptr_equal(same, top);
    assert_null(layer_of(NULL, "", STR("")));
}

static void assert_too_large(struct ignore_layer *parent, struct str content, const char *message)
{
    struct ignore_layer *layer = parent;
    struct err err = ERR_INIT;

    assert_int_equal(ignore_layer_parse(parent, STR("a"), content, &layer, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.message, message));
    assert_ptr_equal(layer, parent);
    assert_int_equal(ignore_layer_parse(parent, STR("a"), content, &layer, NULL), ERR_TOO_LARGE);
}

static struct str repeat(struct buf *buf, const char *text, size_t count)
{
    buf_clear(buf);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(buf_append_str(buf, str_from(text)), 0);
    return buf_view(buf);
}

static void what_is_too_large_is_refused_as_a_whole(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(2 << 20);
    cleanup_ignore_layer struct ignore_layer *full = NULL;
    cleanup_ignore_layer struct ignore_layer *wild = NULL;
    cleanup_ignore_layer struct ignore_layer *deep = NULL;

    (void)state;
    assert_too_large(NULL, repeat(&buf, "#", IGNORE_MAX_FILE_BYTES + 1), "256 KiB");
    assert_null(layer_of(NULL, "", repeat(&buf, "#", IGNORE_MAX_FILE_BYTES)));
    assert_too_large(NULL, repeat(&buf, "a\n", IGNORE_MAX_RULES + 1), "8192 ignore rules");
    ignore_layer_unref(layer_of(NULL, "", repeat(&buf, "a\n#\n", IGNORE_MAX_RULES)));

    repeat(&buf, "#", IGNORE_MAX_FILE_BYTES - 2);
    assert_int_equal(buf_append_str(&buf, STR("\na")), 0);
    for (size_t i = 0; i < IGNORE_MAX_CHAIN_BYTES / IGNORE_MAX_FILE_BYTES; i++) {
        struct ignore_layer *next = layer_of(full, "", buf_view(&buf));

        ignore_layer_unref(full);
        full = next;
    }
    assert_too_large(full, STR("a"), "1 MiB");

    wild = layer_of(NULL, "", repeat(&buf, "a[b]*\n", IGNORE_MAX_WILDCARD_BYTES / 3 / 4));
    assert_too_large(wild, repeat(&buf, "[ab]", IGNORE_MAX_WILDCARD_BYTES / 4 * 3 + 4), "64 KiB");
    ignore_layer_unref(layer_of(wild, "", repeat(&buf, "[ab]", IGNORE_MAX_WILDCARD_BYTES / 4 * 3)));
    ignore_layer_unref(layer_of(wild, "", repeat(&buf, "*.c\n", IGNORE_MAX_RULES)));

    for (size_t i = 0; i < IGNORE_MAX_LAYERS; i++) {
        struct ignore_layer *next = layer_of(deep, "", STR("a"));

        ignore_layer_unref(deep);
        deep = next;
    }
    assert_too_large(deep, STR("a"), "512 nested");
}

/* Each of these would take longer than anybody waits if it were tried in every way. */
static void hostile_rules_end(void **state)
{
    cleanup_buf struct buf rules = BUF_INIT(IGNORE_MAX_FILE_BYTES);
    cleanup_buf struct buf name = BUF_INIT(4096);
    static const struct {
        const char *rule;
        size_t rule_count;
        const char *end;
        const char *part;
        size_t part_count;
    } cases[] = {
        {"*a", 100, "b", "a", 250},      {"a*[ab]*", 60, "c", "ab", 120},
        {"**/a/", 100, "b", "a/", 1000}, {"**/*a*a*a/", 100, "b", "aaaa/", 700},
        {"[[:", 80000, "]b", "a", 10},   {"*", 200000, "b", "a", 250},
        {"[", 200000, "b", "a", 250},    {"[a]", 60000, "b", "a", 250},
        {"a/", 100000, "b", "a/", 2000},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        cleanup_ignore_layer struct ignore_layer *layer = NULL;

        repeat(&rules, cases[i].rule, cases[i].rule_count);
        assert_int_equal(buf_append_str(&rules, str_from(cases[i].end)), 0);
        repeat(&name, cases[i].part, cases[i].part_count);
        assert_int_equal(buf_append_str(&name, STR("a")), 0);
        layer = layer_of(NULL, "", buf_view(&rules));
        assert_int_equal(ignore_decide(layer, buf_view(&name), false), IGNORE_NONE);
    }
}

/* Text of every length: endings that are too long for the table of lengths are found too. */
static void long_names_and_endings_are_found(void **state)
{
    (void)state;
    for (size_t len = 1; len < 250; len++) {
        char text[260] = {0};
        cleanup_ignore_layer struct ignore_layer *plain = NULL;
        cleanup_ignore_layer struct ignore_layer *ending = NULL;

        memset(text, 'x', len + 3);
        text[0] = '*';
        ending = layer_of(NULL, "", (struct str){text, len + 1});
        plain = layer_of(NULL, "", (struct str){text + 1, len});
        assert_int_equal(ignore_decide(ending, (struct str){text + 1, len}, false), IGNORE_IGNORED);
        assert_int_equal(ignore_decide(ending, (struct str){text, len + 2}, false), IGNORE_IGNORED);
        assert_int_equal(ignore_decide(ending, (struct str){text + 1, len - 1}, false),
                         IGNORE_NONE);
        assert_int_equal(ignore_decide(plain, (struct str){text + 1, len}, false), IGNORE_IGNORED);
        assert_int_equal(ignore_decide(plain, (struct str){text + 1, len + 1}, false), IGNORE_NONE);
    }
}

/* ---- Threads ---- */

enum { THREADS = 4, ROUNDS = 2000 };

static void *walk_for_a_while(void *data)
{
    struct ignore_layer *top = data;

    for (size_t i = 0; i < ROUNDS; i++) {
        cleanup_ignore_layer struct ignore_layer *held = ignore_layer_ref(top);
        cleanup_ignore_layer struct ignore_layer *below = NULL;

        if (ignore_layer_parse(held, STR("a"), STR("!*.o\n"), &below, NULL) < 0 ||
            ignore_decide(below, STR("a/x.o"), false) != IGNORE_INCLUDED ||
            ignore_decide(below, STR("b/x.o"), false) != IGNORE_IGNORED)
            return data;
    }
    ignore_layer_unref(top);
    return NULL;
}

static void threads_share_layers(void **state)
{
    struct ignore_layer *top = layer_of(NULL, "", STR("*.o\nbuild/\n"));
    pthread_t threads[THREADS];

    (void)state;
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, walk_for_a_while, ignore_layer_ref(top)),
                         0);
    /* Whoever is last frees it. */
    ignore_layer_unref(top);
    for (size_t i = 0; i < THREADS; i++) {
        void *failed;

        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

/* ---- Generated ---- */

static const char *const rule_pieces[] = {
    "a",  "a",    "b",   "b",     "c",    ".c",   "*",   "*",  "?",           "/",   "/",
    "**", "/**/", "**/", "/**",   "[ab]", "[!a]", "[",   "]",  "-",           "!",   "#",
    "\\", "\\*",  "\\/", "[a-c]", "[^",   "[[:",  ":]]", " ",  "[[:punct:]]", "\r",  "\n",
    "\n", "\n",   "\n!", "\n*",   "\n/",  "/\n",  "ab",  "a/", "[a/]",        "***", "*.c",
};
static const char *const name_pieces[] = {
    "a", "a", "b", "b", "c", ".c", "ab", "/", "/", "/", "[", "]", "*", "!", "#", " ", "-", "\\",
};

static void generated_rules_decide_as_the_reference_says(void **state)
{
    size_t decided = 0;
    size_t compared = 0;

    (void)state;
    draw_seed = 88172645463325252U;
    while (compared < 200000) {
        char rules_text[128], name_text[64];
        struct str rules = draw_text(rules_text, 10, rule_pieces, array_size(rule_pieces));
        cleanup_ignore_layer struct ignore_layer *layer = layer_of(NULL, "", rules);

        for (size_t i = 0; i < 20; i++) {
            struct str name = draw_text(name_text, 6, name_pieces, array_size(name_pieces));
            bool is_dir = draw(2) == 0;
            enum ignore_decision decision;

            if (name.ptr[0] == '/' || name.ptr[name.len - 1] == '/' ||
                str_find(name, STR("//")) != SIZE_MAX)
                continue;
            decision = ignore_decide(layer, name, is_dir);
            if (decision != ignore_reference_decide(rules, name, is_dir))
                fail_msg("\"%.*s\" and \"%.*s\"", STR_ARG(rules), STR_ARG(name));
            decided += decision != IGNORE_NONE;
            compared++;
        }
    }
    assert_in_range(decided, compared / 20, compared / 2);
}

TEST_MAIN(cmocka_unit_test(names_match_in_any_directory_and_paths_from_their_own),
          cmocka_unit_test(lines_are_read_as_git_reads_them),
          cmocka_unit_test(wildcards_stay_within_a_component),
          cmocka_unit_test(two_stars_as_a_component_are_directories),
          cmocka_unit_test(classes_have_the_members_that_git_gives_them),
          cmocka_unit_test(the_last_rule_that_matches_decides),
          cmocka_unit_test(rules_further_down_come_first_and_hold_only_there),
          cmocka_unit_test(what_lies_in_an_ignored_directory_stays_ignored),
          cmocka_unit_test(of_one_directory_the_file_read_last_counts_first),
          cmocka_unit_test(a_layer_keeps_those_above_it),
          cmocka_unit_test(a_file_without_rules_adds_no_layer),
          cmocka_unit_test(what_is_too_large_is_refused_as_a_whole),
          cmocka_unit_test(hostile_rules_end), cmocka_unit_test(long_names_and_endings_are_found),
          cmocka_unit_test(threads_share_layers),
          cmocka_unit_test(generated_rules_decide_as_the_reference_says))
