/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_http_fixture.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum tool { ANSWER, WAIT, SAY, TALK, ASK, HEADER, LARGE, PART, TOOLS };

#define OBJECT "{\"type\":\"object\"}"
#define HEADER_SCHEMA                                                                              \
    "{\"type\":\"object\",\"properties\":{"                                                        \
    "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"                                \
    "\"count\":{\"type\":\"integer\",\"x-mcp-header\":\"Count\"},"                                 \
    "\"dry\":{\"type\":\"boolean\",\"x-mcp-header\":\"Dry\"},"                                     \
    "\"bad\":{\"type\":\"string\",\"x-mcp-header\":\"not a name\"},"                               \
    "\"inner\":{\"type\":\"object\",\"properties\":{"                                              \
    "\"zone\":{\"type\":\"string\",\"x-mcp-header\":\"Zone\"}}}}}"
#define TOOL(number, called, schema)                                                               \
    [number] = {.tool = &(const struct catalog_tool){.id = (number),                               \
                                                     .name = STR_LITERAL(called),                  \
                                                     .input_schema = STR_LITERAL(schema)},         \
                .text = STR_LITERAL("{\"name\":\"" called "\",\"inputSchema\":" schema "}")}

static const struct catalog_listing tools[TOOLS] = {
    TOOL(ANSWER, "echo", OBJECT), TOOL(WAIT, "wait", OBJECT), TOOL(SAY, "say", OBJECT),
    TOOL(TALK, "talk", OBJECT),   TOOL(ASK, "ask", OBJECT),   TOOL(HEADER, "header", HEADER_SCHEMA),
    TOOL(LARGE, "large", OBJECT), TOOL(PART, "part", OBJECT),
};
static const struct catalog_listing *const offered[TOOLS] = {
    &tools[ANSWER], &tools[WAIT],   &tools[SAY],   &tools[TALK],
    &tools[ASK],    &tools[HEADER], &tools[LARGE], &tools[PART],
};

#define DONE "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}"

/* ---- the host ---- */

static void fail(struct mcp_call *call, int code)
{
    struct err err = ERR_INIT;

    err_set_plain(&err, code);
    mcp_call_fail(call, &err);
}

static void park(struct mcp_http_fixture *fixture, struct mcp_call *call)
{
    assert(fixture->parked_count < MCP_HTTP_FIXTURE_PARKED);
    fixture->parked[fixture->parked_count++] = call;
}

static void unpark(struct mcp_http_fixture *fixture, const struct mcp_call *call)
{
    for (size_t i = 0; i < fixture->parked_count; i++) {
        if (fixture->parked[i] != call)
            continue;
        fixture->parked_count--;
        memmove(&fixture->parked[i], &fixture->parked[i + 1],
                (fixture->parked_count - i) * sizeof(fixture->parked[0]));
        return;
    }
}

static void ask(struct mcp_call *call)
{
    const struct mcp_question question = {
        .key = STR("name"),
        .kind = MCP_ASK_FORM,
        .params = STR("{\"message\":\"Who?\",\"requestedSchema\":{\"type\":\"object\"}}")};
    struct mcp_round round = {.questions = &question, .count = 1};
    struct err err = ERR_INIT;

    json_get_int(mcp_call_request(call)->tool.arguments, STR("ms"), &round.timeout_ms);
    if (mcp_call_ask(call, &round, &err) < 0)
        mcp_call_fail(call, &err);
}

static void answer_large(struct mcp_call *call)
{
    bool warns = false;
    char text[3000 + sizeof(DONE)];
    int len =
        snprintf(text, sizeof(text), "{\"content\":[{\"type\":\"text\",\"text\":\"%03000d\"}]}", 0);

    json_get_bool(mcp_call_request(call)->tool.arguments, STR("warn"), &warns);
    if (warns)
        mcp_call_log(call, MCP_WARNING, "a warning");
    mcp_call_finish(call, (struct str){text, (size_t)len});
}

static void start(void *data, struct mcp_call *call)
{
    struct mcp_http_fixture *fixture = data;

    fixture->started++;
    if (mcp_call_request(call)->kind != MCP_TOOL_CALL) {
        mcp_call_finish(call, STR("{}"));
        return;
    }
    switch ((enum tool)mcp_call_request(call)->tool.tool->id) {
    case SAY:
        mcp_call_log(call, MCP_WARNING, "a warning");
        mcp_call_finish(call, STR(DONE));
        return;
    case TALK:
        mcp_call_log(call, MCP_WARNING, "a warning");
        park(fixture, call);
        return;
    case PART:
        mcp_http_part(call);
        park(fixture, call);
        return;
    case WAIT:
        park(fixture, call);
        return;
    case ASK:
        ask(call);
        return;
    case LARGE:
        answer_large(call);
        return;
    case ANSWER:
    case HEADER:
    case TOOLS:
        break;
    }
    mcp_call_finish(call, STR(DONE));
}

