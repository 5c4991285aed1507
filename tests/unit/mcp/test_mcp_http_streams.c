/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: broken connections, resuming, and questions on them. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "mcp_http_fixture.h"

enum { REPLAY_BYTES = 2000, TOTAL_BYTES = 1500, KEPT_BYTES = 100000 };

#define OLDER "2025-06-18"
#define NEW   "2025-11-25"

static struct mcp_http_fixture *fixture;
static struct mcp_http_link client;
static struct mcp_http_link other; /* of the same session */

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
    return begin_with(&(struct mcp_http_config){.retry_ms = 700});
}

static int begin_small(void **state)
{
    (void)state;
    return begin_with(&(struct mcp_http_config){.replay_bytes = REPLAY_BYTES,
                                                .total_replay_bytes = TOTAL_BYTES,
                                                .max_kept_bytes = KEPT_BYTES});
}

static int end(void **state)
{
    (void)state;
    mcp_http_link_close(&client);
    mcp_http_link_close(&other);
    mcp_http_fixture_free(fixture);
    return 0;
}

static void open_for_both(const char *revision)
{
    mcp_http_open_session(&client, revision);
    memcpy(other.session, client.session, sizeof(other.session));
}

/* The id of the event that came last. */
static void last_event_id(struct mcp_http_link *from, char out_id[32])
{
    const struct str key = STR("id: ");
    struct str rest = STR_EMPTY;
    size_t at = 0;
    size_t next;

    assert_true(mcp_http_has(from, "\nid: "));
    for (struct str all = buf_view(&from->got);
         (next = str_find(str_slice(all, at, SIZE_MAX), key)) != SIZE_MAX; at += next + key.len)
        rest = str_slice(all, at + next + key.len, SIZE_MAX);
    rest = str_slice(rest, 0, str_find(rest, STR("\n")));
    snprintf(out_id, 32, "%.*s", STR_ARG(rest));
}

/* ---- connections that break ---- */

static void a_modern_client_that_leaves_cancels(void **state)
{
    (void)state;
    assert_int_equal(mcp_http_call_modern(&client, "wait", "{}"), 0);
    assert_int_equal(mcp_http_call_modern(&other, "talk", "{}"), 200);
    assert_int_equal(fixture->parked_count, 2);
    mcp_http_link_close(&client);
    assert_int_equal(fixture->cancelled, 1);
    mcp_http_link_close(&other);
    assert_int_equal(fixture->cancelled, 2);
    assert_int_equal(fixture->parked_count, 0);
}

static void a_legacy_client_that_leaves_comes_back_for_the_rest(void **state)
{
    char id[32];

    (void)state;
    open_for_both(NEW);
    assert_int_equal(mcp_http_call_legacy(&client, 1, "talk", "{}"), 200);
    last_event_id(&client, id);
    mcp_http_link_close(&client);
    assert_int_equal(fixture->cancelled, 0);
    mcp_http_fixture_finish(fixture);
    assert_int_equal(mcp_http_get(&other, id), 200);
    assert_true(mcp_http_has(&other, "\"id\":1,\"result\""));
    assert_false(mcp_http_has(&other, "a warning"));
    assert_true(mcp_http_is_over(&other));
}

static void one_that_comes_back_early_waits_for_it(void **state)
{
    char id[32];

    (void)state;
    open_for_both(NEW);
    assert_int_equal(mcp_http_call_legacy(&client, 1, "talk", "{}"), 200);
    last_event_id(&client, id);
    mcp_http_link_close(&client);
    assert_int_equal(mcp_http_get(&other, id), 200);
    assert_false(mcp_http_is_over(&other));
    mcp_http_fixture_finish(fixture);
    assert_true(mcp_http_has(&other, "\"id\":1,\"result\""));
    assert_true(mcp_http_is_over(&other));
}

static void one_that_comes_back_takes_over_from_itself(void **state)
{
    char id[32];

    (void)state;
    open_for_both(NEW);
    assert_int_equal(mcp_http_call_legacy(&client, 1, "talk", "{}"), 200);
    last_event_id(&client, id);
    assert_int_equal(mcp_http_get(&other, id), 200);
    assert_true(mcp_http_is_over(&client));
    mcp_http_fixture_finish(fixture);
    assert_false(mcp_http_has(&client, "\"id\":1,\"result\""));
    assert_true(mcp_http_has(&other, "\"id\":1,\"result\""));
}

