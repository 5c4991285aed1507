/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on files, with a toolhost and a clock that the test controls. */
#include "callbench.h"

#include "../../authority/scene.h"

enum {
    PATH_BYTES = 160,
    MOST_NOTES = 16,
};

#define WRITES                                                                                     \
    "{\"resources\":[{\"access\":\"writes\",\"given\":\"a\",\"resolved\":\"a\"}],"                 \
    "\"consent\":[{\"group\":\"filesystemWrite\",\"given\":\"/r/a\",\"resolved\":\"/r/a\","        \
    "\"operation\":\"changes\"}],\"mark\":\"0000000000000000\",\"deletes\":false,\"isFolder\":"    \
    "false}"
#define READS                                                                                      \
    "{\"resources\":[{\"access\":\"reads\",\"given\":\"a\",\"resolved\":\"a\"}],"                  \
    "\"consent\":[{\"group\":\"filesystemRead\",\"given\":\"/r/a\",\"resolved\":\"/r/a\","         \
    "\"operation\":\"reads\"}],\"mark\":\"0000000000000000\",\"deletes\":false,\"isFolder\":"      \
    "false}"
#define PREVIEW "{\"action\":\"Writes a\",\"detail\":\"\",\"isDiff\":false}"
#define GOOD    "{\"content\":[{\"type\":\"text\",\"text\":\"{}\"}]}"
#define BAD                                                                                        \
    "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"error\\\":\\\"no\\\"}\"}],\"isError\":true}"

static void end_call(const char *result, int code, bool has_begun)
{
    cleanup_buf struct buf body = BUF_INIT(CALLBENCH_ARENA_BYTES);
    struct err err = ERR_INIT;

    if (result != NULL) {
        host_says(TOOLWIRE_RESULT, str_from(result));
        return;
    }
    err_set_plain(&err, code);
    assert_int_equal(toolwire_write_error(&err, has_begun, &body), 0);
    host_says(TOOLWIRE_ERROR, buf_view(&body));
}

/* ---- everything around it ---- */

struct world {
    struct scene scene;
    char settings[PATH_BYTES];
    char state[PATH_BYTES];
    char root[PATH_BYTES];
    struct callbench bench;
    struct authority *authority;
    struct settings_file *file;
    struct keeper *keeper;
    struct authority_scope *scope;
    enum authority_outcome notes[MOST_NOTES]; /* of calls */
    int errors[MOST_NOTES];
    size_t note_count;
    unsigned ends; /* of calls, as recorded */
};

static int on_event(void *data, const struct authority_event *event)
{
    struct world *world = data;

    if (event->call == NULL)
        return 0;                                /* of the settings */
    if (event->operation == AUTHORITY_OP_CALL) { /* after its steps */
        world->ends++;
        return 0;
    }
    assert_true(world->note_count < MOST_NOTES);
    world->errors[world->note_count] = event->error;
    world->notes[world->note_count++] = event->outcome;
    return 0;
}

static void open_keeper(struct world *world)
{
    struct keeper_config config = {.settings = world->file, .may_save = true};

    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        config.modes.of[i] = PERMISSION_ALLOW;
    config.modes.of[CATALOG_FILESYSTEM_READ] = PERMISSION_ASK;
    assert_int_equal(keeper_new(&config, &world->keeper, NULL, NULL), 0);
}

static void open_scope(struct world *world)
{
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "test"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "root", .path = world->root},
        .access = AUTHORITY_READ | AUTHORITY_WRITE | AUTHORITY_METADATA,
        .reason = "a test",
        .source = AUTHORITY_FROM_CORE,
    };

    make_dir(world->scene.fd, "root");
    assert_int_equal(authority_request_root(world->authority, &request, &world->scope, NULL), 0);
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    struct authority_config config = {.backend = AUTHORITY_LINUX};

    assert_non_null(world);
    callbench_init(&world->bench);
    scene_make(&world->scene);
    snprintf(world->settings, sizeof(world->settings), "%s/settings", world->scene.path);
    snprintf(world->state, sizeof(world->state), "%s/state", world->scene.path);
    snprintf(world->root, sizeof(world->root), "%s/root", world->scene.path);
    config.state_dir = world->state;
    assert_int_equal(authority_new(&config, &world->authority, NULL), 0);
    assert_int_equal(authority_add_listener(world->authority, on_event, world), 0);
    assert_int_equal(
        settings_file_open(&(struct settings_file_config){.authority = world->authority,
                                                          .dir = world->settings,
                                                          .may_create = true},
                           &world->file, NULL),
        0);
    open_keeper(world);
    open_scope(world);
    callbench_open(&world->bench,
                   (struct calls_config){.keeper = world->keeper, .recorded = world->scope});
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    callbench_close(&world->bench);
    authority_scope_free(world->scope);
    keeper_free(world->keeper);
    settings_file_free(world->file);
    authority_free(world->authority);
    callbench_done(&world->bench);
    scene_drop(&world->scene);
    free(world);
    return 0;
}

