/* SPDX-License-Identifier: Apache-2.0 */
/* The engine with an executor, a queue, a client and a clock that the test controls. */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call/engine.h"
#include "loop_until.h"

enum {
    TIMEOUT_MS = 1000, /* of a call */
    ASK_MS = 5000,     /* for the user, at the queue */
    INPUT_BYTES = 1 << 20,
    HELD_BYTES = 256 << 10,
    HANGS_S = 30, /* a test that takes longer has failed */
};

static const struct catalog_argument probe_arguments[] = {
    {.name = STR_LITERAL("depth"), .folded = STR_LITERAL("depth"), .type = CATALOG_INTEGER}};
static const struct catalog_tool tool = {.name = STR_LITERAL("probe"),
                                         .provider = "probe",
                                         .group = CATALOG_SHELL,
                                         .arguments = probe_arguments,
                                         .argument_count = array_size(probe_arguments)};

struct world {
    struct executor executor; /* the first member: see world_of() */
    struct executor *executors[1];
    struct clock clock;
    struct loop *loop;
    struct log log;
    struct keeper *keeper;
    struct question_queue *queue;
    struct call_engine *engine;
    struct call *call; /* the last one; NULL when it has ended */
    atomic_uint running;
    struct open_questions questions;

    /* What the executor does. */
    bool ends_late;      /* cancel() only asks: on_end is the test's to send */
    bool keeps_own_time; /* as a command does */
    int run_result;
    struct permission_resource resource;
    uint64_t mark;
    struct work *work;
    unsigned prepared, previewed, run, cancelled, dropped, refused, sessions_ended, works;
    int cancelled_why;
    const char *refused_by;

    /* What the queue and the client show. */
    uint64_t shown;
    enum question_queue_end withdrawn;
    uint64_t progress;
    unsigned withdrawals;
    bool client_can_ask;
    int ask_result;
    unsigned asked;
    bool brings_answer; /* with the call */

    unsigned answers;
    enum call_outcome outcome;
    int code;
    char words[ERR_MESSAGE_BYTES];
};

/* ---- the executor ---- */

static struct world *world_of(const struct executor *executor)
{
    return (struct world *)(uintptr_t)executor;
}

static bool has(const struct executor *executor, const struct catalog_tool *asked)
{
    (void)executor;
    return asked == &tool;
}

static int prepare(struct executor *executor, const struct work_request *request,
                   struct work **out_work, struct err *err)
{
    struct world *world = world_of(executor);

    (void)err;
    world->work = calloc(1, sizeof(*world->work));
    assert_non_null(world->work);
    work_init(world->work, executor, request);
    world->prepared++;
    world->works++;
    *out_work = world->work;
    return 0;
}

static void preview(struct work *work, enum decision_disclosure disclosure)
{
    (void)disclosure;
    world_of(work->executor)->previewed++;
}

static int run(struct work *work)
{
    struct world *world = world_of(work->executor);

    world->run++;
    work->keeps_own_time = world->keeps_own_time;
    return world->run_result;
}

static void end_work(struct work *work, const char *result, int code, bool has_begun)
{
    const struct work_events *events = work->events;
    struct err err = ERR_INIT;

    assert_non_null(events);
    work->events = NULL;
    err_set_plain(&err, code < 0 ? code : ERR_IO);
    events->on_end(work->data,
                   &(struct work_end){.result = result != NULL ? str_from(result) : STR_EMPTY,
                                      .err = result != NULL ? NULL : &err,
                                      .has_begun = has_begun});
}

static void cancel(struct work *work, int why)
{
    struct world *world = world_of(work->executor);

    world->cancelled++;
    world->cancelled_why = why;
    if (!world->ends_late)
        end_work(work, NULL, why, world->run > 0);
}

static void drop(struct work *work)
{
    if (work->events != NULL)
        world_of(work->executor)->dropped++;
    work->events = NULL;
}

static void refused(struct work *work)
{
    struct world *world = world_of(work->executor);

    world->refused++;
    world->refused_by = work->refused_by;
}

static void end_session(struct executor *executor, const void *session)
{
    assert_ptr_equal(session, executor);
    world_of(executor)->sessions_ended++;
}

static void free_work(struct work *work)
{
    world_of(work->executor)->works--;
    free(work);
}

