/* SPDX-License-Identifier: Apache-2.0 */
#include "call/engine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "loop/timer.h"
#include "loop/worker.h"
#include "protocol/arguments.h"

enum {
    KEEPERS = 4,
    MOST_KEEPING = 128,
    /* For the settings, which another program may have. */
    KEEPING_GRACE_MS = SETTINGS_FILE_WAIT_MS + 1000,
    ONCE = 1U << CHOICE_DENY_ONCE | 1U << CHOICE_ALLOW_ONCE | 1U << CHOICE_ALLOW_SESSION,
    ALWAYS = 1U << CHOICE_ALWAYS_ALLOW | 1U << CHOICE_ALWAYS_DENY,
    WIDER = 1U << CHOICE_ALLOW_FOLDER | 1U << CHOICE_ALLOW_MATCHING,
    WIDER_ALWAYS = 1U << CHOICE_ALWAYS_MATCHING,
};

/*
 *   NEW -- PREPARING -- RUNNING
 *            | ^  `-- KEEPING -- RUNNING
 *            | |         |
 *            | |     PREVIEWING
 *            | |         |
 *            | `--- ASKING_USER, ASKING_CLIENT
 *            `--- RUNNING, PREVIEWING, ASKING_...
 *   and from each of them to ENDED
 */
enum call_state {
    CALL_NEW,
    CALL_PREPARING, /* at the executor; one that decides by itself may already run it */
    CALL_KEEPING,   /* a worker writes the user's answer into the settings */
    CALL_PREVIEWING,
    CALL_ASKING_USER,
    CALL_ASKING_CLIENT,
    CALL_RUNNING,
    CALL_ENDED,
};

/* An answer being saved to the settings; it is saved even if the call has ended. */
struct keeping {
    atomic_uint refs; /* the loop's, and the worker's */
    struct call_engine *engine;
    struct call *call; /* NULL: ended meanwhile */
    struct work *work;
    atomic_uint *running;
};

struct call {
    struct call_engine *engine;
    struct list link;
    enum call_state state;
    struct call_request request;
    struct executor *executor;
    struct work *work; /* of the last round; NULL before the first */
    struct timer timer;
    int64_t since_ms;
    int64_t due_ms;
    int64_t asked_ms;
    uint64_t question;    /* at the queue */
    uint64_t mark;        /* of what was asked about */
    bool is_users;        /* the answer came from the queue, not through the transport */
    struct timer waiting; /* tells the client that the user is being asked */
    uint64_t waited;
    struct keeping *keeping;
    enum permission_source source;
    char rule[PERMISSION_RULE_BYTES];
    size_t held; /* as counted in engine->held */
    bool is_late;
    bool is_cancelled;
};

struct call_engine {
    struct call_engine_config config;
    struct list calls;
    struct worker_pool *keepers;
    struct timer handed_out; /* until questions that clients took are given up */
    size_t held;
    uint64_t last_number; /* of a call, in the audit log */
    bool is_closed;
    bool is_alone; /* the client has left */
};

static const struct work_events events;

static void prepare(struct call *call);
static void decide(struct call *call);

/* ---- states ---- */

static bool is_asking(enum call_state state)
{
    return state == CALL_ASKING_USER || state == CALL_ASKING_CLIENT;
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
    case CALL_KEEPING:
        assert(from == CALL_PREPARING);
        return;
    case CALL_PREVIEWING:
        assert(from == CALL_PREPARING || from == CALL_KEEPING);
        return;
    case CALL_ASKING_USER:
    case CALL_ASKING_CLIENT:
        assert(from == CALL_PREPARING || from == CALL_KEEPING || from == CALL_PREVIEWING);
        start_thinking(call);
        return;
    case CALL_RUNNING:
        assert(from == CALL_PREPARING || from == CALL_KEEPING);
        return;
    case CALL_ENDED:
        assert(from != CALL_ENDED);
        timer_stop(&call->timer);
        if (from == CALL_ASKING_USER)
            question_queue_cancel(call->engine->config.queue, call->question,
                                  call->is_late ? QUESTION_QUEUE_TIMED_OUT
                                                : QUESTION_QUEUE_CANCELLED);
        if (call->keeping != NULL)
            call->keeping->call = NULL;
        return;
    }
}

/* ---- ends ---- */

/* Unlinks and frees the call. */
static void free_call(struct call *call)
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

