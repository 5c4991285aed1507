/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/jsonwrite.h"
#include "base/rand.h"

enum { MAX_TIMEOUT_MS = 1 << 30 };

/* By enum mcp_asks. */
static const struct asks_name {
    struct str method;
    const char *capability;
} asks_names[MCP_ASKS] = {
    {STR_LITERAL("elicitation/create"), "elicitation"},
    {STR_LITERAL("elicitation/create"), "elicitation.url"},
    {STR_LITERAL("sampling/createMessage"), "sampling"},
    {STR_LITERAL("roots/list"), "roots"},
};

static bool is_object(const struct json_value *value)
{
    return value != NULL && value->type == JSON_OBJECT;
}

int mcp_form_write(const struct mcp_form *form, struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_str_lossy(&json, STR("message"), form->message);
    json_key(&json, STR("requestedSchema"));
    json_begin_object(&json);
    json_put_str(&json, STR("type"), STR("object"));
    json_key(&json, STR("properties"));
    json_begin_object(&json);
    json_key(&json, STR("decision"));
    json_begin_object(&json);
    json_put_str(&json, STR("type"), STR("string"));
    json_put_str(&json, STR("title"), STR("Decision"));
    json_key(&json, STR("enum"));
    json_begin_array(&json);
    for (size_t i = 0; i < form->word_count; i++)
        json_write_str(&json, form->words[i]);
    json_end_array(&json);
    if (form->standard.len > 0)
        json_put_str(&json, STR("default"), form->standard);
    json_end_object(&json);
    json_end_object(&json);
    json_key(&json, STR("required"));
    json_splice(&json, STR("[\"decision\"]"));
    json_end_object(&json);
    json_end_object(&json);
    return json_writer_finish(&json);
}

unsigned mcp_declared_asks(const struct json_value *capabilities)
{
    const struct json_value *elicitation;
    unsigned asks = 0;

    if (!is_object(capabilities))
        return 0;
    elicitation = json_get(capabilities, STR("elicitation"));
    if (is_object(elicitation)) {
        bool has_url = is_object(json_get(elicitation, STR("url")));

        /* Before there were two ways, an empty object meant forms. */
        if (!has_url || is_object(json_get(elicitation, STR("form"))))
            asks |= 1U << MCP_ASK_FORM;
        if (has_url)
            asks |= 1U << MCP_ASK_URL;
    }
    if (is_object(json_get(capabilities, STR("sampling"))))
        asks |= 1U << MCP_ASK_SAMPLING;
    if (is_object(json_get(capabilities, STR("roots"))))
        asks |= 1U << MCP_ASK_ROOTS;
    return asks;
}

static void write_empty(struct json_writer *writer, struct str key)
{
    json_key(writer, key);
    json_begin_object(writer);
    json_end_object(writer);
}

int mcp_write_asks(struct buf *out, unsigned asks)
{
    struct json_writer writer;
    bool has_form = (asks & 1U << MCP_ASK_FORM) != 0;
    bool has_url = (asks & 1U << MCP_ASK_URL) != 0;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    if (has_form || has_url) {
        json_key(&writer, STR("elicitation"));
        json_begin_object(&writer);
        if (has_form && has_url)
            write_empty(&writer, STR("form"));
        if (has_url)
            write_empty(&writer, STR("url"));
        json_end_object(&writer);
    }
    if ((asks & 1U << MCP_ASK_SAMPLING) != 0)
        write_empty(&writer, STR("sampling"));
    if ((asks & 1U << MCP_ASK_ROOTS) != 0)
        write_empty(&writer, STR("roots"));
    json_end_object(&writer);
    return json_writer_finish(&writer);
}

bool mcp_call_can_ask(const struct mcp_call *call, enum mcp_asks kind)
{
    unsigned asks = 0;

    if (call->is_modern)
        asks = mcp_declared_asks(call->capabilities);
    else if (call->session != NULL)
        asks = call->session->client_asks;
    return (asks & 1U << kind) != 0;
}

