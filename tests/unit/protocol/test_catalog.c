/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/buf.h"
#include "base/schema/schema.h"
#include "protocol/catalog.h"
#include "protocol/toolids.h"

enum { ARENA_BYTES = 4 << 20, TEXT_BYTES = 4096 };

static const struct json_value *parse(struct arena *arena, struct str text)
{
    const struct json_value *value = NULL;
    struct err err = ERR_INIT;

    if (json_parse(arena, text, JSON_LIMITS_DEFAULT, &value, &err) < 0)
        fail_msg("%.*s: %s", STR_ARG(text), err.message);
    return value;
}

static int check_against(struct str schema_text, struct str value_text, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct schema *schema = NULL;

    if (schema_compile(&arena, parse(&arena, schema_text), &schema, err) < 0)
        fail_msg("%.*s: %s: %s", STR_ARG(schema_text), err->field, err->message);
    return schema_check(schema, parse(&arena, value_text), err);
}

/* Empty: it has none. */
static struct str output_schema(int tool)
{
    struct str member = catalog_listings[tool].output;

    return str_slice(member, sizeof(",\"outputSchema\":") - 1, member.len);
}

/* Arguments that fit, and results as the tools give them. */
static const struct fitting {
    int tool;
    const char *json;
} good_arguments[] =
    {
        {TOOL_GET_FILE_TREE, "{\"dirPath\":\".\"}"},
        {TOOL_GET_FILE_TREE, "{\"dirPath\":\"src\",\"maxDepth\":0}"},
        {TOOL_GET_FILE_TREE, "{\"dirPath\":\".\",\"format\":\"json\","
                             "\"excludePatterns\":[\"*.log\"]}"},
        {TOOL_LIST_FILES, "{\"dirPath\":\".\"}"},
        {TOOL_LIST_FILES, "{\"dirPath\":\".\",\"sortBy\":\"time\",\"excludePatterns\":[]}"},
        {TOOL_LIST_FILES, "{\"dirPath\":\".\",\"type\":\"directory\",\"maxResults\":5}"},
        {TOOL_READ_FILE, "{\"filePath\":\"a.txt\"}"},
        {TOOL_READ_FILE, "{\"filePath\":\"a.txt\",\"startLine\":-3,\"maxLines\":100000}"},
        {TOOL_READ_FILE, "{\"filePath\":\"a.txt\",\"startLine\":1.0}"},
        {TOOL_STAT_FILE, "{\"path\":\"a.txt\"}"},
        {TOOL_READ_FILES, "{\"filePaths\":[\"a\",\"b\"],\"maxLines\":5}"},
        {TOOL_LIST_ALLOWED_DIRECTORIES, "{}"},
        {TOOL_LOAD_PAGE_FILE, "{\"path\":\"a\"}"},
        {TOOL_STAGE_UPLOAD, "{\"files\":[\"a\"],\"number\":7}"},
        {TOOL_SEARCH_FILES, "{\"name\":\"*.c\"}"},
        {TOOL_SEARCH_FILES, "{\"filePattern\":\"src/**\",\"dirPath\":\"src\"}"},
        {TOOL_SEARCH_FILES, "{\"name\":\"*.c\",\"filePattern\":\"*\",\"ignoreCase\":true,"
                            "\"maxResults\":1}"},
        {TOOL_WRITE_FILE, "{\"filePath\":\"a.txt\",\"content\":\"\"}"},
        {TOOL_APPEND_FILE, "{\"filePath\":\"a.txt\",\"content\":\"\\n\"}"},
        {TOOL_EDIT_FILE, "{\"filePath\":\"a.txt\",\"oldString\":\"a\",\"newString\":\"\"}"},
        {TOOL_EDIT_FILE,
         "{\"filePath\":\"a.txt\",\"oldString\":\"a\",\"newString\":\"b\",\"dryRun\":true}"},
        {TOOL_EDIT_FILES,
         "{\"edits\":[{\"filePath\":\"a.txt\",\"oldString\":\"a\",\"newString\":\"\"},"
         "{\"filePath\":\"a.txt\",\"oldString\":\"b\",\"newString\":\"c\",\"more\":1}],"
         "\"dryRun\":false}"},
        {TOOL_CREATE_DIRECTORY, "{\"dirPath\":\"a/b\"}"},
        {TOOL_COPY_FILE, "{\"sourcePath\":\"a\",\"destinationPath\":\"b\"}"},
        {TOOL_MOVE, "{\"sourcePath\":\"a\",\"destinationPath\":\"b\"}"},
        {TOOL_DELETE, "{\"path\":\"a\"}"},
        {TOOL_EXTRACT_ARCHIVE, "{\"archivePath\":\"a.zip\",\"destinationPath\":\"b\"}"},
        {TOOL_UNDO_CHANGES, "{}"},
        {TOOL_UNDO_CHANGES, "{\"count\":1}"},
        {TOOL_UNDO_CHANGES, "{\"all\":true}"},
        {TOOL_SAVE_DOWNLOAD, "{\"downloadId\":\"kept-1\",\"path\":\"a.png\"}"},
        {TOOL_SHELL_EXECUTE, "{\"command\":\"ls | wc -l\"}"},
        {TOOL_SHELL_EXECUTE, "{\"command\":\"make\",\"timeout\":1e4,\"cwd\":\"src\"}"},
        {TOOL_SHELL_START, "{\"command\":\"npm run dev\",\"cwd\":\".\"}"},
        {TOOL_SHELL_START, "{\"command\":\"top\",\"terminal\":true,\"rows\":40,\"cols\":120}"},
        {TOOL_SHELL_OUTPUT, "{\"jobId\":\"job1\"}"},
        {TOOL_SHELL_OUTPUT, "{\"jobId\":\"job1\",\"cursor\":0,\"waitMs\":60000}"},
        {TOOL_SHELL_INPUT, "{\"jobId\":\"job1\",\"text\":\"y\\n\"}"},
        {TOOL_SHELL_INPUT, "{\"jobId\":\"job1\",\"keys\":[\"ctrl-c\"]}"},
        {TOOL_SHELL_INPUT, "{\"jobId\":\"job1\",\"close\":true}"},
        {TOOL_SHELL_STOP, "{\"jobId\":\"job1\"}"},
        {TOOL_SHELL_STOP, "{\"jobId\":\"job1\",\"signal\":\"INT\"}"},
        {TOOL_SHELL_LIST, "{}"},
        {TOOL_SCREEN_SCREENSHOT,
         "{\"format\":\"png\",\"maxSide\":2000,\"monitor\":2,\"cursor\":true}"},
        {TOOL_SCREEN_SCREENSHOT_REGION, "{\"x\":0,\"y\":0,\"width\":10,\"height\":10}"},
        {TOOL_SCREEN_INFO, "{}"},
        {TOOL_WINDOW_LIST, "{}"},
        {TOOL_MOUSE_MOVE, "{\"x\":1,\"y\":2,\"screenWidth\":1024,\"screenHeight\":576}"},
        {TOOL_MOUSE_CLICK, "{\"x\":1,\"y\":2,\"button\":\"right\",\"image\":\"s1\"}"},
        {TOOL_MOUSE_DOUBLE_CLICK, "{\"x\":1,\"y\":2}"},
        {TOOL_MOUSE_BUTTON, "{\"x\":1,\"y\":2,\"state\":\"down\"}"},
        {TOOL_MOUSE_DRAG, "{\"fromX\":1,\"fromY\":2,\"toX\":3,\"toY\":4}"},
        {TOOL_MOUSE_SCROLL, "{\"x\":1,\"y\":2,\"direction\":\"down\",\"amount\":3}"},
        {TOOL_KEYBOARD_TYPE, "{\"text\":\"a\",\"delayMs\":5}"},
        {TOOL_KEYBOARD_KEY_TAP, "{\"key\":\"enter\"}"},
        {TOOL_KEYBOARD_SHORTCUT, "{\"keys\":[\"ctrl\",\"c\"]}"},
        {TOOL_KEYBOARD_HOLD, "{\"keys\":[\"w\"],\"durationMs\":100}"},
        {TOOL_SCREEN_WAIT, "{\"until\":\"change\",\"timeoutMs\":100}"},
        {TOOL_BROWSER_CONNECT, "{\"mode\":\"persistent\",\"profile\":\"work\"}"},
        {TOOL_BROWSER_DISCONNECT, "{}"},
        {TOOL_BROWSER_TAB_OPEN, "{\"url\":\"https://example.com\",\"waitUntil\":\"load\"}"},
        {TOOL_BROWSER_TAB_LIST, "{}"},
        {TOOL_BROWSER_TAB_FOCUS, "{\"pageId\":\"p1\"}"},
        {TOOL_BROWSER_TAB_CLOSE, "{\"pageId\":\"p1\"}"},
        {TOOL_BROWSER_NAVIGATE, "{\"url\":\"https://example.com\",\"pageId\":\"p1\"}"},
        {TOOL_BROWSER_BACK, "{}"},
        {TOOL_BROWSER_FORWARD, "{\"waitUntil\":\"networkidle\"}"},
        {TOOL_BROWSER_RELOAD, "{\"snapshot\":\"none\"}"},
        {TOOL_BROWSER_CLICK, "{\"element\":{\"ref\":\"e1\"},\"modifiers\":[\"Alt\"]}"},
        {TOOL_BROWSER_TYPE, "{\"element\":{\"selector\":\"#a\"},\"text\":\"b\",\"delay\":1.5}"},
        {TOOL_BROWSER_SELECT, "{\"element\":{\"ref\":\"e1\"},\"values\":[\"a\"]}"},
        {TOOL_BROWSER_FILL_FORM,
         "{\"fields\":[{\"element\":{\"ref\":\"e1\"},\"value\":true}],\"submit\":true}"},
        {TOOL_BROWSER_DRAG, "{\"from\":{\"ref\":\"e1\"},\"to\":{\"ref\":\"e2\"}}"},
        {TOOL_BROWSER_HOVER, "{\"element\":{\"ref\":\"e1\"}}"},
        {TOOL_BROWSER_PRESS, "{\"keys\":\"Control+A\"}"},
        {TOOL_BROWSER_MOUSE_CLICK_XY, "{\"x\":1.5,\"y\":2}"},
        {TOOL_BROWSER_SCROLL, "{\"mode\":\"direction\",\"direction\":\"down\"}"},
        {TOOL_BROWSER_UPLOAD, "{\"files\":[\"a.txt\"],\"element\":{\"ref\":\"e1\"}}"},
        {TOOL_BROWSER_DIALOG, "{\"action\":\"accept\",\"text\":\"a\"}"},
        {TOOL_BROWSER_SNAPSHOT, "{\"scope\":{\"ref\":\"e1\"},\"maxChars\":500}"},
        {TOOL_BROWSER_SCREENSHOT, "{\"fullPage\":true}"},
        {TOOL_BROWSER_CONTENT, "{\"selector\":\"main\"}"},
        {TOOL_BROWSER_EVALUATE, "{\"script\":\"1\"}"},
        {TOOL_BROWSER_CONSOLE, "{\"level\":\"error\"}"},
        {TOOL_BROWSER_PDF, "{\"format\":\"Letter\"}"},
        {TOOL_BROWSER_NETWORK, "{\"bodies\":true}"},
        {TOOL_BROWSER_WAIT, "{\"text\":\"done\",\"timeoutMs\":5}"},
        {TOOL_BROWSER_COOKIES, "{\"action\":\"get\"}"},
        {TOOL_BROWSER_STORAGE, "{\"kind\":\"local\",\"action\":\"set\",\"data\":{\"a\":\"b\"}}"},
        {TOOL_BROWSER_DOWNLOADS, "{\"waitMs\":5}"},
        {TOOL_BROWSER_RESIZE, "{\"width\":400,\"height\":800,\"mobile\":true}"},
        {TOOL_BROWSER_CAPTURE_SECRET,
         "{\"credentialsKey\":\"k\",\"field\":\"apiKey\",\"element\":{\"ref\":\"e1\"}}"},
        {TOOL_BROWSER_CREATE_CREDENTIAL, "{\"credentialsKey\":\"k\",\"type\":\"httpHeaderAuth\","
                                         "\"name\":\"n\",\"data\":{\"name\":\"X\"},"
                                         "\"resolveData\":{\"value\":\"apiKey\"}}"},
},
  good_results[] = {
      {TOOL_LIST_FILES, "{\"entries\":[]}"},
      {TOOL_LIST_FILES, "{\"entries\":[{\"path\":\"src\",\"type\":\"directory\"},"
                        "{\"path\":\"a\",\"type\":\"file\",\"sizeBytes\":5}],\"truncated\":true}"},
      {TOOL_LIST_FILES, "{\"entries\":[{\"path\":\"a\",\"type\":\"file\",\"sizeBytes\":5,"
                        "\"modifiedAt\":\"2026-01-01T00:00:00.000Z\"}]}"},
      {TOOL_READ_FILE,
       "{\"path\":\"a\",\"content\":\"a\\n\",\"truncated\":false,\"totalLines\":2}"},
      {TOOL_READ_FILE, "{\"path\":\"a\",\"content\":\"a\",\"truncated\":true,\"totalLines\":900,"
                       "\"startLine\":201,\"nextStartLine\":401}"},
      {TOOL_READ_FILE, "{\"path\":\"a.png\",\"mimeType\":\"image/png\",\"sizeBytes\":70}"},
      {TOOL_READ_FILES, "{\"files\":[{\"path\":\"a\",\"content\":\"x\",\"truncated\":false,"
                        "\"totalLines\":1},{\"path\":\"b\",\"error\":\"b: not found\"}]}"},
      {TOOL_LIST_ALLOWED_DIRECTORIES,
       "{\"directories\":[{\"path\":\"/srv\",\"access\":\"read\"}]}"},
      {TOOL_STAGE_UPLOAD, "{\"staged\":1}"},
      {TOOL_STAT_FILE, "{\"path\":\"a\",\"type\":\"file\",\"sizeBytes\":1,\"mode\":\"0644\","
                       "\"modifiedAt\":\"2026-01-02T03:04:05Z\",\"isBinary\":false}"},
      {TOOL_STAT_FILE, "{\"path\":\".\",\"type\":\"directory\",\"sizeBytes\":4096,"
                       "\"mode\":\"0755\",\"modifiedAt\":\"2026-01-02T03:04:05Z\"}"},
      {TOOL_SEARCH_FILES, "{\"name\":\"*.c\",\"matches\":[{\"path\":\"a.c\"}],"
                          "\"truncated\":false,\"totalMatches\":1}"},
      {TOOL_SEARCH_FILES, "{\"matches\":[],\"truncated\":false,\"totalMatches\":0}"},
      {TOOL_WRITE_FILE, "{\"path\":\"a\"}"},
      {TOOL_APPEND_FILE, "{\"path\":\"a\"}"},
      {TOOL_EDIT_FILE, "{\"path\":\"a\",\"replacements\":1,\"diff\":\"\"}"},
      {TOOL_EDIT_FILES, "{\"files\":[{\"path\":\"a\",\"edits\":2,\"replacements\":3}],\"dryRun\":"
                        "false,\"diff\":\"\"}"},
      {TOOL_EDIT_FILES, "{\"files\":[],\"dryRun\":true,\"diff\":\"\"}"},
      {TOOL_CREATE_DIRECTORY, "{\"path\":\"a\"}"},
      {TOOL_COPY_FILE, "{\"sourcePath\":\"a\",\"destinationPath\":\"b\"}"},
      {TOOL_MOVE, "{\"sourcePath\":\"a\",\"destinationPath\":\"b\"}"},
      {TOOL_DELETE, "{\"path\":\"a\"}"},
      {TOOL_EXTRACT_ARCHIVE,
       "{\"destinationPath\":\"b\",\"files\":1,\"directories\":0,\"bytes\":5}"},
      {TOOL_UNDO_CHANGES,
       "{\"undone\":[{\"tool\":\"move\",\"path\":\"a\",\"outcome\":\"restored\"},"
       "{\"tool\":\"delete\",\"path\":\"b\",\"outcome\":\"skipped\","
       "\"reason\":\"changed since\"}],\"remaining\":0}"},
      {TOOL_SAVE_DOWNLOAD, "{\"downloadId\":\"kept-1\",\"path\":\"a\",\"undoable\":false}"},
      {TOOL_SHELL_EXECUTE, "{\"stdout\":\"a\\n\",\"stderr\":\"\",\"exitCode\":0}"},
      {TOOL_SHELL_EXECUTE,
       "{\"stdout\":\"\",\"stderr\":\"\",\"exitCode\":null,\"signal\":\"SEGV\"}"},
      {TOOL_SHELL_EXECUTE, "{\"stdout\":\"\",\"stderr\":\"\",\"exitCode\":null,\"timedOut\":true}"},
      {TOOL_SHELL_START, "{\"jobId\":\"job1\",\"state\":\"running\"}"},
      {TOOL_SHELL_OUTPUT,
       "{\"jobId\":\"job1\",\"output\":\"\",\"cursor\":0,\"state\":\"running\"}"},
      {TOOL_SHELL_OUTPUT, "{\"jobId\":\"job1\",\"output\":\"a\",\"cursor\":9,\"hasMore\":true,"
                          "\"droppedBytes\":8,\"state\":\"ended\",\"exitCode\":null,"
                          "\"signal\":\"KILL\"}"},
      {TOOL_SHELL_INPUT, "{\"jobId\":\"job1\",\"bytes\":2}"},
      {TOOL_SHELL_STOP, "{\"jobId\":\"job1\",\"state\":\"ended\",\"exitCode\":0}"},
      {TOOL_SHELL_LIST, "{\"jobs\":[]}"},
      {TOOL_SCREEN_INFO, "{\"backend\":\"x11\",\"monitors\":[],\"pointer\":{\"x\":1,\"y\":2}}"},
      {TOOL_WINDOW_LIST, "{\"windows\":[]}"},
      {TOOL_SCREEN_WAIT, "{\"still\":true,\"elapsedMs\":5}"},
      {TOOL_SHELL_LIST, "{\"jobs\":[{\"jobId\":\"job1\",\"command\":\"top\",\"cwd\":\"\","
                        "\"state\":\"running\",\"startedAt\":\"2026-01-02T03:04:05Z\","
                        "\"outputBytes\":0,\"terminal\":true}]}"},
};

