/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "programs/connect/tree.h"

enum { ROOM = 1 << 20, TEXT_BYTES = 8192 };

/* The list as "path type size" in lines, after the text. */
static void told_of(const char *tree, char out[TEXT_BYTES])
{
    cleanup_arena struct arena arena = ARENA_INIT(ROOM);
    cleanup_buf struct buf written = BUF_INIT(ROOM);
    const struct json_value *document;
    struct json_writer json;
    size_t len = 0;
    struct str told;

    json_writer_init(&json, &written);
    assert_int_equal(tree_write("/r", str_from(tree), &json), 0);
    assert_int_equal(json_writer_finish(&json), 0);
    assert_int_equal(json_parse(&arena, buf_view(&written), JSON_LIMITS_DEFAULT, &document, NULL),
                     0);
    assert_true(json_get_str(document, STR("rootPath"), &told));
    assert_str(told, "/r");
    assert_true(json_get_str(document, STR("treeText"), &told));
    len = (size_t)snprintf(out, TEXT_BYTES, "%.*s|\n", STR_ARG(told));
    assert_true(len < TEXT_BYTES);
    json_each_item (entry, json_get(document, STR("tree"))) {
        struct str path;
        struct str type;
        int64_t size = -1;

        assert_true(json_get_str(entry, STR("path"), &path));
        assert_true(json_get_str(entry, STR("type"), &type));
        (void)json_get_int(entry, STR("sizeBytes"), &size);
        len += (size_t)snprintf(out + len, TEXT_BYTES - len, "%.*s %.*s %d\n", STR_ARG(path),
                                STR_ARG(type), (int)size);
        assert_true(len < TEXT_BYTES);
    }
}

static void assert_told(const char *tree, const char *wanted)
{
    char got[TEXT_BYTES];

    told_of(tree, got);
    assert_string_equal(got, wanted);
}

#define TREE(children)        "{\"path\":\"/r/\",\"children\":[" children "]}"
#define FILE_NODE(name, size) "{\"name\":\"" name "\",\"type\":\"file\",\"sizeBytes\":" #size "}"
#define DIRECTORY(name, children)                                                                  \
    "{\"name\":\"" name "\",\"type\":\"directory\",\"children\":[" children "]}"
#define NOT_OPENED(name, why)                                                                      \
    "{\"name\":\"" name "\",\"type\":\"directory\",\"notOpened\":\"" why "\"}"

static void entries_come_level_by_level_with_sizes(void **state)
{
    (void)state;
    assert_told(TREE(DIRECTORY("a", DIRECTORY("b", FILE_NODE("c", 3)) "," FILE_NODE(
                                        "d", 0)) "," FILE_NODE("e", 7)),
                "/r/\n  a/\n    b/\n      c\n    d\n  e\n|\n"
                "a directory -1\ne file 7\na/b directory -1\na/d file 0\na/b/c file 3\n");
    assert_told("", "|\n");
    assert_told(TREE(""), "/r/\n|\n");
}

static void what_is_left_out_is_in_the_text_alone(void **state)
{
    (void)state;
    assert_told(TREE(NOT_OPENED("a", "maxDepth") "," NOT_OPENED("dist", "excluded")),
                "/r/\n  a/ (not opened: maxDepth)\n  dist/ (not opened: excluded)\n|\n"
                "a directory -1\n");
    assert_told("{\"children\":[" FILE_NODE("a", 1) "],\"truncated\":true}",
                "/r/\n  a\n(truncated)\n|\na file 1\n");
}

static void a_tree_that_is_none_is_empty(void **state)
{
    (void)state;
    assert_told("{", "|\n");
    assert_told("[]", "/r/\n|\n");
    assert_told("{\"children\":5}", "/r/\n|\n");
    assert_told("{\"children\":[5,{},{\"name\":5},[" FILE_NODE("a", 1) "]]}", "/r/\n|\n");
    assert_told(TREE("{\"name\":\"a\",\"sizeBytes\":-5,\"children\":[" FILE_NODE("b", 1) "]}"),
                "/r/\n  a\n    b\n|\na file -1\n");
}