int mcp_call_need(struct mcp_call *call, enum mcp_asks kind, struct err *err)
{
    if (mcp_call_can_ask(call, kind))
        return 0;
    call->needed |= 1U << kind;
    return err_set_field(err, ERR_CLIENT_CAPABILITY, asks_names[kind].capability,
                         "the client does not support the capability \"%s\"",
                         asks_names[kind].capability);
}

struct str mcp_question_id(char out_text[MCP_QUESTION_ID_BYTES])
{
    uint64_t drawn[2];
    int len;

    rand_bytes(drawn, sizeof(drawn));
    len = snprintf(out_text, MCP_QUESTION_ID_BYTES, "\"ask-%016" PRIx64 "%016" PRIx64 "\"",
                   drawn[0], drawn[1]);
    return (struct str){out_text, (size_t)len};
}

int64_t mcp_due_ms(const struct mcp_service *service, const struct mcp_round *round)
{
    int64_t timeout_ms = round->timeout_ms > 0 ? round->timeout_ms : MCP_DEFAULT_ASK_MS;

    return clock_monotonic_ms(service->clock) +
           (timeout_ms < MAX_TIMEOUT_MS ? timeout_ms : MAX_TIMEOUT_MS);
}

static int check_question(const struct mcp_round *round, size_t index, struct err *err)
{
    struct str key = round->questions[index].key;

    if (key.len == 0 || key.len > MCP_MAX_KEY_BYTES)
        return err_set(err, ERR_INVALID_ARGUMENT, "the key of a question must have 1 to %d bytes",
                       MCP_MAX_KEY_BYTES);
    for (size_t i = 0; i < index; i++) {
        if (str_eq(round->questions[i].key, key))
            return err_set(err, ERR_INVALID_ARGUMENT, "duplicate question key \"%.*s\"",
                           STR_ARG(key));
    }
    return 0;
}

static bool may_ask(const struct mcp_call *call)
{
    switch (call->request.kind) {
    case MCP_TOOL_CALL:
    case MCP_PROMPT_GET:
    case MCP_RESOURCE_READ:
        return true;
    case MCP_RESOURCES_LIST:
    case MCP_SUBSCRIBE:
    case MCP_COMPLETE:
        return false;
    }
    return false;
}

static int check_round(struct mcp_call *call, const struct mcp_round *round, struct err *err)
{
    int missing = 0;

    assert(!call->has_ended && (call->asking == NULL || call->asking->open_count == 0) &&
           "a call can ask only one round at a time");
    if (call->session == NULL || call->is_cancelled)
        return err_set_plain(err, ERR_CANCELLED);
    if (!may_ask(call) || call->session->host->answered == NULL)
        return err_set(err, ERR_UNSUPPORTED, "asking is not supported here");
    if (round->count == 0 || round->count > MCP_MAX_QUESTIONS)
        return err_set(err, ERR_TOO_LARGE, "a round must have 1 to %d questions",
                       MCP_MAX_QUESTIONS);
    if (round->state.len > MCP_MAX_STATE_BYTES)
        return err_set(err, ERR_TOO_LARGE, "a request state must not exceed %d bytes",
                       MCP_MAX_STATE_BYTES);
    if (mcp_call_round(call) >= MCP_MAX_ROUNDS)
        return err_set(err, ERR_TOO_LARGE, "the client was already asked %d times", MCP_MAX_ROUNDS);
    for (size_t i = 0; i < round->count; i++) {
        int r = check_question(round, i, err);

        if (r < 0)
            return r;
        /* All of them, so that the answer can name what is missing. */
        if (mcp_call_need(call, round->questions[i].kind, missing == 0 ? err : NULL) < 0)
            missing = ERR_CLIENT_CAPABILITY;
    }
    return missing;
}

