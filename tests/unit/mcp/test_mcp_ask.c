/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What asking the client costs, whom it can affect and when it ends; the conversations are in
 * tests/wire/mcp.
 */
#include "test.h"

#include <malloc.h>
#include <stdlib.h>

#include "base/rand.h"
#include "mcp/mcp.h"
#include "mcp_fixture.h"

#define MODERN                                                                                     \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}"
#define ACCEPTED "\"inputResponses\":{\"x\":{\"action\":\"accept\"}}"

static int setup(void **state)
{
    struct mcp_fixture *fixture = malloc(sizeof(*fixture));

    if (fixture == NULL)
        return -1;
    fixture_init(fixture);
    fixture_offer_more(fixture);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    fixture_done(*state);
    free(*state);
    return 0;
}

static void initialize(struct mcp_fixture *fixture)
{
    assert_int_equal(fixture_open(fixture), 0);
    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                          "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{"
                          "\"elicitation\":{},\"sampling\":{}}}}");
    assert_true(fixture_next_has(fixture, "\"result\""));
}

static void ask(struct mcp_fixture *fixture, size_t id, const char *arguments)
{
    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{"
                 "\"name\":\"ask\",\"arguments\":%s}}",
                 id, arguments);
}

static void ask_modern(struct mcp_fixture *fixture, size_t id, const char *more)
{
    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{"
                 "\"name\":\"ask\",%s%s}}",
                 id, more, MODERN);
}

static void no_two_questions_have_the_same_id(void **state)
{
    struct mcp_fixture *fixture = *state;

    initialize(fixture);
    for (size_t i = 0; i < 4; i++)
        ask(fixture, i + 1, "{\"questions\":{\"a\":\"form\",\"b\":\"form\",\"c\":\"form\"}}");
    assert_int_equal(fixture->question_count, 12);
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(strlen(fixture->questions[i]), strlen("\"ask-\"") + 32);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(fixture->questions[i], fixture->questions[j]);
    }
}

static void open_questions_of_a_session_have_a_ceiling(void **state)
{
    struct mcp_fixture *fixture = *state;
    size_t asked = 0;

    initialize(fixture);
    while (asked < MCP_MAX_OPEN_QUESTIONS)
        ask(fixture, ++asked, "{}");
    for (size_t i = 0; i < asked; i++)
        assert_true(fixture_next_has(fixture, "elicitation/create"));
    ask(fixture, 1000, "{}");
    assert_true(fixture_next_has(fixture, "128 questions are already open"));
    /* One that is answered makes room. */
    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"id\":@q1,\"result\":{\"action\":\"decline\"}}");
    assert_true(fixture_next_has(fixture, "\"declined\""));
    ask(fixture, 1001, "{}");
    assert_true(fixture_next_has(fixture, "elicitation/create"));
    assert_true(fixture_is_silent(fixture));
}

static void rounds_of_a_call_have_a_ceiling(void **state)
{
    struct mcp_fixture *fixture = *state;

    initialize(fixture);
    ask(fixture, 1, "{\"rounds\":100}");
    for (size_t i = 1; i <= MCP_MAX_ROUNDS; i++) {
        assert_true(fixture_next_has(fixture, "elicitation/create"));
        fixture_sayf(fixture,
                     "{\"jsonrpc\":\"2.0\",\"id\":@q%zu,\"result\":{\"action\":"
                     "\"accept\"}}",
                     i);
    }
    assert_true(fixture_next_has(fixture, "the client was already asked 16 times"));

    ask_modern(fixture, 2, "\"arguments\":{\"rounds\":100},");
    for (size_t i = 1; i <= MCP_MAX_ROUNDS; i++) {
        char more[256];

        assert_true(fixture_next_has(fixture, "\"input_required\""));
        snprintf(more, sizeof(more),
                 "\"arguments\":{\"rounds\":100},\"requestState\":\"@s%zu\"," ACCEPTED ",", i);
        ask_modern(fixture, 2, more);
    }
    assert_true(fixture_next_has(fixture, "the client was already asked 16 times"));
    assert_true(fixture_is_silent(fixture));
}

