/* SPDX-License-Identifier: Apache-2.0 */
/* What a program that asks and a terminal tell each other. */
#include "test.h"

#include "asking/message.h"

enum { ARENA_BYTES = 32 << 20 };

static void assert_text(struct str text, struct str expected)
{
    assert_true(str_eq(text, expected));
}

/* Names and commands are bytes, and all of them must come over as they are. */
static void a_question_comes_over_as_it_is(void **state)
{
    static const struct question_resource resources[] = {
        {CATALOG_FILESYSTEM_READ, STR_LITERAL("/srv/\xff\x1b[2J\n\"x"), PERMISSION_READS},
        {CATALOG_SHELL, STR_LITERAL("/w: npm test"), PERMISSION_USES},
    };
    const struct question question = {
        .client = STR("a \xc3\xa9 client"),
        .tool = STR("read_file"),
        .group = CATALOG_SHELL,
        .resources = resources,
        .resource_count = array_size(resources),
        .action = (struct str){"with\0nul", 8},
        .detail = STR("-a\n+\xfe\n"),
        .is_diff = true,
        .is_folder = true,
        .folder = STR("/srv"),
        .pattern = STR("npm test"),
        .choices = 1U << CHOICE_DENY_ONCE | 1U << CHOICE_ALLOW_FOLDER | 1U << CHOICE_ALWAYS_DENY,
    };
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_buf struct buf line = BUF_INIT(ASKING_QUESTION_BYTES);
    struct asking_message message;

    (void)state;
    assert_int_equal(asking_write_question(7, STR("gatehouse \xff"), &question, &line), 0);
    assert_int_equal(line.data[line.len - 1], '\n');
    assert_ptr_equal(memchr(line.data, '\n', line.len), line.data + line.len - 1);
    assert_int_equal(asking_parse(&arena, buf_view(&line), &message), 0);
    assert_int_equal(message.kind, ASKING_QUESTION);
    assert_int_equal(message.id, 7);
    assert_text(message.question.asker, STR("gatehouse \xff"));
    assert_text(message.question.client, question.client);
    assert_text(message.question.tool, question.tool);
    assert_text(message.question.action, question.action);
    assert_text(message.question.detail, question.detail);
    assert_text(message.question.folder, question.folder);
    assert_text(message.question.pattern, question.pattern);
    assert_int_equal(message.question.group, CATALOG_SHELL);
    assert_int_equal(message.question.choices, question.choices);
    assert_true(message.question.is_diff);
    assert_false(message.question.deletes);
    assert_true(message.question.is_folder);
    assert_int_equal(message.question.resource_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_text(message.question.resources[i].shown, resources[i].shown);
        assert_int_equal(message.question.resources[i].group, resources[i].group);
        assert_int_equal(message.question.resources[i].operation, resources[i].operation);
    }
}

static void the_largest_question_fits(void **state)
{
    char *text = malloc(QUESTION_MAX_BYTES);
    struct question question = {.tool = STR("x"), .detail = {text, QUESTION_MAX_BYTES - 64}};
    cleanup_buf struct buf line = BUF_INIT(ASKING_QUESTION_BYTES);

    (void)state;
    assert_non_null(text);
    memset(text, 1, QUESTION_MAX_BYTES);
    assert_int_equal(asking_write_question(1, STR("y"), &question, &line), 0);
    free(text);
}

static void what_is_no_message_is_refused(void **state)
{
    static const char no_group[] =
        "{\"ask\":1,\"asker\":\"a\",\"client\":\"\",\"tool\":\"t\",\"group\":\"nothing\","
        "\"action\":\"\",\"detail\":\"\",\"folder\":\"\",\"pattern\":\"\",\"isDiff\":false,"
        "\"deletes\":false,\"choices\":[],\"resources\":[]}";
    static const char *const lines[] = {
        "",
        "x",
        "[]",
        "{}",
        "{\"ask\":1}",
        "{\"ask\":\"1\",\"asker\":1}",
        "{\"answer\":1}",
        "{\"answer\":1,\"choice\":\"perhaps\"}",
        "{\"answer\":0,\"choice\":\"allowOnce\"}",
        "{\"answer\":-1,\"choice\":\"allowOnce\"}",
        "{\"withdraw\":1}",
        "{\"asker\":{\"base64\":\"*\"}}",
        no_group,
    };

    (void)state;
    for (size_t i = 0; i < array_size(lines); i++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        struct asking_message message;

        if (asking_parse(&arena, str_from(lines[i]), &message) == 0)
            fail_msg("%s", lines[i]);
    }
}

static void a_choice_of_a_newer_version_is_not_offered(void **state)
{
    static const char line[] =
        "{\"ask\":1,\"asker\":\"a\",\"client\":\"\",\"tool\":\"t\",\"group\":\"shell\",\"action\":"
        "\"\",\"detail\":\"\",\"folder\":\"\",\"pattern\":\"\",\"isDiff\":false,\"deletes\":false,"
        "\"choices\":[\"allowTwice\",\"allowOnce\",3],\"resources\":[],\"more\":{}}";
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct asking_message message;

    (void)state;
    assert_int_equal(asking_parse(&arena, str_from(line), &message), 0);
    assert_int_equal(message.question.choices, 1U << CHOICE_DENY_ONCE | 1U << CHOICE_ALLOW_ONCE);
}

TEST_MAIN(cmocka_unit_test(a_question_comes_over_as_it_is),
          cmocka_unit_test(the_largest_question_fits),
          cmocka_unit_test(what_is_no_message_is_refused),
          cmocka_unit_test(a_choice_of_a_newer_version_is_not_offered))
