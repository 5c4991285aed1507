/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/clock.h"
#include "permission/confirmation.h"

enum {
    ARENA_BYTES = 1 << 20,
    REMOTE = 1 << CHOICE_DENY_ONCE | 1 << CHOICE_ALLOW_ONCE | 1 << CHOICE_ALLOW_SESSION
};

struct scene {
    struct arena arena;
    struct clock clock;
    struct confirmations *confirmations;
};

static int set_up(void **state)
{
    static struct scene scene;

    scene = (struct scene){.arena = ARENA_INIT(ARENA_BYTES)};
    clock_fake_init(&scene.clock, 0);
    *state = &scene;
    return confirmations_new(&scene.clock, &scene.confirmations);
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    confirmations_free(scene->confirmations);
    arena_done(&scene->arena);
    return 0;
}

static const struct json_value *parse(struct scene *scene, const char *text)
{
    const struct json_value *document = NULL;

    assert_int_equal(
        json_parse(&scene->arena, str_from(text), JSON_LIMITS_DEFAULT, &document, NULL), 0);
    return document;
}

static const struct question_resource file = {.group = CATALOG_FILESYSTEM_WRITE,
                                              .shown = STR_LITERAL("/home/bob/src/a.c")};
static const struct question_resource other_file = {.group = CATALOG_FILESYSTEM_WRITE,
                                                    .shown = STR_LITERAL("/home/bob/.env")};

static struct question about(const char *tool, const struct question_resource *resource)
{
    return (struct question){
        .tool = str_from(tool),
        .group = CATALOG_FILESYSTEM_WRITE,
        .resources = resource,
        .resource_count = 1,
        .action = STR("Replaces src/a.c"),
        .detail = STR("-old\n+new\n"),
        .choices = REMOTE,
    };
}

static int use(struct scene *scene, const char *tool, const struct question_resource *resource,
               const char *arguments, const char *answer, enum permission_choice *out_choice)
{
    const struct question question = about(tool, resource);

    return confirmations_use(scene->confirmations, &question, parse(scene, arguments),
                             str_from(answer), out_choice);
}

static void expect(struct scene *scene, const char *arguments)
{
    const struct question question = about("write_file", &file);

    assert_int_equal(confirmations_expect(scene->confirmations, &question, parse(scene, arguments)),
                     0);
}

static void the_answer_is_taken_out_wherever_it_stands(void **state)
{
    static const struct {
        const char *given;
        const char *left;
        const char *answer;
    } cases[] = {
        {"{\"a\":1}", "{\"a\":1}", ""},
        {"{\"_confirmation\":\"allowOnce\"}", "{}", "allowOnce"},
        {"{\"_confirmation\":\"allowOnce\",\"a\":[1,{\"b\":2}]}", "{\"a\":[1,{\"b\":2}]}",
         "allowOnce"},
        {"{\"a\":[1,{\"b\":2}],\"_confirmation\":\"denyOnce\",\"c\":{}}",
         "{\"a\":[1,{\"b\":2}],\"c\":{}}", "denyOnce"},
        {"{\"a\":{\"_confirmation\":\"x\"}}", "{\"a\":{\"_confirmation\":\"x\"}}", ""},
        /* What is no text is no answer, and goes too. */
        {"{\"_confirmation\":{\"deep\":[1,2]},\"a\":1}", "{\"a\":1}", ""},
        {"{\"a\":1,\"_confirmation\":true}", "{\"a\":1}", ""},
    };
    struct scene *scene = *state;

    for (size_t i = 0; i < array_size(cases); i++) {
        const struct json_value *left;
        struct str answer;

        assert_int_equal(
            confirmation_take(&scene->arena, parse(scene, cases[i].given), &left, &answer), 0);
        assert_true(json_eq(left, parse(scene, cases[i].left)));
        assert_true(str_eq_c(answer, cases[i].answer));
    }
}

static void the_instance_gets_what_it_understands(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(ARENA_BYTES);
    struct question question = about("write_file", &file);

    (void)state;
    assert_int_equal(confirmation_write(&question, &out), 0);
    assert_true(str_eq(buf_view(&out),
                       STR("GATEWAY_CONFIRMATION_REQUIRED::{\"toolGroup\":\"filesystemWrite\","
                           "\"resource\":\"/home/bob/src/a.c\","
                           "\"description\":\"Replaces src/a.c\\n\\n| -old\\n| +new\","
                           "\"options\":[\"denyOnce\",\"allowOnce\",\"allowForSession\"]}")));
}

