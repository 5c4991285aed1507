/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "authority/names/glob.h"
#include "authority/names/path.h"
#include "base/buf.h"
#include "base/cleanup.h"

enum { ARENA_BYTES = 8 << 20 };

static struct arena arena = ARENA_INIT(ARENA_BYTES);

static int reset(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static const struct glob *compile(struct str pattern)
{
    const struct glob *glob = NULL;
    struct err err = ERR_INIT;

    if (glob_compile(&arena, pattern, &glob, &err) < 0)
        fail_msg("%s", err.message);
    return glob;
}

struct pair {
    const char *pattern;
    struct str name;
    bool is_match;
};

static void check_pairs(const struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct glob *glob = compile(str_from(pairs[i].pattern));

        if (glob_matches(glob, pairs[i].name) != pairs[i].is_match)
            fail_msg("\"%s\" and \"%.*s\"", pairs[i].pattern, STR_ARG(pairs[i].name));
    }
}

#define YES(pattern, name)                                                                         \
    {                                                                                              \
        pattern, STR_LITERAL(name), true                                                           \
    }
#define NO(pattern, name)                                                                          \
    {                                                                                              \
        pattern, STR_LITERAL(name), false                                                          \
    }

static int join(void *data, const char *absolute)
{
    struct buf *joined = data;

    return buf_printf(joined, "%s ", absolute);
}

