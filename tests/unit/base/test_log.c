/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

static struct clock clock_;
static struct log logger;
static struct buf line = BUF_INIT(LOG_LINE_MAX_BYTES);

static int start(void **state)
{
    (void)state;
    unsetenv("JOURNAL_STREAM");
    clock_fake_init(&clock_, 1772366400123);
    log_init(&logger, -1, LOG_INFO, &clock_);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    buf_done(&line);
    return 0;
}

#define format(message, ...)                                                                       \
    ({                                                                                             \
        const struct log_field fields_[] = {{0}, ##__VA_ARGS__};                                   \
                                                                                                   \
        buf_clear(&line);                                                                          \
        log_format_line(&logger, LOG_INFO, (message), fields_ + 1, array_size(fields_) - 1,        \
                        &line);                                                                    \
        buf_view(&line);                                                                           \
    })

static void fields_become_key_and_value(void **state)
{
    (void)state;
    assert_str(format("listening", LOG_INT("port", 7655), LOG_STR("dir", STR("a b")),
                      LOG_BOOL("tls", false), LOG_TEXT("name", "x")),
               "2026-03-01T12:00:00.123Z info  listening port=7655 dir=\"a b\" tls=false name=x");
}

static void values_cannot_forge_a_line_or_a_field(void **state)
{
    (void)state;
    assert_str(format("m", LOG_STR("v", STR("x\n2026-01-01T00:00:00Z error fake"))),
               "2026-03-01T12:00:00.123Z info  m v=\"x\\n2026-01-01T00:00:00Z error fake\"");
    assert_str(format("m", LOG_STR("v", STR("a\" b=\"c"))),
               "2026-03-01T12:00:00.123Z info  m v=\"a\\\" b=\\\"c\"");
    assert_str(format("m", LOG_STR("v", STR("\x1b[31m\r\x7f\0"))),
               "2026-03-01T12:00:00.123Z info  m v=\"\\u001b[31m\\u000d\\u007f\\u0000\"");
    assert_str(format("m\nforged"), "2026-03-01T12:00:00.123Z info  m\\nforged");
    assert_str(format("m", LOG_STR("v", STR("\xff\xc2\x85"))),
               "2026-03-01T12:00:00.123Z info  m v=\"\\xff\\u0085\"");
    assert_str(format("m", LOG_STR("v", STR("a\xE2\x80\xAE"
                                            "b"))),
               "2026-03-01T12:00:00.123Z info  m v=\"a\\u202eb\"");
    assert_str(format("m", LOG_STR("v", STR(""))), "2026-03-01T12:00:00.123Z info  m v=\"\"");
}

static void secrets_are_hidden_by_the_name_of_their_field(void **state)
{
    static const char *const keys[] = {"token",         "sessionKey",    "X-Api-Key", "password",
                                       "Authorization", "client_secret", "Set-Cookie"};

    (void)state;
    for (size_t i = 0; i < array_size(keys); i++) {
        struct str text = format("m", LOG_STR(keys[i], STR("hunter2")));

        assert_true(str_find(text, STR("hunter2")) == SIZE_MAX);
        assert_true(str_ends_with(text, STR("=[redacted]")));
    }
    assert_true(str_ends_with(format("m", LOG_HIDDEN("pairing")), STR("pairing=[redacted]")));
}

static void secrets_are_hidden_wherever_they_stand(void **state)
{
    static const struct {
        struct str text;
        const char *redacted;
    } cases[] = {
        {STR_LITERAL("gw_abcdefgh12345678"), "gw_[redacted]"},
        {STR_LITERAL("key sess_0123456789abcdef."), "key sess_[redacted]"},
        {STR_LITERAL("http://h/events?apiKey=abc&x=1"), "http://h/events?apiKey=[redacted]&x=1"},
        {STR_LITERAL("http://h/gw_abcdefgh12345678/x"), "http://h/gw_[redacted]"},
        {STR_LITERAL("Authorization: bearer abcd.efgh"), "Authorization: bearer [redacted]"},
        {STR_LITERAL("a gw_short b"), "a gw_short b"},
        {STR_LITERAL("log_gw_abcdefgh12345678"), "log_gw_abcdefgh12345678"},
        {STR_LITERAL("two gw_aaaaaaaaaa gw_bbbbbbbbbb"), "two gw_[redacted] gw_[redacted]"},
        {STR_LITERAL(""), ""},
    };
    cleanup_buf struct buf out = BUF_INIT(1000);

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        buf_clear(&out);
        assert_int_equal(log_redact(cases[i].text, &out), 0);
        if (!str_eq_c(buf_view(&out), cases[i].redacted))
            fail_msg("%.*s", STR_ARG(buf_view(&out)));
    }
    assert_true(str_find(format("paired with gw_abcdefgh12345678"), STR("abcdefgh")) == SIZE_MAX);
}

