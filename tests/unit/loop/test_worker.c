/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "loop/worker.h"

enum { GRACE_MS = 100, RESULT = 5 };

/* A pool on a loop whose time stands still. */
struct fixture {
    struct clock clock;
    struct loop *loop;
    struct worker_pool *pool;
    /* For those that submit from inside done. */
    unsigned wanted;
    unsigned finished;
};

/*
 * What a test sees of one job. The worker's side is pipes and atomics, because
 * an abandoned worker still uses it while the test looks.
 */
struct probe {
    int started[2]; /* a byte comes when run begins */
    int gate[2];    /* a byte lets a blocked run go on */
    int freed[2];   /* a byte comes when the data is freed */
    atomic_int runs;
    atomic_int frees;
    atomic_int token_said;
    /* The loop's side. */
    uint64_t id;
    int dones;
    int result;
    void *data;
    struct fixture *fixture;
};

static void send_byte(int fd)
{
    assert_int_equal(write(fd, "", 1), 1);
}

static void await_byte(int fd)
{
    char byte;
    ssize_t n;

    do
        n = read(fd, &byte, 1);
    while (n < 0 && errno == EINTR);
    assert_int_equal(n, 1);
}

static void probe_init(struct probe *probe, struct fixture *fixture)
{
    *probe = (struct probe){.fixture = fixture};
    assert_int_equal(pipe2(probe->started, O_CLOEXEC), 0);
    assert_int_equal(pipe2(probe->gate, O_CLOEXEC), 0);
    assert_int_equal(pipe2(probe->freed, O_CLOEXEC), 0);
}

static void probe_done(struct probe *probe)
{
    int *pipes[] = {probe->started, probe->gate, probe->freed};

    for (size_t i = 0; i < array_size(pipes); i++) {
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
}

static int run_at_once(void *data, struct cancel *token)
{
    struct probe *probe = data;

    atomic_fetch_add(&probe->runs, 1);
    return cancel_check(token) == 0 ? RESULT : ERR_INTERNAL;
}

/* As in a read from a mount that does not answer: the token is of no use. */
static int run_blocked(void *data, struct cancel *token)
{
    struct probe *probe = data;

    atomic_fetch_add(&probe->runs, 1);
    send_byte(probe->started[1]);
    await_byte(probe->gate[0]);
    atomic_store(&probe->token_said, cancel_check(token));
    return RESULT;
}

static int run_until_cancelled(void *data, struct cancel *token)
{
    struct probe *probe = data;

    atomic_fetch_add(&probe->runs, 1);
    send_byte(probe->started[1]);
    while (cancel_check(token) == 0)
        sched_yield();
    atomic_store(&probe->token_said, cancel_check(token));
    return cancel_check(token);
}

static void note_done(void *context, int result, void *data)
{
    struct probe *probe = context;

    probe->dones++;
    probe->result = result;
    probe->data = data;
}

static void note_freed(void *data)
{
    struct probe *probe = data;

    atomic_fetch_add(&probe->frees, 1);
    send_byte(probe->freed[1]);
}

static int submit(struct fixture *fixture, struct probe *probe,
                  int (*run)(void *data, struct cancel *token), int64_t timeout_ms)
{
    const struct worker_job job = {
        .run = run,
        .done = note_done,
        .free_data = note_freed,
        .data = probe,
        .context = probe,
        .timeout_ms = timeout_ms,
    };

    return worker_submit(fixture->pool, &job, &probe->id);
}

/* Submits and waits until a worker has begun with it. */
static void submit_started(struct fixture *fixture, struct probe *probe,
                           int (*run)(void *data, struct cancel *token), int64_t timeout_ms)
{
    assert_int_equal(submit(fixture, probe, run, timeout_ms), 0);
    await_byte(probe->started[0]);
}

static void run_until_done(struct fixture *fixture, const struct probe *probe)
{
    while (probe->dones == 0)
        loop_run_once(fixture->loop);
}

static void advance(struct fixture *fixture, int64_t by_ms)
{
    clock_fake_advance(&fixture->clock, by_ms);
    loop_run_due_timers(fixture->loop);
}

static struct worker_stats stats_of(const struct fixture *fixture)
{
    struct worker_stats stats;

    worker_pool_stats(fixture->pool, &stats);
    return stats;
}

/* Another thread is about to get there; nothing tells when, so look until it has. */
#define await_stats(fixture, field, value)                                                         \
    do                                                                                             \
        sched_yield();                                                                             \
    while (stats_of(fixture).field != (value))

static void assert_done_once(const struct probe *probe, int result, const void *data)
{
    assert_int_equal(probe->dones, 1);
    assert_int_equal(probe->result, result);
    assert_ptr_equal(probe->data, data);
}

static int set_up(void **state)
{
    const struct worker_config config = {
        .threads = 2, .queue_max = 4, .abandoned_max = 2, .grace_ms = GRACE_MS};
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    if (fixture == NULL)
        return -1;
    clock_fake_init(&fixture->clock, 0);
    if (loop_new(&fixture->clock, &fixture->loop) < 0 ||
        worker_pool_new(fixture->loop, &config, &fixture->pool) < 0)
        return -1;
    *state = fixture;
    return 0;
}

static void new_pool(struct fixture *fixture, const struct worker_config *config)
{
    worker_pool_free(fixture->pool);
    assert_int_equal(worker_pool_new(fixture->loop, config, &fixture->pool), 0);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    worker_pool_free(fixture->pool);
    loop_free(fixture->loop);
    free(fixture);
    return 0;
}

enum { OUTCOME_SKIP = 77 };

/* The limit on threads does not hold for root. */
static bool become_an_ordinary_user(void)
{
    enum { NOBODY = 65534 };

    return getuid() != 0 || setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

/* Whether more threads may start, in this process from here on. */
static bool allow_threads(bool is_allowed)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NPROC, &limit) < 0)
        return false;
    limit.rlim_cur = is_allowed ? limit.rlim_max : 0;
    return setrlimit(RLIMIT_NPROC, &limit) == 0;
}

