/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/buf.h"
#include "base/jsonwrite.h"
#include "protocol/arguments.h"
#include "protocol/toolids.h"

enum { ARENA_BYTES = 1 << 20 };

static const struct json_value *parse(struct arena *arena, const char *text)
{
    const struct json_value *value;

    assert_int_equal(json_parse(arena, str_from(text), JSON_LIMITS_DEFAULT, &value, NULL), 0);
    return value;
}

/* `expected` NULL: the very same value. */
static void assert_becomes(int tool, const char *given, const char *expected)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_buf struct buf text = BUF_INIT(ARENA_BYTES);
    const struct json_value *arguments = parse(&arena, given);
    const struct json_value *result;
    struct json_writer w;
    struct err err = ERR_INIT;
    const char *shown;

    if (arguments_normalise(&arena, &catalog_tools[tool], arguments, &result, &err) < 0)
        fail_msg("%s: %s", given, err.message);
    if (expected == NULL) {
        assert_ptr_equal(result, arguments);
        return;
    }
    json_writer_init(&w, &text);
    json_write_value(&w, result);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_int_equal(buf_terminate(&text, &shown), 0);
    assert_string_equal(shown, expected);
    assert_int_equal(arguments_normalise(&arena, &catalog_tools[tool], result, &arguments, NULL),
                     0);
    assert_true(json_eq(arguments, result)); /* once is enough */
}

static void assert_refused(int tool, const char *given, const char *field, const char *message)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *arguments = parse(&arena, given);
    const struct json_value *result = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(arguments_normalise(&arena, &catalog_tools[tool], arguments, &result, &err),
                     ERR_SCHEMA_MISMATCH);
    assert_null(result);
    assert_string_equal(err.message, message);
    assert_string_equal(err.field, field);
}

static void what_is_left_out_may_be_assumed(void **state)
{
    (void)state;
    assert_becomes(TOOL_LIST_FILES, "{}", "{\"dirPath\":\".\"}");
    assert_becomes(TOOL_GET_FILE_TREE, "{\"maxDepth\":3,\"dir_path\":\"\"}",
                   "{\"maxDepth\":3,\"dirPath\":\".\"}");
    assert_becomes(TOOL_LIST_FILES, "{\"path\":null,\"sort\":\"name\"}",
                   "{\"sortBy\":\"name\",\"dirPath\":\".\"}");
    assert_becomes(TOOL_LIST_FILES, "{\"path\":\"src\"}", "{\"dirPath\":\"src\"}");
    assert_becomes(TOOL_LIST_FILES, "{\"dirPath\":\"src\"}", NULL);
    assert_becomes(TOOL_CREATE_DIRECTORY, "{}", NULL); /* the schema refuses that */
}

static void what_makes_no_difference_is_dropped(void **state)
{
    (void)state;
    assert_becomes(TOOL_BROWSER_TYPE,
                   "{\"element\":{\"ref\":\"e1\"},\"text\":\"a\",\"slowly\":true}",
                   "{\"element\":{\"ref\":\"e1\"},\"text\":\"a\"}");
    assert_becomes(TOOL_BROWSER_FILL_FORM,
                   "{\"fields\":[{\"name\":\"Email\",\"type\":\"textbox\",\"ref\":\"e5\","
                   "\"value\":\"x\"}]}",
                   "{\"fields\":[{\"value\":\"x\",\"element\":{\"ref\":\"e5\"}}]}");
    /* It is not told as a name that one could mean, nor as one of the list's items. */
    assert_refused(TOOL_BROWSER_TYPE, "{\"slowl\":true}", "slowl",
                   "slowl: unknown; the arguments are element, text, mode, clear, submit, delay, "
                   "timeoutMs, pageId, snapshot");
    assert_refused(TOOL_BROWSER_FILL_FORM, "{\"fields\":[],\"name\":\"x\"}", "name",
                   "name: unknown; the arguments are fields, submit, pageId, snapshot");
}

