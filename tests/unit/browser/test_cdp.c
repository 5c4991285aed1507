/* SPDX-License-Identifier: Apache-2.0 */
/* The client of the DevTools protocol, against a peer that the test plays. */
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "browser/cdp.h"

enum { FAR_MS = 20000 };

struct peer {
    struct monitor monitor;
    struct cdp *cdp;
    char sent[4096];
    size_t sends;
    int send_error;
    char method[64];
    char session[64];
    size_t events;
    size_t answers;
    char refusal[64]; /* of the last one; or empty */
};

static int on_send(void *data, struct str message)
{
    struct peer *peer = data;

    snprintf(peer->sent, sizeof(peer->sent), "%.*s", STR_ARG(message));
    peer->sends++;
    return peer->send_error;
}

static void on_event(void *data, struct str session, struct str method,
                     const struct json_value *params)
{
    struct peer *peer = data;

    assert_int_equal(params->type, JSON_OBJECT);
    snprintf(peer->method, sizeof(peer->method), "%.*s", STR_ARG(method));
    snprintf(peer->session, sizeof(peer->session), "%.*s", STR_ARG(session));
    peer->events++;
}

static void on_answer(void *data, struct str session, const char *method, const char *refusal)
{
    struct peer *peer = data;

    snprintf(peer->method, sizeof(peer->method), "%s", method);
    snprintf(peer->session, sizeof(peer->session), "%.*s", STR_ARG(session));
    snprintf(peer->refusal, sizeof(peer->refusal), "%s", refusal != NULL ? refusal : "");
    peer->answers++;
}

static int set_up(void **state)
{
    struct peer *peer = calloc(1, sizeof(*peer));
    const struct cdp_config config = {.monitor = &peer->monitor,
                                      .send = on_send,
                                      .on_event = on_event,
                                      .on_answer = on_answer,
                                      .data = peer};

    assert_non_null(peer);
    assert_int_equal(monitor_init(&peer->monitor), 0);
    assert_int_equal(cdp_new(&config, &peer->cdp), 0);
    monitor_enter(&peer->monitor);
    *state = peer;
    return 0;
}

static int tear_down(void **state)
{
    struct peer *peer = *state;

    cdp_free(peer->cdp);
    monitor_leave(&peer->monitor);
    monitor_done(&peer->monitor);
    free(peer);
    return 0;
}

static int receive(struct peer *peer, const char *text)
{
    return cdp_receive(peer->cdp, (struct str){text, strlen(text) + 1});
}

static struct cdp_command *begin(struct peer *peer, const char *method)
{
    struct cdp_command *command = NULL;

    assert_int_equal(cdp_begin(peer->cdp, STR("S1"), method, STR("{\"a\":1}"), &command, NULL), 0);
    return command;
}

static void answers_find_their_commands_in_any_order(void **state)
{
    struct peer *peer = *state;
    cleanup_cdp_answer struct cdp_answer first = CDP_ANSWER_INIT;
    cleanup_cdp_answer struct cdp_answer second = CDP_ANSWER_INIT;
    struct cdp_command *a = begin(peer, "A.a");
    struct cdp_command *b;
    int64_t number;

    assert_string_equal(peer->sent,
                        "{\"id\":1,\"method\":\"A.a\",\"sessionId\":\"S1\",\"params\":{\"a\":1}}");
    b = begin(peer, "B.b");
    assert_int_equal(receive(peer, "{\"id\":2,\"result\":{\"n\":22}}"), 0);
    assert_int_equal(receive(peer, "{\"id\":1,\"result\":{\"n\":11}}"), 0);
    assert_int_equal(cdp_finish(peer->cdp, a, monitor_now_ms() + FAR_MS, NULL, NULL, &first, NULL),
                     0);
    assert_int_equal(cdp_finish(peer->cdp, b, monitor_now_ms() + FAR_MS, NULL, NULL, &second, NULL),
                     0);
    assert_true(json_get_int(first.result, STR("n"), &number) && number == 11);
    assert_true(json_get_int(second.result, STR("n"), &number) && number == 22);
}

static void messages_may_come_in_pieces_of_any_size(void **state)
{
    static const char stream[] = "{\"method\":\"X.x\",\"params\":{},\"sessionId\":\"S9\"}\0"
                                 "{\"id\":1,\"result\":{}}\0{\"method\":\"Y.y\",\"params\":{}}";
    struct peer *peer = *state;
    struct cdp_command *command = begin(peer, "A.a");

    for (size_t i = 0; i < sizeof(stream); i++)
        assert_int_equal(cdp_receive(peer->cdp, (struct str){stream + i, 1}), 0);
    assert_int_equal(peer->events, 2);
    assert_string_equal(peer->method, "Y.y");
    assert_string_equal(peer->session, "");
    assert_int_equal(
        cdp_finish(peer->cdp, command, monitor_now_ms() + FAR_MS, NULL, NULL, NULL, NULL), 0);
}

