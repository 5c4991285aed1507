/* SPDX-License-Identifier: Apache-2.0 */
/* Questions as notifications, with a program in place of notify-send. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asking/notifier.h"
#include "base/clock.h"
/* What is waited for is done by other processes. */
#define LOOP_UNTIL_OTHERS
#include "loop_until.h"

enum { TEXT_BYTES = 4096, PATH_BYTES = 128 };

static struct clock fake_clock;
static struct loop *loop;
static struct question_queue *queue;
static struct notifier *notifier;
static char home[PATH_BYTES / 2];
static char program[PATH_BYTES];
static char shown[PATH_BYTES];
static char gate[PATH_BYTES];
static int answers;
static enum permission_choice choice;

static const char SCRIPT[] = "#!/bin/sh\n"
                             "for word; do printf '%s|' \"$word\"; done >>\"$HOME/shown\"\n"
                             "echo >>\"$HOME/shown\"\n"
                             "read -r word <\"$HOME/gate\"; echo \"$word\"\n";

static int begin(void **state)
{
    int fd;

    (void)state;
    snprintf(home, sizeof(home), "/tmp/notifier-XXXXXX");
    assert_non_null(mkdtemp(home));
    snprintf(program, sizeof(program), "%s/show", home);
    snprintf(shown, sizeof(shown), "%s/shown", home);
    snprintf(gate, sizeof(gate), "%s/gate", home);
    fd = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, SCRIPT, sizeof(SCRIPT) - 1), (ssize_t)sizeof(SCRIPT) - 1);
    close(fd);
    assert_int_equal(mkfifo(gate, 0600), 0);
    setenv("HOME", home, 1);
    setenv("XDG_RUNTIME_DIR", home, 1);
    answers = 0;
    clock_fake_init(&fake_clock, 0);
    assert_int_equal(loop_new(&fake_clock, &loop), 0);
    assert_int_equal(question_queue_new(&queue), 0);
    assert_int_equal(notifier_new(loop, queue, program, &notifier), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    notifier_free(notifier);
    question_queue_free(queue);
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

static bool has_shown(const char *words)
{
    const char *at = strstr(shown_text(), words);

    return at != NULL && strchr(at, '\n') != NULL;
}

static void press(const char *button)
{
    int fd = open(gate, O_WRONLY | O_CLOEXEC);

    assert_int_equal(write(fd, button, strlen(button)), (ssize_t)strlen(button));
    close(fd);
}

static void on_answer(void *data, uint64_t id, enum permission_choice given, const char *by)
{
    (void)data;
    (void)id;
    if (by == NULL)
        return;
    assert_string_equal(by, NOTIFIER_NAME);
    choice = given;
    answers++;
}

static uint64_t ask(struct str action, struct str detail)
{
    const struct question question = {.tool = STR("write_file"),
                                      .action = action,
                                      .detail = detail,
                                      .choices = 1U << CHOICE_ALLOW_ONCE};
    uint64_t id;

    assert_int_equal(question_queue_ask(queue, &question, on_answer, NULL, &id), 0);
    return id;
}

static void a_button_answers_the_question_it_was_shown_for(void **state)
{
    (void)state;
    (void)ask(STR("Creates a"), STR("+x"));
    (void)ask(STR("Creates b"), STR("+y"));
    loop_until(loop, has_shown("Creates a; +x"));
    assert_non_null(strstr(shown_text(), "--action=allow="));
    clock_fake_advance(&fake_clock, DESKTOP_GUARD_MS);
    press("allow\n");
    loop_until(loop, answers == 1);
    assert_int_equal(choice, CHOICE_ALLOW_ONCE);
    loop_until(loop, has_shown("Creates b; +y"));
    press("deny\n");
    loop_until(loop, answers == 2);
    assert_int_equal(choice, CHOICE_DENY_ONCE);
}

static void what_is_not_shown_whole_cannot_be_allowed(void **state)
{
    static const struct str details[] = {
        STR_LITERAL("+password=hunter2"), /* which a notification hides */
        STR_LITERAL("+0123456789012345678901234567890123456789012345678901234567890123456789012345"
                    "01234567890123456789012345678901234567890123456789012345678901234567890123456"
                    "01234567890123456789012345678901234567890123456789012345678901234567890123456"
                    "0123456789"),
    };

    (void)state;
    for (size_t i = 0; i < array_size(details); i++) {
        uint64_t id = ask(STR("Creates a"), details[i]);

        loop_until(loop, has_shown("Creates a"));
        assert_null(strstr(shown_text(), "--action=allow="));
        assert_null(strstr(shown_text(), "hunter2"));
        clock_fake_advance(&fake_clock, DESKTOP_GUARD_MS);
        question_queue_cancel(queue, id, QUESTION_QUEUE_CANCELLED);
        assert_int_equal(unlink(shown), 0);
    }
    assert_int_equal(answers, 0);
}

static void a_question_that_left_is_not_answered(void **state)
{
    uint64_t id;

    (void)state;
    id = ask(STR("Creates a"), STR("+x"));
    loop_until(loop, has_shown("Creates a"));
    question_queue_cancel(queue, id, QUESTION_QUEUE_CANCELLED);
    (void)ask(STR("Creates b"), STR("+y"));
    loop_until(loop, has_shown("Creates b"));
    assert_int_equal(answers, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

TEST_MAIN(TEST(a_button_answers_the_question_it_was_shown_for),
          TEST(what_is_not_shown_whole_cannot_be_allowed),
          TEST(a_question_that_left_is_not_answered))
