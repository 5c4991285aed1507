/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of agents, passed to the user's machine or to a workspace; questions, to the agent's user.
 */
#include "programs/server/agents_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/printable.h"
#include "programs/server/machinequestion.h"
#include "programs/server/metrics.h"
#include "protocol/toolresult.h"

enum {
    MAX_ROUNDS = 4, /* questions about one call */
    MESSAGE_BYTES = 64 << 10,
    MAX_DESCRIPTION_BYTES = 4000,
    MAX_RESOURCE_BYTES = 1000,
    STATE_BYTES = 16,
    QUESTION_ARENA_BYTES = 4 << 20,
    ERROR_BYTES = 8 << 10,
};

struct agent_call {
    struct agent_door *door;
    struct mcp_call *call;
    uint64_t number;   /* at the machine or the workspace; 0: neither works on it */
    uint64_t shown;    /* on the page */
    uint64_t question; /* open on the page; or 0 */
    unsigned rounds;
    int64_t began_ms;
};

#define QUESTION_KEY STR("permission")

static struct hub *hub_of(const struct agent_call *work)
{
    return hubhttp_hub(work->door->agents->config.gateway);
}

static struct board *board_of(const struct agent_call *work)
{
    return work->door->agents->config.board;
}

/* ---- the end ---- */

static void count(const struct agent_call *work, enum metrics_outcome outcome)
{
    const struct agents_config *config = &work->door->agents->config;

    metrics_count_call(config->metrics, outcome, loop_now_ms(config->loop) - work->began_ms);
}

static void finish(struct agent_call *work, struct str result)
{
    struct mcp_call *call = work->call;

    free(work);
    mcp_call_finish(call, result);
}

/* As a result: the agent shall read why, and try something else. */
static void fail(struct agent_call *work, const struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(ERROR_BYTES);
    struct mcp_call *call = work->call;

    count(work, METRICS_ERROR);
    board_end_call(board_of(work), work->shown, NULL, err->message);
    if (toolresult_write_error(err, TOOLRESULT_JSON, &text) == 0) {
        finish(work, buf_view(&text));
        return;
    }
    free(work);
    mcp_call_fail(call, err);
}

/* ---- questions of the machine ---- */

/*
 * The lines of a change stay lines. Each stands behind a bar, as the machine writes them, so none
 * looks like what the server says itself.
 */
static int write_description(struct str description, struct buf *out)
{
    char text[MAX_DESCRIPTION_BYTES + PRINTABLE_CUT_BYTES];
    size_t room = MAX_DESCRIPTION_BYTES;
    struct str line;
    bool is_first = true;
    int r = 0;

    while (r == 0 && room > 0 && str_cut(&description, '\n', &line)) {
        size_t len = printable_cut(line, PRINTABLE_TABS, text, room);
        bool needs_bar = !is_first && line.len > 0 && !str_starts_with(line, STR("|"));

        r = buf_printf(out, "%s%s%s", is_first ? "" : "\n", needs_bar ? "| " : "", text);
        room -= len < room ? len : room;
        is_first = false;
    }
    return r == 0 && description.len > 0 ? buf_append_str(out, STR("\n...")) : r;
}

static int write_message(const struct machine_question *question, struct buf *out)
{
    char resource[MAX_RESOURCE_BYTES + PRINTABLE_CUT_BYTES];
    char group[64 + PRINTABLE_CUT_BYTES];
    int r;

    printable_cut(question->resource, PRINTABLE_LINE, resource, MAX_RESOURCE_BYTES);
    printable_cut(question->group, PRINTABLE_LINE, group, 64);
    r = buf_printf(out, "%s: ", group);
    if (r == 0)
        r = write_description(question->description, out);
    return r == 0 ? buf_printf(out, "\n- %s", resource) : r;
}

static int write_form(const struct machine_question *question, struct buf *out)
{
    cleanup_buf struct buf message = BUF_INIT(MESSAGE_BYTES);
    struct mcp_form form = {.standard = STR_EMPTY};
    struct str offered[MACHINE_CHOICES];
    int r = write_message(question, &message);

    if (r < 0)
        return r;
    for (size_t i = 0; i < MACHINE_CHOICES; i++)
        if ((question->choices & 1U << i) != 0)
            offered[form.word_count++] = machine_choices[i].word;
    form.message = buf_view(&message);
    form.words = offered;
    return mcp_form_write(&form, out);
}