/* Arguments that do not fit, and what the complaint names. */
static const struct misfit {
    int tool;
    const char *json;
    const char *field;
} bad_arguments[] = {
    {TOOL_GET_FILE_TREE, "{}", "dirPath"},
    {TOOL_GET_FILE_TREE, "{\"dirPath\":5}", "dirPath"},
    {TOOL_GET_FILE_TREE, "{\"dirPath\":\".\",\"maxDepth\":-1}", "maxDepth"},
    {TOOL_GET_FILE_TREE, "{\"dirPath\":\".\",\"maxDepth\":1.5}", "maxDepth"},
    {TOOL_LIST_FILES, "{}", "dirPath"},
    {TOOL_GET_FILE_TREE, "{\"dirPath\":\".\",\"format\":\"xml\"}", "format"},
    {TOOL_LIST_FILES, "{\"dirPath\":\".\",\"sortBy\":\"age\"}", "sortBy"},
    {TOOL_LIST_FILES, "{\"dirPath\":\".\",\"excludePatterns\":[1]}", "excludePatterns[0]"},
    {TOOL_LIST_FILES, "{\"dirPath\":\".\",\"type\":\"symlink\"}", "type"},
    {TOOL_LIST_FILES, "{\"dirPath\":\".\",\"maxResults\":\"5\"}", "maxResults"},
    {TOOL_READ_FILE, "{\"path\":\"a\"}", "filePath"},
    {TOOL_READ_FILE, "{\"filePath\":\"a\",\"startLine\":\"1\"}", "startLine"},
    {TOOL_READ_FILE, "{\"filePath\":\"a\",\"maxLines\":null}", "maxLines"},
    {TOOL_STAT_FILE, "{\"filePath\":\"a\"}", "path"},
    {TOOL_READ_FILES, "{\"filePaths\":[]}", "filePaths"},
    {TOOL_READ_FILES, "{\"filePaths\":[5]}", "filePaths[0]"},
    {TOOL_LIST_ALLOWED_DIRECTORIES, "[]", ""},
    {TOOL_STAGE_UPLOAD, "{\"files\":[\"a\"],\"number\":-1}", "number"},
    {TOOL_LOAD_PAGE_FILE, "{\"onlyLook\":true}", "path"},
    {TOOL_SEARCH_FILES, "{}", ""},
    {TOOL_SEARCH_FILES, "{\"contextLines\":1,\"dirPath\":\".\"}", ""},
    {TOOL_SEARCH_FILES, "{\"name\":[\"a\"]}", "name"},
    {TOOL_SEARCH_FILES, "{\"name\":\"a\",\"ignoreCase\":1}", "ignoreCase"},
    {TOOL_WRITE_FILE, "{\"filePath\":\"a\"}", "content"},
    {TOOL_WRITE_FILE, "{\"filePath\":\"a\",\"content\":{}}", "content"},
    {TOOL_APPEND_FILE, "{\"content\":\"a\"}", "filePath"},
    {TOOL_EDIT_FILE, "{\"filePath\":\"a\",\"oldString\":\"\",\"newString\":\"b\"}", "oldString"},
    {TOOL_EDIT_FILE, "{\"filePath\":\"a\",\"oldString\":\"a\"}", "newString"},
    {TOOL_EDIT_FILE,
     "{\"filePath\":\"a\",\"oldString\":\"a\",\"newString\":\"b\",\"dryRun\":\"yes\"}", "dryRun"},
    {TOOL_EDIT_FILES, "{\"edits\":[]}", "edits"},
    {TOOL_EDIT_FILES, "{\"edits\":{}}", "edits"},
    {TOOL_EDIT_FILES, "{\"edits\":[{\"filePath\":\"a\",\"oldString\":\"\",\"newString\":\"\"}]}",
     "edits[0].oldString"},
    {TOOL_EDIT_FILES, "{\"edits\":[{\"oldString\":\"a\",\"newString\":\"\"}]}",
     "edits[0].filePath"},
    {TOOL_CREATE_DIRECTORY, "{\"path\":\"a\"}", "dirPath"},
    {TOOL_COPY_FILE, "{\"sourcePath\":\"a\"}", "destinationPath"},
    {TOOL_MOVE, "{\"destinationPath\":\"a\"}", "sourcePath"},
    {TOOL_DELETE, "{}", "path"},
    {TOOL_EXTRACT_ARCHIVE, "{\"archivePath\":\"a\"}", "destinationPath"},
    {TOOL_UNDO_CHANGES, "{\"count\":0}", "count"},
    {TOOL_UNDO_CHANGES, "{\"all\":\"true\"}", "all"},
    {TOOL_UNDO_CHANGES, "[]", ""},
    {TOOL_SAVE_DOWNLOAD, "{\"downloadId\":\"\",\"path\":\"a\"}", "downloadId"},
    {TOOL_SHELL_EXECUTE, "{}", "command"},
    {TOOL_SHELL_EXECUTE, "{\"command\":\"\"}", "command"},
    {TOOL_SHELL_EXECUTE, "{\"command\":[\"ls\"]}", "command"},
    {TOOL_SHELL_EXECUTE, "{\"command\":\"ls\",\"timeout\":0}", "timeout"},
    {TOOL_SHELL_START, "{\"command\":\"ls\",\"terminal\":1}", "terminal"},
    {TOOL_SHELL_START, "{\"command\":\"ls\",\"rows\":1001}", "rows"},
    {TOOL_SHELL_OUTPUT, "{\"jobId\":1}", "jobId"},
    {TOOL_SHELL_OUTPUT, "{\"jobId\":\"job1\",\"waitMs\":60001}", "waitMs"},
    {TOOL_SHELL_INPUT, "{\"jobId\":\"job1\"}", ""},
    {TOOL_SHELL_STOP, "{\"jobId\":\"job1\",\"signal\":\"WINCH\"}", "signal"},
    {TOOL_SHELL_LIST, "[]", ""},
    {TOOL_SCREEN_SCREENSHOT, "{\"format\":\"bmp\"}", "format"},
    {TOOL_SCREEN_SCREENSHOT_REGION, "{\"x\":0,\"y\":0,\"width\":10}", "height"},
    {TOOL_SCREEN_INFO, "[]", ""},
    {TOOL_WINDOW_LIST, "[]", ""},
    {TOOL_MOUSE_MOVE, "{\"x\":1}", "y"},
    {TOOL_MOUSE_CLICK, "{\"x\":1,\"y\":2,\"button\":\"side\"}", "button"},
    {TOOL_MOUSE_DOUBLE_CLICK, "{\"x\":\"a\",\"y\":2}", "x"},
    {TOOL_MOUSE_BUTTON, "{\"x\":1,\"y\":2}", "state"},
    {TOOL_MOUSE_DRAG, "{\"fromX\":1,\"fromY\":2,\"toX\":3}", "toY"},
    {TOOL_MOUSE_SCROLL, "{\"x\":1,\"y\":2,\"direction\":\"down\",\"amount\":101}", "amount"},
    {TOOL_KEYBOARD_TYPE, "{}", "text"},
    {TOOL_KEYBOARD_KEY_TAP, "{\"key\":1}", "key"},
    {TOOL_KEYBOARD_SHORTCUT, "{\"keys\":[]}", "keys"},
    {TOOL_KEYBOARD_HOLD, "{\"keys\":[\"w\"],\"durationMs\":0}", "durationMs"},
    {TOOL_SCREEN_WAIT, "{\"until\":\"done\"}", "until"},
    {TOOL_BROWSER_CONNECT, "{\"mode\":\"remote\"}", "mode"},
    {TOOL_BROWSER_DISCONNECT, "[]", ""},
    {TOOL_BROWSER_TAB_OPEN, "{\"waitUntil\":\"soon\"}", "waitUntil"},
    {TOOL_BROWSER_TAB_LIST, "[]", ""},
    {TOOL_BROWSER_TAB_FOCUS, "{}", "pageId"},
    {TOOL_BROWSER_TAB_CLOSE, "{\"pageId\":1}", "pageId"},
    {TOOL_BROWSER_NAVIGATE, "{}", "url"},
    {TOOL_BROWSER_BACK, "{\"pageId\":1}", "pageId"},
    {TOOL_BROWSER_FORWARD, "{\"waitUntil\":1}", "waitUntil"},
    {TOOL_BROWSER_RELOAD, "{\"snapshot\":\"all\"}", "snapshot"},
    {TOOL_BROWSER_CLICK, "{\"element\":{\"ref\":\"e1\"},\"button\":\"side\"}", "button"},
    {TOOL_BROWSER_TYPE, "{\"element\":{\"ref\":\"e1\"}}", "text"},
    {TOOL_BROWSER_SELECT, "{\"element\":{\"ref\":\"e1\"},\"values\":\"a\"}", "values"},
    {TOOL_BROWSER_FILL_FORM, "{\"fields\":[]}", "fields"},
    {TOOL_BROWSER_DRAG, "{\"from\":{\"ref\":\"e1\"}}", "to"},
    {TOOL_BROWSER_HOVER, "{}", "element"},
    {TOOL_BROWSER_PRESS, "{}", "keys"},
    {TOOL_BROWSER_MOUSE_CLICK_XY, "{\"x\":1}", "y"},
    {TOOL_BROWSER_SCROLL, "{}", "mode"},
    {TOOL_BROWSER_UPLOAD, "{\"files\":[]}", "files"},
    {TOOL_BROWSER_DIALOG, "{\"action\":\"wait\"}", "action"},
    {TOOL_BROWSER_SNAPSHOT, "{\"maxChars\":1}", "maxChars"},
    {TOOL_BROWSER_SCREENSHOT, "{\"fullPage\":1}", "fullPage"},
    {TOOL_BROWSER_CONTENT, "{\"selector\":1}", "selector"},
    {TOOL_BROWSER_EVALUATE, "{}", "script"},
    {TOOL_BROWSER_CONSOLE, "{\"level\":\"all\"}", "level"},
    {TOOL_BROWSER_PDF, "{\"format\":\"A9\"}", "format"},
    {TOOL_BROWSER_NETWORK, "{\"bodies\":\"x\"}", "bodies"},
    {TOOL_BROWSER_WAIT, "{\"timeoutMs\":-1}", "timeoutMs"},
    {TOOL_BROWSER_COOKIES, "{}", "action"},
    {TOOL_BROWSER_STORAGE, "{\"kind\":\"local\"}", "action"},
    {TOOL_BROWSER_DOWNLOADS, "{\"waitMs\":60001}", "waitMs"},
    {TOOL_BROWSER_RESIZE, "{\"width\":1,\"height\":500}", "width"},
    {TOOL_BROWSER_CAPTURE_SECRET, "{\"credentialsKey\":\"k\",\"field\":\"f\"}", "element"},
    {TOOL_BROWSER_CREATE_CREDENTIAL, "{\"credentialsKey\":\"k\",\"type\":\"t\"}", "name"},
};