static void begin(struct world *world, const char *tool, enum gateway_shape shape)
{
    callbench_begin(&world->bench, tool, "{\"filePath\":\"a\"}", shape);
}

static void begin_writing(struct world *world)
{
    begin(world, "write_file", GATEWAY_SHAPE_RESULT);
    host_says(TOOLWIRE_PREPARED, STR(WRITES));
    assert_int_equal(host.run, 1);
}

/* Up to the question. */
static void begin_reading(struct world *world, enum gateway_shape shape)
{
    begin(world, "read_file", shape);
    host_says(TOOLWIRE_PREPARED, STR(READS));
    assert_int_equal(host.previewed, 1);
    host_says(TOOLWIRE_PREVIEWED, STR(PREVIEW));
    assert_true(world->bench.shown != 0);
}

static void pass(struct world *world, int64_t ms)
{
    callbench_pass(&world->bench, ms);
}

static bool answered_with(const struct world *world, const char *words)
{
    return world->bench.answers == 1 && strstr(world->bench.answer, words) != NULL;
}

/* ---- what the server has given up ---- */

static void a_question_leaves_the_desk_when_its_time_is_over(void **state)
{
    struct world *world = *state;

    begin_reading(world, GATEWAY_SHAPE_RESULT);
    pass(world, CALLS_N8N_MS - 1);
    assert_true(world->bench.shown != 0);
    pass(world, 1);
    assert_int_equal(world->bench.shown, 0);
    assert_int_equal(world->bench.withdrawn, QUESTION_QUEUE_TIMED_OUT);
    assert_true(answered_with(world, "did not answer in time"));
}

static void the_older_dialect_waits_half_as_long(void **state)
{
    struct world *world = *state;

    begin_reading(world, GATEWAY_SHAPE_DATA);
    pass(world, CALLS_SEED_MS);
    assert_int_equal(world->bench.shown, 0);
    assert_int_equal(question_queue_waiting(world->bench.queue), 0);
}

static void the_time_of_day_means_nothing(void **state)
{
    struct world *world = *state;

    begin_reading(world, GATEWAY_SHAPE_RESULT);
    world->bench.clock.fake_wall_ms += INT64_C(10) * 365 * 24 * 3600 * 1000;
    loop_run_due_timers(world->bench.loop);
    assert_true(world->bench.shown != 0);
    world->bench.clock.fake_wall_ms = 0;
    pass(world, CALLS_N8N_MS);
    assert_int_equal(world->bench.shown, 0);
}

static void what_is_not_begun_is_called_back_from_the_toolhost(void **state)
{
    struct world *world = *state;

    begin(world, "write_file", GATEWAY_SHAPE_RESULT);
    pass(world, CALLS_N8N_MS);
    assert_int_equal(host.cancelled, 1);
    assert_true(answered_with(world, "before it could start"));
    assert_int_equal(world->note_count, 0);
}

static void what_runs_is_cancelled_and_the_record_has_how_it_ended(void **state)
{
    struct world *world = *state;

    begin_writing(world);
    pass(world, CALLS_N8N_MS);
    assert_int_equal(host.cancelled, 1);
    assert_int_equal(host.dropped, 0);
    assert_int_equal(world->bench.answers, 0);
    end_call(GOOD, 0, true); /* it was there first */
    assert_int_equal(world->bench.answers, 1);
    assert_int_equal(world->note_count, 2);
    assert_int_equal(world->notes[0], AUTHORITY_INTENT);
    assert_int_equal(world->notes[1], AUTHORITY_SUCCESS);
}

static void an_answer_that_is_kept_too_late_lets_nothing_run(void **state)
{
    struct world *world = *state;

    begin_reading(world, GATEWAY_SHAPE_RESULT);
    assert_int_equal(
        question_queue_answer(world->bench.queue, world->bench.shown, CHOICE_ALWAYS_ALLOW, "test"),
        0);
    assert_int_equal(host.prepared, 2);
    host_says(TOOLWIRE_PREPARED, STR(READS)); /* a worker keeps the answer from here on */
    pass(world, CALLS_N8N_MS);
    assert_true(answered_with(world, "before it could start"));
    assert_int_equal(host.run, 0);
    /* It was said all the same, and holds. */
    loop_until(world->bench.loop, host.rules == 1);
    begin(world, "read_file", GATEWAY_SHAPE_RESULT);
    host_says(TOOLWIRE_PREPARED, STR(READS));
    assert_int_equal(host.run, 1);
    end_call(GOOD, 0, true);
}

