/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "protocol/staged.h"

static void assert_named(const char *given, const char *wanted)
{
    char name[STAGED_NAME_BYTES];

    assert_true(staged_name(7, 2, str_from(given), name));
    assert_string_equal(name, wanted);
}

static void only_the_last_part_of_a_path_is_used(void **state)
{
    (void)state;
    assert_named("notes.txt", "7/2/notes.txt");
    assert_named("/srv/docs/notes.txt", "7/2/notes.txt");
    assert_named("../../etc/passwd", "7/2/passwd");
    assert_named("a b/é.txt", "7/2/é.txt");
}

static void what_is_no_name_gets_one(void **state)
{
    (void)state;
    assert_named("", "7/2/file");
    assert_named("a/", "7/2/file");
    assert_named("a/..", "7/2/file");
    assert_named(".", "7/2/file");
}

static void a_long_name_is_refused(void **state)
{
    char given[STAGED_NAME_BYTES + 1];
    char name[STAGED_NAME_BYTES];

    (void)state;
    memset(given, 'a', sizeof(given));
    assert_false(staged_name(7, 2, (struct str){given, sizeof(given)}, name));
    assert_true(staged_name(7, 2, (struct str){given, 255}, name));
}

static void an_id_of_a_download_is_no_path(void **state)
{
    static const char *const bad[] = {"",    ".", "..", "a/b", "../uploads", "a.crdownload",
                                      "a b", "é"};
    char longest[66];

    (void)state;
    assert_true(staged_is_download(STR("3e5f1c2d-0000-4000-8000-00000000abcd")));
    assert_true(staged_is_download(STR("kept-0123456789abcdef")));
    for (size_t i = 0; i < array_size(bad); i++)
        assert_false(staged_is_download(str_from(bad[i])));
    memset(longest, 'a', sizeof(longest));
    assert_false(staged_is_download((struct str){longest, 65}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_last_part_of_a_path_is_used),
        cmocka_unit_test(what_is_no_name_gets_one),
        cmocka_unit_test(a_long_name_is_refused),
        cmocka_unit_test(an_id_of_a_download_is_no_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
