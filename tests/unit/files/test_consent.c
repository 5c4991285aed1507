/* SPDX-License-Identifier: Apache-2.0 */
#include "changebench.h"

#include <limits.h>

#include "files/consent.h"
#include "files/tool.h"

enum {
    LOOKS_UP = PERMISSION_LOOKS_UP,
    READS = PERMISSION_READS,
    CREATES = PERMISSION_CREATES,
    CHANGES = PERMISSION_CHANGES,
    DELETES = PERMISSION_DELETES,
    MOVES = PERMISSION_MOVES,
};

struct expected {
    int operation; /* -1: no more of them */
    const char *given;
    const char *resolved;
};

static void check_path(struct str found, const char *root, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s%s%s", root, name[0] != '\0' ? "/" : "", name);
    if (!str_eq_c(found, path))
        fail_msg("\"%.*s\", not \"%s\"", STR_ARG(found), path);
}

/* Names below the two roots; one that begins with '!' is below the root without links, too. */
static void check(struct bench *bench, const char *given_root, const char *tool,
                  const char *arguments, const struct expected *expected)
{
    struct tool_call *call = bench_prepare(bench, tool, arguments);
    const struct permission_resource *found = NULL;
    size_t count = 0;

    if (call == NULL)
        fail_msg("%s: %s", tool, bench->err.message);
    assert_int_equal(tool_permission_resources(call, &found, &count, &bench->err), 0);
    for (size_t i = 0; i < count; i++) {
        bool is_plain;

        if (expected[i].given == NULL || expected[i].resolved == NULL) {
            fail_msg("%s: more than %zu resources", tool, i);
            break;
        }
        is_plain = expected[i].given[0] == '!';
        assert_int_equal(found[i].operation, expected[i].operation);
        assert_int_equal(found[i].group, permission_operation_group(found[i].operation));
        check_path(found[i].given, is_plain ? bench->root : given_root,
                   expected[i].given + is_plain);
        check_path(found[i].resolved, bench->root, expected[i].resolved);
        assert_int_equal(found[i].cwd.len, 0);
    }
    assert_int_equal(expected[count].operation, -1);
    tool_free(call);
}

#define RESOURCES(...) ((const struct expected[]){__VA_ARGS__, {-1, NULL, NULL}})

static void what_is_only_looked_at_needs_reading(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "d");
    check(bench, bench->root, "read_file", "{\"filePath\":\"d/a\"}",
          RESOURCES({READS, "d/a", "d/a"}));
    check(bench, bench->root, "stat_file", "{\"path\":\"d\"}", RESOURCES({LOOKS_UP, "d", "d"}));
    check(bench, bench->root, "list_files", "{\"dirPath\":\".\"}",
          RESOURCES({PERMISSION_LISTS, "", ""}));
    check(bench, bench->root, "get_file_tree", "{\"dirPath\":\"d\"}",
          RESOURCES({PERMISSION_LISTS_BELOW, "d", "d"}));
    check(bench, bench->root, "search_files", "{\"query\":\"x\"}",
          RESOURCES({PERMISSION_READS_BELOW, "", ""}));
    check(bench, bench->root, "search_files", "{\"pattern\":\"x\"}",
          RESOURCES({PERMISSION_READS_BELOW, "", ""}));
    check(bench, bench->root, "search_files", "{\"name\":\"x\"}",
          RESOURCES({PERMISSION_LISTS_BELOW, "", ""}));
}

static void what_is_changed_needs_writing(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "x");
    check(bench, bench->root, "write_file", "{\"filePath\":\"new/b\",\"content\":\"\"}",
          RESOURCES({LOOKS_UP, "new/b", "new/b"}, {CREATES, "new/b", "new/b"},
                    {CHANGES, "new/b", "new/b"}));
    check(bench, bench->root, "append_file", "{\"filePath\":\"a\",\"content\":\"\"}",
          RESOURCES({LOOKS_UP, "a", "a"}, {CHANGES, "a", "a"}));
    check(bench, bench->root, "create_directory", "{\"dirPath\":\"d\"}",
          RESOURCES({LOOKS_UP, "d", "d"}, {CREATES, "d", "d"}));
    check(bench, bench->root, "delete", "{\"path\":\"a\"}",
          RESOURCES({LOOKS_UP, "a", "a"}, {DELETES, "a", "a"}));
    check(bench, bench->root, "edit_file",
          "{\"filePath\":\"a\",\"oldString\":\"x\",\"newString\":\"y\"}",
          RESOURCES({READS, "a", "a"}, {CHANGES, "a", "a"}));
}

