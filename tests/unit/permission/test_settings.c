/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>

#include "permission/settings/settings.h"

enum { TEXT_BYTES = 1 << 20 };

struct scene {
    struct arena arena;
    struct buf text;
    struct settings settings;
    struct err err;
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    assert_non_null(scene);
    arena_init(&scene->arena, SETTINGS_ARENA_BYTES);
    buf_init(&scene->text, TEXT_BYTES);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    arena_done(&scene->arena);
    buf_done(&scene->text);
    free(scene);
    return 0;
}

static void read_text(struct scene *scene, const char *text)
{
    int r = settings_parse(&scene->arena, str_from(text), &scene->settings, &scene->err);

    if (r < 0)
        fail_msg("%s", scene->err.message);
}

static const char *write_text(struct scene *scene)
{
    const char *text;

    buf_clear(&scene->text);
    assert_int_equal(settings_write(&scene->settings, &scene->text), 0);
    assert_int_equal(buf_terminate(&scene->text, &text), 0);
    return text;
}

static struct rule rule_of(struct scene *scene, enum rule_effect effect, enum catalog_group group,
                           const char *match)
{
    struct rule rule;

    assert_int_equal(rule_parse(&scene->arena, group, str_from(match), &rule, &scene->err), 0);
    rule.effect = effect;
    rule.cwd = rule.note = STR_EMPTY;
    rule.expires_ms = 0;
    return rule;
}

static void add(struct scene *scene, enum rule_effect effect, enum catalog_group group,
                const char *match)
{
    struct rule rule = rule_of(scene, effect, group, match);

    assert_int_equal(settings_add(&scene->arena, &scene->settings, &rule, &scene->err), 0);
}

/* ---- reading ---- */

static void the_file_of_the_original_is_read(void **state)
{
    struct scene *scene = *state;
    const struct settings *settings = &scene->settings;

    read_text(scene, "{\"logLevel\":\"debug\",\"permissions\":{\"filesystemRead\":\"ask\","
                     "\"filesystemWrite\":\"deny\",\"shell\":\"allow\",\"computer\":\"ask\"},"
                     "\"filesystemDir\":\"/srv/me\",\"resourcePermissions\":{"
                     "\"shell\":{\"allow\":[\"git status\",\"ls *\"],\"deny\":[\"rm -rf /\"]},"
                     "\"filesystemRead\":{\"deny\":[\"/srv/me/.env\",\"glob:**/*.pem\"]}}}");
    assert_int_equal(settings->modes.of[CATALOG_FILESYSTEM_READ], PERMISSION_ASK);
    assert_int_equal(settings->modes.of[CATALOG_FILESYSTEM_WRITE], PERMISSION_DENY);
    assert_int_equal(settings->modes.of[CATALOG_SHELL], PERMISSION_ALLOW);
    assert_int_equal(settings->modes.of[CATALOG_COMPUTER], PERMISSION_ASK);
    assert_int_equal(settings->modes.of[CATALOG_BROWSER], PERMISSION_ASK); /* Recommended */
    assert_true(settings->has_mode[CATALOG_SHELL]);
    assert_false(settings->has_mode[CATALOG_BROWSER]);
    assert_false(settings->write_access);
    assert_str(settings->filesystem_dir, "/srv/me");
    assert_str(settings->log_level, "debug");
    assert_int_equal(settings->warning_count, 0);
    assert_int_equal(settings->rule_count, 5);
    assert_int_equal(settings->rules[1].effect, RULE_ALLOW);
    assert_int_equal(settings->rules[1].kind, RULE_EXACT);
    assert_str(settings->rules[1].pattern, "ls *");
    assert_int_equal(settings->rules[2].effect, RULE_DENY);
    assert_int_equal(settings->rules[4].kind, RULE_GLOB);
    assert_int_equal(settings->rules[4].group, CATALOG_FILESYSTEM_READ);
}

