/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <limits.h>
#include <stdio.h>

#include "base/arena.h"
#include "files/nameglob.h"

enum { ARENA_BYTES = 1 << 20 };

static bool is_match(const char *text, bool ignores_case, const char *name)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct err err = ERR_INIT;
    struct nameglob glob;

    if (nameglob_compile(&arena, str_from(text), ignores_case, &glob, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return nameglob_matches(&glob, str_from(name));
}

static bool may_be_below(const char *text, bool ignores_case, const char *directory)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct nameglob glob;

    assert_int_equal(nameglob_compile(&arena, str_from(text), ignores_case, &glob, NULL), 0);
    return nameglob_may_match_below(&glob, str_from(directory));
}

static void without_a_slash_it_is_the_last_component(void **state)
{
    (void)state;
    assert_true(is_match("*.c", false, "a.c"));
    assert_true(is_match("*.c", false, "src/deep/a.c"));
    assert_false(is_match("src", false, "src/a.c"));
    assert_false(is_match("*.c", false, "dir.c/a.h"));
    assert_true(may_be_below("*.c", false, "any/where"));
}

static void with_a_slash_it_is_all_of_the_name(void **state)
{
    (void)state;
    assert_true(is_match("src/*.c", false, "src/a.c"));
    assert_false(is_match("src/*.c", false, "src/deep/a.c"));
    assert_false(is_match("src/*.c", false, "lib/src/a.c"));
    assert_true(is_match("src/**", false, "src/deep/a.c"));
    assert_false(is_match("src/deep", false, "src/deep/a.c"));
    assert_true(may_be_below("src/*.c", false, "src"));
    assert_false(may_be_below("src/*.c", false, "lib"));
}

static void case_is_ignored_when_asked_for(void **state)
{
    (void)state;
    assert_false(is_match("Main.C", false, "main.c"));
    assert_true(is_match("Main.C", true, "src/mAIN.c"));
    assert_true(is_match("SRC/[A-C].c", true, "src/B.C"));
    assert_true(may_be_below("SRC/*.c", true, "Src"));
    assert_false(may_be_below("SRC/*.c", false, "Src"));
    assert_false(is_match("\u00c4", true, "\u00e4"));
}

static void the_longest_name_fits(void **state)
{
    char name[PATH_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(name) - 1; i++)
        name[i] = i % 200 == 199 ? '/' : 'A';
    name[sizeof(name) - 1] = '\0';
    assert_true(is_match("**/a*", true, name));
    assert_false(is_match("**/b*", true, name));
}

static void what_is_no_glob_is_refused(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct nameglob glob = {.has_slash = true};
    struct err err = ERR_INIT;
    char text[2048];

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(nameglob_compile(&arena, STR_EMPTY, false, &glob, &err), ERR_INVALID_ARGUMENT);
    assert_int_equal(nameglob_compile(&arena, (struct str){text, sizeof(text)}, false, &glob, &err),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(nameglob_compile(&arena, STR("a/{b"), false, &glob, &err),
                     ERR_INVALID_ARGUMENT);
    assert_null(glob.glob);
}

static void usual_spellings_match(void **state)
{
    (void)state;
    assert_true(is_match("./src/*.c", false, "src/a.c"));
    assert_true(is_match("./*.c", false, "a.c"));
    assert_false(is_match("./*.c", false, "src/a.c"));
    assert_true(is_match("src/", false, "src/deep/a.c"));
    assert_true(is_match("app/[slug]/*", false, "app/[slug]/page.tsx"));
    assert_true(is_match("app/[slug]/*", false, "app/s/page.tsx"));
    assert_true(is_match("[slug].tsx", false, "app/[slug].tsx"));
    assert_true(is_match("@(a|b).c", false, "x/b.c"));
    assert_true(is_match("{a..c}.c", false, "b.c"));
    assert_true(is_match("SRC/@(A|B).C", true, "src/a.c"));
}

struct seen {
    char text[100];
};

static int note(void *data, struct str directory)
{
    struct seen *seen = data;
    size_t len = strlen(seen->text);

    snprintf(seen->text + len, sizeof(seen->text) - len, "<%.*s>", STR_ARG(directory));
    return 0;
}

static void assert_directories(const char *text, const char *expected)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct nameglob glob;
    struct seen seen = {""};

    assert_int_equal(nameglob_compile(&arena, str_from(text), false, &glob, NULL), 0);
    assert_int_equal(nameglob_each_directory(&glob, note, &seen), 0);
    assert_string_equal(seen.text, expected);
}

static void directories_are_those_before_the_first_wildcard(void **state)
{
    (void)state;
    assert_directories("*.c", "<>");
    assert_directories("src/a.c", "<src>");
    assert_directories("src/deep/*.c", "<src/deep>");
    assert_directories("src/**", "<src>");
    assert_directories("/a.c", "<>");
    assert_directories("a*/b/c", "<>");
}

static bool names(const char *text, const char *component)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct nameglob glob;

    assert_int_equal(nameglob_compile(&arena, str_from(text), false, &glob, NULL), 0);
    return nameglob_names(&glob, str_from(component));
}

static void components_are_named_literally_only(void **state)
{
    (void)state;
    assert_true(names("dist/*.js", "dist"));
    assert_true(names("**/dist/**", "dist"));
    assert_true(names("{src,dist}/*", "dist"));
    assert_false(names("**/*.js", "dist"));
    assert_false(names("d*/x", "dist"));
    assert_false(names("dist", "dist"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_slash_it_is_the_last_component),
        cmocka_unit_test(with_a_slash_it_is_all_of_the_name),
        cmocka_unit_test(case_is_ignored_when_asked_for),
        cmocka_unit_test(the_longest_name_fits),
        cmocka_unit_test(what_is_no_glob_is_refused),
        cmocka_unit_test(usual_spellings_match),
        cmocka_unit_test(directories_are_those_before_the_first_wildcard),
        cmocka_unit_test(components_are_named_literally_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
