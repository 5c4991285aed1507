/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/calls.h"

#include <assert.h>
#include <stdlib.h>

#include "base/jsonwrite.h"
#include "daemon/calls_internal.h"
#include "protocol/toolresult.h"

enum {
    ARENA_BYTES = 96 << 20,
    RESULT_BYTES = 4 << 20, /* of what is said here: an error, a question for the instance */
    /* For the settings, which another program may have. */
    KEEPING_GRACE_MS = SETTINGS_FILE_WAIT_MS + 1000,
    WORKERS = 4,
    MOST_WAITING = 128,
    ONCE = 1U << CHOICE_DENY_ONCE | 1U << CHOICE_ALLOW_ONCE | 1U << CHOICE_ALLOW_SESSION,
    ALWAYS = 1U << CHOICE_ALWAYS_ALLOW | 1U << CHOICE_ALWAYS_DENY,
};

static void prepare(struct call *call);

/* ---- the end of a call ---- */

static void free_call(struct call *call)
{
    list_remove(&call->node);
    timer_stop(&call->deadline);
    shell_drop(call->shell_call);
    arena_done(&call->arena);
    free(call);
}

/* The only place where a state changes. Whatever waits for the call elsewhere is called back. */
static void enter(struct call *call, enum call_state next)
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
            desk_cancel(config->desk, call->question, DESK_CANCELLED);
        if (call->number != 0)
            hostlink_forget(config->link, call->number);
        call->number = 0;
        break;
    }
}

/* A line for the person who watches. */
static void tell(const struct call *call, const char *what_happened, const struct err *err)
{
    const struct calls_config *config = &call->calls->config;

    log_write(config->log, LOG_INFO, what_happened, LOG_STR("tool", call->tool->name),
              LOG_STR("on", call->resource_count > 0 ? permission_resource_name(call->resources)
                                                     : STR_EMPTY),
              LOG_TEXT("by", permission_source_name(call->decision.source)),
              LOG_INT("ms", loop_now_ms(config->loop) - call->since_ms),
              LOG_TEXT("why", err != NULL ? err->message : ""));
}

void calls_answer(struct call *call, struct str result)
{
    const struct calls_config *config = &call->calls->config;

    enter(call, CALL_ENDED);
    tell(call, "done", NULL);
    config->answer(config->data, call->id, result);
    free_call(call);
}

static void answer_error(const struct calls *calls, struct str id, const struct err *err)
{
    cleanup_buf struct buf result = BUF_INIT(RESULT_BYTES);

    /* Only memory can be missing, and then the server's own time ends it. */
    if (toolresult_write_error(err, &result) == 0)
        calls->config.answer(calls->config.data, id, buf_view(&result));
}

