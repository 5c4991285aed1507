/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "loop/loop.h"
#include "loop/reader.h"
#include "loop/timer.h"
#include "loop/worker.h"

enum { GRACE_MS = 50, RESULT = 7 };

/* What the jobs of a test see and tell; the pipes let one wait for another. */
struct fixture {
    struct loop *loop;
    struct worker_pool *pool;
    struct loop_task first; /* what the test does on the loop */
    struct loop_task second;
    struct timer timer;
    int gate[2];
    pthread_t caller;
    pthread_t loop_thread; /* of the latest callback that noted it */
    pthread_t job_thread;
    atomic_int met;
    uint64_t id;
    int dones;
    int result;
    int left; /* rounds to go */
};

/* Not on the thread of the test, whom alone its framework serves. */
static void must(bool holds)
{
    if (!holds)
        abort();
}

static void open_gate(const struct fixture *fixture)
{
    must(write(fixture->gate[1], "", 1) == 1);
}

static void wait_at_gate(const struct fixture *fixture)
{
    char byte;

    must(read(fixture->gate[0], &byte, 1) == 1);
}

static int run_at_once(void *data, struct cancel *token)
{
    struct fixture *fixture = data;

    (void)token;
    fixture->job_thread = pthread_self();
    return RESULT;
}

/* Comes back only when the loop has gone on without it. */
static int run_blocked(void *data, struct cancel *token)
{
    struct fixture *fixture = data;

    (void)token;
    wait_at_gate(fixture);
    return RESULT;
}

/* Comes back only when as many others run at the same time. */
static int run_until_two_have_met(void *data, struct cancel *token)
{
    struct fixture *fixture = data;

    (void)token;
    if (atomic_fetch_add(&fixture->met, 1) == 0)
        wait_at_gate(fixture);
    else
        open_gate(fixture);
    return RESULT;
}

static void note_done(void *context, int result, void *data)
{
    struct fixture *fixture = context;

    (void)data;
    fixture->dones++;
    fixture->result = result;
    fixture->loop_thread = pthread_self();
}

static int submit(struct fixture *fixture, int (*run)(void *data, struct cancel *token),
                  void (*done)(void *context, int result, void *data), int64_t timeout_ms)
{
    return worker_submit(fixture->pool,
                         &(struct worker_job){
                             .run = run,
                             .done = done,
                             .data = fixture,
                             .context = fixture,
                             .timeout_ms = timeout_ms,
                         },
                         &fixture->id);
}

static int set_up(void **state)
{
    const struct worker_config config = {
        .threads = 2, .queue_max = 8, .abandoned_max = 2, .grace_ms = GRACE_MS};
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    if (fixture == NULL || pipe2(fixture->gate, O_CLOEXEC) < 0 ||
        loop_new(&clock_system, &fixture->loop) < 0 ||
        worker_pool_new(fixture->loop, &config, &fixture->pool) < 0)
        return -1;
    fixture->caller = pthread_self();
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    worker_pool_free(fixture->pool);
    timer_stop(&fixture->timer);
    loop_free(fixture->loop);
    close(fixture->gate[0]);
    close(fixture->gate[1]);
    free(fixture);
    return 0;
}

/* Runs the loop, beginning with this. */
static void run_with(struct fixture *fixture, void (*first)(void *data))
{
    loop_task_init(&fixture->first, first, fixture);
    loop_defer(fixture->loop, &fixture->first);
    worker_run_loop(fixture->pool);
}

static void submit_short(void *data)
{
    struct fixture *fixture = data;

    fixture->loop_thread = pthread_self();
    must(submit(fixture, run_at_once, note_done, WORKER_NO_DEADLINE) == 0);
    /* Not before this callback is over. */
    must(fixture->dones == 0);
}

static void job_that_comes_alone_is_done_by_the_thread_of_the_loop(void **state)
{
    struct fixture *fixture = *state;

    run_with(fixture, submit_short);
    assert_int_equal(fixture->dones, 1);
    assert_int_equal(fixture->result, RESULT);
    assert_true(pthread_equal(fixture->job_thread, fixture->loop_thread));
    assert_false(pthread_equal(fixture->job_thread, fixture->caller));
}

static void on_timer(void *data)
{
    open_gate(data);
}

static void submit_blocked(void *data)
{
    struct fixture *fixture = data;

    timer_init(&fixture->timer, fixture->loop, on_timer, fixture);
    timer_start(&fixture->timer, 1);
    must(submit(fixture, run_blocked, note_done, WORKER_NO_DEADLINE) == 0);
}

static void loop_goes_on_without_a_thread_that_is_held_up(void **state)
{
    struct fixture *fixture = *state;

    run_with(fixture, submit_blocked);
    assert_int_equal(fixture->dones, 1);
    assert_int_equal(fixture->result, RESULT);
}

static void submit_blocked_again(void *context, int result, void *data)
{
    struct fixture *fixture = context;

    note_done(context, result, data);
    if (--fixture->left > 0) {
        timer_start(&fixture->timer, 1);
        must(submit(fixture, run_blocked, submit_blocked_again, WORKER_NO_DEADLINE) == 0);
    }
}

