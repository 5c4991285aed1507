/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of the legacy era: who owns them, how long they last, how many there may be. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "mcp_http_fixture.h"

enum { MINUTE_MS = 60 * 1000 };

#define PING "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}"
#define OLD  "2025-03-26"
#define NEW  "2025-11-25"

static struct mcp_http_fixture *fixture;
static struct mcp_http_link client;
static struct mcp_http_link other;

static int begin_with(const struct mcp_http_config *limits)
{
    fixture = mcp_http_fixture_new(limits);
    mcp_http_link_open(&client, fixture);
    mcp_http_link_open(&other, fixture);
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
    return begin_with(
        &(struct mcp_http_config){.resource_metadata = STR("https://gate.example/where")});
}

static int begin_small(void **state)
{
    (void)state;
    return begin_with(
        &(struct mcp_http_config){.max_sessions = 2, .max_requests = 3, .idle_ms = 10 * MINUTE_MS});
}

static char over[2][64]; /* ids of sessions */
static size_t over_count;

static void note_over(void *data, struct str id)
{
    (void)data;
    assert_true(over_count < array_size(over));
    snprintf(over[over_count++], sizeof(over[0]), "%.*s", STR_ARG(id));
}

static int begin_noted(void **state)
{
    (void)state;
    over_count = 0;
    return begin_with(&(struct mcp_http_config){.session_over = note_over});
}

static int end(void **state)
{
    (void)state;
    mcp_http_link_close(&client);
    mcp_http_link_close(&other);
    mcp_http_fixture_free(fixture);
    return 0;
}

/* ---- whose it is ---- */