static void a_state_of_the_host_has_a_ceiling(void **state)
{
    struct mcp_fixture *fixture = *state;
    char *text = malloc(MCP_MAX_STATE_BYTES + 2);
    char *arguments = malloc(MCP_MAX_STATE_BYTES + 64);

    assert_true(text != NULL && arguments != NULL);
    initialize(fixture);
    for (size_t over = 0; over < 2; over++) {
        memset(text, 's', MCP_MAX_STATE_BYTES + over);
        text[MCP_MAX_STATE_BYTES + over] = '\0';
        snprintf(arguments, MCP_MAX_STATE_BYTES + 64, "\"arguments\":{\"state\":\"%s\"},", text);
        ask_modern(fixture, 1, arguments);
        assert_true(fixture_next_has(fixture, over == 0
                                                  ? "\"input_required\""
                                                  : "a request state must not exceed 16384 bytes"));
    }
    /* The longest comes back whole. */
    text[MCP_MAX_STATE_BYTES] = '\0';
    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
                 "\"ask\",\"arguments\":{\"state\":\"%s\"},\"requestState\":\"@s1\"," MODERN "}}",
                 text);
    snprintf(arguments, MCP_MAX_STATE_BYTES + 64, "\"state\":\"%s\"", text);
    assert_true(fixture_next_has(fixture, arguments));
    free(text);
    free(arguments);
}

static void an_answer_that_is_too_large_is_none(void **state)
{
    struct mcp_fixture *fixture = *state;
    char *filler = malloc(MCP_MAX_ANSWER_BYTES + 1);
    size_t held;

    assert_non_null(filler);
    memset(filler, 'x', MCP_MAX_ANSWER_BYTES);
    filler[MCP_MAX_ANSWER_BYTES] = '\0';
    initialize(fixture);
    ask(fixture, 1, "{}");
    assert_true(fixture_next_has(fixture, "elicitation/create"));
    held = mallinfo2().uordblks;
    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":@q1,\"result\":{\"action\":\"accept\",\"content\":{"
                 "\"a\":\"%s\"}}}",
                 filler);
    assert_true(fixture_next_has(fixture, "{\"status\":\"failed\",\"error\":\"too_large\"}"));
    assert_true(mallinfo2().uordblks <= held + (2 << 20));
    free(filler);
}

static void answers_hold_memory_only_within_the_ceiling_of_their_session(void **state)
{
    enum { ANSWER_BYTES = 1 << 20, HELD_BYTES = 4 << 20 };
    struct mcp_fixture *fixture = *state;
    char *filler = malloc(ANSWER_BYTES + 1);
    struct str line;
    size_t kept = 0;

    assert_non_null(filler);
    memset(filler, 'x', ANSWER_BYTES);
    filler[ANSWER_BYTES] = '\0';
    fixture->server.max_held_bytes = HELD_BYTES;
    initialize(fixture);
    /* The call needs all of them, so it keeps the first ones while it waits for the last. */
    ask(fixture, 1,
        "{\"questions\":{\"a\":\"form\",\"b\":\"form\",\"c\":\"form\",\"d\":\"form\","
        "\"e\":\"form\",\"f\":\"form\"}}");
    for (size_t i = 1; i <= 6; i++)
        assert_true(fixture_next_has(fixture, "elicitation/create"));
    for (size_t i = 1; i <= 6; i++)
        fixture_sayf(fixture,
                     "{\"jsonrpc\":\"2.0\",\"id\":@q%zu,\"result\":{\"action\":\"accept\","
                     "\"content\":{\"a\":\"%s\"}}}",
                     i, filler);
    /* The last ones found no room, so their questions are open until their time is over. */
    assert_int_equal(fixture->answered, 0);
    while (fixture_next(fixture, &line))
        ;
    fixture_pass(fixture, MCP_DEFAULT_ASK_MS);
    assert_int_equal(fixture->answered, 1);
    assert_int_equal(mcp_session_call_count(fixture->session), 0);
    while (fixture_next(fixture, &line)) {
        for (size_t at; (at = str_find(line, STR("\"accepted\""))) != SIZE_MAX; kept++)
            line = str_slice(line, at + 1, SIZE_MAX);
    }
    assert_in_range(kept, 1, HELD_BYTES / ANSWER_BYTES);
    ask(fixture, 2, "{}");
    assert_int_equal(mcp_session_call_count(fixture->session), 1);
    free(filler);
}

