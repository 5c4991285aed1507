/* SPDX-License-Identifier: Apache-2.0 */
/* A call from state to state. */
#include "call/engine_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    ONCE = 1U << CHOICE_DENY_ONCE | 1U << CHOICE_ALLOW_ONCE | 1U << CHOICE_ALLOW_SESSION,
    ALWAYS = 1U << CHOICE_ALWAYS_ALLOW | 1U << CHOICE_ALWAYS_DENY,
    WIDER = 1U << CHOICE_ALLOW_FOLDER | 1U << CHOICE_ALLOW_MATCHING,
    WIDER_ALWAYS = 1U << CHOICE_ALWAYS_MATCHING,
};

static void decide(struct call *call);

/* ---- states ---- */

static bool is_asking(enum call_state state)
{
    return state == CALL_ASKING_USER || state == CALL_ASKING_CLIENT;
}

bool call_is_asking(const struct call *call)
{
    return is_asking(call->state);
}

static void stop_thinking(struct call *call)
{
    const struct call_engine_config *config = &call->engine->config;
    int64_t now_ms = loop_now_ms(config->loop);

    timer_stop(&call->waiting);
    if (config->charges_thinking)
        return;
    call->due_ms += now_ms - call->asked_ms;
    timer_start(&call->timer, call->due_ms - now_ms);
}

static void on_waiting(void *data)
{
    struct call *call = data;

    call->engine->config.on_progress(call->request.data, ++call->waited, 0,
                                     "waiting for the user's answer");
}

static void start_thinking(struct call *call)
{
    const struct call_engine_config *config = &call->engine->config;

    if (call->request.wants_progress && config->on_progress != NULL)
        timer_start_repeating(&call->waiting, CALL_WAIT_MS);
    call->asked_ms = loop_now_ms(config->loop);
    if (config->charges_thinking)
        return;
    timer_stop(&call->timer);
    if (call->state == CALL_ASKING_USER) /* clients have a time of their own */
        timer_start(&call->timer, config->ask_ms);
}

static void count_question(const struct call_engine *engine, enum call_state from,
                           enum call_state next)
{
    struct open_questions *questions = engine->config.questions;

    if (questions == NULL || is_asking(from) == is_asking(next))
        return;
    if (is_asking(next))
        open_questions_begin(questions);
    else
        open_questions_end(questions);
}

/* The only function that changes a state. */
static void enter(struct call *call, enum call_state next)
{
    enum call_state from = call->state;

    call->state = next;
    count_question(call->engine, from, next);
    if (is_asking(from))
        stop_thinking(call);
    switch (next) {
    case CALL_NEW:
    case CALL_PREPARING:
        assert(from == CALL_NEW || is_asking(from));
        return;
    case CALL_SAVING:
        assert(from == CALL_PREPARING);
        return;
    case CALL_PREVIEWING:
        assert(from == CALL_PREPARING || from == CALL_SAVING);
        return;
    case CALL_ASKING_USER:
    case CALL_ASKING_CLIENT:
        assert(from == CALL_PREPARING || from == CALL_SAVING || from == CALL_PREVIEWING);
        start_thinking(call);
        return;
    case CALL_RUNNING:
        assert(from == CALL_PREPARING || from == CALL_SAVING);
        return;
    case CALL_ENDED:
        assert(from != CALL_ENDED);
        timer_stop(&call->timer);
        if (from == CALL_ASKING_USER)
            question_queue_cancel(call->engine->config.queue, call->question,
                                  call->is_late ? QUESTION_QUEUE_TIMED_OUT
                                                : QUESTION_QUEUE_CANCELLED);
        if (call->saving != NULL)
            saving_forget_call(call->saving);
        return;
    }
}

/* ---- ends ---- */

/* Unlinks and frees the call. */
void call_free(struct call *call)
{
    struct call_engine *engine = call->engine;

    if (call->state != CALL_ENDED)
        enter(call, CALL_ENDED);
    list_remove(&call->link);
    engine->held -= call->held;
    work_release(call->work);
    call_input_unref(call->request.input);
    free(call);
}

void call_end_with(struct call *call, const struct call_end *end)
{
    const struct call_engine_config *config = &call->engine->config;

    enter(call, CALL_ENDED);
    config->on_end(config->data, call, end);
    call_free(call);
}

