/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing for comparisons. Contenders take turns in small rounds, and each round gives a ratio of
 * two that ran within the same few milliseconds: a busy moment of the machine affects both alike.
 * The median of these ratios is reported, because absolute times drift.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stddef.h>

enum { BENCH_MAX_ROUNDS = 200 };

/* A goal that depends on the processor; docs/internals/build.md says why. */
#if defined(__aarch64__)
#define BENCH_BY_ARCH(x86_64, arm64) (arm64)
#else
#define BENCH_BY_ARCH(x86_64, arm64) (x86_64)
#endif

struct bench_contender {
    const char *name;
    void (*run)(void *context); /* one unit of work */
    void *context;
    /* Set by bench_compare(): of one unit in each round, and in the middle one. */
    double round_ns[BENCH_MAX_ROUNDS];
    double middle_ns;
    int rounds;
};

/* Runs `rounds` rounds of about `round_ms` each for every contender. */
void bench_compare(struct bench_contender *contenders, size_t count, int rounds, int round_ms);

/* How many times as long one took as the other. */
double bench_ratio(const struct bench_contender *one, const struct bench_contender *other);

/*
 * Prints one line: what was measured, the ratio, the goal and whether it was
 * met. A missed goal also counts for bench_missed().
 */
void bench_goal_at_least(const char *what, double ratio, double goal);
void bench_goal_at_most(const char *what, double ratio, double goal);
/* A goal that stands alone, without a peer: "us", "MB". */
void bench_goal_at_most_of(const char *what, double value, double goal, const char *unit);
void bench_goal_at_least_of(const char *what, double value, double goal, const char *unit);
int bench_missed(void);

/* What a benchmark exits with when it ran but a goal was not met. */
enum { BENCH_GOALS_MISSED = 3 };

#endif