static void a_session_that_is_freed_takes_its_questions_with_it(void **state)
{
    struct mcp_fixture *fixture = *state;
    struct mcp_call *call;
    struct mcp_question question = {STR("again"), MCP_ASK_FORM, STR("{}")};
    struct mcp_round round = {.questions = &question, .count = 1, .state = STR_EMPTY};
    struct err err = ERR_INIT;

    initialize(fixture);
    ask(fixture, 1, "{\"questions\":{\"a\":\"form\",\"b\":\"form\"}}");
    fixture_sayf(fixture,
                 "{\"jsonrpc\":\"2.0\",\"id\":@q2,\"result\":{\"action\":\"accept\",\"content\":{"
                 "\"n\":1}}}");
    assert_true(fixture_next_has(fixture, "elicitation/create"));
    assert_true(fixture_next_has(fixture, "elicitation/create"));
    fixture_close(fixture);
    assert_true(fixture_is_silent(fixture));
    assert_int_equal(fixture->answered, 0);
    assert_int_equal(fixture->parked_count, 1);
    call = fixture->parked[0];
    /* What was heard may still be in use, and nothing more is asked. */
    assert_int_equal(mcp_call_answer(call, STR("a")).status, MCP_FAILED);
    assert_int_equal(mcp_call_answer(call, STR("a")).error, ERR_CANCELLED);
    assert_int_equal(mcp_call_answer(call, STR("b")).status, MCP_ACCEPTED);
    assert_non_null(json_get(mcp_call_answer(call, STR("b")).content, STR("n")));
    assert_int_equal(mcp_call_ask(call, &round, &err), ERR_CANCELLED);
    assert_int_equal(mcp_service_expire(fixture->service), -1);
    fixture_finish(fixture, 0);
    assert_true(fixture_is_silent(fixture));
}

static void the_next_deadline_is_told(void **state)
{
    struct mcp_fixture *fixture = *state;

    initialize(fixture);
    assert_int_equal(mcp_service_expire(fixture->service), -1);
    ask(fixture, 1, "{\"timeout\":5000}");
    ask(fixture, 2, "{\"timeout\":2000,\"rounds\":2}");
    assert_int_equal(mcp_service_expire(fixture->service), 2000);
    /* The second one asks again and has as long once more. */
    clock_fake_advance(&fixture->clock, 2500);
    assert_int_equal(mcp_service_expire(fixture->service), 2000);
    assert_int_equal(fixture->answered, 1);
    clock_fake_advance(&fixture->clock, 10000);
    assert_int_equal(mcp_service_expire(fixture->service), -1);
    assert_int_equal(fixture->answered, 3);
    assert_int_equal(mcp_session_call_count(fixture->session), 0);
}

static void nothing_is_asked_where_the_answer_cannot_be_a_question(void **state)
{
    struct mcp_fixture *fixture = *state;
    struct mcp_question question = {STR("x"), MCP_ASK_FORM, STR("{}")};
    struct mcp_round round = {.questions = &question, .count = 1, .state = STR_EMPTY};
    struct err err = ERR_INIT;

    initialize(fixture);
    fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\","
                          "\"params\":{\"uri\":\"file:///slow\"}}");
    assert_int_equal(mcp_call_ask(fixture->parked[0], &round, &err), ERR_UNSUPPORTED);
    assert_true(fixture_is_silent(fixture));
}

/* A host that has no way to hear answers. */
static void ask_at_once(void *data, struct mcp_call *call)
{
    struct mcp_question question = {STR("x"), MCP_ASK_FORM, STR("{}")};
    struct mcp_round round = {.questions = &question, .count = 1, .state = STR_EMPTY};
    struct err err = ERR_INIT;
    int *result = data;

    *result = mcp_call_ask(call, &round, &err);
    mcp_call_fail(call, &err);
}

static void let_go(void *data, struct mcp_call *call)
{
    (void)data;
    (void)call;
}

static void send_nowhere(void *data, const struct mcp_outgoing *about, const struct str *parts,
                         size_t count)
{
    (void)data;
    (void)parts;
    assert_int_equal(about->kind, MCP_SENT_ERROR);
    assert_true(count > 0);
}

static void a_host_that_cannot_hear_answers_asks_nothing(void **state)
{
    static const struct mcp_host host = {
        .start = ask_at_once, .cancel = let_go, .send = send_nowhere};
    struct mcp_fixture *fixture = *state;
    struct mcp_service *service = NULL;
    struct mcp_session *session = NULL;
    int result = 0;
    const struct mcp_session_config config = {.data = &result, .principal = STR_EMPTY};

    assert_int_equal(mcp_service_new(&fixture->server, &host, &service), 0);
    assert_int_equal(mcp_session_new(service, &config, &session), 0);
    mcp_session_receive(session, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                                     "\"params\":{\"name\":\"ask\"," MODERN "}}"));
    assert_int_equal(result, ERR_UNSUPPORTED);
    mcp_session_free(session);
    mcp_service_free(service);
}

