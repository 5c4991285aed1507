/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that run commands, with a shell that understands them when the test says so. */
#include "test.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

#include "daemon/calls.h"
#include "loop_until.h"

enum {
    TEXT_BYTES = 512,
    ARENA_BYTES = 1 << 20,
    WORKERS = 4, /* of the calls */
    WAITING = 3, /* that no worker has begun with */
};

/* ---- the shell ---- */

struct shell_call {
    char unused;
};

static struct {
    sem_t begun; /* once for each that a worker has */
    sem_t may_go_on;
    sem_t dropped; /* once for each call that is gone */
    unsigned run;
} pretended;

/* SAFETY: never looked into. */
#define SHELL ((struct shell *)&pretended)

bool shell_has(const struct catalog_tool *tool)
{
    return tool->group == CATALOG_SHELL;
}

int shell_prepare(struct shell *shell, const struct catalog_tool *tool,
                  const struct json_value *arguments, struct shell_call **out_call, struct err *err)
{
    (void)tool;
    (void)arguments;
    (void)err;
    assert_ptr_equal(shell, SHELL);
    sem_post(&pretended.begun);
    while (sem_wait(&pretended.may_go_on) < 0)
        continue;
    *out_call = calloc(1, sizeof(**out_call));
    return *out_call != NULL ? 0 : ERR_NO_MEMORY;
}

bool shell_resource(const struct shell_call *call, const void *session,
                    struct permission_resource *out_resource, struct str *out_text)
{
    (void)call;
    (void)session;
    *out_resource = (struct permission_resource){
        .group = CATALOG_SHELL, .given = STR("true"), .resolved = STR("true"), .cwd = STR("/r")};
    *out_text = STR("true");
    return true;
}

uint64_t shell_run(struct shell_call *call, const struct shell_events *events)
{
    (void)events;
    free(call);
    pretended.run++;
    return 1;
}

void shell_refuse(struct shell_call *call, const void *session, const char *decision, int error,
                  uint64_t record_id)
{
    (void)session;
    (void)decision;
    (void)error;
    (void)record_id;
    free(call);
}

void shell_drop(struct shell_call *call)
{
    free(call);
    sem_post(&pretended.dropped);
}

void shell_end_session(struct shell *shell, const void *session)
{
    (void)session;
    assert_ptr_equal(shell, SHELL);
}

/* ---- a toolhost that nobody needs ---- */

int hostlink_prepare(struct hostlink *link, struct str tool, const struct json_value *arguments,
                     int64_t timeout_ms, const struct hostlink_events *events, void *data,
                     uint32_t *out_number, struct err *err)
{
    (void)link;
    (void)tool;
    (void)arguments;
    (void)timeout_ms;
    (void)events;
    (void)data;
    *out_number = 0;
    return err_set_plain(err, ERR_BUSY);
}

void hostlink_preview(struct hostlink *link, uint32_t number, enum decision_telling telling)
{
    (void)link;
    (void)number;
    (void)telling;
}

void hostlink_run(struct hostlink *link, uint32_t number)
{
    (void)link;
    (void)number;
}

void hostlink_cancel(struct hostlink *link, uint32_t number)
{
    (void)link;
    (void)number;
}

void hostlink_forget(struct hostlink *link, uint32_t number)
{
    (void)link;
    (void)number;
}

void hostlink_tell_rules(struct hostlink *link)
{
    (void)link;
}

/* ---- everything around it ---- */

struct world {
    struct clock clock;
    struct loop *loop;
    struct log log;
    struct keeper *keeper;
    struct desk *desk;
    struct calls *calls;
    unsigned shown;
    unsigned answers;
    char answer[TEXT_BYTES];
};

static void show(void *data, uint64_t id, const struct question *question)
{
    struct world *world = data;

    (void)id;
    (void)question;
    world->shown++;
}

static void withdraw(void *data, uint64_t id, enum desk_end end, const char *by)
{
    (void)data;
    (void)id;
    (void)end;
    (void)by;
}

static bool offers(void *data, const struct catalog_tool *tool)
{
    (void)data;
    (void)tool;
    return true;
}

