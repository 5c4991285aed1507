/* SPDX-License-Identifier: Apache-2.0 */
#include "workbench.h"

#include <pthread.h>

#include "files/tool.h"
#include "protocol/toolids.h"

static void arguments_that_do_not_fit_name_the_field(void **state)
{
    struct bench *bench = *state;

    assert_str(bench_error(bench, "read_file", "{\"filePath\":3}"),
               "filePath must be a string, not a number");
    assert_contains(bench_error(bench, "read_file", "{}"), "filePath");
    assert_contains(bench_error(bench, "read_file", "[]"), "the arguments must be an object");
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"x\",\"maxLines\":\"3\"}"),
                    "maxLines must be an integer");
    assert_int_equal(bench->err.code, ERR_SCHEMA_MISMATCH);
    assert_string_equal(bench->err.field, "maxLines");
}

static void unknown_arguments_are_ignored(void **state)
{
    struct bench *bench = *state;

    plant(bench, "file", "x");
    assert_str(
        str_member(bench_call(bench, "read_file", "{\"filePath\":\"file\",\"colour\":\"blue\"}"),
                   "content"),
        "x");
}

static void tools_that_change_something_exist_only_with_write_access(void **state)
{
    struct bench *bench = *state;
    bool found = false;

    for (int may_write = 0; may_write < 2; may_write++) {
        bench_reopen(bench, (struct toolbox_config){.may_write = may_write}, NULL);
        for (size_t i = 0; i < catalog_tool_count; i++) {
            const struct catalog_tool *tool = &catalog_tools[i];
            bool is_change = tool->group == CATALOG_FILESYSTEM_WRITE;
            /* Without a staging directory there are no files to or from a browser. */
            bool is_staged = tool->id == TOOL_STAGE_UPLOAD || tool->id == TOOL_SAVE_DOWNLOAD;
            bool is_file_work = tool->group <= CATALOG_FILESYSTEM_WRITE && !is_staged;

            found = found || is_change;
            assert_int_equal(toolbox_has(bench->box, tool),
                             is_file_work && (may_write || !is_change));
        }
    }
    assert_true(found);
    bench_deny(bench, NULL);
    assert_null(bench_prepare(bench, "write_file", "{\"filePath\":\"f\",\"content\":\"\"}"));
    assert_int_equal(bench->err.code, ERR_NOT_FOUND);
    assert_int_equal(faccessat(bench->root_fd, "f", F_OK, 0), -1);
}

static void resources_are_told_by_their_resolved_names(void **state)
{
    struct bench *bench = *state;
    const struct tool_resource *resources;
    struct tool_call *call;
    size_t count;

    plant_dir(bench, "dir");
    plant(bench, "dir/file", "x");
    plant_link(bench, "link", "dir");
    call = bench_prepare(bench, "read_file", "{\"filePath\":\"link//./file\"}");
    assert_non_null(call);
    resources = tool_resources(call, &count);
    assert_int_equal(count, 1);
    assert_int_equal(resources[0].access, CATALOG_READS);
    assert_str(resources[0].given, "link//./file");
    assert_str(resources[0].resolved, "dir/file");
    tool_free(call);
    /* A missing argument stands for its fallback, here the root. */
    call = bench_prepare(bench, "search_files", "{\"name\":\"x\"}");
    assert_non_null(call);
    resources = tool_resources(call, &count);
    assert_int_equal(count, 1);
    assert_int_equal(resources[0].access, CATALOG_LISTS);
    assert_str(resources[0].resolved, "");
    tool_free(call);
}

static void each_item_of_a_list_names_a_resource(void **state)
{
    struct bench *bench = *state;
    const struct tool_resource *resources;
    struct tool_call *call;
    size_t count;

    bench_reopen(bench, (struct toolbox_config){.may_write = true}, NULL);
    plant(bench, "a", "x");
    plant_link(bench, "b", "a");
    call = bench_prepare(bench, "edit_files",
                         "{\"edits\":[{\"filePath\":\"a\",\"oldString\":\"x\",\"newString\":\"y\"},"
                         "{\"filePath\":\"b\",\"oldString\":\"x\",\"newString\":\"y\"}]}");
    assert_non_null(call);
    resources = tool_resources(call, &count);
    assert_int_equal(count, 2);
    assert_int_equal(resources[1].access, CATALOG_WRITES);
    assert_str(resources[1].given, "b");
    assert_str(resources[1].resolved, "a");
    tool_free(call);
    assert_contains(
        bench_error(bench, "edit_files",
                    "{\"edits\":[{\"filePath\":\"a\",\"oldString\":\"x\",\"newString\":\"y\"},"
                    "{\"filePath\":\"../b\",\"oldString\":\"x\",\"newString\":\"y\"}]}"),
        "../b is outside the root");
}