static void every_changed_byte_of_a_state_is_noticed(void **state)
{
    struct mcp_fixture *fixture = *state;
    size_t len;

    assert_int_equal(fixture_open(fixture), 0);
    ask_modern(fixture, 1, "");
    assert_true(fixture_next_has(fixture, "\"input_required\""));
    len = strlen(fixture->states[0]);
    for (size_t i = 0; i < len; i++) {
        char kept = fixture->states[0][i];

        fixture->states[0][i] = kept == 'A' ? 'B' : 'A';
        ask_modern(fixture, 2, "\"requestState\":\"@s1\",");
        assert_true(fixture_next_has(fixture, "\"state_invalid\""));
        fixture->states[0][i] = '\0';
        ask_modern(fixture, 2, "\"requestState\":\"@s1\",");
        assert_true(fixture_next_has(fixture, "\"state_invalid\""));
        fixture->states[0][i] = kept;
    }
    ask_modern(fixture, 3, "\"requestState\":\"@s1\"," ACCEPTED ",");
    assert_true(fixture_next_has(fixture, "\"accepted\""));
}

static void another_service_has_another_key(void **state)
{
    struct mcp_fixture *fixture = *state;
    struct mcp_fixture *other = malloc(sizeof(*other));

    assert_non_null(other);
    fixture_init(other);
    fixture_offer_more(other);
    assert_int_equal(fixture_open(fixture), 0);
    assert_int_equal(fixture_open(other), 0);
    ask_modern(fixture, 1, "");
    assert_true(fixture_next_has(fixture, "\"input_required\""));
    ask_modern(other, 1, "");
    assert_true(fixture_next_has(other, "\"input_required\""));
    free(other->states[0]);
    other->states[0] = strdup(fixture->states[0]);
    assert_non_null(other->states[0]);
    ask_modern(other, 2, "\"requestState\":\"@s1\",");
    assert_true(fixture_next_has(other, "\"state_invalid\""));
    fixture_done(other);
    free(other);
}

/* Asks `count` times, a millisecond after each other. */
static void flood(struct mcp_fixture *fixture, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        clock_fake_advance(&fixture->clock, 1);
        ask_modern(fixture, 1, "");
        assert_true(fixture_next_has(fixture, "\"input_required\""));
    }
}

static void who_asks_too_often_loses_only_his_own_states(void **state)
{
    struct mcp_fixture *fixture = *state;

    fixture->config.principal = STR("ann");
    assert_int_equal(fixture_open(fixture), 0);
    flood(fixture, 1);
    fixture_close(fixture);
    fixture->config.principal = STR("bob");
    assert_int_equal(fixture_open(fixture), 0);
    flood(fixture, 5000);
    /* Bob's first one is the second of all. */
    ask_modern(fixture, 2, "\"requestState\":\"@s2\",");
    assert_true(fixture_next_has(fixture, "\"state_used\""));
    fixture_close(fixture);
    fixture->config.principal = STR("ann");
    assert_int_equal(fixture_open(fixture), 0);
    ask_modern(fixture, 3, "\"requestState\":\"@s1\"," ACCEPTED ",");
    assert_true(fixture_next_has(fixture, "\"accepted\""));
}

static void open_as(struct mcp_fixture *fixture, const char *principal)
{
    if (fixture->session != NULL)
        fixture_close(fixture);
    fixture->config.principal = str_from(principal);
    assert_int_equal(fixture_open(fixture), 0);
}

/* What state `number` of the test is good for now: "accepted", or the name of an error. */
static bool redeems(struct mcp_fixture *fixture, size_t number, const char *outcome)
{
    char more[128];

    snprintf(more, sizeof(more), "\"requestState\":\"@s%zu\"," ACCEPTED ",", number);
    ask_modern(fixture, 9, more);
    return fixture_next_has(fixture, outcome);
}

static void one_may_have_256_states_and_not_one_more(void **state)
{
    struct mcp_fixture *fixture = *state;

    open_as(fixture, "ann");
    flood(fixture, 256);
    assert_true(redeems(fixture, 1, "\"accepted\""));
    /* That made room for one; for another the oldest goes, and no other. */
    flood(fixture, 1);
    assert_true(redeems(fixture, 2, "\"accepted\""));
    flood(fixture, 2);
    assert_true(redeems(fixture, 3, "\"state_used\""));
    assert_true(redeems(fixture, 4, "\"accepted\""));
}

static void all_may_have_1024_states_and_not_one_more(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct mcp_fixture *fixture = *state;

    for (size_t i = 0; i < array_size(names); i++) {
        open_as(fixture, names[i]);
        flood(fixture, 256);
    }
    open_as(fixture, "a");
    assert_true(redeems(fixture, 1, "\"accepted\""));
    open_as(fixture, "e");
    flood(fixture, 1);
    open_as(fixture, "a");
    assert_true(redeems(fixture, 2, "\"accepted\""));
    open_as(fixture, "e");
    flood(fixture, 2);
    open_as(fixture, "a");
    assert_true(redeems(fixture, 3, "\"state_used\""));
    assert_true(redeems(fixture, 4, "\"accepted\""));
}

