/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shell layer with its launcher, in this process: the cost of a command that does nothing,
 * compared with sandbox-runtime; and the speed and memory of reading much output. Arguments: a
 * folder to work in; Node and the peer's program, or neither.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench.h"
#include "boxed_shell.h"

enum {
    ROUNDS = 30,
    ROUND_MS = 60,
    PEER_ROUNDS = 5,
    FLOODS = 5,
    FLOOD_MB = 100,
};

static void fail(const char *what, const struct boxed *boxed)
{
    fprintf(stderr, "bench_shell: %s %s\n", what, boxed != NULL ? boxed->err.message : "");
    exit(1);
}

static void execute(struct boxed *boxed, const char *arguments)
{
    struct boxed_answer answer;
    uint64_t id;

    if (boxed_begin(boxed, "shell_execute", arguments, &answer, &id) < 0 ||
        boxed_wait(boxed, &answer) < 0 ||
        str_find(buf_view(&answer.result), STR("\"exitCode\":0")) == SIZE_MAX)
        fail("a command failed", boxed);
    buf_done(&answer.result);
    arena_reset(&boxed->arena);
}

static void run_true(void *context)
{
    execute(context, "{\"command\":\"true\"}");
}

/* ---- the peer ---- */

struct peer {
    pid_t pid;
    FILE *to;
    FILE *from;
};

static void start_peer(struct peer *peer, char *node, char *program, char *folder)
{
    char *const argv[] = {node, program, folder, NULL};
    posix_spawn_file_actions_t actions;
    int to[2];
    int from[2];

    if (pipe(to) < 0 || pipe(from) < 0)
        fail("no pipe", NULL);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    posix_spawn_file_actions_addclose(&actions, to[1]);
    if (posix_spawn(&peer->pid, node, &actions, NULL, argv, environ) != 0)
        fail("the peer does not start", NULL);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    peer->to = fdopen(to[1], "w");
    peer->from = fdopen(from[0], "r");
}

static void peer_true(void *context)
{
    const struct peer *peer = context;
    char line[16] = "";

    if (fputs("true\n", peer->to) < 0 || fflush(peer->to) != 0 ||
        fgets(line, sizeof(line), peer->from) == NULL || strcmp(line, "0\n") != 0)
        fail("the peer does not run commands here", NULL);
}

static void stop_peer(struct peer *peer)
{
    fclose(peer->to);
    fclose(peer->from);
    waitpid(peer->pid, NULL, 0);
}

/* ---- goals ---- */

static void compare_with_peer(struct boxed *boxed, char *node, char *program)
{
    struct peer peer;
    struct bench_contender both[] = {
        {.name = "gatehouse", .run = run_true, .context = boxed},
        {.name = "sandbox-runtime", .run = peer_true, .context = &peer},
    };

    start_peer(&peer, node, program, boxed->root);
    bench_compare(both, 2, PEER_ROUNDS, ROUND_MS);
    stop_peer(&peer);
    printf("shell_execute of true %.2f ms, with sandbox-runtime %.1f ms\n", both[0].middle_ns / 1e6,
           both[1].middle_ns / 1e6);
    bench_goal_at_least("shell_execute of true: sandbox-runtime takes",
                        bench_ratio(&both[1], &both[0]), 8);
}

static long peak_kb(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static int compare_numbers(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;

    return (*left > *right) - (*left < *right);
}

/* A goal that is no ratio. */
static int goal(const char *what, double value, bool is_met, const char *bound)
{
    printf("  %-58s %7.2f     goal %s  %s\n", what, value, bound, is_met ? "met" : "MISSED");
    return is_met ? 0 : 1;
}

static int measure_flood(struct boxed *boxed)
{
    double rates[FLOODS];
    long before;
    long grown;
    int missed;

    /* What any output needs is there before. */
    execute(boxed, "{\"command\":\"head -c 2000000 /dev/zero\"}");
    before = peak_kb();
    for (int i = 0; i < FLOODS; i++) {
        int64_t start = clock_monotonic_ms(&clock_system);

        execute(boxed, "{\"command\":\"head -c 100000000 /dev/zero\"}");
        rates[i] = FLOOD_MB * 1e3 / (double)(clock_monotonic_ms(&clock_system) - start);
    }
    grown = peak_kb() - before;
    qsort(rates, FLOODS, sizeof(rates[0]), compare_numbers);
    missed = goal("100 MB of output, MB a second", rates[FLOODS / 2], rates[FLOODS / 2] >= 200,
                  ">= 200");
    missed += goal("the same: memory beyond that of 2 MB, in MB", (double)grown / 1024,
                   grown <= 1024, "<= 1");
    return missed;
}

int main(int argc, char **argv)
{
    struct bench_contender alone = {.name = "true", .run = run_true};
    struct boxed boxed;
    int missed;

    if (argc != 2 && argc != 4)
        return 2;
    if (boxed_open(&boxed, argv[1], (struct shell_config){0}) < 0)
        fail("no shell here:", &boxed);
    alone.context = &boxed;
    bench_compare(&alone, 1, ROUNDS, ROUND_MS);
    missed =
        goal("shell_execute of true, ms", alone.middle_ns / 1e6, alone.middle_ns <= 6e6, "<= 6");
    missed += measure_flood(&boxed);
    if (argc == 4)
        compare_with_peer(&boxed, argv[2], argv[3]);
    boxed_close(&boxed);
    return missed + bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}