static void long_values_are_cut_and_say_so(void **state)
{
    char text[5000];

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_true(str_ends_with(format("m", LOG_STR("v", ((struct str){text, sizeof(text)}))),
                              STR("x+3976-bytes")));
}

static void a_line_is_one_write_that_ends_with_a_newline(void **state)
{
    char *text = malloc(100000);
    char got[2 * LOG_LINE_MAX_BYTES];
    int ends[2];
    ssize_t len;

    (void)state;
    assert_non_null(text);
    memset(text, 'y', 100000);
    text[99999] = '\0';
    assert_int_equal(pipe(ends), 0);
    logger.fd = ends[1];
    log_write(&logger, LOG_DEBUG, "not wanted");
    log_write(&logger, LOG_SILENT, "never");
    log_write(&logger, LOG_WARN, "hello", LOG_INT("n", 1));
    len = read(ends[0], got, sizeof(got));
    assert_str(((struct str){got, (size_t)len}), "2026-03-01T12:00:00.123Z warn  hello n=1\n");
    log_write(&logger, LOG_ERROR, text);
    len = read(ends[0], got, sizeof(got));
    assert_in_range(len, 10, LOG_LINE_MAX_BYTES);
    assert_int_equal(got[len - 1], '\n');
    close(ends[0]);
    close(ends[1]);
    free(text);
}

static void the_journal_gets_its_levels_and_no_time(void **state)
{
    char stream[64];
    struct stat about;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fstat(ends[1], &about), 0);
    snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)about.st_dev,
             (unsigned long long)about.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    log_init(&logger, ends[1], LOG_DEBUG, &clock_);
    assert_str(format("up", LOG_INT("n", 1)), "<6>up n=1");
    setenv("JOURNAL_STREAM", "1:2", 1);
    log_init(&logger, ends[1], LOG_DEBUG, &clock_);
    assert_int_equal(logger.format, LOG_PLAIN);
    close(ends[0]);
    close(ends[1]);
}

static void an_error_is_told_with_its_name_and_field(void **state)
{
    struct err err = ERR_INIT;
    char got[1000];
    int ends[2];
    ssize_t len;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    logger.fd = ends[1];
    err_set_field(&err, ERR_INVALID_OPTION, "--port", "99999 is too much");
    log_error(&logger, "cannot start", &err);
    len = read(ends[0], got, sizeof(got));
    assert_str(((struct str){got, (size_t)len}),
               "2026-03-01T12:00:00.123Z error cannot start error=invalid_option "
               "reason=\"99999 is too much\" field=--port\n");
    close(ends[0]);
    close(ends[1]);
}

static void levels_have_names(void **state)
{
    enum log_level level = LOG_INFO;

    (void)state;
    for (int i = LOG_SILENT; i <= LOG_DEBUG; i++) {
        assert_true(log_level_from(str_from(log_level_name((enum log_level)i)), &level));
        assert_int_equal(level, i);
    }
    assert_false(log_level_from(STR("loud"), &level));
}

#define log_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

TEST_MAIN(log_test(fields_become_key_and_value), log_test(values_cannot_forge_a_line_or_a_field),
          log_test(secrets_are_hidden_by_the_name_of_their_field),
          log_test(secrets_are_hidden_wherever_they_stand),
          log_test(long_values_are_cut_and_say_so),
          log_test(a_line_is_one_write_that_ends_with_a_newline),
          log_test(the_journal_gets_its_levels_and_no_time),
          log_test(an_error_is_told_with_its_name_and_field), log_test(levels_have_names))
