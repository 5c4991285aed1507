/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "loop/child.h"
#include "loop/loop.h"
#include "loop/timer.h"

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

static struct loop *new_loop_on(const struct clock *clock, enum method method)
{
    cleanup_fd int own = (int)syscall(SYS_pidfd_open, getpid(), 0);
    struct loop *loop;

    if (method == WITH_PIDFD && own < 0)
        skip_because("this kernel has no pidfds");
    assert_int_equal(loop_new(clock, &loop), 0);
    if (method == WITH_SIGCHLD)
        child_use_sigchld(loop);
    return loop;
}

static struct loop *new_loop(enum method method)
{
    return new_loop_on(&clock_system, method);
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
        /* For the tests that trace it, where only relatives may. */
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
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

/* A process that traces the watched one and never waits for it. Skips where that is forbidden. */
static pid_t start_tracer(struct watched *watched)
{
    int ends[2];
    int error = -1;
    pid_t pid;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        /* A test that fails leaves it behind. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        error = ptrace(PTRACE_SEIZE, watched->pid, NULL, NULL) < 0 ? errno : 0;
        if (write(ends[1], &error, sizeof(error)) != sizeof(error))
            _exit(1);
        while (true)
            pause();
    }
    assert_int_equal(read(ends[0], &error, sizeof(error)), sizeof(error));
    close(ends[0]);
    close(ends[1]);
    if (error == 0)
        return pid;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    let_end(watched);
    waitpid(watched->pid, NULL, 0);
    loop_free(watched->loop);
    skip_because("tracing is not permitted here: %s", err_errno_text(error));
    return -1;
}

static bool has_an_event(int fd, int timeout_ms)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};

    return poll(&wanted, 1, timeout_ms) == 1;
}

/* As long as it is traced it cannot be reaped, though its pidfd says that it has ended. */
static void process_held_by_a_tracer_is_told_later_and_the_loop_rests(enum method method)
{
    enum { LONG_ENOUGH_MS = 1000 };
    struct clock clock;
    struct loop *loop;
    struct watched one;
    pid_t tracer;
    int pidfd;

    clock_fake_init(&clock, 0);
    loop = new_loop_on(&clock, method);
    start(&one, loop, 8);
    tracer = start_tracer(&one);
    watch(&one);
    pidfd = (int)syscall(SYS_pidfd_open, one.pid, 0);
    let_end(&one);
    if (pidfd >= 0)
        assert_true(has_an_event(pidfd, -1));
    uv_run(loop_uv(loop), UV_RUN_NOWAIT);
    assert_int_equal(one.count, 0);
    assert_false(has_an_event(uv_backend_fd(loop_uv(loop)), 0));
    clock_fake_advance(&clock, LONG_ENOUGH_MS);
    loop_run_due_timers(loop);
    assert_int_equal(one.count, 0);
    assert_false(has_an_event(uv_backend_fd(loop_uv(loop)), 0));
    assert_int_equal(child_signal(one.child, 0), 0);

    kill(tracer, SIGKILL);
    assert_int_equal(waitpid(tracer, NULL, 0), tracer);
    clock_fake_advance(&clock, LONG_ENOUGH_MS);
    loop_run_due_timers(loop);
    loop_run(loop);
    assert_int_equal(one.count, 1);
    assert_int_equal(one.exit.end, CHILD_EXITED);
    assert_int_equal(one.exit.value, 8);
    assert_gone(&one);
    child_free(one.child);
    close(pidfd);
    loop_free(loop);
}

static void watch_of_a_held_process_may_be_freed(void **state)
{
    struct loop *loop = new_loop(WITH_PIDFD);
    struct watched one;
    pid_t tracer;
    int pidfd;

    (void)state;
    start(&one, loop, 0);
    tracer = start_tracer(&one);
    watch(&one);
    pidfd = (int)syscall(SYS_pidfd_open, one.pid, 0);
    let_end(&one);
    assert_true(has_an_event(pidfd, -1));
    loop_run_once(loop);
    child_free(one.child);
    loop_run(loop);
    kill(tracer, SIGKILL);
    assert_int_equal(waitpid(tracer, NULL, 0), tracer);
    assert_int_equal(waitpid(one.pid, NULL, 0), one.pid);
    assert_int_equal(one.count, 0);
    close(pidfd);
    loop_free(loop);
}

enum { OUTCOME_SKIP = 77 };

/* pidfd_send_signal answers with this error from here on, in this process. */
static bool take_signalling_away(int error)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_send_signal, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = array_size(program), .filter = program};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* 0 when the signal arrived. */
static int kill_under_a_filter(int error)
{
    struct loop *loop;
    struct watched one;

    if (!take_signalling_away(error))
        return OUTCOME_SKIP;
    if (loop_new(&clock_system, &loop) < 0)
        return 1;
    start(&one, loop, 0);
    if (child_watch(loop, one.pid, note, &one, &one.child) < 0)
        return 2;
    if (child_signal(one.child, SIGKILL) != 0) {
        kill(one.pid, SIGKILL);
        return 3;
    }
    loop_run(loop);
    return one.count == 1 && one.exit.end == CHILD_SIGNALED && one.exit.value == SIGKILL ? 0 : 4;
}

static void signal_arrives_where_a_filter_knows_no_pidfd_send_signal(void **state)
{
    static const int errors[] = {ENOSYS, EPERM};

    (void)state;
    for (size_t i = 0; i < array_size(errors); i++) {
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
            _exit(kill_under_a_filter(errors[i]));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == OUTCOME_SKIP)
            skip_because("no syscall filters here");
        assert_int_equal(WEXITSTATUS(status), 0);
    }
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
BOTH_WAYS(process_held_by_a_tracer_is_told_later_and_the_loop_rests)

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
          BOTH(process_held_by_a_tracer_is_told_later_and_the_loop_rests),
          cmocka_unit_test(watch_of_a_held_process_may_be_freed),
          cmocka_unit_test(signal_arrives_where_a_filter_knows_no_pidfd_send_signal),
          cmocka_unit_test(watch_that_gets_no_pidfd_is_refused))
