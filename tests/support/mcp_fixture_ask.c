/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_fixture_ask.h"

#include <assert.h>
#include <stdio.h>

#include "base/jsonwrite.h"

static const char *const kind_names[MCP_ASKS] = {"form", "url", "sampling", "roots"};

static const struct str kind_params[MCP_ASKS] = {
    STR_LITERAL("{\"message\":\"?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}"),
    STR_LITERAL("{\"mode\":\"url\",\"message\":\"?\",\"url\":\"https://example.com/\"}"),
    STR_LITERAL("{\"messages\":[],\"maxTokens\":1}"),
    STR_LITERAL(""),
};

static const char *const status_names[] = {"unanswered", "accepted", "declined", "dismissed",
                                           "failed"};

static enum mcp_asks kind_named(struct str name)
{
    for (size_t i = 0; i < MCP_ASKS; i++) {
        if (str_eq_c(name, kind_names[i]))
            return (enum mcp_asks)i;
    }
    return MCP_ASK_FORM;
}

static const struct json_value *arguments_of(const struct mcp_call *call)
{
    static const struct json_value none = {.type = JSON_OBJECT, .span = 1};
    const struct mcp_request *request = mcp_call_request(call);

    if (request->kind == MCP_TOOL_CALL)
        return request->tool.arguments;
    return request->kind == MCP_PROMPT_GET ? request->prompt.arguments : &none;
}

/* {"questions":{"key":"form",…}}; a form called "x" without them. */
static size_t read_questions(const struct mcp_call *call,
                             struct mcp_question questions[MCP_MAX_QUESTIONS + 1])
{
    const struct json_value *asked = json_get(arguments_of(call), STR("questions"));
    size_t count = 0;

    if (asked == NULL || asked->type != JSON_OBJECT) {
        questions[0] = (struct mcp_question){STR("x"), MCP_ASK_FORM, kind_params[MCP_ASK_FORM]};
        return 1;
    }
    json_each_member (key, asked) {
        struct str name = key[1].type == JSON_STRING ? json_str(&key[1]) : STR_EMPTY;
        enum mcp_asks kind = kind_named(name);

        if (count > MCP_MAX_QUESTIONS)
            break;
        questions[count++] = (struct mcp_question){json_str(key), kind, kind_params[kind]};
    }
    return count;
}

static void write_answer(struct json_writer *writer, struct mcp_answer answer)
{
    json_begin_object(writer);
    json_key(writer, STR("status"));
    json_write_str(writer, str_from(status_names[answer.status]));
    if (answer.status == MCP_FAILED) {
        json_key(writer, STR("error"));
        json_write_str(writer, str_from(err_name(answer.error)));
    }
    if (answer.content != NULL) {
        json_key(writer, STR("content"));
        json_write_value(writer, answer.content);
    }
    json_end_object(writer);
}

static void tell_answers(struct mcp_call *call, const struct mcp_question *questions, size_t count)
{
    cleanup_buf struct buf result = BUF_INIT(64 << 20);
    struct json_writer writer;

    json_writer_init(&writer, &result);
    json_begin_object(&writer);
    json_key(&writer, STR("content"));
    json_begin_array(&writer);
    json_end_array(&writer);
    json_key(&writer, STR("round"));
    json_write_int(&writer, mcp_call_round(call));
    json_key(&writer, STR("state"));
    json_write_str_lossy(&writer, mcp_call_state(call));
    json_key(&writer, STR("answers"));
    json_begin_object(&writer);
    for (size_t i = 0; i < count; i++) {
        json_key(&writer, questions[i].key);
        write_answer(&writer, mcp_call_answer(call, questions[i].key));
    }
    json_end_object(&writer);
    json_end_object(&writer);
    assert(json_writer_finish(&writer) == 0);
    mcp_call_finish(call, buf_view(&result));
}

void fixture_ask(struct mcp_fixture *fixture, struct mcp_call *call)
{
    const struct json_value *arguments = arguments_of(call);
    struct mcp_question questions[MCP_MAX_QUESTIONS + 1];
    size_t count = read_questions(call, questions);
    struct mcp_round round = {.questions = questions, .count = count, .state = STR_EMPTY};
    struct err err = ERR_INIT;
    int64_t rounds = 1;
    char state[32];
    int r;

    json_get_int(arguments, STR("rounds"), &rounds);
    json_get_int(arguments, STR("timeout"), &round.timeout_ms);
    if (mcp_call_round(call) >= rounds) {
        tell_answers(call, questions, count);
        return;
    }
    snprintf(state, sizeof(state), "after round %u", mcp_call_round(call) + 1);
    round.state = str_from(state);
    json_get_str(arguments, STR("state"), &round.state);
    r = mcp_call_ask(call, &round, &err);
    if (r == 0)
        fixture_park(fixture, call);
    if (r < 0)
        mcp_call_fail(call, &err);
}

void fixture_need(struct mcp_call *call)
{
    struct err err = ERR_INIT;

    if (mcp_call_need(call, MCP_ASK_SAMPLING, &err) < 0)
        mcp_call_fail(call, &err);
    else
        mcp_call_finish(call, STR("{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}"));
}
