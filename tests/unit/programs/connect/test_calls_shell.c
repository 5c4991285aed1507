/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that run commands, with a shell that the test controls. */
#include "callbench.h"

#include <semaphore.h>

#include "shell/internal.h"

enum {
    WORKERS = 4, /* of the calls */
    WAITING = 3, /* that no worker has begun with */
};

/* ---- the shell ---- */

static struct {
    sem_t begun; /* once for each that a worker has */
    sem_t may_go_on;
    sem_t dropped; /* once for each call that is gone */
    unsigned run;
} pretended;

/* SAFETY: never looked into. */
#define SHELL ((struct shell *)&pretended)

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

struct shell_words shell_words(const struct shell *shell, const struct catalog_tool *tool,
                               const struct permission_resource *resource, struct str text)
{
    (void)shell;
    (void)tool;
    (void)resource;
    return (struct shell_words){.action = STR("Runs a command"), .detail = text};
}

uint64_t shell_run(struct shell_call *call, const struct shell_events *events)
{
    (void)events;
    free(call);
    pretended.run++;
    return 1;
}

void shell_refuse(struct shell_call *call, const void *session, const char *decision,
                  const char *rule, int error)
{
    (void)call;
    (void)session;
    (void)decision;
    (void)rule;
    (void)error;
}

void shell_cancel(struct shell *shell, uint64_t id)
{
    (void)shell;
    (void)id;
}

void shell_drop(struct shell_call *call)
{
    free(call);
    sem_post(&pretended.dropped);
}

int shell_peek_job(struct shell *shell, const void *session, struct str name, uint64_t from,
                   shell_piece_fn *take, void *data)
{
    (void)shell;
    (void)session;
    (void)name;
    (void)from;
    (void)take;
    (void)data;
    return ERR_NOT_FOUND;
}

void shell_peek_news(struct shell *shell, const void *session, shell_piece_fn *take, void *data)
{
    (void)shell;
    (void)session;
    (void)take;
    (void)data;
}

void shell_peek_ends(struct shell *shell, const void *session, shell_piece_fn *take, void *data)
{
    (void)shell;
    (void)session;
    (void)take;
    (void)data;
}

void shell_watch_jobs(struct shell *shell, void (*on_news)(void *data), void *data)
{
    (void)shell;
    (void)on_news;
    (void)data;
}

int shell_stop_job(struct shell *shell, const void *session, struct str name)
{
    (void)shell;
    (void)session;
    (void)name;
    return ERR_NOT_FOUND;
}

void shell_end_session(struct shell *shell, const void *session)
{
    (void)session;
    assert_ptr_equal(shell, SHELL);
}

/* ---- everything around it ---- */

struct world {
    struct callbench bench;
    struct keeper *keeper;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    struct keeper_config config = {.may_save = false};

    assert_non_null(world);
    sem_init(&pretended.begun, 0, 0);
    sem_init(&pretended.may_go_on, 0, 0);
    sem_init(&pretended.dropped, 0, 0);
    pretended.run = 0;
    callbench_init(&world->bench);
    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        config.modes.of[i] = PERMISSION_ASK;
    assert_int_equal(keeper_new(&config, &world->keeper, NULL, NULL), 0);
    callbench_open(&world->bench, (struct calls_config){.keeper = world->keeper, .shell = SHELL});
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    callbench_close(&world->bench);
    keeper_free(world->keeper);
    callbench_done(&world->bench);
    free(world);
    return 0;
}

static void begin(struct world *world, enum gateway_shape shape)
{
    callbench_begin(&world->bench, "shell_execute", "{\"command\":\"true\"}", shape);
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
    callbench_pass(&world->bench, CALLS_SEED_MS);
    assert_int_equal(world->bench.answers, 1);
    assert_non_null(strstr(world->bench.answer, "before it could start"));
    let_go_on(1);
    loop_until(world->bench.loop, sem_trywait(&pretended.dropped) == 0);
    assert_int_equal(world->bench.shown, 0);
    assert_int_equal(world->bench.answers, 1);
}

static void what_is_understood_in_time_is_asked_about(void **state)
{
    struct world *world = *state;

    begin(world, GATEWAY_SHAPE_DATA);
    let_go_on(1);
    loop_until(world->bench.loop, world->bench.shown != 0);
    assert_int_equal(world->bench.answers, 0);
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
    calls_end_session(world->bench.calls);
    left = world->bench.calls;
    assert_false(calls_stop_workers(world->bench.calls));
    assert_int_equal(sem_getvalue(&pretended.dropped, &dropped), 0);
    assert_int_equal(dropped, 0);
    calls_free(world->bench.calls);
    world->bench.calls = NULL;
    let_go_on(WORKERS);
    wait_for(&pretended.dropped, WORKERS); /* those that waited were never understood */
    assert_int_equal(world->bench.answers, 0);
}

static void workers_that_come_back_leave_nothing(void **state)
{
    struct world *world = *state;

    begin(world, GATEWAY_SHAPE_RESULT);
    wait_for(&pretended.begun, 1);
    calls_end_session(world->bench.calls);
    let_go_on(1);
    loop_until(world->bench.loop, sem_trywait(&pretended.dropped) == 0);
    assert_true(calls_stop_workers(world->bench.calls));
    assert_int_equal(world->bench.answers, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(CASE(nobody_is_asked_about_a_command_that_was_understood_too_late),
          CASE(what_is_understood_in_time_is_asked_about),
          CASE(a_worker_that_hangs_keeps_what_it_uses_and_nothing_else_is_left),
          CASE(workers_that_come_back_leave_nothing))
