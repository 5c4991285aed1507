/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/redact.h"

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
                      LOG_TEXT("name", "x")),
               "2026-03-01T12:00:00.123Z info  listening port=7655 dir=\"a b\" name=x");
}

static void values_cannot_forge_a_line_or_a_field(void **state)
{
    (void)state;
    assert_str(format("m", LOG_STR("v", STR("x\n2026-01-01T00:00:00Z error fake"))),
               "2026-03-01T12:00:00.123Z info  m v=\"x\\n2026-01-01T00:00:00Z error fake\"");
    assert_str(format("m", LOG_STR("v", STR("a\" b=\"c"))),
               "2026-03-01T12:00:00.123Z info  m v=\"a\\\" b=\\\"c\"");
    assert_str(format("m", LOG_STR("v", STR("\x1b[31m\r\x7f\0"))),
               "2026-03-01T12:00:00.123Z info  m v=\"\\x1b[31m\\r\\x7f\\x00\"");
    assert_str(format("m\nforged"), "2026-03-01T12:00:00.123Z info  m\\nforged");
    assert_str(format("m", LOG_STR("v", STR("\xff\xc2\x85"))),
               "2026-03-01T12:00:00.123Z info  m v=\"\\xff\\u{85}\"");
    assert_str(format("m", LOG_STR("v", STR("a\xE2\x80\xAE"
                                            "b"))),
               "2026-03-01T12:00:00.123Z info  m v=\"a\\u{202e}b\"");
    assert_str(format("m", LOG_STR("v", STR("\xC2\xAD\xD8\x9C\xE2\x81\xA0\xF3\xA0\x81\x81"))),
               "2026-03-01T12:00:00.123Z info  m v=\"\\u{ad}\\u{61c}\\u{2060}\\u{e0041}\"");
    assert_str(format("m", LOG_STR("v", STR(""))), "2026-03-01T12:00:00.123Z info  m v=\"\"");
}

static void secrets_are_hidden_by_the_name_of_their_field(void **state)
{
    static const char *const keys[] = {"token",         "sessionKey",    "X-Api-Key",  "password",
                                       "Authorization", "client_secret", "Set-Cookie", "passwd",
                                       "private.key",   "bearer",        "AUTH",       "access_key",
                                       "new-password2", "credentials"};
    static const char *const plain[] = {"author", "tokens", "key", "authority"};

    (void)state;
    for (size_t i = 0; i < array_size(keys); i++) {
        struct str text = format("m", LOG_STR(keys[i], STR("hunter2")));

        assert_true(str_find(text, STR("hunter2")) == SIZE_MAX);
        assert_true(str_ends_with(text, STR("=[redacted]")));
    }
    for (size_t i = 0; i < array_size(plain); i++)
        assert_true(str_ends_with(format("m", LOG_STR(plain[i], STR("shown"))), STR("=shown")));
}

struct redact_case {
    struct str text;
    const char *redacted;
};

static void check_redacted(const struct redact_case *cases, size_t count)
{
    cleanup_buf struct buf out = BUF_INIT(1000);

    for (size_t i = 0; i < count; i++) {
        buf_clear(&out);
        assert_int_equal(redact_all(cases[i].text, &out), 0);
        if (!str_eq_c(buf_view(&out), cases[i].redacted))
            fail_msg("%.*s: %.*s", STR_ARG(cases[i].text), STR_ARG(buf_view(&out)));
    }
}

