/* SPDX-License-Identifier: Apache-2.0 */
#include "call/workers.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/list.h"
#include "loop/timer.h"

enum {
    PROGRESS_MS = 100,
    LOOK_MS = 250,
};

/*
 *   WAITING -- AT_WORK -- IDLE -- WAITING -- AT_WORK
 *                           `---- STARTED
 *   and from each of them to OVER
 */
enum local_state {
    LOCAL_WAITING, /* for a worker */
    LOCAL_AT_WORK,
    LOCAL_IDLE,    /* prepared: the caller decides what comes next */
    LOCAL_STARTED, /* the provider works with the loop's events */
    LOCAL_OVER,
};

/* A worker's next step, and the stage it reached. */
enum local_step { STEP_PREPARE, STEP_PREVIEW, STEP_RUN };
enum local_stage { STAGE_NONE, STAGE_PREPARED, STAGE_ASKS, STAGE_PREVIEWED, STAGE_RAN };

struct local_work {
    struct work work;
    struct workers *workers;
    struct list link; /* in the list of those that wait or run */
    /* Copies: a worker that hangs may outlive the executor. */
    struct provider_use use;
    atomic_uint *running;
    atomic_uint *changing;
    void *call; /* the provider's, since it is prepared */
    enum local_state state;
    enum local_step step;
    enum local_stage stage;
    enum decision_disclosure disclosure; /* of a preview */
    uint64_t id;                         /* in the pool, or at the provider */
    int cancelled;                       /* why; 0: it is not */
    uint64_t told;                       /* progress */
    bool is_refusal;
    struct buf result;
    /* Written by the worker, read by the loop. */
    atomic_bool has_begun;
    atomic_uint_fast64_t done;
    atomic_uint_fast64_t total;
    _Atomic(const char *) what; /* static text; NULL before the first step */
};

struct workers {
    struct executor executor;
    struct workers_config config;
    struct worker_pool *pool;
    struct list waiting;
    struct list at_work;
    unsigned at_work_count;
    struct timer progress;
    struct timer look; /* whether workers were lost */
    bool is_lost;
};

/*
 * SAFETY: every work, and the executor itself, was created here as the first member of its struct.
 */
static struct local_work *local_of(const struct work *work)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a pointer as it was, without its const */
    return (struct local_work *)(uintptr_t)work;
}

static struct workers *workers_of(const struct executor *executor)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a pointer as it was, without its const */
    return (struct workers *)(uintptr_t)executor;
}

static void start_waiting(struct workers *workers);

/* ---- on a worker ---- */

static void note_progress(void *data, uint64_t done, uint64_t total, const char *what)
{
    struct local_work *local = data;

    atomic_store_explicit(&local->done, done, memory_order_relaxed);
    atomic_store_explicit(&local->total, total, memory_order_relaxed);
    atomic_store_explicit(&local->what, what, memory_order_release);
}

static bool is_change(const struct local_work *local)
{
    const struct provider *provider = local->use.provider;

    return provider->changes != NULL && provider->changes(local->work.input->tool);
}

static int run(struct local_work *local, const struct cancel *token)
{
    struct work *work = &local->work;
    unsigned change = is_change(local);
    int r = cancel_check(token);

    if (r < 0) /* cancelled before it was started */
        return err_set_plain(&work->err, r);
    atomic_store(&local->has_begun, true);
    atomic_fetch_add(local->changing, change);
    r = local->use.provider->run(local->call, permission_source_name(work->decision.source), token,
                                 note_progress, local, &local->result, &work->err);
    atomic_fetch_sub(local->changing, change);
    if (r < 0)
        return work->err.code == r ? r : err_set_plain(&work->err, r);
    local->stage = STAGE_RAN;
    return 0;
}

static int get_subject(struct local_work *local, const struct cancel *token)
{
    struct work *work = &local->work;

    if (local->use.provider->subject == NULL)
        return 0;
    return local->use.provider->subject(local->call, work->session, &work->arena, token,
                                        &work->subject, &work->err);
}

/* Decides here if it has the terms, so that an allowed call runs at once. */
static int prepare(struct local_work *local, const struct cancel *token)
{
    struct work *work = &local->work;
    const struct provider *provider = local->use.provider;
    int r = provider->prepare(local->use.self, work->input->tool, work->input->arguments,
                              work->input->number, token, &local->call, &work->err);

    local->stage = STAGE_PREPARED;
    if (r == 0 && provider->run != NULL)
        r = get_subject(local, token);
    if (r == 0 && provider->run != NULL && work->terms.keeper != NULL) {
        r = executor_decide(work, true, token);
        if (r < 0 && work->refused != NULL)
            work->ops->refused(work);
        if (r == 0 && !work->decision.asks)
            return run(local, token);
        local->stage = STAGE_ASKS;
    }
    local->is_refusal = r < 0 && r != ERR_CANCELLED && r != ERR_TIMED_OUT;
    return r;
}