static void finish(struct call *call, const struct call_end *end)
{
    const struct call_engine_config *config = &call->engine->config;

    enter(call, CALL_ENDED);
    config->on_end(config->data, call, end);
    free_call(call);
}

static void fail(struct call *call, const struct err *err)
{
    finish(call, &(struct call_end){.outcome = CALL_FAILED, .err = *err});
}

static void fail_plainly(struct call *call, int code)
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
static void give_up(struct call *call, int why)
{
    switch (call->state) {
    case CALL_PREPARING:
    case CALL_PREVIEWING:
    case CALL_RUNNING:
        call->work->ops->cancel(call->work, why);
        return;
    case CALL_NEW:
    case CALL_KEEPING: /* the answer is saved all the same */
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
    };
}

static void set_answer(struct call *call, enum permission_choice choice, uint64_t mark,
                       bool is_users)
{
    call->is_users = is_users;
    call->request.has_answer = true;
    call->request.answer = choice;
    call->request.mark = mark;
}

static void try_with(struct call *call, enum permission_choice choice, bool is_users)
{
    set_answer(call, choice, call->mark, is_users);
    prepare(call);
}

static void on_user_answer(void *data, uint64_t id, enum permission_choice choice, const char *by)
{
    struct call *call = data;

    (void)id;
    if (by != NULL)
        try_with(call, choice, true);
    else
        prepare(call); /* the terminal is gone: the client is asked, or nobody can be */
}

void call_answer(struct call *call, enum permission_choice choice)
{
    if (call->state == CALL_ASKING_CLIENT)
        try_with(call, choice, false);
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

    free_call(call);
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
        try_with(call, CHOICE_DENY_ONCE, true);
    } else if (!call->work->terms.is_by_client) { /* the client must not see what it tells */
        ask_user(call);
    } else {
        ask_client(call);
    }
}

/* ---- deciding ---- */

static bool is_over_ceiling(struct call *call)
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
    if (!call->engine->is_closed && !is_over_ceiling(call))
        return true;
    fail_plainly(call, call->engine->is_closed ? ERR_CANCELLED : ERR_BUSY);
    return false;
}

static void note_decision(struct call *call, const struct decision *decision)
{
    call->source = decision->source;
    snprintf(call->rule, sizeof(call->rule), "%s", decision->rule);
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
        fail_plainly(call, r);
    else if (call->state == CALL_RUNNING && call->work->keeps_own_time)
        timer_stop(&call->timer);
}

static void refuse(struct call *call)
{
    struct work *work = call->work;

    if (work->refused != NULL)
        work->ops->refused(work);
    finish(call, &(struct call_end){
                     .outcome = CALL_REFUSED, .err = work->err, .refused_by = work->refused_by});
}

static void come_back(struct call_engine *engine)
{
    if (engine->config.questions == NULL)
        return;
    open_questions_come_back(engine->config.questions);
    if (engine->config.questions->handed_out == 0)
        timer_stop(&engine->handed_out);
}

static void give_up_handed_out(void *data)
{
    struct call_engine *engine = data;

    open_questions_give_up(engine->config.questions);
}

