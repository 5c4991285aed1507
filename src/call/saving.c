/* SPDX-License-Identifier: Apache-2.0 */
#include "call/saving.h"

#include <stdlib.h>

#include "loop/worker.h"
#include "permission/settings/file.h"

enum {
    SAVERS = 4,
    MOST_WAITING = 128,
    /* For the settings, which another program may have. */
    GRACE_MS = SETTINGS_FILE_WAIT_MS + 1000,
};

struct savers {
    struct savers_config config;
    struct worker_pool *pool;
};

struct saving {
    atomic_uint refs; /* the loop's, and the worker's */
    struct savers *savers;
    void *call; /* NULL: ended meanwhile */
    struct work *work;
    atomic_uint *running;
};

/* On any thread. */
static void unref(void *data)
{
    struct saving *saving = data;

    if (atomic_fetch_sub_explicit(&saving->refs, 1, memory_order_acq_rel) != 1)
        return;
    work_unref(saving->work);
    free(saving);
}

static int save(void *data, struct cancel *token)
{
    struct saving *saving = data;
    int r;

    (void)token;
    atomic_fetch_add(saving->running, 1);
    r = executor_decide(saving->work, false, NULL);
    atomic_fetch_sub(saving->running, 1);
    return r;
}

static void on_saved(void *context, int result, void *data)
{
    struct saving *saving = context;
    const struct savers_config *config = &saving->savers->config;
    void *call = saving->call;

    unref(saving);
    config->on_saved(config->data, call, result, data == NULL);
}

int saving_start(struct savers *savers, struct work *work, void *call, struct saving **out_saving)
{
    struct saving *saving = malloc(sizeof(*saving));
    const struct worker_job job = {.run = save,
                                   .done = on_saved,
                                   .free_data = unref,
                                   .data = saving,
                                   .context = saving,
                                   .timeout_ms = WORKER_NO_DEADLINE};
    uint64_t id;
    int r;

    if (saving == NULL)
        return ERR_NO_MEMORY;
    *saving = (struct saving){
        .savers = savers, .call = call, .work = work_ref(work), .running = savers->config.running};
    atomic_init(&saving->refs, 2);
    r = worker_submit(savers->pool, &job, &id);
    if (r == 0) {
        *out_saving = saving;
        return 0;
    }
    unref(saving);
    unref(saving);
    return r;
}

void saving_forget_call(struct saving *saving)
{
    saving->call = NULL;
}

int savers_new(const struct savers_config *config, struct savers **out_savers)
{
    const struct worker_config workers = {.threads = SAVERS,
                                          .queue_max = MOST_WAITING,
                                          .abandoned_max = SAVERS,
                                          .grace_ms = GRACE_MS};
    struct savers *savers = calloc(1, sizeof(*savers));
    int r;

    if (savers == NULL)
        return ERR_NO_MEMORY;
    savers->config = *config;
    r = worker_pool_new(config->loop, &workers, &savers->pool);
    if (r < 0)
        free(savers);
    else
        *out_savers = savers;
    return r;
}

void savers_free(struct savers *savers)
{
    worker_pool_free(savers->pool);
    free(savers);
}
