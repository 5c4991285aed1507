/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <signal.h>
#include <string.h>

#include "isolate/launcher/wire.h"

static struct launcher_request a_start(void)
{
    return (struct launcher_request){
        .kind = LAUNCHER_START,
        .number = 7,
        .wants_stdin = true,
        .rows = 24,
        .columns = 80,
        .cwd = "/home/user",
        .word_count = 3,
        .words = {"sh", "-c", "echo \xff"},
        .variable_count = 1,
        .variables = {"A=b=c"},
        .at_most_count = 3,
        .at_most = {BOX_WRITE, BOX_HIDDEN, BOX_READ},
        .denial_count = 3,
        .denials = {{.path = "/home/user/a", .at_most = BOX_HIDDEN},
                    {.path = "/home/user/\xff", .at_most = BOX_READ},
                    {.path = "*.pem", .at_most = BOX_READ, .is_pattern = true}},
    };
}

static void requests_survive_the_wire(void **state)
{
    cleanup_buf struct buf message = BUF_INIT(LAUNCHER_MAX_MESSAGE);
    struct launcher_request start = a_start();
    struct launcher_request got;

    (void)state;
    assert_int_equal(launcher_wire_write_request(&start, &message), 0);
    assert_int_equal(launcher_wire_read_request(buf_view(&message), &got), 0);
    assert_int_equal(got.kind, LAUNCHER_START);
    assert_int_equal(got.number, 7);
    assert_true(got.wants_stdin && !got.wants_pty);
    assert_int_equal(got.rows, 24);
    assert_int_equal(got.columns, 80);
    assert_string_equal(got.cwd, "/home/user");
    assert_int_equal(got.word_count, 3);
    assert_string_equal(got.words[2], "echo \xff");
    assert_null(got.words[3]);
    assert_string_equal(got.variables[0], "A=b=c");
    assert_int_equal(got.at_most_count, 3);
    assert_int_equal(got.at_most[0], BOX_WRITE);
    assert_int_equal(got.at_most[2], BOX_READ);
    assert_int_equal(got.denial_count, 3);
    assert_int_equal(got.denials[0].at_most, BOX_HIDDEN);
    assert_string_equal(got.denials[1].path, "/home/user/\xff");
    assert_int_equal(got.denials[1].at_most, BOX_READ);
    assert_true(got.denials[2].is_pattern && !got.denials[1].is_pattern);

    buf_clear(&message);
    assert_int_equal(
        launcher_wire_write_request(
            &(struct launcher_request){.kind = LAUNCHER_SIGNAL, .number = 9, .signal = SIGINT},
            &message),
        0);
    assert_int_equal(launcher_wire_read_request(buf_view(&message), &got), 0);
    assert_true(got.kind == LAUNCHER_SIGNAL && got.number == 9 && got.signal == SIGINT);
}

/* Whatever one byte is, or where the message is cut: it is refused, or sound. */
static void damaged_requests_are_refused_or_sound(void **state)
{
    cleanup_buf struct buf message = BUF_INIT(LAUNCHER_MAX_MESSAGE);
    struct launcher_request start = a_start();
    struct launcher_request got;

    (void)state;
    assert_int_equal(launcher_wire_write_request(&start, &message), 0);
    for (size_t len = 0; len < message.len; len++)
        assert_int_equal(launcher_wire_read_request(str_slice(buf_view(&message), 0, len), &got),
                         ERR_INVALID_REQUEST);
    for (size_t at = 0; at < message.len; at++) {
        char before = message.data[at];

        for (int value = 0; value < 256; value++) {
            message.data[at] = (char)value;
            if (launcher_wire_read_request(buf_view(&message), &got) < 0)
                continue;
            assert_true(got.word_count >= 1 && got.words[got.word_count] == NULL);
            assert_true(got.cwd[0] == '/');
            for (size_t i = 0; i < got.at_most_count; i++)
                assert_true(got.at_most[i] <= BOX_WRITE);
            for (size_t i = 0; i < got.denial_count; i++)
                assert_true((got.denials[i].path[0] == '/' || got.denials[i].is_pattern) &&
                            got.denials[i].at_most <= BOX_READ);
        }
        message.data[at] = before;
    }
}

static void unsound_requests_are_not_written(void **state)
{
    cleanup_buf struct buf message = BUF_INIT(LAUNCHER_MAX_MESSAGE);
    struct launcher_request request = a_start();
    static char huge[LAUNCHER_MAX_MESSAGE + 1];

    (void)state;
    request.word_count = 0;
    request.words[0] = NULL;
    assert_int_equal(launcher_wire_write_request(&request, &message), ERR_INVALID_ARGUMENT);
    request = a_start();
    request.cwd = "relative";
    assert_int_equal(launcher_wire_write_request(&request, &message), ERR_INVALID_ARGUMENT);
    request = a_start();
    request.denials[0].path = "relative";
    assert_int_equal(launcher_wire_write_request(&request, &message), ERR_INVALID_ARGUMENT);
    request = a_start();
    request.denials[0].at_most = BOX_WRITE;
    assert_int_equal(launcher_wire_write_request(&request, &message), ERR_INVALID_ARGUMENT);
    request = a_start();
    request.variables[0] = "=x";
    assert_int_equal(launcher_wire_write_request(&request, &message), ERR_INVALID_ARGUMENT);
    request = a_start();
    request.wants_pty = true;
    assert_int_equal(launcher_wire_write_request(&request, &message), ERR_INVALID_ARGUMENT);
    request = a_start();
    memset(huge, 'x', sizeof(huge) - 1);
    request.words[2] = huge;
    assert_int_equal(launcher_wire_write_request(&request, &message), ERR_TOO_LARGE);
}

static void notices_survive_the_wire(void **state)
{
    cleanup_buf struct buf message = BUF_INIT(LAUNCHER_MAX_MESSAGE);
    struct launcher_notice ended = {
        .kind = LAUNCHER_ENDED, .number = 3, .is_signal = true, .value = SIGKILL};
    struct launcher_notice refused = {.kind = LAUNCHER_REFUSED, .number = 4};
    struct launcher_notice got;

    (void)state;
    assert_int_equal(launcher_wire_write_notice(&ended, &message), 0);
    assert_int_equal(launcher_wire_read_notice(buf_view(&message), &got), 0);
    assert_true(got.kind == LAUNCHER_ENDED && got.number == 3 && got.is_signal);
    assert_int_equal(got.value, SIGKILL);
    buf_clear(&message);
    err_set_field(&refused.err, ERR_NOT_FOUND, "command", "no such command");
    assert_int_equal(launcher_wire_write_notice(&refused, &message), 0);
    assert_int_equal(launcher_wire_read_notice(buf_view(&message), &got), 0);
    assert_int_equal(got.err.code, ERR_NOT_FOUND);
    assert_string_equal(got.err.message, "no such command");
    assert_string_equal(got.err.field, "command");
    for (size_t len = 0; len < message.len; len++)
        assert_int_equal(launcher_wire_read_notice(str_slice(buf_view(&message), 0, len), &got),
                         ERR_INVALID_REQUEST);
}

TEST_MAIN(cmocka_unit_test(requests_survive_the_wire),
          cmocka_unit_test(damaged_requests_are_refused_or_sound),
          cmocka_unit_test(unsound_requests_are_not_written),
          cmocka_unit_test(notices_survive_the_wire))
