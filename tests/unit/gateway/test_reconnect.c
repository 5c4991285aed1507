/* SPDX-License-Identifier: Apache-2.0 */
/* Every state with every event: the next state, what to do, and after how long. */
#include "test.h"

#include "gateway/reconnect.h"

static int64_t delay;

static void expect(struct reconnect *reconnect, enum reconnect_event event,
                   enum reconnect_action action, enum reconnect_state state)
{
    delay = -1;
    assert_int_equal(reconnect_move(reconnect, event, &delay), action);
    assert_int_equal(reconnect->state, state);
}

static void expect_wait(struct reconnect *reconnect, enum reconnect_event event,
                        enum reconnect_state state, int64_t wanted_ms)
{
    expect(reconnect, event, RECONNECT_DO_WAIT, state);
    assert_int_equal(delay, wanted_ms);
}

static struct reconnect open_one(void)
{
    struct reconnect reconnect = {0};

    expect(&reconnect, RECONNECT_PAIR, RECONNECT_DO_INIT, RECONNECT_PAIRING);
    expect(&reconnect, RECONNECT_INIT_DONE, RECONNECT_DO_OPEN, RECONNECT_OPENING);
    expect(&reconnect, RECONNECT_STREAM_OPENED, RECONNECT_DO_NOTHING, RECONNECT_OPEN);
    return reconnect;
}

static void a_stream_that_drops_is_reopened_after_a_second_without_init(void **state)
{
    struct reconnect reconnect = open_one();

    (void)state;
    for (int i = 0; i < 10; i++) {
        expect_wait(&reconnect, RECONNECT_STREAM_ENDED, RECONNECT_WAITING, 1000);
        expect(&reconnect, RECONNECT_DELAY_OVER, RECONNECT_DO_OPEN, RECONNECT_OPENING);
        expect(&reconnect, RECONNECT_STREAM_OPENED, RECONNECT_DO_NOTHING, RECONNECT_OPEN);
    }
}

static void failures_double_the_delay_up_to_thirty_seconds(void **state)
{
    static const int64_t seconds[] = {1, 2, 4, 8, 16, 30, 30, 30, 30};
    struct reconnect reconnect = open_one();

    (void)state;
    for (int round = 0; round < 2; round++) {
        expect_wait(&reconnect, RECONNECT_STREAM_ENDED, RECONNECT_WAITING, 1000);
        for (size_t i = 0; i < array_size(seconds); i++) {
            expect(&reconnect, RECONNECT_DELAY_OVER, RECONNECT_DO_OPEN, RECONNECT_OPENING);
            expect_wait(&reconnect, RECONNECT_STREAM_FAILED, RECONNECT_WAITING, seconds[i] * 1000);
        }
        /* Back to a second once it is open. */
        expect(&reconnect, RECONNECT_DELAY_OVER, RECONNECT_DO_OPEN, RECONNECT_OPENING);
        expect(&reconnect, RECONNECT_STREAM_OPENED, RECONNECT_DO_NOTHING, RECONNECT_OPEN);
    }
}

static void a_denied_stream_leads_to_init_with_the_session_key(void **state)
{
    struct reconnect reconnect = open_one();

    (void)state;
    expect_wait(&reconnect, RECONNECT_STREAM_ENDED, RECONNECT_WAITING, 1000);
    expect(&reconnect, RECONNECT_DELAY_OVER, RECONNECT_DO_OPEN, RECONNECT_OPENING);
    expect_wait(&reconnect, RECONNECT_STREAM_DENIED, RECONNECT_RENEW_WAITING, 1000);
    expect(&reconnect, RECONNECT_DELAY_OVER, RECONNECT_DO_INIT, RECONNECT_RENEWING);
    expect(&reconnect, RECONNECT_INIT_DONE, RECONNECT_DO_OPEN, RECONNECT_OPENING);
    /* Init went well and the stream is denied again: that is no reason to hurry. */
    expect_wait(&reconnect, RECONNECT_STREAM_DENIED, RECONNECT_RENEW_WAITING, 2000);
    expect(&reconnect, RECONNECT_DELAY_OVER, RECONNECT_DO_INIT, RECONNECT_RENEWING);
    expect_wait(&reconnect, RECONNECT_INIT_FAILED, RECONNECT_RENEW_WAITING, 4000);
}

static void a_denied_init_is_tried_on_and_a_new_token_taken(void **state)
{
    static const int64_t seconds[] = {2, 4, 8, 16, 30, 30};
    struct reconnect reconnect = open_one();

    (void)state;
    expect_wait(&reconnect, RECONNECT_STREAM_ENDED, RECONNECT_WAITING, 1000);
    expect(&reconnect, RECONNECT_DELAY_OVER, RECONNECT_DO_OPEN, RECONNECT_OPENING);
    expect_wait(&reconnect, RECONNECT_STREAM_DENIED, RECONNECT_RENEW_WAITING, 1000);
    for (size_t i = 0; i < array_size(seconds); i++) {
        expect(&reconnect, RECONNECT_DELAY_OVER, RECONNECT_DO_INIT, RECONNECT_RENEWING);
        expect_wait(&reconnect, RECONNECT_INIT_DENIED, RECONNECT_REFUSED, seconds[i] * 1000);
    }
    expect(&reconnect, RECONNECT_PAIR, RECONNECT_DO_INIT, RECONNECT_PAIRING);
    expect(&reconnect, RECONNECT_INIT_DONE, RECONNECT_DO_OPEN, RECONNECT_OPENING);
    expect_wait(&reconnect, RECONNECT_STREAM_FAILED, RECONNECT_WAITING, 1000);
}