static void ids_are_places_in_the_table(void **state)
{
    (void)state;
    assert_int_equal(catalog_tool_count, TOOL_COUNT);
    for (size_t i = 0; i < catalog_tool_count; i++)
        assert_int_equal(catalog_tools[i].id, i);
}

static void each_tool_is_found_by_its_whole_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < catalog_tool_count; i++) {
        struct str name = catalog_tools[i].name;

        assert_ptr_equal(catalog_find_any(name), &catalog_tools[i]);
        assert_ptr_equal(catalog_find(name),
                         catalog_tools[i].is_internal ? NULL : &catalog_tools[i]);
        assert_ptr_not_equal(catalog_find(str_slice(name, 0, name.len - 1)), &catalog_tools[i]);
    }
    assert_str(catalog_find(STR("edit_file"))->name, "edit_file");
    assert_int_equal(catalog_find(STR("edit_files"))->id, TOOL_EDIT_FILES);
    assert_true(catalog_tools[TOOL_STAGE_UPLOAD].is_internal);
    assert_null(catalog_find(STR_EMPTY));
    assert_null(catalog_find(STR("Read_file")));
    assert_null(catalog_find(STR("read_file ")));
    assert_null(catalog_find(STR("read_file\0")));
}

static void each_tool_that_can_be_called_has_its_group(void **state)
{
    enum catalog_group group;
    size_t count = 0;

    (void)state;
    for (size_t i = 0; i < catalog_tool_count; i++) {
        if (catalog_tools[i].is_internal) {
            assert_false(catalog_group_of(catalog_tools[i].name, &group));
            continue;
        }
        assert_true(catalog_group_of(catalog_tools[i].name, &group));
        assert_int_equal(group, catalog_tools[i].group);
        count++;
    }
    assert_int_equal(catalog_name_count, count);
    assert_false(catalog_group_of(STR_EMPTY, &group));
}

