/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls the page can show, and how many of them. */
#include "programs/server/board.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "http_fixture.h"
#include "test.h"

enum { ANNA = 1, BEN = 2, TEXT_BYTES = 64 << 20 };

static struct loop *loop;
static struct board *board;
static int stops;

static int set_up(void **state)
{
    (void)state;
    stops = 0;
    assert_int_equal(loop_new(&clock_system, &loop), 0);
    return board_new(&(struct board_config){.loop = loop}, &board);
}

static int tear_down(void **state)
{
    (void)state;
    board_free(board);
    loop_free(loop);
    return 0;
}

static uint64_t begin(int64_t user)
{
    uint64_t place = board_begin_call(board, user, STR("agent"), STR("read_file"), NULL);

    assert_true(place > 0);
    return place;
}

static bool stop(void *data)
{
    (void)data;
    stops++;
    return true;
}

/* The numbers of the first and last call that a page would show, and how many there are. */
static size_t shown(int64_t user, uint64_t most, int64_t *out_first, int64_t *out_last)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
    cleanup_arena struct arena arena = ARENA_INIT(4 * (size_t)TEXT_BYTES);
    const struct json_value *whole;
    struct json_writer json;
    struct str id;
    size_t count = 0;

    json_writer_init(&json, &text);
    json_begin_object(&json);
    board_write_calls(board, user, most, &json);
    json_end_object(&json);
    assert_int_equal(json_writer_finish(&json), 0);
    assert_int_equal(
        json_parse(&arena, buf_view(&text),
                   (struct json_limits){4 * (size_t)TEXT_BYTES, JSON_DEFAULT_MAX_DEPTH}, &whole,
                   NULL),
        0);
    *out_first = *out_last = 0;
    json_each_item (call, json_get(whole, STR("calls"))) {
        assert_true(json_get_str(call, STR("id"), &id) && str_to_int64(id, out_last));
        if (count++ == 0)
            *out_first = *out_last;
    }
    return count;
}

static void a_user_has_so_many_and_the_newest_of_them(void **state)
{
    int64_t first;
    int64_t last;

    (void)state;
    for (int i = 0; i < BOARD_MAX_CALLS + 7; i++)
        (void)begin(ANNA);
    assert_int_equal(shown(ANNA, BOARD_MAX_CALLS, &first, &last), BOARD_MAX_CALLS);
    assert_int_equal(first, 8);
    assert_int_equal(last, BOARD_MAX_CALLS + 7);
    assert_int_equal(shown(ANNA, 3, &first, &last), 3);
    assert_int_equal(first, BOARD_MAX_CALLS + 5);
}

static void a_user_sees_nothing_of_another_s_calls(void **state)
{
    int64_t first;
    int64_t last;
    uint64_t place;

    (void)state;
    for (int i = 0; i < 5; i++)
        (void)begin(BEN);
    place = begin(ANNA);
    assert_int_equal(shown(ANNA, BOARD_MAX_CALLS, &first, &last), 1);
    assert_int_equal(first, 1); /* nor how many they are */
    board_allow_stop(board, place, stop, NULL);
    assert_int_equal(board_stop_call(board, BEN, 1), ERR_NOT_FOUND);
    assert_int_equal(board_stop_call(board, ANNA, 2), ERR_NOT_FOUND);
    assert_int_equal(stops, 0);
    assert_int_equal(board_stop_call(board, ANNA, 1), 0);
    assert_int_equal(stops, 1);
    board_end_call(board, place, NULL, "cancelled");
    assert_int_equal(board_stop_call(board, ANNA, 1), ERR_NOT_FOUND);
}

static void all_users_together_have_so_many(void **state)
{
    const uint64_t forgotten = begin(ANNA);
    uint64_t again = 0;
    int64_t first;
    int64_t last;
    size_t count = 0;

    (void)state;
    for (int i = 0; i < BOARD_ALL_CALLS; i++)
        again = begin(BEN + i % 50);
    assert_int_equal(shown(ANNA, BOARD_MAX_CALLS, &first, &last), 0);
    for (int64_t user = ANNA; user < BEN + 50; user++)
        count += shown(user, BOARD_MAX_CALLS, &first, &last);
    assert_int_equal(count, BOARD_ALL_CALLS);
    /* What still comes for one that is forgotten is not taken for its successor's. */
    assert_int_equal(again % BOARD_ALL_CALLS, forgotten % BOARD_ALL_CALLS);
    assert_true(again != forgotten);
    board_allow_stop(board, again, stop, NULL);
    board_end_call(board, forgotten, NULL, "gone");
    board_progress(board, forgotten, 1, 2, NULL);
    assert_int_equal(shown(BEN + (BOARD_ALL_CALLS - 1) % 50, 1, &first, &last), 1);
    assert_int_equal(board_stop_call(board, BEN + (BOARD_ALL_CALLS - 1) % 50, (uint64_t)last), 0);
    assert_int_equal(stops, 1);
}

static void a_user_who_calls_often_makes_no_others_be_forgotten(void **state)
{
    const uint64_t place = begin(ANNA);
    int64_t first;
    int64_t last;

    (void)state;
    board_allow_stop(board, place, stop, NULL);
    for (int i = 0; i < 2 * BOARD_ALL_CALLS + 7; i++)
        (void)begin(BEN);
    assert_int_equal(shown(BEN, BOARD_MAX_CALLS, &first, &last), BOARD_MAX_CALLS);
    assert_int_equal(last, 2 * BOARD_ALL_CALLS + 7);
    assert_int_equal(shown(ANNA, BOARD_MAX_CALLS, &first, &last), 1);
    assert_int_equal(board_stop_call(board, ANNA, 1), 0);
    assert_int_equal(stops, 1);
}

