/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_fixture.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonwrite.h"
#include "mcp_fixture_ask.h"

enum tool { ECHO, WAIT, STEPS, TALK, FAIL, ASK, NEED };

#define TOOL(number, called)                                                                       \
    [number] = {                                                                                   \
        .tool = &(const struct catalog_tool){.id = (number), .name = STR_LITERAL(called)},         \
        .text = STR_LITERAL("{\"name\":\"" called "\",\"inputSchema\":{\"type\":\"object\"}}")}

static const struct catalog_listing tools[] = {
    TOOL(ECHO, "echo"), TOOL(WAIT, "wait"), TOOL(STEPS, "steps"), TOOL(TALK, "talk"),
    TOOL(FAIL, "fail"), TOOL(ASK, "ask"),   TOOL(NEED, "need"),
};

static const struct catalog_listing *const offered[] = {
    &tools[ECHO], &tools[WAIT], &tools[STEPS], &tools[TALK], &tools[FAIL],
};

static const struct catalog_listing *const offered_more[] = {
    &tools[ECHO], &tools[WAIT], &tools[STEPS], &tools[TALK],
    &tools[FAIL], &tools[ASK],  &tools[NEED],
};

static const struct mcp_prompt_argument greet_arguments[] = {
    {STR_LITERAL("name"), true},
    {STR_LITERAL("style"), false},
};

static const struct mcp_prompt prompts[] = {
    {
        .name = STR_LITERAL("greet"),
        .listing = STR_LITERAL("{\"name\":\"greet\",\"arguments\":[{\"name\":\"name\","
                               "\"required\":true},{\"name\":\"style\"}]}"),
        .arguments = greet_arguments,
        .argument_count = array_size(greet_arguments),
    },
    {.name = STR_LITERAL("plain"), .listing = STR_LITERAL("{\"name\":\"plain\"}")},
    {.name = STR_LITERAL("consult"), .listing = STR_LITERAL("{\"name\":\"consult\"}")},
};

static const struct mcp_prompt *const offered_prompts[] = {&prompts[0], &prompts[1], &prompts[2]};

/* By number: all, without the last tools, without the last prompts. */
static const struct offer_size {
    size_t tools;
    size_t prompts;
} offer_sizes[FIXTURE_OFFERS] = {
    {array_size(offered_more), array_size(offered_prompts)},
    {3, array_size(offered_prompts)},
    {3, 1},
};

#define DONE "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}"

void fixture_park(struct mcp_fixture *fixture, struct mcp_call *call)
{
    assert(fixture->parked_count < FIXTURE_MAX_PARKED);
    fixture->parked[fixture->parked_count++] = call;
}

static struct mcp_call *unpark(struct mcp_fixture *fixture, size_t index)
{
    struct mcp_call *call = fixture->parked[index];

    assert(index < fixture->parked_count);
    fixture->parked_count--;
    for (size_t i = index; i < fixture->parked_count; i++)
        fixture->parked[i] = fixture->parked[i + 1];
    return call;
}

static void fail_with(struct mcp_call *call, int code)
{
    struct err err = ERR_INIT;

    err_set_plain(&err, code);
    mcp_call_fail(call, &err);
}

static void get_prompt(struct mcp_fixture *fixture, struct mcp_call *call)
{
    cleanup_buf struct buf result = BUF_INIT(64 << 20);
    struct json_writer writer;

    if (mcp_call_request(call)->prompt.prompt == &prompts[2] && mcp_call_round(call) == 0) {
        fixture_ask(fixture, call);
        return;
    }
    json_writer_init(&writer, &result);
    json_begin_object(&writer);
    json_key(&writer, STR("messages"));
    json_begin_array(&writer);
    json_end_array(&writer);
    json_key(&writer, STR("description"));
    json_write_str(&writer, mcp_call_request(call)->prompt.prompt->name);
    json_key(&writer, STR("_given"));
    json_write_value(&writer, mcp_call_request(call)->prompt.arguments);
    json_end_object(&writer);
    if (json_writer_finish(&writer) < 0)
        fail_with(call, ERR_TOO_LARGE);
    else
        mcp_call_finish(call, buf_view(&result));
}

static void echo(struct mcp_call *call)
{
    cleanup_buf struct buf result = BUF_INIT(64 << 20);
    struct json_writer writer;

    json_writer_init(&writer, &result);
    json_begin_object(&writer);
    json_key(&writer, STR("content"));
    json_begin_array(&writer);
    json_end_array(&writer);
    json_key(&writer, STR("structuredContent"));
    json_write_value(&writer, mcp_call_request(call)->tool.arguments);
    json_end_object(&writer);
    if (json_writer_finish(&writer) < 0)
        fail_with(call, ERR_TOO_LARGE);
    else
        mcp_call_finish(call, buf_view(&result));
}

