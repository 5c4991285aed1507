/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls the page can show, and how many of them. */
#include "programs/server/board.h"

#include "base/clock.h"
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

TEST_MAIN(cmocka_unit_test_setup_teardown(a_user_has_so_many_and_the_newest_of_them, set_up,
                                          tear_down),
          cmocka_unit_test_setup_teardown(a_user_sees_nothing_of_another_s_calls, set_up,
                                          tear_down),
          cmocka_unit_test_setup_teardown(all_users_together_have_so_many, set_up, tear_down),
          cmocka_unit_test_setup_teardown(a_user_who_calls_often_makes_no_others_be_forgotten,
                                          set_up, tear_down))