static void fail(struct call *call, const struct err *err)
{
    call_end_with(call, &(struct call_end){.outcome = CALL_FAILED, .err = *err});
}

void call_fail_plainly(struct call *call, int code)
{
    struct err err = ERR_INIT;

    err_set_plain(&err, code);
    fail(call, &err);
}

/* Fails a call that was not started. */
static void fail_unbegun(struct call *call, int code)
{
    struct err err = ERR_INIT;

    if (call->is_late)
        err_set(&err, ERR_TIMED_OUT, "it timed out before it could start");
    else
        err_set_plain(&err, code);
    fail(call, &err);
}

/* Cancels what the executor still does; on_end may come later, and then ends the call. */
void call_give_up(struct call *call, int why)
{
    switch (call->state) {
    case CALL_PREPARING:
    case CALL_PREVIEWING:
    case CALL_RUNNING:
        call->work->ops->cancel(call->work, why);
        return;
    case CALL_NEW:
    case CALL_SAVING: /* the answer is saved all the same */
    case CALL_ASKING_USER:
    case CALL_ASKING_CLIENT:
        fail_unbegun(call, why);
        return;
    case CALL_ENDED:
        return;
    }
}

/* ---- asking ---- */

unsigned call_engine_choices(const struct call_engine *engine)
{
    const struct call_engine_config *config = &engine->config;

    return ONCE | (config->keeps_clients_answers && keeper_saves(config->keeper) ? ALWAYS : 0);
}

static unsigned user_choices(const struct call_engine *engine)
{
    return ONCE | WIDER | (keeper_saves(engine->config.keeper) ? ALWAYS | WIDER_ALWAYS : 0);
}

/* The present terms of the decision. */
static struct decision_terms terms_of(const struct call *call)
{
    const struct call_engine *engine = call->engine;
    const struct call_engine_config *config = &engine->config;
    bool is_by_client = config->queue == NULL || !question_queue_has_surface(config->queue);

    return (struct decision_terms){
        .keeper = config->keeper,
        .can_ask = !engine->is_alone && (!is_by_client || config->can_ask == NULL ||
                                         config->can_ask(config->data, call)),
        .is_by_client = is_by_client,
        .choices = is_by_client ? call_engine_choices(engine) : user_choices(engine),
        .how_to_ask = config->how_to_ask,
        .has_answer = call->request.has_answer,
        .answer = call->request.answer,
        .answered = call->is_users ? user_choices(engine) : call_engine_choices(engine),
        .mark = call->request.mark,
        .unanswered_ms = call->unanswered_ms,
    };
}

static void set_answer(struct call *call, enum permission_choice choice, uint64_t mark,
                       bool is_users)
{
    call->is_users = is_users;
    call->unanswered_ms = 0;
    call->request.has_answer = true;
    call->request.answer = choice;
    call->request.mark = mark;
}

void call_try_with(struct call *call, enum permission_choice choice, bool is_users)
{
    set_answer(call, choice, call->mark, is_users);
    call_prepare(call);
}

/* No answer means denied. */
static void try_unanswered(struct call *call, bool is_users)
{
    set_answer(call, CHOICE_DENY_ONCE, call->mark, is_users);
    call->unanswered_ms = loop_now_ms(call->engine->config.loop) - call->asked_ms;
    call_prepare(call);
}

static void on_user_answer(void *data, uint64_t id, enum permission_choice choice, const char *by)
{
    struct call *call = data;

    (void)id;
    if (by != NULL)
        call_try_with(call, choice, true);
    else
        call_prepare(call); /* the terminal is gone: the client is asked, or nobody can be */
}

void call_answer(struct call *call, enum permission_choice choice)
{
    if (call->state == CALL_ASKING_CLIENT)
        call_try_with(call, choice, false);
}

void call_lapse(struct call *call)
{
    if (call->state == CALL_ASKING_CLIENT)
        try_unanswered(call, false);
}

