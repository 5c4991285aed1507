/* SPDX-License-Identifier: Apache-2.0 */
#include "toolhost/calls.h"

#include <assert.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/list.h"
#include "base/map.h"
#include "loop/timer.h"
#include "loop/worker.h"
#include "toolhost/job.h"

enum {
    PROGRESS_MS = 100,
    LOOK_MS = 250,
    PREVIEW_BYTES = 64 << 10,     /* of a request for one */
    ANSWER_SMALL_BYTES = 8 << 10, /* of an error or a step */
    /* Values take more room than the text they come from, in hostile cases far more. */
    ARENA_PER_REQUEST = 2,
    ARENA_SPARE_BYTES = 4 << 20,
    HELD_REQUESTS = 4, /* of the largest size, in all calls together */
};

/*
 *   ASKED -- PREPARING -- PREPARED -- ORDERED -- RUNNING
 *     `----------`-----------`-----------`----------`---- ENDED
 *
 *   PREPARED -- QUERIED -- PREVIEWING -- PREPARED, or ENDED from each
 */
enum call_state {
    CALL_ASKED,      /* waits for a worker */
    CALL_PREPARING,  /* a worker has it */
    CALL_PREPARED,   /* the front decides */
    CALL_QUERIED,    /* somebody is to be told what it would do: waits for a worker */
    CALL_PREVIEWING, /* a worker has it */
    CALL_ORDERED,    /* waits for a worker again */
    CALL_RUNNING,    /* a worker has it */
    CALL_ENDED,      /* answered or dropped, and about to be freed */
};

struct call {
    struct calls *calls;
    struct list link; /* in calls->waiting while it waits, in calls->running while it runs */
    uint32_t id;      /* the key in calls->by_id */
    enum call_state state;
    struct job *job;
    struct timer timer; /* the deadline, while no worker has it */
    int64_t due_ms;
    uint64_t work;     /* in the pool */
    size_t held_bytes; /* in calls->held_bytes */
    uint64_t told;     /* progress */
};

struct calls {
    struct calls_config config;
    struct job_config job_config;
    struct map by_id;
    struct worker_pool *pool;
    struct list waiting; /* for a worker, first come first served */
    struct list running;
    unsigned at_work; /* in the pool and not answered */
    size_t held_bytes;
    size_t max_held_bytes;
    struct timer progress;
    struct timer look; /* whether workers were lost */
    bool is_held;
    bool is_lost;
    bool is_closing;
};

static void start_waiting(struct calls *calls);

/* ---- one call ---- */

static struct str key_of(const struct call *call)
{
    return (struct str){(const char *)&call->id, sizeof(call->id)};
}

static struct call *find(const struct calls *calls, uint32_t id)
{
    return map_get(&calls->by_id, (struct str){(const char *)&id, sizeof(id)});
}

/* The only place where a state changes. */
static void enter(struct call *call, enum call_state next)
{
    struct calls *calls = call->calls;
    enum call_state from = call->state;

    call->state = next;
    timer_stop(&call->timer);
    list_remove(&call->link);
    switch (next) {
    case CALL_ASKED:
    case CALL_QUERIED:
    case CALL_ORDERED:
        assert(from == (next == CALL_ASKED ? CALL_ASKED : CALL_PREPARED));
        call->due_ms =
            checked_add_ms(loop_now_ms(calls->config.loop), call->job->request.timeout_ms);
        timer_start(&call->timer, call->job->request.timeout_ms);
        list_append(&calls->waiting, &call->link);
        break;
    case CALL_PREPARING:
        assert(from == CALL_ASKED);
        break;
    case CALL_PREVIEWING:
        assert(from == CALL_QUERIED);
        break;
    case CALL_PREPARED:
        assert(from == CALL_PREPARING || from == CALL_PREVIEWING);
        timer_start(&call->timer, call->job->request.keep_ms);
        break;
    case CALL_RUNNING:
        assert(from == CALL_ORDERED);
        list_append(&calls->running, &call->link);
        if (!calls->progress.is_started)
            timer_start_repeating(&calls->progress, PROGRESS_MS);
        break;
    case CALL_ENDED:
        assert(from != CALL_ENDED);
        break;
    }
}

