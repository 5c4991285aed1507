/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with two halves: count, which blocks a worker, and then echo, which works with events. */
#include "counting.h"

#include <string.h>
#include <unistd.h>

#include "call/joint.h"
#include "call/workers.h"
#include "loop_until.h"
#include "protocol/toolresult.h"

enum { INPUT_BYTES = 64 << 10, THREADS = 2, HANGS_S = 30, FAILS = 13, NUMBER = 42 };

struct world {
    struct clock clock;
    struct loop *loop;
    struct counting counting;
    struct provider_use providers[2];
    struct workers *workers;
    struct joint *joint;
    struct work *work;
    unsigned prepared, previewed, ended;
    int error;
    bool is_refusal, has_begun;
    char text[ERR_MESSAGE_BYTES];
};

static atomic_uint running;
static atomic_uint changing;

/* Counting to FAILS is a result that is an error. */
static int run_or_fail(void *data, const char *decision, const struct cancel *cancel,
                       provider_progress_fn *progress, void *progress_data, struct buf *out,
                       struct err *err)
{
    const struct counting_call *call = data;
    struct err why = ERR_INIT;

    if (call->to != FAILS)
        return count_run(data, decision, cancel, progress, progress_data, out, err);
    err_set(&why, ERR_NOT_FOUND, "nothing to count");
    return toolresult_write_error(&why, TOOLRESULT_JSON, out);
}

static void on_prepared(void *data)
{
    ((struct world *)data)->prepared++;
}

static void on_previewed(void *data)
{
    ((struct world *)data)->previewed++;
}

static void on_progress(void *data, uint64_t done, uint64_t total, const char *what)
{
    (void)data;
    (void)done;
    (void)total;
    (void)what;
}

static void on_end(void *data, const struct work_end *end)
{
    struct world *world = data;
    struct str text = end->err != NULL ? str_from(end->err->message) : end->result;

    world->ended++;
    world->error = end->err != NULL ? end->err->code : 0;
    world->is_refusal = end->is_refusal;
    world->has_begun = end->has_begun;
    snprintf(world->text, sizeof(world->text), "%.*s", STR_ARG(text));
}

static const struct work_events events = {.on_prepared = on_prepared,
                                          .on_decided = on_previewed,
                                          .on_previewed = on_previewed,
                                          .on_progress = on_progress,
                                          .on_end = on_end};

/* {"alone":true} needs no counting before. */
static const struct catalog_tool *first_tool(const struct catalog_tool *tool,
                                             const struct json_value *arguments)
{
    bool is_alone = false;

    if (arguments != NULL)
        (void)json_get_bool(arguments, STR("alone"), &is_alone);
    return tool == &echo_tool && !is_alone ? &count_tool : NULL;
}

static int write_arguments(const struct json_value *arguments, uint64_t number, struct buf *out)
{
    int64_t to = 0;

    assert_int_equal(number, NUMBER);
    if (!json_get_int(arguments, STR("to"), &to))
        return buf_append_str(out, STR("{}"));
    return buf_printf(out, "{\"to\":%d}", (int)to);
}

static int set_up(void **state)
{
    static struct provider counter;
    struct world *world = calloc(1, sizeof(*world));
    struct workers_config config = {
        .provider_count = 2,
        .pool = {.threads = THREADS, .queue_max = 8, .abandoned_max = 1, .grace_ms = 1000},
        .max_at_work = THREADS,
        .max_result_bytes = INPUT_BYTES,
        .running = &running,
        .changing = &changing,
        .data = world,
    };
    struct joint_config joint = {.first_tool = first_tool, .write_arguments = write_arguments};

    assert_non_null(world);
    alarm(HANGS_S);
    counter = count_provider;
    counter.run = run_or_fail;
    counting_init(&world->counting);
    clock_fake_init(&world->clock, 0);
    assert_int_equal(loop_new(&world->clock, &world->loop), 0);
    world->providers[0] = (struct provider_use){&counter, &world->counting};
    world->providers[1] = (struct provider_use){&echo_provider, &world->counting};
    config.loop = world->loop;
    config.providers = world->providers;
    assert_int_equal(workers_new(&config, &world->workers), 0);
    joint.first = joint.second = workers_executor(world->workers);
    assert_int_equal(joint_new(&joint, &world->joint), 0);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    work_release(world->work);
    joint_free(world->joint);
    workers_free(world->workers);
    loop_free(world->loop);
    free(world);
    return 0;
}

