/* SPDX-License-Identifier: Apache-2.0 */
/* The executor of this process, with two tiny families of tools. */
#include "counting.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "call/workers.h"
#include "loop_until.h"

enum {
    INPUT_BYTES = 64 << 10,
    GRACE_MS = 100,
    THREADS = 2,
    HANGS_S = 30, /* a test that takes longer has failed */
};

struct world {
    struct clock clock;
    struct loop *loop;
    struct keeper *keeper;
    struct counting *counting; /* a worker that hangs may outlive the world */
    struct provider_use providers[2];
    struct workers *workers;
    struct work *work;
    bool is_held;
    unsigned lost, prepared, decided, previewed, progressed, ended;
    int error;
    bool is_refusal, has_begun;
    char text[ERR_MESSAGE_BYTES]; /* of the result or of the error */
};

static atomic_uint running;
static atomic_uint changing;
static struct counting left_counting; /* for threads that are left behind */

static bool may_begin(void *data)
{
    return !((struct world *)data)->is_held;
}

static void on_lost(void *data)
{
    ((struct world *)data)->lost++;
}

static void on_prepared(void *data)
{
    ((struct world *)data)->prepared++;
}

static void on_decided(void *data)
{
    ((struct world *)data)->decided++;
}

static void on_previewed(void *data)
{
    ((struct world *)data)->previewed++;
}

static void on_progress(void *data, uint64_t done, uint64_t total, const char *what)
{
    (void)done;
    (void)total;
    (void)what;
    ((struct world *)data)->progressed++;
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
                                          .on_decided = on_decided,
                                          .on_previewed = on_previewed,
                                          .on_progress = on_progress,
                                          .on_end = on_end};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    struct workers_config config = {
        .provider_count = 2,
        .pool = {.threads = THREADS, .queue_max = 8, .abandoned_max = 1, .grace_ms = GRACE_MS},
        .max_at_work = THREADS,
        .max_result_bytes = INPUT_BYTES,
        .running = &running,
        .changing = &changing,
        .may_begin = may_begin,
        .on_lost = on_lost,
        .data = world,
    };

    assert_non_null(world);
    alarm(HANGS_S);
    counting_init(&left_counting);
    world->counting = &left_counting;
    clock_fake_init(&world->clock, 0);
    assert_int_equal(loop_new(&world->clock, &world->loop), 0);
    world->providers[0] = (struct provider_use){&count_provider, world->counting};
    world->providers[1] = (struct provider_use){&echo_provider, world->counting};
    config.loop = world->loop;
    config.providers = world->providers;
    assert_int_equal(workers_new(&config, &world->workers), 0);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    work_release(world->work);
    workers_free(world->workers);
    keeper_free(world->keeper);
    loop_free(world->loop);
    free(world);
    return 0;
}

/* The work before it is let go of, but not dropped. */
static int prepare(struct world *world, const struct catalog_tool *tool, const char *arguments,
                   const struct decision_terms *terms)
{
    struct executor *executor = workers_executor(world->workers);
    struct work_request request = {.input = call_input_new(INPUT_BYTES),
                                   .terms = terms,
                                   .session = world,
                                   .wants_progress = true,
                                   .events = &events,
                                   .data = world};
    int r;

    assert_non_null(request.input);
    request.input->tool = tool;
    assert_int_equal(json_parse(&request.input->arena, str_from(arguments), JSON_LIMITS_DEFAULT,
                                &request.input->arguments, NULL),
                     0);
    if (world->work != NULL)
        work_unref(steal_ptr(&world->work));
    r = executor->ops->prepare(executor, &request, &world->work, NULL);
    call_input_unref(request.input);
    return r;
}

static void begin(struct world *world, const struct catalog_tool *tool)
{
    assert_int_equal(prepare(world, tool, "{\"to\":3}", NULL), 0);
}

