/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a conversation, by the engine that machines have, too. */
#include "programs/server/conversations_internal.h"

#include "base/jsonwrite.h"
#include "gateway/toolset.h"
#include "protocol/toolresult.h"
#include "session/callrecord.h"

enum {
    ARENA_BYTES = 512 << 20, /* the message that a call comes from has its own ceiling */
    ERROR_ARENA_BYTES = 16 << 20,
    QUESTION_BYTES = 4 << 20,
    TIMEOUT_MS = 60 * 1000, /* until it has begun; then it has the tool's */
};

/* A call's data, in the arena of its input. */
struct given {
    struct list node;
    struct conversation *conversation;
    struct call *call;
    uint64_t number;
    struct hub_call_events events;
    void *data;
    bool is_wanted;          /* somebody waits for the end */
    struct str confirmation; /* the user's answer that came with it; or empty */
};

/* ---- what a key allows ---- */

static enum permission_mode mode_of(const struct store_agent *agent, enum catalog_group group)
{
    if ((agent->groups & TOOLSET_GROUP(group)) == 0)
        return PERMISSION_DENY;
    return (agent->asks & TOOLSET_GROUP(group)) != 0 ? PERMISSION_ASK : PERMISSION_ALLOW;
}

static void read_modes(const struct store_agent *agent, struct permission_modes *out_modes)
{
    /* Nothing is the user's. */
    *out_modes = (struct permission_modes){.sensitive = PERMISSION_ALLOW, .allows_autorun = true};
    out_modes->of[CATALOG_FILESYSTEM_READ] = mode_of(agent, CATALOG_FILESYSTEM_READ);
    out_modes->of[CATALOG_FILESYSTEM_WRITE] = mode_of(agent, CATALOG_FILESYSTEM_WRITE);
    out_modes->of[CATALOG_SHELL] = mode_of(agent, CATALOG_SHELL);
    (void)permission_modes_constrain(out_modes, NULL); /* nothing at all is fine here */
}

bool conversations_offer(const struct store_agent *agent, const struct catalog_tool *tool)
{
    struct permission_modes modes;

    read_modes(agent, &modes);
    return modes.of[tool->group] != PERMISSION_DENY;
}

/* ---- ends ---- */

/* Nobody waits for it any more: returns whether somebody did. */
static bool leave(struct given *given)
{
    bool was_wanted = given->is_wanted;

    given->is_wanted = false;
    if (was_wanted)
        given->conversation->all->call_count--;
    return was_wanted;
}

static void forget(struct given *given)
{
    struct conversation *conversation = given->conversation;

    list_remove(&given->node);
    conversation->calls--;
    conversation->used_ms = loop_now_ms(conversation->all->config.loop);
}

/* The caller looks into results that are errors: they may be questions. */
static void answer(struct given *given, struct str text, bool is_error)
{
    static const struct json_value fine = {.type = JSON_OBJECT, .span = 1};
    const struct json_limits limits = {ERROR_ARENA_BYTES, JSON_DEFAULT_MAX_DEPTH};
    cleanup_arena struct arena arena = ARENA_INIT(ERROR_ARENA_BYTES);
    const struct json_value *result = &fine;
    struct err err = ERR_INIT;

    if (is_error && json_parse(&arena, text, limits, &result, &err) < 0)
        given->events.done(given->data, &err, NULL, STR_EMPTY);
    else
        given->events.done(given->data, NULL, result, text);
}

static void record(const struct given *given, const struct call *call, const struct call_end *end,
                   const struct err *err)
{
    const struct call_input *input = call_input(call);
    enum permission_choice choice;

    callrecord_write(&(struct callrecord){
        .scope = given->conversation->workspace.recorded,
        .tool = input->tool,
        .arguments = input->arguments,
        .number = input->number,
        .client = input->client,
        .decision = end->outcome == CALL_REFUSED ? NULL : permission_source_name(call_source(call)),
        .refused_by = end->refused_by,
        .err = err,
        .result = end->result,
        .change = end->change,
        .answer = call_was_asked(call, &choice) ? permission_choice_name(choice) : NULL,
        .took_ms = loop_now_ms(given->conversation->all->config.loop) - call_since_ms(call),
    });
}

static void on_end(void *data, struct call *call, const struct call_end *end)
{
    struct given *given = call_data(call);
    struct err failure = end->err;

    (void)data;
    if (end->outcome == CALL_DONE)
        (void)toolresult_is_error(end->result, &failure);
    record(given, call, end, &failure);
    forget(given);
    if (!leave(given))
        return;
    if (end->outcome == CALL_DONE)
        answer(given, end->result, failure.code < 0);
    else
        given->events.done(given->data, &end->err, NULL, STR_EMPTY);
}

static void on_progress(void *data, uint64_t done, uint64_t total, const char *what)
{
    const struct given *given = data;

    if (given->is_wanted)
        given->events.progress(given->data, (int64_t)done, (int64_t)total, what);
}