static int prepare(struct world *world, const char *arguments)
{
    struct executor *executor = joint_executor(world->joint);
    struct work_request request = {
        .input = call_input_new(INPUT_BYTES), .session = world, .events = &events, .data = world};
    struct err err = ERR_INIT;
    int r;

    assert_non_null(request.input);
    request.input->tool = &echo_tool;
    request.input->number = NUMBER;
    assert_int_equal(json_parse(&request.input->arena, str_from(arguments), JSON_LIMITS_DEFAULT,
                                &request.input->arguments, NULL),
                     0);
    r = executor->ops->prepare(executor, &request, &world->work, &err);
    call_input_unref(request.input);
    return r;
}

static void prepare_whole(struct world *world, const char *arguments)
{
    assert_int_equal(prepare(world, arguments), 0);
    loop_until(world->loop, world->prepared > 0);
}

static void both_are_prepared_and_then_run_in_turn(void **state)
{
    struct world *world = *state;

    prepare_whole(world, "{\"to\":3}");
    assert_int_equal(world->counting.prepared, 2);
    assert_int_equal(world->counting.number, NUMBER);
    assert_int_equal(world->work->subject.count, 2);
    assert_int_equal(world->work->subject.resources[0].group, CATALOG_FILESYSTEM_WRITE);
    assert_int_equal(world->work->subject.resources[1].group, CATALOG_SHELL);
    assert_int_equal(world->counting.ran, 0);
    assert_int_equal(world->work->ops->run(world->work), 0);
    loop_until(world->loop, world->counting.starts > 0);
    assert_int_equal(world->counting.ran, 1);
    assert_int_equal(world->ended, 0);
    world->counting.started.on_done(world->counting.started.data, 0, STR("{\"echoed\":3}"));
    assert_int_equal(world->ended, 1);
    assert_string_equal(world->text, "{\"echoed\":3}");
}

static void the_second_does_not_run_after_a_failure(void **state)
{
    struct world *world = *state;

    prepare_whole(world, "{\"to\":13}");
    assert_int_equal(world->work->ops->run(world->work), 0);
    loop_until(world->loop, world->ended > 0);
    assert_int_equal(world->error, 0);
    assert_non_null(strstr(world->text, "nothing to count"));
    assert_int_equal(world->counting.starts, 0);
}

static void what_one_refuses_the_other_does_not_see(void **state)
{
    struct world *world = *state;

    assert_int_equal(prepare(world, "{}"), 0);
    loop_until(world->loop, world->ended > 0);
    assert_int_equal(world->error, ERR_SCHEMA_MISMATCH);
    assert_true(world->is_refusal);
    assert_int_equal(world->counting.prepared, 1);
}

static void a_refusal_is_recorded_by_whose_resource_it_is(void **state)
{
    struct world *world = *state;

    prepare_whole(world, "{\"to\":3}");
    for (size_t i = 0; i < 2; i++) {
        world->work->refused = &world->work->subject.resources[i];
        world->work->refused_by = "mode";
        world->work->ops->refused(world->work); /* counting compares the resource with its own */
    }
    assert_int_equal(world->counting.refused, 2);
}

static void the_question_is_the_second_halfs(void **state)
{
    struct world *world = *state;

    prepare_whole(world, "{\"to\":3}");
    world->work->ops->preview(world->work, DECISION_DISCLOSES_ALL);
    assert_int_equal(world->previewed, 1);
    assert_true(str_eq(world->work->decision.question.action, STR("Counts")));
    world->work->ops->drop(world->work); /* as while the user thinks */
    assert_true(str_eq(world->work->decision.question.action, STR("Counts")));
    assert_int_equal(world->counting.ran, 0);
}