static void without_details_there_is_no_margin(void **state)
{
    struct question question = about("shell_execute", &file);
    cleanup_buf struct buf out = BUF_INIT(4096);

    (void)state;
    question.action = STR("Runs a command");
    question.detail = STR_EMPTY;
    assert_int_equal(confirmation_write(&question, &out), 0);
    assert_true(str_find(buf_view(&out), STR("\"description\":\"Runs a command\",")) < out.len);
}

static void nothing_in_a_text_steers_the_page(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(ARENA_BYTES);
    const struct question_resource named = {.group = CATALOG_FILESYSTEM_WRITE,
                                            .shown = STR("/r/a\n\x1b[8m\xE2\x80\xAEz\xFF")};
    struct question question = about("write_file", &named);

    (void)state;
    question.action = STR("Deletes\ra\x9B");
    question.detail = STR("-o\tld\n+n\aew\n");
    assert_int_equal(confirmation_write(&question, &out), 0);
    assert_true(
        str_eq(buf_view(&out),
               STR("GATEWAY_CONFIRMATION_REQUIRED::{\"toolGroup\":\"filesystemWrite\","
                   "\"resource\":\"/r/a\\\\n\\\\x1b[8m\\\\u{202e}z\\\\xff\","
                   "\"description\":\"Deletes\\\\ra\\\\x9b\\n\\n| -o\\tld\\n| +n\\\\x07ew\","
                   "\"options\":[\"denyOnce\",\"allowOnce\",\"allowForSession\"]}")));
}

static void an_answer_counts_once(void **state)
{
    struct scene *scene = *state;
    enum permission_choice choice = CHOICE_DENY_ONCE;

    expect(scene, "{\"filePath\":\"a.c\",\"content\":\"x\"}");
    assert_int_equal(use(scene, "write_file", &file, "{\"filePath\":\"a.c\",\"content\":\"x\"}",
                         "allowOnce", &choice),
                     0);
    assert_int_equal(choice, CHOICE_ALLOW_ONCE);
    assert_int_equal(use(scene, "write_file", &file, "{\"filePath\":\"a.c\",\"content\":\"x\"}",
                         "allowOnce", &choice),
                     ERR_NOT_FOUND);
}

static void questions_that_are_alike_have_one_answer(void **state)
{
    struct scene *scene = *state;
    enum permission_choice choice = CHOICE_DENY_ONCE;

    expect(scene, "{\"filePath\":\"a.c\"}");
    expect(scene, "{\"filePath\":\"b.c\"}");
    expect(scene, "{\"filePath\":\"a.c\"}");
    assert_int_equal(
        use(scene, "write_file", &file, "{\"filePath\":\"a.c\"}", "allowOnce", &choice), 0);
    assert_int_equal(
        use(scene, "write_file", &file, "{\"filePath\":\"a.c\"}", "allowOnce", &choice),
        ERR_NOT_FOUND);
    assert_int_equal(
        use(scene, "write_file", &file, "{\"filePath\":\"b.c\"}", "allowOnce", &choice), 0);
}

static void nobody_approves_what_was_not_asked(void **state)
{
    struct scene *scene = *state;
    enum permission_choice choice = CHOICE_DENY_ONCE;

    assert_int_equal(use(scene, "write_file", &file, "{}", "allowOnce", &choice), ERR_NOT_FOUND);
    expect(scene, "{\"filePath\":\"a.c\",\"content\":\"x\"}");
    /* Another content, another tool, another file behind the same name. */
    assert_int_equal(use(scene, "write_file", &file, "{\"filePath\":\"a.c\",\"content\":\"y\"}",
                         "allowOnce", &choice),
                     ERR_NOT_FOUND);
    assert_int_equal(use(scene, "append_file", &file, "{\"filePath\":\"a.c\",\"content\":\"x\"}",
                         "allowOnce", &choice),
                     ERR_NOT_FOUND);
    assert_int_equal(use(scene, "write_file", &other_file,
                         "{\"filePath\":\"a.c\",\"content\":\"x\"}", "allowOnce", &choice),
                     ERR_NOT_FOUND);
    /* None of that has used it up. */
    assert_int_equal(use(scene, "write_file", &file, "{\"content\":\"x\",\"filePath\":\"a.c\"}",
                         "allowForSession", &choice),
                     0);
    assert_int_equal(choice, CHOICE_ALLOW_SESSION);
}

