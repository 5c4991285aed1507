/* SPDX-License-Identifier: Apache-2.0 */
/* What a conversation in tests/wire/mcp cannot show: limits, lifetimes, memory, exact bytes. */
#include "test.h"

#include <malloc.h>
#include <stdlib.h>

#include "base/rand.h"
#include "mcp/mcp.h"
#include "mcp_fixture.h"

#define MODERN                                                                                     \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

static void initialize(struct mcp_fixture *fixture)
{
    struct str line;

    assert_int_equal(fixture_open(fixture), 0);
    mcp_session_receive(
        fixture->session,
        STR("{\"jsonrpc\":\"2.0\",\"id\":\"init\",\"method\":\"initialize\",\"params\":{"
            "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
            "\"clientInfo\":{\"name\":\"tester\",\"version\":\"7\"}}}"));
    assert_true(fixture_next(fixture, &line));
    assert_false(fixture_next(fixture, &line));
}

static int setup(void **state)
{
    struct mcp_fixture *fixture = malloc(sizeof(*fixture));

    if (fixture == NULL)
        return -1;
    fixture_init(fixture);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    fixture_done(*state);
    free(*state);
    return 0;
}

static void call_tool(struct mcp_fixture *fixture, const char *tool, size_t id)
{
    fixture_sayf(
        fixture,
        "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\"}}",
        id, tool);
}

static void a_thousand_calls_run_at_once_and_end_in_any_order(void **state)
{
    enum { CALLS = 1000 };
    struct mcp_fixture *fixture = *state;
    bool was_answered[CALLS] = {false};
    struct str line;
    size_t answers = 0;

    initialize(fixture);
    for (size_t i = 0; i < CALLS; i++)
        call_tool(fixture, "wait", i);
    assert_int_equal(mcp_session_call_count(fixture->session), CALLS);
    assert_true(fixture_is_silent(fixture));
    while (fixture->parked_count > 0) {
        uint32_t number;

        rand_bytes(&number, sizeof(number));
        fixture_finish(fixture, number % fixture->parked_count);
    }
    while (fixture_next(fixture, &line)) {
        struct str id = str_slice(line, str_find(line, STR("\"id\":")) + 5, SIZE_MAX);
        struct str digits;
        int64_t number = -1;

        assert_true(str_cut(&id, ',', &digits));
        assert_true(str_to_int64(digits, &number));
        assert_in_range(number, 0, CALLS - 1);
        assert_false(was_answered[number]);
        was_answered[number] = true;
        answers++;
    }
    assert_int_equal(answers, CALLS);
    assert_int_equal(mcp_session_call_count(fixture->session), 0);
}

static void calls_over_the_ceiling_are_refused_until_others_end(void **state)
{
    struct mcp_fixture *fixture = *state;

    initialize(fixture);
    for (size_t i = 0; i < MCP_MAX_CALLS; i++)
        call_tool(fixture, "wait", i);
    call_tool(fixture, "wait", 5000);
    assert_true(fixture_next_has(
        fixture, "\"id\":5000,\"error\":{\"code\":-32010,\"message\":\"1024 calls are already "
                 "waiting; try again later\",\"data\":{\"name\":\"busy\""));
    /* What needs no host is answered still. */
    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"id\":5001,\"method\":\"ping\"}");
    assert_true(fixture_next_has(fixture, "\"id\":5001,\"result\":{}"));

    /* A cancelled call counts until the host is done with it. */
    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                          "cancelled\",\"params\":{\"requestId\":0}}");
    assert_int_equal(fixture->cancelled, 1);
    call_tool(fixture, "wait", 5002);
    assert_true(fixture_next_has(fixture, "\"name\":\"busy\""));
    fixture_finish(fixture, 0);
    assert_true(fixture_is_silent(fixture));
    call_tool(fixture, "wait", 5003);
    assert_true(fixture_is_silent(fixture));
    assert_int_equal(mcp_session_call_count(fixture->session), MCP_MAX_CALLS);
}

