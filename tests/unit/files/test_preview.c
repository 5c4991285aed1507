/* SPDX-License-Identifier: Apache-2.0 */
#include "changebench.h"

#include "files/preview/preview.h"
#include "files/preview/text.h"
#include "protocol/toolids.h"

static struct tool_preview *preview_of(struct bench *bench, const char *tool, const char *arguments)
{
    static struct tool_preview preview;
    struct tool_call *call = bench_prepare(bench, tool, arguments);

    if (call == NULL)
        fail_msg("%s: %s", tool, bench->err.message);
    tool_preview_init(&preview);
    if (tool_preview(call, NULL, &preview, &bench->err) < 0)
        fail_msg("%s: %s", tool, bench->err.message);
    tool_free(call);
    return &preview;
}

/* Nothing of what is there may show: the same for a missing name. */
static void check_undisclosed(struct bench *bench, const char *tool, const char *arguments)
{
    struct tool_call *call = bench_prepare(bench, tool, arguments);
    struct tool_preview preview;

    if (call == NULL)
        fail_msg("%s: %s", tool, bench->err.message);
    tool_preview_init(&preview);
    assert_int_equal(
        tool_preview_within(call, DECISION_DISCLOSES_NOTHING, NULL, &preview, &bench->err), 0);
    assert_true(preview.action.len > 0);
    tool_preview_done(&preview);
    tool_free(call);
}

static void check_action(struct bench *bench, const char *tool, const char *arguments,
                         const char *action)
{
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    struct tool_preview *preview;

    describe_tree(bench, &before);
    preview = preview_of(bench, tool, arguments);
    if (!str_eq_c(buf_view(&preview->action), action))
        fail_msg("%s %s: \"%.*s\", not \"%s\"", tool, arguments,
                 STR_ARG(buf_view(&preview->action)), action);
    tool_preview_done(preview);
    assert_tree(bench, &before);
}

static void check_detail(struct bench *bench, const char *tool, const char *arguments, bool is_diff,
                         const char *detail)
{
    struct tool_preview *preview = preview_of(bench, tool, arguments);

    if (!str_eq_c(buf_view(&preview->detail), detail))
        fail_msg("%s %s: \"%.*s\", not \"%s\"", tool, arguments,
                 STR_ARG(buf_view(&preview->detail)), detail);
    assert_int_equal(preview->is_diff, is_diff);
    tool_preview_done(preview);
}

/* The preview fails with the words that the tool itself fails with. */
static void check_failure(struct bench *bench, const char *tool, const char *arguments)
{
    struct tool_call *call = bench_prepare(bench, tool, arguments);
    struct tool_preview preview;
    struct err err = ERR_INIT;
    int r;

    if (call == NULL)
        fail_msg("%s %s: %s", tool, arguments, bench->err.message);
    tool_preview_init(&preview);
    assert_int_equal(buf_append_str(&preview.action, STR("old")), 0);
    r = tool_preview(call, NULL, &preview, &err);
    tool_free(call);
    if (r == 0)
        fail_msg("%s %s: no error, but \"%.*s\"", tool, arguments,
                 STR_ARG(buf_view(&preview.action)));
    assert_int_equal(err.code, r);
    assert_int_equal(preview.action.len + preview.detail.len, 0);
    tool_preview_done(&preview);
    if (!str_eq_c(bench_error(bench, tool, arguments), err.message))
        fail_msg("%s %s: \"%s\" is not what the tool says", tool, arguments, err.message);
}

/* ---- the sentence ---- */