static void rules_with_conditions_are_read(void **state)
{
    struct scene *scene = *state;
    const struct rule *rule;

    read_text(scene, "{\"filesystemWriteAccess\":true,\"rules\":[{\"group\":\"shell\","
                     "\"effect\":\"allow\",\"match\":\"prefix:git log\",\"cwd\":\"/srv/me/src/\","
                     "\"expires\":\"2026-12-01T00:00:00Z\",\"note\":\"reads\"}]}");
    rule = scene->settings.rules;
    assert_true(scene->settings.write_access);
    assert_int_equal(scene->settings.rule_count, 1);
    assert_int_equal(rule->kind, RULE_PREFIX);
    assert_str(rule->pattern, "git log");
    assert_str(rule->cwd, "/srv/me/src");
    assert_str(rule->note, "reads");
    assert_int_equal(rule->expires_ms, 1796083200000);
}

static void what_is_malformed_is_refused_with_its_place(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *text;
        const char *field;
    } cases[] = {
        {"", ""},
        {"{", ""},
        {"[]", ""},
        {"{\"permissions\":{},\"permissions\":{}}", ""},
        {"{\"permissions\":[]}", "permissions"},
        {"{\"permissions\":{\"shell\":\"Allow\"}}", "permissions.shell"},
        {"{\"permissions\":{\"shell\":true}}", "permissions.shell"},
        {"{\"filesystemDir\":null}", "filesystemDir"},
        {"{\"filesystemDir\":\"a\\u0000\"}", "filesystemDir"},
        {"{\"filesystemWriteAccess\":\"true\"}", "filesystemWriteAccess"},
        {"{\"logLevel\":\"loud\"}", "logLevel"},
        {"{\"logLevel\":3}", "logLevel"},
        {"{\"resourcePermissions\":[]}", "resourcePermissions"},
        {"{\"resourcePermissions\":{\"shell\":[]}}", "resourcePermissions.shell"},
        {"{\"resourcePermissions\":{\"shell\":{\"deny\":\"x\"}}}",
         "resourcePermissions.shell.deny"},
        {"{\"resourcePermissions\":{\"shell\":{\"deny\":[\"x\",1]}}}",
         "resourcePermissions.shell.deny[1]"},
        {"{\"resourcePermissions\":{\"shell\":{\"deny\":[\"glob:x\"]}}}",
         "resourcePermissions.shell.deny[0]"},
        {"{\"rules\":{}}", "rules"},
        {"{\"rules\":[1]}", "rules[0]"},
        {"{\"rules\":[{\"group\":\"shell\",\"effect\":\"deny\"}]}", "rules[0]"},
        {"{\"rules\":[{\"group\":\"shells\",\"effect\":\"deny\",\"match\":\"x\"}]}",
         "rules[0].group"},
        {"{\"rules\":[{\"group\":\"shell\",\"effect\":\"ask\",\"match\":\"x\"}]}",
         "rules[0].effect"},
        {"{\"rules\":[{\"group\":\"filesystemRead\",\"effect\":\"deny\",\"match\":\"x\"}]}",
         "rules[0].match"},
        {"{\"rules\":[{\"group\":\"shell\",\"effect\":\"deny\",\"match\":\"x\",\"cwd\":1}]}",
         "rules[0].cwd"},
        {"{\"rules\":[{\"group\":\"shell\",\"effect\":\"deny\",\"match\":\"x\",\"cwd\":\"a\"}]}",
         "rules[0]"},
        {"{\"rules\":[{\"group\":\"browser\",\"effect\":\"deny\",\"match\":\"x\",\"cwd\":\"/\"}]}",
         "rules[0]"},
        {"{\"rules\":[{\"group\":\"shell\",\"effect\":\"deny\",\"match\":\"x\","
         "\"expires\":\"soon\"}]}",
         "rules[0].expires"},
        {"{\"rules\":[{\"group\":\"shell\",\"effect\":\"deny\",\"match\":\"x\",\"note\":[]}]}",
         "rules[0].note"},
    };

    for (size_t i = 0; i < array_size(cases); i++) {
        scene->err = (struct err)ERR_INIT;
        assert_int_equal(
            settings_parse(&scene->arena, str_from(cases[i].text), &scene->settings, &scene->err),
            ERR_SETTINGS);
        assert_string_equal(scene->err.field, cases[i].field);
        assert_memory_equal(scene->err.message, cases[i].field, strlen(cases[i].field));
    }
}