/* A tool call with `bytes` of arguments. */
static void call_with_bytes(struct mcp_fixture *fixture, size_t id, size_t bytes)
{
    char *filler = malloc(bytes + 1);

    assert_non_null(filler);
    memset(filler, 'x', bytes);
    filler[bytes] = '\0';
    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\","
                 "\"params\":{\"name\":\"wait\",\"arguments\":{\"a\":\"%s\"}}}",
                 id, filler);
    free(filler);
}

static void waiting_calls_hold_a_bounded_number_of_bytes(void **state)
{
    enum { CALL_BYTES = 400 << 10, HELD_BYTES = 4 << 20 };
    struct mcp_fixture *fixture = *state;
    size_t accepted;

    fixture->server.max_held_bytes = HELD_BYTES;
    initialize(fixture);
    for (size_t turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < 20; i++)
            call_with_bytes(fixture, i, CALL_BYTES);
        accepted = fixture->parked_count;
        assert_in_range(accepted, 5, HELD_BYTES / CALL_BYTES);
        for (size_t i = accepted; i < 20; i++)
            assert_true(fixture_next_has(fixture, "\"name\":\"busy\""));
        assert_true(fixture_is_silent(fixture));
        /* Full as it is, a cancel gets through. */
        fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                              "\"params\":{\"requestId\":0}}");
        assert_int_equal(fixture->cancelled, turn + 1);
        while (fixture->parked_count > 0)
            fixture_finish(fixture, 0);
        for (size_t i = 1; i < accepted; i++)
            assert_true(fixture_next_has(fixture, "done"));
        assert_true(fixture_is_silent(fixture));
    }
}

static void a_document_that_grows_past_its_memory_is_refused(void **state)
{
    struct mcp_fixture *fixture = *state;
    cleanup_buf struct buf text = BUF_INIT(16 << 20);

    fixture->server.max_held_bytes = 8 << 20;
    initialize(fixture);
    /* Two bytes become sixteen. */
    assert_int_equal(
        buf_append_str(&text, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"params\":{\"a\":[")), 0);
    for (size_t i = 0; i < 2 << 20; i++)
        assert_int_equal(buf_append_str(&text, STR("1,")), 0);
    assert_int_equal(buf_append_str(&text, STR("1]}}")), 0);
    mcp_session_receive(fixture->session, buf_view(&text));
    assert_true(fixture_next_has(fixture, "\"code\":-32600,"));
    call_tool(fixture, "echo", 2);
    assert_true(fixture_next_has(fixture, "\"id\":2,\"result\""));
}

static void a_message_over_its_ceiling_is_refused_unread(void **state)
{
    struct mcp_fixture *fixture = *state;

    initialize(fixture);
    assert_int_equal(mcp_service_max_message(fixture->service), MCP_DEFAULT_MESSAGE_BYTES);
    call_with_bytes(fixture, 1, MCP_DEFAULT_MESSAGE_BYTES);
    assert_true(fixture_next_has(fixture, "the message is longer than 16777216 bytes"));
    call_with_bytes(fixture, 1, MCP_DEFAULT_MESSAGE_BYTES - 1024);
    assert_true(fixture_is_silent(fixture));
    assert_int_equal(fixture->parked_count, 1);
}