static void a_list_may_stand_for_several_arguments(void **state)
{
    (void)state;
    assert_becomes(TOOL_MOUSE_CLICK, "{\"coordinate\":[10,20]}", "{\"x\":10,\"y\":20}");
    assert_becomes(TOOL_MOUSE_CLICK, "{\"coordinate\":[10,20],\"x\":10}", "{\"x\":10,\"y\":20}");
    assert_becomes(TOOL_BROWSER_MOUSE_CLICK_XY, "{\"coordinate\":[1.5,2]}", "{\"x\":1.5,\"y\":2}");
    assert_becomes(TOOL_MOUSE_DRAG, "{\"start_coordinate\":[1,2],\"coordinate\":[3,4]}",
                   "{\"fromX\":1,\"fromY\":2,\"toX\":3,\"toY\":4}");
    assert_becomes(TOOL_MOUSE_CLICK, "{\"x\":1,\"y\":2,\"coordinate\":null}", "{\"x\":1,\"y\":2}");
    assert_refused(TOOL_MOUSE_CLICK, "{\"x\":11,\"coordinate\":[10,20]}", "x",
                   "x: given twice with different values, also as coordinate");
    assert_refused(TOOL_MOUSE_CLICK, "{\"coordinate\":[10]}", "coordinate",
                   "coordinate: must be a list, [x, y]");
    assert_refused(TOOL_MOUSE_DRAG, "{\"startCoordinate\":\"here\"}", "startCoordinate",
                   "startCoordinate: must be a list, [fromX, fromY]");
}

static void a_boolean_may_stand_for_a_value(void **state)
{
    (void)state;
    assert_becomes(TOOL_BROWSER_DIALOG, "{\"accept\":true}", "{\"action\":\"accept\"}");
    assert_becomes(TOOL_BROWSER_DIALOG, "{\"accept\":false}", "{\"action\":\"dismiss\"}");
    assert_becomes(TOOL_BROWSER_CLICK, "{\"ref\":\"e1\",\"doubleClick\":true}",
                   "{\"clickCount\":2,\"element\":{\"ref\":\"e1\"}}");
    assert_becomes(TOOL_BROWSER_PRESS, "{\"key\":\"Enter\"}", "{\"keys\":\"Enter\"}");
    assert_refused(TOOL_BROWSER_DIALOG, "{\"accept\":1}", "accept",
                   "accept: another name of action, which must be a string");
}

