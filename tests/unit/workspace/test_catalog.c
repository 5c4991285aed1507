/* SPDX-License-Identifier: Apache-2.0 */
/* The tools of a workspace: their schemas, and arguments that must and must not fit. */
#include "base/schema/schema.h"
#include "protocol/catalog.h"
#include "protocol/workspacetoolids.h"
#include "test.h"

struct sample {
    enum workspace_tool_id tool;
    const char *json;
};

static const struct sample good[] = {
    {WORKSPACE_TOOL_READ_FILE, "{\"path\":\"a\",\"startLine\":2,\"maxLines\":3}"},
    {WORKSPACE_TOOL_LIST_FILES, "{}"},
    {WORKSPACE_TOOL_LIST_FILES, "{\"path\":\"/\",\"recursive\":true}"},
    {WORKSPACE_TOOL_STAT, "{\"path\":\"a\"}"},
    {WORKSPACE_TOOL_GREP, "{\"pattern\":\"a\",\"include\":\"*.c\",\"ignoreCase\":true}"},
    {WORKSPACE_TOOL_WRITE_FILE, "{\"path\":\"a\",\"content\":\"\",\"overwrite\":false}"},
    {WORKSPACE_TOOL_EDIT_FILE, "{\"path\":\"a\",\"oldString\":\"x\",\"newString\":\"\"}"},
    {WORKSPACE_TOOL_DELETE_FILE, "{\"path\":\"a\",\"recursive\":true,\"force\":true}"},
    {WORKSPACE_TOOL_COPY_FILE, "{\"source\":\"a\",\"destination\":\"b\"}"},
    {WORKSPACE_TOOL_MOVE_FILE, "{\"source\":\"a\",\"destination\":\"b\",\"overwrite\":true}"},
    {WORKSPACE_TOOL_MKDIR, "{\"path\":\"a\"}"},
    {WORKSPACE_TOOL_EXECUTE_COMMAND, "{\"command\":\"true\",\"timeout\":1,\"cwd\":\"/\"}"},
    {WORKSPACE_TOOL_EXECUTE_COMMAND, "{\"command\":\"true\",\"background\":true}"},
    {WORKSPACE_TOOL_GET_PROCESS_OUTPUT, "{\"processId\":\"p1\"}"},
    {WORKSPACE_TOOL_GET_PROCESS_OUTPUT,
     "{\"processId\":\"p1\",\"tail\":1,\"waitMs\":0,\"waitFor\":\"a\"}"},
    {WORKSPACE_TOOL_KILL_PROCESS, "{\"processId\":\"p1\",\"tail\":9}"},
};

static const struct sample bad[] = {
    {WORKSPACE_TOOL_READ_FILE, "{}"},
    {WORKSPACE_TOOL_READ_FILE, "{\"path\":\"a\",\"startLine\":0}"},
    {WORKSPACE_TOOL_GREP, "{\"pattern\":\"\"}"},
    {WORKSPACE_TOOL_WRITE_FILE, "{\"path\":\"a\"}"},
    {WORKSPACE_TOOL_EDIT_FILE, "{\"path\":\"a\",\"oldString\":\"\",\"newString\":\"\"}"},
    {WORKSPACE_TOOL_COPY_FILE, "{\"source\":\"a\"}"},
    {WORKSPACE_TOOL_EXECUTE_COMMAND, "{\"command\":\"\"}"},
    {WORKSPACE_TOOL_EXECUTE_COMMAND, "{\"command\":\"true\",\"timeout\":0}"},
    {WORKSPACE_TOOL_EXECUTE_COMMAND, "{\"command\":\"true\",\"background\":1}"},
    {WORKSPACE_TOOL_GET_PROCESS_OUTPUT, "{}"},
    {WORKSPACE_TOOL_GET_PROCESS_OUTPUT, "{\"processId\":\"p1\",\"waitMs\":300001}"},
    {WORKSPACE_TOOL_GET_PROCESS_OUTPUT, "{\"processId\":\"p1\",\"waitFor\":\"\"}"},
    {WORKSPACE_TOOL_KILL_PROCESS, "{\"processId\":1}"},
};

static int check_against(struct arena *arena, const struct json_value *document, const char *json)
{
    const struct json_value *value;
    const struct schema *schema;

    assert_non_null(document);
    assert_int_equal(schema_compile(arena, document, &schema, NULL), 0);
    assert_int_equal(json_parse(arena, str_from(json), JSON_LIMITS_DEFAULT, &value, NULL), 0);
    return schema_check(schema, value, NULL);
}

static int check(struct str schema_text, const char *json)
{
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    const struct json_value *document;

    assert_int_equal(json_parse(&arena, schema_text, JSON_LIMITS_DEFAULT, &document, NULL), 0);
    return check_against(&arena, document, json);
}

static int check_result(struct str listing, const char *json)
{
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    const struct json_value *document;

    assert_int_equal(json_parse(&arena, listing, JSON_LIMITS_DEFAULT, &document, NULL), 0);
    return check_against(&arena, json_get(document, STR("outputSchema")), json);
}

static void each_tool_belongs_to_the_family(void **state)
{
    (void)state;
    assert_int_equal(workspace_tool_count, WORKSPACE_TOOL_COUNT);
    for (size_t i = 0; i < workspace_tool_count; i++) {
        assert_int_equal(workspace_tools[i].id, (int)i);
        assert_string_equal(workspace_tools[i].provider, "workspace");
        assert_ptr_equal(workspace_listings[i].tool, &workspace_tools[i]);
        assert_int_equal(check_result(workspace_listings[i].text, "{}"), ERR_SCHEMA_MISMATCH);
    }
}

static void good_arguments_are_accepted(void **state)
{
    bool has_sample[WORKSPACE_TOOL_COUNT] = {false};

    (void)state;
    for (size_t i = 0; i < array_size(good); i++) {
        assert_int_equal(check(workspace_tools[good[i].tool].input_schema, good[i].json), 0);
        has_sample[good[i].tool] = true;
    }
    for (size_t i = 0; i < WORKSPACE_TOOL_COUNT; i++)
        assert_true(has_sample[i]);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(bad); i++)
        assert_int_equal(check(workspace_tools[bad[i].tool].input_schema, bad[i].json),
                         ERR_SCHEMA_MISMATCH);
}

/* No name of a workspace's tool leads to the machine's by accident: they are found in their own
 * table. */
static void the_other_table_has_none_of_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < catalog_tool_count; i++)
        assert_string_not_equal(catalog_tools[i].provider, "workspace");
}

TEST_MAIN(cmocka_unit_test(each_tool_belongs_to_the_family),
          cmocka_unit_test(good_arguments_are_accepted),
          cmocka_unit_test(bad_arguments_are_refused),
          cmocka_unit_test(the_other_table_has_none_of_them))
