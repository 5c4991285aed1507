/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that were let go of and end by themselves: nobody speaks to them any more, and they are
 * waited for here, also when who started them is gone.
 */
#ifndef DAEMON_LEFTOVERS_H
#define DAEMON_LEFTOVERS_H

#include <sys/types.h>

#include "base/list.h"
#include "loop/loop.h"

enum { LEFTOVERS_MOST = 4 }; /* then the oldest is killed */

struct leftovers {
    struct loop *loop;
    struct list children; /* the oldest first */
    size_t count;
};

void leftovers_init(struct leftovers *leftovers, struct loop *loop);
/* Those that are left end by themselves yet, and whoever comes after us waits for them. */
void leftovers_done(struct leftovers *leftovers);

/* Nobody else watches it. Without memory it is a zombie until we end. */
void leftovers_add(struct leftovers *leftovers, pid_t pid);

#endif