static void members_may_stand_beside_their_object(void **state)
{
    static const char wanted[] = "{\"element\":{\"ref\":\"e1\"}}";

    (void)state;
    assert_becomes(TOOL_BROWSER_CLICK, wanted, NULL);
    assert_becomes(TOOL_BROWSER_CLICK, "{\"ref\":\"e1\"}", wanted);
    assert_becomes(TOOL_BROWSER_CLICK, "{\"element\":\"Save button\",\"ref\":\"e1\"}", wanted);
    assert_becomes(TOOL_BROWSER_CLICK, "{\"element\":\"{\\\"ref\\\":\\\"e1\\\"}\"}", wanted);
    assert_becomes(TOOL_BROWSER_TYPE, "{\"selector\":\"#a\",\"text\":\"b\",\"ref\":null}",
                   "{\"text\":\"b\",\"element\":{\"selector\":\"#a\"}}");
    assert_becomes(TOOL_BROWSER_FILL_FORM, "{\"fields\":[{\"Ref\":\"e1\",\"value\":true}]}",
                   "{\"fields\":[{\"value\":true,\"element\":{\"ref\":\"e1\"}}]}");
    assert_becomes(TOOL_BROWSER_SNAPSHOT, "{\"ref\":\"e1\"}", "{\"scope\":{\"ref\":\"e1\"}}");
    /* Who names all arguments leaves out what is null or empty. */
    assert_becomes(TOOL_BROWSER_SCREENSHOT, "{\"ref\":null,\"selector\":\"\"}", "{}");
    assert_becomes(TOOL_BROWSER_CLICK, "{\"element\":{\"ref\":\"e1\"},\"selector\":null}", wanted);
    assert_becomes(TOOL_BROWSER_CLICK, "{\"element\":null,\"ref\":\"e1\"}", wanted);
    assert_becomes(TOOL_BROWSER_CLICK, "{\"element\":{\"ref\":\"e1\"},\"_ref\":\"e2\"}", wanted);
    assert_becomes(TOOL_BROWSER_SNAPSHOT, "{\"_ref\":\"e1\"}", "{}");
    assert_becomes(TOOL_BROWSER_FILL_FORM,
                   "{\"_value\":\"x\",\"fields\":[{\"ref\":\"e1\",\"value\":true}]}",
                   "{\"fields\":[{\"value\":true,\"element\":{\"ref\":\"e1\"}}]}");
    assert_becomes(TOOL_BROWSER_FILL_FORM, "{\"_value\":\"x\",\"fields\":[{\"ref\":\"e1\"}]}",
                   "{\"fields\":[{\"element\":{\"ref\":\"e1\"}}]}");
    /* Of which of two, or in spite of what? */
    assert_refused(TOOL_BROWSER_DRAG, "{\"ref\":\"e1\"}", "ref",
                   "ref: unknown; the arguments are from, to, pageId, snapshot");
    assert_refused(
        TOOL_BROWSER_SCROLL, "{\"element\":{\"ref\":\"e1\"},\"ref\":\"e2\"}", "ref",
        "ref: unknown; the arguments are mode, element, direction, amount, pageId, snapshot");
    assert_refused(TOOL_BROWSER_FILL_FORM,
                   "{\"fields\":[{\"element\":{\"ref\":\"e1\"},\"ref\":\"e2\",\"value\":\"x\"}]}",
                   "fields[0].ref", "fields[0].ref: unknown; the arguments are element, value");
}

static void a_text_may_stand_for_an_element(void **state)
{
    (void)state;
    assert_becomes(TOOL_BROWSER_CLICK, "{\"element\":\"e12\",\"button\":\"left\"}",
                   "{\"element\":{\"selector\":\"e12\"},\"button\":\"left\"}");
    assert_becomes(TOOL_BROWSER_DRAG, "{\"from\":\"e1\",\"to\":{\"ref\":\"e2\"}}",
                   "{\"from\":{\"selector\":\"e1\"},\"to\":{\"ref\":\"e2\"}}");
    assert_becomes(TOOL_BROWSER_FILL_FORM, "{\"fields\":[{\"element\":\"#a\",\"value\":\"x\"}]}",
                   "{\"fields\":[{\"element\":{\"selector\":\"#a\"},\"value\":\"x\"}]}");
    assert_becomes(TOOL_BROWSER_CLICK, "{\"element\":7}", NULL);
}

static void what_is_as_described_stays(void **state)
{
    (void)state;
    assert_becomes(TOOL_READ_FILE, "{\"filePath\":\"a\",\"startLine\":3}", NULL);
    assert_becomes(TOOL_READ_FILE, "{}", NULL);
    assert_becomes(TOOL_READ_FILE, "[1]", NULL);
    assert_becomes(TOOL_WRITE_FILE, "{\"filePath\":\"\",\"content\":\"\"}", NULL);
    assert_becomes(TOOL_EDIT_FILES,
                   "{\"edits\":[{\"filePath\":\"a\",\"oldString\":\"b\",\"newString\":\"\"},7]}",
                   NULL);
    /* What does not fit is left to the schema. */
    assert_becomes(TOOL_READ_FILE, "{\"filePath\":7,\"startLine\":{}}", NULL);
    assert_becomes(TOOL_READ_FILE, "{\"filePath\":null}", NULL);
}