static void what_is_a_folder_is_known(void **state)
{
    static const struct {
        const char *tool;
        const char *arguments;
        bool is_on_folder;
    } rows[] = {
        {"delete", "{\"path\":\"d\"}", true},
        {"delete", "{\"path\":\"a\"}", false},
        {"list_files", "{\"dirPath\":\".\"}", true},
        {"create_directory", "{\"dirPath\":\"new\"}", true},
        {"write_file", "{\"filePath\":\"new\",\"content\":\"\"}", false},
    };
    struct bench *bench = *state;

    plant_dir(bench, "d");
    plant(bench, "a", "x");
    for (size_t i = 0; i < array_size(rows); i++) {
        struct tool_call *call = bench_prepare(bench, rows[i].tool, rows[i].arguments);

        assert_non_null(call);
        assert_int_equal(tool_is_on_folder(call), rows[i].is_on_folder);
        tool_free(call);
    }
}

static void both_ends_count(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "x");
    check(
        bench, bench->root, "move", "{\"sourcePath\":\"a\",\"destinationPath\":\"b\"}",
        RESOURCES({READS, "a", "a"}, {MOVES, "a", "a"}, {LOOKS_UP, "b", "b"}, {CREATES, "b", "b"}));
    plant_dir(bench, "d");
    plant_dir(bench, "e");
    check(bench, bench->root, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"b\"}",
          RESOURCES({PERMISSION_READS_BELOW, "d", "d"}, {MOVES, "d", "d"}, {LOOKS_UP, "b", "b"},
                    {PERMISSION_CREATES_BELOW, "b", "b"}));
    check(bench, bench->root, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"e\"}",
          RESOURCES({PERMISSION_READS_BELOW, "d", "d"}, {MOVES, "d", "d"}, {LOOKS_UP, "e", "e"},
                    {DELETES, "e", "e"}));
    plant_dir(bench, ".aws");
    check(bench, bench->root, "move", "{\"sourcePath\":\".aws\",\"destinationPath\":\"b\"}",
          RESOURCES({PERMISSION_READS_SECRETS, ".aws", ".aws"}, {MOVES, ".aws", ".aws"},
                    {LOOKS_UP, "b", "b"}, {PERMISSION_CREATES_BELOW, "b", "b"}));
    check(bench, bench->root, "copy_file", "{\"sourcePath\":\"a\",\"destinationPath\":\"b\"}",
          RESOURCES({READS, "a", "a"}, {LOOKS_UP, "b", "b"}, {CREATES, "b", "b"}));
    check(bench, bench->root, "extract_archive",
          "{\"archivePath\":\"a\",\"destinationPath\":\"b\"}",
          RESOURCES({READS, "a", "a"}, {LOOKS_UP, "b", "b"}, {PERMISSION_CREATES_BELOW, "b", "b"}));
}

static void each_thing_is_named_once(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "xy");
    plant(bench, "b", "x");
    check(
        bench, bench->root, "edit_files",
        "{\"edits\":[{\"filePath\":\"a\",\"oldString\":\"x\",\"newString\":\"1\"},"
        "{\"filePath\":\"b\",\"oldString\":\"x\",\"newString\":\"1\"},"
        "{\"filePath\":\"./a\",\"oldString\":\"y\",\"newString\":\"2\"}]}",
        RESOURCES({READS, "a", "a"}, {CHANGES, "a", "a"}, {READS, "b", "b"}, {CHANGES, "b", "b"}));
}