static void other_encodings_are_shown_as_text(void **state)
{
    struct bench *bench = *state;

    plant(bench, "latin", "caf\xE9\n");
    check_action(bench, "write_file", "{\"filePath\":\"latin\",\"content\":\"caf\xC3\xA9\\n\"}",
                 "Replaces latin (5 bytes) by 1 line, 6 bytes");
    check_detail(bench, "write_file", "{\"filePath\":\"latin\",\"content\":\"caf\xC3\xA9\\n\"}",
                 false, "The file is iso-8859-1, and becomes UTF-8.\n");
    check_detail(
        bench, "edit_file",
        "{\"filePath\":\"latin\",\"oldString\":\"caf\xC3\xA9\",\"newString\":\"th\xC3\xA9\"}", true,
        "--- a/latin\n+++ b/latin\n@@ -1 +1 @@\n-caf\xC3\xA9\n+th\xC3\xA9\n");
    check_detail(bench, "append_file", "{\"filePath\":\"latin\",\"content\":\"\xC3\xA9\\n\"}", true,
                 "--- a/latin\n+++ b/latin\n@@ -1 +1,2 @@\n caf\xC3\xA9\n+\xC3\xA9\n");
    check_failure(bench, "append_file", "{\"filePath\":\"latin\",\"content\":\"\xE2\x82\xAC\"}");
    check_failure(bench, "edit_file",
                  "{\"filePath\":\"latin\",\"oldString\":\"c\",\"newString\":\"\xE2\x82\xAC\"}");
}

static void tools_that_look_say_where(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "src");
    plant(bench, "src/a.c", "int a;\n");
    check_action(bench, "read_file", "{\"filePath\":\"src/a.c\"}", "Reads src/a.c (7 bytes)");
    check_action(bench, "read_file", "{\"filePath\":\"none\"}", "Reads none");
    check_action(bench, "read_files", "{\"filePaths\":[\"src/a.c\"]}", "Reads src/a.c");
    check_action(bench, "read_files", "{\"filePaths\":[\"src/a.c\",\"b\",\"c\"]}",
                 "Reads src/a.c and 2 other files");
    plant(bench, ".env", "A=1\n");
    check_action(bench, "read_file", "{\"filePath\":\".env\"}",
                 "Reads .env (4 bytes), which usually holds secrets");
    check_action(bench, "read_files", "{\"filePaths\":[\"src/a.c\",\".env\"]}",
                 "Reads src/a.c and 1 other file, some of which usually hold secrets");
    check_action(bench, "list_allowed_directories", "{}", "Tells where the root folder is");
    check_action(bench, "stat_file", "{\"path\":\"src\"}", "Looks up the details of src");
    check_action(bench, "list_files", "{\"dirPath\":\".\"}",
                 "Lists the entries of the root folder");
    check_action(bench, "get_file_tree", "{\"dirPath\":\"src\"}", "Lists all names below src");
    check_action(bench, "search_files", "{\"query\":\"a\"}",
                 "Searches the files below the root folder");
}

static void writing_says_what_is_replaced(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "one\ntwo\nthree");
    plant_bytes_at(bench->root_fd, "b", "\0\1\2", 3);
    check_action(bench, "write_file", "{\"filePath\":\"new/c\",\"content\":\"x\"}",
                 "Creates new/c (1 line, 1 byte)");
    check_action(bench, "write_file", "{\"filePath\":\"a\",\"content\":\"\"}",
                 "Replaces a (3 lines, 13 bytes) by 0 lines, 0 bytes");
    check_action(bench, "write_file", "{\"filePath\":\"a\",\"content\":\"one\\ntwo\\nthree\"}",
                 "Writes the same content again to a (3 lines, 13 bytes)");
    check_action(bench, "write_file", "{\"filePath\":\"b\",\"content\":\"x\"}",
                 "Replaces b (3 bytes) by 1 line, 1 byte");
    check_action(bench, "append_file", "{\"filePath\":\"a\",\"content\":\"x\\n\"}",
                 "Appends 1 line, 2 bytes to a (3 lines, 13 bytes)");
    check_action(bench, "append_file", "{\"filePath\":\"c\",\"content\":\"x\\n\"}",
                 "Creates c (1 line, 2 bytes)");
    check_action(bench, "create_directory", "{\"dirPath\":\"d/e\"}", "Creates the folder d/e");
    plant_dir(bench, "d");
    check_action(bench, "create_directory", "{\"dirPath\":\"d\"}",
                 "Changes nothing: the folder already exists: d");
}

