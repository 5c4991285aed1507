/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to the worker pool: worker.c (starting threads, handling jobs on the loop),
 * worker_thread.c (the threads and what they share with the pool) and worker_relay.c (the loop on
 * one of them).
 */
#ifndef LOOP_WORKER_THREAD_H
#define LOOP_WORKER_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/cancel.h"
#include "base/list.h"
#include "loop/timer.h"
#include "loop/worker.h"

/*
 * Who holds a job:
 *
 *   QUEUED -- RUNNING -- FINISHED -- done
 *      |         `------ GIVEN_UP -- RETURNED
 *     done     (done)        `------ ABANDONED
 */
enum job_state {
    JOB_QUEUED,    /* on shared->queue */
    JOB_RUNNING,   /* on a thread; done was not called */
    JOB_FINISHED,  /* on its way to the loop, with its data */
    JOB_GIVEN_UP,  /* on a thread; done was called, within the grace period */
    JOB_RETURNED,  /* on its way to the loop, which only has to free it */
    JOB_ABANDONED, /* owned by the thread; the loop has dropped it */
};

struct job {
    struct worker_job spec;
    struct cancel token;
    struct list node; /* in shared->queue or ->finished under the lock, then in pool->arrived */
    enum job_state state;
    int result;
    struct worker_thread *thread;

    /* The rest belongs to the loop. */
    struct list pool_node; /* in pool->outstanding or pool->given_up */
    struct worker_pool *pool;
    struct timer timer; /* for the deadline, then the grace period */
    uint64_t id;
};

struct worker_thread {
    struct list node; /* in pool->threads, of the loop */
    struct worker_shared *shared;
    pthread_t handle;
    bool is_detached; /* under the lock: nobody joins it, so it frees itself */
};

/* Outlives the pool if a thread hangs. */
struct worker_shared {
    atomic_uint refs; /* of the pool, and one per thread */
    int nice;

    pthread_mutex_t lock; /* guards the rest, and of each job the state, result and thread */
    pthread_cond_t work_came;
    pthread_cond_t thread_ended;
    struct list queue;
    struct list finished;
    unsigned queued;
    unsigned running;
    unsigned threads; /* those that take jobs, busy or idle */
    unsigned abandoned;
    bool is_closing;
    uv_async_t *async; /* NULL once the pool was freed */

    /* worker_relay.c */
    struct worker_pool *relay; /* pool whose loop runs on the threads; or NULL */
    bool wants_runner;         /* the next idle thread runs the loop */
    struct job *on_loop;       /* job run by the loop's thread itself; not counted as a worker's */
    uint64_t on_loop_count;
    bool is_loop_over;
    uint64_t watched_count; /* of jobs, when the watch began to wait */
    bool is_watch_resting;
    int watch_timer;
};

struct worker_pool {
    struct loop *loop;
    struct worker_shared *shared;
    struct worker_config config;
    uv_async_t async;
    struct list threads;     /* under the lock */
    struct list outstanding; /* done was not called */
    struct list given_up;
    struct list arrived; /* taken from shared->finished, not handled yet */
    struct timer retry;
    unsigned outstanding_count;
    unsigned done_depth; /* of nested done callbacks */
    uint64_t last_id;
    bool is_closing;
    bool is_job_due; /* for the loop's thread, after this iteration */
};

struct worker_shared *worker_shared_new(uv_async_t *async, int nice);
void worker_shared_unref(struct worker_shared *shared);
void worker_lock(struct worker_shared *shared);
void worker_unlock(struct worker_shared *shared);

/* The only function that changes a job's state; the lock is held. */
void job_enter(struct job *job, enum job_state next);
void job_free_data(struct job *job);

/* The lock is held, so that the thread does not run before its handle is stored. */
int worker_thread_start(struct worker_shared *shared, struct worker_thread **out_thread);

/* Takes the first waiting job, which must exist, for the thread. The lock is held. */
struct job *worker_take_job(struct worker_thread *thread);

/* The lock is held, and released while freeing the data, which may hang like the run. */
void worker_return_job(struct worker_shared *shared, struct job *job, int result);

/*
 * Waits until all threads have ended or the time is over. The lock is held, and released while
 * waiting.
 */
void worker_threads_wait(struct worker_shared *shared, int64_t at_most_ms);

/* ---- worker.c ---- */

/* Starts missing threads for accepted jobs. The lock is held. */
void worker_replace_threads(struct worker_pool *pool);

/* On the loop: handles a job that came back and is on no list of the threads any more. */
void worker_receive(struct worker_pool *pool, struct job *job);

/* ---- worker_relay.c ---- */

/*
 * Whether a job being submitted is for the loop's thread. If so it is marked as due, and no worker
 * need be woken. The lock is held.
 */
bool worker_relay_takes(struct worker_pool *pool);

/* Runs the loop on this thread until it ends or another thread has taken it. The lock is held. */
void worker_relay_run(struct worker_thread *thread);

#endif
