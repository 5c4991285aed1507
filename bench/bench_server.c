/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway server and one written for Node that does the same work:
 *
 *     bench_server compare EMPTY OURS THEIRS    EMPTY: a PID; the others PID:PORT, on 127.0.0.1
 *     bench_server calls OURS AGENTS            calls alone, of so many agents, for a profiler
 *     bench_server tail OURS                    the longest calls alone, without real daemons
 *     bench_server restart OURS                 prints "connected"; then its caller restarts it
 *
 * Both know the machines of users 1 to 10,000 and the agents of 1 to 1,020; the machines of the
 * last twenty of these are real daemons, at our server. See bench/server, which prepares all this,
 * and tests/support/gateway_crowd.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "gateway_crowd.h"
#include "process.h"

enum {
    MACHINES = 10000,
    CALLED = 1000,     /* machines that are called */
    REAL_DAEMONS = 20, /* after these */
    AT_ONCE = 32,
    WARM_UP = 3000, /* calls */
    ROUNDS = 9,
    ROUND_CALLS = 1500,
    FIRST_RESTARTED = 2001, /* all of the crowd */
    RESTARTED = 2000,
    ANSWER_BYTES = 4096,
    PING_MS = 15000,
    PING_CALLS_PER_SECOND = 200,
    LATENCY_SECONDS = 8,
    MOST_TIMES = 200000,
};

static const double stream_goal_kb = 2;
static const double stream_goal = 1.0 / 5;
static const double ping_goal_ms = 1000;
static const double ping_delay_goal_ms = 50;
static const double call_cpu_goal_us = 60;
static const double call_goal = 4;
static const double tail_goal = 5;
static const double restart_goal_s = 40;

struct server {
    const char *name;
    pid_t pid;
    uint16_t port;
};

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "bench_server: %s\n", what);
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

static double at_part(double *values, size_t count, double part)
{
    if (count == 0)
        die("nothing was measured");
    qsort(values, count, sizeof(*values), by_value);
    return values[(size_t)((double)(count - 1) * part)];
}

/* ---- what the crowd tells ---- */

static double took_ns[MOST_TIMES];
static size_t took_count;
static double real_ns[MOST_TIMES]; /* of these, the calls of real daemons */
static size_t real_count;
static double played_ns[MOST_TIMES]; /* and those of the machines that this program plays */
static size_t played_count;
static unsigned long failed_calls;
static unsigned long ended_calls;
static double due_ns[MACHINES + 1]; /* when a stream's next ping is due */
static double late_ns[MACHINES];
static size_t late_count;
static struct crowd *calling; /* set: when an agent has its answer, the next one calls */
static unsigned long calls_left;
static unsigned callers; /* take turns */
static unsigned last_caller;