static void a_stream_begins_with_what_can_be_come_back_to(void **state)
{
    (void)state;
    open_for_both(NEW);
    assert_int_equal(mcp_http_call_legacy(&client, 1, "part", "{}"), 200);
    assert_true(mcp_http_has(&client, "-0\nretry: 700\ndata: \n\n"));
    assert_true(mcp_http_is_over(&client));
    assert_int_equal(fixture->parked_count, 1);
    assert_int_equal(fixture->cancelled, 0);
    {
        char id[32];

        last_event_id(&client, id);
        assert_int_equal(mcp_http_get(&other, id), 200);
    }
    assert_false(mcp_http_has(&other, "\"result\""));
    mcp_http_fixture_finish(fixture);
    assert_true(mcp_http_has(&other, "\"id\":1,\"result\""));
    assert_true(mcp_http_is_over(&other));
}

static void older_clients_do_not_get_events_that_say_nothing(void **state)
{
    (void)state;
    open_for_both(OLDER);
    assert_int_equal(mcp_http_call_legacy(&client, 1, "say", "{}"), 200);
    assert_false(mcp_http_has(&client, "data: \n"));
    assert_false(mcp_http_has(&client, "retry:"));
    assert_true(mcp_http_has(&client, "\nid: "));
}

static void hanging_up_does_nothing_to_a_modern_call(void **state)
{
    (void)state;
    assert_int_equal(mcp_http_call_modern(&client, "part", "{}"), 0);
    mcp_http_fixture_finish(fixture);
    assert_true(mcp_http_has(&client, "\"done\""));
}

/* ---- what is kept ---- */

static void an_event_of_somebody_else_is_refused(void **state)
{
    (void)state;
    open_for_both(NEW);
    assert_int_equal(mcp_http_get(&client, "x"), 400);
    assert_int_equal(mcp_http_get(&client, "1-x"), 400);
    assert_int_equal(mcp_http_get(&client, "-1-1"), 400);
    assert_int_equal(mcp_http_get(&client, "0-9"), 400);
    assert_int_equal(mcp_http_get(&client, "99999-1"), 400);
    /* Nothing was ever said there, so there is nothing behind its beginning. */
    assert_int_equal(mcp_http_get(&client, "99999-0"), 400);
}

static void a_session_does_not_see_events_of_another(void **state)
{
    char id[32];

    (void)state;
    mcp_http_open_session(&client, NEW);
    mcp_http_open_session(&other, NEW);
    assert_int_equal(mcp_http_call_legacy(&client, 1, "part", "{}"), 200);
    last_event_id(&client, id);
    assert_int_equal(mcp_http_get(&other, id), 400);
    mcp_http_fixture_finish(fixture);
    assert_int_equal(mcp_http_get(&other, id), 400);
}

static void what_is_not_kept_any_more_is_refused(void **state)
{
    char id[32];

    (void)state;
    open_for_both(NEW);
    assert_int_equal(mcp_http_call_legacy(&client, 1, "part", "{}"), 200);
    last_event_id(&client, id);
    mcp_http_fixture_finish(fixture);
    assert_int_equal(mcp_http_get(&client, id), 200);
    assert_true(mcp_http_has(&client, "\"id\":1,\"result\""));
    /* Others are said, until it has to go. */
    for (int i = 0; i < 50; i++)
        assert_int_equal(mcp_http_call_legacy(&client, 2, "say", "{}"), 200);
    assert_int_equal(mcp_http_get(&client, id), 400);
}

#define CHANGED "notifications/tools/list_changed"

/* A stream that goes on, of whose events the first had to go. */
static void what_has_a_hole_in_it_is_refused(void **state)
{
    enum { MORE = 3 };
    char id[32];
    char last[32];

    (void)state;
    open_for_both(NEW);
    for (int i = 0; i < MCP_HTTP_REPLAY_EVENTS; i++)
        mcp_http_fixture_change_tools(fixture);
    /* As many as are kept: all of them are there. */
    assert_int_equal(mcp_http_get(&client, "0-0"), 200);
    assert_int_equal(mcp_http_count(&client, CHANGED), MCP_HTTP_REPLAY_EVENTS);
    mcp_http_link_close(&client);
    for (int i = 0; i < MORE; i++)
        mcp_http_fixture_change_tools(fixture);
    for (int i = 0; i < MORE; i++) {
        snprintf(id, sizeof(id), "0-%d", i);
        assert_int_equal(mcp_http_get(&other, id), 400);
        assert_false(mcp_http_has(&other, CHANGED));
    }
    /* The first that is kept is the one behind this. */
    snprintf(id, sizeof(id), "0-%d", MORE);
    assert_int_equal(mcp_http_get(&other, id), 200);
    assert_int_equal(mcp_http_count(&other, CHANGED), MCP_HTTP_REPLAY_EVENTS);
    last_event_id(&other, id);
    snprintf(last, sizeof(last), "0-%d", MCP_HTTP_REPLAY_EVENTS + MORE);
    assert_string_equal(id, last);
}