/* Forgets it; a worker that still has the job keeps that. */
static void end(struct call *call)
{
    struct calls *calls = call->calls;

    enter(call, CALL_ENDED);
    map_remove(&calls->by_id, key_of(call));
    calls->held_bytes -= call->held_bytes;
    job_unref(call->job);
    free(call);
}

static void answer(struct calls *calls, uint32_t id, enum toolwire_type type, struct str body)
{
    if (!calls->is_closing)
        calls->config.send(calls->config.data, id, type, body);
}

static void send_error(struct calls *calls, uint32_t id, const struct err *err, bool has_begun)
{
    cleanup_buf struct buf body = BUF_INIT(ANSWER_SMALL_BYTES);

    /* The texts are cut to their size and valid: only memory can be missing. */
    if (toolwire_write_error(err, has_begun, &body) == 0)
        answer(calls, id, TOOLWIRE_ERROR, buf_view(&body));
    else
        calls->config.fail(calls->config.data, err);
}

static void fail_call(struct call *call, const struct err *err)
{
    struct calls *calls = call->calls;
    uint32_t id = call->id;
    bool has_begun = call->state == CALL_RUNNING;

    end(call);
    send_error(calls, id, err, has_begun);
}

static void fail_plainly(struct call *call, int code)
{
    struct err err = ERR_INIT;

    err_set_plain(&err, code);
    fail_call(call, &err);
}

/* Its time is over while no worker has it. */
static void on_overdue(void *data)
{
    struct call *call = data;
    struct err err = ERR_INIT;

    err_set(&err, ERR_TIMED_OUT, "%s",
            call->state == CALL_PREPARED ? "it was neither run nor dropped in time"
                                         : "no worker was free in time");
    fail_call(call, &err);
}

/* ---- workers ---- */

/* Answers what would wait in vain. */
static void tell_lost(struct calls *calls)
{
    if (calls->is_lost)
        return;
    calls->is_lost = true;
    answer(calls, TOOLWIRE_NO_CALL, TOOLWIRE_LOST, STR_EMPTY);
    while (!list_is_empty(&calls->waiting))
        fail_plainly(list_entry(calls->waiting.next, struct call, link), ERR_WORKERS_LOST);
}

static void look_for_lost(void *data)
{
    struct calls *calls = data;
    struct worker_stats stats;

    worker_pool_stats(calls->pool, &stats);
    if (stats.abandoned >= CALLS_LOST_MAX)
        tell_lost(calls);
    else if (stats.running > 0) /* maybe one that was given up, within its grace */
        timer_start(&calls->look, LOOK_MS);
}

static void finish(struct call *call, struct job *job)
{
    struct calls *calls = call->calls;
    uint32_t id = call->id;

    if (call->state == CALL_PREPARING || call->state == CALL_PREVIEWING) {
        enum toolwire_type type =
            call->state == CALL_PREPARING ? TOOLWIRE_PREPARED : TOOLWIRE_PREVIEWED;

        enter(call, CALL_PREPARED);
        answer(calls, id, type, buf_view(&job->answer));
        return;
    }
    /* The pool's reference lives until this returns. */
    end(call);
    answer(calls, id, TOOLWIRE_RESULT, buf_view(&job->answer));
}

static void on_done(void *context, int result, void *data)
{
    struct call *call = context;
    struct calls *calls = call->calls;
    struct job *job = data; /* NULL when a worker still has it */

    calls->at_work--;
    if (job == NULL && !calls->look.is_started)
        timer_start(&calls->look, CALLS_GRACE_MS);
    if (job != NULL && result == 0)
        finish(call, job);
    else if (job != NULL && job->err.code == result)
        fail_call(call, &job->err);
    else
        fail_plainly(call, result);
    if (list_is_empty(&calls->running))
        timer_stop(&calls->progress);
    start_waiting(calls);
}

/* What a worker does with a call that waits, and how the call stands meanwhile. */
struct step {
    int (*run)(void *data, struct cancel *token);
    enum call_state state;
};

static struct step step_of(enum call_state waiting)
{
    if (waiting == CALL_ORDERED)
        return (struct step){job_run, CALL_RUNNING};
    if (waiting == CALL_QUERIED)
        return (struct step){job_preview, CALL_PREVIEWING};
    return (struct step){job_prepare, CALL_PREPARING};
}

