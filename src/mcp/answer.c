/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

static const struct mcp_answer nonsense = {.status = MCP_FAILED, .error = ERR_ASK_FAILED};

static struct mcp_answer accepted(const struct json_value *content)
{
    return (struct mcp_answer){.status = MCP_ACCEPTED, .content = content};
}

static struct mcp_answer read_elicited(enum mcp_asks kind, const struct json_value *result)
{
    const struct json_value *content = json_get(result, STR("content"));
    struct str action;

    if (!json_get_str(result, STR("action"), &action))
        return nonsense;
    if (str_eq(action, STR("decline")))
        return (struct mcp_answer){.status = MCP_DECLINED};
    if (str_eq(action, STR("cancel")))
        return (struct mcp_answer){.status = MCP_DISMISSED};
    if (!str_eq(action, STR("accept")))
        return nonsense;
    if (kind == MCP_ASK_URL)
        return accepted(NULL);
    /* A form without fields may come back as nothing. */
    if (content == NULL)
        content = &mcp_empty_object;
    return content->type == JSON_OBJECT ? accepted(content) : nonsense;
}

struct mcp_answer mcp_read_answer(enum mcp_asks kind, const struct json_value *result)
{
    const struct json_value *roots;

    if (result->type != JSON_OBJECT)
        return nonsense;
    switch (kind) {
    case MCP_ASK_FORM:
    case MCP_ASK_URL:
        return read_elicited(kind, result);
    case MCP_ASK_SAMPLING:
        return json_get(result, STR("content")) != NULL ? accepted(result) : nonsense;
    case MCP_ASK_ROOTS:
        roots = json_get(result, STR("roots"));
        return roots != NULL && roots->type == JSON_ARRAY ? accepted(roots) : nonsense;
    case MCP_ASKS:
        break;
    }
    return nonsense;
}

int mcp_call_take_answers(struct mcp_session *session, struct mcp_call *call,
                          const struct mcp_envelope *request, struct err *err)
{
    const struct json_value *state;
    const struct json_value *answers;
    int r;

    if (!request->is_modern)
        return 0;
    state = json_get(request->params, STR("requestState"));
    answers = json_get(request->params, STR("inputResponses"));
    if (answers != NULL && answers->type != JSON_OBJECT)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "inputResponses",
                             "\"inputResponses\" is not an object");
    call->raw_answers = answers;
    if (state == NULL)
        return 0;
    if (state->type != JSON_STRING)
        return err_set_field(err, ERR_STATE_INVALID, "requestState",
                             "\"requestState\" is not a string");
    r = mcp_state_redeem(session, call, json_str(state), &call->asking, err);
    if (r < 0 || answers == NULL)
        return r;
    for (size_t i = 0; i < call->asking->count; i++) {
        struct mcp_asked *asked = &call->asking->asked[i];
        const struct json_value *answer = json_get(answers, asked->key);

        if (answer != NULL)
            asked->answer = mcp_read_answer(asked->kind, answer);
    }
    return 0;
}

struct mcp_answer mcp_call_answer(const struct mcp_call *call, struct str key)
{
    const struct mcp_asking *asking = call->asking;

    for (size_t i = 0; asking != NULL && i < asking->count; i++) {
        if (str_eq(asking->asked[i].key, key))
            return asking->asked[i].answer;
    }
    return (struct mcp_answer){.status = MCP_UNANSWERED};
}

unsigned mcp_call_round(const struct mcp_call *call)
{
    return call->asking != NULL ? call->asking->number : 0;
}

struct str mcp_call_state(const struct mcp_call *call)
{
    return call->asking != NULL ? call->asking->state : STR_EMPTY;
}

const struct json_value *mcp_call_raw_answers(const struct mcp_call *call)
{
    return call->raw_answers;
}