/* 0 when the pool refused as it should; in a process that may start no thread. */
static int submit_without_threads(struct fixture *fixture)
{
    struct probe probe = {.fixture = fixture};

    if (!become_an_ordinary_user() || !allow_threads(false))
        return OUTCOME_SKIP;
    for (int i = 0; i < 10; i++) {
        if (submit(fixture, &probe, run_at_once, 50) != ERR_BUSY)
            return 1;
    }
    loop_run(fixture->loop);
    return stats_of(fixture).queued == 0 && probe.dones == 0 && probe.frees == 0 ? 0 : 2;
}

/* 0 when the job that waited was run; the one thread hangs and no other can start for a while. */
static int wait_without_threads(struct fixture *fixture)
{
    enum { LONG_ENOUGH_MS = 1000 };
    const struct worker_config config = {
        .threads = 1, .queue_max = 4, .abandoned_max = 2, .grace_ms = GRACE_MS};
    struct probe hung, waiting;

    if (!become_an_ordinary_user() || !allow_threads(true))
        return OUTCOME_SKIP;
    new_pool(fixture, &config);
    probe_init(&hung, fixture);
    probe_init(&waiting, fixture);
    submit_started(fixture, &hung, run_blocked, 5);
    if (submit(fixture, &waiting, run_at_once, WORKER_NO_DEADLINE) != 0)
        return 1;
    advance(fixture, 5);
    if (!allow_threads(false))
        return OUTCOME_SKIP;
    advance(fixture, GRACE_MS);
    /* Still none: one failure is not the last word, and neither are two. */
    advance(fixture, LONG_ENOUGH_MS);
    if (stats_of(fixture).queued != 1 || stats_of(fixture).threads != 0)
        return 2;
    if (!allow_threads(true))
        return OUTCOME_SKIP;
    advance(fixture, LONG_ENOUGH_MS);
    if (stats_of(fixture).threads != 1)
        return 3;
    run_until_done(fixture, &waiting);
    /* The probes are ours: no thread may look at them when they go. */
    send_byte(hung.gate[1]);
    await_byte(hung.freed[0]);
    await_stats(fixture, abandoned, 0);
    return waiting.result == RESULT && atomic_load(&waiting.runs) == 1 ? 0 : 4;
}

/* In a process of its own, since the limit and the user are the process's. */
static void assert_in_a_fork(int (*run)(struct fixture *fixture), struct fixture *fixture)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(run(fixture));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == OUTCOME_SKIP)
        skip_because("threads cannot be forbidden here");
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void job_that_finds_no_thread_is_refused(void **state)
{
    assert_in_a_fork(submit_without_threads, *state);
}

static void job_that_waits_is_run_once_threads_start_again(void **state)
{
    assert_in_a_fork(wait_without_threads, *state);
}

static void job_runs_and_its_result_and_data_come_back(void **state)
{
    struct fixture *fixture = *state;
    struct probe probe;

    probe_init(&probe, fixture);
    assert_int_equal(submit(fixture, &probe, run_at_once, WORKER_NO_DEADLINE), 0);
    assert_int_equal(probe.dones, 0);
    loop_run(fixture->loop);
    assert_done_once(&probe, RESULT, &probe);
    assert_int_equal(atomic_load(&probe.frees), 1);
    probe_done(&probe);
}

