/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "loop/child.h"
#include "loop/loop.h"

/* Every test runs twice: with pidfds, and as on a kernel that has none. */
enum method { WITH_PIDFD, WITH_SIGCHLD };

enum { CHILDREN = 20 };

struct watched {
    struct loop *loop;
    struct child *child;
    struct watched *victim;
    pid_t pid;
    int gate; /* a byte into it lets the process end */
    int count;
    struct child_exit exit;
};

static struct loop *new_loop(enum method method)
{
    cleanup_fd int own = (int)syscall(SYS_pidfd_open, getpid(), 0);
    struct loop *loop;

    if (method == WITH_PIDFD && own < 0) {
        print_message("skipped: this kernel has no pidfds\n");
        skip();
    }
    assert_int_equal(loop_new(&clock_system, &loop), 0);
    if (method == WITH_SIGCHLD)
        child_use_sigchld(loop);
    return loop;
}

/* A process that waits at its gate and then exits with this code. */
static void start(struct watched *watched, struct loop *loop, int code)
{
    int ends[2];

    *watched = (struct watched){.loop = loop};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    watched->pid = fork();
    assert_true(watched->pid >= 0);
    if (watched->pid == 0) {
        char byte;

        close(ends[1]);
        while (read(ends[0], &byte, 1) < 0)
            ;
        _exit(code);
    }
    close(ends[0]);
    watched->gate = ends[1];
}

static void let_end(struct watched *watched)
{
    assert_int_equal(write(watched->gate, "", 1), 1);
    close(watched->gate);
}

static void wait_until_zombie(const struct watched *watched)
{
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)watched->pid, &info, WEXITED | WNOWAIT), 0);
}

static void note(void *data, struct child_exit exit)
{
    struct watched *watched = data;

    watched->count++;
    watched->exit = exit;
}

static void note_and_free(void *data, struct child_exit exit)
{
    struct watched *watched = data;

    note(watched, exit);
    child_free(watched->child);
}

static void note_and_free_the_victim(void *data, struct child_exit exit)
{
    struct watched *watched = data;

    note(watched, exit);
    child_free(watched->victim->child);
    child_free(watched->child);
}

static void watch(struct watched *watched)
{
    assert_int_equal(child_watch(watched->loop, watched->pid, note, watched, &watched->child), 0);
}

