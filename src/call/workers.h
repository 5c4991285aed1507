/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor of this process. Worker threads do what blocks, first come first served;
 * event-driven families run on the loop. A call that needs no question is prepared, decided and run
 * in a single worker job.
 *
 * A worker that hangs keeps its work; the caller gets its answer by cancelling it. The caller keeps
 * the deadlines.
 */
#ifndef CALL_WORKERS_H
#define CALL_WORKERS_H

#include "call/executor.h"
#include "loop/loop.h"
#include "loop/worker.h"

struct workers_config {
    struct loop *loop;
    const struct provider_use *providers; /* must outlive the executor */
    size_t provider_count;
    struct worker_config pool;
    unsigned max_at_work; /* most works in the pool at a time; the others wait here */
    size_t max_result_bytes;
    /*
     * Count the works that workers hold, and those of them that change something. Both must outlive
     * all threads.
     */
    atomic_uint *running;
    atomic_uint *changing;
    bool (*may_begin)(void *data); /* false: start nothing more for now. NULL: always true */
    /* Called once, when too many workers hang and nothing more is started. Or NULL. */
    void (*on_lost)(void *data);
    void *data;
};

struct workers;

int workers_new(const struct workers_config *config, struct workers **out_workers);
/* Cancels all works that workers hold, and waits for them no longer than the grace period. */
void workers_stop(struct workers *workers);
/* Calls workers_stop() first. All works must have been released. */
void workers_free(struct workers *workers);

struct executor *workers_executor(struct workers *workers);
/* For other jobs, and to run the loop on. NULL when stopped. */
struct worker_pool *workers_pool(const struct workers *workers);

/* Call when may_begin() is true again. */
void workers_go_on(struct workers *workers);

/* The provider's call of a prepared work, for callers that know the provider. */
void *workers_call(const struct work *work);

#endif