static bool find_answer(struct call *call)
{
    const struct call_engine_config *config = &call->engine->config;
    const struct decision *decision = &call->work->decision;
    enum permission_choice choice;

    if (config->find_answer == NULL ||
        !config->find_answer(config->data, call, &decision->question, &choice))
        return false;
    come_back(call->engine);
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

/* ---- keeping an answer for good ---- */

/* On any thread. */
static void unref_keeping(void *data)
{
    struct keeping *keeping = data;

    if (atomic_fetch_sub_explicit(&keeping->refs, 1, memory_order_acq_rel) != 1)
        return;
    work_unref(keeping->work);
    free(keeping);
}

static int keep(void *data, struct cancel *token)
{
    struct keeping *keeping = data;
    int r;

    (void)token;
    atomic_fetch_add(keeping->running, 1);
    r = executor_decide(keeping->work, false, NULL);
    atomic_fetch_sub(keeping->running, 1);
    return r;
}

static void on_kept(void *context, int result, void *data)
{
    struct keeping *keeping = context;
    const struct call_engine_config *config = &keeping->engine->config;
    struct call *call = keeping->call;

    unref_keeping(keeping);
    for (size_t i = 0; i < config->executor_count; i++)
        if (config->executors[i]->ops->rules_changed != NULL)
            config->executors[i]->ops->rules_changed(config->executors[i]);
    if (call == NULL)
        return;
    call->keeping = NULL;
    if (data == NULL) /* a worker hangs with it */
        fail_plainly(call, result);
    else
        follow_decision(call, result);
}

static int start_keeping(struct call *call)
{
    struct call_engine *engine = call->engine;
    struct keeping *keeping = malloc(sizeof(*keeping));
    const struct worker_job job = {.run = keep,
                                   .done = on_kept,
                                   .free_data = unref_keeping,
                                   .data = keeping,
                                   .context = keeping,
                                   .timeout_ms = WORKER_NO_DEADLINE};
    uint64_t id;
    int r;

    if (keeping == NULL)
        return ERR_NO_MEMORY;
    *keeping = (struct keeping){.engine = engine,
                                .call = call,
                                .work = work_ref(call->work),
                                .running = engine->config.running};
    atomic_init(&keeping->refs, 2);
    r = worker_submit(engine->keepers, &job, &id);
    if (r == 0) {
        call->keeping = keeping;
        return 0;
    }
    unref_keeping(keeping);
    unref_keeping(keeping);
    return r;
}

static void keep_answer(struct call *call)
{
    int r;

    enter(call, CALL_KEEPING);
    r = start_keeping(call);
    if (r < 0)
        fail_plainly(call, r);
}

static void decide(struct call *call)
{
    struct work *work = call->work;

    work->terms = terms_of(call);
    if (work->terms.has_answer && (1U << work->terms.answer & (ALWAYS | WIDER_ALWAYS)) != 0)
        keep_answer(call);
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
        finish(call, &told);
}

static const struct work_events events = {
    .on_prepared = on_prepared,
    .on_decided = on_previewed,
    .on_previewed = on_previewed,
    .on_progress = on_progress,
    .on_end = on_end,
};

static void prepare(struct call *call)
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
        /* No answer means denied. */
        question_queue_cancel(config->queue, call->question, QUESTION_QUEUE_TIMED_OUT);
        try_with(call, CHOICE_DENY_ONCE, true);
        return;
    }
    call->is_late = true;
    if (is_asking(call->state)) {
        err_set(&err, ERR_TIMED_OUT,
                "the user did not answer in time; ask them what to do instead");
        fail(call, &err);
    } else {
        give_up(call, ERR_TIMED_OUT);
    }
}

/* ---- from the transport ---- */

static struct executor *find_executor(const struct call_engine *engine,
                                      const struct catalog_tool *tool)
{
    for (size_t i = 0; i < engine->config.executor_count; i++)
        if (engine->config.executors[i]->ops->has(engine->config.executors[i], tool))
            return engine->config.executors[i];
    return NULL;
}

bool call_engine_has(const struct call_engine *engine, const struct catalog_tool *tool)
{
    return find_executor(engine, tool) != NULL;
}

int call_new(struct call_engine *engine, const struct call_request *request, struct call **out_call)
{
    struct call *call = calloc(1, sizeof(*call));

    if (call == NULL) {
        call_input_unref(request->input);
        return ERR_NO_MEMORY;
    }
    call->engine = engine;
    call->request = *request;
    call->source = PERMISSION_BY_MODE;
    call->since_ms = loop_now_ms(engine->config.loop);
    call->due_ms = call->since_ms + request->timeout_ms;
    call->executor = find_executor(engine, request->input->tool);
    timer_init(&call->timer, engine->config.loop, on_timer, call);
    timer_init(&call->waiting, engine->config.loop, on_waiting, call);
    list_append(&engine->calls, &call->link);
    if (call->executor == NULL || is_over_ceiling(call)) {
        int error = call->executor == NULL ? ERR_NOT_FOUND : ERR_BUSY;

        free_call(call);
        return error;
    }
    request->input->number = ++engine->last_number;
    *out_call = call;
    return 0;
}

/* Once for all transports and executors. */
static int normalise(struct call *call, struct err *err)
{
    struct call_input *input = call->request.input;

    return arguments_normalise(&input->arena, input->tool, input->arguments, &input->arguments,
                               err);
}

void call_start(struct call *call)
{
    struct call_end end = {.outcome = CALL_REFUSED, .err = ERR_INIT};
    int r = normalise(call, &end.err);

    timer_start(&call->timer, call->request.timeout_ms);
    if (call->request.has_answer)
        come_back(call->engine);
    if (r == 0)
        prepare(call);
    else if (r == ERR_SCHEMA_MISMATCH)
        finish(call, &end);
    else
        fail_plainly(call, r);
}