static void threads_are_started_only_when_needed(void **state)
{
    struct fixture *fixture = *state;
    struct probe probes[3];

    assert_int_equal(stats_of(fixture).threads, 0);
    for (int i = 0; i < 3; i++)
        probe_init(&probes[i], fixture);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(submit(fixture, &probes[0], run_at_once, WORKER_NO_DEADLINE), 0);
        loop_run(fixture->loop);
        assert_int_equal(stats_of(fixture).threads, 1);
    }
    submit_started(fixture, &probes[1], run_blocked, WORKER_NO_DEADLINE);
    assert_int_equal(stats_of(fixture).threads, 1);
    assert_int_equal(submit(fixture, &probes[2], run_at_once, WORKER_NO_DEADLINE), 0);
    assert_int_equal(stats_of(fixture).threads, 2);
    run_until_done(fixture, &probes[2]);
    send_byte(probes[1].gate[1]);
    run_until_done(fixture, &probes[1]);
    for (int i = 0; i < 3; i++)
        probe_done(&probes[i]);
}

static void slow_job_does_not_delay_another(void **state)
{
    struct fixture *fixture = *state;
    struct probe slow, quick;

    probe_init(&slow, fixture);
    probe_init(&quick, fixture);
    submit_started(fixture, &slow, run_blocked, WORKER_NO_DEADLINE);
    assert_int_equal(submit(fixture, &quick, run_at_once, WORKER_NO_DEADLINE), 0);
    run_until_done(fixture, &quick);
    assert_int_equal(slow.dones, 0);
    send_byte(slow.gate[1]);
    run_until_done(fixture, &slow);
    assert_done_once(&slow, RESULT, &slow);
    probe_done(&slow);
    probe_done(&quick);
}

static int run_and_report_thread(void *data, struct cancel *token)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP};
    sigset_t blocked;

    (void)token;
    (void)data;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    for (int signum = 1; signum < 32; signum++) {
        bool is_fault = false;

        for (size_t i = 0; i < array_size(faults); i++)
            is_fault |= signum == faults[i];
        if (signum != SIGKILL && signum != SIGSTOP && sigismember(&blocked, signum) == is_fault)
            return ERR_INTERNAL;
    }
    return getpriority(PRIO_PROCESS, 0);
}

static void workers_block_signals_and_take_their_niceness(void **state)
{
    struct fixture *fixture = *state;
    int nice_before = getpriority(PRIO_PROCESS, 0);
    const struct worker_config config = {
        .threads = 1, .queue_max = 0, .abandoned_max = 1, .grace_ms = GRACE_MS, .nice = 1};
    struct probe probe;

    new_pool(fixture, &config);
    probe_init(&probe, fixture);
    assert_int_equal(submit(fixture, &probe, run_and_report_thread, WORKER_NO_DEADLINE), 0);
    loop_run(fixture->loop);
    assert_int_equal(probe.result, nice_before < 19 ? nice_before + 1 : 19);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), nice_before);
    probe_done(&probe);
}

struct sum {
    int64_t input;
    int64_t output;
    int64_t *total;
};

static int run_square(void *data, struct cancel *token)
{
    struct sum *sum = data;

    (void)token;
    sum->output = sum->input * sum->input;
    return 0;
}

static void add_up(void *context, int result, void *data)
{
    struct fixture *fixture = context;
    const struct sum *sum = data;

    assert_int_equal(result, 0);
    *sum->total += sum->output;
    fixture->finished++;
}

static void thousand_jobs_through_four_threads_all_come_back(void **state)
{
    enum { JOBS = 1000 };
    struct fixture *fixture = *state;
    const struct worker_config config = {
        .threads = 4, .queue_max = JOBS, .abandoned_max = 1, .grace_ms = GRACE_MS};
    int64_t total = 0;
    int64_t expected = 0;

    new_pool(fixture, &config);
    for (int64_t i = 0; i < JOBS; i++) {
        struct sum *sum = malloc(sizeof(*sum));
        uint64_t id;

        assert_non_null(sum);
        *sum = (struct sum){.input = i, .total = &total};
        expected += i * i;
        const struct worker_job job = {
            .run = run_square,
            .done = add_up,
            .free_data = free,
            .data = sum,
            .context = fixture,
            .timeout_ms = WORKER_NO_DEADLINE,
        };
        assert_int_equal(worker_submit(fixture->pool, &job, &id), 0);
    }
    loop_run(fixture->loop);
    assert_int_equal(fixture->finished, JOBS);
    assert_int_equal(total, expected);
    assert_int_equal(stats_of(fixture).threads, 4);
}