static void a_transport_can_refuse_for_the_session(void **state)
{
    struct mcp_fixture *fixture = *state;
    struct err err = ERR_INIT;
    struct str line;

    initialize(fixture);
    err_set(&err, ERR_TOO_LARGE, "a line is longer than it may be");
    mcp_session_refuse(fixture->session, STR_EMPTY, &err);
    assert_true(fixture_next(fixture, &line));
    assert_str(line,
               "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"a line is longer "
               "than it may be\",\"data\":{\"name\":\"too_large\",\"category\":\"policy\"}}}");
    mcp_session_refuse(fixture->session, STR("\"a\""), &err);
    assert_true(
        fixture_next_has(fixture, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32600,"));
}

static void calls_outlive_their_session_and_are_not_answered(void **state)
{
    struct mcp_fixture *fixture = *state;
    struct mcp_call *call;

    initialize(fixture);
    for (size_t i = 0; i < 10; i++)
        call_with_bytes(fixture, i, 1000);
    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                          "cancelled\",\"params\":{\"requestId\":3}}");
    assert_int_equal(fixture->cancelled, 1);
    fixture_close(fixture);
    /* Nobody is told twice. */
    assert_int_equal(fixture->cancelled, 10);
    assert_int_equal(fixture->parked_count, 10);
    call = fixture->parked[4];
    assert_null(mcp_call_session(call));
    assert_true(mcp_call_is_cancelled(call));
    /* A worker may still be reading these. */
    assert_str(mcp_call_request(call)->tool.tool->name, "wait");
    assert_int_equal(json_get(mcp_call_request(call)->tool.arguments, STR("a"))->size, 1000);
    mcp_call_progress(call, 1, 2, "unheard");
    mcp_call_log(call, MCP_EMERGENCY, "unheard");
    while (fixture->parked_count > 0)
        fixture_finish(fixture, 0);
    assert_true(fixture_is_silent(fixture));
}

static void calls_may_end_inside_their_cancel(void **state)
{
    struct mcp_fixture *fixture = *state;

    fixture->ends_cancelled = true;
    initialize(fixture);
    for (size_t i = 0; i < 10; i++)
        call_tool(fixture, "wait", i);
    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                          "cancelled\",\"params\":{\"requestId\":3}}");
    assert_int_equal(mcp_session_call_count(fixture->session), 9);
    fixture_close(fixture);
    assert_int_equal(fixture->cancelled, 10);
    assert_int_equal(fixture->parked_count, 0);
    assert_true(fixture_is_silent(fixture));
}

static void nothing_of_a_cancelled_call_is_sent(void **state)
{
    struct mcp_fixture *fixture = *state;

    initialize(fixture);
    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                 "\"wait\",\"_meta\":{\"progressToken\":1}}}");
    assert_true(mcp_call_wants_progress(fixture->parked[0]));
    mcp_call_progress(fixture->parked[0], 1, 0, NULL);
    assert_true(fixture_next_has(fixture, "notifications/progress"));
    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                          "cancelled\",\"params\":{\"requestId\":1}}");
    assert_false(mcp_call_wants_progress(fixture->parked[0]));
    mcp_call_progress(fixture->parked[0], 2, 0, NULL);
    mcp_call_log(fixture->parked[0], MCP_EMERGENCY, "unheard");
    fixture_fail(fixture, 0, ERR_CANCELLED);
    assert_true(fixture_is_silent(fixture));
    assert_int_equal(mcp_session_call_count(fixture->session), 0);
}

static void progress_never_falls_over_any_sequence(void **state)
{
    struct mcp_fixture *fixture = *state;
    int64_t last = -1;
    struct str line;

    initialize(fixture);
    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                 "\"wait\",\"_meta\":{\"progressToken\":1}}}");
    for (size_t i = 0; i < 1000; i++) {
        uint32_t number;

        rand_bytes(&number, sizeof(number));
        mcp_call_progress(fixture->parked[0], number, 0, NULL);
    }
    mcp_call_progress(fixture->parked[0], UINT64_MAX, UINT64_MAX, NULL);
    while (fixture_next(fixture, &line)) {
        struct str rest = str_slice(line, str_find(line, STR("\"progress\":")) + 11, SIZE_MAX);
        size_t digits = 0;
        int64_t number;

        while (rest.ptr[digits] >= '0' && rest.ptr[digits] <= '9')
            digits++;
        assert_true(str_to_int64(str_slice(rest, 0, digits), &number));
        assert_true(number > last);
        last = number;
    }
    assert_int_equal(last, INT64_MAX);
}

