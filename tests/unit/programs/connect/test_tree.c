/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "programs/connect/tree.h"

enum { ROOM = 1 << 20, TEXT_BYTES = 8192 };

/* The list as "path type" in lines. */
static void list_of(const char *text, char out[TEXT_BYTES])
{
    cleanup_arena struct arena arena = ARENA_INIT(ROOM);
    cleanup_buf struct buf written = BUF_INIT(ROOM);
    const struct json_value *document;
    struct json_writer json;
    size_t len = 0;
    struct str told;

    json_writer_init(&json, &written);
    assert_int_equal(tree_write("/r", str_from(text), &json), 0);
    assert_int_equal(json_writer_finish(&json), 0);
    assert_int_equal(json_parse(&arena, buf_view(&written), JSON_LIMITS_DEFAULT, &document, NULL),
                     0);
    assert_true(json_get_str(document, STR("rootPath"), &told));
    assert_str(told, "/r");
    assert_true(json_get_str(document, STR("treeText"), &told));
    assert_true(str_eq_c(told, text));
    out[0] = '\0';
    json_each_item (entry, json_get(document, STR("tree"))) {
        struct str path;
        struct str type;

        assert_true(json_get_str(entry, STR("path"), &path));
        assert_true(json_get_str(entry, STR("type"), &type));
        len += (size_t)snprintf(out + len, TEXT_BYTES - len, "%.*s %.*s\n", STR_ARG(path),
                                STR_ARG(type));
        assert_true(len < TEXT_BYTES);
    }
}

static void assert_list(const char *text, const char *list)
{
    char got[TEXT_BYTES];

    list_of(text, got);
    assert_string_equal(got, list);
}

static void entries_come_level_by_level(void **state)
{
    (void)state;
    assert_list("/r/\n  a/\n    b/\n      c\n    d\n  e\n",
                "a directory\ne file\na/b directory\na/d file\na/b/c file\n");
    assert_list("", "");
    assert_list("/r/\n", "");
}

static void the_note_at_the_end_is_no_entry(void **state)
{
    (void)state;
    assert_list("/r/\n  a\n(truncated at 10000 entries: use a subdirectory)\n", "a file\n");
}

static void what_is_said_of_a_directory_is_not_its_name(void **state)
{
    (void)state;
    assert_list("/r/\n  a/ (empty)\n  b/ (not opened: maxDepth)\n  dist/ (not opened: excluded)\n"
                "  c (empty)\n",
                "a directory\nb directory\nc (empty) file\n");
    assert_list("/r/\n  a/\n  dist/ (not opened: excluded)\n    x\n", "a directory\ndist/x file\n");
    assert_list("/r/\n(empty)\n", "");
}

static void what_stands_below_no_directory_is_left_out(void **state)
{
    (void)state;
    assert_list("/r/\n  a\n    below a file\n      and deeper\n  b\n", "a file\nb file\n");
    assert_list("/r/\n      too deep at once\n  b/\n    c\n", "b directory\nb/c file\n");
    /* Not below the directory that was there before. */
    assert_list("/r/\n  a/\n  b\n    c\n", "a directory\nb file\n");
}

static void names_that_lead_elsewhere_are_left_out(void **state)
{
    (void)state;
    assert_list("/r/\n  ../\n    x\n  .\n  /\n  a/b\n  //\n  \n  ..b\n", "..b file\n");
}

static void names_that_begin_with_blanks_stand_where_they_are(void **state)
{
    (void)state;
    assert_list("/r/\n  \\  a/\n    \\ b\n    c\n  \\  d\n  \\\\e\n  f \n",
                "  a directory\n  d file\n\\e file\nf  file\n  a/ b file\n  a/c file\n");
    /* Nobody writes it so. */
    assert_list("/r/\n  a/\n   b\n     c\n  d\n", "a directory\nd file\n");
    assert_list("/r/\n  \\../\n    x\n  \\\n", "");
}

static void only_so_deep(void **state)
{
    char text[TEXT_BYTES] = "/r/\n";
    char list[TEXT_BYTES] = "";
    char path[TEXT_BYTES] = "";
    size_t len = strlen(text);
    size_t list_len = 0;

    (void)state;
    for (int level = 1; level <= TREE_DEPTH + 2; level++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%*sd/\n", 2 * level, "");
    for (int level = 1; level <= TREE_DEPTH; level++) {
        snprintf(path + (level > 1 ? strlen(path) : 0), 8, "%sd", level > 1 ? "/" : "");
        list_len +=
            (size_t)snprintf(list + list_len, sizeof(list) - list_len, "%s directory\n", path);
    }
    assert_list(text, list);
}

static void a_path_that_is_too_long_is_left_out_with_all_below(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(ROOM);
    char got[TEXT_BYTES];

    (void)state;
    assert_int_equal(buf_append_str(&text, STR("/r/\n  ")), 0);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(buf_append_char(&text, 'x'), 0);
    assert_int_equal(buf_append_str(&text, STR("/\n    below\n  a\n")), 0);
    assert_int_equal(buf_append_char(&text, '\0'), 0);
    list_of(text.data, got);
    assert_string_equal(got, "a file\n");
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

TEST_MAIN(cmocka_unit_test(entries_come_level_by_level),
          cmocka_unit_test(the_note_at_the_end_is_no_entry),
          cmocka_unit_test(what_is_said_of_a_directory_is_not_its_name),
          cmocka_unit_test(what_stands_below_no_directory_is_left_out),
          cmocka_unit_test(names_that_lead_elsewhere_are_left_out),
          cmocka_unit_test(names_that_begin_with_blanks_stand_where_they_are),
          cmocka_unit_test(only_so_deep),
          cmocka_unit_test(a_path_that_is_too_long_is_left_out_with_all_below),
          cmocka_unit_test(the_text_of_a_result_is_taken))
