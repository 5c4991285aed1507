/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a system program that helps us, such as the one that shows a notification: without a
 * sandbox, because it must reach the user's session, and so only with a path and options from our
 * source. Untrusted text may only follow a "--". For commands that an agent chooses, use box.h and
 * launcher.h.
 */
#ifndef ISOLATE_HELPER_H
#define ISOLATE_HELPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct helper {
    const char *path;        /* absolute */
    const char *const *argv; /* NULL-terminated */
    const char *const *env;  /* the whole environment, NULL-terminated */
    bool has_output;         /* its output goes to output_fd, the end of a pipe; else nowhere */
    int output_fd;
};

/*
 * It has no input, its errors are dropped, it inherits no descriptors, has default signal handling
 * and its own process group. The caller watches it (loop/child.h), kills it if it takes too long,
 * and reaps it.
 */
int helper_start(const struct helper *helper, pid_t *out_pid, struct err *err);

/* Whether there is such a program, which we may run. */
bool helper_is_installed(const char *path);

#endif