static void a_message_is_taken_before_its_nul(void **state)
{
    struct peer *peer = *state;
    struct cdp_command *command = begin(peer, "A.a");

    assert_int_equal(cdp_receive(peer->cdp, STR("{\"id\":1,\"result\":{}}")), 0);
    assert_true(cdp_is_done(command));
    assert_int_equal(cdp_receive(peer->cdp, (struct str){"", 1}), 0);
    assert_int_equal(cdp_receive(peer->cdp, STR("{\"method\":\"X.x\",\"params\":{}}")), 0);
    assert_int_equal(peer->events, 1);
    assert_int_equal(receive(peer, " "), 0);
    assert_int_equal(peer->events, 1);
    assert_int_equal(
        cdp_finish(peer->cdp, command, monitor_now_ms() + FAR_MS, NULL, NULL, NULL, NULL), 0);
}

static void nothing_but_a_nul_follows_a_message(void **state)
{
    struct peer *peer = *state;

    assert_int_equal(cdp_receive(peer->cdp, STR("{\"method\":\"X.x\",\"params\":{}}")), 0);
    assert_int_equal(receive(peer, "{\"method\":\"Y.y\",\"params\":{}}"), ERR_INVALID_JSON);
    assert_int_equal(peer->events, 1);
}

static void a_part_that_ends_like_a_message_is_none(void **state)
{
    struct peer *peer = *state;

    assert_int_equal(cdp_receive(peer->cdp, STR("{\"method\":\"X.x\",\"params\":{}")), 0);
    assert_int_equal(peer->events, 0);
    assert_int_equal(receive(peer, "}"), 0);
    assert_int_equal(peer->events, 1);
}

static void a_huge_message_comes_whole(void **state)
{
    enum { HUGE = 8 << 20 };
    struct peer *peer = *state;
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    struct cdp_command *command = begin(peer, "A.a");
    cleanup_free char *text = malloc(HUGE);
    struct str data;

    assert_non_null(text);
    memset(text, 'x', HUGE);
    assert_int_equal(cdp_receive(peer->cdp, STR("{\"id\":1,\"result\":{\"data\":\"")), 0);
    assert_int_equal(cdp_receive(peer->cdp, (struct str){text, HUGE}), 0);
    assert_int_equal(receive(peer, "\"}}"), 0);
    assert_int_equal(
        cdp_finish(peer->cdp, command, monitor_now_ms() + FAR_MS, NULL, NULL, &answer, NULL), 0);
    assert_true(json_get_str(answer.result, STR("data"), &data));
    assert_int_equal(data.len, HUGE);
}

static void a_refusal_has_the_words_of_the_browser(void **state)
{
    struct peer *peer = *state;
    struct cdp_command *command = begin(peer, "A.a");
    struct err err = ERR_INIT;

    assert_int_equal(
        receive(peer, "{\"id\":1,\"error\":{\"code\":-1,\"message\":\"No such node\"}}"), 0);
    assert_int_equal(
        cdp_finish(peer->cdp, command, monitor_now_ms() + FAR_MS, NULL, NULL, NULL, &err),
        ERR_TOOL_FAILED);
    assert_string_equal(err.message, "A.a: No such node");
}

static void garbage_ends_the_connection(void **state)
{
    static const char *const garbage[] = {
        "", "{", "[]", "null", "{\"a\":1}", "{\"id\":\"x\"}", "\xff\xfe", "{} {}"};
    struct peer *peer = *state;

    for (size_t i = 0; i < array_size(garbage); i++)
        assert_true(receive(peer, garbage[i]) < 0);
    assert_int_equal(peer->events, 0);
    /* Answers that nobody waits for are late ones, and events without content are none. */
    assert_int_equal(receive(peer, "{\"id\":77,\"result\":{}}"), 0);
    assert_int_equal(receive(peer, "{\"method\":\"X.x\"}"), 0);
    assert_int_equal(peer->events, 0);
}

static void every_command_has_a_deadline(void **state)
{
    struct peer *peer = *state;
    struct cdp_command *command = begin(peer, "Slow.slow");
    struct err err = ERR_INIT;

    assert_int_equal(cdp_finish(peer->cdp, command, monitor_now_ms() + 1, NULL, NULL, NULL, &err),
                     ERR_TIMED_OUT);
    assert_string_equal(err.message, "the browser did not answer Slow.slow in time");
    assert_int_equal(receive(peer, "{\"id\":1,\"result\":{}}"), 0); /* too late for anybody */
}

