/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a worker pool, for its own files: worker.c (when threads start,
 * and what becomes of jobs on the loop), worker_thread.c (the threads and all that
 * they share with the pool) and worker_relay.c (the loop on one of them).
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
    JOB_RUNNING,   /* a thread has it; done was not called */
    JOB_FINISHED,  /* on its way to the loop, with its data */
    JOB_GIVEN_UP,  /* a thread has it; done was called, the grace runs */
    JOB_RETURNED,  /* on its way to the loop, which only has to forget it */
    JOB_ABANDONED, /* the thread's alone; the loop has forgotten it */
};

struct job {
    struct worker_job spec;
    struct cancel token;
    struct list node; /* in shared->queue or ->finished under the lock, then in pool->arrived */
    enum job_state state;
    int result;
    struct worker_thread *thread;

    /* The rest is the loop's. */
    struct list pool_node; /* in pool->outstanding or pool->given_up */
    struct worker_pool *pool;
    struct timer timer; /* the deadline, then the grace */
    uint64_t id;
};

struct worker_thread {
    struct list node; /* in pool->threads, the loop's */
    struct worker_shared *shared;
    pthread_t handle;
    bool is_detached; /* under the lock: nobody joins it, so it frees itself */
};

/* It outlives the pool when a thread hangs. */
struct worker_shared {
    atomic_uint refs; /* the pool's and one a thread */
    int nice;

    pthread_mutex_t lock; /* guards the rest, and of each job the state, result and thread */
    pthread_cond_t work_came;
    pthread_cond_t thread_ended;
    struct list queue;
    struct list finished;
    unsigned queued;
    unsigned running;
    unsigned threads; /* those that take work, running or free */
    unsigned abandoned;
    bool is_closing;
    uv_async_t *async; /* NULL once the pool is gone */

    /* worker_relay.c */
    struct worker_pool *relay; /* whose loop runs on the threads; NULL: it does not */
    bool wants_runner;         /* the next free thread runs the loop */
    struct job *on_loop;       /* what the loop's thread does itself; it counts as no worker's */
    uint64_t on_loop_count;
    bool is_loop_over;
    bool is_watch_resting;
    pthread_cond_t loop_news;
};

struct worker_pool {
    struct loop *loop;
    struct worker_shared *shared;
    struct worker_config config;
    uv_async_t async;
    struct list threads;     /* under the lock */
    struct list outstanding; /* done was not called */
    struct list given_up;
    struct list arrived; /* taken from shared->finished, not looked at yet */
    struct timer retry;
    unsigned outstanding_count;
    unsigned done_depth; /* how many done callbacks are on the stack */
    uint64_t last_id;
    bool is_closing;
    bool is_job_due; /* for the thread of the loop, after this turn */
};

struct worker_shared *worker_shared_new(uv_async_t *async, int nice);
void worker_shared_unref(struct worker_shared *shared);
void worker_lock(struct worker_shared *shared);
void worker_unlock(struct worker_shared *shared);

/* The one place where a job changes its state; the lock is held. */
void job_enter(struct job *job, enum job_state next);
void job_free_data(struct job *job);

/* The lock is held, so that the thread does not run before its handle is written. */
int worker_thread_start(struct worker_shared *shared, struct worker_thread **out_thread);

/* Of those that wait, the first, which there is: it is the thread's. The lock is held. */
struct job *worker_take_job(struct worker_thread *thread);

/* The lock is held, and let go for freeing the data, which may hang as well as the run. */
void worker_return_job(struct worker_shared *shared, struct job *job, int result);

/* Until all threads have ended or the time is over. The lock is held, and let go while waiting. */
void worker_threads_wait(struct worker_shared *shared, int64_t at_most_ms);

/* ---- worker.c ---- */

/* For jobs that were accepted already: threads that they lack. The lock is held. */
void worker_replace_threads(struct worker_pool *pool);

/* On the loop: for a job that came back and is on no list of the threads any more. */
void worker_receive(struct worker_pool *pool, struct job *job);

/* ---- worker_relay.c ---- */

/*
 * Whether a job that is being submitted is for the thread of the loop. If so it is
 * due, and no worker need be called. The lock is held.
 */
bool worker_relay_takes(struct worker_pool *pool);

/* Runs the loop on this thread until it is over or another has taken it. The lock is held. */
void worker_relay_run(struct worker_thread *thread);

#endif