/* ---- modern: the client comes back ---- */

static int write_input_required(struct mcp_session *session, const struct mcp_call *call,
                                const struct mcp_round *round, struct buf *out)
{
    cleanup_buf struct buf state = BUF_INIT(2 * (size_t)MCP_MAX_STATE_BYTES);
    struct json_writer writer;
    int r = mcp_state_issue(session, call, round, mcp_call_round(call) + 1, &state);

    if (r < 0)
        return r;
    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_key(&writer, STR("inputRequests"));
    json_begin_object(&writer);
    for (size_t i = 0; i < round->count; i++) {
        const struct mcp_question *question = &round->questions[i];

        json_key(&writer, question->key);
        json_begin_object(&writer);
        json_key(&writer, STR("method"));
        json_write_str(&writer, asks_names[question->kind].method);
        json_key(&writer, STR("params"));
        json_splice(&writer, question->params.len > 0 ? question->params : STR("{}"));
        json_end_object(&writer);
    }
    json_end_object(&writer);
    json_key(&writer, STR("requestState"));
    json_write_str(&writer, buf_view(&state));
    json_end_object(&writer);
    return json_writer_finish(&writer);
}

static int ask_modern(struct mcp_call *call, const struct mcp_round *round, struct err *err)
{
    struct mcp_session *session = call->session;
    cleanup_buf struct buf object = BUF_INIT(session->service->out.max);
    int r = write_input_required(session, call, round, &object);

    if (r < 0)
        return err_set_plain(err, r);
    mcp_answer(session, call, call->id, &session->service->input_stamp, buf_view(&object));
    mcp_call_end(call);
    return 1;
}

/* ---- legacy: the call waits ---- */

static struct mcp_asking *new_asking(struct mcp_call *call, const struct mcp_round *round)
{
    struct arena *arena = &call->message->arena;
    struct mcp_asking *asking =
        arena_alloc(arena, sizeof(*asking) + round->count * sizeof(asking->asked[0]));
    char *state = arena_copy(arena, round->state);

    if (asking == NULL || state == NULL)
        return NULL;
    *asking = (struct mcp_asking){
        .call = call,
        .number = mcp_call_round(call) + 1,
        .due_ms = mcp_due_ms(call->session->service, round),
        .state = {state, round->state.len},
        .count = round->count,
    };
    list_init(&asking->link);
    for (size_t i = 0; i < round->count; i++) {
        struct str key = round->questions[i].key;
        char *key_copy = arena_copy(arena, key);
        char *id = arena_alloc(arena, MCP_QUESTION_ID_BYTES);

        if (key_copy == NULL || id == NULL)
            return NULL;
        asking->asked[i] = (struct mcp_asked){
            .call = call,
            .kind = round->questions[i].kind,
            .key = {key_copy, key.len},
            .id = mcp_question_id(id),
        };
    }
    return asking;
}

static int send_question(struct mcp_session *session, struct mcp_asked *asked, struct str params)
{
    int r = map_add(&session->questions, asked->id, asked);

    if (r < 0)
        return r;
    asked->is_open = true;
    asked->call->asking->open_count++;
    return mcp_send_question(session, asked->call, asked->id, asks_names[asked->kind].method,
                             params);
}

static int ask_legacy(struct mcp_call *call, const struct mcp_round *round, struct err *err)
{
    struct mcp_session *session = call->session;
    struct mcp_asking *before = call->asking;
    struct mcp_asking *asking;
    int r = mcp_check_held(session, 0, err);

    if (r < 0)
        return r;
    if (session->questions.count + round->count > MCP_MAX_OPEN_QUESTIONS)
        return err_set(err, ERR_BUSY, "%zu questions are already open", session->questions.count);
    asking = new_asking(call, round);
    mcp_message_count(session, call->message);
    if (asking == NULL)
        return err_set_plain(err, call->message->arena.error);
    call->asking = asking;
    list_append(&session->service->rounds, &asking->link);
    for (size_t i = 0; r == 0 && i < round->count; i++)
        r = send_question(session, &asking->asked[i], round->questions[i].params);
    if (r < 0) {
        mcp_asking_close(session, call, r, false);
        list_remove(&asking->link);
        call->asking = before;
        return err_set_plain(err, r);
    }
    mcp_asking_done(session, before);
    return 0;
}