static bool is_over(void *data)
{
    (void)data;
    return true;
}

static void waiting_ends_when_the_caller_says_so(void **state)
{
    struct peer *peer = *state;
    struct cdp_command *command = begin(peer, "A.a");

    assert_int_equal(
        cdp_finish(peer->cdp, command, monitor_now_ms() + FAR_MS, is_over, NULL, NULL, NULL),
        ERR_CANCELLED);
}

static void *end_it(void *data)
{
    struct peer *peer = data;

    monitor_enter(&peer->monitor);
    cdp_end(peer->cdp);
    monitor_leave(&peer->monitor);
    return NULL;
}

static void a_connection_that_ends_is_told_to_all_who_wait(void **state)
{
    struct peer *peer = *state;
    struct cdp_command *waited = begin(peer, "A.a");
    struct cdp_command *forgotten = begin(peer, "B.b");
    struct cdp_command *never = NULL;
    struct err err = ERR_INIT;
    pthread_t thread;

    cdp_forget(peer->cdp, forgotten);
    assert_int_equal(pthread_create(&thread, NULL, end_it, peer), 0);
    assert_int_equal(
        cdp_finish(peer->cdp, waited, monitor_now_ms() + FAR_MS, NULL, NULL, NULL, &err),
        ERR_CONNECTION_LOST);
    assert_string_equal(err.message, "the browser has ended");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(cdp_has_ended(peer->cdp));
    assert_int_equal(cdp_begin(peer->cdp, STR_EMPTY, "C.c", STR_EMPTY, &never, &err),
                     ERR_CONNECTION_LOST);
    assert_int_equal(receive(peer, "{\"id\":1,\"result\":{}}"), ERR_CONNECTION_LOST);
}

static void what_cannot_be_sent_is_not_waited_for(void **state)
{
    struct peer *peer = *state;
    struct cdp_command *command = NULL;

    peer->send_error = ERR_CONNECTION_LOST;
    assert_int_equal(cdp_begin(peer->cdp, STR_EMPTY, "A.a", STR_EMPTY, &command, NULL),
                     ERR_CONNECTION_LOST);
    assert_null(command);
}

static void too_many_commands_are_refused(void **state)
{
    struct peer *peer = *state;
    struct cdp_command *command = NULL;

    for (int i = 0; i < CDP_MAX_WAITING; i++)
        cdp_forget(peer->cdp, begin(peer, "A.a"));
    assert_int_equal(cdp_begin(peer->cdp, STR_EMPTY, "A.a", STR_EMPTY, &command, NULL), ERR_BUSY);
    assert_int_equal(receive(peer, "{\"id\":1,\"result\":{}}"), 0);
    cdp_forget(peer->cdp, begin(peer, "A.a"));
}

static void a_watched_command_tells_how_it_went(void **state)
{
    struct peer *peer = *state;
    struct cdp_command *command = NULL;

    assert_int_equal(cdp_begin(peer->cdp, STR("S1"), "A.a", STR_EMPTY, &command, NULL), 0);
    cdp_watch(peer->cdp, command);
    assert_int_equal(cdp_begin(peer->cdp, STR("S2"), "B.b", STR_EMPTY, &command, NULL), 0);
    cdp_watch(peer->cdp, command);
    assert_int_equal(receive(peer, "{\"id\":2,\"error\":{\"message\":\"not allowed\"}}"), 0);
    assert_string_equal(peer->session, "S2");
    assert_string_equal(peer->method, "B.b");
    assert_string_equal(peer->refusal, "not allowed");
    assert_int_equal(receive(peer, "{\"id\":1,\"result\":{}}"), 0);
    assert_string_equal(peer->session, "S1");
    assert_string_equal(peer->refusal, "");
    assert_int_equal(peer->answers, 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_find_their_commands_in_any_order),
        TEST(messages_may_come_in_pieces_of_any_size),
        TEST(a_message_is_taken_before_its_nul),
        TEST(nothing_but_a_nul_follows_a_message),
        TEST(a_part_that_ends_like_a_message_is_none),
        TEST(a_huge_message_comes_whole),
        TEST(a_refusal_has_the_words_of_the_browser),
        TEST(garbage_ends_the_connection),
        TEST(every_command_has_a_deadline),
        TEST(waiting_ends_when_the_caller_says_so),
        TEST(a_connection_that_ends_is_told_to_all_who_wait),
        TEST(what_cannot_be_sent_is_not_waited_for),
        TEST(too_many_commands_are_refused),
        TEST(a_watched_command_tells_how_it_went),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