static void edits_say_which_files(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "one\ntwo\n");
    plant(bench, "b", "one\n");
    check_action(bench, "edit_file",
                 "{\"filePath\":\"a\",\"oldString\":\"two\",\"newString\":\"2\"}",
                 "Edits a (2 lines, 8 bytes)");
    check_action(bench, "edit_file",
                 "{\"filePath\":\"a\",\"oldString\":\"two\",\"newString\":\"2\",\"dryRun\":true}",
                 "Changes nothing, only shows the diff: a (2 lines, 8 bytes)");
    check_action(bench, "edit_files",
                 "{\"edits\":[{\"filePath\":\"a\",\"oldString\":\"two\",\"newString\":\"2\"},"
                 "{\"filePath\":\"b\",\"oldString\":\"one\",\"newString\":\"1\"},"
                 "{\"filePath\":\"a\",\"oldString\":\"one\",\"newString\":\"1\"}]}",
                 "Edits a, b (3 passages)");
}

static void many_files_are_counted(void **state)
{
    struct bench *bench = *state;
    cleanup_buf struct buf text = BUF_INIT(ARGUMENT_BYTES);
    const char *arguments;

    assert_int_equal(buf_append_str(&text, STR("{\"edits\":[")), 0);
    for (int i = 0; i < 7; i++) {
        char name[16];

        snprintf(name, sizeof(name), "f%d", i);
        plant(bench, name, "x");
        buf_printf(&text, "%s{\"filePath\":\"%s\",\"oldString\":\"x\",\"newString\":\"y\"}",
                   i > 0 ? "," : "", name);
    }
    buf_printf(&text, "]}");
    assert_int_equal(buf_terminate(&text, &arguments), 0);
    check_action(bench, "edit_files", arguments,
                 "Edits f0, f1, f2, f3, f4 and 2 more files (7 passages)");
}

static void deleting_says_how_much(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "build");
    plant_dir(bench, "build/deep");
    plant(bench, "build/deep/x", "");
    plant(bench, "a", "12345");
    plant_link(bench, "l", "build");
    check_action(bench, "delete", "{\"path\":\"a\"}", "Deletes a (5 bytes)");
    check_action(bench, "delete", "{\"path\":\"build\"}",
                 "Deletes the folder build with everything in it (2 entries)");
    check_action(bench, "delete", "{\"path\":\"build/deep\"}",
                 "Deletes the folder build/deep with everything in it (1 entry)");
    check_action(bench, "delete", "{\"path\":\"l\"}", "Deletes the link l");
}

static void entries_are_counted_up_to_a_ceiling(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "d");
    for (int i = 0; i < PREVIEW_MAX_ENTRIES; i++) {
        char name[32];

        snprintf(name, sizeof(name), "d/%d", i);
        assert_int_equal(mkdirat(bench->root_fd, name, 0755), 0);
    }
    check_action(bench, "delete", "{\"path\":\"d\"}",
                 "Deletes the folder d with everything in it (10,000 entries)");
    plant_dir(bench, "d/one_more");
    check_action(bench, "delete", "{\"path\":\"d\"}",
                 "Deletes the folder d with everything in it (more than 10,000 entries)");
}

static void moving_says_what_is_replaced(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "12345");
    plant(bench, "b", "1");
    plant_dir(bench, "d");
    plant_dir(bench, "empty");
    plant_link(bench, "l", "a");
    check_action(bench, "move", "{\"sourcePath\":\"a\",\"destinationPath\":\"c\"}", "Moves a to c");
    check_action(bench, "move", "{\"sourcePath\":\"a\",\"destinationPath\":\"b\"}",
                 "Moves a to b, replacing b (1 byte)");
    check_action(
        bench, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"empty\"}",
        "Moves the folder d with everything in it to empty, replacing the existing empty folder");
    check_action(bench, "move", "{\"sourcePath\":\"l\",\"destinationPath\":\"m\"}",
                 "Moves the link l to m");
    check_action(bench, "move", "{\"sourcePath\":\"a\",\"destinationPath\":\"./a\"}",
                 "Changes nothing, source and destination are the same: a");
    check_action(bench, "copy_file", "{\"sourcePath\":\"a\",\"destinationPath\":\"b\"}",
                 "Copies a to b, replacing b (1 byte)");
    check_action(bench, "extract_archive", "{\"archivePath\":\"a\",\"destinationPath\":\"new\"}",
                 "Unpacks a (5 bytes) into the folder new");
}

