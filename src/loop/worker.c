/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/worker.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "loop/internal.h"
#include "loop/worker_thread.h"

/* How long jobs without any thread wait for the next try to start one. */
enum { WORKER_RETRY_MS = 100 };

/*
 * Starts threads until there is an idle one for each waiting job, or no more are allowed. The lock
 * is held.
 */
static int start_threads(struct worker_pool *pool)
{
    const struct worker_config *config = &pool->config;
    const struct worker_shared *shared = pool->shared;

    /* A job for the loop's own thread needs none. */
    while (shared->queued > shared->threads - shared->running + pool->is_job_due) {
        struct worker_thread *thread;
        int r;

        if (shared->threads >= config->threads ||
            shared->threads + shared->abandoned >= config->threads + config->abandoned_max)
            return 0;
        r = worker_thread_start(pool->shared, &thread);
        if (r < 0)
            return r;
        list_append(&pool->threads, &thread->node);
    }
    return 0;
}

/* While one thread is left its return leads back here; without any, only the timer does. */
void worker_replace_threads(struct worker_pool *pool)
{
    if (start_threads(pool) < 0 && pool->shared->threads == 0)
        timer_start(&pool->retry, WORKER_RETRY_MS);
}

static void on_retry(void *data)
{
    struct worker_pool *pool = data;

    worker_lock(pool->shared);
    worker_replace_threads(pool);
    worker_unlock(pool->shared);
}

/* The job is answered: it can no longer be found by its id. */
static void conclude(struct worker_pool *pool, struct job *job, int result, void *data)
{
    timer_stop(&job->timer);
    list_remove(&job->pool_node);
    pool->outstanding_count--;
    if (pool->outstanding_count == 0) {
        uv_unref((uv_handle_t *)&pool->async);
        timer_stop(&pool->retry);
    }

    pool->done_depth++;
    job->spec.done(job->spec.context, result, data);
    pool->done_depth--;
}

void worker_receive(struct worker_pool *pool, struct job *job)
{
    if (job->state == JOB_FINISHED) {
        conclude(pool, job, job->result, job->spec.data);
        job_free_data(job);
    } else {
        assert(job->state == JOB_RETURNED);
        timer_stop(&job->timer);
        list_remove(&job->pool_node);
    }
    free(job);
}

static void receive_arrived(struct worker_pool *pool)
{
    while (!list_is_empty(&pool->arrived)) {
        struct job *job = list_entry(pool->arrived.next, struct job, node);

        list_remove(&job->node);
        worker_receive(pool, job);
    }
}

static void on_async(uv_async_t *async)
{
    struct worker_pool *pool = async->data;
    struct worker_shared *shared = pool->shared;

    worker_lock(shared);
    loop_list_take(&shared->finished, &pool->arrived);
    worker_replace_threads(pool);
    worker_unlock(shared);
    receive_arrived(pool);
}

/* The thread keeps the job, its data and itself. The lock is held. */
static void abandon(struct worker_pool *pool, struct job *job)
{
    struct worker_shared *shared = pool->shared;
    struct worker_thread *thread = job->thread;

    job_enter(job, JOB_ABANDONED);
    list_remove(&job->pool_node);
    shared->running--;
    shared->threads--;
    shared->abandoned++;
    list_remove(&thread->node);
    thread->is_detached = true;
    pthread_detach(thread->handle);
}

static void on_grace_over(void *data)
{
    struct job *job = data;
    struct worker_pool *pool = job->pool;
    struct worker_shared *shared = pool->shared;

    worker_lock(shared);
    if (job->state == JOB_GIVEN_UP) {
        abandon(pool, job);
        worker_replace_threads(pool);
    }
    worker_unlock(shared);
}

/* Answers an outstanding job now, with this result unless it already has one. */
static void give_up(struct worker_pool *pool, struct job *job, int result)
{
    struct worker_shared *shared = pool->shared;

    worker_lock(shared);
    switch (job->state) {
    case JOB_QUEUED:
        list_remove(&job->node);
        shared->queued--;
        worker_unlock(shared);
        conclude(pool, job, result, NULL);
        job_free_data(job);
        free(job);
        return;
    case JOB_RUNNING:
        job_enter(job, JOB_GIVEN_UP);
        cancel_now(&job->token);
        worker_unlock(shared);
        conclude(pool, job, result, NULL);
        list_append(&pool->given_up, &job->pool_node);
        timer_init(&job->timer, pool->loop, on_grace_over, job);
        timer_start(&job->timer, pool->config.grace_ms);
        return;
    case JOB_FINISHED:
        list_remove(&job->node);
        worker_unlock(shared);
        worker_receive(pool, job);
        return;
    case JOB_GIVEN_UP:
    case JOB_RETURNED:
    case JOB_ABANDONED:
        assert(false && "a job was answered twice");
    }
}

static void on_deadline(void *data)
{
    struct job *job = data;

    give_up(job->pool, job, ERR_TIMED_OUT);
}

int worker_pool_new(struct loop *loop, const struct worker_config *config,
                    struct worker_pool **out_pool)
{
    cleanup_free struct worker_pool *pool = calloc(1, sizeof(*pool));
    int r;