void call_cancel(struct call *call)
{
    call->is_cancelled = true;
    give_up(call, ERR_CANCELLED);
}

struct call *call_engine_find(struct call_engine *engine,
                              bool (*is_it)(const void *call_data, const void *key),
                              const void *key)
{
    list_each (node, &engine->calls) {
        struct call *call = list_entry(node, struct call, link);

        if (is_it(call->request.data, key))
            return call;
    }
    return NULL;
}

void *call_data(const struct call *call)
{
    return call->request.data;
}

const struct call_input *call_input(const struct call *call)
{
    return call->request.input;
}

int64_t call_since_ms(const struct call *call)
{
    return call->since_ms;
}

const struct provider_subject *call_subject(const struct call *call)
{
    static const struct provider_subject none;

    return call->work != NULL ? &call->work->subject : &none;
}

bool call_was_asked(const struct call *call, enum permission_choice *out_answer)
{
    if (call->request.has_answer)
        *out_answer = call->request.answer;
    return call->request.has_answer;
}

enum permission_source call_source(const struct call *call)
{
    return call->source;
}

const char *call_rule(const struct call *call)
{
    return call->rule;
}

/*
 * An action on one call may end others, if an executor gives its place to the next one: so the
 * search restarts after each.
 */
static struct call *find_call(const struct call_engine *engine,
                              bool (*is_wanted)(const struct call *call, const void *session),
                              const void *session)
{
    list_each (node, &engine->calls) {
        struct call *call = list_entry(node, struct call, link);

        if (is_wanted(call, session))
            return call;
    }
    return NULL;
}

static bool is_unanswered(const struct call *call, const void *session)
{
    (void)session;
    return is_asking(call->state);
}

static bool is_uncancelled(const struct call *call, const void *session)
{
    (void)session;
    return !call->is_cancelled;
}

static bool is_of_session(const struct call *call, const void *session)
{
    return call->request.session == session;
}

void call_engine_client_leaves(struct call_engine *engine)
{
    struct call *call;

    engine->is_alone = true;
    while ((call = find_call(engine, is_unanswered, NULL)) != NULL) {
        if (call->state == CALL_ASKING_USER)
            question_queue_cancel(engine->config.queue, call->question, QUESTION_QUEUE_CANCELLED);
        try_with(call, CHOICE_DENY_ONCE, true);
    }
}

void call_engine_close(struct call_engine *engine)
{
    engine->is_closed = true;
    timer_stop(&engine->handed_out);
}

void call_engine_cancel_all(struct call_engine *engine)
{
    struct call *call;

    while ((call = find_call(engine, is_uncancelled, NULL)) != NULL)
        call_cancel(call);
}

void call_engine_end_session(struct call_engine *engine, const void *session)
{
    const struct call_engine_config *config = &engine->config;
    struct call *call;

    for (size_t i = 0; i < config->executor_count; i++)
        if (config->executors[i]->ops->end_session != NULL)
            config->executors[i]->ops->end_session(config->executors[i], session);
    while ((call = find_call(engine, is_of_session, session)) != NULL)
        free_call(call);
    permission_end_session(keeper_permission(config->keeper));
}

/* ---- making ---- */

int call_engine_new(const struct call_engine_config *config, struct call_engine **out_engine)
{
    const struct worker_config workers = {.threads = KEEPERS,
                                          .queue_max = MOST_KEEPING,
                                          .abandoned_max = KEEPERS,
                                          .grace_ms = KEEPING_GRACE_MS};
    struct call_engine *engine = calloc(1, sizeof(*engine));
    int r;

    if (engine == NULL)
        return ERR_NO_MEMORY;
    engine->config = *config;
    timer_init(&engine->handed_out, config->loop, give_up_handed_out, engine);
    list_init(&engine->calls);
    r = worker_pool_new(config->loop, &workers, &engine->keepers);
    if (r < 0)
        free(engine);
    else
        *out_engine = engine;
    return r;
}

void call_engine_free(struct call_engine *engine)
{
    if (engine == NULL)
        return;
    timer_stop(&engine->handed_out);
    worker_pool_free(engine->keepers);
    while (!list_is_empty(&engine->calls))
        free_call(list_entry(engine->calls.next, struct call, link));
    free(engine);
}
