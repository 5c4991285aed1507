/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/printable.h"
#include "cli/output.h"

static volatile sig_atomic_t stopped_by;

static void shows(struct str text, const char *wanted)
{
    cleanup_output struct output output = OUTPUT_INIT(-1, &stopped_by);
    const char *shown;

    output_shown(&output, text, PRINTABLE_LINE);
    assert_int_equal(output.error, 0);
    assert_int_equal(buf_terminate(&output.text, &shown), 0);
    assert_string_equal(shown, wanted);
}

static void what_moves_hides_or_is_no_text_is_escaped(void **state)
{
    (void)state;
    shows(STR("plain text \u00e4\u4e2d\U0001f600"), "plain text \u00e4\u4e2d\U0001f600");
    shows(STR("\033[2J\r\n\b\x7f\0"), "\\x1b[2J\\r\\n\\x08\\x7f\\x00");
    shows(STR("\xc2\x9b\u202e\u200b\ufeff"), "\\u{9b}\\u{202e}\\u{200b}\\u{feff}");
    shows(STR("\U000e0041"), "\\u{e0041}");
    shows(STR("\xff\xc3(\xed\xa0\x80\xe4\xb8"), "\\xff\\xc3(\\xed\\xa0\\x80\\xe4\\xb8");
}

static void a_reader_that_has_gone_is_no_error_and_ends_it(void **state)
{
    cleanup_output struct output output = OUTPUT_INIT(-1, &stopped_by);
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    output.fd = fds[1];
    close(fds[0]);
    signal(SIGPIPE, SIG_IGN);
    output_str(&output, STR("text"));
    assert_int_equal(output_finish(&output, NULL), 0);
    assert_true(output.has_no_reader);
    output_str(&output, STR("more"));
    assert_int_equal(output.text.len, 0);
    close(fds[1]);
}

static void an_error_stays(void **state)
{
    cleanup_output struct output output = OUTPUT_INIT(-1, &stopped_by);

    (void)state;
    output_str(&output, STR("text"));
    assert_int_equal(output_finish(&output, NULL), err_from_errno(EBADF));
    assert_int_equal(output.errno_value, EBADF);
    output_str(&output, STR("more"));
    assert_int_equal(output.text.len, 0);
    assert_int_equal(output_finish(&output, NULL), err_from_errno(EBADF));
}

static void nothing_goes_out_after_a_signal(void **state)
{
    cleanup_output struct output output = OUTPUT_INIT(-1, &stopped_by);

    (void)state;
    output_str(&output, STR("text"));
    stopped_by = SIGINT;
    assert_int_equal(output_finish(&output, NULL), 0);
    stopped_by = 0;
}

static void one_that_would_block_is_waited_for(void **state)
{
    cleanup_output struct output output = OUTPUT_INIT(-1, &stopped_by);
    char text[1 << 16];
    size_t got = 0;
    int status;
    int fds[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    memset(text, 'x', sizeof(text));
    child = fork();
    if (child == 0) {
        close(fds[0]);
        output.fd = fds[1];
        for (int i = 0; i < 16; i++) {
            output_str(&output, (struct str){text, sizeof(text) - 1});
            output_line_end(&output);
        }
        _exit(output_finish(&output, NULL) == 0 ? 0 : 1);
    }
    close(fds[1]);
    assert_int_equal(fcntl(fds[0], F_SETFL, 0), 0);
    for (ssize_t len; (len = read(fds[0], text, sizeof(text))) > 0;)
        got += (size_t)len;
    assert_int_equal(got, 16 * sizeof(text));
    close(fds[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_moves_hides_or_is_no_text_is_escaped),
        cmocka_unit_test(a_reader_that_has_gone_is_no_error_and_ends_it),
        cmocka_unit_test(an_error_stays),
        cmocka_unit_test(nothing_goes_out_after_a_signal),
        cmocka_unit_test(one_that_would_block_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
