/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same function begins a call and goes on with it, in both eras: it asks what has no answer
 * yet, and otherwise finishes with all answers as text.
 */
#include <assert.h>

#include "base/jsonwrite.h"
#include "conformance.h"

enum { MOST_QUESTIONS = 3 };

struct asker {
    struct str begin; /* of the text that it finishes with */
    size_t count;
    struct mcp_question questions[MOST_QUESTIONS];
    /* Answers also count where nothing was asked before; a test may do that, nothing else. */
    bool takes_any;
};

#define FORM(message, properties, required)                                                        \
    STR_LITERAL("{\"mode\":\"form\",\"message\":\"" message                                        \
                "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties          \
                "},\"required\":[" required "]}}")
#define ONE_STRING(message, key)  FORM(message, "\"" key "\":{\"type\":\"string\"}", "\"" key "\"")
#define ONE_BOOLEAN(message, key) FORM(message, "\"" key "\":{\"type\":\"boolean\"}", "\"" key "\"")
#define SAMPLE(text, tokens)                                                                       \
    STR_LITERAL(                                                                                   \
        "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"" text        \
        "\"}}],\"maxTokens\":" tokens "}")

#define DEFAULTS                                                                                   \
    "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"                                     \
    "\"age\":{\"type\":\"integer\",\"default\":30},"                                               \
    "\"score\":{\"type\":\"number\",\"default\":95.5},"                                            \
    "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"              \
    "\"default\":\"active\"},"                                                                     \
    "\"verified\":{\"type\":\"boolean\",\"default\":true}"

#define CHOICES                                                                                    \
    "[{\"const\":\"value1\",\"title\":\"First\"},{\"const\":\"value2\",\"title\":\"Second\"},"     \
    "{\"const\":\"value3\",\"title\":\"Third\"}]"
#define PLAIN_CHOICES "[\"option1\",\"option2\",\"option3\"]"
#define ENUMS                                                                                      \
    "\"untitledSingle\":{\"type\":\"string\",\"enum\":" PLAIN_CHOICES "},"                         \
    "\"titledSingle\":{\"type\":\"string\",\"oneOf\":" CHOICES "},"                                \
    "\"legacyEnum\":{\"type\":\"string\",\"enum\":" PLAIN_CHOICES ","                              \
    "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"                             \
    "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":" PLAIN_CHOICES \
    "}},\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":" CHOICES "}}"

#define ASKS(words, number, ...)                                                                   \
    .begin = STR_LITERAL(words), .count = (number), .questions = {__VA_ARGS__}
#define FORM_QUESTION(name, ...)                                                                   \
    {                                                                                              \
        .key = STR_LITERAL(name), .kind = MCP_ASK_FORM, .params = __VA_ARGS__                      \
    }
#define SAMPLING_QUESTION(name, ...)                                                               \
    {                                                                                              \
        .key = STR_LITERAL(name), .kind = MCP_ASK_SAMPLING, .params = __VA_ARGS__                  \
    }
#define NAME_QUESTION    FORM_QUESTION("user_name", ONE_STRING("What is your name?", "name"))
#define CONFIRM_QUESTION FORM_QUESTION("confirm", ONE_BOOLEAN("Please confirm", "ok"))
#define ROOTS_QUESTION                                                                             \
    {                                                                                              \
        .key = STR_LITERAL("client_roots"), .kind = MCP_ASK_ROOTS                                  \
    }

/* Those that always ask the same. */
static const struct asker askers[CONFORMANCE_TOOLS] = {
    [ELICITATION_DEFAULTS] = {ASKS(
        "Elicitation completed:", 1,
        FORM_QUESTION("values", FORM("Please review these values", DEFAULTS, "")))},
    [ELICITATION_ENUMS] = {ASKS("Elicitation completed:", 1,
                                FORM_QUESTION("choices", FORM("Please choose", ENUMS, "")))},
    [STREAMING_ELICITATION] = {ASKS("Confirmed:", 1, CONFIRM_QUESTION)},
    [INPUT_ELICITATION] = {ASKS("Hello:", 1, NAME_QUESTION), .takes_any = true},
    [INPUT_SAMPLING] = {ASKS(
        "The capital:", 1,
        SAMPLING_QUESTION("capital_question", SAMPLE("What is the capital of France?", "100")))},
    [INPUT_LIST_ROOTS] = {ASKS("The roots:", 1, ROOTS_QUESTION)},
    [INPUT_REQUEST_STATE] = {ASKS("state-ok:", 1, CONFIRM_QUESTION)},
    [INPUT_TAMPERED_STATE] = {ASKS("state-ok:", 1, CONFIRM_QUESTION)},
    [INPUT_MULTIPLE] = {ASKS("All of it:", 3, NAME_QUESTION,
                             SAMPLING_QUESTION("greeting", SAMPLE("Generate a greeting", "50")),
                             ROOTS_QUESTION)},
};

