/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the loop on the threads of its pool. The thread that runs it is the runner, and not a worker
 * meanwhile. It runs a job that comes alone itself. The caller of worker_run_loop() watches: if the
 * runner does not return from a job within a moment, the caller makes it a worker and calls another
 * thread to the loop. So the caller, who must clean up in the end, never does anything that may
 * hang.
 */
#include "loop/worker_thread.h"

#include <assert.h>
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "loop/internal.h"

/* How long a job may block the loop. */
enum { RELAY_MOMENT_NS = 2000000 };

/* Wakes the watch after this time; only one of both has the timer. */
static void arm_watch(const struct worker_shared *shared, long ns)
{
    const struct itimerspec when = {.it_value = {.tv_nsec = ns}};
    int r = timerfd_settime(shared->watch_timer, 0, &when, NULL);

    assert(r == 0);
    (void)r;
}

/* The lock is held. */
static void watch_from_now(struct worker_shared *shared)
{
    shared->watched_count = shared->on_loop_count;
    shared->is_watch_resting = false;
}

/* ---- the runner ---- */

bool worker_relay_takes(struct worker_pool *pool)
{
    if (pool->shared->relay == NULL || pool->outstanding_count > 0 || pool->shared->running > 0)
        return false;
    pool->is_job_due = true;
    /* The turn may have come no further than its timers: it should not wait for events then. */
    if (pool->loop->is_turning)
        uv_stop(&pool->loop->uv);
    return true;
}

/* False if the loop has ended. */
static bool turn_until_due(struct worker_pool *pool)
{
    struct loop *loop = pool->loop;
    bool is_alive = true;

    while (is_alive && !loop->is_stopped) {
        /* A due job waits for one iteration, or a chain of jobs would starve the rest. */
        is_alive = loop_turn(loop, pool->is_job_due ? UV_RUN_NOWAIT : UV_RUN_ONCE);
        if (pool->is_job_due && !loop->is_stopped)
            return true;
    }
    return false;
}

/* False, with the lock held, if another thread runs the loop now: this one is a worker. */
static bool run_due(struct worker_pool *pool, struct worker_thread *thread)
{
    struct worker_shared *shared = pool->shared;
    struct job *job;
    bool is_watch_resting;
    int result;

    pool->is_job_due = false;
    worker_lock(shared);
    if (list_is_empty(&shared->queue)) {
        worker_unlock(shared); /* a worker was faster, or it was cancelled */
        return true;
    }
    job = worker_take_job(thread);
    shared->on_loop = job;
    shared->on_loop_count++;
    is_watch_resting = shared->is_watch_resting;
    if (is_watch_resting)
        watch_from_now(shared);
    worker_unlock(shared);
    /* The watch sleeps on: to wake it would take longer than most jobs. */
    if (is_watch_resting)
        arm_watch(shared, RELAY_MOMENT_NS);

    result = job->spec.run(job->spec.data, &job->token);

    worker_lock(shared);
    if (shared->on_loop != job) {
        worker_return_job(shared, job, result);
        return false;
    }
    shared->on_loop = NULL;
    job->result = result;
    job_enter(job, JOB_FINISHED);
    worker_unlock(shared);
    worker_receive(pool, job);
    return true;
}

void worker_relay_run(struct worker_thread *thread)
{
    struct worker_shared *shared = thread->shared;
    struct worker_pool *pool = shared->relay;

    shared->wants_runner = false;
    shared->threads--;
    /* A job may have waited for this very thread. */
    worker_replace_threads(pool);
    worker_unlock(shared);
    while (turn_until_due(pool))
        if (!run_due(pool, thread))
            return;
    worker_lock(shared);
    shared->threads++;
    shared->is_loop_over = true;
    arm_watch(shared, 1);
}

/* ---- the watch ---- */

/* Calls an idle thread, or a new one, to the loop. The lock is held. */
static int call_runner(struct worker_pool *pool)
{
    struct worker_shared *shared = pool->shared;
    struct worker_thread *thread;
    int r = 0;

    if (shared->threads == shared->running) {
        r = worker_thread_start(shared, &thread);
        if (r < 0)
            return r;
        list_append(&pool->threads, &thread->node);
    }
    shared->wants_runner = true;
    pthread_cond_signal(&shared->work_came);
    return 0;
}

/* The runner is blocked: makes it a worker. The lock is held. */
static void pass_on(struct worker_pool *pool)
{
    struct worker_shared *shared = pool->shared;

    /* Without a thread for it the loop waits on; it is tried again at the next look. */
    if (call_runner(pool) < 0)
        return;
    shared->on_loop = NULL;
    shared->threads++;
    shared->running++;
}

/* False if a signal came first. The lock is held, and released while waiting. */
static bool wait_for_timer(struct worker_shared *shared)
{
    uint64_t times;
    bool has_come;

    worker_unlock(shared);
    has_come = read(shared->watch_timer, &times, sizeof(times)) == (ssize_t)sizeof(times);
    worker_lock(shared);
    return has_come;
}

/* Looks again and again while jobs come, and rests until the runner sets the timer. The lock is
 * held. */
static void watch(struct worker_pool *pool)
{
    struct worker_shared *shared = pool->shared;

    while (!shared->is_loop_over) {
        if (shared->on_loop == NULL && shared->on_loop_count == shared->watched_count) {
            shared->is_watch_resting = true;
        } else {
            watch_from_now(shared);
            arm_watch(shared, RELAY_MOMENT_NS);
        }
        if (wait_for_timer(shared) && shared->on_loop != NULL &&
            shared->on_loop_count == shared->watched_count)
            pass_on(pool);
    }
}

void worker_run_loop(struct worker_pool *pool)
{
    struct worker_shared *shared = pool->shared;
    cleanup_fd int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    int r = timer >= 0 ? 0 : -errno;

    assert(pool->config.nice == 0 && "the loop would be as polite as the jobs");
    worker_lock(shared);
    shared->relay = r == 0 ? pool : NULL;
    shared->is_loop_over = false;
    shared->watch_timer = timer;
    if (r == 0)
        r = call_runner(pool);
    if (r == 0)
        watch(pool);
    shared->relay = NULL;
    worker_unlock(shared);
    if (r < 0)
        loop_run(pool->loop);
    pool->loop->is_stopped = false;
}