static int describe(struct work *work, enum decision_disclosure disclosure,
                    const struct cancel *cancel, struct question *question, struct err *err)
{
    struct local_work *local = local_of(work);

    return local->use.provider->preview(local->call, &work->arena, disclosure, cancel, question,
                                        err);
}

static int do_step(struct local_work *local, const struct cancel *token)
{
    switch (local->step) {
    case STEP_PREPARE:
        return prepare(local, token);
    case STEP_PREVIEW:
        local->stage = STAGE_PREVIEWED;
        return describe(&local->work, local->disclosure, token, &local->work.decision.question,
                        &local->work.err);
    case STEP_RUN:
        return run(local, token);
    }
    return ERR_INTERNAL;
}

static int work_on(void *data, struct cancel *token)
{
    struct local_work *local = local_of(data);
    int r;

    atomic_fetch_add(local->running, 1);
    r = do_step(local, token);
    atomic_fetch_sub(local->running, 1);
    return r;
}

/* ---- ends ---- */

static void enter(struct local_work *local, enum local_state next)
{
    struct workers *workers = local->workers;

    list_remove(&local->link);
    if (local->state == LOCAL_AT_WORK && next != LOCAL_AT_WORK)
        workers->at_work_count--;
    local->state = next;
    switch (next) {
    case LOCAL_WAITING:
        list_append(&workers->waiting, &local->link);
        break;
    case LOCAL_AT_WORK:
        workers->at_work_count++;
        list_append(&workers->at_work, &local->link);
        if (local->work.wants_progress && !workers->progress.is_started)
            timer_start_repeating(&workers->progress, PROGRESS_MS);
        break;
    case LOCAL_IDLE:
    case LOCAL_STARTED:
    case LOCAL_OVER:
        break;
    }
    if (list_is_empty(&workers->at_work))
        timer_stop(&workers->progress);
}

static void end(struct local_work *local, struct work_end end)
{
    const struct work_events *events = local->work.events;

    enter(local, LOCAL_OVER);
    end.has_begun = atomic_load(&local->has_begun);
    local->work.events = NULL;
    if (events != NULL)
        events->on_end(local->work.data, &end);
}

static void end_with(struct local_work *local, int code)
{
    struct err err = ERR_INIT;

    if (code == ERR_TIMED_OUT && local->state == LOCAL_WAITING)
        err_set(&err, code, "timed out waiting for a free worker; try again");
    else if (code == ERR_TIMED_OUT && atomic_load(&local->has_begun) && is_change(local))
        err_set(&err, code,
                "timed out; the change may still have been made: check before you repeat it");
    else
        err_set_plain(&err, code);
    end(local, (struct work_end){.err = &err});
}

/* Handles the result of a worker. */
static void take_stage(struct local_work *local)
{
    struct work *work = &local->work;

    if (local->stage == STAGE_RAN) {
        const struct provider *provider = local->use.provider;

        end(local,
            (struct work_end){.result = buf_view(&local->result),
                              .change = provider->change != NULL ? provider->change(local->call)
                                                                 : STR_EMPTY,
                              .decision = &work->decision});
        return;
    }
    if (local->cancelled != 0) {
        end_with(local, local->cancelled);
        return;
    }
    enter(local, LOCAL_IDLE);
    if (work->events == NULL)
        return;
    if (local->stage == STAGE_ASKS) {
        work->events->on_decided(work->data);
        return;
    }
    if (local->stage == STAGE_PREVIEWED) {
        work->events->on_previewed(work->data);
        return;
    }
    if (local->use.provider->run == NULL) {
        int r = get_subject(local, NULL);

        if (r < 0) {
            end(local, (struct work_end){.err = &work->err, .is_refusal = true});
            return;
        }
    }
    work->events->on_prepared(work->data);
}

/* ---- lost workers ---- */

static void tell_lost(struct workers *workers)
{
    if (workers->is_lost || workers->config.on_lost == NULL)
        return;
    workers->is_lost = true;
    workers->config.on_lost(workers->config.data);
    while (!list_is_empty(&workers->waiting))
        end_with(list_entry(workers->waiting.next, struct local_work, link), ERR_WORKERS_LOST);
}