static void there_is_a_ceiling_on_rules(void **state)
{
    struct scene *scene = *state;
    struct rule rule = rule_of(scene, RULE_DENY, CATALOG_SHELL, "one more");
    const char *text;

    assert_int_equal(buf_printf(&scene->text, "{\"rules\":[],\"resourcePermissions\":{\"shell\":{"
                                              "\"deny\":[\"0\""),
                     0);
    for (int i = 1; i < SETTINGS_MAX_RULES; i++)
        assert_int_equal(buf_printf(&scene->text, ",\"%d\"", i), 0);
    assert_int_equal(buf_printf(&scene->text, "]}}}"), 0);
    assert_int_equal(buf_terminate(&scene->text, &text), 0);
    read_text(scene, text);
    assert_int_equal(scene->settings.rule_count, SETTINGS_MAX_RULES);
    assert_int_equal(settings_add(&scene->arena, &scene->settings, &rule, &scene->err),
                     ERR_TOO_LARGE);
    scene->text.len -= 4;
    assert_int_equal(buf_printf(&scene->text, ",\"over\"]}}}"), 0);
    assert_int_equal(
        settings_parse(&scene->arena, buf_view(&scene->text), &scene->settings, &scene->err),
        ERR_SETTINGS);
}

/* ---- what is not known ---- */

static const char unknown_everywhere[] = "{\n"
                                         "  \"theme\": {\n"
                                         "    \"dark\": 1.50\n"
                                         "  },\n"
                                         "  \"permissions\": {\n"
                                         "    \"camera\": \"maybe\",\n"
                                         "    \"shell\": \"ask\"\n"
                                         "  },\n"
                                         "  \"rules\": [\n"
                                         "    {\n"
                                         "      \"effect\": \"deny\",\n"
                                         "      \"hours\": \"9-17\",\n"
                                         "      \"group\": \"shell\",\n"
                                         "      \"match\": \"prefix:rm\"\n"
                                         "    },\n"
                                         "    {\n"
                                         "      \"group\": \"shell\",\n"
                                         "      \"effect\": \"allow\",\n"
                                         "      \"match\": \"prefix:make\",\n"
                                         "      \"hours\": \"9-17\"\n"
                                         "    }\n"
                                         "  ],\n"
                                         "  \"resourcePermissions\": {\n"
                                         "    \"camera\": [\n"
                                         "      1\n"
                                         "    ],\n"
                                         "    \"shell\": {\n"
                                         "      \"ask\": [\n"
                                         "        \"x\"\n"
                                         "      ],\n"
                                         "      \"deny\": [\n"
                                         "        \"halt\"\n"
                                         "      ]\n"
                                         "    }\n"
                                         "  }\n"
                                         "}\n";

static void what_is_not_known_stays_in_its_place(void **state)
{
    struct scene *scene = *state;

    read_text(scene, unknown_everywhere);
    assert_string_equal(write_text(scene), unknown_everywhere);
}

static void what_is_not_known_is_warned_about(void **state)
{
    static const char *const begins[] = {
        "theme: ",          "permissions.camera: ",         "rules[0].hours: ",
        "rules[1].hours: ", "resourcePermissions.camera: ", "resourcePermissions.shell.ask: "};
    struct scene *scene = *state;

    read_text(scene, unknown_everywhere);
    assert_int_equal(scene->settings.warning_count, array_size(begins));
    for (size_t i = 0; i < array_size(begins); i++)
        assert_true(str_starts_with(scene->settings.warnings[i], str_from(begins[i])));
}

static void a_condition_that_is_not_known_denies_and_never_allows(void **state)
{
    struct scene *scene = *state;

    read_text(scene, unknown_everywhere);
    assert_int_equal(scene->settings.rule_count, 2);
    assert_str(scene->settings.rules[0].pattern, "rm");
    assert_int_equal(scene->settings.rules[0].effect, RULE_DENY);
    assert_str(scene->settings.rules[1].pattern, "halt");
}