static void other_names_are_understood(void **state)
{
    (void)state;
    assert_becomes(TOOL_READ_FILE, "{\"file_path\":\"a\",\"offset\":3,\"limit\":4}",
                   "{\"filePath\":\"a\",\"startLine\":3,\"maxLines\":4}");
    assert_becomes(TOOL_READ_FILE, "{\"path\":\"a\",\"head\":4}",
                   "{\"filePath\":\"a\",\"maxLines\":4}");
    assert_becomes(
        TOOL_EDIT_FILE,
        "{\"FilePath\":\"a\",\"old_string\":\"b\",\"new-string\":\"\",\"replace_all\":"
        "true}",
        "{\"filePath\":\"a\",\"oldString\":\"b\",\"newString\":\"\",\"replaceAll\":true}");
    assert_becomes(TOOL_DELETE, "{\"file_path\":\"a\"}", "{\"path\":\"a\"}");
    assert_becomes(TOOL_SEARCH_FILES, "{\"pattern\":\"a\",\"glob\":\"*.c\",\"-i\":true,\"-C\":2}",
                   "{\"pattern\":\"a\",\"filePattern\":\"*.c\",\"ignoreCase\":true,"
                   "\"contextLines\":2}");
    assert_becomes(TOOL_READ_FILE, "{\"filePath\":\"a\",\"_meta\":{\"x\":[1]},\"_\":2}",
                   "{\"filePath\":\"a\"}");
    /* Twice the same is once. */
    assert_becomes(TOOL_READ_FILE, "{\"path\":\"a\",\"filePath\":\"a\"}", "{\"filePath\":\"a\"}");
}

static void text_becomes_numbers_booleans_and_lists(void **state)
{
    (void)state;
    assert_becomes(TOOL_READ_FILE,
                   "{\"filePath\":\"10\",\"startLine\":\"10\",\"maxLines\":\" 5 \"}",
                   "{\"filePath\":\"10\",\"startLine\":10,\"maxLines\":5}");
    assert_becomes(TOOL_EDIT_FILE,
                   "{\"filePath\":\"true\",\"replaceAll\":\"True\",\"dryRun\":"
                   "\"false\"}",
                   "{\"filePath\":\"true\",\"replaceAll\":true,\"dryRun\":false}");
    assert_becomes(TOOL_EDIT_FILES,
                   "{\"edits\":\"[{\\\"path\\\":\\\"a\\\"}]\",\"dryRun\":\"false\"}",
                   "{\"edits\":[{\"filePath\":\"a\"}],\"dryRun\":false}");
    assert_becomes(TOOL_READ_FILES, "{\"paths\":\"a b\"}", "{\"filePaths\":[\"a b\"]}");
    assert_becomes(TOOL_SEARCH_FILES, "{\"query\":\"a\",\"exclude\":\"*.log\"}",
                   "{\"query\":\"a\",\"excludePatterns\":[\"*.log\"]}");
    /* What is no number stays, for the schema to refuse. */
    assert_becomes(TOOL_READ_FILE, "{\"path\":\"a\",\"startLine\":\"ten\"}",
                   "{\"filePath\":\"a\",\"startLine\":\"ten\"}");
    assert_becomes(TOOL_EDIT_FILES, "{\"edits\":\"[{]\"}", "{\"edits\":\"[{]\"}");
}

static void empty_optional_arguments_are_missing(void **state)
{
    (void)state;
    assert_becomes(TOOL_SEARCH_FILES,
                   "{\"query\":\"a\",\"name\":\"\",\"dirPath\":\"\",\"maxResults\":\"\","
                   "\"ignoreCase\":null,\"pattern\":null}",
                   "{\"query\":\"a\"}");
    assert_becomes(TOOL_EDIT_FILE, "{\"filePath\":\"\",\"new_string\":\"\",\"dryRun\":null}",
                   "{\"filePath\":\"\",\"newString\":\"\"}");
}