static void cancel(void *data, struct mcp_call *call)
{
    struct mcp_http_fixture *fixture = data;

    fixture->cancelled++;
    unpark(fixture, call);
    fail(call, ERR_CANCELLED);
}

static void answered(void *data, struct mcp_call *call)
{
    struct mcp_answer answer = mcp_call_answer(call, STR("name"));

    (void)data;
    if (answer.status == MCP_ACCEPTED)
        mcp_call_finish(call, STR("{\"content\":[],\"said\":\"a name\"}"));
    else
        fail(call, answer.status == MCP_FAILED ? answer.error : ERR_CANCELLED);
}

static void unsubscribe(void *data, struct mcp_session *session, struct str uri)
{
    struct mcp_http_fixture *fixture = data;

    (void)session;
    (void)uri;
    fixture->unsubscribed++;
}

static const struct mcp_host host = {
    .start = start, .cancel = cancel, .answered = answered, .unsubscribe = unsubscribe};

/* "alice" and "bob" are known, "eve" too but not for this. */
static int authorize(void *data, struct str token, struct str *out_principal)
{
    (void)data;
    if (str_eq(token, STR("eve")))
        return ERR_SCOPE_MISSING;
    if (!str_eq(token, STR("alice")) && !str_eq(token, STR("bob")))
        return ERR_UNAUTHORIZED;
    *out_principal = str_eq(token, STR("alice")) ? STR("alice") : STR("bob");
    return 0;
}

/* ---- the server ---- */

static void handle(void *data, struct exchange *exchange)
{
    mcp_http_handle(((struct mcp_http_fixture *)data)->endpoint, exchange);
}

void mcp_http_fixture_init(struct mcp_http_fixture *fixture, const struct mcp_http_config *limits,
                           const struct httpserver_config *server_limits)
{
    struct httpserver_config ours =
        server_limits != NULL ? *server_limits : (struct httpserver_config){0};
    struct mcp_http_config config = limits != NULL ? *limits : (struct mcp_http_config){0};
    int r;

    memset(fixture, 0, sizeof(*fixture));
    ours.on_request = handle;
    ours.data = fixture;
    http_fixture_init(&fixture->http, &ours);
    fixture->server = (struct mcp_server){
        .name = STR("fixture"),
        .version = STR("1"),
        .offer = {.tools = offered, .tool_count = TOOLS},
        .has_resources = true,
        .has_subscriptions = true,
        .has_tool_changes = true,
        .has_logging = true,
        .max_message_bytes = 64 << 10,
        .clock = &fixture->http.clock,
    };
    config.loop = fixture->http.loop;
    config.server = &fixture->server;
    config.host = &host;
    config.data = fixture;
    if (config.resource_metadata.len > 0)
        config.authorize = authorize;
    r = mcp_http_new(&config, &fixture->endpoint);
    assert(r == 0);
    (void)r;
}

void mcp_http_fixture_done(struct mcp_http_fixture *fixture)
{
    mcp_http_close(fixture->endpoint);
    assert(fixture->parked_count == 0);
    http_fixture_turn(&fixture->http);
    mcp_http_free(fixture->endpoint);
    http_fixture_done(&fixture->http);
}

struct mcp_http_fixture *mcp_http_fixture_new(const struct mcp_http_config *limits)
{
    struct mcp_http_fixture *fixture = malloc(sizeof(*fixture));

    assert(fixture != NULL);
    mcp_http_fixture_init(fixture, limits, NULL);
    return fixture;
}

void mcp_http_fixture_free(struct mcp_http_fixture *fixture)
{
    mcp_http_fixture_done(fixture);
    free(fixture);
}

void mcp_http_fixture_finish(struct mcp_http_fixture *fixture)
{
    struct mcp_call *call = fixture->parked[0];

    assert(fixture->parked_count > 0);
    unpark(fixture, call);
    mcp_call_finish(call, STR(DONE));
    http_fixture_turn(&fixture->http);
}

void mcp_http_fixture_change_tools(struct mcp_http_fixture *fixture)
{
    fixture->server.offer.tool_count =
        fixture->server.offer.tool_count == TOOLS ? TOOLS - 1 : TOOLS;
    assert(mcp_service_set_offer(mcp_http_service(fixture->endpoint), &fixture->server.offer) == 0);
    http_fixture_turn(&fixture->http);
}

/* ---- a client ---- */

void mcp_http_link_open(struct mcp_http_link *link, struct mcp_http_fixture *fixture)
{
    *link = (struct mcp_http_link){.fixture = fixture, .fd = http_fixture_connect(&fixture->http)};
    buf_init(&link->got, MCP_HTTP_FIXTURE_GOT_BYTES);
}

void mcp_http_link_close(struct mcp_http_link *link)
{
    if (link->fd < 0)
        return;
    close(link->fd);
    link->fd = -1;
    buf_done(&link->got);
    http_fixture_turn(&link->fixture->http);
}

static void take_what_came(struct mcp_http_link *link)
{
    http_fixture_turn(&link->fixture->http);
    link->is_closed |= http_fixture_receive(&link->fixture->http, link->fd, &link->got);
}

