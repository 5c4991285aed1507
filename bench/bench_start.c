/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a program takes to start and end: an empty C program beside an
 * empty one that links base. Arguments: the two programs.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "bench.h"

enum { ROUNDS = 30, ROUND_MS = 40 };

extern char **environ;

static void start_and_wait(void *program)
{
    char *const argv[] = {program, NULL};
    pid_t pid;
    int status;

    if (posix_spawn(&pid, program, NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "bench_start: %s did not run\n", (char *)program);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct bench_contender starts[2];

    if (argc != 3)
        return 2;
    starts[0] =
        (struct bench_contender){.name = "empty", .run = start_and_wait, .context = argv[1]};
    starts[1] = (struct bench_contender){.name = "base", .run = start_and_wait, .context = argv[2]};
    bench_compare(starts, 2, ROUNDS, ROUND_MS);
    printf("start and end of an empty program %.0f us, linking base %.0f us\n",
           starts[0].middle_ns / 1e3, starts[1].middle_ns / 1e3);
    bench_goal_at_most("start of a program that links base", bench_ratio(&starts[1], &starts[0]),
                       1.2);
    return bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}
