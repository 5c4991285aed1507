/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches a child process started by the caller, reports once how it ended, and sends it signals
 * that can reach no other process. It starts nothing: launching commands, and their process groups,
 * belong to isolate.
 *
 * The watch must be the only one that reaps the process; nobody else may wait for it, nor for any
 * process (waitpid(-1)). Uses pidfds if the kernel has them, else SIGCHLD, checking the watched
 * pids one by one.
 */
#ifndef LOOP_CHILD_H
#define LOOP_CHILD_H

#include <sys/types.h>

#include "loop/loop.h"

enum child_end {
    CHILD_EXITED,   /* value: the exit code */
    CHILD_SIGNALED, /* value: the signal that killed it */
    CHILD_LOST,     /* gone, but reaped elsewhere (SIGCHLD ignored): value 0 */
};

struct child_exit {
    enum child_end end;
    int value;
};

struct child;

/*
 * pid is an unreaped child of this process; it may have ended already. on_exit is called once,
 * never from inside this function, and not before a tracer has released the child. A watched child
 * keeps loop_run() running until then; one held by a tracer does so like a timer.
 */
int child_watch(struct loop *loop, pid_t pid, void (*on_exit)(void *data, struct child_exit exit),
                void *data, struct child **out_child);

/*
 * Allowed inside on_exit. Before that it ends the watch, not the process: the caller must then wait
 * for the pid.
 */
void child_free(struct child *child);

/* ERR_NOT_FOUND once the process was reaped. */
int child_signal(struct child *child, int signum);

/* For tests: watch as on a kernel without pidfds. Call before the first child_watch(). */
void child_use_sigchld(struct loop *loop);

#endif
