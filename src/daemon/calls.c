/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/calls.h"

#include <assert.h>
#include <stdlib.h>

#include "daemon/calls_internal.h"
#include "protocol/toolresult.h"

enum {
    ARENA_BYTES = 96 << 20,
    UNDERSTANDING_GRACE_MS = 2000, /* nothing is lost with it */
    /* For the settings, which another program may have. */
    KEEPING_GRACE_MS = SETTINGS_FILE_WAIT_MS + 1000,
    WORKERS = 4,
    MOST_WAITING = 128,
    TOLD_RESOURCES = 4, /* of one call; the others are counted */
    TOLD_FIELDS = TOLD_RESOURCES + 6,
};

#define TOO_LATE "it was not begun in the time that the server gives it"

/* ---- the end of a call ---- */

/* On any thread, by the last who has it. */
static void let_go(struct call *call)
{
    if (atomic_fetch_sub_explicit(&call->holders, 1, memory_order_acq_rel) != 1)
        return;
    shell_drop(call->shell_call);
    arena_done(&call->arena);
    free(call);
}

static void free_call(struct call *call)
{
    list_remove(&call->node);
    timer_stop(&call->deadline);
    let_go(call);
}

/* The only place where a state changes. Whatever waits for the call elsewhere is called back. */
void calls_enter(struct call *call, enum call_state next)
{
    const struct calls_config *config = &call->calls->config;
    enum call_state from = call->state;

    call->state = next;
    switch (next) {
    case CALL_PREPARING:
        assert(from == CALL_PREPARING || from == CALL_ASKING);
        break;
    case CALL_KEEPING:
        assert(from == CALL_PREPARING);
        break;
    case CALL_PREVIEWING:
        assert(from == CALL_PREPARING || from == CALL_KEEPING);
        break;
    case CALL_ASKING:
        assert(from != CALL_ASKING && from != CALL_RUNNING);
        break;
    case CALL_RUNNING:
        assert(from == CALL_PREPARING || from == CALL_KEEPING);
        break;
    case CALL_ENDED:
        assert(from != CALL_ENDED);
        if (from == CALL_ASKING)
            desk_cancel(config->desk, call->question,
                        call->is_late ? DESK_TIMED_OUT : DESK_CANCELLED);
        if (call->number != 0)
            hostlink_forget(config->link, call->number);
        call->number = 0;
        break;
    }
}

/* A line for the person who watches. What there is nothing to say about is left out. */
static void tell(const struct call *call, const char *what_happened, const struct err *err)
{
    const struct calls_config *config = &call->calls->config;
    struct log_field fields[TOLD_FIELDS] = {LOG_STR("tool", call->tool->name)};
    size_t count = 1;

    if (!log_wants(config->log, LOG_INFO))
        return;
    for (size_t i = 0; i < call->resource_count && i < TOLD_RESOURCES; i++)
        fields[count++] =
            (struct log_field)LOG_STR("on", permission_resource_name(&call->resources[i]));
    if (call->resource_count > TOLD_RESOURCES)
        fields[count++] =
            (struct log_field)LOG_INT("others", (int64_t)(call->resource_count - TOLD_RESOURCES));
    if (call->resource_count > 0 && call->resources[0].cwd.len > 0)
        fields[count++] = (struct log_field)LOG_STR("cwd", call->resources[0].cwd);
    fields[count++] =
        (struct log_field)LOG_TEXT("by", permission_source_name(call->decision.source));
    fields[count++] = (struct log_field)LOG_INT("ms", loop_now_ms(config->loop) - call->since_ms);
    if (err != NULL)
        fields[count++] = (struct log_field)LOG_TEXT("why", err->message);
    log_write_fields(config->log, LOG_INFO, what_happened, fields, count);
}

static void answer_as(struct call *call, struct str result, const char *what_happened,
                      const struct err *err)
{
    const struct calls_config *config = &call->calls->config;

    calls_enter(call, CALL_ENDED);
    tell(call, what_happened, err);
    config->answer(config->data, call->id, result);
    free_call(call);
}

/* What a command has printed cannot look like it: quotes are escaped in there. */
static bool has_timed_out(struct str result)
{
    return str_find(result, STR("\"timedOut\":true")) != SIZE_MAX;
}

void calls_answer(struct call *call, struct str result)
{
    struct err failure = ERR_INIT;

    if (calls_read_failure(result, &failure))
        answer_as(call, result, "failed", &failure);
    else if (calls_is_command(call) && has_timed_out(result))
        answer_as(call, result, "timed out", NULL);
    else
        answer_as(call, result, "done", NULL);
}

void calls_answer_question(struct call *call, struct str result)
{
    answer_as(call, result, "asked", NULL);
}

void calls_drop(struct call *call)
{
    calls_enter(call, CALL_ENDED);
    free_call(call);
}