static void look_for_lost(void *data)
{
    struct workers *workers = data;
    struct worker_stats stats;

    worker_pool_stats(workers->pool, &stats);
    if (stats.abandoned >= workers->config.pool.abandoned_max)
        tell_lost(workers);
    else if (stats.running > 0) /* maybe a given-up one, within its grace period */
        timer_start(&workers->look, LOOK_MS);
}

/* ---- workers ---- */

static void on_done(void *context, int result, void *data)
{
    struct local_work *local = context;
    struct workers *workers = local->workers;
    struct work *work = &local->work;

    if (data == NULL && workers->config.on_lost != NULL && !workers->look.is_started)
        timer_start(&workers->look, workers->config.pool.grace_ms);
    if (data == NULL) /* a worker still has it */
        end_with(local, local->cancelled != 0 ? local->cancelled : result);
    else if (result == 0)
        take_stage(local);
    else if (work->err.code == result)
        end(local, (struct work_end){.err = &work->err,
                                     .is_refusal = local->is_refusal,
                                     .decision = &work->decision});
    else
        end_with(local, result);
    start_waiting(workers);
}

static void submit(struct local_work *local)
{
    struct workers *workers = local->workers;
    const struct worker_job job = {
        .run = work_on,
        .done = on_done,
        .free_data = work_unref,
        .data = work_ref(&local->work),
        .context = local,
        .timeout_ms = WORKER_NO_DEADLINE,
    };
    int r = worker_submit(workers->pool, &job, &local->id);

    if (r == 0) {
        enter(local, LOCAL_AT_WORK);
        return;
    }
    work_unref(job.data);
    end_with(local, r);
    if (r == ERR_WORKERS_LOST)
        tell_lost(workers);
}

static void start_waiting(struct workers *workers)
{
    while (!list_is_empty(&workers->waiting) && workers->pool != NULL &&
           workers->at_work_count < workers->config.max_at_work &&
           (workers->config.may_begin == NULL || workers->config.may_begin(workers->config.data)))
        submit(list_entry(workers->waiting.next, struct local_work, link));
}

static void do_next(struct local_work *local, enum local_step step)
{
    struct workers *workers = local->workers;

    local->step = step;
    enter(local, LOCAL_WAITING);
    if (workers->is_lost)
        end_with(local, ERR_WORKERS_LOST);
    else
        start_waiting(workers);
}

static void tell_progress(void *data)
{
    struct workers *workers = data;

    list_each_safe (node, &workers->at_work) {
        struct local_work *local = list_entry(node, struct local_work, link);
        const char *what = atomic_load_explicit(&local->what, memory_order_acquire);
        uint64_t done = atomic_load_explicit(&local->done, memory_order_relaxed);

        if (what == NULL || done <= local->told || !local->work.wants_progress ||
            local->work.events == NULL)
            continue;
        local->told = done;
        local->work.events->on_progress(local->work.data, done,
                                        atomic_load_explicit(&local->total, memory_order_relaxed),
                                        what);
    }
}

/* ---- the executor ---- */

static const struct provider_use *find_provider(const struct workers *workers,
                                                const struct catalog_tool *tool)
{
    for (size_t i = 0; i < workers->config.provider_count; i++) {
        const struct provider_use *use = &workers->config.providers[i];

        if (use->self != NULL && provider_owns(use->provider, tool) &&
            (use->provider->has == NULL || use->provider->has(use->self, tool)))
            return use;
    }
    return NULL;
}

static bool has(const struct executor *executor, const struct catalog_tool *tool)
{
    return find_provider(workers_of(executor), tool) != NULL;
}

static int prepare_work(struct executor *executor, const struct work_request *request,
                        struct work **out_work, struct err *err)
{
    struct workers *workers = workers_of(executor);
    const struct provider_use *use = find_provider(workers, request->input->tool);
    struct local_work *local;

