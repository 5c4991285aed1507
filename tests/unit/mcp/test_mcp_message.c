/* SPDX-License-Identifier: Apache-2.0 */
/* What a transport learns about a message, and what it costs to serve one without a session. */
#include "test.h"

#include <malloc.h>
#include <stdlib.h>

#include "mcp/mcp.h"
#include "mcp_fixture.h"

#define MODERN                                                                                     \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

#define LOUD                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{},"                                           \
    "\"io.modelcontextprotocol/logLevel\":\"debug\"}"

static int setup(void **state)
{
    struct mcp_fixture *fixture = malloc(sizeof(*fixture));

    if (fixture == NULL)
        return -1;
    fixture_init(fixture);
    fixture_offer_more(fixture);
    *state = fixture;
    return fixture_open(fixture);
}

static int teardown(void **state)
{
    fixture_done(*state);
    free(*state);
    return 0;
}

static struct mcp_message *parse(struct mcp_fixture *fixture, const char *text)
{
    struct mcp_message *message = NULL;

    assert_int_equal(mcp_message_parse(fixture->service, str_from(text), &message), 0);
    return message;
}

static void kind_is(struct mcp_fixture *fixture, const char *text, enum mcp_message_kind kind,
                    const char *id)
{
    struct mcp_message *message = parse(fixture, text);

    assert_int_equal(mcp_message_kind(message), kind);
    assert_true(str_eq_c(mcp_message_id(message), id));
    mcp_message_free(message);
}

static void messages_are_told_apart(void **state)
{
    struct mcp_fixture *fixture = *state;

    kind_is(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", MCP_REQUEST, "1");
    kind_is(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}", MCP_NOTIFICATION, "");
    kind_is(fixture, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}", MCP_RESPONSE, "\"a\"");
    kind_is(fixture, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{}}", MCP_RESPONSE, "2");
    kind_is(fixture, "[]", MCP_BATCH, "");
    kind_is(fixture, "", MCP_UNREADABLE, "");
    kind_is(fixture, "7", MCP_UNREADABLE, "");
    kind_is(fixture, "{\"jsonrpc\":\"1.0\",\"id\":3,\"method\":\"ping\"}", MCP_UNREADABLE, "3");
    kind_is(fixture, "{\"id\":4,\"method\":\"ping\",\"params\":nonsense}", MCP_UNREADABLE, "4");
    mcp_message_free(NULL);
}

static void name_is(struct mcp_fixture *fixture, const char *method, const char *params,
                    const char *name)
{
    char text[512];
    struct mcp_message *message;

    snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}",
             method, params);
    message = parse(fixture, text);
    assert_true(str_eq_c(mcp_message_method(message), method));
    assert_true(str_eq_c(mcp_message_name(message), name));
    assert_non_null(mcp_message_params(message));
    mcp_message_free(message);
}

static void what_a_header_repeats_is_found(void **state)
{
    struct mcp_fixture *fixture = *state;
    struct mcp_message *message;

    name_is(fixture, "tools/call", "{\"name\":\"echo\",\"uri\":\"u\"}", "echo");
    name_is(fixture, "prompts/get", "{\"name\":\"greet\"}", "greet");
    name_is(fixture, "resources/read", "{\"name\":\"n\",\"uri\":\"file:///a\"}", "file:///a");
    name_is(fixture, "tools/call", "{\"name\":7}", "");
    name_is(fixture, "tools/list", "{\"name\":\"echo\"}", "");
    message = parse(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}");
    assert_str(mcp_message_name(message), "");
    assert_null(mcp_message_params(message));
    assert_false(mcp_message_is_modern(message));
    mcp_message_free(message);
}

static void revision_is(struct mcp_fixture *fixture, const char *params, bool is_modern,
                        const char *revision)
{
    char text[512];
    struct mcp_message *message;

    snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":%s}",
             params);
    message = parse(fixture, text);
    assert_int_equal(mcp_message_is_modern(message), is_modern);
    assert_true(str_eq_c(mcp_message_revision(message), revision));
    mcp_message_free(message);
}

