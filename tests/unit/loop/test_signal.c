/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <signal.h>
#include <unistd.h>

#include "loop/loop.h"
#include "loop/signal.h"
#include "loop/timer.h"

struct fixture {
    struct loop *loop;
    struct timer lost; /* watches keep no loop running; it fires only when a signal got lost */
    struct signal_watch *watch;
    int count;
    int signum;
};

static void fail_lost(void *data)
{
    (void)data;
    fail_msg("the signal did not arrive");
}

static void note(void *data, int signum)
{
    struct fixture *fixture = data;

    fixture->count++;
    fixture->signum = signum;
    loop_stop(fixture->loop);
}

static void note_and_free(void *data, int signum)
{
    struct fixture *fixture = data;

    note(fixture, signum);
    signal_watch_free(fixture->watch);
}

static void begin(struct fixture *fixture)
{
    *fixture = (struct fixture){.count = 0};
    assert_int_equal(loop_new(&clock_system, &fixture->loop), 0);
    timer_init(&fixture->lost, fixture->loop, fail_lost, NULL);
    timer_start(&fixture->lost, PATIENCE_MS);
}

static void end(struct fixture *fixture)
{
    timer_stop(&fixture->lost);
    loop_free(fixture->loop);
}

static void signal_arrives_on_the_loop_each_time(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture);
    assert_int_equal(signal_watch_new(fixture.loop, SIGUSR1, note, &fixture, &fixture.watch), 0);
    for (int i = 1; i <= 3; i++) {
        kill(getpid(), SIGUSR1);
        assert_int_equal(fixture.count, i - 1);
        loop_run(fixture.loop);
        assert_int_equal(fixture.count, i);
        assert_int_equal(fixture.signum, SIGUSR1);
    }
    signal_watch_free(fixture.watch);
    end(&fixture);
}

static void two_watches_of_one_signal_are_both_called(void **state)
{
    struct fixture fixture;
    struct signal_watch *second;

    (void)state;
    begin(&fixture);
    assert_int_equal(signal_watch_new(fixture.loop, SIGUSR1, note, &fixture, &fixture.watch), 0);
    assert_int_equal(signal_watch_new(fixture.loop, SIGUSR1, note, &fixture, &second), 0);
    kill(getpid(), SIGUSR1);
    while (fixture.count < 2)
        loop_run(fixture.loop);
    signal_watch_free(second);
    signal_watch_free(fixture.watch);
    end(&fixture);
}

static void watch_may_be_freed_inside_its_callback(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture);
    assert_int_equal(
        signal_watch_new(fixture.loop, SIGUSR2, note_and_free, &fixture, &fixture.watch), 0);
    kill(getpid(), SIGUSR2);
    loop_run(fixture.loop);
    assert_int_equal(fixture.count, 1);
    end(&fixture);
}

static void default_action_returns_with_the_last_watch(void **state)
{
    struct fixture fixture;
    struct sigaction action;

    (void)state;
    begin(&fixture);
    assert_int_equal(signal_watch_new(fixture.loop, SIGUSR2, note, &fixture, &fixture.watch), 0);
    assert_int_equal(sigaction(SIGUSR2, NULL, &action), 0);
    assert_true(action.sa_handler != SIG_DFL);
    signal_watch_free(fixture.watch);
    assert_int_equal(sigaction(SIGUSR2, NULL, &action), 0);
    assert_true(action.sa_handler == SIG_DFL);
    end(&fixture);
}

static void watch_does_not_keep_the_loop_running(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture);
    timer_stop(&fixture.lost);
    assert_int_equal(signal_watch_new(fixture.loop, SIGUSR1, note, &fixture, &fixture.watch), 0);
    loop_run(fixture.loop);
    assert_int_equal(fixture.count, 0);
    signal_watch_free(fixture.watch);
    signal_watch_free(NULL);
    end(&fixture);
}

static void signal_that_cannot_be_watched_is_refused(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture);
    assert_true(signal_watch_new(fixture.loop, SIGKILL, note, &fixture, &fixture.watch) < 0);
    assert_null(fixture.watch);
    end(&fixture);
}

TEST_MAIN(cmocka_unit_test(signal_arrives_on_the_loop_each_time),
          cmocka_unit_test(two_watches_of_one_signal_are_both_called),
          cmocka_unit_test(watch_may_be_freed_inside_its_callback),
          cmocka_unit_test(default_action_returns_with_the_last_watch),
          cmocka_unit_test(watch_does_not_keep_the_loop_running),
          cmocka_unit_test(signal_that_cannot_be_watched_is_refused))
