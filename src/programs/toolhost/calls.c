/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/toolhost/calls.h"

#include <stdlib.h>

#include "base/map.h"
#include "call/workers.h"
#include "files/filesprovider.h"
#include "loop/timer.h"
#include "programs/toolhost/answer.h"

enum {
    PREVIEW_BYTES = 64 << 10,     /* of a request for one */
    ANSWER_SMALL_BYTES = 8 << 10, /* of an error or a step */
    /* Values take more room than the text they come from, in hostile cases far more. */
    ARENA_PER_REQUEST = 2,
    ARENA_SPARE_BYTES = 4 << 20,
    HELD_REQUESTS = 4, /* of the largest size, in all calls together */
};

/* A call, identified by the front end's number. The executor handles its work. */
struct host_call {
    struct calls *calls;
    uint32_t id; /* the key in calls->by_id */
    struct work *work;
    struct timer timer; /* of the step, or how long it waits prepared */
    int64_t timeout_ms;
    int64_t keep_ms;
    bool may_list;
    bool is_prepared; /* the front decides */
    size_t held_bytes;
};

struct calls {
    struct toolhost_calls_config config;
    struct provider_use files;
    struct workers *workers;
    struct map by_id;
    size_t max_arena_bytes;
    size_t held_bytes;
    bool is_held;
    bool is_closing;
};

/* ---- answers ---- */

static struct str key_of(const uint32_t *id)
{
    return (struct str){(const char *)id, sizeof(*id)};
}

static void answer(const struct calls *calls, uint32_t id, enum toolwire_type type, struct str body)
{
    if (!calls->is_closing)
        calls->config.send(calls->config.data, id, type, body);
}

static void send_error(const struct calls *calls, uint32_t id, const struct err *err,
                       bool has_begun)
{
    cleanup_buf struct buf body = BUF_INIT(ANSWER_SMALL_BYTES);

    /* The texts are cut to their size and valid: only memory can be missing. */
    if (toolwire_write_error(err, has_begun, &body) == 0)
        answer(calls, id, TOOLWIRE_ERROR, buf_view(&body));
    else
        calls->config.fail(calls->config.data, err);
}

/* Unlinks and frees the call. */
static void free_call(struct host_call *call)
{
    struct calls *calls = call->calls;

    timer_stop(&call->timer);
    map_remove(&calls->by_id, key_of(&call->id));
    calls->held_bytes -= call->held_bytes;
    work_release(call->work);
    free(call);
}

static void fail_call(struct host_call *call, const struct err *err)
{
    struct calls *calls = call->calls;
    uint32_t id = call->id;

    free_call(call);
    send_error(calls, id, err, false);
}

static void on_timer(void *data)
{
    struct host_call *call = data;
    struct err err = ERR_INIT;

    if (!call->is_prepared) {
        call->work->ops->cancel(call->work, ERR_TIMED_OUT);
        return;
    }
    err_set(&err, ERR_TIMED_OUT, "the call was neither run nor dropped in time");
    fail_call(call, &err);
}

/* ---- from the executor ---- */

static void become_prepared(struct host_call *call, enum toolwire_type type, struct str body)
{
    call->is_prepared = true;
    timer_start(&call->timer, call->keep_ms);
    answer(call->calls, call->id, type, body);
}

static void on_prepared(void *data)
{
    struct host_call *call = data;
    cleanup_buf struct buf body = BUF_INIT(call->calls->config.max_answer_bytes);
    struct err err = ERR_INIT;
    int r = answer_write_prepared(workers_call(call->work), &call->work->subject, &body);

    if (r == 0) {
        become_prepared(call, TOOLWIRE_PREPARED, buf_view(&body));
        return;
    }
    if (r == ERR_INVALID_UTF8)
        err_set(&err, r, "a link leads to a name that is not valid UTF-8");
    else
        err_set_plain(&err, r);
    fail_call(call, &err);
}

static void on_previewed(void *data)
{
    struct host_call *call = data;
    cleanup_buf struct buf body = BUF_INIT(call->calls->config.max_answer_bytes);
    struct err err = ERR_INIT;
    int r = answer_write_previewed(&call->work->decision.question, &body);

    if (r == 0) {
        become_prepared(call, TOOLWIRE_PREVIEWED, buf_view(&body));
        return;
    }
    err_set_plain(&err, r);
    fail_call(call, &err);
}

static void on_progress(void *data, uint64_t done, uint64_t total, const char *what)
{
    const struct host_call *call = data;
    cleanup_buf struct buf body = BUF_INIT(ANSWER_SMALL_BYTES);

    if (!call->calls->is_held && toolwire_write_progress(done, total, what, &body) == 0)
        answer(call->calls, call->id, TOOLWIRE_PROGRESS, buf_view(&body));
}