static void eras_and_revisions_are_told_apart(void **state)
{
    struct mcp_fixture *fixture = *state;

    revision_is(fixture, "{" MODERN "}", true, "2026-07-28");
    revision_is(fixture, "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"v9\"}}", true,
                "v9");
    revision_is(fixture, "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":9}}", true, "");
    revision_is(fixture, "{\"_meta\":{}}", false, "");
    revision_is(fixture, "{}", false, "");
    assert_int_equal(mcp_revision_era(STR("2026-07-28")), MCP_MODERN);
    assert_int_equal(mcp_revision_era(STR("2025-11-25")), MCP_LEGACY);
    assert_int_equal(mcp_revision_era(STR("2024-10-07")), MCP_LEGACY);
    assert_int_equal(mcp_revision_era(STR("2023-01-01")), MCP_NO_ERA);
    assert_int_equal(mcp_revision_era(STR("")), MCP_NO_ERA);
    assert_str(mcp_session_revision(fixture->session), "");
    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                          "\"protocolVersion\":\"2025-06-18\"}}");
    assert_str(mcp_session_revision(fixture->session), "2025-06-18");
}

static void a_refusal_is_written_without_a_session(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(4096);
    struct err err = ERR_INIT;

    (void)state;
    err_set_field(&err, ERR_HEADER_MISMATCH, "Mcp-Name", "it says something else");
    assert_int_equal(mcp_write_refusal(&out, STR("7"), &err), 0);
    assert_str(buf_view(&out),
               "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32020,\"message\":\"it says "
               "something else\",\"data\":{\"name\":\"header_mismatch\",\"category\":\"policy\","
               "\"field\":\"Mcp-Name\"}}}");
    assert_int_equal(err_http_status(err.code), 400);
}

static void a_transport_refuses_with_the_status_of_its_error(void **state)
{
    struct mcp_fixture *fixture = *state;
    struct err err = ERR_INIT;

    err_set_plain(&err, ERR_HEADER_MISMATCH);
    mcp_session_refuse(fixture->session, STR("1"), &err);
    assert_true(fixture_next_has(fixture, "\"id\":1,\"error\":{\"code\":-32020,"));
    assert_int_equal(fixture->about.rpc_code, -32020);
    assert_int_equal(fixture->about.http_status, 400);
    err_set_plain(&err, ERR_TOO_LARGE);
    mcp_session_refuse(fixture->session, STR("1"), &err);
    assert_int_equal(fixture->about.rpc_code, -32600);
    assert_int_equal(fixture->about.http_status, 413);
}

static void what_waits_is_known_by_its_origin(void **state)
{
    struct mcp_fixture *fixture = *state;

    assert_false(mcp_session_is_waiting(fixture->session, 0));
    fixture->origin = 3;
    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                          "\"name\":\"wait\"," LOUD "}}");
    fixture->origin = 4;
    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"subscriptions/listen\","
                          "\"params\":{\"notifications\":{}," MODERN "}}");
    assert_int_equal(mcp_call_origin(fixture->parked[0]), 3);
    mcp_call_log(fixture->parked[0], MCP_EMERGENCY, "heard where the call came from");
    assert_int_equal(fixture->about.kind, MCP_SENT_NOTIFICATION);
    assert_int_equal(fixture->about.origin, 3);
    assert_true(mcp_session_is_waiting(fixture->session, 3));
    assert_true(mcp_session_is_waiting(fixture->session, 4));
    assert_false(mcp_session_is_waiting(fixture->session, 5));
    assert_true(mcp_session_is_waiting(fixture->session, 0));
    mcp_session_end_streams(fixture->session);
    assert_false(mcp_session_is_waiting(fixture->session, 4));
    assert_true(mcp_session_is_waiting(fixture->session, 0));
}

static void all_sessions_hear_of_changes(void **state)
{
    struct mcp_fixture *fixture = *state;
    struct mcp_session *first = fixture->session;

    for (size_t i = 0; i < 2; i++) {
        if (i == 1)
            assert_int_equal(fixture_open(fixture), 0);
        fixture->origin = i + 1;
        fixture_sayf(fixture,
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":"
                     "{\"notifications\":{\"toolsListChanged\":true}," MODERN "}}");
        assert_true(fixture_next_has(fixture, "acknowledged"));
    }
    assert_int_equal(fixture_set_offer(fixture, 1), 0);
    assert_true(fixture_next_has(fixture, "tools/list_changed"));
    assert_true(fixture_next_has(fixture, "tools/list_changed"));
    mcp_session_free(first);
    assert_int_equal(fixture_set_offer(fixture, 0), 0);
    assert_true(fixture_next_has(fixture, "tools/list_changed"));
    assert_true(fixture_is_silent(fixture));
}