static void a_link_is_told_with_where_it_leads(void **state)
{
    struct bench *bench = *state;

    plant_dir(bench, "real");
    plant(bench, "real/a", "x");
    plant_link(bench, "way", "real");
    check_action(bench, "write_file", "{\"filePath\":\"way/a\",\"content\":\"y\"}",
                 "Replaces way/a → real/a (1 line, 1 byte) by 1 line, 1 byte");
    check_action(bench, "read_file", "{\"filePath\":\"./real//a\"}", "Reads ./real//a (1 byte)");
}

static void a_name_cannot_steer_a_terminal_or_hide_its_end(void **state)
{
    struct bench *bench = *state;
    char name[512];
    char expected[512];
    char folder[128];

    check_action(bench, "create_directory", "{\"dirPath\":\"a\\nb\\u001b[2J\\u202ec\"}",
                 "Creates the folder a\xEF\xBF\xBD"
                 "b\xEF\xBF\xBD[2J\xEF\xBF\xBD"
                 "c");
    memset(folder, 'x', sizeof(folder));
    folder[sizeof(folder) - 1] = '\0';
    snprintf(name, sizeof(name), "{\"dirPath\":\"%s/%s/important\"}", folder, folder);
    folder[100] = '\0';
    snprintf(expected, sizeof(expected), "Creates the folder %s…%.90s/important", folder, folder);
    check_action(bench, "create_directory", name, expected);
}

static void sizes_are_told_in_a_unit_that_fits(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {
        {0, "0 bytes"},      {1, "1 byte"},          {999, "999 bytes"},
        {1000, "1.0 KB"},    {3449, "3.4 KB"},       {999999, "999.9 KB"},
        {1000000, "1.0 MB"}, {2500000000, "2.5 GB"}, {UINT64_MAX, "18.4 EB"},
    };
    char text[PREVIEW_NUMBER_BYTES];

    (void)state;
    for (size_t i = 0; i < array_size(sizes); i++)
        assert_string_equal(preview_size(sizes[i].bytes, text), sizes[i].text);
    assert_string_equal(preview_count(1204, text), "1,204");
    assert_string_equal(preview_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

/* ---- the detail ---- */

static void content_is_shown_as_a_diff(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "one\ntwo\n");
    check_detail(bench, "write_file", "{\"filePath\":\"a\",\"content\":\"one\\n2\\n\"}", true,
                 "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
    check_detail(bench, "append_file", "{\"filePath\":\"a\",\"content\":\"three\"}", true,
                 "--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n one\n two\n+three\n"
                 "\\ No newline at end of file\n");
    check_detail(bench, "edit_file",
                 "{\"filePath\":\"a\",\"oldString\":\"one\",\"newString\":\"1\"}", true,
                 "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n");
    check_detail(bench, "write_file", "{\"filePath\":\"a\",\"content\":\"one\\ntwo\\n\"}", false,
                 "The content does not change.\n");
    check_detail(bench, "write_file", "{\"filePath\":\"new\",\"content\":\"x\\n\"}", true,
                 "--- a/new\n+++ b/new\n@@ -0,0 +1 @@\n+x\n");
}

static void several_files_are_one_diff(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "one\n");
    plant(bench, "b", "two\n");
    check_detail(bench, "edit_files",
                 "{\"edits\":[{\"filePath\":\"b\",\"oldString\":\"two\",\"newString\":\"2\"},"
                 "{\"filePath\":\"a\",\"oldString\":\"one\",\"newString\":\"1\"}]}",
                 true,
                 "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-two\n+2\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n"
                 "+1\n");
}

static void other_calls_show_their_arguments(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "one\n");
    check_detail(bench, "read_file", "{\"filePath\":\"a\",\"startLine\":3,\"x\":[1,null]}", false,
                 "filePath: a\nstartLine: 3\nx: [1,null]\n");
    check_detail(bench, "delete", "{\"path\":\"a\"}", false, "path: a\n");
    check_detail(bench, "search_files", "{\"query\":\"a\\npath: b\\u0000c\",\"name\":\"\"}", false,
                 "query: (11 bytes)\n    a\n    path: b\xEF\xBF\xBD"
                 "c\nname: (empty)\n");
    check_detail(bench, "read_file", "{\"filePath\":\"a\",\"b\\nc\":\"\\u001b[0m\\r\\t.\"}", false,
                 "filePath: a\nb\xEF\xBF\xBD"
                 "c: \xEF\xBF\xBD[0m\xE2\x90\x8D\t.\n");
}