static void begin_prepared(struct world *world, const struct catalog_tool *tool)
{
    begin(world, tool);
    loop_until(world->loop, world->prepared == 1);
}

static void begin_decided(struct world *world, enum permission_mode mode)
{
    struct keeper_config config = {.may_save = false};
    struct decision_terms terms = {.can_ask = true, .choices = 1U << CHOICE_ALLOW_ONCE};

    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        config.modes.of[i] = mode;
    assert_int_equal(keeper_new(&config, &world->keeper, NULL, NULL), 0);
    terms.keeper = world->keeper;
    assert_int_equal(prepare(world, &count_tool, "{\"to\":3}", &terms), 0);
    loop_until(world->loop, world->ended + world->decided == 1);
}

static void cancel(struct world *world, int why)
{
    world->work->ops->cancel(world->work, why);
}

static void run(struct world *world)
{
    assert_int_equal(world->work->ops->run(world->work), 0);
}

/* ---- tests ---- */

static void a_tool_is_chosen_by_its_entry_in_the_catalogue(void **state)
{
    static const struct catalog_tool nobodys = {.name = STR_LITERAL("count"), .provider = "else"};
    struct world *world = *state;
    struct executor *executor = workers_executor(world->workers);

    assert_true(executor->ops->has(executor, &count_tool));
    assert_true(executor->ops->has(executor, &echo_tool));
    assert_false(executor->ops->has(executor, &nobodys));
    assert_int_equal(prepare(world, &nobodys, "{}", NULL), ERR_NOT_FOUND);
}

static void what_is_allowed_is_done_in_one_step(void **state)
{
    struct world *world = *state;

    begin_decided(world, PERMISSION_ALLOW);
    assert_int_equal(world->prepared, 0);
    assert_int_equal(world->error, 0);
    assert_string_equal(world->text, "{\"counted\":3}");
    assert_true(world->has_begun);
    assert_int_equal(world->counting->ran, 1);
}

static void what_needs_consent_comes_back_with_its_question(void **state)
{
    struct world *world = *state;

    begin_decided(world, PERMISSION_ASK);
    assert_int_equal(world->decided, 1);
    assert_str(world->work->decision.question.action, "Counts");
    assert_int_equal(world->counting->ran, 0);
}

static void what_is_denied_is_recorded_and_not_run(void **state)
{
    struct world *world = *state;

    begin_decided(world, PERMISSION_DENY);
    assert_int_equal(world->error, ERR_DENIED_BY_POLICY);
    assert_true(world->is_refusal);
    assert_int_equal(world->counting->refused, 1);
    assert_int_equal(world->counting->ran, 0);
}

static void without_terms_the_caller_decides_between_the_steps(void **state)
{
    struct world *world = *state;

    begin_prepared(world, &count_tool);
    assert_int_equal(world->work->subject.count, 1);
    world->work->ops->preview(world->work, DECISION_DISCLOSES_ALL);
    loop_until(world->loop, world->previewed == 1);
    assert_int_equal(world->counting->ran, 0);
    run(world);
    loop_until(world->loop, world->ended == 1);
    assert_string_equal(world->text, "{\"counted\":3}");
}

static void arguments_that_are_wrong_are_a_refusal(void **state)
{
    struct world *world = *state;

    assert_int_equal(prepare(world, &count_tool, "{}", NULL), 0);
    loop_until(world->loop, world->ended == 1);
    assert_int_equal(world->error, ERR_SCHEMA_MISMATCH);
    assert_true(world->is_refusal);
    assert_false(world->has_begun);
}

static void events_of_the_loop_end_a_call_too(void **state)
{
    struct world *world = *state;

    begin_prepared(world, &echo_tool);
    assert_int_equal(world->counting->starts, 0);
    run(world);
    assert_int_equal(world->counting->starts, 1);
    assert_true(world->work->keeps_own_time);
    world->counting->started.on_progress(world->counting->started.data, 1, 0, "line");
    assert_int_equal(world->progressed, 1);
    world->counting->started.on_done(world->counting->started.data, 0, STR("{}"));
    assert_int_equal(world->ended, 1);
    assert_int_equal(world->error, 0);
}

