/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox costs a command that does nothing: /bin/true started plainly, by bubblewrap and
 * by `gatehouse sandbox run`, front door included. Arguments: gatehouse, and bwrap if there is one.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "bench.h"

enum { ROUNDS = 40, ROUND_MS = 60, MAX_WORDS = 32 };

extern char **environ;

static void start_and_wait(void *words)
{
    char *const *argv = words;
    pid_t pid;
    int status;

    if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "bench_sandbox: %s did not run\n", argv[0]);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const char *plain[] = {"/bin/true", NULL};
    const char *ours[] = {argc > 1 ? argv[1] : NULL, "sandbox", "run", "--", "/bin/true", NULL};
    /* As its users write it down: what a command needs of the system, and nothing else. */
    const char *peer[MAX_WORDS] = {argc > 2 ? argv[2] : NULL,
                                   "--unshare-all",
                                   "--ro-bind",
                                   "/usr",
                                   "/usr",
                                   "--ro-bind",
                                   "/bin",
                                   "/bin",
                                   "--ro-bind",
                                   "/lib",
                                   "/lib",
                                   "--ro-bind-try",
                                   "/lib64",
                                   "/lib64",
                                   "--ro-bind",
                                   "/etc",
                                   "/etc",
                                   "--proc",
                                   "/proc",
                                   "--dev",
                                   "/dev",
                                   "--tmpfs",
                                   "/tmp",
                                   "/bin/true",
                                   NULL};
    struct bench_contender starts[] = {
        {.name = "plain", .run = start_and_wait, .context = plain},
        {.name = "gatehouse", .run = start_and_wait, .context = ours},
        {.name = "bwrap", .run = start_and_wait, .context = peer},
    };

    if (argc < 2)
        return 2;
    bench_compare(starts, argc > 2 ? 3 : 2, ROUNDS, ROUND_MS);
    printf("a command that does nothing: plainly %.0f us, in a sandbox %.0f us",
           starts[0].middle_ns / 1e3, starts[1].middle_ns / 1e3);
    if (argc > 2)
        printf(", by bwrap %.0f us", starts[2].middle_ns / 1e3);
    printf("\n");
    bench_goal_at_most("sandbox run beside a plain start", bench_ratio(&starts[1], &starts[0]),
                       BENCH_BY_ARCH(7.0, 8.0));
    if (argc > 2)
        bench_goal_at_most("sandbox run beside bwrap", bench_ratio(&starts[1], &starts[2]), 1.0);
    else
        printf("bwrap is not to be had: the sandbox is compared with a plain start only\n");
    return bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}