/* ---- how calls end in the record ---- */

static void a_tool_that_failed_is_recorded_so(void **state)
{
    struct world *world = *state;

    begin_writing(world);
    end_call(BAD, 0, true);
    assert_int_equal(world->note_count, 2);
    assert_int_equal(world->notes[1], AUTHORITY_FAILED);
    assert_int_equal(world->ends, 1);
    assert_int_equal(world->errors[1], ERR_TOOL_FAILED);
}

static void a_change_whose_end_nobody_knows_stays_begun(void **state)
{
    struct world *world = *state;

    begin_writing(world);
    end_call(NULL, ERR_IO, true);
    assert_int_equal(world->note_count, 1);
    assert_int_equal(world->notes[0], AUTHORITY_INTENT);
    assert_int_equal(world->bench.answers, 1);
}

static void a_change_that_was_never_begun_has_failed(void **state)
{
    struct world *world = *state;

    begin_writing(world);
    end_call(NULL, ERR_BUSY, false);
    assert_int_equal(world->note_count, 2);
    assert_int_equal(world->notes[1], AUTHORITY_FAILED);
    assert_int_equal(world->errors[1], ERR_BUSY);
}

static void what_runs_when_the_session_ends_is_recorded_and_not_answered(void **state)
{
    struct world *world = *state;

    begin_writing(world);
    calls_end_session(world->bench.calls);
    assert_int_equal(host.cancelled, 1);
    end_call(GOOD, 0, true);
    assert_int_equal(world->notes[1], AUTHORITY_SUCCESS);
    assert_int_equal(world->bench.answers, 0);
}

static void a_question_ends_with_its_session(void **state)
{
    struct world *world = *state;

    begin_reading(world, GATEWAY_SHAPE_RESULT);
    calls_end_session(world->bench.calls);
    assert_int_equal(world->bench.shown, 0);
    assert_int_equal(world->bench.withdrawn, QUESTION_QUEUE_CANCELLED);
    assert_int_equal(world->bench.answers, 0);
}

/* Up to the question, which the instance gets for an answer. */
static void ask_by_instance(struct world *world)
{
    world->bench.answers = 0;
    begin(world, "read_file", GATEWAY_SHAPE_RESULT);
    host_says(TOOLWIRE_PREPARED, STR(READS));
    host_says(TOOLWIRE_PREVIEWED, STR(PREVIEW));
    assert_true(answered_with(world, "GATEWAY_CONFIRMATION_REQUIRED"));
}

static void answer_by_instance(struct world *world)
{
    callbench_begin(&world->bench, "read_file",
                    "{\"filePath\":\"a\",\"_confirmation\":\"allowOnce\"}", GATEWAY_SHAPE_RESULT);
    host_says(TOOLWIRE_PREPARED, STR(READS));
}

static void an_answer_of_the_instance_counts_for_the_session_that_asked(void **state)
{
    struct world *world = *state;

    calls_end_session(world->bench.calls);
    calls_free(steal_ptr(&world->bench.calls));
    callbench_make_calls(&world->bench,
                         (struct calls_config){.keeper = world->keeper, .recorded = world->scope},
                         NULL);
    ask_by_instance(world);
    answer_by_instance(world);
    assert_int_equal(host.run, 1);
    end_call(GOOD, 0, true);
    ask_by_instance(world);
    calls_end_session(world->bench.calls);
    answer_by_instance(world);
    assert_int_equal(host.run, 1);
}

static void a_session_that_ends_while_an_answer_is_kept_leaves_nothing_behind(void **state)
{
    struct world *world = *state;

    begin_reading(world, GATEWAY_SHAPE_RESULT);
    assert_int_equal(
        question_queue_answer(world->bench.queue, world->bench.shown, CHOICE_ALWAYS_ALLOW, "test"),
        0);
    host_says(TOOLWIRE_PREPARED, STR(READS)); /* a worker keeps the answer from here on */
    host.dropped = 0;
    calls_end_session(world->bench.calls);
    assert_int_equal(host.dropped, 1);
    calls_free(steal_ptr(&world->bench.calls)); /* which waits for the worker */
    assert_int_equal(world->bench.answers, 0);
    assert_int_equal(host.run, 0);
}

/* ---- a toolhost that was broken into ---- */

