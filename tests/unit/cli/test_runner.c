/* SPDX-License-Identifier: Apache-2.0 */
/* The start and the end that programs share. Each case runs in a child, as a program does. */
#include "test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/runner.h"
#include "cli/stop.h"

enum { HIGH_FD = 77, OPTION_WORD = 0 };

static const struct option word_options[] = {
    {.name = "word", .type = OPTION_TEXT, .env = "TEST_RUNNER_WORD", .help = "a word"}};
static const struct option_command verbs[] = {{.name = "go", .summary = "go on"}};

static int check(const struct option_values *values, struct err *err)
{
    const char *word = options_text(values, OPTION_WORD);

    return word != NULL && strcmp(word, "bad") == 0
               ? err_set(err, ERR_INVALID_OPTION, "no such word")
               : 0;
}

static bool is_pipe(int fd)
{
    struct stat about;

    return fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode);
}

/* What the program's work is, by its word. */
static int work(const struct option_values *values, struct arena *arena, struct err *err)
{
    const char *word = options_text(values, OPTION_WORD);

    assert_non_null(arena);
    if (word == NULL)
        return 0;
    if (strcmp(word, "late") == 0)
        return err_set(err, ERR_INVALID_OPTION, "too late");
    if (strcmp(word, "fail") == 0)
        return err_set(err, ERR_IO, "Authorization: Bearer gh_0123456789abcdef0123456789\x1b[2J");
    if (strcmp(word, "silent") == 0)
        return ERR_TIMED_OUT;
    if (strcmp(word, "status") == 0)
        return 7;
    if (strcmp(word, "signal") == 0) {
        stop_watch(NULL);
        raise(SIGTERM);
        return 0;
    }
    if (strcmp(word, "pipe") == 0) {
        int ends[2];

        assert_int_equal(pipe(ends), 0);
        close(ends[0]);
        return write(ends[1], "x", 1) < 0 && errno == EPIPE ? 0 : 9;
    }
    /* "fds": which of the pipe's are still there; /dev/null takes the place of standard input. */
    return is_pipe(STDIN_FILENO) + 2 * is_pipe(HIGH_FD);
}

static const struct runner plain = {
    .program = "gatehouse-test",
    .title = "gatehouse test",
    .see = "'gatehouse test --help'",
    .command = {.name = "test",
                .summary = "try it",
                .options = word_options,
                .option_count = array_size(word_options)},
    .check = check,
    .run = work,
};

/* Runs it with standard output and error in `text`, and returns the exit status. */
static int run(const struct runner *runner, const char *word, char *text, size_t size)
{
    char flag[] = "--word";
    char copy[32];
    char name[] = "test";
    char *argv[] = {name, flag, copy, NULL};
    int argc = word == NULL ? 1 : word[0] == '-' ? 2 : 3;
    int ends[2];
    size_t got = 0;
    ssize_t n;
    int status;
    pid_t pid;

    snprintf(copy, sizeof(copy), "%s", word != NULL ? word : "");
    argv[1] = argc == 2 ? copy : flag;
    argv[argc] = NULL;
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[0], STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        dup2(ends[1], HIGH_FD);
        _exit(runner_main(runner, argc, argv));
    }
    close(ends[1]);
    while ((n = read(ends[0], text + got, size - 1 - got)) > 0)
        got += (size_t)n;
    text[got] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_work_gives_the_exit_status(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(run(&plain, NULL, text, sizeof(text)), 0);
    assert_int_equal(run(&plain, "status", text, sizeof(text)), 7);
    assert_string_equal(text, "");
}

static void wrong_options_are_2_with_where_help_is(void **state)
{
    struct runner late = plain;
    char text[4096];

    (void)state;
    assert_int_equal(run(&plain, "--nothing", text, sizeof(text)), RUNNER_WRONG_USE);
    assert_non_null(strstr(text, "gatehouse test: --nothing"));
    assert_non_null(strstr(text, "\nSee 'gatehouse test --help'.\n"));
    assert_int_equal(run(&plain, "bad", text, sizeof(text)), RUNNER_WRONG_USE);
    assert_non_null(strstr(text, "no such word"));
    assert_int_equal(run(&plain, "late", text, sizeof(text)), EXIT_FAILURE);
    assert_string_equal(text, "gatehouse test: too late\n");
    late.checks_options_late = true;
    assert_int_equal(run(&late, "late", text, sizeof(text)), RUNNER_WRONG_USE);
}