static void secrets_are_hidden_wherever_they_stand(void **state)
{
    static const struct redact_case cases[] = {
        {STR_LITERAL("gw_abcdefgh12345678"), "gw_[redacted]"},
        {STR_LITERAL("key sess_0123456789abcdef."), "key sess_[redacted]"},
        {STR_LITERAL("http://h/events?apiKey=abc&x=1"), "http://h/events?apiKey=[redacted]&x=1"},
        {STR_LITERAL("http://h/gw_abcdefgh12345678/x"), "http://h/gw_[redacted]"},
        {STR_LITERAL("Authorization: bearer abcd.efgh"), "Authorization: bearer [redacted]"},
        {STR_LITERAL("a gw_short b"), "a gw_short b"},
        {STR_LITERAL("log_gw_events.txt is new"), "log_gw_events.txt is new"},
        {STR_LITERAL("the folder /srv/log_gw_data"), "the folder /srv/log_gw_data"},
        {STR_LITERAL("/srv/log_gw_data/reports/of/2026"), "/srv/log_gw_data/reports/of/2026"},
        {STR_LITERAL("log_gw_abcdefgh12345678 x"), "log_gw_[redacted] x"},
        {STR_LITERAL("x-gw_SECRETSECRETSECRET"), "x-gw_[redacted]"},
        {STR_LITERAL("?q=a%20gw_SECRETSECRETSECRET&b"), "?q=a%20gw_[redacted]&b"},
        {STR_LITERAL("q%3Dgw_SECRETSECRETSECRET&b"), "q%3Dgw_[redacted]&b"},
        {STR_LITERAL("line\\ngw_SECRETSECRETSECRET\\n"), "line\\ngw_[redacted]\\n"},
        {STR_LITERAL("cut off: gw_SE"), "cut off: gw_[redacted]"},
        {STR_LITERAL("GW_PAIRING_TOKEN=SEC!RET x"), "GW_[redacted]=[redacted] x"},
        {STR_LITERAL("two gw_aaaaaaaaaa gw_bbbbbbbbbb"), "two gw_[redacted] gw_[redacted]"},
        {STR_LITERAL(""), ""},
    };

    (void)state;
    check_redacted(cases, array_size(cases));
    assert_true(str_find(format("paired with gw_abcdefgh12345678"), STR("abcdefgh")) == SIZE_MAX);
}

static void secrets_are_hidden_behind_their_name(void **state)
{
    static const struct redact_case cases[] = {
        {STR_LITERAL("token=Bearer abcdef.SECRET"), "token=Bearer [redacted]"},
        {STR_LITERAL("/?token=abc%2BdefSECRET&a=1"), "/?token=[redacted]&a=1"},
        {STR_LITERAL("password=p@ssw0rd!x"), "password=[redacted]"},
        {STR_LITERAL("token=\"SEC RET\" x"), "token=\"[redacted]\" x"},
        {STR_LITERAL("token='SECRET' x"), "token='[redacted]' x"},
        {STR_LITERAL("refresh_token=a, b"), "refresh_token=[redacted], b"},
        {STR_LITERAL("pairing_token=a; b"), "pairing_token=[redacted]; b"},
        {STR_LITERAL("CLIENT-SECRET = a b"), "CLIENT-SECRET = [redacted] b"},
        {STR_LITERAL("token: SECRET"), "token: [redacted]"},
        {STR_LITERAL("token := SECRET"), "token := [redacted]"},
        {STR_LITERAL("token => SECRET"), "token => [redacted]"},
        {STR_LITERAL("token%3DSECRET"), "token%3D[redacted]"},
        {STR_LITERAL("{\"token\":\"SEC\\\"RET\",\"a\":1}"), "{\"token\":\"[redacted]\",\"a\":1}"},
        {STR_LITERAL("{\"apiKey\" : 12345}"), "{\"apiKey\" : [redacted]}"},
        {STR_LITERAL("{\"token\":[\"SEC\",[\"RET\"]],\"a\":1}"), "{\"token\":[redacted],\"a\":1}"},
        {STR_LITERAL("\"{\\\"token\\\":\\\"SEC\\\\\\\"RET\\\",1}\""),
         "\"{\\\"token\\\":\\\"[redacted]\\\",1}\""},
        {STR_LITERAL("Cookie: a=SECRET; b=SECRET\r\nHost: h"), "Cookie: [redacted]\r\nHost: h"},
        {STR_LITERAL("Authorization: Digest SECRET"), "Authorization: Digest [redacted]"},
        {STR_LITERAL("Bearer  SECRET x"), "Bearer  [redacted] x"},
        {STR_LITERAL("Bearer\tSECRET"), "Bearer\t[redacted]"},
        {STR_LITERAL("Bearer Bearer SECRET"), "Bearer Bearer [redacted]"},
        {STR_LITERAL("Bearer token: SECRET"), "Bearer [redacted] [redacted]"},
        {STR_LITERAL("token=xBearer SECRET"), "token=[redacted] [redacted]"},
        {STR_LITERAL("token=password: SECRET"), "token=[redacted] [redacted]"},
        {STR_LITERAL("token=[redacted]"), "token=[redacted]"},
        {STR_LITERAL("https://user:SECRETPASS@host/"), "https://user:[redacted]@host/"},
        {STR_LITERAL("https://:SEC@RET@host/a@b"), "https://:[redacted]@host/a@b"},
        {STR_LITERAL("db://user:SEC/RET@host"), "db://user:[redacted]@host"},
        {STR_LITERAL("https://user:SECRETP"), "https://user:[redacted]"},
        {STR_LITERAL("https://gw_abcdefgh:SECRET@h"), "https://gw_[redacted]:[redacted]@h"},
    };

    (void)state;
    check_redacted(cases, array_size(cases));
}