static void a_home_directory_is_refused_unless_there_is_a_file_of_that_name(void **state)
{
    struct bench *bench = *state;
    char wanted[256];

    bench_reopen(bench, (struct toolbox_config){.may_write = true}, NULL);
    snprintf(wanted, sizeof(wanted),
             "~/n.md: ~ is not expanded; paths are relative to the root, %s, or absolute",
             bench->root);
    assert_true(str_eq_c(
        bench_error(bench, "write_file", "{\"filePath\":\"~/n.md\",\"content\":\"\"}"), wanted));
    assert_int_equal(faccessat(bench->root_fd, "~", F_OK, 0), -1);
    assert_contains(bench_error(bench, "list_files", "{\"dirPath\":\"~\"}"),
                    "~: ~ is not expanded");
    assert_contains(bench_error(bench, "read_files", "{\"filePaths\":[\"~/b\",\"../c\"]}"),
                    "~/b: ~ is not expanded");
    bench_call(bench, "write_file", "{\"filePath\":\"~x\",\"content\":\"\"}");
    plant_dir(bench, "~");
    bench_call(bench, "write_file", "{\"filePath\":\"~/n.md\",\"content\":\"\"}");
    assert_int_equal(faccessat(bench->root_fd, "~/n.md", F_OK, 0), 0);
}

static void an_error_says_what_is_wrong_with_a_name(void **state)
{
    struct bench *bench = *state;
    char wanted[256];

    plant(bench, "file", "x");
    plant_link(bench, "nowhere", "none");
    plant_link(bench, "out", "../outside");
    snprintf(wanted, sizeof(wanted), "/src/a.c is outside the root, %s; paths are relative to it",
             bench->root);
    assert_true(str_eq_c(bench_error(bench, "read_file", "{\"filePath\":\"/src/a.c\"}"), wanted));
    assert_str(bench_error(bench, "read_file", "{\"filePath\":\"../a.c\"}"),
               "../a.c is outside the root; paths are relative to the root");
    assert_str(bench_error(bench, "read_file", "{\"filePath\":\"out/secret\"}"),
               "out/secret is outside the root: a symbolic link in its path leads there");
    assert_str(bench_error(bench, "read_file", "{\"filePath\":\"nowhere\"}"),
               "nowhere is a symbolic link that leads nowhere");
    assert_str(bench_error(bench, "list_files", "{\"dirPath\":\"file\"}"),
               "file is not a directory, but a file; use read_file");
    assert_str(bench_error(bench, "list_files", "{\"dirPath\":\"file/x\"}"),
               "file/x is not a directory, or one of its parents is a file");
}

static void an_address_of_a_file_is_its_name(void **state)
{
    struct bench *bench = *state;
    char arguments[256];

    plant(bench, "a b", "x");
    snprintf(arguments, sizeof(arguments), "{\"filePath\":\"file://%s/a%%20b\"}", bench->root);
    assert_str(str_member(bench_call(bench, "read_file", arguments), "content"), "x");
    assert_str(bench_error(bench, "read_file", "{\"filePath\":\"file:///etc/passwd\"}"),
               "file:///etc/passwd is outside the root; paths are relative to the root");
    assert_contains(bench_error(bench, "read_file", "{\"filePath\":\"file:///a%00b\"}"),
                    "not a valid file:// URI");
}

static void a_link_that_is_deleted_or_moved_is_the_link_itself(void **state)
{
    struct bench *bench = *state;
    struct tool_call *call;
    size_t count;

    bench_reopen(bench, (struct toolbox_config){.may_write = true}, NULL);
    plant(bench, "file", "x");
    plant_link(bench, "link", "file");
    call = bench_prepare(bench, "delete", "{\"path\":\"link\"}");
    assert_non_null(call);
    assert_str(tool_resources(call, &count)[0].resolved, "link");
    tool_free(call);
    call = bench_prepare(bench, "move", "{\"sourcePath\":\"link\",\"destinationPath\":\"new\"}");
    assert_non_null(call);
    assert_str(tool_resources(call, &count)[0].resolved, "link");
    assert_str(tool_resources(call, &count)[1].resolved, "new");
    tool_free(call);
}