static void results_are_sent_as_they_are_behind_their_stamp(void **state)
{
    struct mcp_fixture *fixture = *state;
    struct str line;

    initialize(fixture);
    call_tool(fixture, "wait", 1);
    mcp_call_finish(fixture->parked[--fixture->parked_count], STR("{ \"a\" : 1 }"));
    assert_true(fixture_next(fixture, &line));
    assert_str(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\" : 1}}");

    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
                 "\"wait\"," MODERN "}}");
    mcp_call_finish(fixture->parked[--fixture->parked_count], STR("{\"a\":1}"));
    assert_true(fixture_next(fixture, &line));
    assert_str(line, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"complete\","
                     "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"fixture\","
                     "\"title\":\"A fixture\",\"version\":\"1.0\"}},\"a\":1}}");

    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":"
                 "\"wait\"," MODERN "}}");
    mcp_call_finish(fixture->parked[--fixture->parked_count], STR("{}"));
    assert_true(fixture_next(fixture, &line));
    assert_true(str_ends_with(line, STR("\"version\":\"1.0\"}}}}")));
}

static void subscriptions_have_a_ceiling(void **state)
{
    struct mcp_fixture *fixture = *state;

    initialize(fixture);
    for (size_t i = 0; i < MCP_MAX_SUBSCRIPTIONS - 1; i++) {
        fixture_sayf(fixture,
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\","
                     "\"params\":{\"uri\":\"file:///%zu\"}}",
                     i);
        assert_true(fixture_next_has(fixture, "\"id\":1,\"result\":{}"));
    }
    /* One that is being subscribed to takes the last place. */
    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/subscribe\","
                          "\"params\":{\"uri\":\"file:///slow\"}}");
    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/subscribe\","
                          "\"params\":{\"uri\":\"file:///more\"}}");
    assert_true(fixture_next_has(fixture, "1024 subscriptions is reached"));
    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"subscriptions/listen\",\"params\":{"
                 "\"notifications\":{\"resourceSubscriptions\":[\"file:///1\"]}," MODERN "}}");
    assert_true(fixture_next_has(fixture, "at most 1024 subscriptions are allowed"));
    fixture_fail(fixture, 0, ERR_NOT_FOUND);
    assert_true(fixture_next_has(fixture, "\"code\":-32002"));
    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"subscriptions/listen\",\"params\":{"
                 "\"notifications\":{\"resourceSubscriptions\":[\"file:///1\"]}," MODERN "}}");
    assert_true(fixture_next_has(fixture, "notifications/subscriptions/acknowledged"));
    assert_int_equal(fixture->unsubscribed.len, 0);
    fixture_close(fixture);
    assert_true(fixture->unsubscribed.len > (size_t)MCP_MAX_SUBSCRIPTIONS);
}

static void streams_have_a_ceiling(void **state)
{
    struct mcp_fixture *fixture = *state;

    assert_int_equal(fixture_open(fixture), 0);
    for (size_t i = 0; i <= MCP_MAX_STREAMS; i++)
        fixture_sayf(
            fixture,
            "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"subscriptions/listen\",\"params\":{"
            "\"notifications\":{\"resourcesListChanged\":true}," MODERN "}}",
            i);
    for (size_t i = 0; i < MCP_MAX_STREAMS; i++)
        assert_true(fixture_next_has(fixture, "acknowledged"));
    assert_true(fixture_next_has(fixture, "1024 streams are already open"));
    mcp_session_resources_changed(fixture->session);
    for (size_t i = 0; i < MCP_MAX_STREAMS; i++)
        assert_true(fixture_next_has(fixture, "notifications/resources/list_changed"));
    assert_true(fixture_is_silent(fixture));
}

