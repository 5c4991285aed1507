/* SPDX-License-Identifier: Apache-2.0 */
/* The labelled output of a session's command. */
#include "programs/sandboxd/daytona/sessionlog.h"

#include "test.h"

#define cleanup_log cleanup_with(sessionlog_done)

static void streams_are_named_when_they_change(void **state)
{
    cleanup_log struct sessionlog log;
    cleanup_buf struct buf text = BUF_INIT(1 << 10);

    (void)state;
    sessionlog_init(&log);
    sessionlog_add(&log, SESSIONLOG_STDOUT, STR("a"));
    sessionlog_add(&log, SESSIONLOG_STDOUT, STR("b"));
    sessionlog_add(&log, SESSIONLOG_STDERR, STR("c"));
    sessionlog_add(&log, SESSIONLOG_STDERR, STR_EMPTY);
    sessionlog_add(&log, SESSIONLOG_STDOUT, STR("d"));
    assert_true(str_eq(buf_view(&log.bytes), STR("\1\1\1"
                                                 "ab\2\2\2"
                                                 "c\1\1\1"
                                                 "d")));
    assert_int_equal(sessionlog_split(&log, true, false, &text), 0);
    assert_true(str_eq(buf_view(&text), STR("abd")));
    buf_clear(&text);
    assert_int_equal(sessionlog_split(&log, false, true, &text), 0);
    assert_true(str_eq(buf_view(&text), STR("c")));
    buf_clear(&text);
    assert_int_equal(sessionlog_split(&log, true, true, &text), 0);
    assert_true(str_eq(buf_view(&text), STR("abcd")));
}

static void what_is_left_keeps_its_stream(void **state)
{
    cleanup_log struct sessionlog log;
    cleanup_buf struct buf text = BUF_INIT(1 << 10);

    (void)state;
    sessionlog_init(&log);
    sessionlog_add(&log, SESSIONLOG_STDERR, STR("0123456789012345678901234567890123456789"));
    sessionlog_add(&log, SESSIONLOG_STDOUT, STR("out"));
    sessionlog_trim(&log, 16, UINT64_MAX);
    assert_int_equal(log.bytes.len, 16);
    assert_int_equal(sessionlog_end(&log), 49);
    assert_int_equal(sessionlog_split(&log, false, true, &text), 0);
    assert_true(str_eq(buf_view(&text), STR("3456789")));
    sessionlog_add(&log, SESSIONLOG_STDOUT, STR("0123456789012345678901234567890123456789"));
    sessionlog_trim(&log, 16, UINT64_MAX);
    buf_clear(&text);
    assert_int_equal(sessionlog_split(&log, true, false, &text), 0);
    assert_true(str_eq(buf_view(&text), STR("7890123456789")));
}

static void bytes_that_a_reader_needs_stay(void **state)
{
    cleanup_log struct sessionlog log;

    (void)state;
    sessionlog_init(&log);
    sessionlog_add(&log, SESSIONLOG_STDOUT, STR("0123456789012345678901234567890123456789"));
    sessionlog_trim(&log, 4, 10);
    assert_int_equal(log.dropped, 10);
    assert_int_equal(sessionlog_from(&log, 0).len, 33);
    assert_int_equal(sessionlog_from(&log, 13).len, 30);
    assert_int_equal(sessionlog_from(&log, 43).len, 0);
    assert_int_equal(sessionlog_from(&log, 100).len, 0);
}

TEST_MAIN(cmocka_unit_test(streams_are_named_when_they_change),
          cmocka_unit_test(what_is_left_keeps_its_stream),
          cmocka_unit_test(bytes_that_a_reader_needs_stay))