static void refuse_question(struct agent_call *work, const struct machine_question *question)
{
    char resource[MAX_RESOURCE_BYTES + PRINTABLE_CUT_BYTES];
    struct err err = ERR_INIT;

    printable_cut(question->resource, PRINTABLE_LINE, resource, 100);
    err_set(&err, ERR_ASK_UNAVAILABLE,
            "the user must allow this (%s), and nobody can be asked: this client cannot, and the "
            "server's page is not open in a browser; open it and try again",
            resource);
    fail(work, &err);
}

static void send_call(struct agent_call *work, struct str confirmation);

static void on_page_answered(void *data, struct str choice)
{
    struct agent_call *work = data;

    struct err err = ERR_INIT;

    work->question = 0;
    if (choice.len > 0) {
        send_call(work, choice);
        return;
    }
    board_unanswered(&err);
    fail(work, &err);
}

static void ask_on_page(struct agent_call *work, const struct machine_question *question)
{
    if (board_ask(board_of(work), work->door->agent.user, str_from(work->door->agent.name),
                  question, on_page_answered, work, &work->question) < 0)
        refuse_question(work, question);
}

/* Asks the agent's user. A modern client repeats the call with the answer, as a new one. */
static void ask(struct agent_call *work, const struct machine_question *question)
{
    cleanup_buf struct buf form = BUF_INIT(2 * MESSAGE_BYTES);
    char state[STATE_BYTES];
    struct mcp_question asked = {.key = QUESTION_KEY, .kind = MCP_ASK_FORM};
    struct mcp_round round = {.questions = &asked, .count = 1};
    struct err err = ERR_INIT;
    int r;

    if (question->choices == 0 || work->rounds >= MAX_ROUNDS) {
        refuse_question(work, question);
        return;
    }
    if (!mcp_call_can_ask(work->call, MCP_ASK_FORM)) {
        ask_on_page(work, question);
        return;
    }
    r = write_form(question, &form);
    asked.params = buf_view(&form);
    snprintf(state, sizeof(state), "%u", question->choices);
    round.state = str_from(state);
    if (r == 0)
        r = mcp_call_ask(work->call, &round, &err);
    else
        err_set_plain(&err, r);
    if (r < 0)
        fail(work, &err);
    else if (r == 1) {
        board_end_call(board_of(work), work->shown, NULL, "the agent's user is asked");
        free(work);
    }
}

/* What the user has decided: no answer means no. */
static struct str read_choice(const struct mcp_call *call)
{
    struct mcp_answer answer = mcp_call_answer(call, QUESTION_KEY);
    int64_t offered = 0;
    struct str word;

    if (answer.status != MCP_ACCEPTED || answer.content == NULL ||
        !json_get_str(answer.content, STR("decision"), &word) ||
        !str_to_int64(mcp_call_state(call), &offered))
        return machine_choices[0].name;
    for (size_t i = 0; i < MACHINE_CHOICES; i++)
        if (((uint64_t)offered & 1U << i) != 0 && str_eq(word, machine_choices[i].word))
            return machine_choices[i].name;
    return machine_choices[0].name;
}

/* ---- the machine ---- */

static void on_done(void *data, const struct err *err, const struct json_value *result,
                    struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT(QUESTION_ARENA_BYTES);
    struct agent_call *work = data;
    struct machine_question question;

    work->number = 0;
    if (err != NULL)
        fail(work, err);
    else if (machinequestion_read(&arena, result, &question))
        ask(work, &question);
    else {
        bool is_error = false;

        json_get_bool(result, STR("isError"), &is_error);
        count(work, is_error ? METRICS_ERROR : METRICS_OK);
        board_end_call(board_of(work), work->shown, result, "");
        finish(work, text);
    }
}

static void on_progress(void *data, int64_t done, int64_t total, const char *what)
{
    const struct agent_call *work = data;

    mcp_call_progress(work->call, (uint64_t)done, (uint64_t)total, what);
    board_progress(board_of(work), work->shown, done, total, what);
}

static const struct hub_call_events call_events = {.done = on_done, .progress = on_progress};