static void submit_another(void *context, int result, void *data)
{
    struct fixture *fixture = context;

    assert_int_equal(result, 0);
    if (++fixture->finished < fixture->wanted) {
        const struct worker_job job = {
            .run = run_square,
            .done = submit_another,
            .data = data,
            .context = fixture,
            .timeout_ms = WORKER_NO_DEADLINE,
        };
        uint64_t id;

        assert_int_equal(worker_submit(fixture->pool, &job, &id), 0);
    }
}

static void done_may_submit(void **state)
{
    struct fixture *fixture = *state;
    struct sum sum = {.input = 3};

    fixture->wanted = 50;
    submit_another(fixture, 0, &sum);
    loop_run(fixture->loop);
    assert_int_equal(fixture->finished, 50);
    assert_int_equal(sum.output, 9);
}

static void cancelled_queued_job_never_runs(void **state)
{
    struct fixture *fixture = *state;
    struct probe busy[2], queued;

    probe_init(&queued, fixture);
    for (int i = 0; i < 2; i++) {
        probe_init(&busy[i], fixture);
        submit_started(fixture, &busy[i], run_blocked, WORKER_NO_DEADLINE);
    }
    assert_int_equal(submit(fixture, &queued, run_at_once, WORKER_NO_DEADLINE), 0);
    assert_true(worker_cancel(fixture->pool, queued.id));
    assert_done_once(&queued, ERR_CANCELLED, NULL);
    assert_int_equal(atomic_load(&queued.frees), 1);
    assert_false(worker_cancel(fixture->pool, queued.id));
    for (int i = 0; i < 2; i++) {
        send_byte(busy[i].gate[1]);
        run_until_done(fixture, &busy[i]);
        probe_done(&busy[i]);
    }
    assert_done_once(&queued, ERR_CANCELLED, NULL);
    assert_int_equal(atomic_load(&queued.runs), 0);
    probe_done(&queued);
}

static void cancelled_running_job_is_answered_at_once_and_its_token_set(void **state)
{
    struct fixture *fixture = *state;
    struct probe probe;

    probe_init(&probe, fixture);
    submit_started(fixture, &probe, run_until_cancelled, WORKER_NO_DEADLINE);
    assert_true(worker_cancel(fixture->pool, probe.id));
    assert_done_once(&probe, ERR_CANCELLED, NULL);
    await_byte(probe.freed[0]);
    assert_int_equal(atomic_load(&probe.token_said), ERR_CANCELLED);
    assert_false(worker_cancel(fixture->pool, probe.id));

    /* It came back in time, so nothing is abandoned and the thread serves on. */
    await_stats(fixture, running, 0);
    assert_int_equal(submit(fixture, &probe, run_at_once, WORKER_NO_DEADLINE), 0);
    loop_run(fixture->loop);
    assert_int_equal(probe.dones, 2);
    advance(fixture, 2 * GRACE_MS);
    assert_int_equal(stats_of(fixture).abandoned, 0);
    assert_int_equal(stats_of(fixture).threads, 1);
    assert_int_equal(atomic_load(&probe.frees), 2);
    probe_done(&probe);
}

static void job_cancelled_after_it_returned_keeps_its_result(void **state)
{
    struct fixture *fixture = *state;
    struct probe probe;

    probe_init(&probe, fixture);
    submit_started(fixture, &probe, run_blocked, WORKER_NO_DEADLINE);
    send_byte(probe.gate[1]);
    await_stats(fixture, running, 0);
    assert_true(worker_cancel(fixture->pool, probe.id));
    assert_done_once(&probe, RESULT, &probe);
    assert_int_equal(atomic_load(&probe.frees), 1);
    /* The wake-up is still under way and finds nothing. */
    uv_run(loop_uv(fixture->loop), UV_RUN_NOWAIT);
    assert_int_equal(probe.dones, 1);
    probe_done(&probe);
}

static void cancelling_a_finished_or_unknown_job_does_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct probe probe;

    probe_init(&probe, fixture);
    assert_int_equal(submit(fixture, &probe, run_at_once, WORKER_NO_DEADLINE), 0);
    loop_run(fixture->loop);
    assert_false(worker_cancel(fixture->pool, probe.id));
    assert_false(worker_cancel(fixture->pool, probe.id + 1));
    assert_false(worker_cancel(fixture->pool, 0));
    assert_done_once(&probe, RESULT, &probe);
    probe_done(&probe);
}

struct canceller {
    struct probe probe;
    struct probe *other;
};

static void cancel_the_other(void *context, int result, void *data)
{
    struct canceller *canceller = context;

    note_done(&canceller->probe, result, data);
    worker_cancel(canceller->probe.fixture->pool, canceller->other->id);
}