static void on_answer(void *data, struct str id, struct str result)
{
    struct world *world = data;

    (void)id;
    world->answers++;
    snprintf(world->answer, sizeof(world->answer), "%.*s", STR_ARG(result));
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    struct keeper_config config = {.may_save = false};
    struct desk_surface surface = {
        .name = "test", .show = show, .withdraw = withdraw, .data = world};
    struct calls_config calls;

    assert_non_null(world);
    sem_init(&pretended.begun, 0, 0);
    sem_init(&pretended.may_go_on, 0, 0);
    sem_init(&pretended.dropped, 0, 0);
    pretended.run = 0;
    clock_fake_init(&world->clock, 0);
    log_init(&world->log, STDERR_FILENO, LOG_SILENT, &world->clock);
    assert_int_equal(loop_new(&world->clock, &world->loop), 0);
    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        config.modes.of[i] = PERMISSION_ASK;
    assert_int_equal(keeper_new(&config, &world->keeper, NULL, NULL), 0);
    assert_int_equal(desk_new(&world->desk), 0);
    assert_int_equal(desk_add(world->desk, &surface), 0);
    calls = (struct calls_config){
        .loop = world->loop,
        .log = &world->log,
        .shell = SHELL,
        .keeper = world->keeper,
        .desk = world->desk,
        .offers = offers,
        .answer = on_answer,
        .data = world,
    };
    assert_int_equal(calls_new(&calls, &world->calls), 0);
    *state = world;
    return 0;
}

static void end_calls(struct world *world)
{
    calls_end_session(world->calls);
    calls_free(world->calls);
    world->calls = NULL;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    if (world->calls != NULL)
        end_calls(world);
    desk_free(world->desk);
    keeper_free(world->keeper);
    loop_free(world->loop);
    free(world);
    return 0;
}

static void begin(struct world *world, enum gateway_shape shape)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct gateway_call call = {.id = STR("id"), .name = STR("shell_execute"), .shape = shape};

    assert_int_equal(json_parse(&arena, STR("{\"command\":\"true\"}"), JSON_LIMITS_DEFAULT,
                                &call.arguments, NULL),
                     0);
    calls_begin(world->calls, &call);
}

static void wait_for(sem_t *what, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        while (sem_wait(what) < 0)
            continue;
}

static void let_go_on(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        sem_post(&pretended.may_go_on);
}

static void nobody_is_asked_about_a_command_that_was_understood_too_late(void **state)
{
    struct world *world = *state;

    begin(world, GATEWAY_SHAPE_DATA);
    wait_for(&pretended.begun, 1);
    clock_fake_advance(&world->clock, CALLS_SEED_MS);
    loop_run_due_timers(world->loop);
    assert_int_equal(world->answers, 0);
    let_go_on(1);
    loop_until(world->loop, world->answers == 1 || world->shown > 0);
    assert_int_equal(world->shown, 0);
    assert_non_null(strstr(world->answer, "not begun"));
}

static void what_is_understood_in_time_is_asked_about(void **state)
{
    struct world *world = *state;

    begin(world, GATEWAY_SHAPE_DATA);
    let_go_on(1);
    loop_until(world->loop, world->shown == 1);
    assert_int_equal(world->answers, 0);
    assert_int_equal(pretended.run, 0);
}

/* Reachable, so that it is no leak: a thread has it for good. */
static struct calls *left;

static void a_worker_that_hangs_keeps_what_it_uses_and_nothing_else_is_left(void **state)
{
    struct world *world = *state;
    int dropped;

    for (unsigned i = 0; i < WORKERS + WAITING; i++)
        begin(world, GATEWAY_SHAPE_RESULT);
    wait_for(&pretended.begun, WORKERS);
    calls_end_session(world->calls);
    left = world->calls;
    assert_false(calls_stop_workers(world->calls));
    assert_int_equal(sem_getvalue(&pretended.dropped, &dropped), 0);
    assert_int_equal(dropped, WAITING);
    calls_free(world->calls);
    world->calls = NULL;
    let_go_on(WORKERS);
    wait_for(&pretended.dropped, WAITING + WORKERS);
    assert_int_equal(world->answers, 0);
}

static void workers_that_come_back_leave_nothing(void **state)
{
    struct world *world = *state;

    begin(world, GATEWAY_SHAPE_RESULT);
    wait_for(&pretended.begun, 1);
    calls_end_session(world->calls);
    let_go_on(1);
    loop_until(world->loop, sem_trywait(&pretended.dropped) == 0);
    assert_true(calls_stop_workers(world->calls));
    assert_int_equal(world->answers, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(CASE(nobody_is_asked_about_a_command_that_was_understood_too_late),
          CASE(what_is_understood_in_time_is_asked_about),
          CASE(a_worker_that_hangs_keeps_what_it_uses_and_nothing_else_is_left),
          CASE(workers_that_come_back_leave_nothing))