static void what_stands_beside_a_list_counts_for_its_items(void **state)
{
    (void)state;
    assert_becomes(TOOL_EDIT_FILES,
                   "{\"file_path\":\"a\",\"edits\":[{\"old_string\":\"b\",\"new_string\":\"c\"},"
                   "{\"filePath\":\"d\",\"oldText\":\"e\",\"newText\":\"f\"}]}",
                   "{\"edits\":[{\"oldString\":\"b\",\"newString\":\"c\",\"filePath\":\"a\"},"
                   "{\"filePath\":\"d\",\"oldString\":\"e\",\"newString\":\"f\"}]}");
}

static void unknown_names_are_refused_with_the_nearest(void **state)
{
    (void)state;
    assert_refused(TOOL_EDIT_FILE, "{\"filePath\":\"a\",\"replaceAl\":true}", "replaceAl",
                   "replaceAl: unknown; did you mean replaceAll?");
    assert_refused(TOOL_READ_FILE, "{\"filePth\":\"a\"}", "filePth",
                   "filePth: unknown; did you mean filePath?");
    assert_refused(TOOL_SEARCH_FILES, "{\"context_line_count\":1}", "context_line_count",
                   "context_line_count: unknown; did you mean contextLines?");
    /* Not in the words of an argument that was never sent. */
    assert_refused(TOOL_SEARCH_FILES, "{\"query\":\"a\",\"regex\":true}", "regex",
                   "regex: another name of pattern, which must be a string");
    assert_refused(TOOL_READ_FILE, "{\"zzz\":1}", "zzz",
                   "zzz: unknown; the arguments are filePath, startLine, maxLines, endLine, tail, "
                   "lineNumbers, startColumn, startPage");
    assert_refused(TOOL_SHELL_LIST, "{\"zzz\":1}", "zzz", "zzz: unknown; there are no arguments");
    assert_refused(TOOL_EDIT_FILES, "{\"edits\":[{},{\"old_sting\":\"a\"}]}", "edits[1].old_sting",
                   "edits[1].old_sting: unknown; did you mean oldString?");
    assert_refused(TOOL_SHELL_LIST, "{\"z\\u001b[2J\\u202e\":1}", "z\\x1b[2J\\u{202e}",
                   "z\\x1b[2J\\u{202e}: unknown; there are no arguments");
    assert_refused(TOOL_READ_FILE, "{\"filePath\":\"a\",\"file\\u005fpath\":\"b\"}", "filePath",
                   "filePath: given twice with different values, also as file_path");
    assert_refused(TOOL_READ_FILE, "{\"\":1}", "",
                   ": unknown; the arguments are filePath, startLine, maxLines, endLine, tail, "
                   "lineNumbers, startColumn, startPage");
}

static void two_values_of_one_argument_are_refused(void **state)
{
    (void)state;
    assert_refused(TOOL_READ_FILE, "{\"filePath\":\"a\",\"path\":\"b\"}", "filePath",
                   "filePath: given twice with different values, also as path");
}

TEST_MAIN(cmocka_unit_test(what_is_left_out_may_be_assumed),
          cmocka_unit_test(what_makes_no_difference_is_dropped),
          cmocka_unit_test(a_list_may_stand_for_several_arguments),
          cmocka_unit_test(a_boolean_may_stand_for_a_value),
          cmocka_unit_test(members_may_stand_beside_their_object),
          cmocka_unit_test(a_text_may_stand_for_an_element),
          cmocka_unit_test(what_is_as_described_stays),
          cmocka_unit_test(other_names_are_understood),
          cmocka_unit_test(text_becomes_numbers_booleans_and_lists),
          cmocka_unit_test(empty_optional_arguments_are_missing),
          cmocka_unit_test(what_stands_beside_a_list_counts_for_its_items),
          cmocka_unit_test(unknown_names_are_refused_with_the_nearest),
          cmocka_unit_test(two_values_of_one_argument_are_refused))