static void either_half_can_be_cancelled(void **state)
{
    struct world *world = *state;

    prepare_whole(world, "{\"to\":3}");
    assert_int_equal(world->work->ops->run(world->work), 0);
    loop_until(world->loop, world->counting.starts > 0);
    world->work->ops->cancel(world->work, ERR_TIMED_OUT);
    assert_int_equal(world->ended, 1);
    assert_int_equal(world->error, ERR_TIMED_OUT);
    assert_true(world->has_begun);
    assert_int_equal(world->counting.cancels, 1);
    world->counting.started.on_done(world->counting.started.data, 0, STR("{}"));
    assert_int_equal(world->ended, 1);

    work_release(world->work);
    world->work = NULL;
    world->ended = world->prepared = 0;
    prepare_whole(world, "{\"to\":3}");
    world->work->ops->cancel(world->work, ERR_CANCELLED);
    assert_int_equal(world->ended, 1);
    assert_false(world->has_begun);
}

static void it_may_be_dropped_at_any_moment(void **state)
{
    struct world *world = *state;

    assert_int_equal(prepare(world, "{\"to\":3}"), 0);
    work_release(world->work); /* perhaps before anything has happened */
    world->work = NULL;
    world->prepared = 0;
    prepare_whole(world, "{\"to\":3}");
    work_release(world->work);
    world->work = NULL;
    assert_int_equal(world->ended, 0);
}

static void a_call_may_have_only_the_second_half(void **state)
{
    struct world *world = *state;

    prepare_whole(world, "{\"alone\":true,\"to\":3}");
    assert_int_equal(world->counting.prepared, 1);
    assert_int_equal(world->work->subject.count, 1);
    assert_int_equal(world->work->subject.resources[0].group, CATALOG_SHELL);
    assert_int_equal(world->work->ops->run(world->work), 0);
    loop_until(world->loop, world->counting.starts > 0);
    assert_int_equal(world->counting.ran, 0);
    world->counting.started.on_done(world->counting.started.data, 0, STR("{}"));
    assert_int_equal(world->ended, 1);
}

static void it_has_only_what_both_have(void **state)
{
    struct world *world = *state;
    struct executor *executor = joint_executor(world->joint);

    assert_true(executor->ops->has(executor, &echo_tool));
    assert_false(executor->ops->has(executor, &count_tool));
    world->providers[0].self = NULL;
    assert_false(executor->ops->has(executor, &echo_tool));
}

static uint64_t mark_of(const char *arguments, const char *more)
{
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    const struct json_limits limits = {1 << 20, JSON_DEFAULT_MAX_DEPTH};
    const struct json_value *value;
    uint64_t mark;

    assert_int_equal(json_parse(&arena, str_from(arguments), limits, &value, NULL), 0);
    assert_int_equal(provider_mark(value, str_from(more), &mark), 0);
    return mark;
}

static void a_mark_is_of_these_arguments_alone(void **state)
{
    (void)state;
    assert_int_equal(mark_of("{\"text\": \"ls\"}", "1"), mark_of("{ \"text\":\"ls\" }", "1"));
    assert_true(mark_of("{\"text\": \"ls\"}", "1") != mark_of("{\"text\": \"lt\"}", "1"));
    assert_true(mark_of("{\"text\": \"ls\"}", "1") != mark_of("{\"text\": \"ls\"}", "2"));
    assert_true(mark_of("{}", "") != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_are_prepared_and_then_run_in_turn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_second_does_not_run_after_a_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_one_refuses_the_other_does_not_see, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refusal_is_recorded_by_whose_resource_it_is, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_question_is_the_second_halfs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(either_half_can_be_cancelled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_may_be_dropped_at_any_moment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_may_have_only_the_second_half, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_has_only_what_both_have, set_up, tear_down),
        cmocka_unit_test(a_mark_is_of_these_arguments_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