static void a_started_call_is_answered_when_it_is_cancelled(void **state)
{
    struct world *world = *state;

    begin_prepared(world, &echo_tool);
    run(world);
    cancel(world, ERR_CANCELLED);
    assert_int_equal(world->ended, 1);
    assert_int_equal(world->error, ERR_CANCELLED);
    assert_int_equal(world->counting->cancels, 1);
    /* Its end is heard of when nobody is there any more. */
    work_release(steal_ptr(&world->work));
    workers_free(steal_ptr(&world->workers));
    world->counting->started.on_done(world->counting->started.data, ERR_CANCELLED, STR_EMPTY);
    assert_int_equal(world->ended, 1);
}

static void what_is_cancelled_between_prepared_and_begun_is_never_started(void **state)
{
    struct world *world = *state;

    begin_prepared(world, &echo_tool);
    cancel(world, ERR_CANCELLED);
    assert_int_equal(world->error, ERR_CANCELLED);
    assert_false(world->has_begun);
    begin(world, &echo_tool);
    while (atomic_load(&world->counting->prepared) < 2 || atomic_load(&running) > 0)
        sched_yield(); /* the worker is done, and the loop does not know it yet */
    cancel(world, ERR_CANCELLED);
    assert_int_equal(world->ended, 2);
    assert_int_equal(world->error, ERR_CANCELLED);
    loop_until(world->loop, sem_trywait(&world->counting->freed) == 0 || world->ended == 2);
    assert_int_equal(world->counting->starts, 0);
    assert_int_equal(world->prepared, 1);
}

static void what_is_given_up_while_it_is_prepared_is_not_begun(void **state)
{
    struct world *world = *state;
    struct keeper_config config = {.may_save = false};
    struct decision_terms terms = {.can_ask = false};

    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        config.modes.of[i] = PERMISSION_ALLOW;
    assert_int_equal(keeper_new(&config, &world->keeper, NULL, NULL), 0);
    terms.keeper = world->keeper;
    world->counting->hangs_preparing = true;
    assert_int_equal(prepare(world, &count_tool, "{\"to\":3}", &terms), 0);
    counting_wait(&world->counting->hangs);
    cancel(world, ERR_TIMED_OUT);
    assert_int_equal(world->ended, 1);
    assert_int_equal(world->error, ERR_TIMED_OUT);
    assert_false(world->has_begun);
    work_release(steal_ptr(&world->work));
    sem_post(&world->counting->may_go_on);
    counting_wait(&world->counting->freed);
    assert_int_equal(world->counting->ran, 0);
}

static void a_worker_that_hangs_keeps_its_work_and_the_call_is_answered(void **state)
{
    struct world *world = *state;

    world->counting->hangs_running = true;
    begin_prepared(world, &count_tool);
    run(world);
    counting_wait(&world->counting->hangs);
    assert_int_equal(atomic_load(&running), 1);
    assert_int_equal(atomic_load(&changing), 1);
    cancel(world, ERR_TIMED_OUT);
    assert_int_equal(world->ended, 1);
    assert_int_equal(world->error, ERR_TIMED_OUT);
    assert_true(world->has_begun);
    assert_non_null(strstr(world->text, "may still have been made"));
    work_release(steal_ptr(&world->work));
    workers_free(steal_ptr(&world->workers)); /* waits no longer than the grace */
    assert_int_equal(sem_trywait(&world->counting->freed), -1);
    sem_post(&world->counting->may_go_on);
    counting_wait(&world->counting->freed);
    assert_int_equal(world->ended, 1);
    assert_int_equal(atomic_load(&changing), 0);
    assert_int_equal(atomic_load(&running), 0);
}