static const struct asker first_round = {
    ASKS("Step 1:", 1, FORM_QUESTION("step1", ONE_STRING("Step 1: What is your name?", "name")))};
static const struct asker second_round = {
    ASKS("Step 2:", 1,
         FORM_QUESTION("step2", ONE_STRING("Step 2: What is your favorite color?", "color")))};
static const struct asker prompt_asker = {ASKS(
    "In this context:", 1,
    FORM_QUESTION("user_context", ONE_STRING("What context should the prompt use?", "context")))};

/* ---- answers ---- */

/* One that came without a question: the fields of a form, or nothing. */
static struct mcp_answer unasked_answer(const struct mcp_call *call, struct str key)
{
    const struct json_value *answers = mcp_call_raw_answers(call);
    const struct json_value *answer = answers != NULL ? json_get(answers, key) : NULL;
    const struct json_value *content = answer != NULL ? json_get(answer, STR("content")) : NULL;

    if (content == NULL || content->type != JSON_OBJECT)
        return (struct mcp_answer){.status = MCP_UNANSWERED};
    return (struct mcp_answer){.status = MCP_ACCEPTED, .content = content};
}

static struct mcp_answer answer_to(const struct mcp_call *call, const struct asker *asker,
                                   struct str key)
{
    struct mcp_answer answer = mcp_call_answer(call, key);

    return answer.status == MCP_UNANSWERED && asker->takes_any ? unasked_answer(call, key) : answer;
}

/* What the client could not be asked is not missing. What it got wrong is asked for again. */
static bool has_all_answers(const struct mcp_call *call, const struct asker *asker)
{
    for (size_t i = 0; i < asker->count; i++) {
        struct mcp_answer answer = answer_to(call, asker, asker->questions[i].key);

        if (answer.status == MCP_UNANSWERED ||
            (answer.status == MCP_FAILED && mcp_call_is_modern(call)))
            return false;
    }
    return true;
}

static void write_answer(struct buf *out, struct mcp_answer answer)
{
    static const char *const actions[] = {[MCP_UNANSWERED] = "none",
                                          [MCP_ACCEPTED] = "accept",
                                          [MCP_DECLINED] = "decline",
                                          [MCP_DISMISSED] = "cancel",
                                          [MCP_FAILED] = "failed"};
    const struct json_value *content = answer.content;
    struct json_writer writer;
    struct str text;

    /* A model's message: its text alone. */
    if (content != NULL && json_get(content, STR("content")) != NULL &&
        json_get_str(json_get(content, STR("content")), STR("text"), &text)) {
        (void)buf_printf(out, " %.*s", STR_ARG(text));
        return;
    }
    (void)buf_printf(out, " action=%s, content=", actions[answer.status]);
    if (content == NULL) {
        (void)buf_append_str(out, STR("{}"));
        return;
    }
    json_writer_init(&writer, out);
    json_write_value(&writer, content);
    (void)json_writer_finish(&writer);
}

/* ---- asking ---- */

static void ask(struct mcp_call *call, const struct asker *asker, struct str state)
{
    const struct mcp_round round = {
        .questions = asker->questions, .count = asker->count, .state = state};
    struct err err = ERR_INIT;

    if (mcp_call_ask(call, &round, &err) < 0)
        mcp_call_fail(call, &err);
}

static void finish(struct mcp_call *call, struct str text)
{
    if (mcp_call_request(call)->kind == MCP_TOOL_CALL)
        conformance_finish_text(call, text);
    else
        mcp_call_finish(call, STR("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
                                  "\"text\",\"text\":\"In the context that was given\"}}]}"));
}

/* `before` is what was known before this round. */
static void finish_with_answers(struct mcp_call *call, const struct asker *asker, struct str before)
{
    cleanup_buf struct buf text = BUF_INIT(CONFORMANCE_RESULT_BYTES);

    (void)buf_append_str(&text, before);
    (void)buf_append_str(&text, asker->begin);
    for (size_t i = 0; i < asker->count; i++)
        write_answer(&text, answer_to(call, asker, asker->questions[i].key));
    finish(call, buf_view(&text));
}