    if (use == NULL)
        return err_set_field(err, ERR_NOT_FOUND, "tool", "unknown tool");
    if (workers->is_lost)
        return err_set_plain(err, ERR_WORKERS_LOST);
    local = alloc_zeroed(sizeof(*local));
    if (local == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    work_init(&local->work, executor, request);
    local->workers = workers;
    local->use = *use;
    local->running = workers->config.running;
    local->changing = workers->config.changing;
    list_init(&local->link);
    buf_init(&local->result, workers->config.max_result_bytes);
    *out_work = &local->work;
    do_next(local, STEP_PREPARE);
    return 0;
}

static void preview_work(struct work *work, enum decision_disclosure disclosure)
{
    struct local_work *local = local_of(work);

    assert(local->state == LOCAL_IDLE);
    local->disclosure = disclosure;
    if (local->use.provider->run != NULL) {
        do_next(local, STEP_PREVIEW);
        return;
    }
    if (describe(work, disclosure, NULL, &work->decision.question, &work->err) < 0)
        end(local, (struct work_end){.err = &work->err, .is_refusal = true});
    else
        work->events->on_previewed(work->data);
}

static void on_provider_progress(void *data, uint64_t done, uint64_t total, const char *what)
{
    const struct local_work *local = data;

    if (local->work.events != NULL)
        local->work.events->on_progress(local->work.data, done, total, what);
}

/* The executor may have been freed, if the caller released the work before. */
static void on_provider_done(void *data, int error, struct str result)
{
    struct local_work *local = data;

    if (local->work.events != NULL && error < 0)
        end_with(local, error);
    else if (local->work.events != NULL)
        end(local, (struct work_end){.result = result});
    work_unref(&local->work);
}

static int run_work(struct work *work)
{
    struct local_work *local = local_of(work);
    const struct provider_events events = {
        .on_progress = on_provider_progress,
        .on_done = on_provider_done,
        .data = local,
        .session = work->session,
        .decision = permission_source_name(work->decision.source),
        .wants_progress = work->wants_progress,
    };

    assert(local->state == LOCAL_IDLE);
    if (local->use.provider->run != NULL) {
        do_next(local, STEP_RUN);
        return 0;
    }
    enter(local, LOCAL_STARTED);
    work_ref(work);
    work->keeps_own_time = true;
    atomic_store(&local->has_begun, true);
    local->id = local->use.provider->start(steal_ptr(&local->call), &events);
    return 0;
}

static void cancel_work(struct work *work, int why)
{
    struct local_work *local = local_of(work);

    switch (local->state) {
    case LOCAL_AT_WORK:
        local->cancelled = why;
        worker_cancel(local->workers->pool, local->id); /* ends in on_done */
        return;
    case LOCAL_STARTED: /* answered now; what it runs ends soon */
        local->use.provider->cancel(local->use.self, local->id);
        end_with(local, why);
        return;
    case LOCAL_WAITING:
    case LOCAL_IDLE:
        end_with(local, why);
        return;
    case LOCAL_OVER:
        return;
    }
}

static void drop_work(struct work *work)
{
    work->events = NULL;
    cancel_work(work, ERR_CANCELLED);
}

static void record_refusal(struct work *work)
{
    struct local_work *local = local_of(work);

    local->use.provider->refused(local->call, work->session, work->refused, work->refused_by,
                                 work->refused_rule, work->err.code);
}

static void end_session(struct executor *executor, const void *session)
{
    const struct workers_config *config = &workers_of(executor)->config;

    for (size_t i = 0; i < config->provider_count; i++) {
        const struct provider_use *use = &config->providers[i];

        if (use->self != NULL && use->provider->end_session != NULL)
            use->provider->end_session(use->self, session);
    }
}

static void free_work(struct work *work)
{
    struct local_work *local = local_of(work);

    if (local->call != NULL)
        local->use.provider->free(local->call);
    buf_done(&local->result);
    free(local);
}

static const struct executor_ops ops = {
    .has = has,
    .prepare = prepare_work,
    .describe = describe,
    .preview = preview_work,
    .run = run_work,
    .cancel = cancel_work,
    .drop = drop_work,
    .refused = record_refusal,
    .end_session = end_session,
    .free_work = free_work,
};

/* ---- making ---- */

int workers_new(const struct workers_config *config, struct workers **out_workers)
{
    struct workers *workers = calloc(1, sizeof(*workers));
    int r;

    if (workers == NULL)
        return ERR_NO_MEMORY;
    workers->executor.ops = &ops;
    workers->config = *config;
    list_init(&workers->waiting);
    list_init(&workers->at_work);
    timer_init(&workers->progress, config->loop, tell_progress, workers);
    timer_init(&workers->look, config->loop, look_for_lost, workers);
    r = worker_pool_new(config->loop, &config->pool, &workers->pool);
    if (r < 0)
        free(workers);
    else
        *out_workers = workers;
    return r;
}

void workers_stop(struct workers *workers)
{
    worker_pool_free(workers->pool);
    workers->pool = NULL;
    timer_stop(&workers->progress);
    timer_stop(&workers->look);
}

void workers_free(struct workers *workers)
{
    if (workers == NULL)
        return;
    workers_stop(workers);
    free(workers);
}

struct executor *workers_executor(struct workers *workers)
{
    return &workers->executor;
}

struct worker_pool *workers_pool(const struct workers *workers)
{
    return workers->pool;
}

void workers_go_on(struct workers *workers)
{
    start_waiting(workers);
}

void *workers_call(const struct work *work)
{
    return local_of(work)->call;
}