static void start(struct call *call)
{
    struct calls *calls = call->calls;
    const struct step step = step_of(call->state);
    const struct worker_job spec = {
        .run = step.run,
        .done = on_done,
        .free_data = job_unref,
        .data = job_ref(call->job),
        .context = call,
        .timeout_ms = call->due_ms - loop_now_ms(calls->config.loop),
    };
    int r = worker_submit(calls->pool, &spec, &call->work);

    if (r < 0) {
        job_unref(spec.data);
        fail_plainly(call, r);
        if (r == ERR_WORKERS_LOST)
            tell_lost(calls);
        return;
    }
    calls->at_work++;
    enter(call, step.state);
}

static void start_waiting(struct calls *calls)
{
    while (!calls->is_held && !calls->is_closing && calls->at_work < CALLS_WORKERS &&
           !list_is_empty(&calls->waiting))
        start(list_entry(calls->waiting.next, struct call, link));
}

static void tell_progress(void *data)
{
    struct calls *calls = data;
    cleanup_buf struct buf body = BUF_INIT(ANSWER_SMALL_BYTES);

    list_each (node, &calls->running) {
        struct call *call = list_entry(node, struct call, link);
        const struct job *job = call->job;
        const char *what = atomic_load_explicit(&job->what, memory_order_acquire);
        uint64_t done = atomic_load_explicit(&job->done, memory_order_relaxed);
        uint64_t total = atomic_load_explicit(&job->total, memory_order_relaxed);

        if (what == NULL || done <= call->told || calls->is_held)
            continue;
        call->told = done;
        buf_clear(&body);
        if (toolwire_write_progress(done, total, what, &body) == 0)
            answer(calls, call->id, TOOLWIRE_PROGRESS, buf_view(&body));
    }
}

/* ---- what the front asks for ---- */

static int admit(struct calls *calls, struct job *job, uint32_t id, struct call **out_call)
{
    struct call *call;
    int r;

    if (calls->by_id.count >= CALLS_MAX ||
        job->arena.held > calls->max_held_bytes - calls->held_bytes)
        return ERR_BUSY;
    call = calloc(1, sizeof(*call));
    if (call == NULL)
        return ERR_NO_MEMORY;
    call->calls = calls;
    call->id = id;
    r = map_add(&calls->by_id, key_of(call), call);
    if (r < 0) {
        free(call);
        return r;
    }
    call->job = job;
    call->held_bytes = job->arena.held;
    calls->held_bytes += call->held_bytes;
    list_init(&call->link);
    timer_init(&call->timer, calls->config.loop, on_overdue, call);
    *out_call = call;
    return 0;
}

int calls_prepare(struct calls *calls, uint32_t id, struct str body, struct err *err)
{
    struct err why = ERR_INIT;
    struct job *job = NULL;
    struct call *call = NULL;
    bool is_malformed = false;
    int r = 0;

    if (find(calls, id) != NULL)
        return err_set(err, ERR_INVALID_ARGUMENT, "PREPARE for call %u, which is in use",
                       (unsigned)id);
    if (calls->is_lost)
        r = err_set_plain(&why, ERR_WORKERS_LOST);
    if (r == 0)
        r = job_new(&calls->job_config, body, &job, &is_malformed, &why);
    if (is_malformed) {
        if (err != NULL)
            *err = why;
        return r;
    }
    if (r == 0) {
        r = admit(calls, job, id, &call);
        if (r < 0)
            err_set_plain(&why, r);
    }
    if (r < 0) {
        job_unref(job);
        send_error(calls, id, &why, false);
        return 0;
    }
    enter(call, CALL_ASKED);
    start_waiting(calls);
    return 0;
}

/* A prepared call goes on to this state. */
static int go_on(struct calls *calls, struct call *call, enum call_state next, const char *frame,
                 struct err *err)
{
    if (call->state != CALL_PREPARED)
        return err_set(err, ERR_INVALID_ARGUMENT, "%s for call %u, which is not prepared", frame,
                       (unsigned)call->id);
    if (calls->is_lost) {
        fail_plainly(call, ERR_WORKERS_LOST);
        return 0;
    }
    enter(call, next);
    start_waiting(calls);
    return 0;
}