/* Both have returned when the loop looks: the second is waiting in the same batch. */
static void done_may_cancel_a_job_that_arrived_with_it(void **state)
{
    struct fixture *fixture = *state;
    struct canceller first;
    struct probe second;
    const struct worker_job job = {
        .run = run_blocked,
        .done = cancel_the_other,
        .free_data = note_freed,
        .data = &first.probe,
        .context = &first,
        .timeout_ms = WORKER_NO_DEADLINE,
    };

    probe_init(&first.probe, fixture);
    probe_init(&second, fixture);
    first.other = &second;
    assert_int_equal(worker_submit(fixture->pool, &job, &first.probe.id), 0);
    await_byte(first.probe.started[0]);
    submit_started(fixture, &second, run_blocked, WORKER_NO_DEADLINE);
    send_byte(first.probe.gate[1]);
    await_stats(fixture, running, 1);
    send_byte(second.gate[1]);
    await_stats(fixture, running, 0);
    loop_run(fixture->loop);
    assert_done_once(&first.probe, RESULT, &first.probe);
    assert_done_once(&second, RESULT, &second);
    assert_int_equal(atomic_load(&second.frees), 1);
    probe_done(&first.probe);
    probe_done(&second);
}

static void deadline_of_a_queued_job_drops_it(void **state)
{
    struct fixture *fixture = *state;
    struct probe busy[2], queued;

    probe_init(&queued, fixture);
    for (int i = 0; i < 2; i++) {
        probe_init(&busy[i], fixture);
        submit_started(fixture, &busy[i], run_blocked, WORKER_NO_DEADLINE);
    }
    assert_int_equal(submit(fixture, &queued, run_at_once, 50), 0);
    advance(fixture, 49);
    assert_int_equal(queued.dones, 0);
    advance(fixture, 1);
    assert_done_once(&queued, ERR_TIMED_OUT, NULL);
    assert_int_equal(atomic_load(&queued.frees), 1);
    for (int i = 0; i < 2; i++) {
        send_byte(busy[i].gate[1]);
        run_until_done(fixture, &busy[i]);
        assert_done_once(&busy[i], RESULT, &busy[i]);
        probe_done(&busy[i]);
    }
    assert_int_equal(atomic_load(&queued.runs), 0);
    probe_done(&queued);
}

static void deadline_of_a_running_job_answers_and_sets_its_token(void **state)
{
    struct fixture *fixture = *state;
    struct probe probe;

    probe_init(&probe, fixture);
    submit_started(fixture, &probe, run_until_cancelled, 50);
    advance(fixture, 49);
    assert_int_equal(probe.dones, 0);
    advance(fixture, 1);
    assert_done_once(&probe, ERR_TIMED_OUT, NULL);
    await_byte(probe.freed[0]);
    probe_done(&probe);
}

static void job_that_returned_before_its_deadline_was_seen_keeps_its_result(void **state)
{
    struct fixture *fixture = *state;
    struct probe probe;

    probe_init(&probe, fixture);
    submit_started(fixture, &probe, run_blocked, 50);
    send_byte(probe.gate[1]);
    await_stats(fixture, running, 0);
    advance(fixture, 50);
    assert_done_once(&probe, RESULT, &probe);
    probe_done(&probe);
}

static void hung_worker_is_abandoned_replaced_and_later_released(void **state)
{
    struct fixture *fixture = *state;
    const struct worker_config config = {
        .threads = 1, .queue_max = 4, .abandoned_max = 2, .grace_ms = GRACE_MS};
    struct probe hung, next;

    new_pool(fixture, &config);
    probe_init(&hung, fixture);
    probe_init(&next, fixture);
    submit_started(fixture, &hung, run_blocked, 50);
    assert_int_equal(submit(fixture, &next, run_at_once, WORKER_NO_DEADLINE), 0);
    advance(fixture, 50);
    assert_done_once(&hung, ERR_TIMED_OUT, NULL);

    /* Within its grace it still holds the only thread. */
    advance(fixture, GRACE_MS - 1);
    assert_int_equal(stats_of(fixture).abandoned, 0);
    assert_int_equal(stats_of(fixture).queued, 1);
    advance(fixture, 1);
    assert_int_equal(stats_of(fixture).abandoned, 1);
    assert_int_equal(stats_of(fixture).threads, 1);
    run_until_done(fixture, &next);
    assert_done_once(&next, RESULT, &next);
    assert_int_equal(atomic_load(&hung.frees), 0);

    send_byte(hung.gate[1]);
    await_byte(hung.freed[0]);
    assert_int_equal(atomic_load(&hung.token_said), ERR_CANCELLED);
    await_stats(fixture, abandoned, 0);
    assert_int_equal(stats_of(fixture).threads, 1);
    assert_int_equal(hung.dones, 1);
    probe_done(&hung);
    probe_done(&next);
}