static void a_request_names_its_session(void **state)
{
    (void)state;
    assert_int_equal(mcp_http_post(&client, "", PING), 400);
    assert_int_equal(mcp_http_get(&client, NULL), 400);
    assert_int_equal(mcp_http_delete(&client), 400);
    assert_int_equal(
        mcp_http_post(&client, "Mcp-Session-Id: 01234567890123456789012345678901\r\n", PING), 404);
    assert_int_equal(mcp_http_post(&client, "Mcp-Session-Id: x\r\n", PING), 404);
    mcp_http_open_session(&client, NEW);
    client.more = "Mcp-Session-Id: x\r\n";
    assert_int_equal(mcp_http_post_legacy(&client, PING), 400);
    client.more = NULL;
    assert_int_equal(mcp_http_post_legacy(&client, PING), 200);
    assert_true(mcp_http_has(&client, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}"));
}

static void an_ended_session_is_gone(void **state)
{
    (void)state;
    mcp_http_open_session(&client, NEW);
    assert_int_equal(mcp_http_session_count(fixture->endpoint), 1);
    assert_int_equal(mcp_http_delete(&client), 204);
    assert_int_equal(mcp_http_session_count(fixture->endpoint), 0);
    assert_int_equal(mcp_http_post_legacy(&client, PING), 404);
    assert_int_equal(mcp_http_get(&client, NULL), 404);
    assert_int_equal(mcp_http_delete(&client), 404);
}

static void the_end_of_a_session_ends_its_calls_and_streams(void **state)
{
    (void)state;
    mcp_http_open_session(&client, NEW);
    memcpy(other.session, client.session, sizeof(other.session));
    assert_int_equal(mcp_http_call_legacy(&other, 1, "talk", "{}"), 200);
    assert_false(mcp_http_is_over(&other));
    assert_int_equal(mcp_http_delete(&client), 204);
    assert_true(mcp_http_is_over(&other));
    assert_int_equal(fixture->cancelled, 1);
    assert_int_equal(fixture->parked_count, 0);
}

static void a_host_is_told_which_session_is_over(void **state)
{
    char id[64];

    (void)state;
    mcp_http_open_session(&client, NEW);
    memcpy(other.session, client.session, sizeof(other.session));
    assert_int_equal(mcp_http_call_legacy(&other, 1, "talk", "{}"), 200);
    snprintf(id, sizeof(id), "%.*s", STR_ARG(mcp_http_session_id(fixture->parked[0])));
    assert_non_null(strstr(client.session, id));
    assert_int_equal(mcp_http_delete(&client), 204);
    assert_int_equal(over_count, 1);
    assert_string_equal(over[0], id);
    mcp_http_open_session(&client, NEW);
    assert_int_equal(mcp_http_call_modern(&other, "wait", "{}"), 0);
    assert_int_equal(mcp_http_session_id(fixture->parked[0]).len, 0);
    mcp_http_close(fixture->endpoint);
    assert_int_equal(over_count, 2); /* a request of its own has no session */
}

static void a_session_is_of_no_use_to_another(void **state)
{
    (void)state;
    client.more = "Authorization: Bearer alice\r\n";
    other.more = "Authorization: Bearer bob\r\n";
    mcp_http_open_session(&client, NEW);
    memcpy(other.session, client.session, sizeof(other.session));
    assert_int_equal(mcp_http_post_legacy(&other, PING), 404);
    assert_int_equal(mcp_http_get(&other, NULL), 404);
    assert_int_equal(mcp_http_delete(&other), 404);
    assert_int_equal(mcp_http_post_legacy(&client, PING), 200);
}

static void a_handshake_that_fails_opens_none(void **state)
{
    (void)state;
    assert_int_equal(
        mcp_http_post(&client, "", "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}"),
        200);
    assert_true(mcp_http_has(&client, "-32602"));
    assert_false(mcp_http_has(&client, "Mcp-Session-Id"));
    assert_int_equal(mcp_http_session_count(fixture->endpoint), 0);
}

static void a_second_handshake_is_another_session(void **state)
{
    char first[64];

    (void)state;
    mcp_http_open_session(&client, NEW);
    memcpy(first, client.session, sizeof(first));
    mcp_http_open_session(&client, NEW);
    assert_string_not_equal(first, client.session);
    assert_int_equal(mcp_http_session_count(fixture->endpoint), 2);
}

/* ---- how many, how long ---- */

static void the_session_that_was_idle_longest_makes_room(void **state)
{
    struct mcp_http_link third;

    (void)state;
    mcp_http_open_session(&client, NEW);
    mcp_http_open_session(&other, NEW);
    assert_int_equal(mcp_http_post_legacy(&client, PING), 200);
    mcp_http_link_open(&third, fixture);
    mcp_http_open_session(&third, NEW);
    assert_int_equal(mcp_http_session_count(fixture->endpoint), 2);
    assert_int_equal(mcp_http_post_legacy(&other, PING), 404);
    assert_int_equal(mcp_http_post_legacy(&client, PING), 200);
    mcp_http_link_close(&third);
}

static void sessions_in_use_do_not(void **state)
{
    struct mcp_http_link third;

    (void)state;
    mcp_http_open_session(&client, NEW);
    mcp_http_open_session(&other, NEW);
    assert_int_equal(mcp_http_get(&client, NULL), 200);
    assert_int_equal(mcp_http_call_legacy(&other, 1, "wait", "{}"), 0);
    mcp_http_link_open(&third, fixture);
    assert_int_equal(
        mcp_http_post(&third, "",
                      "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                      "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}"),
        503);
    assert_int_equal(mcp_http_session_count(fixture->endpoint), 2);
    mcp_http_fixture_finish(fixture);
    assert_true(mcp_http_has(&other, "\"done\""));
    mcp_http_open_session(&third, NEW);
    mcp_http_link_close(&third);
}

static void too_many_requests_are_turned_away(void **state)
{
    struct mcp_http_link more[3];

    (void)state;
    for (size_t i = 0; i < array_size(more); i++) {
        mcp_http_link_open(&more[i], fixture);
        assert_int_equal(mcp_http_call_modern(&more[i], "wait", "{}"), 0);
    }
    assert_int_equal(mcp_http_call_modern(&client, "echo", "{}"), 503);
    mcp_http_fixture_finish(fixture);
    assert_int_equal(mcp_http_call_modern(&client, "echo", "{}"), 200);
    for (size_t i = 0; i < array_size(more); i++)
        mcp_http_link_close(&more[i]);
    assert_int_equal(fixture->cancelled, 2);
}

static void pass_minutes(int minutes)
{
    for (int i = 0; i < minutes; i++)
        http_fixture_pass(&fixture->http, MINUTE_MS);
}

/* Connections do not last as long as sessions. */
static int ping_anew(const char *session)
{
    char kept[sizeof(client.session)];

    memcpy(kept, session, sizeof(kept));
    mcp_http_link_close(&client);
    mcp_http_link_open(&client, fixture);
    memcpy(client.session, kept, sizeof(kept));
    return mcp_http_post_legacy(&client, PING);
}

static void cancel_from(struct mcp_http_link *link, int id)
{
    char body[128];

    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
             "\"params\":{\"requestId\":%d}}",
             id);
    assert_int_equal(mcp_http_post_legacy(link, body), 202);
}

