/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "base/err.h"
#include "permission/question.h"

static void choices_have_the_names_of_the_wire(void **state)
{
    static const char *const names[CHOICES] = {"denyOnce", "allowOnce", "allowForSession",
                                               "alwaysAllow", "alwaysDeny"};
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

static void three_choices_allow(void **state)
{
    (void)state;
    assert_false(permission_choice_allows(CHOICE_DENY_ONCE));
    assert_true(permission_choice_allows(CHOICE_ALLOW_ONCE));
    assert_true(permission_choice_allows(CHOICE_ALLOW_SESSION));
    assert_true(permission_choice_allows(CHOICE_ALWAYS_ALLOW));
    assert_false(permission_choice_allows(CHOICE_ALWAYS_DENY));
    assert_false(permission_choice_allows(CHOICES));
}

static void a_copy_owes_nothing_to_what_it_was_made_from(void **state)
{
    char text[] = "move|from|to|Moves a thing|x";
    struct question_resource resources[] = {{CATALOG_FILESYSTEM_WRITE, {text + 5, 4}},
                                            {CATALOG_SHELL, {text + 10, 2}}};
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

TEST_MAIN(cmocka_unit_test(choices_have_the_names_of_the_wire),
          cmocka_unit_test(three_choices_allow),
          cmocka_unit_test(a_copy_owes_nothing_to_what_it_was_made_from),
          cmocka_unit_test(a_question_has_ceilings))