static const struct executor_ops ops = {
    .has = has,
    .prepare = prepare,
    .preview = preview,
    .run = run,
    .cancel = cancel,
    .drop = drop,
    .refused = refused,
    .end_session = end_session,
    .free_work = free_work,
};

/* ---- the queue, the client and the transport ---- */

static void show(void *data, uint64_t id, const struct question *question)
{
    struct world *world = data;

    (void)question;
    world->shown = id;
}

static void withdraw(void *data, uint64_t id, enum question_queue_end end, const char *by)
{
    struct world *world = data;

    (void)by;
    assert_int_equal(id, world->shown);
    world->shown = 0;
    world->withdrawn = end;
    world->withdrawals++;
}

static bool can_ask(void *data, const struct call *call)
{
    (void)call;
    return ((struct world *)data)->client_can_ask;
}

static int ask(void *data, struct call *call, const struct question *question, uint64_t mark,
               struct err *err)
{
    struct world *world = data;

    (void)call;
    (void)question;
    (void)mark;
    world->asked++;
    if (world->ask_result < 0)
        err_set_plain(err, world->ask_result);
    return world->ask_result;
}

static bool find_answer(void *data, struct call *call, const struct question *question,
                        enum permission_choice *out_choice)
{
    struct world *world = data;
    bool brings = world->brings_answer;

    (void)call;
    (void)question;
    world->brings_answer = false;
    *out_choice = CHOICE_ALLOW_ONCE;
    return brings;
}

static void on_end(void *data, struct call *call, const struct call_end *end)
{
    struct world *world = data;

    assert_ptr_equal(call_data(call), world);
    world->answers++;
    world->outcome = end->outcome;
    world->code = end->outcome == CALL_DONE ? 0 : end->err.code;
    snprintf(world->words, sizeof(world->words), "%s", end->err.message);
    if (world->call == call)
        world->call = NULL;
}

static void on_progress(void *data, uint64_t done, uint64_t total, const char *what)
{
    struct world *world = data;

    assert_true(done > world->progress);
    assert_int_equal(total, 0);
    assert_non_null(what);
    world->progress = done;
}

/* ---- the world ---- */

struct terms {
    bool by_client;
    bool charges_thinking;
};

static void open_engine(struct world *world, struct terms terms)
{
    const struct question_queue_surface surface = {
        .name = "test", .show = show, .withdraw = withdraw, .data = world};
    const struct call_engine_config config = {
        .loop = world->loop,
        .log = &world->log,
        .executors = world->executors,
        .executor_count = 1,
        .running = &world->running,
        .keeper = world->keeper,
        .queue = terms.by_client ? NULL : world->queue,
        .how_to_ask = "nobody is there",
        .questions = &world->questions,
        .can_ask = can_ask,
        .ask = ask,
        .find_answer = find_answer,
        .charges_thinking = terms.charges_thinking,
        .ask_ms = ASK_MS,
        .max_held_bytes = HELD_BYTES,
        .on_end = on_end,
        .on_progress = on_progress,
        .data = world,
    };

    assert_int_equal(question_queue_add(world->queue, &surface), 0);
    assert_int_equal(call_engine_new(&config, &world->engine), 0);
}

static struct world *make_world(enum permission_mode mode)
{
    struct world *world = calloc(1, sizeof(*world));
    struct keeper_config config = {.may_save = false};

    assert_non_null(world);
    alarm(HANGS_S);
    world->executor.ops = &ops;
    world->executors[0] = &world->executor;
    world->client_can_ask = true;
    world->resource = (struct permission_resource){
        .group = CATALOG_SHELL, .given = STR("make"), .resolved = STR("make"), .cwd = STR("/work")};
    clock_fake_init(&world->clock, 0);
    log_init(&world->log, STDERR_FILENO, LOG_SILENT, &world->clock);
    assert_int_equal(loop_new(&world->clock, &world->loop), 0);
    assert_int_equal(question_queue_new(&world->queue), 0);
    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        config.modes.of[i] = mode;
    assert_int_equal(keeper_new(&config, &world->keeper, NULL, NULL), 0);
    return world;
}

