/* SPDX-License-Identifier: Apache-2.0 */
/* Single requests: authorization, required headers, and the response. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "mcp_http_fixture.h"

#define ENVELOPE                                                                                   \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define LIST_MODERN                                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{" ENVELOPE "}}"
#define PING_LEGACY "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}"
#define CALL_HEADER(arguments)                                                                     \
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"header\","     \
    "\"arguments\":" arguments "," ENVELOPE "}}"
#define VERSION "MCP-Protocol-Version: 2026-07-28\r\n"
#define LISTS   "Mcp-Method: tools/list\r\n"
#define CALLS   "Mcp-Method: tools/call\r\n"
#define JSON    "Content-Type: application/json\r\n"
#define ACCEPTS "Accept: application/json, text/event-stream\r\n"

static struct mcp_http_fixture *fixture;
static struct mcp_http_link client;

static int begin_with(const struct mcp_http_config *limits)
{
    fixture = mcp_http_fixture_new(limits);
    mcp_http_link_open(&client, fixture);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    return begin_with(NULL);
}

static int begin_with_tokens(void **state)
{
    (void)state;
    return begin_with(&(struct mcp_http_config){
        .resource_metadata = STR("https://gate.example/.well-known/oauth-protected-resource")});
}

static int end(void **state)
{
    (void)state;
    mcp_http_link_close(&client);
    mcp_http_fixture_free(fixture);
    return 0;
}

/* ---- answers ---- */

static void an_answer_that_comes_first_is_json(void **state)
{
    (void)state;
    assert_int_equal(mcp_http_call_modern(&client, "echo", "{}"), 200);
    assert_true(mcp_http_has(&client, "Content-Type: application/json\r\n"));
    assert_true(mcp_http_has(&client, "\"id\":1,\"result\":{\"resultType\":\"complete\""));
    assert_false(mcp_http_has(&client, "event-stream"));
}

static void an_answer_that_comes_later_is_json_too(void **state)
{
    (void)state;
    assert_int_equal(mcp_http_call_modern(&client, "wait", "{}"), 0);
    mcp_http_fixture_finish(fixture);
    assert_true(mcp_http_has(&client, "HTTP/1.1 200 OK\r\n"));
    assert_true(mcp_http_has(&client, "Content-Type: application/json\r\n"));
    assert_true(mcp_http_has(&client, "\"done\""));
}

static void a_notification_makes_it_a_stream_that_ends_with_the_answer(void **state)
{
    (void)state;
    assert_int_equal(mcp_http_call_modern(&client, "say", "{}"), 200);
    assert_true(mcp_http_has(&client, "Content-Type: text/event-stream\r\n"));
    assert_true(
        mcp_http_has(&client, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\""));
    assert_true(mcp_http_has(&client, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\""));
    assert_true(mcp_http_is_over(&client));
    /* Nothing to come back for, and so no ids. */
    assert_false(mcp_http_has(&client, "\nid:"));
    assert_false(mcp_http_has(&client, "retry:"));
    /* The connection goes on. */
    assert_int_equal(mcp_http_call_modern(&client, "echo", "{}"), 200);
}

static void the_status_is_what_the_message_deserves(void **state)
{
    static char large[80 << 10];

    (void)state;
    assert_int_equal(mcp_http_post(&client, "", "{\"jsonrpc\":"), 400);
    assert_true(mcp_http_has(&client, "-32700"));
    assert_int_equal(mcp_http_post(&client, VERSION, "{\"jsonrpc\":"), 400);
    assert_int_equal(mcp_http_post(&client, VERSION, "[" LIST_MODERN "]"), 400);
    assert_true(mcp_http_has(&client, "-32600"));
    assert_int_equal(
        mcp_http_post(&client, VERSION, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), 400);
    assert_int_equal(mcp_http_post(&client, VERSION,
                                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}"),
                     202);
    assert_true(mcp_http_has(&client, "Content-Length: 0\r\n"));
    assert_int_equal(
        mcp_http_post(&client, VERSION "Mcp-Method: no/such\r\n",
                      "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"no/such\",\"params\":{" ENVELOPE
                      "}}"),
        404);
    assert_true(mcp_http_has(&client, "-32601"));
    assert_int_equal(mcp_http_post(&client, "MCP-Protocol-Version: 1999-01-01\r\n", PING_LEGACY),
                     400);
    assert_true(mcp_http_has(&client, "\"id\":7"));
    memset(large, ' ', sizeof(large) - 1);
    assert_int_equal(mcp_http_post(&client, "", large), 413);
}