static void errors_are_told_without_secrets_and_control_characters(void **state)
{
    struct runner other = plain;
    char text[4096];

    (void)state;
    assert_int_equal(run(&plain, "fail", text, sizeof(text)), EXIT_FAILURE);
    assert_null(strstr(text, "gh_0123456789"));
    assert_null(strchr(text, '\x1b'));
    assert_non_null(strstr(text, "gatehouse test: "));
    assert_int_equal(run(&plain, "silent", text, sizeof(text)), EXIT_FAILURE);
    assert_non_null(strstr(text, err_text(ERR_TIMED_OUT)));
    other.failed_status = 5;
    assert_int_equal(run(&other, "fail", text, sizeof(text)), 5);
}

static void help_and_version_do_no_work(void **state)
{
    char text[8192];

    (void)state;
    assert_int_equal(run(&plain, "--help", text, sizeof(text)), 0);
    assert_non_null(strstr(text, "Usage: gatehouse-test"));
    assert_non_null(strstr(text, "--word"));
    /* Not even a check that would fail. */
    setenv("TEST_RUNNER_WORD", "bad", 1);
    assert_int_equal(run(&plain, "--help", text, sizeof(text)), 0);
    unsetenv("TEST_RUNNER_WORD");
    assert_int_equal(run(&plain, "--version", text, sizeof(text)), 0);
    assert_string_equal(text, "gatehouse-test " GATEHOUSE_VERSION "\n");
}

static void a_program_with_commands_asks_for_one(void **state)
{
    struct runner other = plain;
    char text[8192];

    (void)state;
    other.command.commands = verbs;
    other.command.command_count = array_size(verbs);
    assert_int_equal(run(&other, NULL, text, sizeof(text)), RUNNER_WRONG_USE);
    assert_non_null(strstr(text, "go on"));
}

static void a_caught_signal_is_the_exit_status(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(run(&plain, "signal", text, sizeof(text)), STOP_EXIT + SIGTERM);
}

static void a_closed_pipe_is_an_error_of_write(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(run(&plain, "pipe", text, sizeof(text)), 0);
}

static void only_the_descriptors_that_are_needed_stay_open(void **state)
{
    struct runner other = plain;
    char text[4096];

    (void)state;
    assert_int_equal(run(&plain, "fds", text, sizeof(text)), 0);
    other.keeps_input = true;
    assert_int_equal(run(&other, "fds", text, sizeof(text)), 1);
    other.closes_descriptors = true;
    assert_int_equal(run(&other, "fds", text, sizeof(text)), 3);
}

static void variables_hold_where_flags_do_not(void **state)
{
    char text[4096];

    (void)state;
    setenv("TEST_RUNNER_WORD", "status", 1);
    assert_int_equal(run(&plain, NULL, text, sizeof(text)), 7);
    setenv("TEST_RUNNER_WORD", "bad", 1);
    assert_int_equal(run(&plain, NULL, text, sizeof(text)), RUNNER_WRONG_USE);
    unsetenv("TEST_RUNNER_WORD");
}

TEST_MAIN(cmocka_unit_test(the_work_gives_the_exit_status),
          cmocka_unit_test(wrong_options_are_2_with_where_help_is),
          cmocka_unit_test(errors_are_told_without_secrets_and_control_characters),
          cmocka_unit_test(help_and_version_do_no_work),
          cmocka_unit_test(a_program_with_commands_asks_for_one),
          cmocka_unit_test(a_caught_signal_is_the_exit_status),
          cmocka_unit_test(a_closed_pipe_is_an_error_of_write),
          cmocka_unit_test(only_the_descriptors_that_are_needed_stay_open),
          cmocka_unit_test(variables_hold_where_flags_do_not))