static void run_tool(struct mcp_fixture *fixture, struct mcp_call *call)
{
    switch ((enum tool)mcp_call_request(call)->tool.tool->id) {
    case ECHO:
        echo(call);
        return;
    case WAIT:
        fixture_park(fixture, call);
        return;
    case STEPS:
        mcp_call_progress(call, 1, 3, "one");
        mcp_call_progress(call, 1, 3, "the same again");
        mcp_call_progress(call, 0, 3, "backwards");
        mcp_call_progress(call, 3, 0, NULL);
        mcp_call_finish(call, STR(DONE));
        return;
    case TALK:
        mcp_call_log(call, MCP_DEBUG, "a detail");
        mcp_call_log(call, MCP_WARNING, "a warning");
        mcp_call_finish(call, STR(DONE));
        return;
    case FAIL:
        fail_with(call, ERR_DENIED_BY_POLICY);
        return;
    case ASK:
        fixture_ask(fixture, call);
        return;
    case NEED:
        fixture_need(call);
        return;
    }
}

static void list_resources(struct mcp_call *call)
{
    struct str cursor = mcp_call_request(call)->cursor;

    if (cursor.len == 0)
        mcp_call_finish(call, STR("{\"resources\":[{\"uri\":\"file:///a.txt\",\"name\":\"a.txt\"}],"
                                  "\"nextCursor\":\"b\"}"));
    else if (str_eq(cursor, STR("b")))
        mcp_call_finish(call,
                        STR("{\"resources\":[{\"uri\":\"file:///b.txt\",\"name\":\"b.txt\"}]}"));
    else
        fail_with(call, ERR_INVALID_ARGUMENT);
}

/* file:///asked.txt wants a word first. */
static void read_resource(struct mcp_fixture *fixture, struct mcp_call *call)
{
    if (str_eq(mcp_call_request(call)->uri, STR("file:///asked.txt")))
        fixture_ask(fixture, call);
    else if (str_eq(mcp_call_request(call)->uri, STR("file:///a.txt")))
        mcp_call_finish(
            call, STR("{ \"contents\":[{\"uri\":\"file:///a.txt\",\"text\":\"the letter a\"}] }"));
    else
        fail_with(call, ERR_NOT_FOUND);
}

/* file:///slow… waits, file:///secret… is refused. */
static void subscribe(struct mcp_fixture *fixture, struct mcp_call *call)
{
    bool is_slow = false;

    for (size_t i = 0; i < mcp_call_request(call)->subscribe.count; i++) {
        struct str uri = mcp_call_request(call)->subscribe.uris[i];

        is_slow |= str_starts_with(uri, STR("file:///slow"));
        if (str_starts_with(uri, STR("file:///secret")))
            mcp_call_refuse_uri(call, i);
    }
    if (is_slow)
        fixture_park(fixture, call);
    else
        mcp_call_finish(call, STR("{}"));
}

static void complete(struct mcp_call *call)
{
    cleanup_buf struct buf result = BUF_INIT(1 << 20);
    struct json_writer writer;

    json_writer_init(&writer, &result);
    json_begin_object(&writer);
    json_key(&writer, STR("completion"));
    json_begin_object(&writer);
    json_key(&writer, STR("values"));
    json_begin_array(&writer);
    json_write_str(&writer, mcp_call_request(call)->complete.prompt != NULL
                                ? mcp_call_request(call)->complete.prompt->name
                                : mcp_call_request(call)->complete.uri);
    json_write_str(&writer, mcp_call_request(call)->complete.name);
    json_write_str(&writer, mcp_call_request(call)->complete.value);
    json_end_array(&writer);
    json_end_object(&writer);
    json_end_object(&writer);
    assert(json_writer_finish(&writer) == 0);
    mcp_call_finish(call, buf_view(&result));
}

static void start(void *data, struct mcp_call *call)
{
    struct mcp_fixture *fixture = data;

    fixture->started++;
    switch (mcp_call_request(call)->kind) {
    case MCP_TOOL_CALL:
        run_tool(fixture, call);
        return;
    case MCP_PROMPT_GET:
        get_prompt(fixture, call);
        return;
    case MCP_RESOURCES_LIST:
        list_resources(call);
        return;
    case MCP_RESOURCE_READ:
        read_resource(fixture, call);
        return;
    case MCP_SUBSCRIBE:
        subscribe(fixture, call);
        return;
    case MCP_COMPLETE:
        complete(call);
        return;
    }
}

static void cancel(void *data, struct mcp_call *call)
{
    struct mcp_fixture *fixture = data;

    assert(mcp_call_is_cancelled(call));
    fixture->cancelled++;
    if (!fixture->ends_cancelled)
        return;
    for (size_t i = 0; i < fixture->parked_count; i++) {
        if (fixture->parked[i] == call) {
            fail_with(unpark(fixture, i), ERR_CANCELLED);
            return;
        }
    }
}