static void warnings_have_a_ceiling(void **state)
{
    struct scene *scene = *state;
    const char *text;

    assert_int_equal(buf_printf(&scene->text, "{\"a\":0"), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(buf_printf(&scene->text, ",\"unknown%d\":0", i), 0);
    assert_int_equal(buf_printf(&scene->text, "}"), 0);
    assert_int_equal(buf_terminate(&scene->text, &text), 0);
    read_text(scene, text);
    assert_int_equal(scene->settings.warning_count, 101);
    assert_str(scene->settings.warnings[SETTINGS_MAX_WARNINGS - 1],
               "unknown30: unknown field, kept but ignored");
}

/* ---- writing ---- */

static void the_template_is_what_the_seed_recommends(void **state)
{
    struct scene *scene = *state;
    const char *text;

    assert_int_equal(settings_write_template(&scene->text), 0);
    assert_int_equal(buf_terminate(&scene->text, &text), 0);
    assert_string_equal(text, "{\n"
                              "  \"permissions\": {\n"
                              "    \"filesystemRead\": \"allow\",\n"
                              "    \"filesystemWrite\": \"ask\",\n"
                              "    \"shell\": \"deny\",\n"
                              "    \"computer\": \"deny\",\n"
                              "    \"browser\": \"ask\"\n"
                              "  },\n"
                              "  \"filesystemDir\": \"\",\n"
                              "  \"resourcePermissions\": {}\n"
                              "}\n");
    read_text(scene, text);
    assert_int_equal(scene->settings.warning_count, 0);
}

static void a_plain_rule_goes_where_the_original_finds_it(void **state)
{
    struct scene *scene = *state;

    read_text(scene, "{\"resourcePermissions\":{\"shell\":{\"allow\":[\"ls\"],\"deny\":[]}}}");
    add(scene, RULE_ALLOW, CATALOG_SHELL, "git *");
    add(scene, RULE_DENY, CATALOG_BROWSER, "example.com");
    assert_string_equal(write_text(scene), "{\n"
                                           "  \"resourcePermissions\": {\n"
                                           "    \"shell\": {\n"
                                           "      \"allow\": [\n"
                                           "        \"ls\",\n"
                                           "        \"git *\"\n"
                                           "      ],\n"
                                           "      \"deny\": []\n"
                                           "    },\n"
                                           "    \"browser\": {\n"
                                           "      \"allow\": [],\n"
                                           "      \"deny\": [\n"
                                           "        \"example.com\"\n"
                                           "      ]\n"
                                           "    }\n"
                                           "  }\n"
                                           "}\n");
}

static void what_the_original_would_misread_stands_apart(void **state)
{
    struct scene *scene = *state;
    struct rule rule = rule_of(scene, RULE_ALLOW, CATALOG_SHELL, "make");

    read_text(scene, "{}");
    add(scene, RULE_DENY, CATALOG_FILESYSTEM_READ, "dir:/srv/me/.ssh");
    add(scene, RULE_DENY, CATALOG_SHELL, "exact:prefix:x");
    rule.cwd = STR("/src");
    rule.expires_ms = 1796083200000;
    rule.note = STR("why \"not\"");
    assert_int_equal(settings_add(&scene->arena, &scene->settings, &rule, &scene->err), 0);
    assert_string_equal(write_text(scene), "{\n"
                                           "  \"rules\": [\n"
                                           "    {\n"
                                           "      \"group\": \"filesystemRead\",\n"
                                           "      \"effect\": \"deny\",\n"
                                           "      \"match\": \"dir:/srv/me/.ssh\"\n"
                                           "    },\n"
                                           "    {\n"
                                           "      \"group\": \"shell\",\n"
                                           "      \"effect\": \"deny\",\n"
                                           "      \"match\": \"exact:prefix:x\"\n"
                                           "    },\n"
                                           "    {\n"
                                           "      \"group\": \"shell\",\n"
                                           "      \"effect\": \"allow\",\n"
                                           "      \"match\": \"make\",\n"
                                           "      \"cwd\": \"/src\",\n"
                                           "      \"expires\": \"2026-12-01T00:00:00.000Z\",\n"
                                           "      \"note\": \"why \\\"not\\\"\"\n"
                                           "    }\n"
                                           "  ]\n"
                                           "}\n");
}

static void the_same_rule_is_not_added_twice(void **state)
{
    struct scene *scene = *state;
    struct rule rule = rule_of(scene, RULE_ALLOW, CATALOG_FILESYSTEM_READ, "/a//b/");

    read_text(scene, "{}");
    add(scene, RULE_ALLOW, CATALOG_FILESYSTEM_READ, "/a/b");
    assert_int_equal(settings_add(&scene->arena, &scene->settings, &rule, &scene->err),
                     ERR_ALREADY_EXISTS);
    rule.effect = RULE_DENY;
    assert_int_equal(settings_add(&scene->arena, &scene->settings, &rule, &scene->err), 0);
    rule.note = STR("other words");
    assert_int_equal(settings_add(&scene->arena, &scene->settings, &rule, &scene->err), 0);
}

static void what_json_cannot_hold_is_not_added(void **state)
{
    struct scene *scene = *state;
    struct rule rule = {.group = CATALOG_FILESYSTEM_READ,
                        .effect = RULE_DENY,
                        .kind = RULE_EXACT,
                        .pattern = STR("/a\xff"),
                        .cwd = STR_EMPTY,
                        .note = STR_EMPTY};

    read_text(scene, "{}");
    assert_int_equal(settings_add(&scene->arena, &scene->settings, &rule, &scene->err),
                     ERR_INVALID_UTF8);
    rule.pattern = STR("relative");
    assert_int_equal(settings_add(&scene->arena, &scene->settings, &rule, &scene->err),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(scene->settings.rule_count, 0);
}

/* ---- revoking ---- */

static size_t find(struct scene *scene, const struct rule *rule)
{
    char id[SETTINGS_ID_BYTES];
    size_t index;

    assert_int_equal(settings_rule_id(rule, id), 0);
    assert_int_equal(settings_find(&scene->settings, str_from(id), &index, &scene->err), 0);
    return index;
}

static void a_revoked_rule_is_gone_with_its_twins_and_nothing_else(void **state)
{
    struct scene *scene = *state;
    struct rule wanted = rule_of(scene, RULE_DENY, CATALOG_SHELL, "ls");

    read_text(scene, "{\"rules\":[{\"group\":\"shell\",\"effect\":\"deny\",\"match\":\"ls\"},"
                     "{\"group\":\"shell\",\"effect\":\"deny\",\"match\":\"ls\",\"note\":\"n\"}],"
                     "\"resourcePermissions\":{\"shell\":{\"allow\":[\"ls\"],"
                     "\"deny\":[\"a\",\"ls\",\"b\",\"ls\"]}}}");
    add(scene, RULE_ALLOW, CATALOG_SHELL, "c");
    assert_int_equal(
        settings_revoke(&scene->arena, &scene->settings, find(scene, &wanted), &scene->err), 0);
    assert_int_equal(scene->settings.rule_count, 5);
    read_text(scene, write_text(scene));
    assert_int_equal(scene->settings.rule_count, 5);
    assert_str(scene->settings.rules[0].note, "n");
    assert_int_equal(scene->settings.rules[1].effect, RULE_ALLOW);
    assert_str(scene->settings.rules[1].pattern, "ls");
    assert_str(scene->settings.rules[2].pattern, "c");
    assert_str(scene->settings.rules[3].pattern, "a");
    assert_str(scene->settings.rules[4].pattern, "b");
}

static void what_was_added_can_be_revoked_before_it_is_written(void **state)
{
    struct scene *scene = *state;
    struct rule rule = rule_of(scene, RULE_DENY, CATALOG_SHELL, "ls");

    read_text(scene, "{}");
    add(scene, RULE_DENY, CATALOG_SHELL, "ls");
    assert_int_equal(
        settings_revoke(&scene->arena, &scene->settings, find(scene, &rule), &scene->err), 0);
    assert_string_equal(write_text(scene), "{}\n");
}

static void an_id_is_of_all_that_the_rule_says(void **state)
{
    struct scene *scene = *state;
    struct rule rules[8];
    char ids[array_size(rules)][SETTINGS_ID_BYTES];

    for (size_t i = 0; i < array_size(rules); i++)
        rules[i] = rule_of(scene, RULE_DENY, CATALOG_SHELL, "ls");
    rules[1].effect = RULE_ALLOW;
    rules[2].pattern = STR("ls -l");
    rules[3].kind = RULE_PREFIX;
    rules[4].cwd = STR("/src");
    rules[5].note = STR("/src");
    rules[6].expires_ms = 1;
    rules[7] = rule_of(scene, RULE_DENY, CATALOG_BROWSER, "ls");
    for (size_t i = 0; i < array_size(rules); i++) {
        assert_int_equal(settings_rule_id(&rules[i], ids[i]), 0);
        assert_int_equal(strlen(ids[i]), SETTINGS_ID_BYTES - 1);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(ids[i], ids[j]);
    }
    /* What somebody wrote down yesterday names the same rule today. */
    assert_memory_equal(ids[0], "b82d5f48b5", SETTINGS_SHORT_ID);
}

static void ids_are_found_by_their_beginning_if_it_is_theirs_alone(void **state)
{
    struct scene *scene = *state;
    char first[SETTINGS_ID_BYTES];
    size_t index;
    size_t twin = 0;

    /* As many as it takes until two begin with the same four digits. */
    read_text(scene, "{}");
    for (int i = 0; twin == 0; i++) {
        char match[32];
        char id[SETTINGS_ID_BYTES];

        snprintf(match, sizeof(match), "command %d", i);
        add(scene, RULE_DENY, CATALOG_SHELL, match);
        assert_int_equal(settings_rule_id(&scene->settings.rules[i], id), 0);
        for (size_t j = 0; j < (size_t)i && twin == 0; j++) {
            assert_int_equal(settings_rule_id(&scene->settings.rules[j], first), 0);
            if (memcmp(first, id, SETTINGS_LEAST_ID) == 0)
                twin = (size_t)i;
        }
    }
    assert_int_equal(
        settings_find(&scene->settings, str_slice(str_from(first), 0, 4), &index, &scene->err),
        ERR_INVALID_ARGUMENT);
    assert_int_equal(
        settings_find(&scene->settings, str_slice(str_from(first), 0, 16), &index, &scene->err), 0);
    assert_true(index < twin);
    assert_int_equal(
        settings_find(&scene->settings, str_slice(str_from(first), 0, 3), &index, &scene->err),
        ERR_NOT_FOUND);
    assert_int_equal(settings_find(&scene->settings, STR(""), &index, &scene->err), ERR_NOT_FOUND);
    assert_int_equal(
        settings_find(&scene->settings, STR("00000000000000000000"), &index, &scene->err),
        ERR_NOT_FOUND);
}

TEST_MAIN(cmocka_unit_test_setup_teardown(the_file_of_the_original_is_read, set_up, tear_down),
          cmocka_unit_test_setup_teardown(rules_with_conditions_are_read, set_up, tear_down),
          cmocka_unit_test_setup_teardown(what_is_malformed_is_refused_with_its_place, set_up,
                                          tear_down),
          cmocka_unit_test_setup_teardown(there_is_a_ceiling_on_rules, set_up, tear_down),
          cmocka_unit_test_setup_teardown(what_is_not_known_stays_in_its_place, set_up, tear_down),
          cmocka_unit_test_setup_teardown(what_is_not_known_is_warned_about, set_up, tear_down),
          cmocka_unit_test_setup_teardown(a_condition_that_is_not_known_denies_and_never_allows,
                                          set_up, tear_down),
          cmocka_unit_test_setup_teardown(warnings_have_a_ceiling, set_up, tear_down),
          cmocka_unit_test_setup_teardown(the_template_is_what_the_seed_recommends, set_up,
                                          tear_down),
          cmocka_unit_test_setup_teardown(a_plain_rule_goes_where_the_original_finds_it, set_up,
                                          tear_down),
          cmocka_unit_test_setup_teardown(what_the_original_would_misread_stands_apart, set_up,
                                          tear_down),
          cmocka_unit_test_setup_teardown(the_same_rule_is_not_added_twice, set_up, tear_down),
          cmocka_unit_test_setup_teardown(what_json_cannot_hold_is_not_added, set_up, tear_down),
          cmocka_unit_test_setup_teardown(a_revoked_rule_is_gone_with_its_twins_and_nothing_else,
                                          set_up, tear_down),
          cmocka_unit_test_setup_teardown(what_was_added_can_be_revoked_before_it_is_written,
                                          set_up, tear_down),
          cmocka_unit_test_setup_teardown(an_id_is_of_all_that_the_rule_says, set_up, tear_down),
          cmocka_unit_test_setup_teardown(ids_are_found_by_their_beginning_if_it_is_theirs_alone,
                                          set_up, tear_down))
