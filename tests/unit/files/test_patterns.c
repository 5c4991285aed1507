/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "files/patterns.h"

static const char *const roots[] = {"/data/me/./way", "/srv/project", NULL};

static void takes_below(const char *const *folders, const char *given, const char *wanted)
{
    cleanup_arena struct arena arena = ARENA_INIT(PATTERNS_MAX_BYTES);
    const char *const list[] = {"a", given, NULL};
    const char *const *patterns;
    struct err err = ERR_INIT;

    if (patterns_take(&arena, "--deny", list, folders, NULL, &patterns, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(patterns[0], "a");
    assert_string_equal(patterns[1], wanted);
    assert_null(patterns[2]);
}

static void takes(const char *given, const char *wanted)
{
    takes_below(roots, given, wanted);
}

static void refuses(const char *given, const char *words)
{
    cleanup_arena struct arena arena = ARENA_INIT(PATTERNS_MAX_BYTES);
    const char *const list[] = {given, NULL};
    const char *const *patterns;
    struct err err = ERR_INIT;

    assert_int_equal(patterns_take(&arena, "--deny", list, roots, NULL, &patterns, &err),
                     ERR_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "--deny '"));
    assert_non_null(strstr(err.message, words));
}

static void what_can_match_is_left_as_it_is(void **state)
{
    static const char *const same[] = {"**/.env", "secrets/**", "/secrets", "/etc/passwd",
                                       "~$doc",   "*~",         "\\~/x",    "\\!a",
                                       "a!",      "..a",        "a.",       "{a,b}"};

    (void)state;
    for (size_t i = 0; i < array_size(same); i++)
        takes(same[i], same[i]);
}

static void a_path_in_the_folder_begins_at_the_folder(void **state)
{
    static const char *const all[] = {"/", NULL};

    (void)state;
    takes("/data/me/way/secrets", "/secrets");
    takes("/srv//project/a/*.txt", "/a/*.txt");
    takes("/srv/project/**", "/**");
    takes_below(all, "/etc/passwd", "/etc/passwd");
}

static void what_is_no_glob_is_refused(void **state)
{
    static const char *const wrong[] = {"a[", "{a", "/", "a//b", ""};
    cleanup_arena struct arena arena = ARENA_INIT(PATTERNS_MAX_BYTES);

    (void)state;
    for (size_t i = 0; i < array_size(wrong); i++) {
        const char *const list[] = {"a", wrong[i], NULL};
        const char *const *patterns;
        struct err err = ERR_INIT;

        assert_int_equal(patterns_take(&arena, "--allow", list, roots, NULL, &patterns, &err),
                         ERR_INVALID_ARGUMENT);
        assert_non_null(strstr(err.message, "--allow: glob \""));
        assert_int_equal(patterns_check("--allow", list, NULL), ERR_INVALID_ARGUMENT);
    }
    assert_int_equal(patterns_check("--deny", (const char *const[]){"a", "/srv/x", NULL}, NULL), 0);
    assert_int_equal(patterns_check("--deny", NULL, NULL), 0);
}

static void what_would_match_nothing_is_refused(void **state)
{
    static char path[4096];

    (void)state;
    refuses("~", "'\\~'");
    refuses("~/secrets", "'\\~'");
    refuses("~me/secrets", "'\\~'");
    refuses("!keep", "'\\!'");
    refuses("./a", "'/NAME'");
    refuses("../a", "'/NAME'");
    refuses("a/..", "'/NAME'");
    refuses("/srv/project", "relative to the folder");
    refuses("/srv/project/", "relative to the folder");
    refuses("/srv/projects/a", "relative to the folder");
    refuses("/data/**", "relative to the folder");
    /* The words are there however long the pattern is. */
    memset(path, 'a', sizeof(path) - 1);
    memcpy(path, "/srv/", strlen("/srv/"));
    refuses(path, "to the folder");
}

TEST_MAIN(cmocka_unit_test(what_can_match_is_left_as_it_is),
          cmocka_unit_test(a_path_in_the_folder_begins_at_the_folder),
          cmocka_unit_test(what_is_no_glob_is_refused),
          cmocka_unit_test(what_would_match_nothing_is_refused))
