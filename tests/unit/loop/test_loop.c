/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "loop/loop.h"
#include "loop/timer.h"

struct steps {
    struct loop *loop;
    struct loop_task first;
    struct loop_task second;
    int count;
    int second_ran_at;
};

static int new_loop(void **state)
{
    struct loop *loop;

    if (loop_new(&clock_system, &loop) < 0)
        return -1;
    *state = loop;
    return 0;
}

static int free_loop(void **state)
{
    loop_free(*state);
    return 0;
}

static void count_step(void *data)
{
    struct steps *steps = data;

    steps->count++;
}

static void run_returns_when_nothing_is_left(void **state)
{
    loop_run(*state);
    loop_run_once(*state);
}

static void stop_there(void *loop)
{
    loop_stop(loop);
}

static void stop_ends_the_run_although_a_timer_goes_on(void **state)
{
    struct timer timer;

    timer_init(&timer, *state, stop_there, *state);
    timer_start_repeating(&timer, 1);
    loop_run(*state);
    assert_true(timer.is_started);
    timer_stop(&timer);
}

static void deferred_task_runs_in_the_run_and_not_before(void **state)
{
    struct steps steps = {.count = 0};

    loop_task_init(&steps.first, count_step, &steps);
    loop_defer(*state, &steps.first);
    assert_int_equal(steps.count, 0);
    loop_run(*state);
    assert_int_equal(steps.count, 1);
}

static void add_ten(void *data)
{
    struct steps *steps = data;

    assert_int_equal(steps->count, 0);
    steps->count += 10;
    loop_end_turn(steps->loop, &steps->second); /* runs before the loop waits, too */
}

static void task_at_the_end_of_the_turn_runs_before_the_loop_waits(void **state)
{
    struct steps steps = {.count = 0, .loop = *state};
    struct timer timer;

    loop_task_init(&steps.first, add_ten, &steps);
    loop_task_init(&steps.second, count_step, &steps);
    loop_end_turn(*state, &steps.first);
    loop_end_turn(*state, &steps.first);
    loop_run(*state);
    assert_int_equal(steps.count, 11);
    /* One that is cancelled does not keep the loop waiting. */
    timer_init(&timer, *state, count_step, &steps);
    loop_end_turn(*state, &steps.first);
    loop_task_cancel(&steps.first);
    timer_start(&timer, 1);
    loop_run(*state);
    assert_int_equal(steps.count, 12);
}

static void task_deferred_twice_runs_once_and_can_be_deferred_again(void **state)
{
    struct steps steps = {.count = 0};

    loop_task_init(&steps.first, count_step, &steps);
    loop_defer(*state, &steps.first);
    loop_defer(*state, &steps.first);
    loop_run(*state);
    assert_int_equal(steps.count, 1);
    loop_defer(*state, &steps.first);
    loop_run(*state);
    assert_int_equal(steps.count, 2);
}

static void cancelled_task_does_not_run(void **state)
{
    struct steps steps = {.count = 0};

    loop_task_init(&steps.first, count_step, &steps);
    loop_task_cancel(&steps.first);
    loop_defer(*state, &steps.first);
    loop_task_cancel(&steps.first);
    loop_run(*state);
    assert_int_equal(steps.count, 0);
}

static void cancel_the_second(void *data)
{
    struct steps *steps = data;

    loop_task_cancel(&steps->second);
}

static void task_may_cancel_one_of_the_same_turn(void **state)
{
    struct steps steps = {.count = 0};

    loop_task_init(&steps.first, cancel_the_second, &steps);
    loop_task_init(&steps.second, count_step, &steps);
    loop_defer(*state, &steps.first);
    loop_defer(*state, &steps.second);
    loop_run(*state);
    assert_int_equal(steps.count, 0);
}

static void defer_itself_twice_more(void *data)
{
    struct steps *steps = data;

    if (++steps->count < 3)
        loop_defer(steps->loop, &steps->first);
}

static void note_the_count(void *data)
{
    struct steps *steps = data;

    steps->second_ran_at = steps->count;
}

static void task_that_defers_itself_lets_the_others_run_between(void **state)
{
    struct steps steps = {.loop = *state};

    loop_task_init(&steps.first, defer_itself_twice_more, &steps);
    loop_task_init(&steps.second, note_the_count, &steps);
    loop_defer(*state, &steps.first);
    loop_defer(*state, &steps.second);
    loop_run(*state);
    assert_int_equal(steps.count, 3);
    assert_int_equal(steps.second_ran_at, 1);
}