static void answered(void *data, struct mcp_call *call)
{
    struct mcp_fixture *fixture = data;

    assert(!mcp_call_is_cancelled(call));
    fixture->answered++;
    for (size_t i = 0; i < fixture->parked_count; i++) {
        if (fixture->parked[i] != call)
            continue;
        unpark(fixture, i);
        if (mcp_call_request(call)->kind == MCP_PROMPT_GET)
            get_prompt(fixture, call);
        else
            fixture_ask(fixture, call);
        return;
    }
    assert(false && "answers to a call that did not ask");
}

static void unsubscribe(void *data, struct mcp_session *session, struct str uri)
{
    struct mcp_fixture *fixture = data;

    (void)session;
    buf_append_str(&fixture->unsubscribed, uri);
    buf_append_char(&fixture->unsubscribed, ' ');
}

static void take_roots(void *data, struct mcp_session *session, const struct json_value *roots)
{
    struct mcp_fixture *fixture = data;
    struct json_writer writer;

    (void)session;
    if (roots == NULL)
        return;
    buf_clear(&fixture->roots);
    json_writer_init(&writer, &fixture->roots);
    json_write_value(&writer, roots);
    assert(json_writer_finish(&writer) == 0);
}

/* The string behind the key, without its quotes. */
static struct str string_behind(struct str line, struct str key)
{
    size_t at = str_find(line, key);
    struct str rest = str_slice(line, at == SIZE_MAX ? line.len : at + key.len, SIZE_MAX);

    return str_slice(rest, 0, str_find(rest, STR("\"")));
}

/* Keeps what a client would have to repeat. */
static void note_tokens(struct mcp_fixture *fixture, struct str line)
{
    struct str state = string_behind(line, STR("\"requestState\":\""));

    if (fixture->about.kind == MCP_SENT_QUESTION && fixture->question_count < FIXTURE_MAX_TOKENS) {
        char *text = fixture->questions[fixture->question_count++];

        snprintf(text, sizeof(fixture->questions[0]), "\"%.*s\"",
                 STR_ARG(string_behind(line, STR("\"id\":\""))));
    }
    if (fixture->about.kind == MCP_SENT_RESULT && state.len > 0 &&
        fixture->state_count < FIXTURE_MAX_TOKENS) {
        char *text = strndup(state.ptr, state.len);

        assert(text != NULL);
        fixture->states[fixture->state_count++] = text;
    }
}

static void take_output(void *data, const struct mcp_outgoing *about, const struct str *parts,
                        size_t count)
{
    struct mcp_fixture *fixture = data;
    size_t start;

    fixture->about = *about;
    fixture->about.call = NULL;
    fixture->about.id = STR_EMPTY;
    fixture->sent_count++;
    if (fixture->drops_output)
        return;
    if (fixture->taken == fixture->sent.len) {
        buf_clear(&fixture->sent);
        fixture->taken = 0;
    }
    start = fixture->sent.len;
    for (size_t i = 0; i < count; i++)
        assert(buf_append_str(&fixture->sent, parts[i]) == 0);
    note_tokens(fixture, str_slice(buf_view(&fixture->sent), start, SIZE_MAX));
    assert(buf_append_char(&fixture->sent, '\n') == 0);
}

static const struct mcp_host host = {
    .start = start,
    .cancel = cancel,
    .answered = answered,
    .unsubscribe = unsubscribe,
    .roots = take_roots,
    .send = take_output,
};

void fixture_init(struct mcp_fixture *fixture)
{
    *fixture = (struct mcp_fixture){
        .server =
            {
                .name = STR("fixture"),
                .title = STR("A fixture"),
                .version = STR("1.0"),
                .instructions = STR("Be kind."),
                .offer = {.tools = offered, .tool_count = array_size(offered)},
                .has_resources = true,
                .has_subscriptions = true,
                .has_resource_changes = true,
                .has_completions = true,
                .has_logging = true,
                .resource_templates =
                    STR("[{\"uriTemplate\":\"file:///{+path}\",\"name\":\"file\"}]"),
            },
        .sent = BUF_INIT(FIXTURE_SENT_BYTES),
        .unsubscribed = BUF_INIT(FIXTURE_SENT_BYTES),
        .roots = BUF_INIT(FIXTURE_SENT_BYTES),
        .config = {.data = fixture, .principal = STR_EMPTY},
    };
    clock_fake_init(&fixture->clock, 0);
    fixture->server.clock = &fixture->clock;
}

static void release(void *data)
{
    struct mcp_fixture *fixture = data;

    fixture->released++;
}