static void ask_or_finish(struct mcp_call *call, const struct asker *asker)
{
    if (has_all_answers(call, asker))
        finish_with_answers(call, asker, STR_EMPTY);
    else
        ask(call, asker, STR_EMPTY);
}

/* The first answer goes with the state: the client does not repeat it. */
static void ask_twice(struct mcp_call *call)
{
    cleanup_buf struct buf state = BUF_INIT(MCP_MAX_STATE_BYTES);

    if (mcp_call_state(call).len > 0) {
        if (has_all_answers(call, &second_round))
            finish_with_answers(call, &second_round, mcp_call_state(call));
        else
            ask(call, &second_round, mcp_call_state(call));
        return;
    }
    if (!has_all_answers(call, &first_round)) {
        ask(call, &first_round, STR_EMPTY);
        return;
    }
    (void)buf_append_str(&state, first_round.begin);
    write_answer(&state, mcp_call_answer(call, first_round.questions[0].key));
    (void)buf_append_char(&state, ' ');
    ask(call, &second_round, buf_view(&state));
}

static void ask_what_can_be_asked(struct mcp_call *call)
{
    static const struct mcp_question known[] = {
        SAMPLING_QUESTION("hello", SAMPLE("Say hello", "10")),
        NAME_QUESTION,
    };
    struct asker asker = {.begin = STR("Known:")};
    struct err err = ERR_INIT;

    for (size_t i = 0; i < array_size(known); i++) {
        if (mcp_call_can_ask(call, known[i].kind))
            asker.questions[asker.count++] = known[i];
    }
    if (asker.count == 0) {
        mcp_call_need(call, MCP_ASK_SAMPLING, &err);
        mcp_call_fail(call, &err);
        return;
    }
    ask_or_finish(call, &asker);
}

static void write_message(struct json_writer *writer, struct str text)
{
    json_key(writer, STR("messages"));
    json_begin_array(writer);
    json_begin_object(writer);
    json_key(writer, STR("role"));
    json_write_str(writer, STR("user"));
    json_key(writer, STR("content"));
    json_begin_object(writer);
    json_key(writer, STR("type"));
    json_write_str(writer, STR("text"));
    json_key(writer, STR("text"));
    json_write_str(writer, text);
    json_end_object(writer);
    json_end_object(writer);
    json_end_array(writer);
    json_key(writer, STR("maxTokens"));
    json_write_int(writer, 100);
}

static void write_form(struct json_writer *writer, struct str text)
{
    json_key(writer, STR("message"));
    json_write_str(writer, text);
    json_key(writer, STR("requestedSchema"));
    json_splice(writer, STR("{\"type\":\"object\",\"properties\":{"
                            "\"username\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
                            "\"required\":[\"username\",\"email\"]}"));
}

/* A question that an argument is part of. */
static void ask_with_argument(struct mcp_call *call, bool is_sampling)
{
    cleanup_buf struct buf params = BUF_INIT(CONFORMANCE_RESULT_BYTES);
    struct asker asker = {.begin = is_sampling ? STR("LLM response:") : STR("User response:"),
                          .count = 1};
    struct json_writer writer;
    struct str text;

    if (!json_get_str(mcp_call_request(call)->tool.arguments,
                      is_sampling ? STR("prompt") : STR("message"), &text)) {
        conformance_fail(call, ERR_INVALID_ARGUMENT);
        return;
    }
    json_writer_init(&writer, &params);
    json_begin_object(&writer);
    if (is_sampling)
        write_message(&writer, text);
    else
        write_form(&writer, text);
    json_end_object(&writer);
    if (json_writer_finish(&writer) < 0) {
        conformance_fail(call, ERR_TOO_LARGE);
        return;
    }
    asker.questions[0] =
        (struct mcp_question){.key = STR("response"),
                              .kind = is_sampling ? MCP_ASK_SAMPLING : MCP_ASK_FORM,
                              .params = buf_view(&params)};
    ask_or_finish(call, &asker);
}

void conformance_ask(struct mcp_call *call)
{
    enum conformance_tool tool;

    if (mcp_call_request(call)->kind == MCP_PROMPT_GET) {
        ask_or_finish(call, &prompt_asker);
        return;
    }
    tool = (enum conformance_tool)mcp_call_request(call)->tool.tool->id;
    if (tool == SAMPLING || tool == ELICITATION)
        ask_with_argument(call, tool == SAMPLING);
    else if (tool == INPUT_MULTI_ROUND)
        ask_twice(call);
    else if (tool == INPUT_CAPABILITIES)
        ask_what_can_be_asked(call);
    else
        ask_or_finish(call, &askers[tool]);
}