static void too_many_hung_workers_refuse_work_until_one_returns(void **state)
{
    struct fixture *fixture = *state;
    struct probe hung[2], next;

    probe_init(&next, fixture);
    for (int i = 0; i < 2; i++) {
        probe_init(&hung[i], fixture);
        submit_started(fixture, &hung[i], run_blocked, WORKER_NO_DEADLINE);
        assert_true(worker_cancel(fixture->pool, hung[i].id));
    }
    assert_int_equal(submit(fixture, &next, run_at_once, WORKER_NO_DEADLINE), 0);
    assert_true(worker_cancel(fixture->pool, next.id));
    advance(fixture, GRACE_MS);
    assert_int_equal(stats_of(fixture).abandoned, 2);
    assert_int_equal(submit(fixture, &next, run_at_once, WORKER_NO_DEADLINE), ERR_WORKERS_LOST);
    /* Refused, so the data is still the caller's. */
    assert_int_equal(atomic_load(&next.frees), 1);

    send_byte(hung[0].gate[1]);
    await_stats(fixture, abandoned, 1);
    next.dones = 0;
    assert_int_equal(submit(fixture, &next, run_at_once, WORKER_NO_DEADLINE), 0);
    run_until_done(fixture, &next);
    assert_done_once(&next, RESULT, &next);

    send_byte(hung[1].gate[1]);
    await_stats(fixture, abandoned, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hung[i].dones, 1);
        assert_int_equal(atomic_load(&hung[i].frees), 1);
        probe_done(&hung[i]);
    }
    probe_done(&next);
}

/* All that was accepted before the ceiling hangs too: threads stay bounded, and work goes on after.
 */
static void threads_stay_bounded_when_more_hang_than_allowed(void **state)
{
    enum { JOBS = 5 };
    struct fixture *fixture = *state;
    const struct worker_config config = {
        .threads = 1, .queue_max = JOBS, .abandoned_max = 1, .grace_ms = 0};
    struct probe hung[JOBS];

    new_pool(fixture, &config);
    for (int i = 0; i < JOBS; i++) {
        probe_init(&hung[i], fixture);
        assert_int_equal(submit(fixture, &hung[i], run_blocked, WORKER_NO_DEADLINE), 0);
    }
    for (int i = 0; i < 2; i++) {
        await_byte(hung[i].started[0]);
        assert_true(worker_cancel(fixture->pool, hung[i].id));
        advance(fixture, 0);
    }
    /* Two hang: the ceiling and the thread that it left. No third is started. */
    assert_int_equal(stats_of(fixture).abandoned, 2);
    assert_int_equal(stats_of(fixture).threads, 0);
    assert_int_equal(stats_of(fixture).queued, JOBS - 2);

    send_byte(hung[0].gate[1]);
    await_stats(fixture, abandoned, 1);
    for (int i = 2; i < JOBS; i++)
        send_byte(hung[i].gate[1]);
    loop_run(fixture->loop);
    for (int i = 2; i < JOBS; i++)
        assert_done_once(&hung[i], RESULT, &hung[i]);
    send_byte(hung[1].gate[1]);
    await_stats(fixture, abandoned, 0);
    for (int i = 0; i < JOBS; i++)
        probe_done(&hung[i]);
}

static void full_queue_refuses_work_until_a_job_is_answered(void **state)
{
    enum { THREADS = 2, QUEUE = 4, ALL = THREADS + QUEUE };
    struct fixture *fixture = *state;
    struct probe probes[ALL + 1];

    for (int i = 0; i <= ALL; i++)
        probe_init(&probes[i], fixture);
    for (int i = 0; i < ALL; i++)
        assert_int_equal(submit(fixture, &probes[i], run_blocked, WORKER_NO_DEADLINE), 0);
    assert_int_equal(submit(fixture, &probes[ALL], run_blocked, WORKER_NO_DEADLINE), ERR_BUSY);
    assert_int_equal(atomic_load(&probes[ALL].frees), 0);
    assert_true(worker_cancel(fixture->pool, probes[ALL - 1].id));
    assert_int_equal(submit(fixture, &probes[ALL], run_blocked, WORKER_NO_DEADLINE), 0);
    for (int i = 0; i <= ALL; i++)
        send_byte(probes[i].gate[1]);
    loop_run(fixture->loop);
    for (int i = 0; i <= ALL; i++) {
        assert_int_equal(probes[i].dones, 1);
        assert_int_equal(atomic_load(&probes[i].frees), 1);
        probe_done(&probes[i]);
    }
}