static void what_it_says_of_all_calls_has_a_ceiling(void **state)
{
    const size_t len = (size_t)15 << 20;
    const unsigned fitting = (unsigned)(CALLS_MAX_HELD_BYTES / len) - 1;
    cleanup_buf struct buf body = BUF_INIT(len + CALLBENCH_TEXT_BYTES);
    struct world *world = *state;

    assert_int_equal(buf_reserve(&body, len + CALLBENCH_TEXT_BYTES), 0);
    assert_int_equal(
        buf_append_str(&body, STR("{\"resources\":[{\"access\":\"reads\",\"resolved\":\"")), 0);
    memset(body.data + body.len, 'x', len);
    body.len += len;
    assert_int_equal(
        buf_append_str(&body,
                       STR("\"}],\"consent\":[{\"group\":\"filesystemRead\",\"given\":"
                           "\"/r/a\",\"resolved\":\"/r/a\",\"operation\":\"reads\"}],"
                           "\"mark\":\"0000000000000000\",\"deletes\":false,\"isFolder\":false}")),
        0);
    for (unsigned i = 0; i < fitting + 3; i++) {
        begin(world, "read_file", GATEWAY_SHAPE_RESULT);
        host_says(TOOLWIRE_PREPARED, buf_view(&body));
        if (i < fitting)
            assert_int_equal(world->bench.answers, 0);
    }
    assert_true(world->bench.answers > 0);
    assert_non_null(strstr(world->bench.answer, "too many requests are waiting"));
}

static void a_toolhost_can_ask_about_nothing_but_files(void **state)
{
    struct world *world = *state;

    begin(world, "read_file", GATEWAY_SHAPE_RESULT);
    host_says(
        TOOLWIRE_PREPARED,
        STR("{\"resources\":[],\"consent\":[{\"group\":\"shell\",\"given\":\"rm\",\"resolved\":"
            "\"rm\",\"operation\":\"reads\"}],\"mark\":\"0000000000000000\",\"deletes\":false,"
            "\"isFolder\":false}"));
    assert_true(answered_with(world, "cannot parse"));
    assert_int_equal(host.run, 0);
}

static void a_call_about_nothing_is_not_run(void **state)
{
    static const char *const bodies[] = {
        "",
        "{}",
        "[]",
        "{\"resources\":[],\"consent\":[],\"mark\":\"0000000000000000\",\"deletes\":false,"
        "\"isFolder\":false}",
        "{\"resources\":[],\"consent\":[{}],\"mark\":\"0000000000000000\",\"deletes\":false,"
        "\"isFolder\":false}",
        /* The operation is of another group, or of no file. */
        "{\"resources\":[],\"consent\":[{\"group\":\"filesystemRead\",\"given\":\"/r/a\","
        "\"resolved\":\"/r/a\",\"operation\":\"changes\"}],\"mark\":\"0000000000000000\","
        "\"deletes\":false,\"isFolder\":false}",
        "{\"resources\":[],\"consent\":[{\"group\":\"filesystemRead\",\"given\":\"/r/a\","
        "\"resolved\":\"/r/a\",\"operation\":\"uses\"}],\"mark\":\"0000000000000000\","
        "\"deletes\":false,\"isFolder\":false}",
        "{\"resources\":[{\"access\":\"blesses\"}],\"consent\":[],\"mark\":\"\"}",
    };
    struct world *world = *state;

    for (size_t i = 0; i < array_size(bodies); i++) {
        begin(world, "write_file", GATEWAY_SHAPE_RESULT);
        host_says(TOOLWIRE_PREPARED, str_from(bodies[i]));
        assert_int_equal(world->bench.answers, i + 1);
        assert_non_null(strstr(world->bench.answer, "isError"));
    }
    assert_int_equal(host.run, 0);
    assert_int_equal(host.dropped, array_size(bodies));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(CASE(a_question_leaves_the_desk_when_its_time_is_over),
          CASE(the_older_dialect_waits_half_as_long), CASE(the_time_of_day_means_nothing),
          CASE(what_is_not_begun_is_called_back_from_the_toolhost),
          CASE(what_runs_is_cancelled_and_the_record_has_how_it_ended),
          CASE(an_answer_that_is_kept_too_late_lets_nothing_run),
          CASE(a_tool_that_failed_is_recorded_so),
          CASE(a_change_whose_end_nobody_knows_stays_begun),
          CASE(a_change_that_was_never_begun_has_failed),
          CASE(what_runs_when_the_session_ends_is_recorded_and_not_answered),
          CASE(a_question_ends_with_its_session),
          CASE(an_answer_of_the_instance_counts_for_the_session_that_asked),
          CASE(a_session_that_ends_while_an_answer_is_kept_leaves_nothing_behind),
          CASE(what_it_says_of_all_calls_has_a_ceiling),
          CASE(a_toolhost_can_ask_about_nothing_but_files), CASE(a_call_about_nothing_is_not_run))
