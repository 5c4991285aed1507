/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "base/jsonwrite.h"
#include "conformance.h"
#include "loop/timer.h"
#include "mcp/http.h"

enum { STEP_MS = 50 };

#define OBJECT "{\"type\":\"object\"}"
#define STRING "{\"type\":\"string\"}"
#define NEEDS(key)                                                                                 \
    "{\"type\":\"object\",\"properties\":{\"" key "\":" STRING "},\"required\":[\"" key "\"]}"

#define EVERY_WORD_SCHEMA                                                                          \
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","           \
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\","                      \
    "\"properties\":{\"street\":" STRING ",\"city\":" STRING "}}},"                                \
    "\"properties\":{\"name\":" STRING ",\"address\":{\"$ref\":\"#/$defs/address\"},"              \
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"                      \
    "\"phone\":" STRING ",\"email\":" STRING "},"                                                  \
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"             \
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"                            \
    "\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},"                       \
    "\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}"

#define HEADER_SCHEMA                                                                              \
    "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\","                        \
    "\"x-mcp-header\":\"Region\"}},\"required\":[\"region\"]}"

#define TOOL(number, called, words, schema)                                                        \
    [number] = {.tool = &(const struct catalog_tool){.id = (number),                               \
                                                     .name = STR_LITERAL(called),                  \
                                                     .input_schema = STR_LITERAL(schema)},         \
                .text = STR_LITERAL("{\"name\":\"" called "\",\"description\":\"" words            \
                                    "\",\"inputSchema\":" schema "}")}

const struct catalog_listing conformance_tools[CONFORMANCE_TOOLS] = {
    TOOL(SIMPLE_TEXT, "test_simple_text", "Answers a text", OBJECT),
    TOOL(IMAGE_CONTENT, "test_image_content", "Answers an image", OBJECT),
    TOOL(AUDIO_CONTENT, "test_audio_content", "Answers a sound", OBJECT),
    TOOL(EMBEDDED_RESOURCE, "test_embedded_resource", "Answers a resource", OBJECT),
    TOOL(MULTIPLE_CONTENT_TYPES, "test_multiple_content_types", "Answers some of each", OBJECT),
    TOOL(ERROR_HANDLING, "test_error_handling", "Fails", OBJECT),
    TOOL(JSON_SCHEMA, "json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features",
         EVERY_WORD_SCHEMA),
    TOOL(CUSTOM_HEADER, "test_x_mcp_header", "Has an argument that is also a header",
         HEADER_SCHEMA),
    TOOL(TOOL_WITH_LOGGING, "test_tool_with_logging", "Logs three times", OBJECT),
    TOOL(LOGGING_TOOL, "test_logging_tool", "Logs once", OBJECT),
    TOOL(TOOL_WITH_PROGRESS, "test_tool_with_progress", "Tells how far it is", OBJECT),
    TOOL(RECONNECTION, "test_reconnection", "Hangs up before it answers", OBJECT),
    TOOL(TRIGGER_TOOL_CHANGE, "test_trigger_tool_change", "Changes the tools", OBJECT),
    TOOL(TRIGGER_PROMPT_CHANGE, "test_trigger_prompt_change", "Changes the prompts", OBJECT),
    TOOL(MISSING_CAPABILITY, "test_missing_capability", "Needs a client that samples", OBJECT),
    TOOL(SAMPLING, "test_sampling", "Asks the client's model", NEEDS("prompt")),
    TOOL(ELICITATION, "test_elicitation", "Asks the user", NEEDS("message")),
    TOOL(ELICITATION_DEFAULTS, "test_elicitation_sep1034_defaults", "Asks, with defaults", OBJECT),
    TOOL(ELICITATION_ENUMS, "test_elicitation_sep1330_enums", "Asks, with choices", OBJECT),
    TOOL(STREAMING_ELICITATION, "test_streaming_elicitation", "Asks in between", OBJECT),
    TOOL(INPUT_ELICITATION, "test_input_required_result_elicitation", "Asks for a name", OBJECT),
    TOOL(INPUT_SAMPLING, "test_input_required_result_sampling", "Asks for a capital", OBJECT),
    TOOL(INPUT_LIST_ROOTS, "test_input_required_result_list_roots", "Asks for roots", OBJECT),
    TOOL(INPUT_REQUEST_STATE, "test_input_required_result_request_state", "Asks for a yes", OBJECT),
    TOOL(INPUT_MULTIPLE, "test_input_required_result_multiple_inputs", "Asks thrice at once",
         OBJECT),
    TOOL(INPUT_MULTI_ROUND, "test_input_required_result_multi_round", "Asks twice", OBJECT),
    TOOL(INPUT_TAMPERED_STATE, "test_input_required_result_tampered_state", "Asks for a yes",
         OBJECT),
    TOOL(INPUT_CAPABILITIES, "test_input_required_result_capabilities", "Asks what can be asked",
         OBJECT),
    TOOL(MOMENTARY_TOOL, "test_momentary", "Is not always there", OBJECT),
};

