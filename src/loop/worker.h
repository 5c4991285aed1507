/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads for blocking work: a read from a disk, a network share or a FUSE mount that never
 * answers. The loop gets its answer in time even if the thread does not come back: such a thread is
 * abandoned and replaced.
 *
 * A job touches only its own data, so it needs no locks. The job must check its token between
 * steps, and the owner must replace a process that has lost too many threads.
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
    unsigned threads;       /* jobs that run at a time, at least 1; started on demand */
    unsigned queue_max;     /* jobs that may wait in addition */
    unsigned abandoned_max; /* hanging threads before the pool refuses work, at least 1 */
    int64_t grace_ms;       /* between giving up a job and abandoning its thread */
    int nice;               /* added to the threads' niceness; 0: unchanged */
};

struct worker_job {
    /*
     * On a worker, or the loop's thread: returns 0 or an ERR_* code; ERR_CANCELLED soon after the
     * token is cancelled.
     */
    int (*run)(void *data, struct cancel *token);
    /*
     * Called on the loop, exactly once: with the result of run and the data, or with ERR_CANCELLED
     * or ERR_TIMED_OUT and NULL, because the data may still be in use. It may submit and cancel,
     * but not free the pool.
     */
    void (*done)(void *context, int result, void *data);
    /*
     * Called exactly once, after done or after the run that was given up; so on either thread, and
     * maybe after the pool was freed. May be NULL.
     */
    void (*free_data)(void *data);
    void *data;
    void *context;      /* for done only */
    int64_t timeout_ms; /* from now on the loop's clock, or WORKER_NO_DEADLINE */
};

/* The pool keeps loop_run() running as long as a job waits for its done. */
int worker_pool_new(struct loop *loop, const struct worker_config *config,
                    struct worker_pool **out_pool);

/*
 * Runs the loop like loop_run(), but on a thread of the pool. A job submitted while no other is
 * there is then run by the loop's own thread, which saves switching to a worker and back. If it
 * takes longer than a moment, that thread stays with it as a worker and another continues the loop:
 * nothing on the loop may depend on the thread it runs on. If no thread can be started, the loop
 * runs on the caller's.
 */
void worker_run_loop(struct worker_pool *pool);

/*
 * Cancels outstanding jobs, calling each done on the way and none later. Waits for the threads, all
 * together no longer than grace_ms of real time; one that hangs longer is left behind and frees its
 * data if it ever returns.
 */
void worker_pool_free(struct worker_pool *pool);

/*
 * Copies *spec; takes ownership of its data only on success. ERR_BUSY if threads + queue_max jobs
 * wait for their done, ERR_WORKERS_LOST if abandoned_max threads hang, ERR_CANCELLED while the pool
 * is being freed.
 */
int worker_submit(struct worker_pool *pool, const struct worker_job *spec, uint64_t *out_id);

/*
 * Calls the job's done before it returns: with ERR_CANCELLED, or with the result if run has already
 * returned. False if the job is unknown or finished.
 */
bool worker_cancel(struct worker_pool *pool, uint64_t id);

struct worker_stats {
    unsigned queued;
    unsigned running;   /* including given-up ones within their grace period */
    unsigned abandoned; /* hanging threads, not counted in `threads` */
    unsigned threads;
};

void worker_pool_stats(struct worker_pool *pool, struct worker_stats *out_stats);

#endif
