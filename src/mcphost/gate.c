/* SPDX-License-Identifier: Apache-2.0 */
#include "mcphost/gate.h"

#include <string.h>

#include "base/buf.h"
#include "mcphost/elicit.h"

enum {
    FORM_BYTES = 1 << 20,
    ONCE = 1U << CHOICE_DENY_ONCE | 1U << CHOICE_ALLOW_ONCE | 1U << CHOICE_ALLOW_SESSION,
    ALWAYS = 1U << CHOICE_ALWAYS_ALLOW | 1U << CHOICE_ALWAYS_DENY,
};

static bool has_terminal(const struct gate *gate)
{
    return gate->desk != NULL && desk_has_surface(gate->desk);
}

static unsigned choices_of(const struct gate *gate)
{
    bool may_keep = gate->desk != NULL || gate->allows_remote_always;

    return ONCE | (may_keep && keeper_saves(gate->keeper) ? ALWAYS : 0);
}

struct decision_terms gate_terms(const struct gate *gate, const struct mcp_call *call)
{
    struct decision_terms terms = {
        .keeper = gate->keeper,
        .is_by_client = gate->desk == NULL,
        .choices = choices_of(gate),
        .how_to_ask = "use a client that can ask (elicitation), or start gatehouse mcp with "
                      "--ask-tty",
    };
    struct str state = mcp_call_state(call);

    /* A terminal that was named and has gone is not replaced by the client. */
    terms.can_ask = gate->desk != NULL ? has_terminal(gate) : mcp_call_can_ask(call, MCP_ASK_FORM);
    if (gate->desk == NULL && state.len == sizeof(terms.mark)) {
        memcpy(&terms.mark, state.ptr, sizeof(terms.mark));
        terms.has_answer = true;
        terms.answer = elicit_read(call, terms.choices);
    }
    return terms;
}

static int ask_client(struct mcp_call *call, const struct decision *decision,
                      enum gate_way *out_way, struct err *err)
{
    cleanup_buf struct buf form = BUF_INIT(FORM_BYTES);
    const struct mcp_question question = {.key = ELICIT_KEY, .kind = MCP_ASK_FORM};
    struct mcp_question questions[1] = {question};
    struct mcp_round round = {
        .questions = questions,
        .count = 1,
        .state = {(const char *)&decision->mark, sizeof(decision->mark)},
    };
    int r = elicit_write(&decision->question, &form);

    if (r < 0)
        return err_set_plain(err, r);
    questions[0].params = buf_view(&form);
    r = mcp_call_ask(call, &round, err);
    if (r < 0)
        return r;
    *out_way = r == 0 ? GATE_BY_CLIENT : GATE_REPEATED;
    return 0;
}

int gate_ask(const struct gate *gate, struct mcp_call *call, const struct decision *decision,
             desk_answer_fn *answer, void *data, enum gate_way *out_way, uint64_t *out_id,
             struct err *err)
{
    int r;

    if (gate->desk == NULL)
        return ask_client(call, decision, out_way, err);
    r = desk_ask(gate->desk, &decision->question, answer, data, out_id);
    if (r < 0)
        return err_set(err, r, "too many questions wait for the user already");
    *out_way = GATE_AT_DESK;
    return 0;
}
