/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a program of the system that helps us, such as the one that shows a notification: in no
 * box, because it has to reach the user's session, and so only one whose path and options are
 * written in our source. What comes from outside stands behind a "--" at most. For commands that an
 * agent chooses there are box.h and launcher.h.
 */
#ifndef ISOLATE_HELPER_H
#define ISOLATE_HELPER_H

#include <sys/types.h>

#include "base/err.h"

struct helper {
    const char *path;        /* absolute */
    const char *const *argv; /* up to a NULL */
    const char *const *env;  /* all of it, up to a NULL */
};

/*
 * It reads nothing, what it writes is lost, it has no descriptor of ours, the usual signals and a
 * process group of its own. The caller watches it (loop/child.h), ends it when it takes too long,
 * and waits for it.
 */
int helper_start(const struct helper *helper, pid_t *out_pid, struct err *err);

#endif