static void groups_have_the_names_of_the_settings(void **state)
{
    (void)state;
    assert_string_equal(catalog_group_name(CATALOG_FILESYSTEM_READ), "filesystemRead");
    assert_string_equal(catalog_group_name(CATALOG_FILESYSTEM_WRITE), "filesystemWrite");
    assert_string_equal(catalog_group_name(CATALOG_SHELL), "shell");
    assert_string_equal(catalog_group_name(CATALOG_COMPUTER), "computer");
    assert_string_equal(catalog_group_name(CATALOG_BROWSER), "browser");
}

static void tools_that_only_read_come_first(void **state)
{
    (void)state;
    for (size_t i = 1; i < catalog_tool_count; i++)
        assert_true(catalog_tools[i].group >= catalog_tools[i - 1].group);
}

static void each_schema_compiles_and_wants_an_object(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < catalog_tool_count; i++) {
        const struct catalog_tool *tool = &catalog_tools[i];

        assert_int_equal(check_against(tool->input_schema, STR("5"), &err), ERR_SCHEMA_MISMATCH);
        if (output_schema(tool->id).len > 0)
            assert_int_equal(check_against(output_schema(tool->id), STR("[]"), &err),
                             ERR_SCHEMA_MISMATCH);
    }
}

static bool is_unlisted(int tool, struct str argument)
{
    static const struct {
        int tool;
        const char *argument;
    } rows[] = {
        {TOOL_GET_FILE_TREE, "withSizes"},    {TOOL_LIST_FILES, "withSizes"},
        {TOOL_LIST_FILES, "excludePatterns"}, {TOOL_READ_FILE, "endLine"},
        {TOOL_READ_FILE, "startColumn"},      {TOOL_READ_FILE, "startPage"},
        {TOOL_MOUSE_CLICK, "clickCount"},
    };

    for (size_t i = 0; i < array_size(rows); i++)
        if (rows[i].tool == tool && str_eq_c(argument, rows[i].argument))
            return true;
    return false;
}