static void on_end(void *data, const struct work_end *end)
{
    struct host_call *call = data;
    const struct calls *calls = call->calls;

    if (end->change.len > 0 && end->change.len <= TOOLWIRE_MAX_CHANGE_BYTES)
        answer(calls, call->id, TOOLWIRE_CHANGE, end->change);
    if (end->err != NULL)
        send_error(calls, call->id, end->err, end->has_begun);
    else
        answer(calls, call->id, TOOLWIRE_RESULT, end->result);
    free_call(call);
}

static const struct work_events events = {
    .on_prepared = on_prepared,
    .on_previewed = on_previewed,
    .on_progress = on_progress,
    .on_end = on_end,
};

/* Tells the front end, which would wait in vain. */
static void on_lost(void *data)
{
    answer(data, TOOLWIRE_NO_CALL, TOOLWIRE_LOST, STR_EMPTY);
}

static bool may_begin(void *data)
{
    const struct calls *calls = data;

    return !calls->is_held && !calls->is_closing;
}

/* ---- what the front asks for ---- */

static int read_request(const struct calls *calls, struct str body, struct call_input *input,
                        struct toolwire_prepare *out_request, bool *out_is_malformed,
                        struct err *err)
{
    const char *copy = arena_copy(&input->arena, body);
    int r;

    if (copy == NULL)
        return err_set_plain(err, input->arena.error);
    r = toolwire_read_prepare(&input->arena, (struct str){copy, body.len}, out_request, err);
    if (r < 0) {
        *out_is_malformed = r != ERR_NO_MEMORY && r != ERR_TOO_LARGE;
        return r;
    }
    input->tool = catalog_find_any(out_request->tool);
    input->arguments = out_request->arguments;
    if (input->tool == NULL || !toolbox_has(calls->config.box, input->tool))
        return err_set_field(err, ERR_NOT_FOUND, "tool", "unknown tool");
    return 0;
}

static int admit(struct calls *calls, uint32_t id, const struct call_input *input,
                 const struct toolwire_prepare *request, struct host_call **out_call)
{
    struct host_call *call;
    int r;

    if (calls->by_id.count >= CALLS_MAX ||
        input->arena.held > HELD_REQUESTS * calls->max_arena_bytes - calls->held_bytes)
        return ERR_BUSY;
    call = calloc(1, sizeof(*call));
    if (call == NULL)
        return ERR_NO_MEMORY;
    *call = (struct host_call){.calls = calls,
                               .id = id,
                               .timeout_ms = request->timeout_ms,
                               .keep_ms = request->keep_ms,
                               .may_list = request->may_list,
                               .held_bytes = input->arena.held};
    timer_init(&call->timer, calls->config.loop, on_timer, call);
    r = map_add(&calls->by_id, key_of(&call->id), call);
    if (r < 0) {
        free(call);
        return r;
    }
    calls->held_bytes += call->held_bytes;
    *out_call = call;
    return 0;
}

static int begin(struct calls *calls, uint32_t id, struct str body, struct call_input *input,
                 bool *out_is_malformed, struct err *err)
{
    struct executor *executor = workers_executor(calls->workers);
    struct work_request request = {.input = input, .wants_progress = true, .events = &events};
    struct toolwire_prepare asked;
    struct host_call *call = NULL;
    int r = read_request(calls, body, input, &asked, out_is_malformed, err);

    if (r < 0)
        return r;
    r = admit(calls, id, input, &asked, &call);
    if (r < 0)
        return err_set_plain(err, r);
    timer_start(&call->timer, call->timeout_ms);
    request.data = call;
    r = executor->ops->prepare(executor, &request, &call->work, err);
    if (r < 0)
        free_call(call);
    return r;
}

static int prepare(struct calls *calls, uint32_t id, struct str body, struct err *err)
{
    struct call_input *input = call_input_new(calls->max_arena_bytes);
    struct err why = ERR_INIT;
    bool is_malformed = false;
    int r;

    if (input != NULL)
        r = begin(calls, id, body, input, &is_malformed, &why);
    else
        r = err_set_plain(&why, ERR_NO_MEMORY);
    call_input_unref(input);
    if (is_malformed) {
        if (err != NULL)
            *err = why;
        return r;
    }
    if (r < 0)
        send_error(calls, id, &why, false);
    return 0;
}