static void ordinary_words_are_shown(void **state)
{
    static const char *const texts[] = {
        "tokens=5",
        "author=x",
        "authority: none",
        "secretary=Bob",
        "a gw_short b",
        "token=",
        "token=&a=1",
        "password=\"\"",
        "the token was refused",
        "https://localhost:5678/@scope/a@b",
        "https://[::1]:80/a@b",
        "https://user@host/a:b@c",
        "http://localhost:80, a@b",
        "at 12:30:01",
    };

    (void)state;
    for (size_t i = 0; i < array_size(texts); i++)
        check_redacted(&(struct redact_case){str_from(texts[i]), texts[i]}, 1);
}

/* Each of these costs minutes where a search starts over for every beginning. */
static void redaction_takes_linear_time(void **state)
{
    static const char *const units[] = {"token=",  "token=[", "token=\"\"", "://:x/", "Bearer ",
                                        "token= ", "gw_",     "sess_x ",    "_ \"",   "token=\\",
                                        "://",     "=",       "cookie:\"",  "\\",     "'token={"};
    enum { BYTES = 1 << 21 };
    cleanup_buf struct buf text = BUF_INIT(BYTES);
    cleanup_buf struct buf out = BUF_INIT(4 * BYTES);

    (void)state;
    for (size_t i = 0; i < array_size(units); i++) {
        buf_clear(&text);
        buf_clear(&out);
        while (buf_append_str(&text, str_from(units[i])) == 0)
            continue;
        assert_int_equal(redact_all(buf_view(&text), &out), 0);
    }
}

static void a_secret_does_not_show_where_a_value_is_cut(void **state)
{
    static const struct str secrets[] = {STR_LITERAL("gw_SECRETSECRETSECRET"),
                                         STR_LITERAL("token=SECRETSECRETSECRET"),
                                         STR_LITERAL("{\"token\": \"SECRETSECRETSECRET\"}"),
                                         STR_LITERAL("Bearer SECRETSECRETSECRET"),
                                         STR_LITERAL("https://user:SECRETSECRETSECRET@host/")};
    char text[LOG_VALUE_MAX_BYTES + 100];

    (void)state;
    for (size_t i = 0; i < array_size(secrets); i++) {
        for (size_t at = LOG_VALUE_MAX_BYTES - 60; at < LOG_VALUE_MAX_BYTES + 40; at++) {
            struct str got;

            memset(text, ' ', sizeof(text));
            memcpy(text + at, secrets[i].ptr, secrets[i].len);
            got = format("m", LOG_STR("v", ((struct str){text, sizeof(text)})));
            assert_true(str_find(got, STR("SE")) == SIZE_MAX);
        }
    }
}

static void a_value_of_many_secrets_is_not_lost(void **state)
{
    char text[1000];
    struct str got;

    (void)state;
    for (size_t i = 0; i < sizeof(text); i += 8)
        memcpy(text + i, "token=a ", 8);
    got = format("m", LOG_STR("v", ((struct str){text, sizeof(text)})), LOG_INT("n", 1));
    assert_true(str_find(got, STR(" v=\"token=[redacted] token=[redacted] ")) != SIZE_MAX);
    assert_true(str_ends_with(got, STR("-bytes n=1")));
}