static void what_cannot_be_compared_is_said(void **state)
{
    struct bench *bench = *state;

    plant_bytes_at(bench->root_fd, "b", "\0\1\2", 3);
    check_detail(bench, "write_file", "{\"filePath\":\"b\",\"content\":\"x\"}", false,
                 "Cannot show the current content:\n"
                 "b: is a binary file and cannot be edited as text\n"
                 "filePath: b\ncontent: x\n");
    bench_reopen(bench, (struct toolbox_config){.may_write = true, .max_file_bytes = 4}, NULL);
    plant(bench, "large", "12345");
    check_action(bench, "write_file", "{\"filePath\":\"large\",\"content\":\"x\"}",
                 "Replaces large (5 bytes) by 1 line, 1 byte");
    check_detail(bench, "write_file", "{\"filePath\":\"large\",\"content\":\"x\"}", false,
                 "Cannot show the current content:\n"
                 "large: 5 bytes exceed the limit of 4; nothing was changed\n"
                 "filePath: large\ncontent: x\n");
}

static void control_characters_of_a_file_are_shown_as_such(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "x\r\n\x1b[2J\n");
    check_detail(bench, "write_file", "{\"filePath\":\"a\",\"content\":\"\\u202ex\\n\"}", true,
                 "--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n-x\xE2\x90\x8D\n-\xEF\xBF\xBD[2J\n"
                 "+\xEF\xBF\xBDx\n");
}

static bool ends_with(const struct buf *text, const char *end)
{
    return str_ends_with(buf_view(text), str_from(end));
}

static void a_long_detail_is_cut_and_says_so(void **state)
{
    struct bench *bench = *state;
    cleanup_buf struct buf text = BUF_INIT(ARGUMENT_BYTES);
    struct tool_preview *preview;
    const char *content;

    for (int i = 0; i < 1000; i++)
        assert_int_equal(buf_printf(&text, "line %d\n", i), 0);
    assert_int_equal(buf_terminate(&text, &content), 0);
    preview = preview_of(bench, "write_file",
                         arguments(bench, "filePath", "a", "content", content, (char *)NULL));
    /* Three lines stand before them. */
    assert_true(ends_with(&preview->detail, "+line 396\n… and 603 more lines\n"));
    tool_preview_done(preview);

    buf_clear(&text);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(buf_append_char(&text, 'x'), 0);
    assert_int_equal(buf_terminate(&text, &content), 0);
    preview = preview_of(bench, "write_file",
                         arguments(bench, "filePath", "a", "content", content, (char *)NULL));
    assert_true(str_find(buf_view(&preview->detail), STR("xxx … (2.0 KB more)\n")) != SIZE_MAX);
    assert_true(preview->detail.len < 1200);
    tool_preview_done(preview);

    buf_clear(&text);
    for (int i = 0; i < 90000; i++)
        assert_int_equal(buf_append_str(&text, i % 900 == 899 ? STR("\n") : STR("y")), 0);
    assert_int_equal(buf_terminate(&text, &content), 0);
    preview = preview_of(bench, "write_file",
                         arguments(bench, "filePath", "a", "content", content, (char *)NULL));
    assert_true(preview->detail.len <= PREVIEW_MAX_BYTES + 64);
    assert_true(ends_with(&preview->detail, " more lines\n"));
    tool_preview_done(preview);
}

