/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another program of ours as a child, with a socket between us and nothing else in common but
 * standard error and the variables that do not look like a secret. Which program is our own choice,
 * never that of somebody outside. Watching the child is the caller's (loop/child.h).
 */
#ifndef ISOLATE_COMPANION_H
#define ISOLATE_COMPANION_H

#include <sys/types.h>

#include "base/err.h"

enum { COMPANION_FD = 3 }; /* where the child has its end of the socket */

struct companion {
    pid_t pid;
    int fd; /* our end: a stream, closed by exec */
};

/*
 * error_fd becomes the child's standard error. `name` is looked for beside this program and then in
 * `libexec`. argv ends in a NULL; its first word is the name. Threads may be about.
 */
int companion_start(const char *name, const char *libexec, const char *const *argv, int error_fd,
                    struct companion *out_companion, struct err *err);

/*
 * For the child, and as early as may be: who started it may be killed while it is stopped, and then
 * it goes on and sees its socket close.
 */
void companion_wake_with_parent(void);

/*
 * For the child, when it has seen that: from here on it is not woken. A sanitizer's search for
 * leaks, the last thing that it does, stops all threads and hangs if something lets them go on.
 */
void companion_end_by_itself(void);

#endif