int mcp_call_ask(struct mcp_call *call, const struct mcp_round *round, struct err *err)
{
    int r = check_round(call, round, err);

    if (r < 0)
        return r;
    return call->is_modern ? ask_modern(call, round, err) : ask_legacy(call, round, err);
}

/* ---- and how it ends ---- */

static void close_question(struct mcp_session *session, struct mcp_asked *asked)
{
    struct mcp_asking *asking = asked->call->asking;
    void *removed = map_remove(&session->questions, asked->id);

    assert(removed == asked);
    (void)removed;
    asked->is_open = false;
    if (--asking->open_count == 0)
        list_remove(&asking->link);
}

/* The client may still be showing it. */
static void tell_closed(struct mcp_session *session, const struct mcp_asked *asked, int error)
{
    char params[MCP_QUESTION_ID_BYTES + ERR_MESSAGE_BYTES];

    snprintf(params, sizeof(params), "{\"requestId\":%.*s,\"reason\":\"%s\"}", STR_ARG(asked->id),
             err_text(error));
    mcp_notify(session, asked->call, STR("notifications/cancelled"), str_from(params));
}

void mcp_asking_close(struct mcp_session *session, struct mcp_call *call, int error, bool is_silent)
{
    struct mcp_asking *asking = call->asking;

    if (asking == NULL || asking->open_count == 0)
        return;
    for (size_t i = 0; i < asking->count; i++) {
        struct mcp_asked *asked = &asking->asked[i];

        if (!asked->is_open)
            continue;
        close_question(session, asked);
        asked->answer = (struct mcp_answer){.status = MCP_FAILED, .error = error};
        if (!is_silent)
            tell_closed(session, asked, error);
    }
}

void mcp_asking_done(struct mcp_session *session, struct mcp_asking *asking)
{
    if (asking == NULL)
        return;
    for (size_t i = 0; i < asking->count; i++) {
        if (asking->asked[i].message != NULL)
            mcp_message_unref(session, asking->asked[i].message);
        asking->asked[i].message = NULL;
    }
}

/* The message must live as long as the answer that points into it. */
static void keep_answer(struct mcp_session *session, struct mcp_asked *asked,
                        struct mcp_message *message)
{
    int r = 0;

    if (asked->answer.content == NULL)
        return;
    if (message->arena.held > MCP_MAX_ANSWER_BYTES)
        r = ERR_TOO_LARGE;
    else
        r = mcp_check_held(session, message->arena.held - message->counted, NULL);
    if (r < 0) {
        asked->answer = (struct mcp_answer){.status = MCP_FAILED, .error = r};
        return;
    }
    message->users++;
    mcp_message_count(session, message);
    asked->message = message;
}

void mcp_take_response(struct mcp_session *session, struct mcp_message *message,
                       const struct jsonrpc_message *rpc)
{
    struct mcp_asked *asked = map_get(&session->questions, rpc->id);
    struct mcp_call *call;

    if (asked == NULL) {
        /* An answer to anything else is a harmless mistake. */
        mcp_take_roots(session, rpc);
        return;
    }
    call = asked->call;
    close_question(session, asked);
    if (rpc->result != NULL)
        asked->answer = mcp_read_answer(asked->kind, rpc->result);
    else
        asked->answer = (struct mcp_answer){.status = MCP_FAILED, .error = ERR_ASK_FAILED};
    keep_answer(session, asked, message);
    if (call->asking->open_count == 0)
        session->host->answered(session->data, call);
}
