/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a call may be done: decided, asked about where it has to be, and kept for good. */
#include "daemon/calls_internal.h"

#include "base/jsonwrite.h"
#include "protocol/toolresult.h"

enum {
    ONCE = 1U << CHOICE_DENY_ONCE | 1U << CHOICE_ALLOW_ONCE | 1U << CHOICE_ALLOW_SESSION,
    ALWAYS = 1U << CHOICE_ALWAYS_ALLOW | 1U << CHOICE_ALWAYS_DENY,
};

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
    if (calls_is_command(call)) {
        calls_enter(call, CALL_PREPARING);
        calls_decide(call);
    } else {
        calls_prepare(call);
    }
}

static void ask_at_desk(struct call *call)
{
    struct err err = ERR_INIT;
    int r;

    calls_enter(call, CALL_ASKING);
    r = desk_ask(call->calls->config.desk, &call->decision.question, on_desk_answer, call,
                 &call->question);
    if (r == 0)
        return;
    call->state = CALL_PREVIEWING;
    err_set(&err, r, "too many questions wait for the user already");
    calls_fail(call, &err);
}

/* As an error, which is also the structured content: there the instance looks for it. */
static int write_confirmation(struct str text, struct buf *out)
{
    cleanup_buf struct buf object = BUF_INIT(2 * CALLS_RESULT_BYTES);
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
    cleanup_buf struct buf text = BUF_INIT(CALLS_RESULT_BYTES);
    cleanup_buf struct buf result = BUF_INIT(8 * CALLS_RESULT_BYTES);
    int r = confirmation_write(&call->decision.question, &text);

    if (r == 0)
        r = write_confirmation(buf_view(&text), &result);
    if (r == 0)
        r = confirmations_expect(call->calls->confirmations, &call->decision.question,
                                 call->arguments);
    if (r < 0)
        calls_fail_plainly(call, r);
    else
        calls_answer_question(call, buf_view(&result));
}

void calls_ask(struct call *call)
{
    if (call->is_late) /* while a worker had it */
        calls_fail_late(call);
    else if (call->calls->config.desk != NULL)
        ask_at_desk(call);
    else
        ask_instance(call);
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
        .how_to_ask = "no terminal is there for it; start gatehouse connect in one, without "
                      "--non-interactive",
        .has_answer = call->has_answer,
        .answer = call->answer,
        .mark = call->answer_mark,
    };
}

static void note_refusal(void *data, const struct permission_resource *resource, const char *source,
                         int code)
{
    struct call *call = data;

    if (calls_is_command(call))
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
        if (calls_is_command(call) && call->refused_by != NULL)
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
    if (calls_is_command(call)) {
        calls_describe_command(call);
        calls_ask(call);
        return;
    }
    calls_enter(call, CALL_PREVIEWING);
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
    if (!calls_is_command(call) && call->number == 0) { /* its toolhost has gone meanwhile */
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
    calls_enter(call, CALL_KEEPING);
    calls_work(call, keep, on_kept, WORKER_NO_DEADLINE);
}