static void drop_world(struct world *world)
{
    call_engine_free(world->engine);
    assert_int_equal(world->works, 0);
    keeper_free(world->keeper);
    question_queue_free(world->queue);
    loop_free(world->loop);
    free(world);
}

static void pass(struct world *world, int64_t ms)
{
    clock_fake_advance(&world->clock, ms);
    loop_run_due_timers(world->loop);
}

static void begin_as(struct world *world, const struct call_request *given, const char *arguments)
{
    struct call_request request = *given;

    request.input = call_input_new(INPUT_BYTES);
    assert_non_null(request.input);
    request.input->tool = &tool;
    assert_int_equal(json_parse(&request.input->arena, str_from(arguments), JSON_LIMITS_DEFAULT,
                                &request.input->arguments, NULL),
                     0);
    request.session = world;
    request.timeout_ms = TIMEOUT_MS;
    request.data = world;
    assert_int_equal(call_new(world->engine, &request, &world->call), 0);
    call_start(world->call);
}

static void begin_with(struct world *world, const struct call_request *given)
{
    begin_as(world, given, "{}");
}

static void begin(struct world *world)
{
    begin_with(world, &(struct call_request){0});
}

static void become_prepared(struct world *world)
{
    struct work *work = world->work;
    struct permission_resource *copy = arena_new(&work->arena, struct permission_resource);

    assert_non_null(copy);
    *copy = world->resource;
    work->subject = (struct provider_subject){.resources = copy, .count = 1, .mark = world->mark};
    work->events->on_prepared(work->data);
}

static void become_previewed(struct world *world)
{
    world->work->decision.question.action = STR("Runs make");
    world->work->events->on_previewed(world->work->data);
}

static void begin_asking(struct world *world)
{
    begin(world);
    become_prepared(world);
    assert_int_equal(world->previewed, 1);
    become_previewed(world);
}

static void answer(struct world *world, enum permission_choice choice)
{
    assert_int_equal(question_queue_answer(world->queue, world->shown, choice, "test"), 0);
    world->shown = 0;
}

/* ---- each state, and what may happen in it ---- */

enum state { PREPARING, PREVIEWING, USER, CLIENT, SAVING, RUNNING, OWN_TIME, STATES };
enum event { CANCEL, LEAVES, ANSWER, DEADLINE, CLOSE, SESSION_ENDS, LOST, EVENTS };

static const char *const state_names[] = {"PREPARING", "PREVIEWING", "USER",    "CLIENT",
                                          "SAVING",    "RUNNING",    "OWN_TIME"};
static const char *const event_names[] = {"CANCEL", "LEAVES",       "ANSWER", "DEADLINE",
                                          "CLOSE",  "SESSION_ENDS", "LOST"};

enum effect {
    NOTHING,   /* the call goes on as it was */
    AGAIN,     /* it is prepared once more */
    CANCELLED, /* it is answered so, once */
    TIMED_OUT,
    BROKEN,
    DROPPED, /* it is gone without an answer */
};

/* The deadline is that of a call whose time stands still while the user thinks. */
static const enum effect effects[STATES][EVENTS] = {
    [PREPARING] = {CANCELLED, NOTHING, NOTHING, TIMED_OUT, CANCELLED, DROPPED, BROKEN},
    [PREVIEWING] = {CANCELLED, NOTHING, NOTHING, TIMED_OUT, CANCELLED, DROPPED, BROKEN},
    [USER] = {CANCELLED, AGAIN, AGAIN, NOTHING, CANCELLED, DROPPED, NOTHING},
    [CLIENT] = {CANCELLED, AGAIN, AGAIN, NOTHING, CANCELLED, DROPPED, NOTHING},
    [SAVING] = {CANCELLED, NOTHING, NOTHING, TIMED_OUT, CANCELLED, DROPPED, BROKEN},
    [RUNNING] = {CANCELLED, NOTHING, NOTHING, TIMED_OUT, CANCELLED, DROPPED, BROKEN},
    [OWN_TIME] = {CANCELLED, NOTHING, NOTHING, NOTHING, CANCELLED, DROPPED, BROKEN},
};

static struct world *world_in(enum state state, bool charges_thinking)
{
    bool runs = state == RUNNING || state == OWN_TIME;
    struct world *world = make_world(runs ? PERMISSION_ALLOW : PERMISSION_ASK);