static void a_long_name_leaves_room_for_the_reason(void **state)
{
    struct bench *bench = *state;
    char arguments[1024];

    snprintf(arguments, sizeof(arguments), "{\"filePath\":\"%0200d/%0200d\"}", 0, 0);
    assert_contains(bench_error(bench, "read_file", arguments), "…: not found");
}

/* Behind what stands in the buffer already, and no half results. */
static void a_result_is_appended_whole_or_not_at_all(void **state)
{
    struct bench *bench = *state;
    cleanup_buf struct buf small = BUF_INIT(200);
    struct tool_call *call;
    static char text[600];

    memset(text, 'x', sizeof(text) - 1);
    plant(bench, "file", text);
    plant_bytes_at(bench->root_fd, "image", "\xFF\xD8\xFF", 3);
    for (int is_image = 0; is_image < 2; is_image++) {
        call = bench_prepare(bench, "read_file",
                             is_image ? "{\"filePath\":\"image\"}" : "{\"filePath\":\"file\"}");
        assert_non_null(call);
        buf_clear(&small);
        assert_int_equal(buf_append_str(&small, STR("before")), 0);
        assert_int_equal(tool_run(call, NULL, NULL, NULL, &small), ERR_TOO_LARGE);
        assert_str(buf_view(&small), "before");
        buf_clear(&bench->out);
        assert_int_equal(buf_append_str(&bench->out, STR("[")), 0);
        assert_int_equal(tool_run(call, NULL, NULL, NULL, &bench->out), 0);
        assert_int_equal(buf_append_char(&bench->out, ']'), 0);
        assert_int_equal(bench_parse(bench, buf_view(&bench->out))->type, JSON_ARRAY);
        tool_free(call);
    }
}

static void what_was_cancelled_does_not_begin(void **state)
{
    struct bench *bench = *state;
    struct tool_call *call = NULL;
    struct cancel cancel;
    struct clock clock;

    clock_fake_init(&clock, 0);
    cancel_init(&cancel, &clock, clock_monotonic_ms(&clock));
    plant(bench, "file", "x");
    assert_int_equal(tool_prepare(bench->box, catalog_find(STR("read_file")),
                                  bench_parse(bench, STR("{\"filePath\":\"file\"}")), &cancel,
                                  &call, &bench->err),
                     ERR_TIMED_OUT);
    assert_null(call);
    call = bench_prepare(bench, "read_file", "{\"filePath\":\"file\"}");
    assert_int_equal(tool_run(call, &cancel, NULL, NULL, &bench->out), ERR_TIMED_OUT);
    assert_int_equal(bench->out.len, 0);
    tool_free(call);
}

/* ---- turns ---- */

enum { TURN_MS = 20 }; /* between two looks of one who waits */

struct waiting {
    struct tool_call *call;
    struct cancel cancel;
    struct buf out;
    int result;
};

static void *run_waiting(void *data)
{
    struct waiting *waiting = data;

    waiting->result = tool_run(waiting->call, &waiting->cancel, NULL, NULL, &waiting->out);
    return NULL;
}