/* The queue may answer before it returns; then the call may be freed. */
static void ask_user(struct call *call)
{
    struct question question = call->work->decision.question;
    struct err err = ERR_INIT;
    int r;

    question.client = call->request.input->client;
    question.is_private = call->work->decision.disclosure != DECISION_DISCLOSES_ALL;
    enter(call, CALL_ASKING_USER);
    r = question_queue_ask(call->engine->config.queue, &question, on_user_answer, call,
                           &call->question);
    if (r == 0)
        return;
    err_set(&err, r, "too many questions are already waiting for the user; try again later");
    fail(call, &err);
}

/* The answer comes with another call. */
static void hand_out(struct call *call)
{
    struct call_engine *engine = call->engine;

    call_free(call);
    if (engine->config.questions == NULL)
        return;
    open_questions_hand_out(engine->config.questions);
    timer_start(&engine->handed_out, OPENQUESTIONS_HANDED_OUT_MS);
}

static void ask_client(struct call *call)
{
    const struct call_engine_config *config = &call->engine->config;
    struct err err = ERR_INIT;
    int r;

    enter(call, CALL_ASKING_CLIENT);
    r = config->ask(config->data, call, &call->work->decision.question, call->mark, &err);
    if (r < 0)
        fail(call, &err);
    else if (r > 0)
        hand_out(call);
}

static void ask(struct call *call)
{
    struct call_engine *engine = call->engine;

    call->mark = call->work->decision.mark;
    call->work->ops->drop(call->work); /* it is prepared once more with the answer */
    if (engine->is_alone) {            /* the client left while the question was made */
        enter(call, CALL_ASKING_CLIENT);
        call_try_with(call, CHOICE_DENY_ONCE, true);
    } else if (!call->work->terms.is_by_client) { /* the client must not see what it tells */
        ask_user(call);
    } else {
        ask_client(call);
    }
}

/* ---- deciding ---- */

bool call_is_over_ceiling(struct call *call)
{
    struct call_engine *engine = call->engine;
    size_t held =
        call->request.input->arena.held + (call->work != NULL ? call->work->arena.held : 0);

    if (engine->config.max_held_bytes == 0)
        return false;
    engine->held += held - call->held;
    call->held = held;
    return engine->held > engine->config.max_held_bytes;
}

/* False: the call has ended. */
static bool may_go_on(struct call *call)
{
    if (!call->engine->is_closed && !call_is_over_ceiling(call))
        return true;
    call_fail_plainly(call, call->engine->is_closed ? ERR_CANCELLED : ERR_BUSY);
    return false;
}

static void note_decision(struct call *call, const struct decision *decision)
{
    call->source = decision->source;
    memcpy(call->rule, decision->rule, sizeof(call->rule));
    if (decision->unkept.code < 0)
        log_write(call->engine->config.log, LOG_WARN,
                  "cannot save the answer: it applies to this session only",
                  LOG_TEXT("error", decision->unkept.message));
}

static void run(struct call *call)
{
    int r;

    enter(call, CALL_RUNNING);
    r = call->work->ops->run(call->work);
    if (r < 0)
        call_fail_plainly(call, r);
    else if (call->state == CALL_RUNNING && call->work->keeps_own_time)
        timer_stop(&call->timer);
}

static void refuse(struct call *call)
{
    struct work *work = call->work;

    if (work->refused != NULL)
        work->ops->refused(work);
    call_end_with(call, &(struct call_end){.outcome = CALL_REFUSED,
                                           .err = work->err,
                                           .refused_by = work->refused_by});
}

void call_engine_come_back(struct call_engine *engine)
{
    if (engine->config.questions == NULL)
        return;
    open_questions_come_back(engine->config.questions);
    if (engine->config.questions->handed_out == 0)
        timer_stop(&engine->handed_out);
}

static bool find_answer(struct call *call)
{
    const struct call_engine_config *config = &call->engine->config;
    const struct decision *decision = &call->work->decision;
    enum permission_choice choice;

    if (config->find_answer == NULL ||
        !config->find_answer(config->data, call, &decision->question, &choice))
        return false;
    call_engine_come_back(call->engine);
    set_answer(call, choice, decision->mark, false);
    return true;
}