    world->keeps_own_time = state == OWN_TIME;
    open_engine(world,
                (struct terms){.by_client = state == CLIENT, .charges_thinking = charges_thinking});
    if (state == SAVING) {
        begin_with(world,
                   &(struct call_request){.has_answer = true, .answer = CHOICE_ALWAYS_ALLOW});
        become_prepared(world); /* what a worker does with it is not looked at without the loop */
        return world;
    }
    begin(world);
    if (state == PREPARING)
        return world;
    become_prepared(world);
    if (state != PREVIEWING && !runs)
        become_previewed(world);
    assert_int_equal(world->run, runs);
    assert_int_equal(world->previewed, !runs);
    assert_int_equal(world->shown != 0, state == USER);
    assert_int_equal(world->asked, state == CLIENT);
    return world;
}

static void happen(struct world *world, enum state state, enum event event)
{
    switch (event) {
    case CANCEL:
        call_cancel(world->call);
        return;
    case LEAVES:
        call_engine_client_leaves(world->engine);
        return;
    case ANSWER:
        if (state == USER)
            answer(world, CHOICE_ALLOW_ONCE);
        else
            call_answer(world->call, CHOICE_ALLOW_ONCE);
        return;
    case DEADLINE:
        pass(world, TIMEOUT_MS);
        return;
    case CLOSE:
        call_engine_close(world->engine);
        call_engine_cancel_all(world->engine);
        return;
    case SESSION_ENDS:
        call_engine_end_session(world->engine, world);
        return;
    case LOST:
        if (world->work->events != NULL)
            end_work(world->work, NULL, ERR_IO, state == RUNNING);
        return;
    case EVENTS:
        fail();
    }
}

static void check(const struct world *world, enum state state, enum event event)
{
    static const int codes[] = {
        [CANCELLED] = ERR_CANCELLED, [TIMED_OUT] = ERR_TIMED_OUT, [BROKEN] = ERR_IO};
    enum effect effect = effects[state][event];
    bool is_over = effect >= CANCELLED;
    bool is_answered = is_over && effect != DROPPED;

    assert_int_equal(world->answers, is_answered);
    if (is_answered) {
        assert_int_equal(world->outcome, CALL_FAILED);
        assert_int_equal(world->code, codes[effect]);
    }
    assert_int_equal(world->prepared, 1 + (effect == AGAIN));
    assert_int_equal(world->run, state == RUNNING || state == OWN_TIME);
    /* The question leaves the queue with the call, or with the client. */
    assert_int_equal(world->withdrawals, state == USER && (is_over || event == LEAVES));
    if (effect == NOTHING && state == USER)
        assert_true(world->shown != 0);
    if (world->withdrawals > 0)
        assert_int_equal(world->withdrawn, QUESTION_QUEUE_CANCELLED);
    /* Nothing of it is left at the executor. */
    if (is_over && event != LOST && state != USER && state != CLIENT && state != SAVING)
        assert_int_equal(world->cancelled + world->dropped, 1);
    assert_int_equal(world->sessions_ended, event == SESSION_ENDS);
}

static void every_event_has_its_effect_in_every_state(void **unused)
{
    (void)unused;
    for (enum state state = 0; state < STATES; state++) {
        for (enum event event = 0; event < EVENTS; event++) {
            struct world *world = world_in(state, false);

            print_message("%s in %s\n", event_names[event], state_names[state]);
            happen(world, state, event);
            check(world, state, event);
            drop_world(world);
        }
    }
}

/* Where somebody waits for just so long, every state ends with that time but what keeps its own. */
static void the_time_of_a_server_ends_every_state(void **unused)
{
    (void)unused;
    for (enum state state = 0; state < STATES; state++) {
        struct world *world = world_in(state, true);

        print_message("in %s\n", state_names[state]);
        pass(world, TIMEOUT_MS - 1);
        assert_int_equal(world->answers, 0);
        pass(world, 1);
        assert_int_equal(world->answers, state != OWN_TIME);
        if (state != OWN_TIME)
            assert_int_equal(world->code, ERR_TIMED_OUT);
        if (state == USER)
            assert_int_equal(world->withdrawn, QUESTION_QUEUE_TIMED_OUT);
        if (state == USER || state == CLIENT)
            assert_non_null(strstr(world->words, "did not answer in time"));
        else if (state != OWN_TIME && state != RUNNING)
            assert_non_null(strstr(world->words, "before it could start"));
        drop_world(world);
    }
}