static void the_server_ends_a_session_in_any_state(void **state)
{
    struct reconnect reconnect = open_one();

    (void)state;
    expect(&reconnect, RECONNECT_DISMISSED, RECONNECT_DO_END, RECONNECT_OFF);
    /* And a new one can begin. */
    expect(&reconnect, RECONNECT_PAIR, RECONNECT_DO_INIT, RECONNECT_PAIRING);
}

static void the_user_ends_it_with_a_word_to_the_server(void **state)
{
    static const enum reconnect_state states[] = {RECONNECT_OPENING,  RECONNECT_OPEN,
                                                  RECONNECT_WAITING,  RECONNECT_RENEW_WAITING,
                                                  RECONNECT_RENEWING, RECONNECT_REFUSED};

    (void)state;
    for (size_t i = 0; i < array_size(states); i++) {
        struct reconnect reconnect = {.state = states[i]};

        expect(&reconnect, RECONNECT_LEAVE, RECONNECT_DO_TELL, RECONNECT_LEAVING);
        expect(&reconnect, RECONNECT_STREAM_ENDED, RECONNECT_DO_NOTHING, RECONNECT_LEAVING);
        expect(&reconnect, RECONNECT_LEAVE, RECONNECT_DO_NOTHING, RECONNECT_LEAVING);
        expect(&reconnect, RECONNECT_LEFT, RECONNECT_DO_END, RECONNECT_OFF);
    }
}

static void a_pairing_that_fails_is_its_beginner_s_business(void **state)
{
    static const enum reconnect_event events[] = {RECONNECT_INIT_DENIED, RECONNECT_INIT_FAILED,
                                                  RECONNECT_LEAVE};

    (void)state;
    for (size_t i = 0; i < array_size(events); i++) {
        struct reconnect reconnect = {0};

        expect(&reconnect, RECONNECT_PAIR, RECONNECT_DO_INIT, RECONNECT_PAIRING);
        expect(&reconnect, events[i], RECONNECT_DO_END, RECONNECT_OFF);
    }
}

static void a_session_from_before_is_opened_without_init(void **state)
{
    struct reconnect reconnect = {0};

    (void)state;
    expect(&reconnect, RECONNECT_RESUME, RECONNECT_DO_OPEN, RECONNECT_OPENING);
    expect_wait(&reconnect, RECONNECT_STREAM_FAILED, RECONNECT_WAITING, 1000);
}

static void events_out_of_place_change_nothing(void **state)
{
    static const struct {
        enum reconnect_state state;
        enum reconnect_event event;
    } rows[] = {
        {RECONNECT_OFF, RECONNECT_STREAM_ENDED},     {RECONNECT_OFF, RECONNECT_LEAVE},
        {RECONNECT_OFF, RECONNECT_DISMISSED},        {RECONNECT_OFF, RECONNECT_DELAY_OVER},
        {RECONNECT_PAIRING, RECONNECT_PAIR},         {RECONNECT_PAIRING, RECONNECT_DISMISSED},
        {RECONNECT_PAIRING, RECONNECT_DELAY_OVER},   {RECONNECT_OPEN, RECONNECT_PAIR},
        {RECONNECT_OPEN, RECONNECT_RESUME},          {RECONNECT_OPEN, RECONNECT_STREAM_FAILED},
        {RECONNECT_OPEN, RECONNECT_INIT_DENIED},     {RECONNECT_OPENING, RECONNECT_DELAY_OVER},
        {RECONNECT_WAITING, RECONNECT_PAIR},         {RECONNECT_WAITING, RECONNECT_STREAM_ENDED},
        {RECONNECT_RENEW_WAITING, RECONNECT_PAIR},   {RECONNECT_RENEWING, RECONNECT_PAIR},
        {RECONNECT_RENEWING, RECONNECT_DELAY_OVER},  {RECONNECT_REFUSED, RECONNECT_RESUME},
        {RECONNECT_LEAVING, RECONNECT_STREAM_OPENED}};

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        struct reconnect reconnect = {.state = rows[i].state, .failures = 3};

        expect(&reconnect, rows[i].event, RECONNECT_DO_NOTHING, rows[i].state);
        assert_int_equal(reconnect.failures, 3);
        assert_int_equal(delay, -1);
    }
}

TEST_MAIN(cmocka_unit_test(a_stream_that_drops_is_reopened_after_a_second_without_init),
          cmocka_unit_test(failures_double_the_delay_up_to_thirty_seconds),
          cmocka_unit_test(a_denied_stream_leads_to_init_with_the_session_key),
          cmocka_unit_test(a_denied_init_is_tried_on_and_a_new_token_taken),
          cmocka_unit_test(the_server_ends_a_session_in_any_state),
          cmocka_unit_test(the_user_ends_it_with_a_word_to_the_server),
          cmocka_unit_test(a_pairing_that_fails_is_its_beginner_s_business),
          cmocka_unit_test(a_session_from_before_is_opened_without_init),
          cmocka_unit_test(events_out_of_place_change_nothing))
