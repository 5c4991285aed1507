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

#include "base/clock.h"
#include "loop/internal.h"

/* How long a job may block the loop. */
enum { RELAY_MOMENT_MS = 2 };

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
    worker_unlock(shared);
    if (is_watch_resting)
        pthread_cond_signal(&shared->loop_news);

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
    pthread_cond_signal(&shared->loop_news);
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

/* True if the moment has passed without news. The lock is held, and released while waiting. */
static bool wait_a_moment(struct worker_shared *shared)
{
    const struct timespec end = clock_after_ms(RELAY_MOMENT_MS);

    return pthread_cond_timedwait(&shared->loop_news, &shared->lock, &end) == ETIMEDOUT;
}

/* Checks periodically, and rests while no jobs come. The lock is held. */
static void watch(struct worker_pool *pool)
{
    struct worker_shared *shared = pool->shared;
    uint64_t seen = shared->on_loop_count;

    while (!shared->is_loop_over) {
        if (shared->on_loop == NULL && shared->on_loop_count == seen) {
            shared->is_watch_resting = true;
            pthread_cond_wait(&shared->loop_news, &shared->lock);
            shared->is_watch_resting = false;
            continue;
        }
        seen = shared->on_loop_count;
        if (wait_a_moment(shared) && shared->on_loop != NULL && shared->on_loop_count == seen)
            pass_on(pool);
    }
}

void worker_run_loop(struct worker_pool *pool)
{
    struct worker_shared *shared = pool->shared;
    int r;

    assert(pool->config.nice == 0 && "the loop would be as polite as the jobs");
    worker_lock(shared);
    shared->relay = pool;
    shared->is_loop_over = false;
    r = call_runner(pool);
    if (r == 0)
        watch(pool);
    shared->relay = NULL;
    worker_unlock(shared);
    if (r < 0)
        loop_run(pool->loop);
    pool->loop->is_stopped = false;
}