int calls_run(struct calls *calls, uint32_t id, struct err *err)
{
    struct call *call = find(calls, id);

    return call != NULL ? go_on(calls, call, CALL_ORDERED, "RUN", err) : 0;
}

static int read_telling(struct str body, enum decision_telling *out_telling, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(PREVIEW_BYTES);
    const struct json_value *document;
    struct str name;
    int r = json_parse(&arena, body, JSON_LIMITS_DEFAULT, &document, err);

    if (r < 0)
        return r;
    if (!json_get_str(document, STR("telling"), &name) || !decision_telling_from(name, out_telling))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "telling",
                             "PREVIEW does not say what may be told");
    return 0;
}

int calls_preview(struct calls *calls, uint32_t id, struct str body, struct err *err)
{
    struct call *call = find(calls, id);
    enum decision_telling telling;
    int r = read_telling(body, &telling, err);

    if (r < 0 || call == NULL)
        return r;
    if (call->state == CALL_PREPARED) /* else a worker may have the job */
        call->job->telling = telling;
    return go_on(calls, call, CALL_QUERIED, "PREVIEW", err);
}

int calls_drop(struct calls *calls, uint32_t id, struct err *err)
{
    struct call *call = find(calls, id);

    if (call == NULL)
        return 0;
    if (call->state != CALL_PREPARED)
        return err_set(err, ERR_INVALID_ARGUMENT, "DROP for call %u, which is not prepared",
                       (unsigned)id);
    end(call);
    return 0;
}

void calls_cancel(struct calls *calls, uint32_t id)
{
    struct call *call = find(calls, id);

    if (call == NULL)
        return;
    switch (call->state) {
    case CALL_ASKED:
    case CALL_PREPARED:
    case CALL_QUERIED:
    case CALL_ORDERED:
        fail_plainly(call, ERR_CANCELLED);
        break;
    case CALL_PREPARING:
    case CALL_PREVIEWING:
        worker_cancel(calls->pool, call->work);
        /* It may have been prepared just then. */
        call = find(calls, id);
        if (call != NULL)
            fail_plainly(call, ERR_CANCELLED);
        break;
    case CALL_RUNNING:
        worker_cancel(calls->pool, call->work); /* ends in on_done */
        break;
    case CALL_ENDED:
        break;
    }
}

void calls_hold(struct calls *calls, bool is_held)
{
    calls->is_held = is_held;
    start_waiting(calls);
}

/* ---- making ---- */

int calls_new(const struct calls_config *config, struct calls **out_calls)
{
    const struct worker_config workers = {
        .threads = CALLS_WORKERS,
        .queue_max = CALLS_WORKERS,
        .abandoned_max = CALLS_LOST_MAX,
        .grace_ms = CALLS_GRACE_MS,
    };
    struct calls *calls = calloc(1, sizeof(*calls));
    int r;

    if (calls == NULL)
        return ERR_NO_MEMORY;
    calls->config = *config;
    calls->job_config = (struct job_config){
        .box = config->box,
        .running = config->running,
        .changing = config->changing,
        .max_arena_bytes = ARENA_PER_REQUEST * config->max_request_bytes + ARENA_SPARE_BYTES,
        .max_answer_bytes = config->max_answer_bytes,
    };
    calls->max_held_bytes = HELD_REQUESTS * calls->job_config.max_arena_bytes;
    calls->by_id = (struct map)MAP_INIT(CALLS_MAX);
    list_init(&calls->waiting);
    list_init(&calls->running);
    timer_init(&calls->progress, config->loop, tell_progress, calls);
    timer_init(&calls->look, config->loop, look_for_lost, calls);
    r = worker_pool_new(config->loop, &workers, &calls->pool);
    if (r < 0) {
        free(calls);
        return r;
    }
    *out_calls = calls;
    return 0;
}

void calls_run_loop(struct calls *calls)
{
    worker_run_loop(calls->pool);
}

void calls_free(struct calls *calls)
{
    struct str key;
    void *value;

    if (calls == NULL)
        return;
    calls->is_closing = true;
    worker_pool_free(calls->pool); /* ends those that are at work */
    for (size_t cursor = 0; map_next(&calls->by_id, &cursor, &key, &value); cursor = 0)
        end(value);
    timer_stop(&calls->progress);
    timer_stop(&calls->look);
    map_done(&calls->by_id);
    free(calls);
}
