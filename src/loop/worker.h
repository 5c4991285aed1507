/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads for work that may block: a read from a disk, a network share or a
 * FUSE mount that never answers. The loop gets its answer in time even when
 * the thread does not come back: such a thread is abandoned and replaced.
 *
 * A job touches nothing but its own data, so it needs no locks. Cutting work
 * into steps that look at the token is left to the job, and replacing a process
 * that has lost too many threads to its owner.
 */
#ifndef LOOP_WORKER_H
#define LOOP_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "loop/loop.h"

#define WORKER_NO_DEADLINE INT64_MAX

struct worker_pool;

struct worker_config {
    unsigned threads;       /* jobs that run at a time, at least 1; started when first needed */
    unsigned queue_max;     /* jobs that may wait besides */
    unsigned abandoned_max; /* hung threads until the pool refuses work, at least 1 */
    int64_t grace_ms;       /* between giving a job up and abandoning its thread */
    int nice;               /* added to the threads' niceness; 0 leaves them alone */
};

struct worker_job {
    /* On a worker, or the loop's thread: 0 or an ERR_* code; soon ERR_CANCELLED when the token says
     * so. */
    int (*run)(void *data, struct cancel *token);
    /*
     * On the loop, exactly once: with the result of run and the data, or with
     * ERR_CANCELLED or ERR_TIMED_OUT and NULL, because the data may still be in
     * use. It may submit and cancel, but not free the pool.
     */
    void (*done)(void *context, int result, void *data);
    /*
     * Exactly once, after done or after the run that was given up; so on either
     * thread, and maybe after the pool is gone. NULL when there is nothing to do.
     */
    void (*free_data)(void *data);
    void *data;
    void *context;      /* for done alone */
    int64_t timeout_ms; /* from now on the loop's clock, or WORKER_NO_DEADLINE */
};

/* The pool keeps loop_run() running as long as a job waits for its done. */
int worker_pool_new(struct loop *loop, const struct worker_config *config,
                    struct worker_pool **out_pool);

/*
 * Runs the loop as loop_run() does, but on a thread of the pool. A job that comes
 * while no other is about is then done by the thread of the loop itself, which saves
 * the way to a worker and back. If it takes longer than a moment, that thread stays
 * with it as a worker and another goes on with the loop: nothing on the loop may
 * care which thread it is on. Without any thread the loop runs on the caller's.
 */
void worker_run_loop(struct worker_pool *pool);

/*
 * Cancels what is outstanding, calling each done on the way and none later.
 * Waits for the threads, all together no longer than grace_ms of real time;
 * one that hangs longer is left behind and frees its data if it ever returns.
 */
void worker_pool_free(struct worker_pool *pool);

/*
 * Copies *spec; its data becomes the pool's only on success. ERR_BUSY when
 * threads + queue_max jobs wait for their done, ERR_WORKERS_LOST when
 * abandoned_max threads hang, ERR_CANCELLED while the pool is being freed.
 */
int worker_submit(struct worker_pool *pool, const struct worker_job *spec, uint64_t *out_id);

/*
 * Calls the job's done before it returns: with ERR_CANCELLED, or with the
 * result if run has returned already, since what it did is done. False when the
 * job is unknown, which a finished one is.
 */
bool worker_cancel(struct worker_pool *pool, uint64_t id);

struct worker_stats {
    unsigned queued;
    unsigned running;   /* given up ones within their grace included */
    unsigned abandoned; /* hung threads, which are not in `threads` */
    unsigned threads;
};

void worker_pool_stats(struct worker_pool *pool, struct worker_stats *out_stats);

#endif