static void a_long_argument_is_cut_and_says_so(void **state)
{
    struct bench *bench = *state;
    cleanup_buf struct buf text = BUF_INIT(ARGUMENT_BYTES);
    struct tool_preview *preview;
    const char *query;

    for (int i = 0; i < 5000; i++)
        assert_int_equal(buf_append_char(&text, 'q'), 0);
    assert_int_equal(buf_terminate(&text, &query), 0);
    preview = preview_of(bench, "search_files", arguments(bench, "query", query, (char *)NULL));
    assert_true(str_starts_with(buf_view(&preview->detail), STR("query: (5.0 KB)\n    qqq")));
    assert_true(ends_with(&preview->detail, "q … (4.0 KB more)\n"));
    tool_preview_done(preview);
}

/* ---- failing, and changing nothing ---- */

static void what_would_fail_fails_with_the_same_words(void **state)
{
    struct bench *bench = *state;
    static const struct {
        const char *tool;
        const char *arguments;
    } calls[] = {
        {"edit_file", "{\"filePath\":\"a\",\"oldString\":\"none\",\"newString\":\"\"}"},
        {"edit_file", "{\"filePath\":\"none\",\"oldString\":\"x\",\"newString\":\"\"}"},
        {"edit_file", "{\"filePath\":\"d\",\"oldString\":\"x\",\"newString\":\"\"}"},
        {"edit_file", "{\"filePath\":\"binary\",\"oldString\":\"x\",\"newString\":\"\"}"},
        {"edit_file", "{\"filePath\":\"a\",\"oldString\":\"one\",\"newString\":\"1234567890\"}"},
        {"edit_files", "{\"edits\":[{\"filePath\":\"a\",\"oldString\":\"one\",\"newString\":\"\"},"
                       "{\"filePath\":\"a\",\"oldString\":\"one\",\"newString\":\"\"}]}"},
        {"write_file", "{\"filePath\":\"d\",\"content\":\"x\"}"},
        {"write_file", "{\"filePath\":\".\",\"content\":\"x\"}"},
        {"write_file", "{\"filePath\":\"a\",\"content\":\"12345678901\"}"},
        {"append_file", "{\"filePath\":\"a\",\"content\":\"12345678\"}"},
        {"append_file", "{\"filePath\":\"d\",\"content\":\"x\"}"},
        {"create_directory", "{\"dirPath\":\"a\"}"},
        {"delete", "{\"path\":\"none\"}"},
        {"move", "{\"sourcePath\":\"none\",\"destinationPath\":\"x\"}"},
        {"move", "{\"sourcePath\":\"d\",\"destinationPath\":\"d/x\"}"},
        {"move", "{\"sourcePath\":\"d\",\"destinationPath\":\"a\"}"},
        {"move", "{\"sourcePath\":\"a\",\"destinationPath\":\"d\"}"},
        {"copy_file", "{\"sourcePath\":\"d\",\"destinationPath\":\"x\"}"},
        {"copy_file", "{\"sourcePath\":\"none\",\"destinationPath\":\"x\"}"},
        {"copy_file", "{\"sourcePath\":\"a\",\"destinationPath\":\"d\"}"},
        {"extract_archive", "{\"archivePath\":\"none\",\"destinationPath\":\"x\"}"},
        {"extract_archive", "{\"archivePath\":\"a\",\"destinationPath\":\"d\"}"},
        {"extract_archive", "{\"archivePath\":\"a\",\"destinationPath\":\"\"}"},
    };

    bench_reopen(bench, (struct toolbox_config){.may_write = true, .max_file_bytes = 10}, NULL);
    plant(bench, "a", "one\n");
    plant_bytes_at(bench->root_fd, "binary", "\0\1\2", 3);
    plant_dir(bench, "d");
    plant(bench, "d/used", "");
    for (size_t i = 0; i < array_size(calls); i++)
        check_failure(bench, calls[i].tool, calls[i].arguments);
}