/* ---- questions, to a page that is open and with a clock of our own ---- */

static struct http_fixture *fixture;
static int page_fd;
static int answers;
static int decisions;
static struct str last_answer;
static struct buf got;

static void open_page(void *data, struct exchange *exchange)
{
    (void)data;
    board_open_stream(board, ANNA, 1, exchange);
}

static void count_decision(void *data, int64_t user, struct str name, struct str choice)
{
    (void)data;
    (void)user;
    (void)name;
    (void)choice;
    decisions++;
}

static void take_answer(void *data, struct str choice)
{
    (void)data;
    answers++;
    last_answer = choice;
}

static int set_up_page(void **state)
{
    const struct httpserver_config config = {.on_request = open_page};

    (void)state;
    answers = decisions = 0;
    buf_init(&got, 1 << 20);
    fixture = malloc(sizeof(*fixture));
    assert_non_null(fixture);
    http_fixture_init(fixture, &config);
    assert_int_equal(
        board_new(&(struct board_config){.loop = fixture->loop, .decide = count_decision}, &board),
        0);
    page_fd = http_fixture_connect(fixture);
    assert_true(http_fixture_send(fixture, page_fd, STR("GET / HTTP/1.1\r\nHost: x\r\n\r\n")));
    http_fixture_turn(fixture);
    return 0;
}

static int tear_down_page(void **state)
{
    (void)state;
    board_close(board);
    board_free(board);
    close(page_fd);
    buf_done(&got);
    http_fixture_done(fixture);
    free(fixture);
    return 0;
}

static const struct machine_question question = {.description = STR_LITERAL("run ls"),
                                                 .resource = STR_LITERAL("ls"),
                                                 .group = STR_LITERAL("shell"),
                                                 .choices = 3};

/* Whether the page has been sent this. */
static bool hears(struct str text)
{
    http_fixture_turn(fixture);
    assert_false(http_fixture_receive(fixture, page_fd, &got));
    return str_find(buf_view(&got), text) != SIZE_MAX;
}

static void without_an_answer_none_is_made_up(void **state)
{
    struct err err = ERR_INIT;
    uint64_t id;

    (void)state;
    assert_int_equal(board_ask(board, ANNA, STR("agent"), &question, take_answer, NULL, &id), 0);
    assert_true(hears(STR("\"leftMs\":120000")));
    http_fixture_pass(fixture, BOARD_QUESTION_MS - 1);
    assert_int_equal(answers, 0);
    http_fixture_pass(fixture, 1);
    assert_int_equal(answers, 1);
    assert_int_equal(last_answer.len, 0);
    assert_true(hears(STR("nobody in time")));
    assert_int_equal(board_answer(board, ANNA, id, machine_choices[0].name), ERR_NOT_FOUND);
    board_unanswered(&err);
    assert_int_equal(err.code, ERR_DENIED_BY_POLICY);
    assert_non_null(strstr(err.message, "nobody answered"));
    assert_non_null(strstr(err.message, "within 2 minutes"));
}

static void an_answer_in_time_is_the_user_s(void **state)
{
    uint64_t id;

    (void)state;
    assert_int_equal(board_ask(board, ANNA, STR("agent"), &question, take_answer, NULL, &id), 0);
    http_fixture_pass(fixture, BOARD_QUESTION_MS - 1);
    assert_int_equal(board_answer(board, ANNA, id, machine_choices[0].name), 0);
    http_fixture_pass(fixture, BOARD_QUESTION_MS);
    assert_int_equal(answers, 1);
    assert_str(last_answer, "denyOnce");
}

static void the_machine_knows_how_long_it_waits(void **state)
{
    (void)state;
    board_take_question(board, ANNA, STR("its name"), STR_EMPTY, &question);
    assert_true(hears(STR("run ls")));
    assert_false(hears(STR("leftMs")));
    http_fixture_pass(fixture, 10 * BOARD_QUESTION_MS);
    assert_false(hears(STR("nobody in time")));
    assert_int_equal(decisions, 0);
    board_close_question(board, ANNA, STR("its name"), STR("its time limit"));
    assert_true(hears(STR("its time limit")));
    assert_int_equal(decisions, 0);
}

static void a_machine_s_question_names_the_agent_that_the_server_knows(void **state)
{
    static const struct {
        const char *client;
        const char *shown;
    } cases[] = {
        {"claude@gate.example", "\"agent\":\"claude\""},
        {"gate.example", "\"agent\":\"The machine\""},
        {"@gate.example", "\"agent\":\"The machine\""},
        {"", "\"agent\":\"The machine\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        board_take_question(board, ANNA, STR("its name"), str_from(cases[i].client), &question);
        assert_true(hears(str_from(cases[i].shown)));
        board_close_question(board, ANNA, STR("its name"), STR("its time limit"));
        assert_true(hears(STR("its time limit")));
    }
}

#define PAGE_CASE(function) cmocka_unit_test_setup_teardown(function, set_up_page, tear_down_page)

TEST_MAIN(cmocka_unit_test_setup_teardown(a_user_has_so_many_and_the_newest_of_them, set_up,
                                          tear_down),
          cmocka_unit_test_setup_teardown(a_user_sees_nothing_of_another_s_calls, set_up,
                                          tear_down),
          cmocka_unit_test_setup_teardown(all_users_together_have_so_many, set_up, tear_down),
          cmocka_unit_test_setup_teardown(a_user_who_calls_often_makes_no_others_be_forgotten,
                                          set_up, tear_down),
          PAGE_CASE(without_an_answer_none_is_made_up), PAGE_CASE(an_answer_in_time_is_the_user_s),
          PAGE_CASE(the_machine_knows_how_long_it_waits),
          PAGE_CASE(a_machine_s_question_names_the_agent_that_the_server_knows))