static void a_call_keeps_its_tool_whatever_is_offered_later(void **state)
{
    struct mcp_fixture *fixture = *state;

    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                          "\"name\":\"wait\"," MODERN "}}");
    assert_int_equal(fixture_set_offer(fixture, 1), 0);
    assert_int_equal(fixture_set_offer(fixture, 2), 0);
    /* The one in between was nobody's. */
    assert_int_equal(fixture->released, 1);
    fixture_close(fixture);
    assert_str(mcp_call_request(fixture->parked[0])->tool.tool->name, "wait");
    assert_int_equal(fixture->released, 1);
    fixture_finish(fixture, 0);
    assert_int_equal(fixture->released, 2);
}

static void all_sessions_together_hold_a_bounded_number_of_bytes(void **state)
{
    enum { SESSIONS = 8, CALL_BYTES = 400 << 10 };
    struct mcp_fixture *fixture = *state;
    struct mcp_session *first = fixture->session;
    struct mcp_session *others[SESSIONS];
    char *filler = malloc(CALL_BYTES + 1);

    assert_non_null(filler);
    memset(filler, 'x', CALL_BYTES);
    filler[CALL_BYTES] = '\0';
    fixture->server.max_total_bytes = 2 << 20;
    for (size_t i = 0; i < SESSIONS; i++) {
        assert_int_equal(fixture_open(fixture), 0);
        others[i] = fixture->session;
        fixture_sayf(fixture,
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                     "\"name\":\"wait\",\"arguments\":{\"a\":\"%s\"}," MODERN "}}",
                     filler);
    }
    assert_in_range(fixture->parked_count, 2, 5);
    for (size_t i = fixture->parked_count; i < SESSIONS; i++)
        assert_true(fixture_next_has(fixture, "the calls of all clients already use"));
    for (size_t i = 0; i < SESSIONS; i++)
        mcp_session_free(others[i]);
    /* Those that run on without their session count until they end. */
    fixture->session = first;
    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                 "\"name\":\"wait\",\"arguments\":{\"a\":\"%s\"}," MODERN "}}",
                 filler);
    assert_true(fixture_next_has(fixture, "the calls of all clients already use"));
    while (fixture->parked_count > 0)
        fixture_finish(fixture, 0);
    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                 "\"name\":\"wait\",\"arguments\":{\"a\":\"%s\"}," MODERN "}}",
                 filler);
    assert_int_equal(fixture->parked_count, 1);
    free(filler);
}

static void sessions_of_one_request_leave_nothing_behind(void **state)
{
    struct mcp_fixture *fixture = *state;
    size_t before = 0;

    fixture_close(fixture);
    fixture->drops_output = true;
    fixture->config.is_stateless = true;
    fixture->origin = 1;
    for (size_t i = 0; i < 20000; i++) {
        if (i == 1000)
            before = mallinfo2().uordblks;
        assert_int_equal(fixture_open(fixture), 0);
        fixture_say(fixture, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                                 "\"params\":{\"name\":\"echo\"," MODERN "}}"));
        assert_false(mcp_session_is_waiting(fixture->session, 0));
        fixture_close(fixture);
    }
    assert_int_equal(fixture->sent_count, 20000);
    assert_true(mallinfo2().uordblks <= before + (16 << 10));
}

#define fixture_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

TEST_MAIN(fixture_test(messages_are_told_apart), fixture_test(what_a_header_repeats_is_found),
          fixture_test(eras_and_revisions_are_told_apart),
          fixture_test(a_refusal_is_written_without_a_session),
          fixture_test(a_transport_refuses_with_the_status_of_its_error),
          fixture_test(what_waits_is_known_by_its_origin),
          fixture_test(all_sessions_hear_of_changes),
          fixture_test(a_call_keeps_its_tool_whatever_is_offered_later),
          fixture_test(all_sessions_together_hold_a_bounded_number_of_bytes),
          fixture_test(sessions_of_one_request_leave_nothing_behind))