static void what_is_denied_stays_denied(void **state)
{
    static const char *const denied[] = {"secret/**", NULL};
    struct bench *bench = *state;
    struct tool_call *call;
    struct tool_preview preview;
    struct err err = ERR_INIT;

    plant_dir(bench, "secret");
    plant(bench, "secret/key", "hidden words\n");
    plant(bench, "a", "x\n");
    plant_dir(bench, "way");
    plant(bench, "way/key", "open words\n");
    bench_reopen(bench, (struct toolbox_config){.may_write = true}, denied);
    assert_null(
        bench_prepare(bench, "write_file", "{\"filePath\":\"secret/key\",\"content\":\"\"}"));
    /* A link that comes between preparing and looking is not followed. */
    call = bench_prepare(bench, "write_file", "{\"filePath\":\"way/key\",\"content\":\"\"}");
    assert_non_null(call);
    assert_int_equal(unlinkat(bench->root_fd, "way/key", 0), 0);
    assert_int_equal(unlinkat(bench->root_fd, "way", AT_REMOVEDIR), 0);
    plant_link(bench, "way", "secret");
    tool_preview_init(&preview);
    assert_true(tool_preview(call, NULL, &preview, &err) < 0);
    assert_true(str_find(buf_view(&preview.detail), STR("hidden")) == SIZE_MAX);
    tool_preview_done(&preview);
    tool_free(call);
}

static void every_tool_has_words_of_its_own(void **state)
{
    struct bench *bench = *state;
    static const char arguments[] =
        "{\"filePath\":\"a\",\"filePaths\":[\"a\"],\"path\":\"a\",\"dirPath\":\"d\",\"content\":"
        "\"x\",\"oldString\":"
        "\"o\","
        "\"newString\":\"p\",\"sourcePath\":\"a\",\"destinationPath\":\"new\",\"archivePath\":"
        "\"a\","
        "\"query\":\"x\",\"edits\":[{\"filePath\":\"a\",\"oldString\":\"o\",\"newString\":\"p\"}]}";

    plant(bench, "a", "one\n");
    for (size_t i = 0; i < catalog_tool_count; i++) {
        struct str name = catalog_tools[i].name;
        struct tool_preview *preview;

        /* Internal ones are halves of calls; the other half describes them. */
        if (catalog_tools[i].is_internal || !toolbox_has(bench->box, &catalog_tools[i]))
            continue;
        preview = preview_of(bench, arena_copy(&bench->arena, name), arguments);
        if (preview->action.len == 0 ||
            str_starts_with(buf_view(&preview->action), STR("Runs the tool")))
            fail_msg("%.*s has none", STR_ARG(name));
        tool_preview_done(preview);
        check_undisclosed(bench, arena_copy(&bench->arena, name), arguments);
    }
}

static void nothing_is_changed_or_kept_for_undoing(void **state)
{
    struct bench *bench = *state;

    every_tool_has_words_of_its_own(state);
    assert_file(bench, "a", "one\n");
    assert_false(is_there(bench, "new"));
    assert_false(is_there(bench, "d"));
    check_action(bench, "undo_changes", "{}",
                 "Undoes nothing: this session has no changes left to undo");
    assert_int_equal(json_get(undo_all(bench), STR("undone"))->size, 0);
}

struct seen_events {
    unsigned changes;
    unsigned all;
};

static int see(void *data, const struct authority_event *event)
{
    struct seen_events *seen = data;

    seen->all++;
    switch (event->operation) {
    case AUTHORITY_OP_READ:
    case AUTHORITY_OP_STAT:
    case AUTHORITY_OP_LIST:
    case AUTHORITY_OP_WALK:
        break;
    default:
        seen->changes++;
    }
    return 0;
}