static void send_to_machine(struct agent_call *work, struct str confirmation)
{
    const struct mcp_request *request = mcp_call_request(work->call);
    const struct hub_call_request call = {
        .user = work->door->agent.user,
        .groups = work->door->agent.groups,
        .tool = request->tool.tool->name,
        .arguments = request->tool.arguments,
        .confirmation = confirmation,
        .agent = str_from(work->door->agent.name),
    };
    struct hubhttp *gateway = work->door->agents->config.gateway;
    struct err err = ERR_INIT;
    uint64_t id = 0;

    if (hub_call(hub_of(work), &call, &call_events, work, &id, &err) < 0)
        fail(work, &err);
    else if (id != 0) { /* else it was answered, and is gone */
        work->number = id;
        board_set_request(board_of(work), work->shown, hub_request_id(hub_of(work), id));
    }
    hubhttp_reschedule(gateway);
}

static void send_to_workspace(struct agent_call *work, struct str confirmation)
{
    const struct mcp_request *request = mcp_call_request(work->call);
    const struct json_value *meta = mcp_call_meta(work->call);
    struct conversations_call call = {
        .agent = &work->door->agent,
        .session = mcp_http_session_id(work->call),
        .name = STR_EMPTY,
        .client = mcp_call_client(work->call),
        .tool = request->tool.tool,
        .arguments = request->tool.arguments,
        .confirmation = confirmation,
    };
    struct err err = ERR_INIT;
    uint64_t number = 0;

    if (meta != NULL)
        (void)json_get_str(meta, STR("gatehouse/conversation"), &call.name);
    if (conversations_call(work->door->agents->config.conversations, &call, &call_events, work,
                           &number, &err) < 0)
        fail(work, &err);
    else if (number != 0) /* as above */
        work->number = number;
}

static void send_call(struct agent_call *work, struct str confirmation)
{
    work->rounds++;
    if (agent_has_workspace(work->door))
        send_to_workspace(work, confirmation);
    else
        send_to_machine(work, confirmation);
}

/* Neither the machine nor the page answers any more. */
static void withdraw(const struct agent_call *work)
{
    if (work->number != 0 && agent_has_workspace(work->door))
        conversations_cancel(work->door->agents->config.conversations, work->number);
    else if (work->number != 0)
        hub_cancel(hub_of(work), work->number);
    if (work->question != 0)
        board_withdraw(board_of(work), work->door->agent.user, work->question);
}

/* The user does not want it to go on. A question to the agent's user ends by itself. */
static bool on_stop(void *data)
{
    struct agent_call *work = data;
    struct err err = ERR_INIT;

    if (work->number == 0 && work->question == 0)
        return false;
    withdraw(work);
    err_set(&err, ERR_CANCELLED, "the user stopped this call on the server's page");
    fail(work, &err);
    return true;
}

/* ---- the host ---- */

static void on_start(void *data, struct mcp_call *call)
{
    struct agent_door *door = data;
    struct agent_call *work = NULL;
    struct err err = ERR_INIT;

    if (mcp_call_request(call)->kind == MCP_TOOL_CALL && !door->is_over)
        work = calloc(1, sizeof(*work));
    else
        err_set_plain(&err, ERR_UNSUPPORTED);
    if (work == NULL) {
        if (err.code == 0)
            err_set_plain(&err, ERR_NO_MEMORY);
        mcp_call_fail(call, &err);
        return;
    }
    *work = (struct agent_call){.door = door,
                                .call = call,
                                .rounds = mcp_call_round(call),
                                .began_ms = loop_now_ms(door->agents->config.loop)};
    mcp_call_set_data(call, work);
    work->shown = board_begin_call(board_of(work), door->agent.user, str_from(door->agent.name),
                                   mcp_call_request(call)->tool.tool->name,
                                   mcp_call_request(call)->tool.arguments);
    board_allow_stop(board_of(work), work->shown, on_stop, work);
    send_call(work, mcp_call_round(call) > 0 ? read_choice(call) : STR_EMPTY);
}

static void on_answered(void *data, struct mcp_call *call)
{
    (void)data;
    send_call(mcp_call_data(call), read_choice(call));
}

static void on_cancel(void *data, struct mcp_call *call)
{
    struct agent_call *work = mcp_call_data(call);
    struct err err = ERR_INIT;

    (void)data;
    withdraw(work);
    count(work, METRICS_CANCELLED);
    board_end_call(board_of(work), work->shown, NULL, "cancelled");
    free(work);
    err_set_plain(&err, ERR_CANCELLED);
    mcp_call_fail(call, &err);
}

const struct mcp_host agentcalls_host = {
    .start = on_start, .answered = on_answered, .cancel = on_cancel};