/* ---- what else has to hold ---- */

static int set_up_asking(void **state)
{
    *state = make_world(PERMISSION_ASK);
    open_engine(*state, (struct terms){0});
    return 0;
}

static int set_up_allowing(void **state)
{
    *state = make_world(PERMISSION_ALLOW);
    open_engine(*state, (struct terms){0});
    return 0;
}

static int set_up_client(void **state)
{
    *state = make_world(PERMISSION_ASK);
    open_engine(*state, (struct terms){.by_client = true});
    return 0;
}

static int tear_down(void **state)
{
    drop_world(*state);
    return 0;
}

static void what_is_allowed_is_run_and_answered_once(void **state)
{
    struct world *world = *state;

    begin(world);
    become_prepared(world);
    assert_int_equal(world->run, 1);
    assert_int_equal(world->previewed, 0);
    end_work(world->work, "{}", 0, true);
    assert_int_equal(world->answers, 1);
    assert_int_equal(world->outcome, CALL_DONE);
    pass(world, TIMEOUT_MS);
    assert_int_equal(world->answers, 1);
}

static void arguments_are_normalised_before_anything_else(void **state)
{
    struct world *world = *state;
    int64_t depth = 0;

    begin_as(world, &(struct call_request){0}, "{\"Depth\":\"3\",\"_note\":1}");
    assert_true(json_get_int(call_input(world->call)->arguments, STR("depth"), &depth));
    assert_int_equal(depth, 3);
    become_prepared(world);
    end_work(world->work, "{}", 0, true);
    assert_int_equal(world->outcome, CALL_DONE);
    begin_as(world, &(struct call_request){0}, "{\"dept\":3}");
    assert_int_equal(world->answers, 2);
    assert_int_equal(world->outcome, CALL_REFUSED);
    assert_int_equal(world->code, ERR_SCHEMA_MISMATCH);
    assert_int_equal(world->prepared, 1);
    assert_int_equal(world->run, 1);
}

static void an_answer_of_the_user_lets_the_same_call_run(void **state)
{
    struct world *world = *state;

    begin_asking(world);
    assert_int_equal(world->dropped, 1); /* nothing is held while somebody thinks */
    answer(world, CHOICE_ALLOW_ONCE);
    assert_int_equal(world->prepared, 2);
    assert_int_equal(world->run, 0);
    become_prepared(world);
    assert_int_equal(world->run, 1);
}

static void a_no_is_recorded_and_nothing_runs(void **state)
{
    struct world *world = *state;

    assert_false(open_questions_any(&world->questions));
    begin_asking(world);
    assert_true(open_questions_any(&world->questions));
    answer(world, CHOICE_DENY_ONCE);
    assert_false(open_questions_any(&world->questions));
    become_prepared(world);
    assert_int_equal(world->run, 0);
    assert_int_equal(world->refused, 1);
    assert_string_equal(world->refused_by, "user");
    assert_int_equal(world->outcome, CALL_REFUSED);
    assert_int_equal(world->code, ERR_DENIED_BY_POLICY);
}

static void the_directory_is_part_of_what_was_agreed_to(void **state)
{
    struct world *world = *state;

    begin_asking(world);
    answer(world, CHOICE_ALLOW_ONCE);
    world->resource.cwd = STR("/elsewhere");
    become_prepared(world);
    assert_int_equal(world->run, 0);
    assert_int_equal(world->previewed, 2); /* it is another question */
    become_previewed(world);
    assert_true(world->shown != 0);
    answer(world, CHOICE_ALLOW_ONCE);
    become_prepared(world);
    assert_int_equal(world->run, 1);
}

static void another_mark_is_another_question(void **state)
{
    struct world *world = *state;

    begin_asking(world);
    answer(world, CHOICE_ALLOW_ONCE);
    world->mark = 1;
    become_prepared(world);
    assert_int_equal(world->run, 0);
    assert_int_equal(world->previewed, 2);
}

