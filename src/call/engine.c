/* SPDX-License-Identifier: Apache-2.0 */
#include "call/engine.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "call/engine_internal.h"
#include "protocol/arguments.h"

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
    struct call *call = alloc_zeroed(sizeof(*call));

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
    call_init_timers(call);
    list_append(&engine->calls, &call->link);
    if (call->executor == NULL || call_is_over_ceiling(call)) {
        int error = call->executor == NULL ? ERR_NOT_FOUND : ERR_BUSY;

        call_free(call);
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
        call_engine_come_back(call->engine);
    if (r == 0)
        call_prepare(call);
    else if (r == ERR_SCHEMA_MISMATCH)
        call_end_with(call, &end);
    else
        call_fail_plainly(call, r);
}

void call_cancel(struct call *call)
{
    call->is_cancelled = true;
    call_give_up(call, ERR_CANCELLED);
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
    return call_is_asking(call);
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
        call_try_with(call, CHOICE_DENY_ONCE, true);
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
        call_free(call);
    permission_end_session(keeper_permission(config->keeper));
}

/* ---- making ---- */

static void give_up_handed_out(void *data)
{
    struct call_engine *engine = data;

    open_questions_give_up(engine->config.questions);
}

int call_engine_new(const struct call_engine_config *config, struct call_engine **out_engine)
{
    struct call_engine *engine = calloc(1, sizeof(*engine));
    const struct savers_config savers = {.loop = config->loop,
                                         .running = config->running,
                                         .on_saved = call_on_saved,
                                         .data = engine};
    int r;

    if (engine == NULL)
        return ERR_NO_MEMORY;
    engine->config = *config;
    timer_init(&engine->handed_out, config->loop, give_up_handed_out, engine);
    list_init(&engine->calls);
    r = savers_new(&savers, &engine->savers);
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
    savers_free(engine->savers);
    while (!list_is_empty(&engine->calls))
        call_free(list_entry(engine->calls.next, struct call, link));
    free(engine);
}