int mcp_http_send_raw(struct mcp_http_link *link, const char *method, const char *headers,
                      const char *body)
{
    cleanup_buf struct buf request = BUF_INIT(MCP_HTTP_FIXTURE_GOT_BYTES);
    const char *got;

    assert(buf_printf(&request, "%s /mcp HTTP/1.1\r\nHost: localhost\r\n%s%s", method, headers,
                      link->more != NULL ? link->more : "") == 0);
    if (body != NULL)
        assert(buf_printf(&request, "Content-Length: %zu\r\n\r\n%s", strlen(body), body) == 0);
    else
        assert(buf_append_str(&request, STR("\r\n")) == 0);
    buf_clear(&link->got);
    (void)http_fixture_send(&link->fixture->http, link->fd, buf_view(&request));
    take_what_came(link);
    assert(buf_terminate(&link->got, &got) == 0);
    return strncmp(got, "HTTP/1.1 ", 9) == 0 ? (int)strtol(got + 9, NULL, 10) : 0;
}

int mcp_http_post(struct mcp_http_link *link, const char *headers, const char *body)
{
    char all[MCP_HTTP_FIXTURE_HEADERS];

    snprintf(all, sizeof(all),
             "Content-Type: application/json\r\n"
             "Accept: application/json, text/event-stream\r\n%s",
             headers);
    return mcp_http_send_raw(link, "POST", all, body);
}

int mcp_http_post_legacy(struct mcp_http_link *link, const char *body)
{
    return mcp_http_post(link, link->session, body);
}

int mcp_http_get(struct mcp_http_link *link, const char *last_event)
{
    char all[MCP_HTTP_FIXTURE_HEADERS];

    snprintf(all, sizeof(all), "Accept: text/event-stream\r\n%s%s%s%s", link->session,
             last_event != NULL ? "Last-Event-ID: " : "", last_event != NULL ? last_event : "",
             last_event != NULL ? "\r\n" : "");
    return mcp_http_send_raw(link, "GET", all, NULL);
}

int mcp_http_delete(struct mcp_http_link *link)
{
    return mcp_http_send_raw(link, "DELETE", link->session, NULL);
}

int mcp_http_call_modern(struct mcp_http_link *link, const char *tool, const char *arguments)
{
    char headers[256];
    char body[4096];

    snprintf(headers, sizeof(headers),
             "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\n",
             tool);
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
             "\"arguments\":%s,\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/logLevel\":\"info\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             tool, arguments);
    return mcp_http_post(link, headers, body);
}

int mcp_http_call_legacy(struct mcp_http_link *link, int id, const char *tool,
                         const char *arguments)
{
    char body[4096];

    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
             "\"arguments\":%s}}",
             id, tool, arguments);
    return mcp_http_post_legacy(link, body);
}

void mcp_http_open_session(struct mcp_http_link *link, const char *revision)
{
    char body[512];
    char id[40] = "";
    int status;

    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"%s\",\"capabilities\":{\"elicitation\":{}},"
             "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
             revision);
    status = mcp_http_post(link, "", body);
    assert(status == 200);
    mcp_http_behind(link, "Mcp-Session-Id: ", id, sizeof(id));
    assert(strlen(id) == 32);
    snprintf(link->session, sizeof(link->session), "Mcp-Session-Id: %s\r\n", id);
    status = mcp_http_post_legacy(link,
                                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    assert(status == 202);
    (void)status;
}

bool mcp_http_has(struct mcp_http_link *link, const char *text)
{
    return mcp_http_count(link, text) > 0;
}

bool mcp_http_is_over(struct mcp_http_link *link)
{
    const struct str chunks_end = STR("\r\n0\r\n\r\n");

    take_what_came(link);
    if (str_find(buf_view(&link->got), STR("Transfer-Encoding: chunked")) != SIZE_MAX)
        return str_ends_with(buf_view(&link->got), chunks_end);
    return link->got.len > 0;
}

size_t mcp_http_count(struct mcp_http_link *link, const char *text)
{
    struct str rest;
    size_t count = 0;
    size_t at;

    take_what_came(link);
    rest = buf_view(&link->got);
    while ((at = str_find(rest, str_from(text))) != SIZE_MAX) {
        rest = str_slice(rest, at + 1, SIZE_MAX);
        count++;
    }
    return count;
}

void mcp_http_behind(struct mcp_http_link *link, const char *text, char *out, size_t size)
{
    struct str rest = buf_view(&link->got);
    size_t at = str_find(rest, str_from(text));
    size_t len = 0;

    rest = str_slice(rest, at != SIZE_MAX ? at + strlen(text) : rest.len, SIZE_MAX);
    while (len < rest.len && len < size - 1 && rest.ptr[len] != '"' && rest.ptr[len] != '\r' &&
           rest.ptr[len] != '\n')
        len++;
    memcpy(out, rest.ptr, len);
    out[len] = '\0';
}