#define CONTENT(items)   "{\"content\":[" items "]}"
#define TEXT_ITEM(words) "{\"type\":\"text\",\"text\":\"" words "\"}"
#define IMAGE_ITEM                                                                                 \
    "{\"type\":\"image\",\"data\":\"" CONFORMANCE_PNG "\",\"mimeType\":\"image/png\"}"
#define RESOURCE_ITEM(uri, type, text)                                                             \
    "{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri "\",\"mimeType\":\"" type                \
    "\",\"text\":\"" text "\"}}"

/* What is always the same. */
static const struct str results[CONFORMANCE_TOOLS] = {
    [SIMPLE_TEXT] = STR_LITERAL(CONTENT(TEXT_ITEM("This is a simple text response for testing."))),
    [IMAGE_CONTENT] = STR_LITERAL(CONTENT(IMAGE_ITEM)),
    [AUDIO_CONTENT] = STR_LITERAL(CONTENT("{\"type\":\"audio\",\"data\":\"" CONFORMANCE_WAV
                                          "\",\"mimeType\":\"audio/wav\"}")),
    [EMBEDDED_RESOURCE] = STR_LITERAL(CONTENT(RESOURCE_ITEM(
        "test://embedded-resource", "text/plain", "This is an embedded resource content."))),
    [MULTIPLE_CONTENT_TYPES] = STR_LITERAL(
        CONTENT(TEXT_ITEM("Multiple content types test:") "," IMAGE_ITEM "," RESOURCE_ITEM(
            "test://mixed-content-resource", "application/json",
            "{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}"))),
    [ERROR_HANDLING] = STR_LITERAL("{\"isError\":true,\"content\":[" TEXT_ITEM(
        "This tool intentionally returns an error for testing") "]}"),
    [JSON_SCHEMA] = STR_LITERAL(CONTENT(TEXT_ITEM("All of it was understood."))),
    [CUSTOM_HEADER] = STR_LITERAL(CONTENT(TEXT_ITEM("The header says the same."))),
    [MISSING_CAPABILITY] = STR_LITERAL(CONTENT(TEXT_ITEM("The client samples."))),
    [TRIGGER_TOOL_CHANGE] = STR_LITERAL(CONTENT(TEXT_ITEM("The tools are others now."))),
    [TRIGGER_PROMPT_CHANGE] = STR_LITERAL(CONTENT(TEXT_ITEM("The prompts are others now."))),
    [MOMENTARY_TOOL] = STR_LITERAL(CONTENT(TEXT_ITEM("For the moment."))),
};

void conformance_finish_text(struct mcp_call *call, struct str text)
{
    cleanup_buf struct buf result = BUF_INIT(CONFORMANCE_RESULT_BYTES);
    struct json_writer writer;

    json_writer_init(&writer, &result);
    json_begin_object(&writer);
    json_key(&writer, STR("content"));
    json_begin_array(&writer);
    json_begin_object(&writer);
    json_key(&writer, STR("type"));
    json_write_str(&writer, STR("text"));
    json_key(&writer, STR("text"));
    json_write_str(&writer, text);
    json_end_object(&writer);
    json_end_array(&writer);
    json_end_object(&writer);
    if (json_writer_finish(&writer) < 0)
        conformance_fail(call, ERR_TOO_LARGE);
    else
        mcp_call_finish(call, buf_view(&result));
}