static void submit_is_refused(void *context, int result, void *data)
{
    struct probe *probe = context;

    note_done(probe, result, data);
    assert_int_equal(submit(probe->fixture, probe, run_at_once, WORKER_NO_DEADLINE), ERR_CANCELLED);
}

static void freeing_the_pool_answers_all_and_joins_those_that_obey(void **state)
{
    struct fixture *fixture = *state;
    struct probe running[2], queued;
    const struct worker_config config = {
        .threads = 2, .queue_max = 4, .abandoned_max = 2, .grace_ms = 60 * 1000};
    const struct worker_job job = {
        .run = run_at_once,
        .done = submit_is_refused,
        .free_data = note_freed,
        .data = &queued,
        .context = &queued,
        .timeout_ms = 50,
    };

    new_pool(fixture, &config);
    probe_init(&queued, fixture);
    for (int i = 0; i < 2; i++) {
        probe_init(&running[i], fixture);
        submit_started(fixture, &running[i], run_until_cancelled, 50);
    }
    assert_int_equal(worker_submit(fixture->pool, &job, &queued.id), 0);
    worker_pool_free(fixture->pool);
    fixture->pool = NULL;
    for (int i = 0; i < 2; i++) {
        assert_done_once(&running[i], ERR_CANCELLED, NULL);
        assert_int_equal(atomic_load(&running[i].frees), 1);
    }
    assert_done_once(&queued, ERR_CANCELLED, NULL);
    assert_int_equal(atomic_load(&queued.runs), 0);
    assert_int_equal(atomic_load(&queued.frees), 1);

    advance(fixture, 1000 * 1000);
    loop_run(fixture->loop);
    assert_int_equal(running[0].dones + running[1].dones + queued.dones, 3);
    for (int i = 0; i < 2; i++)
        probe_done(&running[i]);
    probe_done(&queued);
}

static void freeing_the_pool_delivers_what_has_returned(void **state)
{
    struct fixture *fixture = *state;
    struct probe probe;

    probe_init(&probe, fixture);
    submit_started(fixture, &probe, run_blocked, WORKER_NO_DEADLINE);
    send_byte(probe.gate[1]);
    await_stats(fixture, running, 0);
    worker_pool_free(steal_ptr(&fixture->pool));
    assert_done_once(&probe, RESULT, &probe);
    assert_int_equal(atomic_load(&probe.frees), 1);
    probe_done(&probe);
}

/* One hangs already, another is found hanging; both return after pool and loop are gone. */
static void freeing_the_pool_leaves_hung_workers_behind(void **state)
{
    struct fixture fixture = {.finished = 0};
    const struct worker_config config = {
        .threads = 2, .queue_max = 4, .abandoned_max = 2, .grace_ms = 1};
    struct probe hung[2];

    (void)state;
    clock_fake_init(&fixture.clock, 0);
    assert_int_equal(loop_new(&fixture.clock, &fixture.loop), 0);
    assert_int_equal(worker_pool_new(fixture.loop, &config, &fixture.pool), 0);
    for (int i = 0; i < 2; i++) {
        probe_init(&hung[i], &fixture);
        submit_started(&fixture, &hung[i], run_blocked, WORKER_NO_DEADLINE);
    }
    assert_true(worker_cancel(fixture.pool, hung[0].id));
    advance(&fixture, 1);
    assert_int_equal(stats_of(&fixture).abandoned, 1);
    worker_pool_free(fixture.pool);
    loop_free(fixture.loop);
    for (int i = 0; i < 2; i++) {
        assert_done_once(&hung[i], ERR_CANCELLED, NULL);
        assert_int_equal(atomic_load(&hung[i].frees), 0);
        send_byte(hung[i].gate[1]);
        await_byte(hung[i].freed[0]);
        assert_int_equal(atomic_load(&hung[i].frees), 1);
        assert_int_equal(hung[i].dones, 1);
        probe_done(&hung[i]);
    }
}

static void pool_that_did_nothing_is_freed_and_null_too(void **state)
{
    struct fixture *fixture = *state;

    worker_pool_free(steal_ptr(&fixture->pool));
    worker_pool_free(NULL);
}

static void idle_pool_does_not_keep_the_loop_running(void **state)
{
    struct fixture *fixture = *state;
    struct probe probe;

    loop_run(fixture->loop);
    probe_init(&probe, fixture);
    assert_int_equal(submit(fixture, &probe, run_at_once, WORKER_NO_DEADLINE), 0);
    loop_run(fixture->loop);
    loop_run(fixture->loop);
    probe_done(&probe);
}

