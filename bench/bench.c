/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static int missed;

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double time_units(const struct bench_contender *contender, long units)
{
    double start = now_ns();

    for (long i = 0; i < units; i++)
        contender->run(contender->context);
    return (now_ns() - start) / (double)units;
}

void bench_compare(struct bench_contender *contenders, size_t count, int rounds, int round_ms)
{
    for (size_t i = 0; i < count; i++)
        contenders[i].best_ns = time_units(&contenders[i], 1);
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            double fit = (double)round_ms * 1e6 / contenders[i].best_ns;
            double ns = time_units(&contenders[i], fit < 1 ? 1 : (long)fit);

            if (ns < contenders[i].best_ns)
                contenders[i].best_ns = ns;
        }
    }
}

static void print_goal(const char *what, double ratio, const char *relation, double goal,
                       bool is_met)
{
    printf("  %-58s %7.2f x   goal %s %.2f x   %s\n", what, ratio, relation, goal,
           is_met ? "met" : "MISSED");
    missed += !is_met;
}

void bench_goal_at_least(const char *what, double ratio, double goal)
{
    print_goal(what, ratio, ">=", goal, ratio >= goal);
}

void bench_goal_at_most(const char *what, double ratio, double goal)
{
    print_goal(what, ratio, "<=", goal, ratio <= goal);
}

int bench_missed(void)
{
    return missed;
}
