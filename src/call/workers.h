/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor of this process. What blocks is done by worker threads, first come first served;
 * families that work with events run on the loop. A call that needs no question takes one way to a
 * worker and back: it is prepared, decided about and run there.
 *
 * A worker that hangs keeps its work, whose caller gets its answer when it cancels it. Deadlines
 * are the caller's.
 */
#ifndef CALL_WORKERS_H
#define CALL_WORKERS_H

#include "call/executor.h"
#include "loop/loop.h"
#include "loop/worker.h"

struct workers_config {
    struct loop *loop;
    const struct provider_use *providers; /* outlive the executor */
    size_t provider_count;
    struct worker_config pool;
    unsigned max_at_work; /* given to the pool at a time; the others wait here */
    size_t max_result_bytes;
    /* What is in a worker's hands, and what of that changes something; both outlive all threads. */
    atomic_uint *running;
    atomic_uint *changing;
    bool (*may_begin)(void *data); /* false: nothing more is begun for now. NULL: always */
    void (*on_lost)(void *data);   /* once: too many workers hang, nothing more is begun. Or NULL */
    void *data;
};

struct workers;

int workers_new(const struct workers_config *config, struct workers **out_workers);
/* Gives up all that workers have, which ends it; waits for them no longer than the grace. */
void workers_stop(struct workers *workers);
/* workers_stop(), and it is gone. All works were released. */
void workers_free(struct workers *workers);

struct executor *workers_executor(struct workers *workers);
/* For other jobs, and to run the loop on. NULL when stopped. */
struct worker_pool *workers_pool(const struct workers *workers);

/* may_begin() is true again. */
void workers_go_on(struct workers *workers);

/* The provider's call of a prepared work, for who knows the provider. */
void *workers_call(const struct work *work);

#endif