static void thinking_time_is_not_charged_to_the_call(void **state)
{
    struct world *world = *state;

    begin(world);
    pass(world, TIMEOUT_MS - 100);
    become_prepared(world);
    become_previewed(world);
    pass(world, ASK_MS - 1);
    assert_int_equal(world->answers, 0);
    answer(world, CHOICE_ALLOW_ONCE);
    become_prepared(world);
    assert_int_equal(world->run, 1);
    pass(world, 99);
    assert_int_equal(world->answers, 0);
    pass(world, 1);
    assert_int_equal(world->answers, 1);
    assert_int_equal(world->code, ERR_TIMED_OUT);
}

static void a_question_that_nobody_answers_is_denied(void **state)
{
    struct world *world = *state;

    begin_asking(world);
    pass(world, ASK_MS - 1);
    assert_true(world->shown != 0);
    pass(world, 1);
    assert_int_equal(world->shown, 0);
    assert_int_equal(world->withdrawn, QUESTION_QUEUE_TIMED_OUT);
    assert_int_equal(world->answers, 0);
    become_prepared(world);
    assert_int_equal(world->run, 0);
    assert_int_equal(world->refused, 1);
    assert_string_equal(world->refused_by, "nobody");
    assert_int_equal(world->outcome, CALL_REFUSED);
    assert_int_equal(world->code, ERR_DENIED_BY_POLICY);
    assert_non_null(strstr(world->words, "nobody answered the question within 5 seconds"));
}

static void a_client_whose_user_does_not_answer_is_denied(void **state)
{
    struct world *world = *state;

    begin_asking(world);
    pass(world, 60000);
    call_lapse(world->call);
    become_prepared(world);
    assert_int_equal(world->run, 0);
    assert_string_equal(world->refused_by, "nobody");
    assert_int_equal(world->outcome, CALL_REFUSED);
    assert_non_null(strstr(world->words, "nobody answered the question within 1 minute,"));
}

static void a_client_that_leaves_agrees_to_nothing(void **state)
{
    struct world *world = *state;

    begin_asking(world);
    begin(world); /* another one, whose question is made meanwhile */
    become_prepared(world);
    call_engine_client_leaves(world->engine);
    assert_int_equal(question_queue_waiting(world->queue), 0);
    become_prepared(world); /* the first one, with a no */
    assert_int_equal(world->answers, 1);
    assert_int_equal(world->run, 0);
    assert_int_equal(world->refused, 1);
    assert_string_equal(world->refused_by, "user");
}

static void a_question_made_for_a_client_that_has_left_is_not_put(void **state)
{
    struct world *world = *state;

    begin(world);
    become_prepared(world);
    call_engine_client_leaves(world->engine);
    become_previewed(world);
    assert_int_equal(world->shown, 0);
    assert_int_equal(world->prepared, 2);
    become_prepared(world);
    assert_int_equal(world->run, 0);
    assert_int_equal(world->outcome, CALL_REFUSED);
}

static void a_terminal_that_is_gone_is_nobody_to_ask(void **state)
{
    struct world *world = *state;

    world->client_can_ask = false;
    begin_asking(world);
    question_queue_remove(world->queue, "test");
    world->shown = 0;
    become_prepared(world);
    assert_int_equal(world->run, 0);
    assert_int_equal(world->code, ERR_ASK_UNAVAILABLE);
    assert_string_equal(world->refused_by, "nobody");
}

static void after_a_terminal_that_is_gone_the_client_is_asked(void **state)
{
    struct world *world = *state;

    begin_asking(world);
    assert_int_equal(world->asked, 0);
    question_queue_remove(world->queue, "test");
    world->shown = 0;
    become_prepared(world);
    become_previewed(world);
    assert_int_equal(world->asked, 1);
    call_answer(world->call, CHOICE_ALLOW_ONCE);
    become_prepared(world);
    assert_int_equal(world->run, 1);
}

/* What the user may see of a file, the client may not: it must not get the user's question. */
static void a_question_for_the_user_is_never_sent_to_the_client(void **state)
{
    struct world *world = *state;

    begin(world);
    become_prepared(world);
    question_queue_remove(world->queue, "test");
    become_previewed(world);
    assert_int_equal(world->asked, 0);
    assert_int_equal(world->prepared, 2);
    become_prepared(world);
    become_previewed(world);
    assert_int_equal(world->asked, 1);
}

