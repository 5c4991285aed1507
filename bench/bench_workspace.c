/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long `gatehouse workspace new` takes for 24,000 files, beside `cp -a` of the same tree, in
 * turn, and how long `gatehouse workspace diff` takes to find no change. Arguments: a directory to
 * work in, and gatehouse-workspace.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "program_run.h"
#include "source_tree.h"

enum { TURNS = 7 };

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double time_of(struct program_run *run)
{
    double began = now_ns();

    program_run(run);
    return now_ns() - began;
}

static int compare(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;

    return (*x > *y) - (*x < *y);
}

static double middle(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

static struct program_run command(const char *program, const char *what, const char *state,
                                  const char *rest, const char *last)
{
    struct program_run run = {.arguments = {program, what, "--state-dir", state, rest, last}};

    buf_init(&run.answer, PROGRAM_RUN_ANSWER_BYTES);
    return run;
}

int main(int argc, char **argv)
{
    char tree[PATH_MAX];
    char copy[PATH_MAX];
    char state[PATH_MAX];
    double ours[TURNS];
    double theirs[TURNS];
    double ratios[TURNS];
    double diffs[TURNS];
    struct program_run cp = {.arguments = {"/bin/cp", "-a", tree, copy}};
    struct program_run new;
    struct program_run diff;
    struct program_run rm;

    if (argc != 3)
        return 2;
    snprintf(tree, sizeof(tree), "%s/tree", argv[1]);
    snprintf(copy, sizeof(copy), "%s/copy", argv[1]);
    snprintf(state, sizeof(state), "%s/state", argv[1]);
    buf_init(&cp.answer, PROGRAM_RUN_ANSWER_BYTES);
    new = command(argv[2], "new", state, "--name=bench", tree);
    diff = command(argv[2], "diff", state, "bench", NULL);
    rm = command(argv[2], "rm", state, "bench", NULL);
    source_tree_make(tree);
    for (int i = 0; i < TURNS; i++) {
        theirs[i] = time_of(&cp);
        ours[i] = time_of(&new);
        diffs[i] = time_of(&diff);
        ratios[i] = ours[i] / theirs[i];
        program_run(&rm);
        source_tree_remove(copy);
    }
    source_tree_remove(tree);
    source_tree_remove(state);
    printf("24,000 files: cp -a %.0f ms, workspace new %.0f ms, diff %.0f ms\n",
           middle(theirs, TURNS) / 1e6, middle(ours, TURNS) / 1e6, middle(diffs, TURNS) / 1e6);
    bench_goal_at_most("workspace new, beside cp -a", middle(ratios, TURNS), 1.5);
    return bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}
