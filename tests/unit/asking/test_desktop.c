/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asking/desktop.h"
#include "base/clock.h"
/* What is waited for is done by workers on a disk, or by other processes. */
#define LOOP_UNTIL_OTHERS
#include "loop_until.h"

enum { TEXT_BYTES = 4096, PATH_BYTES = 128 };

static struct clock fake_clock;
static struct loop *loop;
static struct desktop *desktop;
static char home[PATH_BYTES / 2];
static char program[PATH_BYTES];
static char shown[PATH_BYTES];
static char gate[PATH_BYTES];

/* In place of notify-send: says what it was given, a line each, and waits at the gate if it is
 * there. */
static const char SCRIPT[] =
    "#!/bin/sh\n"
    "for word; do printf '%s|' \"$word\"; done >>\"$HOME/shown\"\n"
    "echo \"$SECRET\" >>\"$HOME/shown\"\n"
    "[ ! -p \"$HOME/gate\" ] || { read -r word <\"$HOME/gate\"; echo \"$word\"; }\n"
    "case $* in *--action*old*) exit 1;; esac\n";

static void write_program(void)
{
    int fd = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, SCRIPT, sizeof(SCRIPT) - 1), (ssize_t)sizeof(SCRIPT) - 1);
    close(fd);
}

static int begin(void **state)
{
    (void)state;
    snprintf(home, sizeof(home), "/tmp/desktop-XXXXXX");
    assert_non_null(mkdtemp(home));
    snprintf(program, sizeof(program), "%s/show", home);
    snprintf(shown, sizeof(shown), "%s/shown", home);
    snprintf(gate, sizeof(gate), "%s/gate", home);
    write_program();
    setenv("HOME", home, 1);
    setenv("XDG_RUNTIME_DIR", home, 1);
    unsetenv("DBUS_SESSION_BUS_ADDRESS");
    setenv("SECRET", "in the environment", 1);
    clock_fake_init(&fake_clock, 0);
    assert_int_equal(loop_new(&fake_clock, &loop), 0);
    assert_int_equal(desktop_new(loop, program, &desktop), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    desktop_free(desktop);
    loop_free(loop);
    unlink(program);
    unlink(shown);
    unlink(gate);
    return rmdir(home);
}

static const char *shown_text(void)
{
    static char text[TEXT_BYTES];
    int fd = open(shown, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

    text[got > 0 ? got : 0] = '\0';
    if (fd >= 0)
        close(fd);
    return text;
}

static size_t lines(void)
{
    size_t count = 0;

    for (const char *at = shown_text(); (at = strchr(at, '\n')) != NULL; at++)
        count++;
    return count;
}

#define OPTIONS "--app-name=Gatehouse|--|"

static void words_are_shown_as_plain_text(void **state)
{
    (void)state;
    desktop_show(desktop, STR("--help\n\x1b[31m"),
                 STR("<a href=\"x\">&\ttoken=abc gw_0123456789abcdef0123456789abcdef"));
    loop_until(loop, lines() == 1);
    assert_string_equal(shown_text(),
                        OPTIONS "--help  [31m|&lt;a href=\"x\"&gt;&amp; token=[redacted] "
                                "gw_[redacted]|\n");
}

static void long_words_are_cut(void **state)
{
    char text[2 * DESKTOP_TEXT_BYTES];

    (void)state;
    memset(text, '&', sizeof(text));
    desktop_show(desktop, (struct str){text, sizeof(text)}, (struct str){text, sizeof(text)});
    loop_until(loop, lines() == 1);
    assert_int_equal(strlen(shown_text()), strlen(OPTIONS "||\n") + DESKTOP_TITLE_BYTES +
                                               DESKTOP_TEXT_BYTES * strlen("&amp;"));
}

static void one_is_shown_at_a_time_and_the_newest_next(void **state)
{
    int fd;

    (void)state;
    assert_int_equal(mkfifo(gate, 0600), 0);
    desktop_show(desktop, STR("first"), STR_EMPTY);
    loop_until(loop, lines() == 1);
    desktop_show(desktop, STR("second"), STR_EMPTY);
    desktop_show(desktop, STR("third"), STR_EMPTY);
    assert_int_equal(lines(), 1);
    fd = open(gate, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "go\n", 3), 3);
    close(fd);
    loop_until(loop, lines() == 2);
    assert_string_equal(shown_text(), OPTIONS "first||\n" OPTIONS "third||\n");
}

static void one_that_hangs_is_ended(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(gate, 0600), 0);
    desktop_show(desktop, STR("hangs"), STR_EMPTY);
    loop_until(loop, lines() == 1);
    desktop_show(desktop, STR("next"), STR_EMPTY);
    clock_fake_advance(&fake_clock, DESKTOP_MS - 1);
    loop_run_due_timers(loop);
    assert_int_equal(unlink(gate), 0);
    assert_int_equal(lines(), 1);
    clock_fake_advance(&fake_clock, 1);
    loop_run_due_timers(loop);
    loop_until(loop, lines() == 2);
}

