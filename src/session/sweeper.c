/* SPDX-License-Identifier: Apache-2.0 */
#include "session/sweeper.h"

#include <stdlib.h>

#include "loop/worker.h"

enum {
    GRACE_MS = 2000,
    NICENESS = 10,
    PORTION_ENTRIES = 1000,
    /* A process that fills it as fast as it is emptied cannot keep us forever. */
    MAX_PORTIONS = 100000,
};

struct sweeper {
    struct worker_pool *pool;
};

/* Owned by the thread: it may come back late. */
struct sweeping {
    struct authority *authority;
    atomic_uint *running;
};

static int run(void *data, struct cancel *token)
{
    const struct sweeping *sweeping = data;
    int r = 0;

    for (int i = 0; r == 0 && i < MAX_PORTIONS && authority_has_leftovers(sweeping->authority);
         i++) {
        authority_sweep(sweeping->authority, PORTION_ENTRIES, token);
        r = cancel_check(token);
    }
    return r;
}

static void on_done(void *context, int result, void *data)
{
    (void)context;
    (void)result;
    (void)data;
}

static void free_sweeping(void *data)
{
    struct sweeping *sweeping = data;
    atomic_uint *running = sweeping->running;

    free(sweeping);
    atomic_fetch_sub(running, 1);
}

static int start(struct sweeper *sweeper, struct authority *authority, atomic_uint *running)
{
    struct sweeping *sweeping = malloc(sizeof(*sweeping));
    const struct worker_job job = {.run = run,
                                   .done = on_done,
                                   .free_data = free_sweeping,
                                   .data = sweeping,
                                   .timeout_ms = WORKER_NO_DEADLINE};
    uint64_t id;
    int r;

    if (sweeping == NULL)
        return ERR_NO_MEMORY;
    *sweeping = (struct sweeping){.authority = authority, .running = running};
    atomic_fetch_add(running, 1);
    r = worker_submit(sweeper->pool, &job, &id);
    if (r < 0)
        free_sweeping(sweeping);
    return r;
}

int sweeper_new(struct loop *loop, struct authority *authority, atomic_uint *running,
                struct sweeper **out_sweeper)
{
    const struct worker_config config = {
        .threads = 1, .abandoned_max = 1, .grace_ms = GRACE_MS, .nice = NICENESS};
    struct sweeper *sweeper;
    int r;

    if (!authority_has_leftovers(authority)) {
        *out_sweeper = NULL;
        return 0;
    }
    sweeper = calloc(1, sizeof(*sweeper));
    if (sweeper == NULL)
        return ERR_NO_MEMORY;
    r = worker_pool_new(loop, &config, &sweeper->pool);
    if (r == 0)
        r = start(sweeper, authority, running);
    if (r < 0) {
        sweeper_free(sweeper);
        return r;
    }
    *out_sweeper = sweeper;
    return 0;
}

void sweeper_free(struct sweeper *sweeper)
{
    if (sweeper == NULL)
        return;
    if (sweeper->pool != NULL)
        worker_pool_free(sweeper->pool);
    free(sweeper);
}