static void a_state_counts_once_and_until_it_is_due(void **state)
{
    struct mcp_fixture *fixture = *state;

    open_as(fixture, "ann");
    flood(fixture, 1);
    fixture_pass(fixture, MCP_DEFAULT_ASK_MS - 1);
    assert_true(redeems(fixture, 1, "\"accepted\""));
    assert_true(redeems(fixture, 1, "\"state_used\""));
    flood(fixture, 1);
    fixture_pass(fixture, MCP_DEFAULT_ASK_MS);
    assert_true(redeems(fixture, 2, "\"state_expired\""));
    /* Nor can it come back to life in a slot that was given away. */
    flood(fixture, 256);
    assert_true(redeems(fixture, 2, "\"state_expired\""));
    assert_true(redeems(fixture, 3, "\"accepted\""));
}

static void as_many_states_as_there_are_slots_can_be_out(void **state)
{
    enum { PEOPLE = 5, EACH = 250 };
    static const char *const names[PEOPLE] = {"a", "b", "c", "d", "e"};
    struct mcp_fixture *fixture = *state;

    for (size_t i = 0; i < PEOPLE; i++) {
        fixture->config.principal = str_from(names[i]);
        assert_int_equal(fixture_open(fixture), 0);
        flood(fixture, EACH);
        fixture_close(fixture);
    }
    /* 1,250 for 1,024 slots: the very first are gone, and say so. */
    fixture->config.principal = STR("a");
    assert_int_equal(fixture_open(fixture), 0);
    ask_modern(fixture, 1, "\"requestState\":\"@s1\",");
    assert_true(fixture_next_has(fixture, "\"state_used\""));
}

static void asking_leaves_no_memory_behind(void **state)
{
    struct mcp_fixture *fixture = *state;
    size_t before = 0;

    initialize(fixture);
    for (size_t i = 0; i < 4000; i++) {
        if (i == 400)
            before = mallinfo2().uordblks;
        fixture->question_count = 0;
        for (size_t k = 0; k < fixture->state_count; k++)
            free(fixture->states[k]);
        fixture->state_count = 0;
        if (i % 2 == 0) {
            ask(fixture, i + 1, "{\"rounds\":2}");
            fixture_sayf(fixture, "{\"jsonrpc\":\"2.0\",\"id\":@q1,\"result\":{\"action\":"
                                  "\"accept\",\"content\":{\"a\":[1,2,3]}}}");
            fixture_sayf(fixture,
                         "{\"jsonrpc\":\"2.0\",\"id\":@q2,\"result\":{\"action\":\"cancel\"}}");
        } else {
            ask_modern(fixture, i + 1, "");
            ask_modern(fixture, i + 1, "\"requestState\":\"@s1\"," ACCEPTED ",");
        }
        while (fixture_next_has(fixture, "\"jsonrpc\""))
            ;
    }
    assert_int_equal(mcp_session_call_count(fixture->session), 0);
    assert_int_equal(fixture->answered, 4000);
    assert_true(mallinfo2().uordblks <= before + (64 << 10));
}

#define fixture_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

TEST_MAIN(fixture_test(no_two_questions_have_the_same_id),
          fixture_test(open_questions_of_a_session_have_a_ceiling),
          fixture_test(rounds_of_a_call_have_a_ceiling),
          fixture_test(a_state_of_the_host_has_a_ceiling),
          fixture_test(an_answer_that_is_too_large_is_none),
          fixture_test(answers_hold_memory_only_within_the_ceiling_of_their_session),
          fixture_test(a_session_that_is_freed_takes_its_questions_with_it),
          fixture_test(the_next_deadline_is_told),
          fixture_test(nothing_is_asked_where_the_answer_cannot_be_a_question),
          fixture_test(a_host_that_cannot_hear_answers_asks_nothing),
          fixture_test(every_changed_byte_of_a_state_is_noticed),
          fixture_test(another_service_has_another_key),
          fixture_test(who_asks_too_often_loses_only_his_own_states),
          fixture_test(one_may_have_256_states_and_not_one_more),
          fixture_test(all_may_have_1024_states_and_not_one_more),
          fixture_test(a_state_counts_once_and_until_it_is_due),
          fixture_test(as_many_states_as_there_are_slots_can_be_out),
          fixture_test(asking_leaves_no_memory_behind))
