/* SPDX-License-Identifier: Apache-2.0 */
#include "program_run.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 16 };

extern char **environ;

__attribute__((noreturn)) static void die(const struct program_run *run, const char *what)
{
    fprintf(stderr, "%s: %s\n", run->arguments[0], what);
    exit(1);
}

static void read_answer(struct program_run *run, int fd)
{
    struct buf *answer = &run->answer;
    ssize_t got;

    buf_clear(answer);
    do {
        if (buf_reserve(answer, PIECE_BYTES) < 0)
            die(run, "its answer is too long");
        got = read(fd, answer->data + answer->len, PIECE_BYTES);
        answer->len += got > 0 ? (size_t)got : 0;
    } while (got > 0);
}

void program_run(struct program_run *run)
{
    posix_spawn_file_actions_t actions;
    struct rusage usage;
    char *argv[PROGRAM_RUN_ARGUMENTS];
    int pipe_fds[2];
    int status;
    pid_t pid;

    for (size_t i = 0; i < PROGRAM_RUN_ARGUMENTS; i++)
        /* SAFETY: posix_spawn does not change its arguments, whatever its type says. */
        argv[i] = (char *)(uintptr_t)run->arguments[i];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        die(run, "no pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
    if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) != 0)
        die(run, "did not start");
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fds[1]);
    read_answer(run, pipe_fds[0]);
    close(pipe_fds[0]);
    if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) ||
        WEXITSTATUS(status) > run->worst_status)
        die(run, "failed");
    if (usage.ru_maxrss > run->peak_kb)
        run->peak_kb = usage.ru_maxrss;
}
