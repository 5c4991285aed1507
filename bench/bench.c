/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static int by_size(const void *one, const void *other)
{
    double a = *(const double *)one;
    double b = *(const double *)other;

    return (a > b) - (a < b);
}

static double middle(const double *values, int count)
{
    double sorted[BENCH_MAX_ROUNDS];

    memcpy(sorted, values, (size_t)count * sizeof(*values));
    qsort(sorted, (size_t)count, sizeof(*sorted), by_size);
    return sorted[count / 2];
}

void bench_compare(struct bench_contender *contenders, size_t count, int rounds, int round_ms)
{
    for (size_t i = 0; i < count; i++) {
        contenders[i].middle_ns = time_units(&contenders[i], 1);
        contenders[i].rounds = rounds < BENCH_MAX_ROUNDS ? rounds : BENCH_MAX_ROUNDS;
    }
    for (int round = 0; round < contenders[0].rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            struct bench_contender *contender = &contenders[i];
            double fit = (double)round_ms * 1e6 / contender->middle_ns;

            contender->round_ns[round] = time_units(contender, fit < 1 ? 1 : (long)fit);
            contender->middle_ns = middle(contender->round_ns, round + 1);
        }
    }
}

double bench_ratio(const struct bench_contender *one, const struct bench_contender *other)
{
    double ratios[BENCH_MAX_ROUNDS];

    for (int round = 0; round < one->rounds; round++)
        ratios[round] = one->round_ns[round] / other->round_ns[round];
    return middle(ratios, one->rounds);
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

void bench_goal_at_most_of(const char *what, double value, double goal, const char *unit)
{
    printf("  %-58s %7.2f %s  goal <= %.2f %s  %s\n", what, value, unit, goal, unit,
           value <= goal ? "met" : "MISSED");
    missed += value > goal;
}

void bench_goal_at_least_of(const char *what, double value, double goal, const char *unit)
{
    printf("  %-58s %7.2f %s  goal >= %.2f %s  %s\n", what, value, unit, goal, unit,
           value >= goal ? "met" : "MISSED");
    missed += value < goal;
}

int bench_missed(void)
{
    return missed;
}