static void what_the_server_does_not_offer_does_not_exist(void **state)
{
    static const char *const methods[] = {
        "resources/list",      "resources/read",        "resources/templates/list",
        "resources/subscribe", "resources/unsubscribe", "completion/complete",
        "logging/setLevel",
    };
    struct mcp_fixture *fixture = *state;
    struct str line;

    fixture->server.has_resources = false;
    fixture->server.has_completions = false;
    fixture->server.has_logging = false;
    fixture->server.title = STR_EMPTY;
    fixture->server.instructions = STR_EMPTY;
    assert_int_equal(fixture_open(fixture), 0);
    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                          "\"protocolVersion\":\"2024-11-05\"}}");
    assert_true(fixture_next(fixture, &line));
    assert_str(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2024-11-05\","
                     "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"fixture\","
                     "\"version\":\"1.0\"}}}");
    for (size_t i = 0; i < array_size(methods); i++) {
        fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"%s\"}", methods[i]);
        assert_true(fixture_next_has(fixture, "\"id\":2,\"error\":{\"code\":-32601,"));
    }
    /* Tools may try to talk, and watched addresses may be asked for. */
    call_tool(fixture, "talk", 3);
    assert_true(fixture_next_has(fixture, "\"id\":3,\"result\""));
    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"subscriptions/listen\",\"params\":{"
                 "\"notifications\":{\"resourceSubscriptions\":[\"file:///1\"]}," MODERN "}}");
    assert_true(fixture_next_has(fixture, "{\"notifications\":{},"));
}

static void memory_stays_flat_over_a_hundred_thousand_calls(void **state)
{
    struct mcp_fixture *fixture = *state;
    size_t before = 0;

    initialize(fixture);
    fixture->drops_output = true;
    for (size_t i = 0; i < 100000; i++) {
        if (i == 1000)
            before = mallinfo2().uordblks;
        switch (i % 5) {
        case 0:
            call_tool(fixture, "echo", i);
            break;
        case 1:
            call_with_bytes(fixture, i, i % 7000);
            fixture_finish(fixture, 0);
            break;
        case 2:
            call_tool(fixture, "wait", i);
            fixture_sayf(fixture,
                         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                         "\"requestId\":%zu}}",
                         i);
            fixture_fail(fixture, 0, ERR_CANCELLED);
            break;
        case 3:
            fixture_sayf(
                fixture,
                "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"subscriptions/listen\",\"params\":{"
                "\"notifications\":{\"resourceSubscriptions\":[\"file:///%zu\"]}," MODERN "}}",
                i, i);
            fixture_sayf(fixture,
                         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                         "\"requestId\":%zu}}",
                         i);
            buf_clear(&fixture->unsubscribed);
            break;
        default:
            fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/list\"}", i);
        }
    }
    assert_int_equal(mcp_session_call_count(fixture->session), 0);
    /* A sanitizer's allocator reports nothing here, and looks for leaks by itself. */
    assert_true(mallinfo2().uordblks <= before + (64 << 10));
}

#define fixture_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

TEST_MAIN(fixture_test(a_thousand_calls_run_at_once_and_end_in_any_order),
          fixture_test(calls_over_the_ceiling_are_refused_until_others_end),
          fixture_test(waiting_calls_hold_a_bounded_number_of_bytes),
          fixture_test(a_document_that_grows_past_its_memory_is_refused),
          fixture_test(a_message_over_its_ceiling_is_refused_unread),
          fixture_test(a_transport_can_refuse_for_the_session),
          fixture_test(calls_outlive_their_session_and_are_not_answered),
          fixture_test(calls_may_end_inside_their_cancel),
          fixture_test(nothing_of_a_cancelled_call_is_sent),
          fixture_test(progress_never_falls_over_any_sequence),
          fixture_test(results_are_sent_as_they_are_behind_their_stamp),
          fixture_test(subscriptions_have_a_ceiling), fixture_test(streams_have_a_ceiling),
          fixture_test(what_the_server_does_not_offer_does_not_exist),
          fixture_test(memory_stays_flat_over_a_hundred_thousand_calls))