static void another_revision_is_refused_with_those_that_are_spoken(void **state)
{
    (void)state;
    assert_int_equal(
        mcp_http_post(&client, "MCP-Protocol-Version: v999\r\n" LISTS,
                      "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{"
                      "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"v999\"}}}"),
        400);
    assert_true(mcp_http_has(&client, "-32022"));
    assert_true(mcp_http_has(&client, "\"supported\":[\"2026-07-28\"]"));
}

static void a_modern_header_makes_the_request_modern(void **state)
{
    (void)state;
    assert_int_equal(mcp_http_post(&client, VERSION LISTS,
                                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\"}"),
                     400);
    assert_true(mcp_http_has(&client, "-32602"));
    assert_true(mcp_http_has(&client, "\"id\":7"));
}

/* ---- who may come, and how ---- */

static void without_a_token_nobody_comes_in(void **state)
{
    (void)state;
    assert_int_equal(mcp_http_post(&client, "", LIST_MODERN), 401);
    assert_true(mcp_http_has(&client, "WWW-Authenticate: Bearer resource_metadata=\"https://gate."
                                      "example/.well-known/oauth-protected-resource\"\r\n"));
    assert_int_equal(mcp_http_get(&client, NULL), 401);
    assert_int_equal(mcp_http_delete(&client), 401);
    assert_int_equal(mcp_http_post(&client, "Authorization: Basic YWxpY2U=\r\n", LIST_MODERN), 401);
    assert_int_equal(fixture->started, 0);
}

static void a_token_has_to_be_known_and_to_suffice(void **state)
{
    (void)state;
    assert_int_equal(mcp_http_post(&client, "Authorization: Bearer mallory\r\n", LIST_MODERN), 401);
    assert_true(mcp_http_has(&client, "WWW-Authenticate: Bearer error=\"invalid_token\", "
                                      "resource_metadata=\"https://"));
    assert_int_equal(mcp_http_post(&client, "Authorization: Bearer eve\r\n", LIST_MODERN), 403);
    assert_true(mcp_http_has(&client, "WWW-Authenticate: Bearer error=\"insufficient_scope\", "
                                      "resource_metadata=\"https://"));
    assert_int_equal(
        mcp_http_post(&client, "authorization: bearer  alice\r\n" VERSION LISTS, LIST_MODERN), 200);
    /* Two of them are read by nobody. */
    assert_int_equal(mcp_http_post(&client,
                                   "Authorization: Bearer alice\r\n"
                                   "Authorization: Bearer alice\r\n",
                                   LIST_MODERN),
                     400);
}

static void a_stranger_is_refused_before_the_body(void **state)
{
    (void)state;
    assert_int_equal(
        mcp_http_send_raw(&client, "POST", JSON ACCEPTS "Content-Length: 1000\r\n", NULL), 401);
}

static void types_have_to_be_said(void **state)
{
    (void)state;
    assert_int_equal(mcp_http_send_raw(&client, "POST", ACCEPTS VERSION LISTS, LIST_MODERN), 415);
    assert_int_equal(mcp_http_send_raw(&client, "POST",
                                       "Content-Type: text/plain\r\n" ACCEPTS VERSION LISTS,
                                       LIST_MODERN),
                     415);
    assert_int_equal(
        mcp_http_send_raw(&client, "POST",
                          "Content-Type: Application/JSON; charset=utf-8\r\n" ACCEPTS VERSION LISTS,
                          LIST_MODERN),
        200);
    assert_int_equal(mcp_http_send_raw(&client, "POST", JSON VERSION LISTS, LIST_MODERN), 406);
    assert_int_equal(mcp_http_send_raw(&client, "POST",
                                       JSON "Accept: application/json\r\n" VERSION LISTS,
                                       LIST_MODERN),
                     406);
    assert_int_equal(
        mcp_http_send_raw(&client, "POST", JSON "Accept: */*\r\n" VERSION LISTS, LIST_MODERN), 200);
    assert_int_equal(mcp_http_send_raw(&client, "GET", "Accept: application/json\r\n", NULL), 406);
}