static void assert_gone(const struct watched *watched)
{
    assert_int_equal(waitpid(watched->pid, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void exit_code_is_told_once_and_the_process_is_reaped(enum method method)
{
    struct loop *loop = new_loop(method);
    struct watched one;

    start(&one, loop, 42);
    watch(&one);
    let_end(&one);
    loop_run(loop);
    assert_int_equal(one.count, 1);
    assert_int_equal(one.exit.end, CHILD_EXITED);
    assert_int_equal(one.exit.value, 42);
    assert_gone(&one);
    child_free(one.child);
    loop_free(loop);
}

static void death_by_signal_is_told_with_the_signal(enum method method)
{
    struct loop *loop = new_loop(method);
    struct watched one;

    start(&one, loop, 0);
    watch(&one);
    kill(one.pid, SIGTERM);
    loop_run(loop);
    assert_int_equal(one.count, 1);
    assert_int_equal(one.exit.end, CHILD_SIGNALED);
    assert_int_equal(one.exit.value, SIGTERM);
    child_free(one.child);
    close(one.gate);
    loop_free(loop);
}

static void signal_reaches_the_process_until_it_is_reaped(enum method method)
{
    struct loop *loop = new_loop(method);
    struct watched one;

    start(&one, loop, 0);
    watch(&one);
    assert_int_equal(child_signal(one.child, 0), 0);
    assert_int_equal(child_signal(one.child, SIGKILL), 0);
    /* Dead but not reaped: the signal goes nowhere, and surely to nobody else. */
    wait_until_zombie(&one);
    assert_int_equal(child_signal(one.child, SIGKILL), 0);
    loop_run(loop);
    assert_int_equal(one.exit.end, CHILD_SIGNALED);
    assert_int_equal(one.exit.value, SIGKILL);
    assert_int_equal(child_signal(one.child, SIGKILL), ERR_NOT_FOUND);
    child_free(one.child);
    close(one.gate);
    loop_free(loop);
}

static void process_that_ended_before_the_watch_is_told_but_not_at_once(enum method method)
{
    struct loop *loop = new_loop(method);
    struct watched one;

    start(&one, loop, 7);
    let_end(&one);
    wait_until_zombie(&one);
    watch(&one);
    assert_int_equal(one.count, 0);
    loop_run(loop);
    assert_int_equal(one.count, 1);
    assert_int_equal(one.exit.value, 7);
    child_free(one.child);
    loop_free(loop);
}

static void many_that_end_together_are_each_told_their_own(enum method method)
{
    struct loop *loop = new_loop(method);
    struct watched many[CHILDREN];

    for (int i = 0; i < CHILDREN; i++) {
        start(&many[i], loop, i);
        watch(&many[i]);
    }
    for (int i = 0; i < CHILDREN; i++)
        let_end(&many[i]);
    loop_run(loop);
    for (int i = 0; i < CHILDREN; i++) {
        assert_int_equal(many[i].count, 1);
        assert_int_equal(many[i].exit.end, CHILD_EXITED);
        assert_int_equal(many[i].exit.value, i);
        child_free(many[i].child);
    }
    loop_free(loop);
}

static void watch_may_be_freed_inside_its_callback(enum method method)
{
    struct loop *loop = new_loop(method);
    struct watched one;

    start(&one, loop, 3);
    assert_int_equal(child_watch(loop, one.pid, note_and_free, &one, &one.child), 0);
    let_end(&one);
    loop_run(loop);
    assert_int_equal(one.count, 1);
    loop_free(loop);
}

/* Both have ended when the loop looks; whichever is told first frees the other. */
static void watch_may_be_freed_inside_the_callback_of_another(enum method method)
{
    struct loop *loop = new_loop(method);
    struct watched pair[2];

    for (int i = 0; i < 2; i++) {
        start(&pair[i], loop, 0);
        let_end(&pair[i]);
        wait_until_zombie(&pair[i]);
        pair[i].victim = &pair[1 - i];
        assert_int_equal(
            child_watch(loop, pair[i].pid, note_and_free_the_victim, &pair[i], &pair[i].child), 0);
    }
    loop_run(loop);
    assert_int_equal(pair[0].count + pair[1].count, 1);
    /* With pidfds the second was never asked for. */
    for (int i = 0; i < 2; i++)
        waitpid(pair[i].pid, NULL, WNOHANG);
    loop_free(loop);
}

static void freed_watch_leaves_the_process_to_the_caller(enum method method)
{
    struct loop *loop = new_loop(method);
    struct watched one;
    int status;

    start(&one, loop, 9);
    watch(&one);
    child_free(one.child);
    child_free(NULL);
    loop_run(loop);
    let_end(&one);
    assert_int_equal(waitpid(one.pid, &status, 0), one.pid);
    assert_int_equal(WEXITSTATUS(status), 9);
    assert_int_equal(one.count, 0);
    loop_free(loop);
}

static void processes_of_others_are_not_reaped(enum method method)
{
    struct loop *loop = new_loop(method);
    struct watched ours;
    struct watched foreign;
    int status;

    start(&foreign, loop, 5);
    start(&ours, loop, 6);
    watch(&ours);
    let_end(&foreign);
    wait_until_zombie(&foreign);
    let_end(&ours);
    loop_run(loop);
    assert_int_equal(ours.count, 1);
    assert_int_equal(waitpid(foreign.pid, &status, 0), foreign.pid);
    assert_int_equal(WEXITSTATUS(status), 5);
    child_free(ours.child);
    loop_free(loop);
}

static void process_reaped_elsewhere_is_told_as_lost(enum method method)
{
    struct loop *loop = new_loop(method);
    struct watched one;

    start(&one, loop, 0);
    watch(&one);
    let_end(&one);
    assert_int_equal(waitpid(one.pid, NULL, 0), one.pid);
    loop_run(loop);
    assert_int_equal(one.count, 1);
    assert_int_equal(one.exit.end, CHILD_LOST);
    child_free(one.child);
    loop_free(loop);
}

static void signal_that_does_not_exist_is_refused(enum method method)
{
    struct loop *loop = new_loop(method);
    struct watched one;

    start(&one, loop, 0);
    watch(&one);
    assert_true(child_signal(one.child, 12345) < 0);
    let_end(&one);
    loop_run(loop);
    assert_int_equal(one.exit.end, CHILD_EXITED);
    child_free(one.child);
    loop_free(loop);
}

static void watch_that_gets_no_pidfd_is_refused(void **state)
{
    struct loop *loop = new_loop(WITH_PIDFD);
    struct rlimit before;
    struct watched one;

    (void)state;
    start(&one, loop, 0);
    /* The first watch probes, and a probe that finds no room proves nothing. */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, before.rlim_max}), 0);
    assert_int_equal(child_watch(loop, one.pid, note, &one, &one.child), ERR_TOO_MANY_FILES);
    setrlimit(RLIMIT_NOFILE, &before);
    watch(&one);
    let_end(&one);
    loop_run(loop);
    assert_int_equal(one.count, 1);
    child_free(one.child);
    one.child = NULL;

    assert_int_equal(child_watch(loop, one.pid, note, &one, &one.child), ERR_NOT_FOUND);
    assert_null(one.child);
    loop_free(loop);
}