static void submit_first_of_many(void *data)
{
    struct fixture *fixture = data;

    timer_init(&fixture->timer, fixture->loop, on_timer, fixture);
    timer_start(&fixture->timer, 1);
    must(submit(fixture, run_blocked, submit_blocked_again, WORKER_NO_DEADLINE) == 0);
}

static void threads_that_were_held_up_are_used_again(void **state)
{
    enum { ROUNDS = 50 };
    struct fixture *fixture = *state;
    struct worker_stats stats;

    fixture->left = ROUNDS;
    run_with(fixture, submit_first_of_many);
    assert_int_equal(fixture->dones, ROUNDS);
    worker_pool_stats(fixture->pool, &stats);
    assert_in_range(stats.threads, 2, 3);
    assert_int_equal(stats.running, 0);
}

static void submit_two_that_meet(void *data)
{
    struct fixture *fixture = data;

    for (int i = 0; i < 2; i++)
        must(submit(fixture, run_until_two_have_met, note_done, WORKER_NO_DEADLINE) == 0);
}

static void jobs_that_come_together_run_together(void **state)
{
    struct fixture *fixture = *state;

    run_with(fixture, submit_two_that_meet);
    assert_int_equal(fixture->dones, 2);
}

static void stop_with_a_job_due(void *data)
{
    struct fixture *fixture = data;

    submit_short(data);
    loop_stop(fixture->loop);
}

static void job_that_is_due_when_the_loop_stops_is_answered_once(void **state)
{
    struct fixture *fixture = *state;

    run_with(fixture, stop_with_a_job_due);
    assert_int_equal(fixture->dones, 0);
    worker_pool_free(fixture->pool);
    fixture->pool = NULL;
    assert_int_equal(fixture->dones, 1);
    /* A worker may have been faster. */
    assert_true(fixture->result == ERR_CANCELLED || fixture->result == RESULT);
}

static void cancel_what_is_due(void *data)
{
    struct fixture *fixture = data;

    submit_short(data);
    must(worker_cancel(fixture->pool, fixture->id));
    must(fixture->result == ERR_CANCELLED);
}

static void job_that_is_due_can_be_cancelled(void **state)
{
    struct fixture *fixture = *state;

    run_with(fixture, cancel_what_is_due);
    assert_int_equal(fixture->dones, 1);
    assert_false(pthread_equal(fixture->job_thread, fixture->loop_thread));
}

static void stop_when_timed_out(void *context, int result, void *data)
{
    struct fixture *fixture = context;

    note_done(context, result, data);
    loop_stop(fixture->loop);
}

static void submit_with_a_deadline(void *data)
{
    must(submit(data, run_blocked, stop_when_timed_out, 20) == 0);
}

static void thread_that_hangs_does_not_keep_the_caller(void **state)
{
    struct fixture *fixture = *state;
    struct worker_stats stats;

    run_with(fixture, submit_with_a_deadline);
    assert_int_equal(fixture->result, ERR_TIMED_OUT);
    worker_pool_stats(fixture->pool, &stats);
    assert_int_equal(stats.running, 1);
    /* What it waits for goes with the fixture, so it may not stay. */
    open_gate(fixture);
}

static void on_byte(void *data, struct str bytes)
{
    struct fixture *fixture = data;

    fixture->left = (int)bytes.len;
}

static void on_input_end(void *data, int error)
{
    (void)data;
    (void)error;
}

/* Each answer brings the next job, until the loop has looked at its descriptors. */
static void submit_until_a_byte_is_seen(void *context, int result, void *data)
{
    struct fixture *fixture = context;

    note_done(context, result, data);
    if (fixture->left == 0)
        must(submit(fixture, run_at_once, submit_until_a_byte_is_seen, WORKER_NO_DEADLINE) == 0);
    else
        loop_stop(fixture->loop);
}

static void submit_chain(void *data)
{
    struct fixture *fixture = data;

    open_gate(fixture);
    must(submit(fixture, run_at_once, submit_until_a_byte_is_seen, WORKER_NO_DEADLINE) == 0);
}

static void chain_of_jobs_does_not_starve_the_loop(void **state)
{
    struct fixture *fixture = *state;
    struct reader *reader;

    assert_int_equal(reader_new(fixture->loop, fixture->gate[0],
                                &(struct reader_events){
                                    .on_bytes = on_byte, .on_end = on_input_end, .data = fixture},
                                &reader),
                     0);
    run_with(fixture, submit_chain);
    assert_int_equal(fixture->left, 1);
    reader_free(reader);
}

static void loop_runs_again_after_it_was_over(void **state)
{
    struct fixture *fixture = *state;

    run_with(fixture, stop_with_a_job_due);
    run_with(fixture, submit_short);
    assert_int_equal(fixture->dones, 2);
}

#define relay_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(relay_test(job_that_comes_alone_is_done_by_the_thread_of_the_loop),
          relay_test(loop_goes_on_without_a_thread_that_is_held_up),
          relay_test(threads_that_were_held_up_are_used_again),
          relay_test(jobs_that_come_together_run_together),
          relay_test(job_that_is_due_when_the_loop_stops_is_answered_once),
          relay_test(job_that_is_due_can_be_cancelled),
          relay_test(thread_that_hangs_does_not_keep_the_caller),
          relay_test(chain_of_jobs_does_not_starve_the_loop),
          relay_test(loop_runs_again_after_it_was_over))
