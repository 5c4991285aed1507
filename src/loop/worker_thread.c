/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/worker_thread.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WORKER_IS_INSTRUMENTED 1
#endif
#endif

/* Jobs keep large objects on the heap. Instrumented code needs far larger frames. */
#if defined(WORKER_IS_INSTRUMENTED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { WORKER_STACK_BYTES = 1024 * 1024 };
#else
enum { WORKER_STACK_BYTES = 512 * 1024 };
#endif

/* The lock is held: the pool clears the pointer before it closes its handle. */
static void wake_loop(struct worker_shared *shared)
{
    if (shared->async != NULL)
        uv_async_send(shared->async);
}

struct job *worker_take_job(struct worker_thread *thread)
{
    struct worker_shared *shared = thread->shared;
    struct job *job = list_entry(shared->queue.next, struct job, node);

    list_remove(&job->node);
    shared->queued--;
    job->thread = thread;
    job_enter(job, JOB_RUNNING);
    return job;
}

void worker_return_job(struct worker_shared *shared, struct job *job, int result)
{
    if (job->state != JOB_RUNNING) {
        worker_unlock(shared);
        job_free_data(job);
        worker_lock(shared);
    }
    switch (job->state) {
    case JOB_RUNNING:
        job->result = result;
        job_enter(job, JOB_FINISHED);
        break;
    case JOB_GIVEN_UP:
        job_enter(job, JOB_RETURNED);
        break;
    case JOB_ABANDONED:
        shared->abandoned--;
        free(job);
        /* There may be room for a thread again. */
        wake_loop(shared);
        return;
    case JOB_QUEUED:
    case JOB_FINISHED:
    case JOB_RETURNED:
        assert(false && "a job ran in a state where none may");
    }
    shared->running--;
    list_append(&shared->finished, &job->node);
    wake_loop(shared);
}

static void run_job(struct worker_thread *thread)
{
    struct worker_shared *shared = thread->shared;
    struct job *job = worker_take_job(thread);
    int result;

    shared->running++;
    worker_unlock(shared);
    result = job->spec.run(job->spec.data, &job->token);
    worker_lock(shared);
    worker_return_job(shared, job, result);
}

/* Waits for something to do and does it. The lock is held. False if the pool is closing. */
static bool work(struct worker_thread *thread)
{
    struct worker_shared *shared = thread->shared;

    while (list_is_empty(&shared->queue) && !shared->wants_runner && !shared->is_closing)
        pthread_cond_wait(&shared->work_came, &shared->lock);
    if (shared->is_closing)
        return false;
    if (shared->wants_runner)
        worker_relay_run(thread);
    else
        run_job(thread);
    return true;
}

static void *thread_main(void *argument)
{
    struct worker_thread *thread = argument;
    struct worker_shared *shared = thread->shared;
    bool is_detached;

    /* On Linux niceness is a thread's own. Without it the work is only less polite. */
    if (shared->nice != 0)
        (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + shared->nice);

    worker_lock(shared);
    while (!thread->is_detached && work(thread))
        continue;
    is_detached = thread->is_detached;
    if (!is_detached) {
        shared->threads--;
        pthread_cond_signal(&shared->thread_ended);
    }
    worker_unlock(shared);
    if (is_detached)
        free(thread);
    worker_shared_unref(shared);
    return NULL;
}

static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attr;

    /* Only ENOMEM is documented, and no Linux C library allocates here. */
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attr);
    pthread_condattr_destroy(&attr);
}

struct worker_shared *worker_shared_new(uv_async_t *async, int nice)
{
    struct worker_shared *shared = calloc(1, sizeof(*shared));

    if (shared == NULL)
        return NULL;
    atomic_init(&shared->refs, 1);
    shared->nice = nice;
    shared->async = async;
    pthread_mutex_init(&shared->lock, NULL);
    init_condition(&shared->work_came);
    init_condition(&shared->thread_ended);
    list_init(&shared->queue);
    list_init(&shared->finished);
    return shared;
}

void worker_shared_unref(struct worker_shared *shared)
{
    if (atomic_fetch_sub_explicit(&shared->refs, 1, memory_order_acq_rel) != 1)
        return;
    pthread_cond_destroy(&shared->thread_ended);
    pthread_cond_destroy(&shared->work_came);
    pthread_mutex_destroy(&shared->lock);
    free(shared);
}

void worker_lock(struct worker_shared *shared)
{
    int r = pthread_mutex_lock(&shared->lock);

    assert(r == 0);
}

void worker_unlock(struct worker_shared *shared)
{
    int r = pthread_mutex_unlock(&shared->lock);

    assert(r == 0);
}

void job_enter(struct job *job, enum job_state next)
{
    enum job_state from = job->state;

    switch (next) {
    case JOB_QUEUED:
        break;
    case JOB_RUNNING:
        assert(from == JOB_QUEUED);
        break;
    case JOB_FINISHED:
    case JOB_GIVEN_UP:
        assert(from == JOB_RUNNING);
        break;
    case JOB_RETURNED:
    case JOB_ABANDONED:
        assert(from == JOB_GIVEN_UP);
        break;
    }
    job->state = next;
}

void job_free_data(struct job *job)
{
    if (job->spec.free_data != NULL)
        job->spec.free_data(job->spec.data);
}

int worker_thread_start(struct worker_shared *shared, struct worker_thread **out_thread)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP};
    cleanup_free struct worker_thread *thread = calloc(1, sizeof(*thread));
    pthread_attr_t attr;
    sigset_t blocked;
    sigset_t before;
    int r;

    if (thread == NULL)
        return ERR_NO_MEMORY;
    thread->shared = shared;
    /* As with conditions: nothing is allocated here. */
    pthread_attr_init(&attr);
    r = pthread_attr_setstacksize(&attr, WORKER_STACK_BYTES);
    assert(r == 0);
    /* Signals are the loop's business. Faults stay open: a blocked one passes its handler by. */
    sigfillset(&blocked);
    for (size_t i = 0; i < array_size(faults); i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    r = pthread_create(&thread->handle, &attr, thread_main, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (r != 0)
        return err_from_errno(r);
    atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    shared->threads++;
    *out_thread = steal_ptr(&thread);
    return 0;
}

void worker_threads_wait(struct worker_shared *shared, int64_t at_most_ms)
{
    const struct timespec end = clock_after_ms(at_most_ms);
    int r = 0;

    while (shared->threads > 0 && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&shared->thread_ended, &shared->lock, &end);
}