static int read_disclosure(struct str body, enum decision_disclosure *out_disclosure,
                           struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(PREVIEW_BYTES);
    const struct json_value *document;
    struct str name;
    int r = json_parse(&arena, body, JSON_LIMITS_DEFAULT, &document, err);

    if (r < 0)
        return r;
    if (!json_get_str(document, STR("disclosure"), &name) ||
        !decision_disclosure_from(name, out_disclosure))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "disclosure",
                             "PREVIEW does not say what may be shown");
    return 0;
}

static void leave_prepared(struct host_call *call)
{
    call->is_prepared = false;
    timer_start(&call->timer, call->timeout_ms);
}

/* RUN, DROP or PREVIEW, which need a prepared call. */
static int go_on(struct host_call *call, const struct toolwire_frame *frame,
                 enum decision_disclosure disclosure, struct err *err)
{
    struct work *work = call->work;

    if (!call->is_prepared)
        return err_set(err, ERR_INVALID_ARGUMENT, "%s for call %u, which is not prepared",
                       frame->type == TOOLWIRE_RUN    ? "RUN"
                       : frame->type == TOOLWIRE_DROP ? "DROP"
                                                      : "PREVIEW",
                       (unsigned)call->id);
    if (frame->type == TOOLWIRE_DROP) {
        free_call(call);
        return 0;
    }
    leave_prepared(call);
    if (frame->type == TOOLWIRE_PREVIEW) {
        work->ops->preview(work, disclosure);
        return 0;
    }
    /*
     * The front does not say what decided. If clients may not list everything, it may have been the
     * user, about this name and no other.
     */
    work->decision.source = call->may_list ? PERMISSION_BY_MODE : PERMISSION_BY_USER;
    (void)work->ops->run(work); /* nothing is recorded here, so it cannot fail */
    return 0;
}

int calls_take(struct calls *calls, const struct toolwire_frame *frame, struct err *err)
{
    struct host_call *call = map_get(&calls->by_id, key_of(&frame->call));
    enum decision_disclosure disclosure = DECISION_DISCLOSES_ALL;
    int r;

    if (frame->type == TOOLWIRE_PREPARE && call != NULL)
        return err_set(err, ERR_INVALID_ARGUMENT, "PREPARE for call %u, which already exists",
                       (unsigned)frame->call);
    if (frame->type == TOOLWIRE_PREPARE)
        return prepare(calls, frame->call, frame->body, err);
    if (frame->type == TOOLWIRE_PREVIEW) {
        r = read_disclosure(frame->body, &disclosure, err);
        if (r < 0)
            return r;
    }
    if (call == NULL)
        return 0;
    if (frame->type != TOOLWIRE_CANCEL)
        return go_on(call, frame, disclosure, err);
    call->work->ops->cancel(call->work, ERR_CANCELLED);
    return 0;
}

void calls_hold(struct calls *calls, bool is_held)
{
    calls->is_held = is_held;
    workers_go_on(calls->workers);
}

/* ---- making ---- */

int calls_new(const struct toolhost_calls_config *config, struct calls **out_calls)
{
    struct calls *calls = calloc(1, sizeof(*calls));
    struct workers_config workers = {
        .loop = config->loop,
        .provider_count = 1,
        .pool = {.threads = CALLS_WORKERS,
                 .queue_max = CALLS_WORKERS,
                 .abandoned_max = CALLS_LOST_MAX,
                 .grace_ms = CALLS_GRACE_MS},
        .max_at_work = CALLS_WORKERS,
        .max_result_bytes = config->max_answer_bytes,
        .running = config->running,
        .changing = config->changing,
        .may_begin = may_begin,
        .on_lost = on_lost,
        .data = calls,
    };
    int r;

    if (calls == NULL)
        return ERR_NO_MEMORY;
    calls->config = *config;
    calls->files = (struct provider_use){&files_provider, config->box};
    calls->max_arena_bytes = ARENA_PER_REQUEST * config->max_request_bytes + ARENA_SPARE_BYTES;
    calls->by_id = (struct map)MAP_INIT(CALLS_MAX);
    workers.providers = &calls->files;
    r = workers_new(&workers, &calls->workers);
    if (r < 0)
        free(calls);
    else
        *out_calls = calls;
    return r;
}

void calls_run_loop(struct calls *calls)
{
    worker_run_loop(workers_pool(calls->workers));
}

void calls_free(struct calls *calls)
{
    struct str key;
    void *value;

    if (calls == NULL)
        return;
    calls->is_closing = true;
    for (size_t cursor = 0; map_next(&calls->by_id, &cursor, &key, &value); cursor = 0)
        free_call(value);
    workers_free(calls->workers);
    map_done(&calls->by_id);
    free(calls);
}