static void without_the_program_nothing_is_tried_again(void **state)
{
    (void)state;
    assert_int_equal(unlink(program), 0);
    desktop_show(desktop, STR("x"), STR_EMPTY);
    write_program();
    desktop_show(desktop, STR("y"), STR_EMPTY);
    /* Nothing to wait for. */
    loop_run(loop);
    assert_int_equal(lines(), 0);
}

static void without_a_session_nothing_is_started(void **state)
{
    (void)state;
    desktop_free(desktop);
    unsetenv("XDG_RUNTIME_DIR");
    assert_int_equal(desktop_new(loop, program, &desktop), 0);
    desktop_show(desktop, STR("x"), STR_EMPTY);
    /* Nothing to wait for. */
    loop_run(loop);
    assert_int_equal(lines(), 0);
}

/* ---- buttons ---- */

#define DENY  "--app-name=Gatehouse|--action=deny=Deny|--|"
#define ALLOW "--app-name=Gatehouse|--action=deny=Deny|--action=allow=Allow once|--|"

static int pressed[2]; /* deny, allow */

static void on_button(void *data, bool allows)
{
    (void)data;
    pressed[allows]++;
}

static void ask(bool may_allow)
{
    pressed[0] = pressed[1] = 0;
    desktop_on_button(desktop, on_button, NULL);
    assert_int_equal(mkfifo(gate, 0600), 0);
    desktop_ask(desktop, STR("asks"), STR("x"), may_allow);
    loop_until(loop, lines() == 1);
}

/* The user presses this button, so that the program ends. */
static void press(const char *button)
{
    int fd = open(gate, O_WRONLY | O_CLOEXEC);

    assert_int_equal(write(fd, button, strlen(button)), (ssize_t)strlen(button));
    close(fd);
    assert_int_equal(unlink(gate), 0);
}

/* Another one is shown once it has ended. */
static void wait_for_its_end(void)
{
    desktop_show(desktop, STR("next"), STR_EMPTY);
    loop_until(loop, lines() == 2);
}

static void a_button_is_an_answer(void **state)
{
    (void)state;
    ask(true);
    assert_string_equal(shown_text(), ALLOW "asks|x|\n");
    clock_fake_advance(&fake_clock, DESKTOP_GUARD_MS);
    press("allow\n");
    loop_until(loop, pressed[1] == 1);
    assert_int_equal(pressed[0], 0);
}

static void a_denial_counts_at_once(void **state)
{
    (void)state;
    ask(false);
    assert_string_equal(shown_text(), DENY "asks|x|\n");
    press("deny\n");
    loop_until(loop, pressed[0] == 1);
}

static void nothing_else_is_an_answer(void **state)
{
    static const struct {
        const char *button;
        bool may_allow;
        int after_ms;
    } rows[] = {
        {"allow\n", true, DESKTOP_GUARD_MS - 1}, /* a click meant for something else */
        {"allow\n", false, DESKTOP_GUARD_MS},      {"allowed\n", true, DESKTOP_GUARD_MS},
        {"allow allow\n", true, DESKTOP_GUARD_MS}, {"\n", true, DESKTOP_GUARD_MS}, /* closed */
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        ask(rows[i].may_allow);
        clock_fake_advance(&fake_clock, rows[i].after_ms);
        press(rows[i].button);
        wait_for_its_end();
        assert_int_equal(pressed[0] + pressed[1], 0);
        assert_int_equal(unlink(shown), 0);
    }
}

static void a_question_that_is_over_is_closed(void **state)
{
    (void)state;
    ask(true);
    desktop_withdraw(desktop);
    wait_for_its_end();
    assert_int_equal(pressed[0] + pressed[1], 0);
}

static void an_older_program_shows_it_without_buttons(void **state)
{
    (void)state;
    desktop_on_button(desktop, on_button, NULL);
    desktop_ask(desktop, STR("old"), STR("x"), true);
    loop_until(loop, lines() == 2);
    assert_string_equal(shown_text(), ALLOW "old|x|\n" OPTIONS "old|x|\n");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

TEST_MAIN(TEST(words_are_shown_as_plain_text), TEST(long_words_are_cut),
          TEST(one_is_shown_at_a_time_and_the_newest_next), TEST(one_that_hangs_is_ended),
          TEST(without_the_program_nothing_is_tried_again),
          TEST(without_a_session_nothing_is_started), TEST(a_button_is_an_answer),
          TEST(a_denial_counts_at_once), TEST(nothing_else_is_an_answer),
          TEST(a_question_that_is_over_is_closed), TEST(an_older_program_shows_it_without_buttons))
