/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/buf.h"
#include "base/err.h"

static void appends_grow_up_to_the_ceiling_and_no_further(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(100);

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(buf_append_char(&buf, 'x'), 0);
    assert_int_equal(buf_append_char(&buf, 'y'), ERR_TOO_LARGE);
    assert_int_equal(buf.len, 100);
    assert_int_equal(buf.capacity, 100);
    assert_int_equal(buf.data[99], 'x');
}

static void a_refused_append_changes_nothing(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(8);

    (void)state;
    assert_int_equal(buf_append_str(&buf, STR("abcd")), 0);
    assert_int_equal(buf_append_str(&buf, STR("efghi")), ERR_TOO_LARGE);
    assert_str(buf_view(&buf), "abcd");
    assert_int_equal(buf_reserve(&buf, SIZE_MAX), ERR_TOO_LARGE);
    assert_int_equal(buf_printf(&buf, "%s", "12345"), ERR_TOO_LARGE);
    assert_str(buf_view(&buf), "abcd");
}

static void an_empty_buffer_is_a_valid_view(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(8);

    (void)state;
    assert_str(buf_view(&buf), "");
    assert_int_equal(buf_append(&buf, NULL, 0), 0);
    assert_null(buf.data);
}

static void printf_formats_behind_what_is_there(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(1000);
    const char *text;

    (void)state;
    assert_int_equal(buf_printf(&buf, "%d-", 7), 0);
    assert_int_equal(buf_printf(&buf, "%0*d", 300, 1), 0);
    assert_int_equal(buf.len, 302);
    assert_int_equal(buf_terminate(&buf, &text), 0);
    assert_int_equal(strlen(text), 302);
    assert_int_equal(buf.len, 302);
}

static void dropping_from_the_front_keeps_the_rest(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(100);

    (void)state;
    assert_int_equal(buf_append_str(&buf, STR("headbody")), 0);
    buf_drop_front(&buf, 4);
    assert_str(buf_view(&buf), "body");
    buf_drop_front(&buf, 0);
    buf_drop_front(&buf, 4);
    assert_str(buf_view(&buf), "");
    buf_clear(&buf);
    assert_int_equal(buf_append_str(&buf, STR("again")), 0);
    assert_str(buf_view(&buf), "again");
}

static void numbers_are_written_in_decimal(void **state)
{
    static const struct {
        int64_t number;
        const char *text;
    } cases[] = {{0, "0"},
                 {7, "7"},
                 {-1, "-1"},
                 {100, "100"},
                 {INT64_MAX, "9223372036854775807"},
                 {INT64_MIN, "-9223372036854775808"}};
    struct buf buf = BUF_INIT(24);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        buf.len = 0;
        assert_int_equal(buf_append_char(&buf, '='), 0);
        assert_int_equal(buf_append_int(&buf, cases[i].number), 0);
        assert_int_equal(buf.len, 1 + strlen(cases[i].text));
        assert_memory_equal(buf.data + 1, cases[i].text, buf.len - 1);
    }
    assert_int_equal(buf_append_int(&buf, 12345), ERR_TOO_LARGE);
    assert_int_equal(buf.len, 21);
    buf_done(&buf);
}

TEST_MAIN(cmocka_unit_test(appends_grow_up_to_the_ceiling_and_no_further),
          cmocka_unit_test(a_refused_append_changes_nothing),
          cmocka_unit_test(an_empty_buffer_is_a_valid_view),
          cmocka_unit_test(printf_formats_behind_what_is_there),
          cmocka_unit_test(dropping_from_the_front_keeps_the_rest),
          cmocka_unit_test(numbers_are_written_in_decimal))