/* What is said to models stands in the listing only. */
static void assert_checked_by(const struct json_value *schema, const struct json_value *listed)
{
    assert_null(json_get(schema, STR("description")));
    json_each_member (word, schema) {
        const struct json_value *shown = json_get(listed, json_str(word));

        assert_non_null(shown);
        if (str_eq_c(json_str(word), "items"))
            assert_checked_by(word + 1, shown);
        else if (str_eq_c(json_str(word), "properties"))
            json_each_member (key, word + 1)
                assert_checked_by(key + 1, json_get(shown, json_str(key)));
        else
            assert_true(json_eq(shown, word + 1));
    }
}

/* All arguments but those that are accepted without being listed. */
static void assert_listed(int tool, const struct json_value *shown,
                          const struct json_value *properties)
{
    json_each_member (key, properties) {
        const struct json_value *listed = json_get(shown, json_str(key));

        if (is_unlisted(tool, json_str(key)))
            assert_null(listed);
        else
            assert_checked_by(key + 1, listed);
    }
}

static void listing_has_what_the_table_has_in_the_usual_order(void **state)
{
    static const char *const order[] = {"name",        "title",        "description",
                                        "inputSchema", "outputSchema", "annotations"};

    (void)state;
    for (size_t i = 0; i < catalog_tool_count; i++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        const struct catalog_tool *tool = &catalog_tools[i];
        struct str whole = catalog_listings[i].text;
        struct str member = catalog_listings[i].output;
        const struct json_value *listing = parse(&arena, whole);
        const struct json_value *input = parse(&arena, tool->input_schema);
        const struct json_value *output = json_get(listing, STR("outputSchema"));
        struct str text = STR_EMPTY;
        size_t at = 0;

        json_each_member (key, listing) {
            while (at < 6 && !str_eq_c(json_str(key), order[at]))
                at++;
            assert_true(at++ < 6);
        }
        assert_int_equal(listing->size, output != NULL ? 6 : 5);
        assert_true(json_get_str(listing, STR("name"), &text) && str_eq(text, tool->name));
        assert_true(json_get_str(listing, STR("title"), &text) && text.len > 0);
        assert_true(json_get_str(listing, STR("description"), &text));
        assert_true(text.len > 0);
        json_each_member (word, input) {
            const struct json_value *shown =
                json_get(json_get(listing, STR("inputSchema")), json_str(word));

            /* Some model interfaces refuse a tool with a choice at the top of its schema. */
            if (str_eq(json_str(word), STR("anyOf")))
                assert_null(shown);
            else if (str_eq(json_str(word), STR("properties")))
                assert_listed(tool->id, shown, word + 1);
            else
                assert_true(shown != NULL && json_eq(shown, word + 1));
        }
        assert_ptr_equal(catalog_listings[i].tool, tool);
        assert_true((output != NULL) == (member.len > 0));
        if (output != NULL) {
            cleanup_buf struct buf plain = BUF_INIT(1 << 16);
            size_t start = (size_t)(member.ptr - whole.ptr);

            assert_true(json_eq(output, parse(&arena, output_schema(tool->id))));
            assert_int_equal(buf_append_str(&plain, str_slice(whole, 0, start)), 0);
            assert_int_equal(
                buf_append_str(&plain, str_slice(whole, start + member.len, whole.len)), 0);
            assert_int_equal(parse(&arena, buf_view(&plain))->size, 5);
        }
    }
}