/* The same where it is the bytes that are too many. */
static void what_was_forgotten_for_its_size_is_refused(void **state)
{
    size_t kept = 0;
    char id[32];

    (void)state;
    open_for_both(NEW);
    for (int i = 0; i < 200; i++)
        mcp_http_fixture_change_tools(fixture);
    for (int behind = 0; behind < 200 && kept == 0; behind++) {
        snprintf(id, sizeof(id), "0-%d", behind);
        if (mcp_http_get(&client, id) != 200) {
            assert_false(mcp_http_has(&client, CHANGED));
            continue;
        }
        kept = mcp_http_count(&client, CHANGED);
        assert_int_equal(kept, 200 - behind);
    }
    assert_in_range(kept, 1, 199);
}

static void who_was_away_longest_makes_room_for_others(void **state)
{
    char id[32];
    char id_kept[32];

    (void)state;
    mcp_http_open_session(&client, NEW);
    mcp_http_open_session(&other, NEW);
    assert_int_equal(mcp_http_call_legacy(&other, 1, "part", "{}"), 200);
    last_event_id(&other, id);
    mcp_http_fixture_finish(fixture);
    assert_int_equal(mcp_http_get(&other, id), 200);
    assert_true(mcp_http_has(&other, "\"id\":1,\"result\""));
    /* Less than one may keep for itself, but too much for all. */
    for (int i = 0; i < 8; i++)
        assert_int_equal(mcp_http_call_legacy(&client, 2, "say", "{}"), 200);
    last_event_id(&client, id_kept);
    assert_int_equal(mcp_http_get(&other, id), 400);
    assert_int_equal(mcp_http_get(&client, id_kept), 200);
}

static void what_is_too_large_to_be_kept_is_refused(void **state)
{
    char id[32];

    (void)state;
    open_for_both(NEW);
    /* The warning is kept, the answer behind it is not. */
    assert_int_equal(mcp_http_call_legacy(&client, 1, "large", "{\"warn\":true}"), 200);
    assert_true(mcp_http_has(&client, "a warning"));
    last_event_id(&client, id);
    assert_true(id[0] != '\0');
    assert_string_equal(strrchr(id, '-'), "-2");
    strrchr(id, '-')[1] = '1';
    assert_int_equal(mcp_http_get(&client, id), 400);
    strrchr(id, '-')[1] = '0';
    assert_int_equal(mcp_http_get(&client, id), 400);
}

static void a_reader_that_does_not_read_is_cut_off(void **state)
{
    (void)state;
    open_for_both(NEW);
    assert_int_equal(mcp_http_get(&client, NULL), 200);
    assert_int_equal(http_fixture_connections(&fixture->http), 2);
    for (int i = 0; i < 50000 && http_fixture_connections(&fixture->http) == 2; i++)
        mcp_http_fixture_change_tools(fixture);
    assert_int_equal(http_fixture_connections(&fixture->http), 1);
    /* The session goes on, and the client may come back. */
    assert_int_equal(mcp_http_session_count(fixture->endpoint), 1);
    assert_int_equal(mcp_http_get(&other, NULL), 200);
}

/* ---- the session's own stream ---- */

static void changes_are_told_on_the_stream_of_the_session(void **state)
{
    (void)state;
    open_for_both(NEW);
    assert_int_equal(mcp_http_get(&client, NULL), 200);
    assert_true(mcp_http_has(&client, "retry: 700\n"));
    mcp_http_fixture_change_tools(fixture);
    assert_true(mcp_http_has(&client, "notifications/tools/list_changed"));
    assert_false(mcp_http_is_over(&client));
}