/* Every length of what stands before, so that the ceiling falls on every byte of the end. */
static void a_full_line_ends_with_a_mark_between_two_fields(void **state)
{
    static const struct str whole = STR_LITERAL(" status=40 name=99");
    size_t cut_counts[3] = {0};
    char controls[LOG_VALUE_MAX_BYTES];
    char padding[LOG_VALUE_MAX_BYTES];

    (void)state;
    memset(controls, 27, sizeof(controls));
    memset(padding, 'p', sizeof(padding));
    for (size_t pad = 1; pad <= LOG_VALUE_MAX_BYTES; pad++) {
        struct str got = format("m", LOG_STR("a", ((struct str){controls, sizeof(controls)})),
                                LOG_STR("b", ((struct str){controls, sizeof(controls) / 2})),
                                LOG_STR("c", ((struct str){padding, 1000})),
                                LOG_STR("d", ((struct str){padding, pad})), LOG_INT("status", 40),
                                LOG_STR("name", STR("99")));
        size_t fields = str_ends_with(got, whole)                             ? 2
                        : str_ends_with(got, STR("p status=40" LOG_CUT_MARK)) ? 1
                                                                              : 0;

        assert_true(got.len <= LOG_LINE_MAX_BYTES);
        if (fields == 0)
            assert_true(str_ends_with(got, STR("p" LOG_CUT_MARK)));
        cut_counts[fields]++;
    }
    assert_true(cut_counts[0] > 0 && cut_counts[1] > 0 && cut_counts[2] > 0);
}

static void as_json_each_field_is_a_member(void **state)
{
    (void)state;
    logger.is_json = true;
    assert_str(
        format("listening", LOG_INT("port", 7655), LOG_STR("dir", STR("a \"b\\")),
               LOG_TEXT("token", "hunter2")),
        "{\"time\":\"2026-03-01T12:00:00.123Z\",\"level\":\"info\",\"message\":\"listening\","
        "\"port\":7655,\"dir\":\"a \\\"b\\\\\",\"token\":\"[redacted]\"}");
    assert_true(str_ends_with(format("m", LOG_STR("v", STR("x\ny\x1b\xff\xc2\x85"))),
                              STR("\"v\":\"x\\u000ay\\u001b\\ufffd\\u0085\"}")));
    assert_true(str_ends_with(format("m", LOG_STR("v", STR("\u202e\U0001F600"))),
                              STR("\"v\":\"\\u202e\\ud83d\\ude00\"}")));
    assert_true(str_find(format("paired with gw_abcdefgh12345678"), STR("abcdefgh")) == SIZE_MAX);
    logger.format = LOG_JOURNAL;
    assert_true(str_starts_with(format("m"), STR("<6>{\"time\":")));
}

/* As above: it stays an object wherever the ceiling falls. */
static void a_full_line_of_json_says_that_it_was_cut(void **state)
{
    char controls[LOG_VALUE_MAX_BYTES];
    char padding[LOG_VALUE_MAX_BYTES];
    size_t cut_counts[3] = {0};

    (void)state;
    logger.is_json = true;
    memset(controls, 27, sizeof(controls));
    memset(padding, 'p', sizeof(padding));
    for (size_t pad = 1; pad <= LOG_VALUE_MAX_BYTES; pad++) {
        struct str got = format("m", LOG_STR("a", ((struct str){controls, sizeof(controls)})),
                                LOG_STR("c", ((struct str){padding, 1000})),
                                LOG_STR("d", ((struct str){padding, pad})), LOG_INT("status", 40),
                                LOG_STR("name", STR("99")));
        size_t fields = str_ends_with(got, STR("p\",\"status\":40,\"name\":\"99\"}")) ? 2
                        : str_ends_with(got, STR("p\",\"status\":40,\"cut\":true}"))  ? 1
                                                                                      : 0;

        assert_true(got.len <= LOG_LINE_MAX_BYTES);
        if (fields == 0)
            assert_true(str_ends_with(got, STR("p\",\"cut\":true}")));
        cut_counts[fields]++;
    }
    assert_true(cut_counts[0] > 0 && cut_counts[1] > 0 && cut_counts[2] > 0);
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
    assert_in_range(len, LOG_VALUE_MAX_BYTES, LOG_LINE_MAX_BYTES);
    assert_true(str_ends_with((struct str){got, (size_t)len}, STR("yyy+98975-bytes\n")));
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
          log_test(secrets_are_hidden_behind_their_name), log_test(ordinary_words_are_shown),
          log_test(redaction_takes_linear_time),
          log_test(a_secret_does_not_show_where_a_value_is_cut),
          log_test(a_value_of_many_secrets_is_not_lost),
          log_test(a_full_line_ends_with_a_mark_between_two_fields),
          log_test(as_json_each_field_is_a_member),
          log_test(a_full_line_of_json_says_that_it_was_cut),
          log_test(long_values_are_cut_and_say_so),
          log_test(a_line_is_one_write_that_ends_with_a_newline),
          log_test(the_journal_gets_its_levels_and_no_time),
          log_test(an_error_is_told_with_its_name_and_field), log_test(levels_have_names))