/* ---- questions ---- */

/* The question is the result, and the next call brings the answer. */
static int ask(void *data, struct call *call, const struct question *question, uint64_t mark,
               struct err *err)
{
    cleanup_buf struct buf result = BUF_INIT(4 * QUESTION_BYTES);
    struct conversation *conversation = data;
    struct given *given = call_data(call);
    int r = confirmation_write_result(question, &result);

    (void)mark; /* the confirmations know the question */
    if (r == 0)
        r = confirmations_expect(conversation->confirmations, question,
                                 call_input(call)->arguments);
    if (r < 0)
        return err_set_plain(err, r);
    forget(given);
    if (leave(given))
        answer(given, buf_view(&result), true);
    return 1;
}

/* It counts once, if exactly this was asked. */
static bool find_answer(void *data, struct call *call, const struct question *question,
                        enum permission_choice *out_choice)
{
    struct conversation *conversation = data;
    struct given *given = call_data(call);
    struct str text = given->confirmation;

    given->confirmation = STR_EMPTY;
    return text.len > 0 && confirmations_use(conversation->confirmations, question,
                                             call_input(call)->arguments, text, out_choice) == 0;
}

/* ---- beginning ---- */

/* NULL: without memory, or too large; see the arena's error. */
static struct given *copy_call(const struct conversations_call *call, struct call_input *input)
{
    struct given *given = arena_new(&input->arena, struct given);

    input->tool = call->tool;
    input->arguments = json_copy(&input->arena, call->arguments);
    if (given == NULL || input->arguments == NULL ||
        !arena_copy_str(&input->arena, call->client, &input->client))
        return NULL;
    *given = (struct given){.is_wanted = true};
    return arena_copy_str(&input->arena, call->confirmation, &given->confirmation) ? given : NULL;
}

static int begin(struct conversation *conversation, const struct conversations_call *call,
                 const struct hub_call_events *events, void *data, uint64_t *out_number)
{
    struct conversations *all = conversation->all;
    struct call_request request = {.input = call_input_new(ARENA_BYTES),
                                   .session = &conversation->workspace,
                                   .timeout_ms = TIMEOUT_MS,
                                   .wants_progress = true};
    struct given *given;
    uint64_t number = all->last_call + 1;
    struct call *made;
    int r;

    if (request.input == NULL)
        return ERR_NO_MEMORY;
    given = copy_call(call, request.input);
    if (given == NULL) {
        r = request.input->arena.error;
        call_input_unref(request.input);
        return r;
    }
    request.data = given;
    r = call_new(conversation->engine, &request, &made);
    if (r < 0)
        return r;
    given->conversation = conversation;
    given->call = made;
    given->number = ++all->last_call;
    given->events = *events;
    given->data = data;
    list_append(&all->calls, &given->node);
    all->call_count++;
    conversation->calls++;
    call_start(made);
    /* It may have ended. */
    list_each (node, &all->calls)
        if (list_entry(node, struct given, node)->number == number)
            *out_number = number;
    return 0;
}

int conversations_call(struct conversations *conversations, const struct conversations_call *call,
                       const struct hub_call_events *events, void *data, uint64_t *out_number,
                       struct err *err)
{
    struct conversation *conversation;
    int r = conversations_find(conversations, call, &conversation, err);

    *out_number = 0;
    if (r < 0)
        return r;
    r = begin(conversation, call, events, data, out_number);
    return r < 0 ? err_set_plain(err, r) : 0;
}

void conversations_cancel(struct conversations *conversations, uint64_t number)
{
    list_each (node, &conversations->calls) {
        struct given *given = list_entry(node, struct given, node);

        if (given->number != number)
            continue;
        (void)leave(given);
        call_cancel(given->call);
        return;
    }
}

size_t conversations_call_count(const struct conversations *conversations)
{
    return conversations->call_count;
}

/* ---- making ---- */

int conversation_make_engine(struct conversation *conversation, const struct store_agent *agent,
                             struct err *err)
{
    struct conversations *all = conversation->all;
    struct keeper_config keeper = {.settings = NULL};
    struct call_engine_config engine = {
        .loop = all->config.loop,
        .log = all->config.log,
        .executors = &all->seats[conversation->provider].executor,
        .executor_count = 1,
        .running = &all->running,
        .how_to_ask = "open the server's page and try again",
        .ask = ask,
        .find_answer = find_answer,
        .on_end = on_end,
        .on_progress = on_progress,
        .data = conversation,
    };
    int r;

    read_modes(agent, &keeper.modes);
    r = keeper_new(&keeper, &conversation->keeper, NULL, err);
    if (r < 0)
        return r;
    r = confirmations_new(&clock_system, &conversation->confirmations);
    engine.keeper = conversation->keeper;
    if (r == 0)
        r = call_engine_new(&engine, &conversation->engine);
    return r < 0 ? err_set_plain(err, r) : 0;
}