    assert(config->threads >= 1 && config->abandoned_max >= 1 && config->grace_ms >= 0);
    assert(config->threads <= UINT_MAX - config->queue_max);
    assert(config->threads <= UINT_MAX - config->abandoned_max);
    if (pool == NULL)
        return ERR_NO_MEMORY;
    pool->shared = worker_shared_new(&pool->async, config->nice);
    if (pool->shared == NULL)
        return ERR_NO_MEMORY;
    r = uv_async_init(loop_uv(loop), &pool->async, on_async);
    if (r < 0) {
        worker_shared_unref(pool->shared);
        return loop_error(r);
    }
    pool->async.data = pool;
    uv_unref((uv_handle_t *)&pool->async);

    pool->loop = loop;
    pool->config = *config;
    list_init(&pool->threads);
    list_init(&pool->outstanding);
    list_init(&pool->given_up);
    list_init(&pool->arrived);
    timer_init(&pool->retry, loop, on_retry, pool);
    *out_pool = steal_ptr(&pool);
    return 0;
}

static void on_async_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void worker_pool_free(struct worker_pool *pool)
{
    struct worker_shared *shared;

    if (pool == NULL)
        return;
    assert(pool->done_depth == 0 && "a pool was freed from inside a done");
    shared = pool->shared;
    pool->is_closing = true;
    /* First of all, or a thread whose job is given up would start the next one. */
    worker_lock(shared);
    shared->is_closing = true;
    pthread_cond_broadcast(&shared->work_came);
    worker_unlock(shared);
    while (!list_is_empty(&pool->outstanding))
        give_up(pool, list_entry(pool->outstanding.next, struct job, pool_node), ERR_CANCELLED);

    worker_lock(shared);
    shared->async = NULL;
    worker_threads_wait(shared, pool->config.grace_ms);
    /* Everything is answered, so these are only dropped; what is given up then still hangs. */
    loop_list_take(&shared->finished, &pool->arrived);
    receive_arrived(pool);
    while (!list_is_empty(&pool->given_up)) {
        struct job *job = list_entry(pool->given_up.next, struct job, pool_node);

        timer_stop(&job->timer);
        abandon(pool, job);
    }
    worker_unlock(shared);

    /* None of these has a job, so each is at its end or a few steps before it. */
    while (!list_is_empty(&pool->threads)) {
        struct worker_thread *thread = list_entry(pool->threads.next, struct worker_thread, node);

        pthread_join(thread->handle, NULL);
        list_remove(&thread->node);
        free(thread);
    }
    worker_shared_unref(shared);
    uv_close((uv_handle_t *)&pool->async, on_async_closed);
}

int worker_submit(struct worker_pool *pool, const struct worker_job *spec, uint64_t *out_id)
{
    struct worker_shared *shared = pool->shared;
    struct job *job;
    bool is_for_loop = false;
    int r = 0;

    if (pool->is_closing)
        return ERR_CANCELLED;
    job = alloc_zeroed(sizeof(*job));
    if (job == NULL)
        return ERR_NO_MEMORY;
    job->spec = *spec;
    job->pool = pool;
    timer_init(&job->timer, pool->loop, on_deadline, job);
    /* The deadline is the loop's to watch: a worker may not read a clock that the loop moves. */
    cancel_init(&job->token, &clock_system, CANCEL_NO_DEADLINE);

    worker_lock(shared);
    if (shared->abandoned >= pool->config.abandoned_max) {
        r = ERR_WORKERS_LOST;
    } else if (pool->outstanding_count >= pool->config.threads + pool->config.queue_max) {
        r = ERR_BUSY;
    } else {
        job_enter(job, JOB_QUEUED);
        list_append(&shared->queue, &job->node);
        shared->queued++;
        is_for_loop = worker_relay_takes(pool);
        r = is_for_loop ? 0 : start_threads(pool);
        if (r < 0 && shared->threads > 0)
            r = 0; /* fewer threads than wished will do it too */
        if (r < 0) {
            list_remove(&job->node);
            shared->queued--;
        }
    }
    worker_unlock(shared);
    if (r < 0) {
        free(job);
        return r;
    }
    /* After releasing the lock, or the woken thread would have to wait for it. */
    if (!is_for_loop)
        pthread_cond_signal(&shared->work_came);

    job->id = ++pool->last_id;
    list_append(&pool->outstanding, &job->pool_node);
    if (pool->outstanding_count++ == 0)
        uv_ref((uv_handle_t *)&pool->async);
    if (spec->timeout_ms != WORKER_NO_DEADLINE)
        timer_start(&job->timer, spec->timeout_ms);
    *out_id = job->id;
    return 0;
}

bool worker_cancel(struct worker_pool *pool, uint64_t id)
{
    list_each (node, &pool->outstanding) {
        struct job *job = list_entry(node, struct job, pool_node);

        if (job->id != id)
            continue;
        give_up(pool, job, ERR_CANCELLED);
        return true;
    }
    return false;
}

void worker_pool_stats(struct worker_pool *pool, struct worker_stats *out_stats)
{
    struct worker_shared *shared = pool->shared;

    worker_lock(shared);
    *out_stats = (struct worker_stats){
        .queued = shared->queued,
        .running = shared->running + (shared->on_loop != NULL),
        .abandoned = shared->abandoned,
        .threads = shared->threads,
    };
    worker_unlock(shared);
}