static void a_client_hears_that_the_user_is_being_asked(void **state)
{
    struct world *world = *state;

    begin_with(world, &(struct call_request){.wants_progress = true});
    become_prepared(world);
    become_previewed(world);
    pass(world, CALL_WAIT_MS - 1);
    assert_int_equal(world->progress, 0);
    pass(world, 1);
    assert_int_equal(world->progress, 1);
    answer(world, CHOICE_ALLOW_ONCE);
    become_prepared(world);
    pass(world, CALL_WAIT_MS);
    assert_int_equal(world->progress, 1);
}

static void nothing_is_begun_once_it_is_closed(void **state)
{
    struct world *world = *state;

    begin(world);
    call_engine_close(world->engine);
    become_prepared(world);
    assert_int_equal(world->run, 0);
    assert_int_equal(world->answers, 1);
    assert_int_equal(world->code, ERR_CANCELLED);
}

static void a_result_that_was_there_first_is_the_answer(void **state)
{
    struct world *world = *state;

    world->ends_late = true;
    begin(world);
    become_prepared(world);
    call_cancel(world->call);
    assert_int_equal(world->cancelled, 1);
    assert_int_equal(world->answers, 0);
    end_work(world->work, "{}", 0, true);
    assert_int_equal(world->answers, 1);
    assert_int_equal(world->outcome, CALL_DONE);
}

static void what_runs_past_its_time_is_cancelled_and_answered_when_it_ends(void **state)
{
    struct world *world = *state;

    world->ends_late = true;
    begin(world);
    become_prepared(world);
    pass(world, TIMEOUT_MS);
    assert_int_equal(world->cancelled_why, ERR_TIMED_OUT);
    assert_int_equal(world->answers, 0);
    end_work(world->work, NULL, ERR_TIMED_OUT, true);
    assert_int_equal(world->answers, 1);
    assert_null(strstr(world->words, "before it could start"));
}

static void what_cannot_be_recorded_is_not_done(void **state)
{
    struct world *world = *state;

    world->run_result = ERR_IO;
    begin(world);
    become_prepared(world);
    assert_int_equal(world->answers, 1);
    assert_int_equal(world->code, ERR_IO);
    assert_int_equal(world->dropped, 1);
}

static void consent_for_the_session_ends_with_it(void **state)
{
    struct world *world = *state;

    begin_asking(world);
    answer(world, CHOICE_ALLOW_SESSION);
    become_prepared(world);
    end_work(world->work, "{}", 0, true);
    begin(world);
    become_prepared(world);
    assert_int_equal(world->run, 2); /* unasked */
    end_work(world->work, "{}", 0, true);
    call_engine_end_session(world->engine, world);
    begin(world);
    become_prepared(world);
    assert_int_equal(world->run, 2);
    assert_int_equal(world->previewed, 2);
}

static void only_calls_of_the_session_end_with_it(void **state)
{
    struct world *world = *state;
    struct call_request request = {.input = call_input_new(INPUT_BYTES),
                                   .session = &request,
                                   .timeout_ms = TIMEOUT_MS,
                                   .data = world};
    static const struct json_value none = {.type = JSON_OBJECT, .span = 1};
    struct call *other;

    assert_non_null(request.input);
    request.input->tool = &tool;
    request.input->arguments = &none;
    assert_int_equal(call_new(world->engine, &request, &other), 0);
    call_start(other);
    begin(world);
    call_engine_end_session(world->engine, world);
    assert_int_equal(world->dropped, 1);
    assert_int_equal(world->answers, 0);
    call_cancel(other);
    assert_int_equal(world->answers, 1);
}

static void an_answer_is_kept_also_for_a_call_that_has_ended(void **state)
{
    struct world *world = *state;

    begin_with(world, &(struct call_request){.has_answer = true, .answer = CHOICE_ALWAYS_ALLOW});
    become_prepared(world);
    call_cancel(world->call);
    assert_int_equal(world->answers, 1);
    assert_int_equal(world->works, 1); /* the worker's */
    loop_until(world->loop, world->works == 0);
    assert_int_equal(world->run, 0);
    assert_int_equal(world->answers, 1);
}