static void follow_decision(struct call *call, int r)
{
    struct work *work = call->work;

    note_decision(call, &work->decision);
    if (r < 0) {
        refuse(call);
    } else if (!work->decision.asks) {
        run(call);
    } else if (find_answer(call)) {
        decide(call);
    } else {
        enter(call, CALL_PREVIEWING);
        work->ops->preview(work, work->decision.disclosure);
    }
}

/* ---- saving a lasting answer ---- */

void call_on_saved(void *data, void *saved, int result, bool is_stuck)
{
    const struct call_engine_config *config = &((struct call_engine *)data)->config;
    struct call *call = saved;

    for (size_t i = 0; i < config->executor_count; i++)
        if (config->executors[i]->ops->rules_changed != NULL)
            config->executors[i]->ops->rules_changed(config->executors[i]);
    if (call == NULL)
        return;
    call->saving = NULL;
    if (is_stuck)
        call_fail_plainly(call, result);
    else
        follow_decision(call, result);
}

static void save_answer(struct call *call)
{
    int r;

    enter(call, CALL_SAVING);
    r = saving_start(call->engine->savers, call->work, call, &call->saving);
    if (r < 0)
        call_fail_plainly(call, r);
}

static void decide(struct call *call)
{
    struct work *work = call->work;

    work->terms = terms_of(call);
    if (work->terms.has_answer && (1U << work->terms.answer & (ALWAYS | WIDER_ALWAYS)) != 0)
        save_answer(call);
    else
        follow_decision(call, executor_decide(work, false, NULL));
}

/* ---- from the executor ---- */

static void on_prepared(void *data)
{
    struct call *call = data;

    if (may_go_on(call))
        decide(call);
}

static void on_previewed(void *data)
{
    struct call *call = data;

    if (may_go_on(call))
        ask(call);
}

static void on_progress(void *data, uint64_t done, uint64_t total, const char *what)
{
    const struct call *call = data;
    const struct call_engine_config *config = &call->engine->config;

    if (config->on_progress != NULL)
        config->on_progress(call->request.data, done, total, what);
}

static void on_end(void *data, const struct work_end *end)
{
    struct call *call = data;
    struct call_end told = {.result = end->result, .change = end->change};

    if (end->decision != NULL)
        note_decision(call, end->decision);
    if (end->err != NULL) {
        told.outcome = end->is_refusal ? CALL_REFUSED : CALL_FAILED;
        told.err = *end->err;
    }
    if (end->err != NULL && end->is_refusal && call->work != NULL)
        told.refused_by = call->work->refused_by;
    if (told.outcome == CALL_FAILED && call->is_late && !end->has_begun)
        fail_unbegun(call, ERR_TIMED_OUT);
    else
        call_end_with(call, &told);
}

static const struct work_events events = {
    .on_prepared = on_prepared,
    .on_decided = on_previewed,
    .on_previewed = on_previewed,
    .on_progress = on_progress,
    .on_end = on_end,
};

void call_prepare(struct call *call)
{
    const struct decision_terms terms = terms_of(call);
    const struct work_request request = {
        .input = call->request.input,
        .terms = &terms,
        .session = call->request.session,
        .wants_progress = call->request.wants_progress,
        .events = &events,
        .data = call,
    };
    struct err err = ERR_INIT;

    enter(call, CALL_PREPARING);
    work_release(steal_ptr(&call->work));
    if (call->executor->ops->prepare(call->executor, &request, &call->work, &err) < 0)
        fail(call, &err);
}

/* ---- time ---- */

static void on_timer(void *data)
{
    struct call *call = data;
    const struct call_engine_config *config = &call->engine->config;
    struct err err = ERR_INIT;

    if (call->state == CALL_ASKING_USER && !config->charges_thinking) {
        question_queue_cancel(config->queue, call->question, QUESTION_QUEUE_TIMED_OUT);
        try_unanswered(call, true);
        return;
    }
    call->is_late = true;
    if (is_asking(call->state)) {
        err_set(&err, ERR_TIMED_OUT,
                "the user did not answer in time; ask them what to do instead");
        fail(call, &err);
    } else {
        call_give_up(call, ERR_TIMED_OUT);
    }
}

void call_init_timers(struct call *call)
{
    timer_init(&call->timer, call->engine->config.loop, on_timer, call);
    timer_init(&call->waiting, call->engine->config.loop, on_waiting, call);
}