static void what_is_dropped_is_told_nothing(void **state)
{
    struct world *world = *state;

    world->counting->hangs_preparing = true;
    begin(world, &count_tool);
    counting_wait(&world->counting->hangs);
    work_release(steal_ptr(&world->work));
    sem_post(&world->counting->may_go_on);
    counting_wait(&world->counting->freed);
    loop_run_once(world->loop);
    assert_int_equal(world->prepared + world->ended, 0);
}

static void nothing_is_begun_while_it_is_held(void **state)
{
    struct world *world = *state;

    world->is_held = true;
    begin(world, &count_tool);
    cancel(world, ERR_TIMED_OUT);
    assert_int_equal(world->ended, 1);
    assert_non_null(strstr(world->text, "waiting for a free worker"));
    begin(world, &count_tool);
    assert_int_equal(world->counting->prepared, 0);
    world->is_held = false;
    workers_go_on(world->workers);
    loop_until(world->loop, world->prepared == 1);
}

static void progress_is_told_ten_times_a_second(void **state)
{
    struct world *world = *state;

    world->counting->hangs_running = true;
    begin_prepared(world, &count_tool);
    run(world);
    counting_wait(&world->counting->hangs);
    clock_fake_advance(&world->clock, 100);
    loop_run_due_timers(world->loop);
    assert_int_equal(world->progressed, 1);
    clock_fake_advance(&world->clock, 100);
    loop_run_due_timers(world->loop);
    assert_int_equal(world->progressed, 1); /* nothing is new */
    sem_post(&world->counting->may_go_on);
    loop_until(world->loop, world->ended == 1);
}

static void lost_workers_are_told_once_and_what_waits_is_answered(void **state)
{
    struct world *world = *state;
    struct work *waiting;

    world->counting->hangs_preparing = true;
    begin(world, &count_tool);
    counting_wait(&world->counting->hangs);
    cancel(world, ERR_TIMED_OUT);
    world->is_held = true;
    begin(world, &count_tool);
    waiting = world->work;
    clock_fake_advance(&world->clock, GRACE_MS);
    loop_run_due_timers(world->loop);
    clock_fake_advance(&world->clock, 1000);
    loop_run_due_timers(world->loop);
    assert_int_equal(world->lost, 1);
    assert_int_equal(world->ended, 2);
    assert_int_equal(world->error, ERR_WORKERS_LOST);
    work_release(waiting);
    world->work = NULL;
    assert_int_equal(prepare(world, &count_tool, "{\"to\":1}", NULL), ERR_WORKERS_LOST);
    sem_post(&world->counting->may_go_on);
    counting_wait(&world->counting->freed);
}

static void the_end_of_a_session_reaches_the_family(void **state)
{
    struct world *world = *state;
    struct executor *executor = workers_executor(world->workers);

    executor->ops->end_session(executor, world);
    assert_int_equal(world->counting->sessions_ended, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(CASE(a_tool_is_chosen_by_its_entry_in_the_catalogue),
          CASE(what_is_allowed_is_done_in_one_step),
          CASE(what_needs_consent_comes_back_with_its_question),
          CASE(what_is_denied_is_recorded_and_not_run),
          CASE(without_terms_the_caller_decides_between_the_steps),
          CASE(arguments_that_are_wrong_are_a_refusal), CASE(events_of_the_loop_end_a_call_too),
          CASE(a_started_call_is_answered_when_it_is_cancelled),
          CASE(what_is_cancelled_between_prepared_and_begun_is_never_started),
          CASE(what_is_given_up_while_it_is_prepared_is_not_begun),
          CASE(a_worker_that_hangs_keeps_its_work_and_the_call_is_answered),
          CASE(what_is_dropped_is_told_nothing), CASE(nothing_is_begun_while_it_is_held),
          CASE(progress_is_told_ten_times_a_second),
          CASE(lost_workers_are_told_once_and_what_waits_is_answered),
          CASE(the_end_of_a_session_reaches_the_family))