static void answer_error(const struct calls *calls, struct str id, const struct err *err)
{
    cleanup_buf struct buf result = BUF_INIT(CALLS_RESULT_BYTES);

    /* Only memory can be missing, and then the server's own time ends it. */
    if (toolresult_write_error(err, &result) == 0)
        calls->config.answer(calls->config.data, id, buf_view(&result));
}

void calls_fail(struct call *call, const struct err *err)
{
    calls_enter(call, CALL_ENDED);
    tell(call, err_category(err->code) == ERR_POLICY ? "refused" : "failed", err);
    answer_error(call->calls, call->id, err);
    free_call(call);
}

void calls_fail_plainly(struct call *call, int code)
{
    struct err err = ERR_INIT;

    err_set_plain(&err, code);
    calls_fail(call, &err);
}

static void fail_late(struct call *call, const char *why)
{
    struct err err = ERR_INIT;

    err_set(&err, ERR_TIMED_OUT, "%s", why);
    calls_fail(call, &err);
}

void calls_fail_late(struct call *call)
{
    fail_late(call, TOO_LATE);
}

/*
 * The server has given it up: nobody need be asked any more, and nothing need be done. A command
 * has a time of its own, which its user has set.
 */
static void on_deadline(void *data)
{
    struct call *call = data;

    call->is_late = true;
    switch (call->state) {
    case CALL_ASKING:
        fail_late(call, "the user did not answer in time; ask what to do instead");
        break;
    case CALL_PREPARING:
    case CALL_PREVIEWING:
        if (!call->is_away)
            calls_fail_late(call);
        break;
    case CALL_RUNNING: /* how it ends is for the record */
        if (!calls_is_command(call))
            hostlink_cancel(call->calls->config.link, call->number);
        break;
    case CALL_KEEPING: /* the answer is kept, and the call ends then */
    case CALL_ENDED:
        break;
    }
}

/* ---- at work elsewhere ---- */

/*
 * A worker that hangs in the kernel keeps the call, which is answered and left to it; the pool has
 * a ceiling for those.
 */
static void give_up(struct call *call, int result)
{
    struct err err = ERR_INIT;

    calls_enter(call, CALL_ENDED);
    if (!call->is_forgotten) {
        err_set_plain(&err, result);
        tell(call, "failed", &err);
        answer_error(call->calls, call->id, &err);
    }
    free_call(call);
}

static void on_worked(void *context, int result, void *data)
{
    struct call *call = context;

    if (data == NULL)
        give_up(call, result);
    else
        call->worked(call, result);
}

/* On the worker's thread where the call was given up; what is counted is left to it until then. */
static void end_work(void *data)
{
    struct call *call = data;
    struct calls *calls = call->calls;

    let_go(call);
    atomic_fetch_sub_explicit(&calls->at_work, 1, memory_order_release);
}

void calls_work(struct call *call, int (*work)(void *data, struct cancel *token),
                void (*done)(struct call *call, int result), int64_t timeout_ms)
{
    const struct worker_job job = {.run = work,
                                   .done = on_worked,
                                   .free_data = end_work,
                                   .data = call,
                                   .context = call,
                                   .timeout_ms = timeout_ms};
    struct calls *calls = call->calls;
    uint64_t id;
    int r;

    atomic_fetch_add_explicit(&call->holders, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&calls->at_work, 1, memory_order_relaxed);
    r = worker_submit(call->state == CALL_KEEPING ? calls->keepers : calls->pool, &job, &id);
    call->worked = done;
    call->is_away = r == 0;
    if (r < 0) {
        end_work(call);
        calls_fail_plainly(call, r);
    }
}

bool calls_is_back(struct call *call)
{
    call->is_away = false;
    if (!call->is_forgotten)
        return true;
    calls_drop(call);
    return false;
}

/* ---- doing it ---- */

bool calls_is_command(const struct call *call)
{
    return shell_has(call->tool);
}

void calls_run(struct call *call)
{
    int r;

    if (call->is_late) {
        calls_fail_late(call);
        return;
    }
    r = calls_is_command(call) ? 0 : calls_note_intents(call);
    if (r < 0) {
        calls_fail_plainly(call, r);
        return;
    }
    calls_enter(call, CALL_RUNNING);
    if (calls_is_command(call))
        calls_run_command(call);
    else
        hostlink_run(call->calls->config.link, call->number);
}

/* ---- arriving ---- */

static int copy_call(struct call *call, const struct gateway_call *given)
{
    const char *id = arena_copy(&call->arena, given->id);
    const struct json_value *copy = json_copy(&call->arena, given->arguments);

    if (id == NULL || copy == NULL)
        return call->arena.error;
    call->id = (struct str){id, given->id.len};
    return confirmation_take(&call->arena, copy, &call->arguments, &call->confirmation);
}

bool calls_hold_too_much(const struct calls *calls)
{
    size_t held = 0;

    list_each (node, &calls->all)
        held += list_entry(node, struct call, node)->arena.held;
    return held > CALLS_MAX_HELD_BYTES;
}