static void a_tool_that_names_nothing_stands_for_the_root(void **state)
{
    struct bench *bench = *state;

    /* With nothing to undo it changes nothing, and need not be asked about. */
    check(bench, bench->root, "undo_changes", "{}", RESOURCES({LOOKS_UP, "", ""}));
    bench_call(bench, "write_file", "{\"filePath\":\"new\",\"content\":\"\"}");
    check(bench, bench->root, "undo_changes", "{}",
          RESOURCES({LOOKS_UP, "", ""}, {PERMISSION_CHANGES_BELOW, "", ""}));
}

static void a_link_is_named_with_where_it_leads(void **state)
{
    struct bench *bench = *state;
    char absolute[PATH_MAX];

    plant_dir(bench, "real");
    plant_dir(bench, "real/deep");
    plant(bench, "real/a", "x");
    plant_link(bench, "way", "real/deep");
    plant_link(bench, "file", "real/a");
    check(bench, bench->root, "read_file", "{\"filePath\":\"./way//x\"}",
          RESOURCES({READS, "way/x", "real/deep/x"}));
    check(bench, bench->root, "write_file", "{\"filePath\":\"file\",\"content\":\"\"}",
          RESOURCES({LOOKS_UP, "file", "real/a"}, {CHANGES, "file", "real/a"}));
    /* The link itself goes. */
    check(bench, bench->root, "delete", "{\"path\":\"file\"}",
          RESOURCES({LOOKS_UP, "file", "file"}, {DELETES, "file", "file"}));
    snprintf(absolute, sizeof(absolute), "{\"filePath\":\"%s/way/x\"}", bench->root);
    check(bench, bench->root, "read_file", absolute, RESOURCES({READS, "way/x", "real/deep/x"}));
    /* What ".." means behind a link is known only by where it leads. */
    check(bench, bench->root, "read_file", "{\"filePath\":\"way/../a\"}",
          RESOURCES({READS, "a", "real/a"}));
}

static void a_root_with_two_paths_is_named_by_both(void **state)
{
    struct bench *bench = *state;
    char alias[BENCH_PATH_BYTES];

    snprintf(alias, sizeof(alias), "%s/alias", bench->base);
    assert_int_equal(symlink(bench->root, alias), 0);
    bench_reopen(bench, (struct toolbox_config){.may_write = true, .given_path = alias}, NULL);
    plant_dir(bench, "real");
    plant_link(bench, "way", "real");
    check(bench, alias, "read_file", "{\"filePath\":\"real/a\"}",
          RESOURCES({READS, "real/a", "real/a"}));
    check(bench, alias, "read_file", "{\"filePath\":\"way/a\"}",
          RESOURCES({READS, "way/a", "real/a"}, {READS, "!way/a", "real/a"}));
    bench_call(bench, "write_file", "{\"filePath\":\"new\",\"content\":\"\"}");
    check(bench, alias, "undo_changes", "{}",
          RESOURCES({LOOKS_UP, "", ""}, {PERMISSION_CHANGES_BELOW, "", ""}));
}

static void a_tool_of_another_group_is_refused(void **state)
{
    struct bench *bench = *state;
    struct tool_call *call = bench_prepare(bench, "read_file", "{\"filePath\":\"a\"}");
    const struct permission_resource *found = NULL;
    size_t count = 7;
    struct catalog_tool other;

    assert_non_null(call);
    other = *call->tool;
    other.group = CATALOG_SHELL;
    call->tool = &other;
    assert_int_equal(tool_permission_resources(call, &found, &count, &bench->err), ERR_UNSUPPORTED);
    assert_null(found);
    assert_int_equal(count, 7);
    tool_free(call);
}

TEST_MAIN(CHANGE_TEST(what_is_only_looked_at_needs_reading),
          CHANGE_TEST(what_is_changed_needs_writing), CHANGE_TEST(what_is_a_folder_is_known),
          CHANGE_TEST(both_ends_count), CHANGE_TEST(each_thing_is_named_once),
          CHANGE_TEST(a_tool_that_names_nothing_stands_for_the_root),
          CHANGE_TEST(a_link_is_named_with_where_it_leads),
          CHANGE_TEST(a_root_with_two_paths_is_named_by_both),
          CHANGE_TEST(a_tool_of_another_group_is_refused))