void conformance_fail(struct mcp_call *call, int code)
{
    struct err err = ERR_INIT;

    err_set_plain(&err, code);
    mcp_call_fail(call, &err);
}

/* ---- in steps ---- */

struct job {
    struct timer timer;
    struct mcp_call *call;
    unsigned step; /* 0: the first */
};

/* True when that was the last step. */
static bool take_step(struct mcp_call *call, enum conformance_tool tool, unsigned step)
{
    static const char *const logs[] = {"Tool execution started", "Tool processing data",
                                       "Tool execution completed"};

    if (tool == TOOL_WITH_LOGGING && step < array_size(logs))
        mcp_call_log(call, MCP_INFO, logs[step]);
    if (tool == TOOL_WITH_PROGRESS && step < 3)
        mcp_call_progress(call, 50 * (uint64_t)step, 100, NULL);
    if (tool == RECONNECTION && step == 1)
        mcp_http_part(call);
    return step == 3;
}

static void go_on(void *data)
{
    struct job *job = data;
    struct mcp_call *call = job->call;

    if (!take_step(call, (enum conformance_tool)mcp_call_request(call)->tool.tool->id,
                   job->step++)) {
        timer_start(&job->timer, STEP_MS);
        return;
    }
    free(job);
    conformance_finish_text(call, STR("All steps were taken."));
}

static void run_in_steps(struct loop *loop, struct mcp_call *call)
{
    struct job *job = malloc(sizeof(*job));

    if (job == NULL) {
        conformance_fail(call, ERR_NO_MEMORY);
        return;
    }
    *job = (struct job){.call = call};
    timer_init(&job->timer, loop, go_on, job);
    mcp_call_set_data(call, job);
    go_on(job);
}

void conformance_cancel(struct mcp_call *call)
{
    struct job *job = mcp_call_data(call);

    if (job != NULL)
        timer_stop(&job->timer);
    free(job);
    conformance_fail(call, ERR_CANCELLED);
}

/* ---- all of them ---- */

static void run_with_sampling(struct mcp_call *call)
{
    struct err err = ERR_INIT;

    if (mcp_call_need(call, MCP_ASK_SAMPLING, &err) < 0)
        mcp_call_fail(call, &err);
    else
        mcp_call_finish(call, results[MISSING_CAPABILITY]);
}

void conformance_run_tool(struct loop *loop, struct mcp_call *call)
{
    const enum conformance_tool tool = (enum conformance_tool)mcp_call_request(call)->tool.tool->id;

    switch (tool) {
    case TOOL_WITH_LOGGING:
    case TOOL_WITH_PROGRESS:
    case RECONNECTION:
        run_in_steps(loop, call);
        return;
    case LOGGING_TOOL:
        mcp_call_log(call, MCP_INFO, "It runs.");
        conformance_finish_text(call, STR("It ran."));
        return;
    case MISSING_CAPABILITY:
        run_with_sampling(call);
        return;
    case TRIGGER_TOOL_CHANGE:
        conformance_change_tools();
        break;
    case TRIGGER_PROMPT_CHANGE:
        conformance_change_prompts();
        break;
    case SIMPLE_TEXT:
    case IMAGE_CONTENT:
    case AUDIO_CONTENT:
    case EMBEDDED_RESOURCE:
    case MULTIPLE_CONTENT_TYPES:
    case ERROR_HANDLING:
    case JSON_SCHEMA:
    case CUSTOM_HEADER:
    case MOMENTARY_TOOL:
        break;
    case SAMPLING:
    case ELICITATION:
    case ELICITATION_DEFAULTS:
    case ELICITATION_ENUMS:
    case STREAMING_ELICITATION:
    case INPUT_ELICITATION:
    case INPUT_SAMPLING:
    case INPUT_LIST_ROOTS:
    case INPUT_REQUEST_STATE:
    case INPUT_MULTIPLE:
    case INPUT_MULTI_ROUND:
    case INPUT_TAMPERED_STATE:
    case INPUT_CAPABILITIES:
        conformance_ask(call);
        return;
    case CONFORMANCE_TOOLS:
        assert(false && "no tool has this number");
        return;
    }
    mcp_call_finish(call, results[tool]);
}