#define BOTH_WAYS(test)                                                                            \
    static void test##_with_pidfd(void **state)                                                    \
    {                                                                                              \
        (void)state;                                                                               \
        test(WITH_PIDFD);                                                                          \
    }                                                                                              \
    static void test##_with_sigchld(void **state)                                                  \
    {                                                                                              \
        (void)state;                                                                               \
        test(WITH_SIGCHLD);                                                                        \
    }

#define BOTH(test) cmocka_unit_test(test##_with_pidfd), cmocka_unit_test(test##_with_sigchld)

BOTH_WAYS(exit_code_is_told_once_and_the_process_is_reaped)
BOTH_WAYS(death_by_signal_is_told_with_the_signal)
BOTH_WAYS(signal_reaches_the_process_until_it_is_reaped)
BOTH_WAYS(process_that_ended_before_the_watch_is_told_but_not_at_once)
BOTH_WAYS(many_that_end_together_are_each_told_their_own)
BOTH_WAYS(watch_may_be_freed_inside_its_callback)
BOTH_WAYS(watch_may_be_freed_inside_the_callback_of_another)
BOTH_WAYS(freed_watch_leaves_the_process_to_the_caller)
BOTH_WAYS(processes_of_others_are_not_reaped)
BOTH_WAYS(process_reaped_elsewhere_is_told_as_lost)
BOTH_WAYS(signal_that_does_not_exist_is_refused)

TEST_MAIN(BOTH(exit_code_is_told_once_and_the_process_is_reaped),
          BOTH(death_by_signal_is_told_with_the_signal),
          BOTH(signal_reaches_the_process_until_it_is_reaped),
          BOTH(process_that_ended_before_the_watch_is_told_but_not_at_once),
          BOTH(many_that_end_together_are_each_told_their_own),
          BOTH(watch_may_be_freed_inside_its_callback),
          BOTH(watch_may_be_freed_inside_the_callback_of_another),
          BOTH(freed_watch_leaves_the_process_to_the_caller),
          BOTH(processes_of_others_are_not_reaped), BOTH(process_reaped_elsewhere_is_told_as_lost),
          BOTH(signal_that_does_not_exist_is_refused),
          cmocka_unit_test(watch_that_gets_no_pidfd_is_refused))