static void hints_agree_with_the_group_and_what_is_touched(void **state)
{
    (void)state;
    for (size_t i = 0; i < catalog_tool_count; i++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        const struct catalog_tool *tool = &catalog_tools[i];
        const struct json_value *hints =
            json_get(parse(&arena, catalog_listings[i].text), STR("annotations"));
        struct str category = STR_EMPTY;
        bool is_file_work = tool->group <= CATALOG_FILESYSTEM_WRITE;
        bool only_reads = false;
        bool is_open = true;

        assert_true(json_get_bool(hints, STR("readOnlyHint"), &only_reads));
        if (is_file_work)
            assert_int_equal(only_reads, tool->group == CATALOG_FILESYSTEM_READ);
        else
            assert_true(!only_reads || tool->resource_count == 0);
        assert_true(json_get_bool(hints, STR("openWorldHint"), &is_open));
        if (tool->group == CATALOG_BROWSER)
            assert_true(is_open);
        else
            assert_int_equal(is_open, tool->group == CATALOG_COMPUTER
                                          ? !only_reads
                                          : !is_file_work && tool->resource_count > 0);
        assert_true(json_get_str(hints, STR("category"), &category));
        assert_true(str_eq_c(category, is_file_work                     ? "filesystem"
                                       : tool->group == CATALOG_SHELL   ? "shell"
                                       : tool->group == CATALOG_BROWSER ? "browser"
                                       : only_reads                     ? "screenshot"
                                                                        : "mouse-keyboard"));
        for (size_t j = 0; only_reads && j < tool->resource_count; j++)
            assert_true(tool->resources[j].access == CATALOG_READS ||
                        tool->resources[j].access == CATALOG_LISTS);
    }
}