static void a_call_that_its_client_cancels_is_over(void **state)
{
    (void)state;
    mcp_http_open_session(&client, NEW);
    memcpy(other.session, client.session, sizeof(other.session));
    /* More of them than may be open. */
    for (int i = 1; i <= 8; i++) {
        assert_int_equal(mcp_http_call_legacy(&client, i, i % 2 == 0 ? "wait" : "talk", "{}"),
                         i % 2 == 0 ? 0 : 200);
        cancel_from(&other, i);
        assert_int_equal(fixture->cancelled, i);
        assert_true(mcp_http_is_over(&client));
        assert_false(mcp_http_has(&client, "\"result\""));
    }
    assert_int_equal(mcp_http_call_legacy(&client, 1, "echo", "{}"), 200);
}

static void a_session_that_nobody_uses_ends(void **state)
{
    (void)state;
    mcp_http_open_session(&client, NEW);
    mcp_http_open_session(&other, NEW);
    pass_minutes(9);
    assert_int_equal(ping_anew(other.session), 200);
    pass_minutes(2);
    assert_int_equal(mcp_http_session_count(fixture->endpoint), 1);
    assert_int_equal(ping_anew(other.session), 200);
    pass_minutes(11);
    assert_int_equal(mcp_http_session_count(fixture->endpoint), 0);
    assert_int_equal(ping_anew(other.session), 404);
}

static void one_whose_client_listens_does_not(void **state)
{
    (void)state;
    mcp_http_open_session(&client, NEW);
    assert_int_equal(mcp_http_get(&client, NULL), 200);
    pass_minutes(30);
    assert_int_equal(mcp_http_session_count(fixture->endpoint), 1);
    mcp_http_link_close(&client);
    pass_minutes(2);
    assert_int_equal(mcp_http_session_count(fixture->endpoint), 0);
}

/* ---- batches ---- */

#define ITEM(id, tool)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool    \
    "\"}}"

static void a_batch_is_answered_on_one_stream(void **state)
{
    (void)state;
    mcp_http_open_session(&client, OLD);
    assert_int_equal(mcp_http_post_legacy(&client, "[" ITEM("1", "echo") "," ITEM("2", "wait") "]"),
                     200);
    assert_true(mcp_http_has(&client, "text/event-stream"));
    assert_true(mcp_http_has(&client, "\"id\":1,\"result\""));
    assert_false(mcp_http_is_over(&client));
    mcp_http_fixture_finish(fixture);
    assert_true(mcp_http_has(&client, "\"id\":2,\"result\""));
    assert_true(mcp_http_is_over(&client));
    assert_int_equal(mcp_http_post_legacy(&client, PING), 200);
}

static void a_batch_that_asks_nothing_is_accepted(void **state)
{
    (void)state;
    mcp_http_open_session(&client, OLD);
    assert_int_equal(
        mcp_http_post_legacy(&client, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]"),
        202);
    assert_true(mcp_http_is_over(&client));
}