static void the_modern_era_has_post_alone(void **state)
{
    (void)state;
    assert_int_equal(
        mcp_http_send_raw(&client, "GET", VERSION "Accept: text/event-stream\r\n", NULL), 405);
    assert_true(mcp_http_has(&client, "Allow: POST\r\n"));
    assert_int_equal(mcp_http_send_raw(&client, "DELETE", VERSION, NULL), 405);
    assert_int_equal(mcp_http_send_raw(&client, "PUT", JSON, "{}"), 405);
    assert_true(mcp_http_has(&client, "Allow: GET, POST, DELETE\r\n"));
}

/* ---- headers that repeat the message ---- */

static void assert_mismatch(const char *headers, const char *body)
{
    assert_int_equal(mcp_http_post(&client, headers, body), 400);
    assert_true(mcp_http_has(&client, "\"code\":-32020"));
    assert_true(mcp_http_has(&client, "\"id\":7"));
}

static void headers_say_what_the_message_says(void **state)
{
    (void)state;
    assert_int_equal(mcp_http_post(&client, VERSION LISTS, LIST_MODERN), 200);
    assert_int_equal(mcp_http_post(&client, VERSION "mcp-method:   tools/list  \r\n", LIST_MODERN),
                     200);
    assert_mismatch(LISTS, LIST_MODERN);
    assert_mismatch("MCP-Protocol-Version: 2025-11-25\r\n" LISTS, LIST_MODERN);
    assert_mismatch(VERSION VERSION LISTS, LIST_MODERN);
    assert_mismatch(VERSION, LIST_MODERN);
    assert_mismatch(VERSION "Mcp-Method: prompts/list\r\n", LIST_MODERN);
    assert_mismatch(VERSION "Mcp-Method: TOOLS/LIST\r\n", LIST_MODERN);
    assert_mismatch(VERSION LISTS LISTS, LIST_MODERN);
    assert_mismatch(VERSION CALLS, CALL_HEADER("{}"));
    assert_mismatch(VERSION CALLS "Mcp-Name: echo\r\n", CALL_HEADER("{}"));
    assert_mismatch(VERSION CALLS "Mcp-Name: header\r\nMcp-Name: echo\r\n", CALL_HEADER("{}"));
    assert_int_equal(fixture->started, 0);
    assert_int_equal(
        mcp_http_post(&client, VERSION CALLS "Mcp-Name: header\r\n", CALL_HEADER("{}")), 200);
}

static void a_header_may_be_encoded(void **state)
{
    (void)state;
    assert_int_equal(mcp_http_post(&client, VERSION CALLS "Mcp-Name: =?base64?aGVhZGVy?=\r\n",
                                   CALL_HEADER("{}")),
                     200);
    assert_mismatch(VERSION CALLS "Mcp-Name: =?base64?aGVhZGV?=\r\n", CALL_HEADER("{}"));
    assert_mismatch(VERSION CALLS "Mcp-Name: =?base64?aGVh!!Vy?=\r\n", CALL_HEADER("{}"));
    assert_mismatch(VERSION CALLS "Mcp-Name: =?base64?ZWNobw==?=\r\n", CALL_HEADER("{}"));
    assert_mismatch(VERSION CALLS "Mcp-Name: =?base64?=\r\n", CALL_HEADER("{}"));
    /* What is not marked is not decoded. */
    assert_mismatch(VERSION CALLS "Mcp-Name: aGVhZGVy\r\n", CALL_HEADER("{}"));
}

#define NAMED VERSION CALLS "Mcp-Name: header\r\n"

static void an_argument_that_is_a_header_is_in_both(void **state)
{
    (void)state;
    assert_int_equal(mcp_http_post(&client, NAMED "Mcp-Param-Region: north\r\n",
                                   CALL_HEADER("{\"region\":\"north\"}")),
                     200);
    assert_int_equal(mcp_http_post(&client, NAMED "mcp-param-region: =?base64?SGVsbG8=?=\r\n",
                                   CALL_HEADER("{\"region\":\"Hello\"}")),
                     200);
    assert_int_equal(mcp_http_post(&client, NAMED "Mcp-Param-Region: =?base64?SGVsbG8=\r\n",
                                   CALL_HEADER("{\"region\":\"=?base64?SGVsbG8=\"}")),
                     200);
    assert_int_equal(fixture->started, 3);
    assert_mismatch(NAMED, CALL_HEADER("{\"region\":\"north\"}"));
    assert_mismatch(NAMED "Mcp-Param-Region: south\r\n", CALL_HEADER("{\"region\":\"north\"}"));
    assert_mismatch(NAMED "Mcp-Param-Region: north\r\nMcp-Param-Region: south\r\n",
                    CALL_HEADER("{\"region\":\"north\"}"));
    assert_mismatch(NAMED "Mcp-Param-Region: =?base64?SGVsbG8?=\r\n",
                    CALL_HEADER("{\"region\":\"Hello\"}"));
    assert_int_equal(fixture->started, 3);
}