static void each_tool_says_what_it_touches(void **state)
{
    static const struct {
        int tool;
        struct catalog_resource resources[2];
        size_t count;
    } rules[] = {
        {TOOL_GET_FILE_TREE, {{STR_LITERAL("dirPath"), CATALOG_LISTS, {0}, {0}}}, 1},
        {TOOL_LIST_FILES, {{STR_LITERAL("dirPath"), CATALOG_LISTS, {0}, {0}}}, 1},
        {TOOL_READ_FILE, {{STR_LITERAL("filePath"), CATALOG_READS, {0}, {0}}}, 1},
        {TOOL_STAT_FILE, {{STR_LITERAL("path"), CATALOG_READS, {0}, {0}}}, 1},
        {TOOL_SEARCH_FILES, {{STR_LITERAL("dirPath"), CATALOG_LISTS, STR_LITERAL(""), {0}}}, 1},
        {TOOL_READ_FILES, {{STR_LITERAL("filePaths[]"), CATALOG_READS, {0}, {0}}}, 1},
        {TOOL_LIST_ALLOWED_DIRECTORIES, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_STAGE_UPLOAD, {{STR_LITERAL("files[]"), CATALOG_READS, {0}, {0}}}, 1},
        {TOOL_LOAD_PAGE_FILE, {{STR_LITERAL("path"), CATALOG_READS, {0}, {0}}}, 1},
        {TOOL_WRITE_FILE, {{STR_LITERAL("filePath"), CATALOG_WRITES, {0}, {0}}}, 1},
        {TOOL_APPEND_FILE, {{STR_LITERAL("filePath"), CATALOG_WRITES, {0}, {0}}}, 1},
        {TOOL_EDIT_FILE, {{STR_LITERAL("filePath"), CATALOG_WRITES, {0}, {0}}}, 1},
        {TOOL_EDIT_FILES, {{STR_LITERAL("edits[].filePath"), CATALOG_WRITES, {0}, {0}}}, 1},
        {TOOL_CREATE_DIRECTORY, {{STR_LITERAL("dirPath"), CATALOG_WRITES, {0}, {0}}}, 1},
        {TOOL_COPY_FILE,
         {{STR_LITERAL("sourcePath"), CATALOG_READS, {0}, {0}},
          {STR_LITERAL("destinationPath"), CATALOG_WRITES, {0}, {0}}},
         2},
        {TOOL_MOVE,
         {{STR_LITERAL("sourcePath"), CATALOG_WRITES, {0}, {0}},
          {STR_LITERAL("destinationPath"), CATALOG_WRITES, {0}, {0}}},
         2},
        {TOOL_DELETE, {{STR_LITERAL("path"), CATALOG_DELETES, {0}, {0}}}, 1},
        {TOOL_EXTRACT_ARCHIVE,
         {{STR_LITERAL("archivePath"), CATALOG_READS, {0}, {0}},
          {STR_LITERAL("destinationPath"), CATALOG_WRITES, {0}, {0}}},
         2},
        {TOOL_UNDO_CHANGES, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_SAVE_DOWNLOAD, {{STR_LITERAL("path"), CATALOG_WRITES, {0}, {0}}}, 1},
        {TOOL_SHELL_EXECUTE,
         {{STR_LITERAL("command"), CATALOG_EXECUTES, {0}, STR_LITERAL("cwd")}},
         1},
        {TOOL_SHELL_START,
         {{STR_LITERAL("command"), CATALOG_EXECUTES, {0}, STR_LITERAL("cwd")}},
         1},
        {TOOL_SHELL_OUTPUT, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_SHELL_INPUT, {{STR_LITERAL("jobId"), CATALOG_EXECUTES, {0}, {0}}}, 1},
        {TOOL_SHELL_STOP, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_SHELL_LIST, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_SCREEN_SCREENSHOT, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_SCREEN_SCREENSHOT_REGION, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_SCREEN_INFO, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_WINDOW_LIST, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_MOUSE_MOVE, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_MOUSE_CLICK, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_MOUSE_DOUBLE_CLICK, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_MOUSE_BUTTON, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_MOUSE_DRAG, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_MOUSE_SCROLL, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_KEYBOARD_TYPE, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_KEYBOARD_KEY_TAP, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_KEYBOARD_SHORTCUT, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_KEYBOARD_HOLD, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_SCREEN_WAIT, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_CONNECT, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_DISCONNECT, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_TAB_OPEN, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_TAB_LIST, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_TAB_FOCUS, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_TAB_CLOSE, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_NAVIGATE, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_BACK, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_FORWARD, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_RELOAD, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_CLICK, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_TYPE, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_SELECT, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_FILL_FORM, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_DRAG, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_HOVER, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_PRESS, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_MOUSE_CLICK_XY, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_SCROLL, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_UPLOAD, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_DIALOG, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_SNAPSHOT, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_SCREENSHOT, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_CONTENT, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_EVALUATE, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_CONSOLE, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_PDF, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_NETWORK, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_WAIT, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_COOKIES, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_STORAGE, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_DOWNLOADS, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_RESIZE, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_CAPTURE_SECRET, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
        {TOOL_BROWSER_CREATE_CREDENTIAL, {{{0}, CATALOG_READS, {0}, {0}}}, 0},
    };

    (void)state;
    assert_int_equal(sizeof(rules) / sizeof(rules[0]), TOOL_COUNT);
    for (size_t i = 0; i < TOOL_COUNT; i++) {
        const struct catalog_tool *tool = &catalog_tools[rules[i].tool];

        assert_int_equal(rules[i].tool, i);
        assert_int_equal(tool->resource_count, rules[i].count);
        for (size_t j = 0; j < rules[i].count; j++) {
            const struct catalog_resource *wanted = &rules[i].resources[j];

            assert_true(str_eq(tool->resources[j].argument, wanted->argument));
            assert_int_equal(tool->resources[j].access, wanted->access);
            assert_int_equal(tool->resources[j].fallback.ptr != NULL, wanted->fallback.ptr != NULL);
            assert_int_equal(tool->resources[j].fallback.len, 0);
            assert_true(str_eq(tool->resources[j].directory, wanted->directory));
        }
    }
}

static void good_arguments_are_accepted(void **state)
{
    bool has_sample[TOOL_COUNT] = {false};

    (void)state;
    for (size_t i = 0; i < sizeof(good_arguments) / sizeof(good_arguments[0]); i++) {
        const struct fitting *sample = &good_arguments[i];
        struct err err = ERR_INIT;

        if (check_against(catalog_tools[sample->tool].input_schema, str_from(sample->json), &err))
            fail_msg("%s: %s: %s", sample->json, err.field, err.message);
        has_sample[sample->tool] = true;
    }
    for (size_t i = 0; i < TOOL_COUNT; i++)
        assert_true(has_sample[i]);
}

static void unknown_arguments_are_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good_arguments) / sizeof(good_arguments[0]); i++) {
        cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
        const struct fitting *sample = &good_arguments[i];
        const char *rest = sample->json + 1;
        struct err err = ERR_INIT;

        assert_int_equal(buf_printf(&text, "{\"another\":[]%s%s", rest[0] == '}' ? "" : ",", rest),
                         0);
        if (check_against(catalog_tools[sample->tool].input_schema, buf_view(&text), &err))
            fail_msg("%s: %s: %s", sample->json, err.field, err.message);
    }
}