static void a_kept_answer_to_another_question_is_none(void **state)
{
    struct world *world = *state;

    begin_with(world, &(struct call_request){.has_answer = true, .answer = CHOICE_ALWAYS_ALLOW});
    become_prepared(world);
    loop_until(world->loop, world->previewed == 1);
    assert_int_equal(world->run, 0);
}

static void a_question_may_be_the_answer(void **state)
{
    struct world *world = *state;

    world->ask_result = 1;
    begin_asking(world);
    assert_int_equal(world->asked, 1);
    assert_true(open_questions_any(&world->questions)); /* as long as it may be answered */
    assert_int_equal(world->answers, 0);                /* the transport's */
    assert_int_equal(world->works, 0);
    world->brings_answer = true;
    begin(world);
    become_prepared(world);
    assert_int_equal(world->previewed, 1);
    assert_int_equal(world->run, 1);
    assert_false(open_questions_any(&world->questions));
}

static void a_client_that_cannot_be_asked_is_told_so(void **state)
{
    struct world *world = *state;

    world->ask_result = ERR_BUSY;
    begin_asking(world);
    assert_int_equal(world->outcome, CALL_FAILED);
    assert_int_equal(world->code, ERR_BUSY);
    world->client_can_ask = false;
    begin(world);
    become_prepared(world);
    assert_int_equal(world->outcome, CALL_REFUSED);
    assert_int_equal(world->code, ERR_ASK_UNAVAILABLE);
    assert_string_equal(world->refused_by, "nobody");
}

static void what_all_calls_hold_has_a_ceiling(void **state)
{
    struct world *world = *state;

    begin(world);
    assert_non_null(arena_alloc(&world->work->arena, HELD_BYTES));
    become_prepared(world);
    assert_int_equal(world->answers, 1);
    assert_int_equal(world->code, ERR_BUSY);
    begin(world); /* which is over with it */
    become_prepared(world);
    assert_int_equal(world->run, 1);
}

#define ASKING(name)    cmocka_unit_test_setup_teardown(name, set_up_asking, tear_down)
#define ALLOWING(name)  cmocka_unit_test_setup_teardown(name, set_up_allowing, tear_down)
#define BY_CLIENT(name) cmocka_unit_test_setup_teardown(name, set_up_client, tear_down)

TEST_MAIN(
    cmocka_unit_test(every_event_has_its_effect_in_every_state),
    cmocka_unit_test(the_time_of_a_server_ends_every_state),
    ALLOWING(what_is_allowed_is_run_and_answered_once),
    ALLOWING(arguments_are_normalised_before_anything_else),
    ASKING(an_answer_of_the_user_lets_the_same_call_run), ASKING(a_no_is_recorded_and_nothing_runs),
    ASKING(the_directory_is_part_of_what_was_agreed_to), ASKING(another_mark_is_another_question),
    ASKING(thinking_time_is_not_charged_to_the_call),
    ASKING(a_question_that_nobody_answers_is_denied),
    BY_CLIENT(a_client_whose_user_does_not_answer_is_denied),
    ASKING(a_client_that_leaves_agrees_to_nothing),
    ASKING(a_question_made_for_a_client_that_has_left_is_not_put),
    ASKING(a_terminal_that_is_gone_is_nobody_to_ask),
    ASKING(after_a_terminal_that_is_gone_the_client_is_asked),
    ASKING(a_question_for_the_user_is_never_sent_to_the_client),
    ASKING(a_client_hears_that_the_user_is_being_asked),
    ALLOWING(nothing_is_begun_once_it_is_closed),
    ALLOWING(a_result_that_was_there_first_is_the_answer),
    ALLOWING(what_runs_past_its_time_is_cancelled_and_answered_when_it_ends),
    ALLOWING(what_cannot_be_recorded_is_not_done), ASKING(consent_for_the_session_ends_with_it),
    ALLOWING(only_calls_of_the_session_end_with_it),
    ASKING(an_answer_is_kept_also_for_a_call_that_has_ended),
    ASKING(a_kept_answer_to_another_question_is_none), BY_CLIENT(a_question_may_be_the_answer),
    BY_CLIENT(a_client_that_cannot_be_asked_is_told_so),
    ALLOWING(what_all_calls_hold_has_a_ceiling))
