/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing for comparisons. Contenders take turns in small rounds and each keeps
 * its best round, so that a busy moment of the machine hits all alike and
 * drops out. Ratios are what is reported; absolute times drift.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stddef.h>

struct bench_contender {
    const char *name;
    void (*run)(void *context); /* one unit of work */
    void *context;
    double best_ns; /* of one unit; set by bench_compare */
};

/* Runs `rounds` rounds of about `round_ms` each for every contender. */
void bench_compare(struct bench_contender *contenders, size_t count, int rounds, int round_ms);

/*
 * Prints one line: what was measured, the ratio, the goal and whether it was
 * met. A missed goal also counts for bench_missed().
 */
void bench_goal_at_least(const char *what, double ratio, double goal);
void bench_goal_at_most(const char *what, double ratio, double goal);
int bench_missed(void);

/* What a benchmark exits with when it ran but a goal was not met. */
enum { BENCH_GOALS_MISSED = 3 };

#endif