static void an_argument_that_is_not_given_needs_no_header(void **state)
{
    (void)state;
    assert_int_equal(mcp_http_post(&client, NAMED, CALL_HEADER("{}")), 200);
    assert_int_equal(mcp_http_post(&client, NAMED, CALL_HEADER("{\"region\":null}")), 200);
    assert_int_equal(mcp_http_post(&client, NAMED "Mcp-Param-Region: north\r\n", CALL_HEADER("{}")),
                     200);
    /* Nor one whose schema names no header that could be sent, or that could say it. */
    assert_int_equal(mcp_http_post(&client, NAMED, CALL_HEADER("{\"bad\":\"x\"}")), 200);
    assert_int_equal(mcp_http_post(&client, NAMED, CALL_HEADER("{\"region\":[\"x\"]}")), 200);
}

static void numbers_truths_and_what_lies_deeper_are_headers_too(void **state)
{
    (void)state;
    assert_int_equal(
        mcp_http_post(&client, NAMED "Mcp-Param-Count: 42.0\r\n", CALL_HEADER("{\"count\":42}")),
        200);
    assert_mismatch(NAMED "Mcp-Param-Count: 43\r\n", CALL_HEADER("{\"count\":42}"));
    assert_mismatch(NAMED "Mcp-Param-Count: \"42\"\r\n", CALL_HEADER("{\"count\":42}"));
    assert_mismatch(NAMED "Mcp-Param-Count: \r\n", CALL_HEADER("{\"count\":42}"));
    assert_int_equal(
        mcp_http_post(&client, NAMED "Mcp-Param-Dry: true\r\n", CALL_HEADER("{\"dry\":true}")),
        200);
    assert_mismatch(NAMED "Mcp-Param-Dry: true\r\n", CALL_HEADER("{\"dry\":false}"));
    assert_int_equal(mcp_http_post(&client, NAMED "Mcp-Param-Zone: a\r\n",
                                   CALL_HEADER("{\"inner\":{\"zone\":\"a\"}}")),
                     200);
    assert_mismatch(NAMED, CALL_HEADER("{\"inner\":{\"zone\":\"a\"}}"));
}

static void the_legacy_era_does_not_look_at_them(void **state)
{
    (void)state;
    mcp_http_open_session(&client, "2025-11-25");
    client.more = "Mcp-Method: something/else\r\nMcp-Name: x\r\n";
    assert_int_equal(mcp_http_call_legacy(&client, 1, "header", "{\"region\":\"north\"}"), 200);
}

#define CASE(name)   cmocka_unit_test_setup_teardown(name, begin, end)
#define TOKENS(name) cmocka_unit_test_setup_teardown(name, begin_with_tokens, end)
TEST_MAIN(CASE(an_answer_that_comes_first_is_json), CASE(an_answer_that_comes_later_is_json_too),
          CASE(a_notification_makes_it_a_stream_that_ends_with_the_answer),
          CASE(the_status_is_what_the_message_deserves),
          CASE(another_revision_is_refused_with_those_that_are_spoken),
          CASE(a_modern_header_makes_the_request_modern), TOKENS(without_a_token_nobody_comes_in),
          TOKENS(a_token_has_to_be_known_and_to_suffice),
          TOKENS(a_stranger_is_refused_before_the_body), CASE(types_have_to_be_said),
          CASE(the_modern_era_has_post_alone), CASE(headers_say_what_the_message_says),
          CASE(a_header_may_be_encoded), CASE(an_argument_that_is_a_header_is_in_both),
          CASE(an_argument_that_is_not_given_needs_no_header),
          CASE(numbers_truths_and_what_lies_deeper_are_headers_too),
          CASE(the_legacy_era_does_not_look_at_them))