static void what_was_said_before_is_told_when_somebody_listens(void **state)
{
    (void)state;
    open_for_both(NEW);
    mcp_http_fixture_change_tools(fixture);
    assert_int_equal(mcp_http_get(&client, NULL), 200);
    assert_int_equal(mcp_http_count(&client, "notifications/tools/list_changed"), 1);
    mcp_http_link_close(&client);
    /* Once. */
    assert_int_equal(mcp_http_get(&other, NULL), 200);
    assert_false(mcp_http_has(&other, "notifications/tools/list_changed"));
}

static void there_is_one_such_stream(void **state)
{
    (void)state;
    open_for_both(NEW);
    assert_int_equal(mcp_http_get(&client, NULL), 200);
    assert_int_equal(mcp_http_get(&other, NULL), 409);
    mcp_http_link_close(&client);
    assert_int_equal(mcp_http_get(&other, NULL), 200);
}

/* ---- questions ---- */

static void answer_question(struct mcp_http_link *asked, struct mcp_http_link *answers)
{
    char id[64];
    char body[256];

    assert_true(mcp_http_has(asked, "\"elicitation/create\""));
    mcp_http_behind(asked, "\"id\":\"ask-", id, sizeof(id));
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":\"ask-%s\",\"result\":{\"action\":\"accept\","
             "\"content\":{\"name\":\"x\"}}}",
             id);
    assert_int_equal(mcp_http_post_legacy(answers, body), 202);
}

static void a_question_goes_on_the_stream_of_its_call(void **state)
{
    (void)state;
    open_for_both(NEW);
    assert_int_equal(mcp_http_call_legacy(&client, 1, "ask", "{}"), 200);
    assert_false(mcp_http_is_over(&client));
    answer_question(&client, &other);
    assert_true(mcp_http_has(&client, "\"said\":\"a name\""));
    assert_true(mcp_http_is_over(&client));
}

static void a_question_that_nobody_answers_ends(void **state)
{
    (void)state;
    open_for_both(NEW);
    assert_int_equal(mcp_http_call_legacy(&client, 1, "ask", "{\"ms\":5000}"), 200);
    http_fixture_pass(&fixture->http, 4000);
    assert_false(mcp_http_is_over(&client));
    http_fixture_pass(&fixture->http, 2000);
    assert_true(mcp_http_has(&client, "timed_out"));
    assert_true(mcp_http_is_over(&client));
}

static void a_later_question_may_end_before_an_earlier_one(void **state)
{
    (void)state;
    open_for_both(NEW);
    assert_int_equal(mcp_http_call_legacy(&client, 1, "ask", "{\"ms\":100000}"), 200);
    http_fixture_pass(&fixture->http, 1);
    assert_int_equal(mcp_http_call_legacy(&other, 2, "ask", "{\"ms\":5000}"), 200);
    http_fixture_pass(&fixture->http, 1);
    http_fixture_pass(&fixture->http, 6000);
    assert_true(mcp_http_has(&other, "timed_out"));
    assert_false(mcp_http_has(&client, "timed_out"));
    http_fixture_pass(&fixture->http, 100000);
    assert_true(mcp_http_has(&client, "timed_out"));
}

#define CASE(name)  cmocka_unit_test_setup_teardown(name, begin, end)
#define SMALL(name) cmocka_unit_test_setup_teardown(name, begin_small, end)
TEST_MAIN(
    CASE(a_modern_client_that_leaves_cancels),
    CASE(a_legacy_client_that_leaves_comes_back_for_the_rest),
    CASE(one_that_comes_back_early_waits_for_it), CASE(one_that_comes_back_takes_over_from_itself),
    CASE(a_stream_begins_with_what_can_be_come_back_to),
    CASE(older_clients_do_not_get_events_that_say_nothing),
    CASE(hanging_up_does_nothing_to_a_modern_call), CASE(an_event_of_somebody_else_is_refused),
    CASE(a_session_does_not_see_events_of_another), SMALL(what_is_not_kept_any_more_is_refused),
    CASE(what_has_a_hole_in_it_is_refused), SMALL(what_was_forgotten_for_its_size_is_refused),
    SMALL(who_was_away_longest_makes_room_for_others),
    SMALL(what_is_too_large_to_be_kept_is_refused), SMALL(a_reader_that_does_not_read_is_cut_off),
    CASE(changes_are_told_on_the_stream_of_the_session),
    CASE(what_was_said_before_is_told_when_somebody_listens), CASE(there_is_one_such_stream),
    CASE(a_question_goes_on_the_stream_of_its_call), CASE(a_question_that_nobody_answers_ends),
    CASE(a_later_question_may_end_before_an_earlier_one))