static unsigned common_divisor(unsigned a, unsigned b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/*
 * Whose turn is next: everybody once before anybody again, and neighbours far apart. The real
 * daemons have the last numbers, and called one after the other they would be a burst of work.
 */
static unsigned next_of(unsigned user, unsigned users)
{
    unsigned step = users * 5 / 8;

    while (common_divisor(step, users) > 1)
        step++;
    return (user - 1 + step) % users + 1;
}

static void call_next(struct crowd *crowd)
{
    if (last_caller == 0 || last_caller > callers)
        last_caller = 1;
    do
        last_caller = next_of(last_caller, callers);
    while (!crowd_call(crowd, last_caller));
}

static void on_opened(void *data, unsigned user, double at_ns)
{
    (void)data;
    due_ns[user] = at_ns + PING_MS * 1e6;
}

static void on_pinged(void *data, unsigned user, double at_ns)
{
    (void)data;
    if (late_count < MACHINES && due_ns[user] > 0)
        late_ns[late_count++] = at_ns - due_ns[user];
    due_ns[user] = at_ns + PING_MS * 1e6;
}

static void on_answered(void *data, unsigned user, int status, double spent_ns)
{
    (void)data;
    ended_calls++;
    failed_calls += status != 200;
    if (took_count < MOST_TIMES)
        took_ns[took_count++] = spent_ns;
    if (user > CALLED && real_count < MOST_TIMES)
        real_ns[real_count++] = spent_ns;
    else if (user <= CALLED && played_count < MOST_TIMES)
        played_ns[played_count++] = spent_ns;
    due_ns[user] = 0; /* its event came in place of a ping */
    if (calling != NULL && calls_left > 0) {
        calls_left--;
        call_next(calling);
    }
}

static struct crowd *meet(const struct server *server, bool begins_with_init)
{
    return crowd_new(&(struct crowd_config){.port = server->port,
                                            .count = MACHINES,
                                            .answer_bytes = ANSWER_BYTES,
                                            .begins_with_init = begins_with_init,
                                            .opened = on_opened,
                                            .pinged = on_pinged,
                                            .answered = on_answered});
}

static void connect_machines(struct crowd *crowd, unsigned first, unsigned last)
{
    unsigned wanted = crowd_counts(crowd)->streams + last - first + 1;

    crowd_connect(crowd, first, last);
    if (!crowd_wait_streams(crowd, wanted, 120e9))
        die("not every machine was let in");
}

static void check(const struct crowd *crowd)
{
    const struct crowd_counts *counts = crowd_counts(crowd);

    if (failed_calls > 0 || counts->bad > 0 || counts->lost > 0 || counts->dismissed > 0) {
        fprintf(stderr, "%lu calls failed, %lu bad answers, %u streams lost, %u dismissed\n",
                failed_calls, counts->bad, counts->lost, counts->dismissed);
        die("a server failed");
    }
}

/* ---- calls as fast as they go ---- */

static void call_many(struct crowd *crowd, unsigned users, unsigned long calls)
{
    unsigned long end = ended_calls + calls;

    calling = crowd;
    callers = users;
    calls_left = calls - AT_ONCE;
    for (unsigned i = 0; i < AT_ONCE; i++)
        call_next(crowd);
    while (ended_calls < end)
        crowd_turn(crowd, 1e9);
    calling = NULL;
}

/* Calls with constant time between them, whatever the answers do: users in turn. */
static void call_steadily(struct crowd *crowd, double per_second, double seconds, unsigned users)
{
    const double step_ns = 1e9 / per_second;
    double next = crowd_now_ns();
    const double end = next + seconds * 1e9;
    unsigned user = 1;

    while (next < end) {
        double now = crowd_now_ns();

        while (next <= now) {
            next += step_ns;
            user = next_of(user, users);
            crowd_call(crowd, user);
        }
        crowd_turn(crowd, next - now);
    }
}

static double cpu_per_call(const struct server *server, struct crowd *crowd, unsigned users,
                           unsigned long calls, double *out_per_second)
{
    double cpu = process_cpu_ns(server->pid);
    double start = crowd_now_ns();

    call_many(crowd, users, calls);
    *out_per_second = (double)calls / ((crowd_now_ns() - start) / 1e9);
    return (process_cpu_ns(server->pid) - cpu) / (double)calls;
}

static void compare_calls(const struct server *ours, struct crowd *our_crowd,
                          const struct server *theirs, struct crowd *their_crowd)
{
    double our_cpu[ROUNDS];
    double their_cpu[ROUNDS];
    double our_rate[ROUNDS];
    double their_rate[ROUNDS];
    double ratios[ROUNDS];
    double cpu;

    call_many(our_crowd, CALLED, WARM_UP);
    call_many(their_crowd, CALLED, WARM_UP);
    for (int i = 0; i < ROUNDS; i++) {
        our_cpu[i] = cpu_per_call(ours, our_crowd, CALLED, ROUND_CALLS, &our_rate[i]);
        their_cpu[i] = cpu_per_call(theirs, their_crowd, CALLED, ROUND_CALLS, &their_rate[i]);
        ratios[i] = our_rate[i] / their_rate[i];
    }
    cpu = at_part(our_cpu, ROUNDS, 0.5);
    printf("a call, agent to machine and back, 4 KB: ours %.1f us of CPU, %.0f a second; theirs "
           "%.1f us, %.0f a second\n",
           cpu / 1e3, at_part(our_rate, ROUNDS, 0.5), at_part(their_cpu, ROUNDS, 0.5) / 1e3,
           at_part(their_rate, ROUNDS, 0.5));
    bench_goal_at_most_of("CPU of a call", cpu / 1e3, call_cpu_goal_us, "us");
    bench_goal_at_least("calls per second", at_part(ratios, ROUNDS, 0.5), call_goal);
}

static void print_part(const char *whose, double *times, size_t count)
{
    double middle = at_part(times, count, 0.5);
    double tail = at_part(times, count, 0.99);

    printf("of these, %s: 50 of 100 within %.2f ms, 99 within %.2f ms, %.1f x\n", whose,
           middle / 1e6, tail / 1e6, tail / middle);
}

/* The most is that of the same machines, just before. */
static void measure_tail(struct crowd *crowd, unsigned users)
{
    double per_second;
    double middle;
    double start;
    double tail;

    call_many(crowd, users, WARM_UP);
    start = crowd_now_ns();
    call_many(crowd, users, (unsigned long)ROUNDS * ROUND_CALLS);
    per_second = (double)ROUNDS * ROUND_CALLS / ((crowd_now_ns() - start) / 1e9);
    took_count = 0;
    real_count = 0;
    played_count = 0;
    call_steadily(crowd, per_second / 2, LATENCY_SECONDS, users);
    crowd_run(crowd, 1e9);
    middle = at_part(took_ns, took_count, 0.5);
    tail = at_part(took_ns, took_count, 0.99);
    printf("%u machines at %.0f calls a second, half of the most: 50 of 100 within %.2f ms, 99 "
           "within %.2f ms\n",
           users, per_second / 2, middle / 1e6, tail / 1e6);
    /* Two calls of a hundred are for real daemons, which read a file: that is most of the tail. */
    if (real_count > 0) {
        print_part("real daemons", real_ns, real_count);
        print_part("machines played by the benchmark", played_ns, played_count);
    }
    bench_goal_at_most("99 of 100 calls beside 50", tail / middle, tail_goal);
}

/* ---- streams ---- */

static double memory_of(const struct server *server, double before_kb, struct crowd *crowd)
{
    double start = crowd_now_ns();

    connect_machines(crowd, 1, CALLED);
    connect_machines(crowd, CALLED + REAL_DAEMONS + 1, MACHINES);
    printf("%s: %d streams open within %.1f s\n", server->name, MACHINES,
           (crowd_now_ns() - start) / 1e9);
    return (process_pss_kb(server->pid) - before_kb) / MACHINES;
}

/* What a server without machines holds is not a machine's. The crowd of ours is returned. */
static struct crowd *compare_memory(pid_t empty, const struct server *ours,
                                    const struct server *theirs)
{
    struct crowd *their_crowd = meet(theirs, true);
    double their_kb = memory_of(theirs, process_pss_kb(theirs->pid), their_crowd);
    struct crowd *our_crowd;
    double our_kb;

    crowd_free(their_crowd);
    our_crowd = meet(ours, false);
    our_kb = memory_of(ours, process_pss_kb(empty), our_crowd);
    printf("%d machines that wait: ours %.2f KB each, theirs %.2f KB\n", MACHINES, our_kb,
           their_kb);
    bench_goal_at_most_of("memory of a machine", our_kb, stream_goal_kb, "KB");
    bench_goal_at_most("memory of a machine", our_kb / their_kb, stream_goal);
    return our_crowd;
}

/* Longest of the calls that are made while `seconds` pass. */
static double slowest_call(struct crowd *crowd, double seconds)
{
    took_count = 0;
    call_steadily(crowd, PING_CALLS_PER_SECOND, seconds, CALLED / 10);
    return at_part(took_ns, took_count, 1);
}

/*
 * A second round, so that all are due as close together as the first left them: their pings are
 * each 15 s after the last.
 */
static void measure_pings(const struct server *server, struct crowd *crowd)
{
    double quiet;
    double pinged;
    double cpu;

    crowd_run(crowd, 100e6);
    quiet = slowest_call(crowd, PING_MS / 1e3);
    late_count = 0;
    cpu = process_cpu_ns(server->pid);
    pinged = slowest_call(crowd, PING_MS / 1e3 + 2);
    cpu = process_cpu_ns(server->pid) - cpu;
    printf("pings to %zu streams: the last one %.0f ms late, 99 of 100 %.0f ms; %.0f ms of CPU "
           "with the calls beside them; the slowest of these %.1f ms, %.1f ms the round before\n",
           late_count, at_part(late_ns, late_count, 1) / 1e6,
           at_part(late_ns, late_count, 0.99) / 1e6, cpu / 1e6, pinged / 1e6, quiet / 1e6);
    bench_goal_at_most_of("pings to all", at_part(late_ns, late_count, 1) / 1e6, ping_goal_ms,
                          "ms late");
    bench_goal_at_most_of("delay of a call by the pings",
                          pinged > quiet ? (pinged - quiet) / 1e6 : 0, ping_delay_goal_ms, "ms");
}

/* ---- what is asked ---- */

static struct server server_of(const char *name, const char *given)
{
    char *end;
    struct server server = {.name = name, .pid = (pid_t)strtol(given, &end, 10)};

    if (*end != ':')
        die("a server is PID:PORT");
    server.port = (uint16_t)strtol(end + 1, NULL, 10);
    return server;
}

static void compare(const char *empty, const char *our_name, const char *their_name)
{
    struct server ours = server_of("ours", our_name);
    struct server theirs = server_of("theirs", their_name);
    struct crowd *our_crowd = compare_memory((pid_t)strtol(empty, NULL, 10), &ours, &theirs);
    struct crowd *their_crowd;

    measure_pings(&ours, our_crowd);
    check(our_crowd);
    crowd_free(our_crowd);

    our_crowd = meet(&ours, false);
    their_crowd = meet(&theirs, true);
    connect_machines(our_crowd, 1, CALLED);
    connect_machines(their_crowd, 1, CALLED);
    compare_calls(&ours, our_crowd, &theirs, their_crowd);
    crowd_free(their_crowd);
    measure_tail(our_crowd, CALLED + REAL_DAEMONS);
    check(our_crowd);
    crowd_free(our_crowd);
}

/* For a profiler beside it. */
static void call_alone(const char *name, unsigned agents)
{
    struct server server = server_of("ours", name);
    struct crowd *crowd = meet(&server, false);
    double per_second;
    double cpu;

    if (agents < AT_ONCE || agents > CALLED)
        die("there must be 32 to 1,000 agents");
    connect_machines(crowd, 1, agents);
    call_many(crowd, agents, WARM_UP);
    cpu = cpu_per_call(&server, crowd, agents, (unsigned long)ROUND_CALLS * ROUNDS, &per_second);
    printf("a call: %.1f us of CPU, %.0f a second\n", cpu / 1e3, per_second);
    check(crowd);
    crowd_free(crowd);
}

static void tail_alone(const char *name)
{
    struct server server = server_of("ours", name);
    struct crowd *crowd = meet(&server, false);

    connect_machines(crowd, 1, CALLED);
    measure_tail(crowd, CALLED);
    check(crowd);
    crowd_free(crowd);
}

static void restart(const char *name)
{
    struct server server = server_of("ours", name);
    struct crowd *crowd = crowd_new(&(struct crowd_config){
        .port = server.port, .count = MACHINES, .answer_bytes = ANSWER_BYTES, .comes_back = true});
    double start;
    double spent;

    connect_machines(crowd, FIRST_RESTARTED, FIRST_RESTARTED + RESTARTED - 1);
    printf("connected\n");
    while (crowd_counts(crowd)->lost == 0)
        crowd_run(crowd, 10e6);
    start = crowd_now_ns();
    crowd_run(crowd, 10e6);
    if (!crowd_wait_streams(crowd, RESTARTED, 120e9))
        die("not every machine came back");
    spent = crowd_now_ns() - start;
    printf("restart with %d machines: all back after %.1f s, %u lost\n", RESTARTED, spent / 1e9,
           crowd_counts(crowd)->dismissed);
    bench_goal_at_most_of("all machines back", spent / 1e9, restart_goal_s, "s");
    bench_goal_at_most_of("machines lost", crowd_counts(crowd)->dismissed, 0, "");
    crowd_free(crowd);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 5 && strcmp(argv[1], "compare") == 0)
        compare(argv[2], argv[3], argv[4]);
    else if (argc == 3 && strcmp(argv[1], "restart") == 0)
        restart(argv[2]);
    else if (argc == 3 && strcmp(argv[1], "tail") == 0)
        tail_alone(argv[2]);
    else if (argc == 4 && strcmp(argv[1], "calls") == 0)
        call_alone(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
    else
        die("usage: bench_server compare EMPTY OURS THEIRS | calls OURS AGENTS | tail|restart "
            "OURS");
    return bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}
