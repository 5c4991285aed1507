/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/helper.h"

enum { TEXT_BYTES = 4096 };

static char place[64];
static char out_path[128];

static int begin(void **state)
{
    (void)state;
    snprintf(place, sizeof(place), "/tmp/helper-XXXXXX");
    assert_non_null(mkdtemp(place));
    snprintf(out_path, sizeof(out_path), "%s/out", place);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(out_path);
    return rmdir(place);
}

/* What the shell says to these words, which write to $OUT. */
static const char *run(const char *words)
{
    static char text[TEXT_BYTES];
    char variable[160];
    const char *const argv[] = {"sh", "-c", words, NULL};
    const char *const env[] = {variable, "SECOND=2", NULL};
    int status;
    ssize_t got;
    pid_t pid;
    int fd;

    snprintf(variable, sizeof(variable), "OUT=%s", out_path);
    assert_int_equal(
        helper_start(&(struct helper){.path = "/bin/sh", .argv = argv, .env = env}, &pid, NULL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    fd = open(out_path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    got = read(fd, text, sizeof(text) - 1);
    assert_true(got >= 0);
    text[got] = '\0';
    close(fd);
    return text;
}

static void it_has_no_descriptor_of_ours(void **state)
{
    int fds[2];

    (void)state;
    /* Without O_CLOEXEC, as a library may have left one. */
    assert_int_equal(pipe(fds), 0);
    assert_string_equal(run("exec >\"$OUT\"; readlink /proc/$$/fd/0 /proc/$$/fd/2; "
                            "for fd in /proc/$$/fd/*; do "
                            "[ \"${fd##*/}\" -le 2 ] || readlink \"$fd\"; done"),
                        "/dev/null\n/dev/null\n");
    close(fds[0]);
    close(fds[1]);
}

static void it_has_the_environment_that_it_was_given(void **state)
{
    const char *text;

    (void)state;
    setenv("HELPER_SECRET", "gw_1", 1);
    text = run("tr '\\0' '\\n' </proc/$$/environ >\"$OUT\"");
    assert_true(strncmp(text, "OUT=/tmp/", 9) == 0);
    assert_string_equal(strchr(text, '\n'), "\nSECOND=2\n");
}

/* Two signals are the C library's own: what was ignored of them before us nobody can undo. */
static uint64_t mask_behind(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    assert_non_null(at);
    return strtoull(at + strlen(name), NULL, 16) & ~(UINT64_C(3) << 31);
}

static void signals_are_the_usual_ones(void **state)
{
    const char *text;
    sigset_t blocked;
    sigset_t old;

    (void)state;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &old), 0);
    assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    text = run("grep -E '^Sig(Blk|Ign)' /proc/self/status >\"$OUT\"");
    assert_int_equal(mask_behind(text, "SigBlk:"), 0);
    assert_int_equal(mask_behind(text, "SigIgn:"), 0);
    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
}

static void it_leads_a_group_of_its_own(void **state)
{
    static const char *const argv[] = {"sleep", "1000", NULL};
    static const char *const env[] = {NULL};
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(
        helper_start(&(struct helper){.path = "/bin/sleep", .argv = argv, .env = env}, &pid, NULL),
        0);
    assert_int_equal(getpgid(pid), pid);
    assert_int_equal(kill(-pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static void a_program_that_is_missing_is_told(void **state)
{
    static const char *const argv[] = {"x", NULL};
    static const char *const env[] = {NULL};
    struct err err = ERR_INIT;
    pid_t pid = -1;

    (void)state;
    assert_int_equal(
        helper_start(&(struct helper){.path = "/nowhere/x", .argv = argv, .env = env}, &pid, &err),
        ERR_NOT_FOUND);
    assert_string_equal(err.field, "/nowhere/x");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

TEST_MAIN(TEST(it_has_no_descriptor_of_ours), TEST(it_has_the_environment_that_it_was_given),
          TEST(signals_are_the_usual_ones), TEST(it_leads_a_group_of_its_own),
          TEST(a_program_that_is_missing_is_told))