/* A hook of the authority that holds the change in whose turn it is called. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_held;
    bool is_open;
};

static void hold(void *data, const struct authority_context *context,
                 struct authority_decision *decision)
{
    struct gate *gate = data;

    (void)decision;
    if (context->operation != AUTHORITY_OP_MKDIR)
        return;
    pthread_mutex_lock(&gate->lock);
    gate->is_held = true;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->is_open)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void begin(struct waiting *waiting, struct bench *bench, const char *arguments,
                  int64_t deadline_ms, pthread_t *out_thread)
{
    *waiting = (struct waiting){0};
    waiting->call = bench_prepare(bench, "create_directory", arguments);
    assert_non_null(waiting->call);
    cancel_init(&waiting->cancel, &clock_system, deadline_ms);
    buf_init(&waiting->out, BENCH_OUT_BYTES);
    assert_int_equal(pthread_create(out_thread, NULL, run_waiting, waiting), 0);
}

static void end(struct waiting *waiting, pthread_t thread)
{
    assert_int_equal(pthread_join(thread, NULL), 0);
    tool_free(waiting->call);
    buf_done(&waiting->out);
}

static void a_change_waits_for_its_turn_and_can_be_given_up(void **state)
{
    struct bench *bench = *state;
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    const struct authority_hook hook = {.id = "gate", .before = hold, .data = &gate};
    struct waiting first;
    struct waiting second;
    struct waiting third;
    pthread_t threads[3];

    bench_reopen(bench, (struct toolbox_config){.may_write = true}, NULL);
    assert_int_equal(authority_add_hook(bench->authority, &hook), 0);
    begin(&first, bench, "{\"dirPath\":\"first\"}", CANCEL_NO_DEADLINE, &threads[0]);
    pthread_mutex_lock(&gate.lock);
    while (!gate.is_held)
        pthread_cond_wait(&gate.changed, &gate.lock);
    gate.is_held = false;
    pthread_mutex_unlock(&gate.lock);
    /* Its turn does not come before its time is over: it must not get as far as the hook. */
    begin(&second, bench, "{\"dirPath\":\"second\"}",
          clock_monotonic_ms(&clock_system) + 3 * TURN_MS, &threads[1]);
    begin(&third, bench, "{\"dirPath\":\"third\"}", CANCEL_NO_DEADLINE, &threads[2]);
    end(&second, threads[1]);
    assert_int_equal(second.result, ERR_TIMED_OUT);
    pthread_mutex_lock(&gate.lock);
    assert_false(gate.is_held);
    pthread_mutex_unlock(&gate.lock);
    /* A read does not wait for anybody. */
    plant(bench, "file", "x");
    assert_str(str_member(bench_call(bench, "read_file", "{\"filePath\":\"file\"}"), "content"),
               "x");
    pthread_mutex_lock(&gate.lock);
    gate.is_open = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
    end(&first, threads[0]);
    end(&third, threads[2]);
    assert_int_equal(first.result, 0);
    assert_int_equal(third.result, 0);
    assert_int_equal(faccessat(bench->root_fd, "first", F_OK, 0), 0);
    assert_int_equal(faccessat(bench->root_fd, "second", F_OK, 0), -1);
    assert_int_equal(faccessat(bench->root_fd, "third", F_OK, 0), 0);
    assert_true(authority_remove_hook(bench->authority, "gate"));
}

static void *read_often(void *data)
{
    struct bench *bench = data;
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    cleanup_buf struct buf out = BUF_INIT(1 << 20);
    const struct json_value *arguments = NULL;

    assert_int_equal(
        json_parse(&arena, STR("{\"filePath\":\"file\"}"), JSON_LIMITS_DEFAULT, &arguments, NULL),
        0);
    for (int i = 0; i < 200; i++) {
        struct tool_call *call = NULL;

        if (tool_prepare(bench->box, catalog_find(STR("read_file")), arguments, NULL, &call, NULL) <
            0)
            return data;
        buf_clear(&out);
        if (tool_run(call, NULL, NULL, NULL, &out) < 0 ||
            str_find(buf_view(&out), STR("isError")) != SIZE_MAX)
            return data;
        tool_free(call);
    }
    return NULL;
}

static void calls_may_run_in_several_threads(void **state)
{
    struct bench *bench = *state;
    pthread_t threads[4];

    plant(bench, "file", "x");
    for (size_t i = 0; i < array_size(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_often, bench), 0);
    for (size_t i = 0; i < array_size(threads); i++) {
        void *failed = NULL;

        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}

TEST_MAIN(BENCH_TEST(arguments_that_do_not_fit_name_the_field),
          BENCH_TEST(unknown_arguments_are_ignored),
          BENCH_TEST(tools_that_change_something_exist_only_with_write_access),
          BENCH_TEST(resources_are_told_by_their_resolved_names),
          BENCH_TEST(each_item_of_a_list_names_a_resource),
          BENCH_TEST(a_home_directory_is_refused_unless_there_is_a_file_of_that_name),
          BENCH_TEST(an_error_says_what_is_wrong_with_a_name),
          BENCH_TEST(an_address_of_a_file_is_its_name),
          BENCH_TEST(a_link_that_is_deleted_or_moved_is_the_link_itself),
          BENCH_TEST(a_long_name_leaves_room_for_the_reason),
          BENCH_TEST(a_result_is_appended_whole_or_not_at_all),
          BENCH_TEST(what_was_cancelled_does_not_begin),
          BENCH_TEST(a_change_waits_for_its_turn_and_can_be_given_up),
          BENCH_TEST(calls_may_run_in_several_threads))