static void nothing_is_recorded_as_a_change(void **state)
{
    struct bench *bench = *state;
    struct seen_events seen = {0};

    plant_dir(bench, "e");
    assert_int_equal(authority_add_listener(bench->authority, see, &seen), 0);
    every_tool_has_words_of_its_own(state);
    tool_preview_done(preview_of(bench, "delete", "{\"path\":\"e\"}"));
    authority_remove_listener(bench->authority, see, &seen);
    assert_true(seen.all > 0);
    assert_int_equal(seen.changes, 0);
}

static void undoing_says_which_changes(void **state)
{
    struct bench *bench = *state;

    plant(bench, "a", "one\n");
    call_write(bench, "a", "two\n");
    bench_call(bench, "move", "{\"sourcePath\":\"a\",\"destinationPath\":\"deep/b\"}");
    call_write(bench, "c", "x");
    check_action(bench, "undo_changes", "{}", "Undoes the last change of this session");
    check_detail(bench, "undo_changes", "{}", false, "write_file: c\n");
    check_action(bench, "undo_changes", "{\"count\":2}",
                 "Undoes the last 2 changes of this session");
    check_detail(bench, "undo_changes", "{\"count\":2}", false,
                 "write_file: c\nmove: a → deep/b\n");
    check_action(bench, "undo_changes", "{\"all\":true}",
                 "Undoes all changes that tools made in this session (3 changes)");
    check_detail(bench, "undo_changes", "{\"all\":true}", false,
                 "write_file: c\nmove: a → deep/b\nwrite_file: a\n");
}

static void a_cancelled_preview_says_nothing(void **state)
{
    struct bench *bench = *state;
    struct cancel cancel;
    struct tool_preview preview;
    struct err err = ERR_INIT;
    struct tool_call *call;

    plant(bench, "a", "one\n");
    call = bench_prepare(bench, "delete", "{\"path\":\"a\"}");
    assert_non_null(call);
    cancel_init(&cancel, &clock_system, CANCEL_NO_DEADLINE);
    cancel_now(&cancel);
    tool_preview_init(&preview);
    assert_int_equal(tool_preview(call, &cancel, &preview, &err), ERR_CANCELLED);
    assert_int_equal(err.code, ERR_CANCELLED);
    assert_int_equal(preview.action.len, 0);
    /* And the call itself can still be run. */
    assert_int_equal(tool_preview(call, NULL, &preview, &err), 0);
    tool_preview_done(&preview);
    assert_false(bench_is_error(bench_run(bench, call)));
    assert_false(is_there(bench, "a"));
}

TEST_MAIN(CHANGE_TEST(other_encodings_are_shown_as_text), CHANGE_TEST(tools_that_look_say_where),
          CHANGE_TEST(writing_says_what_is_replaced), CHANGE_TEST(edits_say_which_files),
          CHANGE_TEST(many_files_are_counted), CHANGE_TEST(deleting_says_how_much),
          CHANGE_TEST(entries_are_counted_up_to_a_ceiling),
          CHANGE_TEST(moving_says_what_is_replaced),
          CHANGE_TEST(a_link_is_told_with_where_it_leads),
          CHANGE_TEST(a_name_cannot_steer_a_terminal_or_hide_its_end),
          cmocka_unit_test(sizes_are_told_in_a_unit_that_fits),
          CHANGE_TEST(content_is_shown_as_a_diff), CHANGE_TEST(several_files_are_one_diff),
          CHANGE_TEST(other_calls_show_their_arguments),
          CHANGE_TEST(what_cannot_be_compared_is_said),
          CHANGE_TEST(control_characters_of_a_file_are_shown_as_such),
          CHANGE_TEST(a_long_detail_is_cut_and_says_so),
          CHANGE_TEST(a_long_argument_is_cut_and_says_so),
          CHANGE_TEST(what_would_fail_fails_with_the_same_words),
          CHANGE_TEST(what_is_denied_stays_denied), CHANGE_TEST(every_tool_has_words_of_its_own),
          CHANGE_TEST(nothing_is_changed_or_kept_for_undoing),
          CHANGE_TEST(nothing_is_recorded_as_a_change), CHANGE_TEST(undoing_says_which_changes),
          CHANGE_TEST(a_cancelled_preview_says_nothing))