static void a_pattern_below_a_folder_is_written_from_the_root(void **state)
{
    static const struct {
        const char *folder;
        const char *pattern;
        const char *absolute;
    } rows[] = {
        {"/srv/x", ".env", "/srv/x/**/.env "},
        {"/srv/x/", "/.env", "/srv/x/.env "},
        {"/srv/x", "a/b*", "/srv/x/a/b* "},
        {"/srv/x", "**", "/srv/x/**/** "},
        {"/srv/x", "{a,b/c,/d}", "/srv/x/**/a /srv/x/b/c /srv/x/d "},
        {"/", "k", "/**/k "},
        {"/s*[v]/{x,y}", "k/l", "/s\\*\\[v\\]/\\{x\\,y\\}/k/l "},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        cleanup_buf struct buf joined = BUF_INIT(1 << 10);
        const char *text;

        assert_int_equal(glob_each_below(&arena, str_from(rows[i].folder),
                                         str_from(rows[i].pattern), join, &joined, NULL),
                         0);
        assert_int_equal(buf_terminate(&joined, &text), 0);
        assert_string_equal(text, rows[i].absolute);
    }
    assert_int_equal(glob_each_below(&arena, STR("/srv"), STR("a["), join, NULL, NULL),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(
        glob_each_below(&arena, STR("/srv"), STR("{a,}"), join, &(struct buf)BUF_INIT(0), NULL),
        ERR_TOO_LARGE); /* what the visitor returned */
    assert_true(glob_matches(compile(STR("/s\\*/**/.env")), STR("s*/a/.env")));
}

static void wildcards_stay_within_a_component(void **state)
{
    static const struct pair pairs[] = {
        YES("/*", "a"),
        YES("/a*", "a"),
        YES("/a*", "abc"),
        YES("/*c", "abc"),
        YES("/a*c", "ac"),
        YES("/a*c", "abbc"),
        NO("/a*c", "abcd"),
        NO("/a*a", "a"),
        YES("/a*a", "aa"),
        NO("/ab*bc", "abc"),
        YES("/*b*", "abc"),
        NO("/*b*", "ac"),
        YES("/?", "a"),
        NO("/?", "ab"),
        NO("/??", "a"),
        NO("/*", ""),
        NO("/?", ""),
        NO("/a*c", "a/c"),
        NO("/a?c", "a/c"),
        NO("/a[!b]c", "a/c"),
        NO("/a[.-0]c", "a/c"),
        YES("/*/c", "a/c"),
        NO("/*/c", "c"),
        NO("/*/c", "a/b/c"),
        YES("/a**c", "abbc"),
        NO("/a**c", "a/c"),
        YES("/***", "abc"),
        NO("/a***/c", "a/b/c"),
        YES("/*a*b?d", "xaabcd"),
        NO("/*a*b?d", "xaabd"),
        YES("/*ab?*z", "abaabcz"),
    };

    (void)state;
    check_pairs(pairs, array_size(pairs));
}

static void dotfiles_are_names_like_any_other(void **state)
{
    static const struct pair pairs[] = {
        YES("/*", ".env"),    YES("/?env", ".env"),  YES("/[.]env", ".env"), YES("*", ".env"),
        YES("/**/b", ".a/b"), YES("/*.pem", ".pem"), YES("..a", "x/..a"),    YES("/.../a", ".../a"),
    };

    (void)state;
    check_pairs(pairs, array_size(pairs));
}

static void without_a_slash_any_directory_will_do(void **state)
{
    static const struct pair pairs[] = {
        YES(".env", ".env"),      YES(".env", "a/b/.env"), NO(".env", "a/.env2"),
        NO(".env", "a.env"),      YES("*.key", "a/b.key"), YES("*.key", "b.key/c"),
        NO("*.key", "b.keys/c"),  NO("/.env", "a/.env"),   YES("/.env", ".env"),
        NO("a/.env", "b/a/.env"), YES("a/.env", "a/.env"), YES("/a/.env", "a/.env"),
    };

    (void)state;
    check_pairs(pairs, array_size(pairs));
}

static void a_match_holds_for_all_below_it(void **state)
{
    static const struct pair pairs[] = {
        YES("/a", "a/b/c"),     NO("/a", "ab"),         YES("/a/b", "a/b/c/d"),
        NO("/a/b", "a"),        NO("/a/b", "a/bc"),     YES("node_modules", "x/node_modules/y/z"),
        YES("/a*/b", "ax/b/c"), YES("/a/*", "a/b/c/d"), NO("/a/*", "a"),
    };

    (void)state;
    check_pairs(pairs, array_size(pairs));
}

static void two_stars_take_any_number_of_components(void **state)
{
    static const struct pair pairs[] = {
        YES("secrets/**", "secrets/a"),
        YES("secrets/**", "secrets/a/b/c"),
        YES("secrets/**", "secrets"),
        NO("secrets/**", "secretsx"),
        NO("secrets/**", "a/secrets/b"),
        YES("**/secrets/**", "a/secrets/b"),
        YES("**/x", "x"),
        YES("**/x", "a/b/x"),
        NO("**/x", "a/b/xy"),
        YES("a/**/b", "a/b"),
        YES("a/**/b", "a/x/b"),
        YES("a/**/b", "a/x/y/b"),
        NO("a/**/b", "x/a/b"),
        NO("a/**/b", "ab"),
        NO("a/**/b", "a/x/c"),
        YES("a/**/**/b", "a/b"),
        YES("**/a/**/b", "x/a/y/a/z/b"),
        YES("**/a/b", "a/a/b"),
        YES("**/a/b", "a/x/a/a/b"),
        NO("**/a/b", "a/x/b"),
        YES("**/a/*/c/**/d", "a/a/b/c/c/x/d"),
        NO("**/a/*/c/**/d", "a/a/b/x/c/d"),
        YES("a/**/*.c", "a/b.c"),
        YES("a/**/*.c", "a/x/b.c/d"),
        YES("**", ""),
        YES("**", "a/b"),
        YES("/**", ""),
        YES("**/**", "a"),
        NO("**/*", ""),
        NO("*", ""),
        NO("a/**", ""),
        NO("**/a", ""),
    };

    (void)state;
    check_pairs(pairs, array_size(pairs));
}

static void classes_hold_characters_and_ranges(void **state)
{
    static const struct pair pairs[] = {
        YES("/[abc]", "b"),
        NO("/[abc]", "d"),
        YES("/[a-c]x", "bx"),
        NO("/[a-c]", "B"),
        NO("/[!a-c]", "b"),
        YES("/[!a-c]", "d"),
        YES("/[^a-c]", "d"),
        NO("/[^a-c]", "b"),
        YES("/[a^]", "^"),
        YES("/[a!]", "!"),
        YES("/[]]", "]"),
        YES("/[]a]", "a"),
        NO("/[!]a]", "]"),
        YES("/[!]a]", "b"),
        YES("/[a-]", "-"),
        YES("/[-a]", "-"),
        NO("/[a-]", "b"),
        YES("/[+--]", ","),
        YES("/[\\]]", "]"),
        YES("/[\\!a]", "!"),
        YES("/[\\\\]", "\\"),
        YES("/[a\\-c]", "-"),
        NO("/[a\\-c]", "b"),
        YES("/[\\a-\\c]", "b"),
        YES("/[*?]", "*"),
        NO("/[*?]", "a"),
        YES("/[{,}]", ","),
        YES("/{[,],a}x", ",x"),
        YES("/x[0-9][0-9]*", "x42y"),
        NO("/x[0-9][0-9]*", "x4y"),
        YES("/a]", "a]"),
        YES("/[[]", "["),
        YES("/*[0-9].c", "a1b2.c"),
    };

    (void)state;
    check_pairs(pairs, array_size(pairs));
}

static void each_choice_of_braces_is_a_pattern(void **state)
{
    static const struct pair pairs[] = {
        YES("/{a,b}", "a"),
        YES("/{a,b}", "b"),
        YES("/{a,b,c,d}x", "ax"),
        YES("/{a,b,c,d}x", "bx"),
        YES("/{a,b,c,d}x", "dx"),
        NO("/{a,b,c,d}x", "ad}x"),
        NO("/{a,b}", "c"),
        YES("*.{c,h}", "x/y.h"),
        YES("/{a,{b,c}d}e", "cde"),
        NO("/{a,{b,c}d}e", "ce"),
        YES("/{a,{b,c}d}e", "ae"),
        YES("/{a,b}{c,d}{e,f}", "bdf"),
        YES("/{,a}b", "b"),
        YES("/{,a}b", "ab"),
        YES("/{a}", "a"),
        YES("/a{}b", "ab"),
        YES("/{a,b/c}/d", "b/c/d"),
        NO("/{a,b/c}/d", "b/d"),
        YES("{.env,keys/x}", "a/.env"),
        NO("{.env,keys/x}", "a/keys/x"),
        YES("{.env,keys/x}", "keys/x"),
        YES("{/,}a", "a"),
        YES("{/,}a", "b/a"),
        YES("/{*,x}*/{**,y}/z", "a/b/c/z"),
        YES("/a,b", "a,b"),
        YES("/{a\\,b,c}", "a,b"),
        NO("/{a\\,b,c}", "a"),
        YES("/\\{a,b\\}", "{a,b}"),
        NO("/\\{a,b\\}", "a"),
        YES("/{\\},x}", "}"),
        YES("/{{{a,b},c},d}", "b"),
        YES("/{{{a,b},c},d}", "d"),
        YES("/x{{1,2},{3,4}}y", "x3y"),
        NO("/x{{1,2},{3,4}}y", "x33y"),
    };

    (void)state;
    check_pairs(pairs, array_size(pairs));
}

static void a_backslash_takes_the_next_character(void **state)
{
    static const struct pair pairs[] = {
        YES("/\\*", "*"),   NO("/\\*", "a"),      YES("/\\?", "?"),
        NO("/\\?", "a"),    YES("/\\[a]", "[a]"), NO("/\\[a]", "a"),
        YES("/\\\\", "\\"), YES("/\\a", "a"),     YES("/\\**", "*x"),
        NO("/\\**", "x"),   YES("/*\\*", "x*"),   NO("/*\\*", "x"),
        NO("/\\*\\*", "a"), NO("/\\**/b", "a/b"), YES("/\\\xc3\xa4?", "\xc3\xa4x"),
    };

    (void)state;
    check_pairs(pairs, array_size(pairs));
}

static void characters_are_utf8_or_single_bytes(void **state)
{
    static const struct pair pairs[] = {
        YES("/?", "\xc3\xa9"),
        NO("/??", "\xc3\xa9"),
        YES("/?x", "\xf0\x9f\x98\x80x"),
        YES("/[\xc3\xa4-\xc3\xbc]", "\xc3\xb6"),
        NO("/[\xc3\xa4-\xc3\xbc]", "z"),
        YES("/[!a]", "\xc3\xa9"),
        YES("/*\xc3\xa9", "caf\xc3\xa9"),
        NO("/caf\xc3\xa9", "cafe\xcc\x81"),
        /* No UTF-8: a byte is a character. */
        YES("/caf?", "caf\xe9"),
        YES("/??", "\xff\xfe"),
        NO("/?", "\xff\xfe"),
        YES("/[!a]", "\xff"),
        YES("/caf\xe9", "caf\xe9"),
        YES("/*\xe9", "caf\xe9"),
        YES("/[\xff]", "\xff"),
        NO("/[\xff]", "\xfe"),
        YES("/[\x80-\xff]", "\xe9"),
        NO("/[\x80-\xff]", "\xc3\xa9"),
        /* And no part of one that is. */
        NO("/*\xa9", "\xc3\xa9"),
        NO("/\xc3?", "\xc3\xa9"),
        NO("/\xc3*", "\xc3\xa9"),
        NO("/\xc3\\\xa9", "\xc3\xa9"),
    };

    (void)state;
    check_pairs(pairs, array_size(pairs));
}

static void the_rest_is_literal(void **state)
{
    static const struct pair pairs[] = {
        YES("!a", "!a"),      NO("!a", "b"),        YES("/#x", "#x"),     YES("/a b", "a b"),
        NO("/A", "a"),        NO("/[A-Z]", "a"),    YES("/+(a)", "+(a)"), NO("/+(a)", "a"),
        YES("/a\nb", "a\nb"), YES("/~/$x", "~/$x"), YES("/^a$", "^a$"),   NO("/a.c", "abc"),
        YES("/%2e", "%2e"),   NO("/%61", "a"),
    };

    (void)state;
    check_pairs(pairs, array_size(pairs));
}

static void check_refused(struct str pattern, const char *word)
{
    const struct glob *glob = NULL;
    struct err err = ERR_INIT;
    int r = glob_compile(&arena, pattern, &glob, &err);

    if (r != ERR_INVALID_ARGUMENT)
        fail_msg("\"%.*s\": %d", STR_ARG(pattern), r);
    assert_null(glob);
    if (strstr(err.message, word) == NULL)
        fail_msg("\"%.*s\": %s", STR_ARG(pattern), err.message);
    assert_int_equal(glob_compile(&arena, pattern, &glob, NULL), ERR_INVALID_ARGUMENT);
}

static void malformed_patterns_are_refused_with_words(void **state)
{
    (void)state;
    check_refused(STR(""), "empty");
    check_refused((struct str){NULL, 0}, "empty");
    check_refused(STR("a\0b"), "NUL");
    check_refused(STR("a["), "\"[\" that is never closed");
    check_refused(STR("a[bc"), "\"[\" that is never closed");
    check_refused(STR("[]"), "\"[\" that is never closed");
    check_refused(STR("[!]"), "\"[\" that is never closed");
    check_refused(STR("["), "\"[\" that is never closed");
    check_refused(STR("[!"), "\"[\" that is never closed");
    check_refused(STR("[a\\]"), "\"[\" that is never closed");
    check_refused(STR("[a\\"), "\"[\" that is never closed");
    check_refused(STR("{a,b"), "\"{\" that is never closed");
    check_refused(STR("{a,{b}"), "\"{\" that is never closed");
    check_refused(STR("{a,[}]"), "\"{\" that is never closed");
    check_refused(STR("{a\\}"), "\"{\" that is never closed");
    check_refused(STR("a}"), "without a \"{\"");
    check_refused(STR("{a}}"), "without a \"{\"");
    check_refused(STR("a\\"), "ends with a backslash");
    check_refused(STR("\\"), "ends with a backslash");
    check_refused(STR("a\\/b"), "backslash before a slash");
    check_refused(STR("[z-a]"), "range");
    check_refused(STR("[a/b]"), "slash in a class");
    check_refused(STR("[a-/]"), "slash in a class");
    check_refused(STR("[\\/]"), "slash in a class");
    check_refused(STR("[[:alpha:]]"), "[:alpha:]");
    check_refused(STR("{,a}"), "make it empty");
    check_refused(STR("{}"), "make it empty");
}

/* A rule that can never match would be worse than none: somebody relies on it. */
static void patterns_that_no_name_can_match_are_refused(void **state)
{
    (void)state;
    check_refused(STR("/"), "slashes");
    check_refused(STR("//"), "slashes");
    check_refused(STR("//a"), "slashes");
    check_refused(STR("a//b"), "slashes");
    check_refused(STR("a/"), "leave out the last slash");
    check_refused(STR("a{,/}"), "leave out the last slash");
    check_refused(STR("."), "\"..\"");
    check_refused(STR("./a"), "\"..\"");
    check_refused(STR("a/."), "\"..\"");
    check_refused(STR(".."), "\"..\"");
    check_refused(STR("../a"), "\"..\"");
    check_refused(STR("a/../b"), "\"..\"");
    check_refused(STR("a/\\../b"), "\"..\"");
    check_refused(STR("a/{.,b}./c"), "\"..\"");
}

static void messages_show_the_pattern_without_its_hostile_bytes(void **state)
{
    char pattern[200];
    struct err err = ERR_INIT;
    const struct glob *glob;

    (void)state;
    assert_true(glob_compile(&arena, STR("a\x1b]\n\xff["), &glob, &err) < 0);
    assert_non_null(strstr(err.message, "glob \"a?]??[\" "));
    memset(pattern, 'a', sizeof(pattern));
    pattern[sizeof(pattern) - 1] = '[';
    assert_true(glob_compile(&arena, (struct str){pattern, sizeof(pattern)}, &glob, &err) < 0);
    assert_non_null(strstr(err.message, "a...\" has a \"[\""));
}

static void sizes_are_limited(void **state)
{
    static char text[GLOB_PATTERN_MAX_BYTES + 1];
    const struct glob *glob;

    (void)state;
    memset(text, 'a', sizeof(text));
    compile((struct str){text, GLOB_PATTERN_MAX_BYTES});
    check_refused((struct str){text, GLOB_PATTERN_MAX_BYTES + 1}, "longer than 1024");

    glob = compile(STR("/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"));
    assert_true(glob_matches(glob, STR("babababb")));
    assert_false(glob_matches(glob, STR("babababc")));
    check_refused(STR("/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{,c}"), "256 alternatives");
    check_refused(STR("{{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b},c}"), "256 alternatives");

    /* Few alternatives, but all of them long. */
    memcpy(text + 100, "{1,2}{1,2}{1,2}{1,2}{1,2}", 25);
    check_refused((struct str){text, GLOB_PATTERN_MAX_BYTES}, "16 KiB");
    compile((struct str){text, 400});

    compile(STR("{{{{{{{{{{{{{{{{a}}}}}}}}}}}}}}}}"));
    check_refused(STR("{{{{{{{{{{{{{{{{{a}}}}}}}}}}}}}}}}}"), "deeper than 16");
    memset(text, '{', 512);
    memset(text + 512, '}', 512);
    check_refused((struct str){text, GLOB_PATTERN_MAX_BYTES}, "deeper than 16");
}

static void memory_is_limited_by_the_arena(void **state)
{
    struct arena small = ARENA_INIT(64);
    const struct glob_set *set = NULL;
    const struct glob *glob = NULL;
    const char *const patterns[] = {"a", NULL};

    (void)state;
    assert_int_equal(glob_compile(&small, STR("a"), &glob, NULL), ERR_NO_MEMORY);
    assert_null(glob);
    assert_int_equal(glob_set_compile(&small, patterns, &set, NULL), ERR_NO_MEMORY);
    assert_null(set);
    arena_done(&small);
}

static void hostile_patterns_end_in_time(void **state)
{
    static char pattern[GLOB_PATTERN_MAX_BYTES];
    static char name[PATH_MAX - 1];
    const struct glob *glob;

    /* Naive backtracking would not come back from these within a lifetime. */
    (void)state;
    memset(name, 'a', sizeof(name));
    for (size_t i = 0; i + 1 < sizeof(pattern); i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[sizeof(pattern) - 1] = 'b';
    glob = compile((struct str){pattern, sizeof(pattern)});
    assert_false(glob_matches(glob, (struct str){name, sizeof(name)}));

    for (size_t i = 1; i < sizeof(name); i += 2)
        name[i] = '/';
    for (size_t i = 0; i + 5 <= sizeof(pattern); i += 5)
        memcpy(pattern + i, "**/a/", 5);
    memcpy(pattern + 1020, "/b/b", 4);
    pattern[1019] = '*';
    glob = compile((struct str){pattern, sizeof(pattern)});
    assert_false(glob_matches(glob, (struct str){name, sizeof(name)}));
    name[sizeof(name) - 3] = 'b';
    name[sizeof(name) - 1] = 'b';
    assert_true(glob_matches(glob, (struct str){name, sizeof(name)}));
}

static void below_a_directory_only_what_can_match_is_looked_for(void **state)
{
    static const struct pair pairs[] = {
        YES("/a/b/c", ""),      YES("/a/b/c", "a"),       YES("/a/b/c", "a/b"),
        YES("/a/b/c", "a/b/c"), YES("/a/b/c", "a/b/c/d"), NO("/a/b/c", "b"),
        NO("/a/b/c", "a/c"),    NO("/a/b/c", "a/bx"),     NO("/a", "b"),
        YES("/a", "a/x/y"),     YES(".env", "x/y"),       YES("**/x", "a/b"),
        YES("a/**/b", "a/x"),   YES("a/**/b", "a/x/y/z"), NO("a/**/b", "b"),
        YES("a/**", "a"),       YES("/*/b", "x"),         NO("/*/b", "x/c"),
        YES("/*/b", "x/b/y"),   YES("/{a,b/c}/d", "b"),   NO("/{a,b/c}/d", "b/d"),
        YES("**", "x"),
    };

    (void)state;
    for (size_t i = 0; i < array_size(pairs); i++) {
        const struct glob *glob = compile(str_from(pairs[i].pattern));

        if (glob_may_match_below(glob, pairs[i].name) != pairs[i].is_match)
            fail_msg("\"%s\" below \"%.*s\"", pairs[i].pattern, STR_ARG(pairs[i].name));
    }
}

static void a_set_matches_what_one_of_its_patterns_does(void **state)
{
    static const char *const patterns[] = {".env",    "**/*.pem", "secrets/**", "*.key",
                                           ".git/**", "a/**/b",   NULL};
    static const struct pair pairs[] = {
        YES("", ".env"),         YES("", "x/.env"),   YES("", "x/y.pem"), YES("", "secrets"),
        YES("", "secrets/x/y"),  NO("", "x/secrets"), YES("", "k.key/x"), YES("", ".git/config"),
        NO("", "x/.git/config"), YES("", "a/x/b"),    NO("", "a/x/c"),    NO("", ""),
        NO("", "src/main.c"),    NO("", ".envrc"),    NO("", "x.pem2"),
    };
    const struct glob_set *set = NULL;

    (void)state;
    assert_int_equal(glob_set_compile(&arena, patterns, &set, NULL), 0);
    assert_false(glob_set_is_empty(set));
    for (size_t i = 0; i < array_size(pairs); i++)
        if (glob_set_matches(set, pairs[i].name) != pairs[i].is_match)
            fail_msg("\"%.*s\"", STR_ARG(pairs[i].name));
    assert_true(glob_set_may_match_below(set, STR("src")));

    assert_int_equal(glob_set_compile(&arena, patterns + 4, &set, NULL), 0);
    assert_true(glob_set_may_match_below(set, STR(".git")));
    assert_true(glob_set_may_match_below(set, STR("a/x")));
    assert_false(glob_set_may_match_below(set, STR("src")));
}

static void an_empty_set_matches_nothing(void **state)
{
    static const char *const none[] = {NULL};
    const char *const *const lists[] = {none, NULL};

    (void)state;
    for (size_t i = 0; i < array_size(lists); i++) {
        const struct glob_set *set = NULL;

        assert_int_equal(glob_set_compile(&arena, lists[i], &set, NULL), 0);
        assert_true(glob_set_is_empty(set));
        assert_false(glob_set_matches(set, STR("")));
        assert_false(glob_set_matches(set, STR("a/b")));
        assert_false(glob_set_may_match_below(set, STR("")));
    }
}

static void one_bad_pattern_refuses_the_set(void **state)
{
    static const char *many[GLOB_SET_MAX_PATTERNS + 2];
    static const char *const patterns[] = {"a", "b[", "c", NULL};
    const struct glob_set *set = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(glob_set_compile(&arena, patterns, &set, &err), ERR_INVALID_ARGUMENT);
    assert_null(set);
    assert_non_null(strstr(err.message, "\"b[\""));

    for (size_t i = 0; i <= GLOB_SET_MAX_PATTERNS; i++)
        many[i] = "a";
    assert_int_equal(glob_set_compile(&arena, many, &set, &err), ERR_INVALID_ARGUMENT);
    assert_null(set);
    many[GLOB_SET_MAX_PATTERNS] = NULL;
    assert_int_equal(glob_set_compile(&arena, many, &set, &err), 0);
}

/* Every spelling that reaches the same file, once it is normalised. */
static void no_spelling_gets_around_a_pattern(void **state)
{
    static const struct str spellings[] = {
        STR_LITERAL("secrets/key"),        STR_LITERAL("./secrets/key"),
        STR_LITERAL("secrets//key"),       STR_LITERAL("secrets/./key"),
        STR_LITERAL("secrets/key/"),       STR_LITERAL("x/../secrets/key"),
        STR_LITERAL("secrets/x/../key"),   STR_LITERAL("/r/secrets/key"),
        STR_LITERAL("//r//secrets///key"), STR_LITERAL("secrets/../secrets/key/."),
    };
    static const char *const patterns[] = {"secrets/**", "key", "/secrets", "**/key"};

    (void)state;
    for (size_t i = 0; i < array_size(patterns); i++) {
        const struct glob *glob = compile(str_from(patterns[i]));

        for (size_t j = 0; j < array_size(spellings); j++) {
            struct path_name name;

            assert_int_equal(path_normalise(spellings[j], "/r", false, &name), 0);
            assert_true(glob_matches(glob, path_view(&name)));
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, reset)

TEST_MAIN(TEST(a_pattern_below_a_folder_is_written_from_the_root),
          TEST(wildcards_stay_within_a_component), TEST(dotfiles_are_names_like_any_other),
          TEST(without_a_slash_any_directory_will_do), TEST(a_match_holds_for_all_below_it),
          TEST(two_stars_take_any_number_of_components), TEST(classes_hold_characters_and_ranges),
          TEST(each_choice_of_braces_is_a_pattern), TEST(a_backslash_takes_the_next_character),
          TEST(characters_are_utf8_or_single_bytes), TEST(the_rest_is_literal),
          TEST(malformed_patterns_are_refused_with_words),
          TEST(patterns_that_no_name_can_match_are_refused),
          TEST(messages_show_the_pattern_without_its_hostile_bytes), TEST(sizes_are_limited),
          TEST(memory_is_limited_by_the_arena), TEST(hostile_patterns_end_in_time),
          TEST(below_a_directory_only_what_can_match_is_looked_for),
          TEST(a_set_matches_what_one_of_its_patterns_does), TEST(an_empty_set_matches_nothing),
          TEST(one_bad_pattern_refuses_the_set), TEST(no_spelling_gets_around_a_pattern))