static void a_batch_of_another_revision_is_refused(void **state)
{
    (void)state;
    mcp_http_open_session(&client, NEW);
    assert_int_equal(mcp_http_post_legacy(&client, "[" ITEM("1", "echo") "]"), 400);
    assert_true(mcp_http_has(&client, "-32600"));
    assert_true(mcp_http_is_over(&client));
    /* Nor one that is empty. */
    mcp_http_open_session(&client, OLD);
    assert_int_equal(mcp_http_post_legacy(&client, "[]"), 400);
    assert_int_equal(fixture->started, 0);
}

static void a_batch_whose_calls_are_cancelled_ends(void **state)
{
    (void)state;
    mcp_http_open_session(&client, OLD);
    memcpy(other.session, client.session, sizeof(other.session));
    assert_int_equal(mcp_http_post_legacy(&client, "[" ITEM("1", "talk") "]"), 200);
    cancel_from(&other, 1);
    assert_int_equal(fixture->cancelled, 1);
    assert_true(mcp_http_is_over(&client));
}

/* ---- the end of it all ---- */

static void closing_ends_streams_and_calls(void **state)
{
    (void)state;
    mcp_http_open_session(&client, NEW);
    assert_int_equal(mcp_http_get(&client, NULL), 200);
    assert_int_equal(
        mcp_http_post(
            &other, "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n",
            "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"subscriptions/listen\",\"params\":"
            "{\"notifications\":{\"toolsListChanged\":true},\"_meta\":{"
            "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
            "\"io.modelcontextprotocol/clientCapabilities\":{}}}}"),
        200);
    assert_true(mcp_http_has(&other, "notifications/subscriptions/acknowledged"));
    assert_false(mcp_http_is_over(&other));
    mcp_http_close(fixture->endpoint);
    assert_true(mcp_http_is_over(&client));
    assert_true(mcp_http_has(&other, "\"id\":9,\"result\":{\"resultType\":\"complete\""));
    assert_true(mcp_http_is_over(&other));
    assert_int_equal(mcp_http_session_count(fixture->endpoint), 0);
    assert_int_equal(mcp_http_call_modern(&other, "echo", "{}"), 503);
}

static void closing_answers_those_who_wait(void **state)
{
    (void)state;
    mcp_http_open_session(&client, NEW);
    assert_int_equal(mcp_http_call_legacy(&client, 1, "wait", "{}"), 0);
    assert_int_equal(mcp_http_call_modern(&other, "wait", "{}"), 0);
    mcp_http_close(fixture->endpoint);
    assert_int_equal(fixture->cancelled, 2);
    assert_true(mcp_http_has(&client, "HTTP/1.1 "));
    assert_true(mcp_http_has(&other, "HTTP/1.1 "));
}

#define CASE(name)   cmocka_unit_test_setup_teardown(name, begin, end)
#define TOKENS(name) cmocka_unit_test_setup_teardown(name, begin_with_tokens, end)
#define NOTED(name)  cmocka_unit_test_setup_teardown(name, begin_noted, end)
#define SMALL(name)  cmocka_unit_test_setup_teardown(name, begin_small, end)
TEST_MAIN(CASE(a_request_names_its_session), CASE(an_ended_session_is_gone),
          CASE(the_end_of_a_session_ends_its_calls_and_streams),
          NOTED(a_host_is_told_which_session_is_over), TOKENS(a_session_is_of_no_use_to_another),
          CASE(a_handshake_that_fails_opens_none), CASE(a_second_handshake_is_another_session),
          SMALL(the_session_that_was_idle_longest_makes_room), SMALL(sessions_in_use_do_not),
          SMALL(too_many_requests_are_turned_away), SMALL(a_call_that_its_client_cancels_is_over),
          SMALL(a_session_that_nobody_uses_ends), SMALL(one_whose_client_listens_does_not),
          CASE(a_batch_is_answered_on_one_stream), CASE(a_batch_that_asks_nothing_is_accepted),
          CASE(a_batch_of_another_revision_is_refused),
          CASE(a_batch_whose_calls_are_cancelled_ends), CASE(closing_ends_streams_and_calls),
          CASE(closing_answers_those_who_wait))