static void names_that_lead_elsewhere_are_left_out(void **state)
{
    (void)state;
    assert_told(TREE(DIRECTORY("..", FILE_NODE("x", 1)) "," FILE_NODE(".", 1) "," FILE_NODE(
                    "", 1) "," FILE_NODE("/", 1) "," FILE_NODE("a/b", 1) "," FILE_NODE("..b", 1)),
                "/r/\n  ..b\n|\n..b file 1\n");
}

static void names_cannot_fake_lines_of_the_text(void **state)
{
    (void)state;
    assert_told(TREE(FILE_NODE("  a", 1) "," FILE_NODE("\\\\b", 1) "," FILE_NODE("c\\nd", 1)),
                "/r/\n  \\  a\n  \\\\b\n  c\xef\xbf\xbd"
                "d\n|\n  a file 1\n\\b file 1\nc\nd file 1\n");
}

static void only_so_deep(void **state)
{
    cleanup_buf struct buf tree = BUF_INIT(ROOM);
    char got[TEXT_BYTES];
    const char *text;

    (void)state;
    assert_int_equal(buf_append_str(&tree, STR("{\"children\":[")), 0);
    for (int level = 1; level <= TREE_DEPTH + 2; level++)
        assert_int_equal(
            buf_printf(&tree, "{\"name\":\"%d\",\"type\":\"directory\",\"children\":[", level), 0);
    for (int level = 0; level <= TREE_DEPTH + 2; level++)
        assert_int_equal(buf_append_str(&tree, STR("]}")), 0);
    assert_int_equal(buf_terminate(&tree, &text), 0);
    told_of(text, got);
    assert_non_null(strstr(got, "1/2/3/4/5/6/7/8 directory"));
    assert_null(strstr(got, "8/9"));
    assert_null(strstr(got, " 9/"));
}

static void a_path_that_is_too_long_is_left_out_with_all_below(void **state)
{
    cleanup_buf struct buf tree = BUF_INIT(ROOM);
    char got[TEXT_BYTES];
    const char *text;

    (void)state;
    assert_int_equal(buf_append_str(&tree, STR("{\"children\":[{\"name\":\"")), 0);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(buf_append_char(&tree, 'x'), 0);
    assert_int_equal(buf_append_str(&tree, STR("\",\"type\":\"directory\",\"children\":[" FILE_NODE(
                                               "b", 1) "]}," FILE_NODE("a", 1) "]}")),
                     0);
    assert_int_equal(buf_terminate(&tree, &text), 0);
    told_of(text, got);
    assert_string_equal(strchr(got, '|'), "|\na file 1\n");
}

static void the_text_of_a_result_is_taken(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(ROOM);
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"content\":[]}",
        "{\"content\":[{\"type\":\"image\"}]}",
        "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"isError\":true}",
    };

    (void)state;
    assert_int_equal(
        tree_take(STR("{\"content\":[{\"type\":\"text\",\"text\":\"/r/\\n  a\\n\"}]}"), &text), 0);
    assert_str(buf_view(&text), "/r/\n  a\n");
    for (size_t i = 0; i < array_size(bad); i++)
        assert_true(tree_take(str_from(bad[i]), &text) < 0);
    assert_str(buf_view(&text), "/r/\n  a\n");
}

TEST_MAIN(cmocka_unit_test(entries_come_level_by_level_with_sizes),
          cmocka_unit_test(what_is_left_out_is_in_the_text_alone),
          cmocka_unit_test(a_tree_that_is_none_is_empty),
          cmocka_unit_test(names_that_lead_elsewhere_are_left_out),
          cmocka_unit_test(names_cannot_fake_lines_of_the_text), cmocka_unit_test(only_so_deep),
          cmocka_unit_test(a_path_that_is_too_long_is_left_out_with_all_below),
          cmocka_unit_test(the_text_of_a_result_is_taken))