static void values_that_look_alike_are_told_apart(void **state)
{
    static const char *const alike[] = {
        "{\"a\":[\"b\",\"c\"]}",
        "{\"a\":[\"bc\"]}",
        "{\"a\":[\"b\"],\"c\":null}",
        "{\"a\":1}",
        "{\"a\":\"1\"}",
        "{\"a\":true}",
        "{\"a\":[1]}",
        "{\"a\":{\"1\":null}}",
        "{\"a\":[[],1]}",
        "{\"a\":[[1]]}",
        "{\"a\":{}}",
        "{\"a\":[]}",
        "{\"a\":{},\"b\":{}}",
        "{\"a\":{\"b\":{}}}",
    };
    struct scene *scene = *state;

    for (size_t i = 0; i < array_size(alike); i++) {
        expect(scene, alike[i]);
        for (size_t k = 0; k < array_size(alike); k++) {
            enum permission_choice choice = CHOICE_DENY_ONCE;

            if (k != i)
                assert_int_equal(use(scene, "write_file", &file, alike[k], "allowOnce", &choice),
                                 ERR_NOT_FOUND);
        }
        assert_int_equal(use(scene, "write_file", &file, alike[i], "denyOnce",
                             &(enum permission_choice){CHOICE_ALLOW_ONCE}),
                         0);
    }
}

/* Of undoing: the change that was the last one is not any more. */
static void another_mark_is_another_question(void **state)
{
    struct scene *scene = *state;
    struct question question = about("undo_changes", &file);
    const struct json_value *arguments = parse(scene, "{}");
    enum permission_choice choice;

    question.mark = 1;
    assert_int_equal(confirmations_expect(scene->confirmations, &question, arguments), 0);
    question.mark = 2;
    assert_int_equal(
        confirmations_use(scene->confirmations, &question, arguments, STR("allowOnce"), &choice),
        ERR_NOT_FOUND);
    question.mark = 1;
    assert_int_equal(
        confirmations_use(scene->confirmations, &question, arguments, STR("allowOnce"), &choice),
        0);
}

static void what_was_not_offered_ends_the_question(void **state)
{
    static const char *const words[] = {"alwaysAllow", "yes", "", "AllowOnce"};
    struct scene *scene = *state;

    for (size_t i = 0; i < array_size(words); i++) {
        enum permission_choice choice = CHOICE_DENY_ONCE;

        expect(scene, "{}");
        assert_int_equal(use(scene, "write_file", &file, "{}", words[i], &choice),
                         ERR_INVALID_ARGUMENT);
        assert_int_equal(use(scene, "write_file", &file, "{}", "allowOnce", &choice),
                         ERR_NOT_FOUND);
        assert_int_equal(choice, CHOICE_DENY_ONCE);
    }
}

static void a_late_answer_does_not_count(void **state)
{
    struct scene *scene = *state;
    enum permission_choice choice = CHOICE_DENY_ONCE;

    expect(scene, "{}");
    clock_fake_advance(&scene->clock, CONFIRMATION_LIFE_MS - 1);
    expect(scene, "{\"a\":1}");
    clock_fake_advance(&scene->clock, 1);
    assert_int_equal(use(scene, "write_file", &file, "{}", "allowOnce", &choice), ERR_NOT_FOUND);
    assert_int_equal(use(scene, "write_file", &file, "{\"a\":1}", "allowOnce", &choice), 0);
}

static void the_oldest_makes_room(void **state)
{
    struct scene *scene = *state;
    enum permission_choice choice = CHOICE_DENY_ONCE;
    char text[32];

    for (int i = 0; i <= CONFIRMATION_MAX_OPEN; i++) {
        snprintf(text, sizeof(text), "{\"a\":%d}", i);
        expect(scene, text);
    }
    assert_int_equal(use(scene, "write_file", &file, "{\"a\":0}", "allowOnce", &choice),
                     ERR_NOT_FOUND);
    assert_int_equal(use(scene, "write_file", &file, "{\"a\":1}", "allowOnce", &choice), 0);
    assert_int_equal(use(scene, "write_file", &file, text, "allowOnce", &choice), 0);
}

static void what_is_forgotten_is_not_answered(void **state)
{
    struct scene *scene = *state;
    enum permission_choice choice = CHOICE_DENY_ONCE;

    expect(scene, "{}");
    expect(scene, "{\"a\":1}");
    confirmations_forget_all(scene->confirmations);
    assert_int_equal(use(scene, "write_file", &file, "{}", "allowOnce", &choice), ERR_NOT_FOUND);
    assert_int_equal(use(scene, "write_file", &file, "{\"a\":1}", "allowOnce", &choice),
                     ERR_NOT_FOUND);
    expect(scene, "{}");
    assert_int_equal(use(scene, "write_file", &file, "{}", "allowOnce", &choice), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_answer_is_taken_out_wherever_it_stands, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_instance_gets_what_it_understands, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_details_there_is_no_margin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_in_a_text_steers_the_page, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_answer_counts_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(questions_that_are_alike_have_one_answer, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nobody_approves_what_was_not_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_that_look_alike_are_told_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_mark_is_another_question, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_not_offered_ends_the_question, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_late_answer_does_not_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_makes_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_forgotten_is_not_answered, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