static void bad_arguments_are_refused_by_name(void **state)
{
    bool has_sample[TOOL_COUNT] = {false};

    (void)state;
    for (size_t i = 0; i < sizeof(bad_arguments) / sizeof(bad_arguments[0]); i++) {
        const struct misfit *sample = &bad_arguments[i];
        struct err err = ERR_INIT;

        if (!check_against(catalog_tools[sample->tool].input_schema, str_from(sample->json), &err))
            fail_msg("%s was accepted", sample->json);
        assert_int_equal(err.code, ERR_SCHEMA_MISMATCH);
        assert_string_equal(err.field, sample->field);
        has_sample[sample->tool] = true;
    }
    for (size_t i = 0; i < TOOL_COUNT; i++)
        assert_true(has_sample[i]);
}

static int check_edits(size_t count)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 16);
    struct err err = ERR_INIT;

    assert_int_equal(buf_printf(&text, "{\"edits\":["), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(
            buf_printf(&text, "%s{\"filePath\":\"a\",\"oldString\":\"a\",\"newString\":\"b\"}",
                       i > 0 ? "," : ""),
            0);
    assert_int_equal(buf_printf(&text, "]}"), 0);
    return check_against(catalog_tools[TOOL_EDIT_FILES].input_schema, buf_view(&text), &err);
}

static void sixty_four_edits_fit_in_a_call(void **state)
{
    (void)state;
    assert_int_equal(check_edits(64), 0);
    assert_int_equal(check_edits(65), ERR_SCHEMA_MISMATCH);
}

static void search_for_nothing_says_which_fields_there_are(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    check_against(catalog_tools[TOOL_SEARCH_FILES].input_schema, STR("{}"), &err);
    assert_string_equal(err.message,
                        "must have one of these fields: name, filePattern, query, pattern");
}

static void results_fit_their_schemas(void **state)
{
    bool has_sample[TOOL_COUNT] = {false};

    (void)state;
    for (size_t i = 0; i < sizeof(good_results) / sizeof(good_results[0]); i++) {
        const struct fitting *sample = &good_results[i];
        struct err err = ERR_INIT;

        if (check_against(output_schema(sample->tool), str_from(sample->json), &err))
            fail_msg("%s: %s: %s", sample->json, err.field, err.message);
        /* A schema that takes anything would describe nothing. */
        assert_int_equal(check_against(output_schema(sample->tool), STR("{}"), &err),
                         ERR_SCHEMA_MISMATCH);
        has_sample[sample->tool] = true;
    }
    for (size_t i = 0; i < TOOL_COUNT; i++)
        assert_int_equal(has_sample[i], output_schema((int)i).len > 0);
    assert_int_equal(catalog_listings[TOOL_GET_FILE_TREE].output.len, 0);
}

/* Only what reads. */
static bool offers(void *data, const struct catalog_tool *tool)
{
    (void)data;
    return tool->group == CATALOG_FILESYSTEM_READ;
}

static void an_unknown_tool_is_refused_with_the_nearest_that_is_offered(void **state)
{
    static const struct {
        const char *name;
        const char *words;
    } cases[] = {
        {"readFile", "unknown tool \"readFile\"; did you mean read_file?"},
        {"Read", "unknown tool \"Read\"; did you mean read_file?"},
        {"search", "unknown tool \"search\"; did you mean search_files?"},
        {"grep", "unknown tool \"grep\"; here it is search_files"},
        {"listDirectory", "unknown tool \"listDirectory\"; here it is list_files"},
        {"delete_file",
         "delete is not offered: files are read-only here; the user can start this server with "
         "--permission-filesystem-write ask or allow"},
        {"Bash", "shell_execute is not offered; the user can start this server with "
                 "--permission-shell ask or allow"},
        {"frobnicate", "unknown tool \"frobnicate\""},
        {"", "unknown tool \"\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(catalog_refuse(str_from(cases[i].name), offers, NULL, ERR_NOT_FOUND, &err),
                         ERR_NOT_FOUND);
        assert_string_equal(err.message, cases[i].words);
    }
}

TEST_MAIN(cmocka_unit_test(ids_are_places_in_the_table),
          cmocka_unit_test(each_tool_is_found_by_its_whole_name),
          cmocka_unit_test(each_tool_that_can_be_called_has_its_group),
          cmocka_unit_test(groups_have_the_names_of_the_settings),
          cmocka_unit_test(tools_that_only_read_come_first),
          cmocka_unit_test(each_schema_compiles_and_wants_an_object),
          cmocka_unit_test(listing_has_what_the_table_has_in_the_usual_order),
          cmocka_unit_test(hints_agree_with_the_group_and_what_is_touched),
          cmocka_unit_test(each_tool_says_what_it_touches),
          cmocka_unit_test(good_arguments_are_accepted),
          cmocka_unit_test(unknown_arguments_are_accepted),
          cmocka_unit_test(bad_arguments_are_refused_by_name),
          cmocka_unit_test(sixty_four_edits_fit_in_a_call),
          cmocka_unit_test(search_for_nothing_says_which_fields_there_are),
          cmocka_unit_test(results_fit_their_schemas),
          cmocka_unit_test(an_unknown_tool_is_refused_with_the_nearest_that_is_offered))