static struct mcp_offer offer_number(struct mcp_fixture *fixture, size_t number)
{
    return (struct mcp_offer){
        .tools = offered_more,
        .tool_count = offer_sizes[number].tools,
        .prompts = offered_prompts,
        .prompt_count = offer_sizes[number].prompts,
        .release = release,
        .data = fixture,
    };
}

void fixture_offer_more(struct mcp_fixture *fixture)
{
    fixture->server.offer = offer_number(fixture, 0);
    fixture->server.has_prompts = true;
    fixture->server.has_tool_changes = true;
    fixture->server.has_prompt_changes = true;
}

int fixture_set_offer(struct mcp_fixture *fixture, size_t number)
{
    const struct mcp_offer offer = offer_number(fixture, number);

    return mcp_service_set_offer(fixture->service, &offer);
}

int fixture_open(struct mcp_fixture *fixture)
{
    int r = 0;

    if (fixture->service == NULL)
        r = mcp_service_new(&fixture->server, &host, &fixture->service);
    return r < 0 ? r : mcp_session_new(fixture->service, &fixture->config, &fixture->session);
}

void fixture_say(struct mcp_fixture *fixture, struct str bytes)
{
    struct mcp_message *message;

    if (fixture->origin == 0) {
        mcp_session_receive(fixture->session, bytes);
        return;
    }
    assert(mcp_message_parse(fixture->service, bytes, &message) == 0);
    mcp_session_take(fixture->session, message, fixture->origin);
}

void fixture_sayf(struct mcp_fixture *fixture, const char *format, ...)
{
    cleanup_buf struct buf text = BUF_INIT(FIXTURE_SENT_BYTES);
    cleanup_buf struct buf expanded = BUF_INIT(FIXTURE_SENT_BYTES);
    va_list args;

    va_start(args, format);
    assert(buf_vprintf(&text, format, args) == 0);
    va_end(args);
    assert(fixture_expand(fixture, buf_view(&text), &expanded) == 0);
    fixture_say(fixture, buf_view(&expanded));
}

void fixture_pass(struct mcp_fixture *fixture, int64_t ms)
{
    clock_fake_advance(&fixture->clock, ms);
    mcp_service_expire(fixture->service);
}

int fixture_expand(const struct mcp_fixture *fixture, struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        size_t number = 0;
        size_t digits = 0;
        const char *token = NULL;
        int r;

        while (text.ptr[i] == '@' && digits < 2 && i + 2 + digits < text.len &&
               text.ptr[i + 2 + digits] >= '0' && text.ptr[i + 2 + digits] <= '9')
            number = number * 10 + (size_t)(text.ptr[i + 2 + digits++] - '0');
        if (digits > 0 && text.ptr[i + 1] == 'q' && number - 1 < fixture->question_count)
            token = fixture->questions[number - 1];
        else if (digits > 0 && text.ptr[i + 1] == 's' && number - 1 < fixture->state_count)
            token = fixture->states[number - 1];
        r = token != NULL ? buf_append_str(out, str_from(token))
                          : buf_append_char(out, text.ptr[i]);
        if (r < 0)
            return r;
        if (token != NULL)
            i += 1 + digits;
    }
    return 0;
}

void fixture_close(struct mcp_fixture *fixture)
{
    mcp_session_free(fixture->session);
    fixture->session = NULL;
}

void fixture_done(struct mcp_fixture *fixture)
{
    fixture_close(fixture);
    while (fixture->parked_count > 0)
        fixture_finish(fixture, fixture->parked_count - 1);
    mcp_service_free(fixture->service);
    for (size_t i = 0; i < fixture->state_count; i++)
        free(fixture->states[i]);
    buf_done(&fixture->sent);
    buf_done(&fixture->unsubscribed);
    buf_done(&fixture->roots);
}

void fixture_finish(struct mcp_fixture *fixture, size_t index)
{
    mcp_call_finish(unpark(fixture, index), STR(DONE));
}

void fixture_fail(struct mcp_fixture *fixture, size_t index, int code)
{
    fail_with(unpark(fixture, index), code);
}

bool fixture_next(struct mcp_fixture *fixture, struct str *out_line)
{
    struct str rest = str_slice(buf_view(&fixture->sent), fixture->taken, SIZE_MAX);
    size_t end = str_find(rest, STR("\n"));

    if (end == SIZE_MAX)
        return false;
    *out_line = str_slice(rest, 0, end);
    fixture->taken += end + 1;
    return true;
}

bool fixture_next_has(struct mcp_fixture *fixture, const char *part)
{
    struct str line;

    return fixture_next(fixture, &line) && str_find(line, str_from(part)) != SIZE_MAX;
}

bool fixture_is_silent(struct mcp_fixture *fixture)
{
    struct str line;

    return !fixture_next(fixture, &line);
}