static void task_may_free_its_owner(void **state)
{
    struct loop_task *task = malloc(sizeof(*task));

    assert_non_null(task);
    loop_task_init(task, free, task);
    loop_defer(*state, task);
    loop_run(*state);
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void free_waits_for_handles_that_are_closing(void **state)
{
    struct loop *loop;
    uv_idle_t *handle = malloc(sizeof(*handle));

    (void)state;
    assert_non_null(handle);
    assert_int_equal(loop_new(&clock_system, &loop), 0);
    uv_idle_init(loop_uv(loop), handle);
    uv_close((uv_handle_t *)handle, free_handle);
    /* The handle is freed in there, or the leak checker speaks up. */
    loop_free(loop);
}

static void free_takes_null(void **state)
{
    (void)state;
    loop_free(NULL);
}

static void leave_handle_open(struct loop *loop)
{
    static uv_idle_t handle;

    uv_idle_init(loop_uv(loop), &handle);
}

static void nothing(void *data)
{
    (void)data;
}

static void leave_timer_started(struct loop *loop)
{
    static struct timer timer;

    timer_init(&timer, loop, nothing, NULL);
    timer_start(&timer, 1000);
}

static void leave_task_waiting(struct loop *loop)
{
    static struct loop_task task;

    loop_task_init(&task, nothing, NULL);
    loop_defer(loop, &task);
}

/* In a process of its own, because it is to die. */
static void free_after_aborts(void (*leave)(struct loop *loop))
{
    const struct rlimit no_core = {0, 0};
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct loop *loop;
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

        /* cmocka catches the signal to call it a failed test. */
        signal(SIGABRT, SIG_DFL);
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(null, STDERR_FILENO);
        if (loop_new(&clock_system, &loop) < 0)
            _exit(1);
        leave(loop);
        loop_free(loop);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void free_aborts_when_a_handle_was_left_open(void **state)
{
    (void)state;
    free_after_aborts(leave_handle_open);
}

static void free_aborts_when_a_timer_was_left_started(void **state)
{
    (void)state;
    free_after_aborts(leave_timer_started);
}

static void free_aborts_when_a_task_was_left_waiting(void **state)
{
    (void)state;
    free_after_aborts(leave_task_waiting);
}

static void now_is_the_time_of_the_given_clock(void **state)
{
    struct clock clock;
    struct loop *loop;

    (void)state;
    clock_fake_init(&clock, 0);
    assert_int_equal(loop_new(&clock, &loop), 0);
    clock_fake_advance(&clock, 1234);
    assert_int_equal(loop_now_ms(loop), 1234);
    loop_free(loop);
}

static void new_tells_when_there_are_no_descriptors(void **state)
{
    struct rlimit before;
    struct loop *loop = NULL;
    int r;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, before.rlim_max}), 0);
    r = loop_new(&clock_system, &loop);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(r, ERR_TOO_MANY_FILES);
    assert_null(loop);
}

static void codes_of_libuv_become_ours(void **state)
{
    (void)state;
    assert_int_equal(loop_error(0), 0);
    assert_int_equal(loop_error(UV_ENOMEM), ERR_NO_MEMORY);
    assert_int_equal(loop_error(UV_EMFILE), ERR_TOO_MANY_FILES);
    assert_int_equal(loop_error(UV_EOF), ERR_IO);
}

#define WITH_LOOP(test) cmocka_unit_test_setup_teardown(test, new_loop, free_loop)

TEST_MAIN(WITH_LOOP(run_returns_when_nothing_is_left),
          WITH_LOOP(stop_ends_the_run_although_a_timer_goes_on),
          WITH_LOOP(deferred_task_runs_in_the_run_and_not_before),
          WITH_LOOP(task_at_the_end_of_the_turn_runs_before_the_loop_waits),
          WITH_LOOP(task_deferred_twice_runs_once_and_can_be_deferred_again),
          WITH_LOOP(cancelled_task_does_not_run), WITH_LOOP(task_may_cancel_one_of_the_same_turn),
          WITH_LOOP(task_that_defers_itself_lets_the_others_run_between),
          WITH_LOOP(task_may_free_its_owner),
          cmocka_unit_test(free_waits_for_handles_that_are_closing),
          cmocka_unit_test(free_takes_null),
          cmocka_unit_test(free_aborts_when_a_handle_was_left_open),
          cmocka_unit_test(free_aborts_when_a_timer_was_left_started),
          cmocka_unit_test(free_aborts_when_a_task_was_left_waiting),
          cmocka_unit_test(now_is_the_time_of_the_given_clock),
          cmocka_unit_test(new_tells_when_there_are_no_descriptors),
          cmocka_unit_test(codes_of_libuv_become_ours))