void calls_fail(struct call *call, const struct err *err)
{
    enter(call, CALL_ENDED);
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

/* The server has given it up. What runs ends by itself. */
static void on_deadline(void *data)
{
    struct call *call = data;
    struct err err = ERR_INIT;

    if (call->state != CALL_ASKING)
        return;
    desk_cancel(call->calls->config.desk, call->question, DESK_TIMED_OUT);
    err_set(&err, ERR_TIMED_OUT, "the user did not answer in time; ask what to do instead");
    calls_fail(call, &err);
}

/* ---- at work elsewhere ---- */

/*
 * A worker that hangs in the kernel keeps the call, which is answered and left to it for good; the
 * pool has a ceiling for those.
 */
static void give_up(struct call *call, int result)
{
    struct err err = ERR_INIT;

    list_remove(&call->node);
    timer_stop(&call->deadline);
    if (call->is_forgotten)
        return;
    err_set_plain(&err, result);
    answer_error(call->calls, call->id, &err);
}

static void on_worked(void *context, int result, void *data)
{
    struct call *call = context;

    if (data == NULL)
        give_up(call, result);
    else
        call->worked(call, result);
}

void calls_work(struct call *call, int (*work)(void *data, struct cancel *token),
                void (*done)(struct call *call, int result), int64_t timeout_ms)
{
    const struct worker_job job = {
        .run = work, .done = on_worked, .data = call, .context = call, .timeout_ms = timeout_ms};
    uint64_t id;
    int r = worker_submit(call->calls->pool, &job, &id);

    call->worked = done;
    call->is_away = r == 0;
    if (r < 0)
        calls_fail_plainly(call, r);
}

bool calls_is_back(struct call *call)
{
    call->is_away = false;
    if (!call->is_forgotten)
        return true;
    free_call(call);
    return false;
}

/* ---- doing it ---- */

static bool is_command(const struct call *call)
{
    return shell_has(call->tool);
}

void calls_run(struct call *call)
{
    int r = is_command(call) ? 0 : calls_note_intents(call);

    if (r < 0) {
        calls_fail_plainly(call, r);
        return;
    }
    enter(call, CALL_RUNNING);
    if (is_command(call))
        calls_run_command(call);
    else
        hostlink_run(call->calls->config.link, call->number);
}

/* ---- asking ---- */

static void on_desk_answer(void *data, uint64_t id, enum permission_choice choice, const char *by)
{
    struct call *call = data;
    struct err err = ERR_INIT;

    (void)id;
    if (by == NULL) {
        err_set(&err, ERR_ASK_UNAVAILABLE, "the terminal to ask on is gone");
        call->state = CALL_PREVIEWING; /* nothing stands at the desk any more */
        calls_fail(call, &err);
        return;
    }
    call->has_answer = true;
    call->answer = choice;
    call->answer_mark = call->decision.mark;
    if (is_command(call)) {
        enter(call, CALL_PREPARING);
        calls_decide(call);
    } else {
        prepare(call);
    }
}

static void ask_at_desk(struct call *call)
{
    struct err err = ERR_INIT;
    int r;

    enter(call, CALL_ASKING);
    r = desk_ask(call->calls->config.desk, &call->decision.question, on_desk_answer, call,
                 &call->question);
    if (r == 0)
        return;
    call->state = CALL_PREVIEWING;
    err_set(&err, r, "too many questions wait for the user already");
    calls_fail(call, &err);
}

static void answer_question(struct call *call, struct str result)
{
    const struct calls_config *config = &call->calls->config;

    enter(call, CALL_ENDED);
    tell(call, "asked", NULL);
    config->answer(config->data, call->id, result);
    free_call(call);
}

/* As an error, which is also the structured content: there the instance looks for it. */
static int write_confirmation(struct str text, struct buf *out)
{
    cleanup_buf struct buf object = BUF_INIT(2 * RESULT_BYTES);
    struct json_writer json;
    int r;

    json_writer_init(&json, &object);
    json_begin_object(&json);
    json_key(&json, STR("error"));
    json_write_str(&json, text);
    json_end_object(&json);
    r = json_writer_finish(&json);
    return r == 0 ? toolresult_write(out, buf_view(&object), buf_view(&object), true) : r;
}

/* The question is the answer, and the next call brings what was said to it. */
static void ask_instance(struct call *call)
{
    cleanup_buf struct buf text = BUF_INIT(RESULT_BYTES);
    cleanup_buf struct buf result = BUF_INIT(8 * RESULT_BYTES);
    int r = confirmation_write(&call->decision.question, &text);

    if (r == 0)
        r = write_confirmation(buf_view(&text), &result);
    if (r == 0)
        r = confirmations_expect(call->calls->confirmations, &call->decision.question,
                                 call->arguments);
    if (r < 0)
        calls_fail_plainly(call, r);
    else
        answer_question(call, buf_view(&result));
}

static void ask(struct call *call)
{
    if (call->calls->config.desk != NULL)
        ask_at_desk(call);
    else
        ask_instance(call);
}

static void on_previewed(void *data, struct str body)
{
    struct call *call = data;
    struct err err = ERR_INIT;

    if (calls_read_previewed(call, body, &err) < 0) {
        calls_fail(call, &err);
        return;
    }
    /* It is prepared once more with the answer; until then nothing is held. */
    hostlink_forget(call->calls->config.link, call->number);
    call->number = 0;
    ask(call);
}

/* ---- deciding ---- */

static struct decision_terms terms_of(const struct call *call)
{
    const struct calls_config *config = &call->calls->config;
    bool is_here = config->desk != NULL;

    return (struct decision_terms){
        .keeper = config->keeper,
        .can_ask = !is_here || desk_has_surface(config->desk),
        .is_by_client = !is_here,
        .choices = ONCE | (is_here && keeper_saves(config->keeper) ? ALWAYS : 0),
        .how_to_ask = "the terminal is gone; start gatehouse connect again",
        .has_answer = call->has_answer,
        .answer = call->answer,
        .mark = call->answer_mark,
    };
}

static void note_refusal(void *data, const struct permission_resource *resource, const char *source,
                         int code)
{
    struct call *call = data;

    if (is_command(call))
        call->refused_by = source; /* the shell records it, on the loop */
    else
        calls_note_refusal(call, resource, source, code);
}

static int make_decision(struct call *call)
{
    const struct decision_terms terms = terms_of(call);
    const struct decision_subject subject = {
        .tool = call->tool,
        .resources = call->resources,
        .count = call->resource_count,
        .mark = call->mark,
        .refused = note_refusal,
        .data = call,
    };

    return decision_make(&terms, &subject, &call->arena, NULL, &call->decision, &call->err);
}

/* The answer that the instance brought, if it was asked just this. */
static bool use_confirmation(struct call *call)
{
    struct str text = call->confirmation;
    enum permission_choice choice;

    call->confirmation = STR_EMPTY; /* it counts once */
    if (call->calls->confirmations == NULL || text.len == 0 ||
        confirmations_use(call->calls->confirmations, &call->decision.question, call->arguments,
                          text, &choice) < 0)
        return false;
    call->has_answer = true;
    call->answer = choice;
    call->answer_mark = call->decision.mark;
    return true;
}

static void follow_decision(struct call *call, int r)
{
    if (call->decision.unkept.code < 0)
        log_error(call->calls->config.log, "what was decided for good holds for this session only",
                  &call->decision.unkept);
    if (r < 0) {
        if (is_command(call) && call->refused_by != NULL)
            calls_refuse_command(call, call->refused_by, r);
        calls_fail(call, &call->err);
        return;
    }
    if (!call->decision.asks) {
        calls_run(call);
        return;
    }
    if (use_confirmation(call)) {
        calls_decide(call);
        return;
    }
    if (is_command(call)) {
        calls_describe_command(call);
        ask(call);
        return;
    }
    enter(call, CALL_PREVIEWING);
    hostlink_preview(call->calls->config.link, call->number, call->decision.telling);
}

/* ---- keeping an answer for good, on a worker ---- */

static int keep(void *data, struct cancel *token)
{
    (void)token;
    return make_decision(data);
}

static void on_kept(struct call *call, int result)
{
    hostlink_tell_rules(call->calls->config.link);
    if (!calls_is_back(call))
        return;
    if (!is_command(call) && call->number == 0) { /* its toolhost has gone meanwhile */
        err_set_plain(&call->err, ERR_IO);
        result = ERR_IO;
    }
    follow_decision(call, result);
}

void calls_decide(struct call *call)
{
    if (!call->has_answer || (1U << call->answer & ALWAYS) == 0) {
        follow_decision(call, make_decision(call));
        return;
    }
    enter(call, CALL_KEEPING);
    calls_work(call, keep, on_kept, WORKER_NO_DEADLINE);
}

/* ---- the toolhost's part ---- */

static void on_prepared(void *data, struct str body)
{
    struct call *call = data;
    struct err err = ERR_INIT;

    if (calls_read_prepared(call, body, &err) < 0)
        calls_fail(call, &err);
    else
        calls_decide(call);
}

static void on_end(void *data, struct str result, const struct err *err, bool has_begun)
{
    struct call *call = data;

    call->number = 0;
    if (call->state == CALL_KEEPING)
        return; /* told when the worker is back */
    if (call->state == CALL_RUNNING && has_begun)
        calls_note_outcomes(call, err != NULL ? err->code : 0);
    else if (err != NULL && err_category(err->code) == ERR_POLICY)
        calls_note_error(call, err);
    if (err != NULL)
        calls_fail(call, err);
    else
        calls_answer(call, result);
}

static const struct hostlink_events events = {
    .on_prepared = on_prepared, .on_previewed = on_previewed, .on_end = on_end};

static void prepare(struct call *call)
{
    const struct calls_config *config = &call->calls->config;
    struct err err = ERR_INIT;

    enter(call, CALL_PREPARING);
    if (hostlink_prepare(config->link, call->tool->name, call->arguments, CALLS_TIMEOUT_MS, &events,
                         call, &call->number, &err) < 0)
        calls_fail(call, &err);
}

/* ---- arriving ---- */

/* The older dialect has two operations, which are tools by other names. */
static struct str tool_name(const struct gateway_call *given)
{
    if (given->shape == GATEWAY_SHAPE_DATA && str_eq_c(given->name, "read-file"))
        return STR("read_file");
    if (given->shape == GATEWAY_SHAPE_DATA && str_eq_c(given->name, "search-files"))
        return STR("search_files");
    return given->name;
}

static int copy_call(struct call *call, const struct gateway_call *given)
{
    const char *id = arena_copy(&call->arena, given->id);
    const struct json_value *copy = json_copy(&call->arena, given->arguments);

    if (id == NULL || copy == NULL)
        return call->arena.error;
    call->id = (struct str){id, given->id.len};
    return confirmation_take(&call->arena, copy, &call->arguments, &call->confirmation);
}

static size_t held_bytes(const struct calls *calls)
{
    size_t held = 0;

    list_each (node, &calls->all)
        held += list_entry(node, struct call, node)->arena.held;
    return held;
}

static int new_call(struct calls *calls, const struct gateway_call *given, struct call **out_call)
{
    struct call *call = calloc(1, sizeof(*call));
    int r;

    if (call == NULL)
        return ERR_NO_MEMORY;
    call->calls = calls;
    call->state = CALL_PREPARING;
    call->since_ms = loop_now_ms(calls->config.loop);
    call->decision.source = PERMISSION_BY_MODE;
    list_init(&call->node);
    list_append(&calls->all, &call->node);
    arena_init(&call->arena, ARENA_BYTES);
    timer_init(&call->deadline, calls->config.loop, on_deadline, call);
    r = copy_call(call, given);
    if (r == 0 && held_bytes(calls) > CALLS_MAX_HELD_BYTES)
        r = ERR_BUSY;
    if (r < 0)
        free_call(call);
    else
        *out_call = call;
    return r;
}

void calls_begin(struct calls *calls, const struct gateway_call *given)
{
    const struct catalog_tool *tool = catalog_find(tool_name(given));
    struct err err = ERR_INIT;
    struct call *call;
    int r;

    if (tool == NULL || !calls->config.offers(calls->config.data, tool)) {
        err_set(&err, ERR_NOT_FOUND, "there is no tool '%.*s' here", STR_ARG(given->name));
        answer_error(calls, given->id, &err);
        return;
    }
    r = new_call(calls, given, &call);
    if (r < 0) {
        err_set_plain(&err, r);
        answer_error(calls, given->id, &err);
        return;
    }
    call->tool = tool;
    timer_start(&call->deadline, given->shape == GATEWAY_SHAPE_DATA ? CALLS_SEED_MS : CALLS_N8N_MS);
    if (is_command(call))
        calls_prepare_command(call);
    else
        prepare(call);
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
            calls_note_outcomes(call, ERR_CANCELLED);
        enter(call, CALL_ENDED);
        free_call(call);
    }
    permission_end_session(keeper_permission(calls->config.keeper));
}

int calls_new(const struct calls_config *config, struct calls **out_calls)
{
    const struct worker_config workers = {.threads = WORKERS,
                                          .queue_max = MOST_WAITING,
                                          .abandoned_max = WORKERS,
                                          .grace_ms = KEEPING_GRACE_MS};
    struct calls *calls = calloc(1, sizeof(*calls));
    int r;

    if (calls == NULL)
        return ERR_NO_MEMORY;
    calls->config = *config;
    list_init(&calls->all);
    r = worker_pool_new(config->loop, &workers, &calls->pool);
    if (r == 0 && config->desk == NULL)
        r = confirmations_new(&clock_system, &calls->confirmations);
    if (r < 0) {
        calls_free(calls);
        return r;
    }
    *out_calls = calls;
    return 0;
}

void calls_free(struct calls *calls)
{
    if (calls == NULL)
        return;
    if (calls->pool != NULL)
        worker_pool_free(calls->pool);
    confirmations_free(calls->confirmations);
    free(calls);
}