static int new_call(struct calls *calls, const struct gateway_call *given, struct call **out_call)
{
    struct call *call = calloc(1, sizeof(*call));
    int r;

    if (call == NULL)
        return ERR_NO_MEMORY;
    call->calls = calls;
    atomic_init(&call->holders, 1);
    call->state = CALL_PREPARING;
    call->since_ms = loop_now_ms(calls->config.loop);
    call->decision.source = PERMISSION_BY_MODE;
    list_init(&call->node);
    list_append(&calls->all, &call->node);
    arena_init(&call->arena, ARENA_BYTES);
    timer_init(&call->deadline, calls->config.loop, on_deadline, call);
    r = copy_call(call, given);
    if (r == 0 && calls_hold_too_much(calls))
        r = ERR_BUSY;
    if (r < 0)
        free_call(call);
    else
        *out_call = call;
    return r;
}

/* Before it was a call: said all the same, or a server could try for ever unseen. */
static void refuse(struct calls *calls, const struct gateway_call *given, const char *what_happened,
                   const struct err *err)
{
    log_write(calls->config.log, LOG_INFO, what_happened, LOG_STR("tool", given->name),
              LOG_TEXT("why", err->message));
    answer_error(calls, given->id, err);
}

void calls_begin(struct calls *calls, const struct gateway_call *given)
{
    const struct catalog_tool *tool = catalog_find(given->name);
    struct err err = ERR_INIT;
    struct call *call;
    int r;

    if (tool == NULL || !calls->config.offers(calls->config.data, tool)) {
        err_set(&err, ERR_NOT_FOUND, "there is no tool '%.*s' here", STR_ARG(given->name));
        if (tool != NULL)
            calls_note_not_offered(calls, tool);
        refuse(calls, given, "refused", &err);
        return;
    }
    r = new_call(calls, given, &call);
    if (r < 0) {
        err_set_plain(&err, r);
        refuse(calls, given, "failed", &err);
        return;
    }
    call->tool = tool;
    timer_start(&call->deadline, given->shape == GATEWAY_SHAPE_DATA ? CALLS_SEED_MS : CALLS_N8N_MS);
    if (calls_is_command(call))
        calls_prepare_command(call);
    else
        calls_prepare(call);
}

void calls_end_session(struct calls *calls)
{
    list_each (node, &calls->all)
        list_entry(node, struct call, node)->is_forgotten = true;
    if (calls->config.shell != NULL)
        shell_end_session(calls->config.shell, calls);
    list_each_safe (node, &calls->all) {
        struct call *call = list_entry(node, struct call, node);

        if (call->is_away)
            continue; /* goes when it is given back */
        if (call->state == CALL_RUNNING)
            hostlink_cancel(calls->config.link, call->number); /* goes with its last answer */
        else
            calls_drop(call);
    }
    if (calls->confirmations != NULL)
        confirmations_forget_all(calls->confirmations);
    permission_end_session(keeper_permission(calls->config.keeper));
}

int calls_new(const struct calls_config *config, struct calls **out_calls)
{
    struct worker_config workers = {.threads = WORKERS,
                                    .queue_max = MOST_WAITING,
                                    .abandoned_max = WORKERS,
                                    .grace_ms = UNDERSTANDING_GRACE_MS};
    struct calls *calls = calloc(1, sizeof(*calls));
    int r;

    if (calls == NULL)
        return ERR_NO_MEMORY;
    calls->config = *config;
    atomic_init(&calls->at_work, 0);
    list_init(&calls->all);
    r = worker_pool_new(config->loop, &workers, &calls->pool);
    workers.grace_ms = KEEPING_GRACE_MS;
    if (r == 0)
        r = worker_pool_new(config->loop, &workers, &calls->keepers);
    if (r == 0 && config->desk == NULL)
        r = confirmations_new(&clock_system, &calls->confirmations);
    if (r < 0) {
        calls_free(calls);
        return r;
    }
    *out_calls = calls;
    return 0;
}

bool calls_stop_workers(struct calls *calls)
{
    worker_pool_free(calls->pool);
    calls->pool = NULL;
    worker_pool_free(calls->keepers);
    calls->keepers = NULL;
    return atomic_load_explicit(&calls->at_work, memory_order_acquire) == 0;
}

void calls_free(struct calls *calls)
{
    bool is_alone;

    if (calls == NULL)
        return;
    is_alone = calls_stop_workers(calls);
    /* How those end that run at the toolhost nobody hears any more, and the record says so. */
    list_each_safe (node, &calls->all)
        calls_drop(list_entry(node, struct call, node));
    confirmations_free(calls->confirmations);
    /* SAFETY: a thread that hangs looks at it when it goes on, so it has it for good. */
    if (is_alone)
        free(calls);
}
