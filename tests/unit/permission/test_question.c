/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "permission/question.h"

static void choices_have_the_names_of_the_wire(void **state)
{
    static const char *const names[CHOICES] = {"denyOnce",
                                               "allowOnce",
                                               "allowForSession",
                                               "allowFolderForSession",
                                               "allowMatchingForSession",
                                               "alwaysAllow",
                                               "alwaysAllowMatching",
                                               "alwaysDeny"};
    enum permission_choice found;

    (void)state;
    for (int i = 0; i < CHOICES; i++) {
        assert_string_equal(permission_choice_name((enum permission_choice)i), names[i]);
        assert_true(permission_choice_from(str_from(names[i]), &found));
        assert_int_equal(found, i);
    }
    assert_false(permission_choice_from(STR("allowonce"), &found));
    assert_false(permission_choice_from(STR(""), &found));
    assert_false(permission_choice_from(STR("allowOnce "), &found));
    assert_string_equal(permission_choice_name(CHOICES), "unknown");
}

static void what_allows_is_told_from_what_denies(void **state)
{
    (void)state;
    assert_false(permission_choice_allows(CHOICE_DENY_ONCE));
    assert_true(permission_choice_allows(CHOICE_ALLOW_ONCE));
    assert_true(permission_choice_allows(CHOICE_ALLOW_SESSION));
    assert_true(permission_choice_allows(CHOICE_ALLOW_FOLDER));
    assert_true(permission_choice_allows(CHOICE_ALLOW_MATCHING));
    assert_true(permission_choice_allows(CHOICE_ALWAYS_ALLOW));
    assert_true(permission_choice_allows(CHOICE_ALWAYS_MATCHING));
    assert_false(permission_choice_allows(CHOICE_ALWAYS_DENY));
    assert_false(permission_choice_allows(CHOICES));
}

static void a_copy_owes_nothing_to_what_it_was_made_from(void **state)
{
    char text[] = "move|from|to|Moves a thing|x";
    struct question_resource resources[] = {
        {CATALOG_FILESYSTEM_WRITE, {text + 5, 4}, PERMISSION_MOVES},
        {CATALOG_SHELL, {text + 10, 2}, PERMISSION_USES}};
    struct question question = {.tool = {text, 4},
                                .group = CATALOG_SHELL,
                                .resources = resources,
                                .resource_count = 2,
                                .action = {text + 13, 13},
                                .is_diff = true,
                                .deletes = true,
                                .choices = 1U << CHOICE_ALWAYS_ALLOW | 1U << 20};
    cleanup_free struct question *copy = NULL;

    (void)state;
    assert_int_equal(question_copy(&question, &copy), 0);
    memset(text, '#', sizeof(text));
    memset(resources, 0, sizeof(resources));
    assert_str(copy->tool, "move");
    assert_str(copy->action, "Moves a thing");
    assert_str(copy->detail, "");
    assert_int_equal(copy->resource_count, 2);
    assert_str(copy->resources[0].shown, "from");
    assert_str(copy->resources[1].shown, "to");
    assert_int_equal(copy->resources[1].group, CATALOG_SHELL);
    assert_true(copy->is_diff && copy->deletes && copy->group == CATALOG_SHELL);
    /* It can always be denied, and nothing can be chosen that does not exist. */
    assert_int_equal(copy->choices, 1U << CHOICE_ALWAYS_ALLOW | 1U << CHOICE_DENY_ONCE);
}

static void a_question_has_ceilings(void **state)
{
    static char text[QUESTION_MAX_BYTES + 1];
    static struct question_resource resources[QUESTION_MAX_RESOURCES + 1];
    struct question question = {.detail = {text, QUESTION_MAX_BYTES}};
    struct question *copy = NULL;

    (void)state;
    assert_int_equal(question_copy(&question, &copy), 0);
    free(copy);
    copy = NULL;
    question.detail.len++;
    assert_int_equal(question_copy(&question, &copy), ERR_TOO_LARGE);
    question.detail.len--;
    question.tool = (struct str){text, 1};
    assert_int_equal(question_copy(&question, &copy), ERR_TOO_LARGE);
    question.tool.len = SIZE_MAX;
    assert_int_equal(question_copy(&question, &copy), ERR_TOO_LARGE);
    question =
        (struct question){.resources = resources, .resource_count = QUESTION_MAX_RESOURCES + 1};
    assert_int_equal(question_copy(&question, &copy), ERR_TOO_LARGE);
    assert_null(copy);
}

static void only_the_space_looks_like_one(void **state)
{
    static const uint32_t blanks[] = {0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
                                      0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A, 0x202F,
                                      0x205F, 0x2800, 0x3000, 0x115F, 0x1160, 0x3164, 0xFFA0};

    (void)state;
    for (size_t i = 0; i < array_size(blanks); i++) {
        cleanup_buf struct buf given = BUF_INIT(64);
        cleanup_buf struct buf line = BUF_INIT(64);
        cleanup_buf struct buf lines = BUF_INIT(64);
        char expected[64];
        char bytes[4];

        snprintf(expected, sizeof(expected), "| rm x\\u{%x}y z", (unsigned)blanks[i]);
        assert_int_equal(buf_append_str(&given, STR("rm x")), 0);
        assert_int_equal(buf_append(&given, bytes, utf8_encode(blanks[i], bytes)), 0);
        assert_int_equal(buf_append_str(&given, STR("y z")), 0);
        assert_int_equal(question_add_line(&line, buf_view(&given)), 0);
        assert_int_equal(question_add_lines(&lines, buf_view(&given)), 0);
        if (!str_eq_c(buf_view(&line), expected + 2) || !str_eq_c(buf_view(&lines), expected))
            fail_msg("%s: %.*s", expected, STR_ARG(buf_view(&lines)));
    }
}

TEST_MAIN(cmocka_unit_test(choices_have_the_names_of_the_wire),
          cmocka_unit_test(what_allows_is_told_from_what_denies),
          cmocka_unit_test(a_copy_owes_nothing_to_what_it_was_made_from),
          cmocka_unit_test(a_question_has_ceilings),
          cmocka_unit_test(only_the_space_looks_like_one))
