/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_fixture.h"

#include <assert.h>

#include "base/jsonwrite.h"

enum tool { ECHO, WAIT, STEPS, TALK, FAIL };

#define LISTING(tool) STR_LITERAL("{\"name\":\"" tool "\",\"inputSchema\":{\"type\":\"object\"}}")

static const struct catalog_tool tools[] = {
    {.id = ECHO, .name = STR_LITERAL("echo"), .listing = LISTING("echo")},
    {.id = WAIT, .name = STR_LITERAL("wait"), .listing = LISTING("wait")},
    {.id = STEPS, .name = STR_LITERAL("steps"), .listing = LISTING("steps")},
    {.id = TALK, .name = STR_LITERAL("talk"), .listing = LISTING("talk")},
    {.id = FAIL, .name = STR_LITERAL("fail"), .listing = LISTING("fail")},
};

static const struct catalog_tool *const offered[] = {
    &tools[ECHO], &tools[WAIT], &tools[STEPS], &tools[TALK], &tools[FAIL],
};

#define DONE "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}"

static void park(struct mcp_fixture *fixture, struct mcp_call *call)
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
    json_write_value(&writer, mcp_call_arguments(call));
    json_end_object(&writer);
    if (json_writer_finish(&writer) < 0)
        fail_with(call, ERR_TOO_LARGE);
    else
        mcp_call_finish(call, buf_view(&result));
}

static void run_tool(struct mcp_fixture *fixture, struct mcp_call *call)
{
    switch ((enum tool)mcp_call_tool(call)->id) {
    case ECHO:
        echo(call);
        return;
    case WAIT:
        park(fixture, call);
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
    }
}

static void list_resources(struct mcp_call *call)
{
    struct str cursor = mcp_call_cursor(call);

    if (cursor.len == 0)
        mcp_call_finish(call, STR("{\"resources\":[{\"uri\":\"file:///a.txt\",\"name\":\"a.txt\"}],"
                                  "\"nextCursor\":\"b\"}"));
    else if (str_eq(cursor, STR("b")))
        mcp_call_finish(call,
                        STR("{\"resources\":[{\"uri\":\"file:///b.txt\",\"name\":\"b.txt\"}]}"));
    else
        fail_with(call, ERR_INVALID_ARGUMENT);
}

static void read_resource(struct mcp_call *call)
{
    if (str_eq(mcp_call_uri(call), STR("file:///a.txt")))
        mcp_call_finish(
            call, STR("{ \"contents\":[{\"uri\":\"file:///a.txt\",\"text\":\"the letter a\"}] }"));
    else
        fail_with(call, ERR_NOT_FOUND);
}

/* file:///slow… waits, file:///secret… is refused. */
static void subscribe(struct mcp_fixture *fixture, struct mcp_call *call)
{
    bool is_slow = false;

    for (size_t i = 0; i < mcp_call_uri_count(call); i++) {
        struct str uri = mcp_call_uri_at(call, i);

        is_slow |= str_starts_with(uri, STR("file:///slow"));
        if (str_starts_with(uri, STR("file:///secret")))
            mcp_call_refuse_uri(call, i);
    }
    if (is_slow)
        park(fixture, call);
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
    json_write_str(&writer, mcp_call_uri(call));
    json_write_str(&writer, mcp_call_argument_name(call));
    json_write_str(&writer, mcp_call_argument_value(call));
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
    switch (mcp_call_work(call)) {
    case MCP_TOOL_CALL:
        run_tool(fixture, call);
        return;
    case MCP_RESOURCES_LIST:
        list_resources(call);
        return;
    case MCP_RESOURCE_READ:
        read_resource(call);
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
    buf_clear(&fixture->roots);
    json_writer_init(&writer, &fixture->roots);
    json_write_value(&writer, roots);
    assert(json_writer_finish(&writer) == 0);
}

static void take_output(void *data, const struct mcp_call *call, const struct str *parts,
                        size_t count)
{
    struct mcp_fixture *fixture = data;

    (void)call;
    fixture->sent_count++;
    if (fixture->drops_output)
        return;
    if (fixture->taken == fixture->sent.len) {
        buf_clear(&fixture->sent);
        fixture->taken = 0;
    }
    for (size_t i = 0; i < count; i++)
        assert(buf_append_str(&fixture->sent, parts[i]) == 0);
    assert(buf_append_char(&fixture->sent, '\n') == 0);
}

static const struct mcp_host host = {
    .start = start,
    .cancel = cancel,
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
                .tools = offered,
                .tool_count = array_size(offered),
                .has_resources = true,
                .has_subscriptions = true,
                .has_list_changes = true,
                .has_completions = true,
                .has_logging = true,
                .resource_templates =
                    STR("[{\"uriTemplate\":\"file:///{+path}\",\"name\":\"file\"}]"),
            },
        .sent = BUF_INIT(FIXTURE_SENT_BYTES),
        .unsubscribed = BUF_INIT(FIXTURE_SENT_BYTES),
        .roots = BUF_INIT(FIXTURE_SENT_BYTES),
    };
}

int fixture_open(struct mcp_fixture *fixture)
{
    return mcp_session_new(&fixture->server, &host, fixture, &fixture->session);
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