/* On the machine's clock, with nobody to push it. */
static void real_deadline_answers_while_the_worker_hangs(void **state)
{
    struct fixture fixture = {.finished = 0};
    const struct worker_config config = {
        .threads = 1, .queue_max = 1, .abandoned_max = 1, .grace_ms = 1};
    struct probe hung;

    (void)state;
    assert_int_equal(loop_new(&clock_system, &fixture.loop), 0);
    assert_int_equal(worker_pool_new(fixture.loop, &config, &fixture.pool), 0);
    probe_init(&hung, &fixture);
    submit_started(&fixture, &hung, run_blocked, 2);
    loop_run(fixture.loop);
    assert_done_once(&hung, ERR_TIMED_OUT, NULL);
    assert_int_equal(stats_of(&fixture).abandoned, 1);
    send_byte(hung.gate[1]);
    await_byte(hung.freed[0]);
    await_stats(&fixture, abandoned, 0);
    worker_pool_free(fixture.pool);
    loop_free(fixture.loop);
    probe_done(&hung);
}

/* Cancels land on jobs in every state at once; each must still be answered and freed once. */
static void cancels_that_race_with_workers_answer_each_job_once(void **state)
{
    enum { JOBS = 400 };
    struct fixture *fixture = *state;
    const struct worker_config config = {
        .threads = 4, .queue_max = JOBS, .abandoned_max = JOBS, .grace_ms = GRACE_MS};
    struct probe *probes = calloc(JOBS, sizeof(*probes));
    struct probe shared;

    assert_non_null(probes);
    new_pool(fixture, &config);
    /* One set of pipes for all: only the byte at the end of freeing is sent. */
    probe_init(&shared, fixture);
    for (int i = 0; i < JOBS; i++) {
        probes[i].fixture = fixture;
        probes[i].freed[1] = shared.freed[1];
        assert_int_equal(submit(fixture, &probes[i], run_at_once, 10), 0);
        if (i % 3 == 0)
            worker_cancel(fixture->pool, probes[i / 2].id);
        if (i % 50 == 0)
            advance(fixture, 3);
    }
    advance(fixture, 10);
    loop_run(fixture->loop);
    worker_pool_free(steal_ptr(&fixture->pool));
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(probes[i].dones, 1);
        await_byte(shared.freed[0]);
    }
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(atomic_load(&probes[i].frees), 1);
    probe_done(&shared);
    free(probes);
}

#define WITH_POOL(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* Those that fork come first, while there are no threads. */
TEST_MAIN(WITH_POOL(job_that_finds_no_thread_is_refused),
          WITH_POOL(job_that_waits_is_run_once_threads_start_again),
          WITH_POOL(job_runs_and_its_result_and_data_come_back),
          WITH_POOL(threads_are_started_only_when_needed),
          WITH_POOL(slow_job_does_not_delay_another),
          WITH_POOL(workers_block_signals_and_take_their_niceness),
          WITH_POOL(thousand_jobs_through_four_threads_all_come_back), WITH_POOL(done_may_submit),
          WITH_POOL(cancelled_queued_job_never_runs),
          WITH_POOL(cancelled_running_job_is_answered_at_once_and_its_token_set),
          WITH_POOL(job_cancelled_after_it_returned_keeps_its_result),
          WITH_POOL(cancelling_a_finished_or_unknown_job_does_nothing),
          WITH_POOL(done_may_cancel_a_job_that_arrived_with_it),
          WITH_POOL(deadline_of_a_queued_job_drops_it),
          WITH_POOL(deadline_of_a_running_job_answers_and_sets_its_token),
          WITH_POOL(job_that_returned_before_its_deadline_was_seen_keeps_its_result),
          WITH_POOL(hung_worker_is_abandoned_replaced_and_later_released),
          WITH_POOL(too_many_hung_workers_refuse_work_until_one_returns),
          WITH_POOL(threads_stay_bounded_when_more_hang_than_allowed),
          WITH_POOL(full_queue_refuses_work_until_a_job_is_answered),
          WITH_POOL(freeing_the_pool_answers_all_and_joins_those_that_obey),
          WITH_POOL(freeing_the_pool_delivers_what_has_returned),
          cmocka_unit_test(freeing_the_pool_leaves_hung_workers_behind),
          WITH_POOL(pool_that_did_nothing_is_freed_and_null_too),
          WITH_POOL(idle_pool_does_not_keep_the_loop_running),
          cmocka_unit_test(real_deadline_answers_while_the_worker_hangs),
          WITH_POOL(cancels_that_race_with_workers_answer_each_job_once))
