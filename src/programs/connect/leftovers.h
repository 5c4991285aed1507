/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that were let go of and end by themselves: nobody speaks to them any more, and they are
 * waited for here, also when who started them is gone. One that somebody has stopped is woken up,
 * and one that does not end is killed with us, unless it may be changing files.
 */
#ifndef PROGRAMS_CONNECT_LEFTOVERS_H
#define PROGRAMS_CONNECT_LEFTOVERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "loop/loop.h"

enum {
    LEFTOVERS_MOST = 4,       /* then the oldest is killed */
    LEFTOVERS_WAIT_MS = 2000, /* for all of them, at our end */
};

struct leftovers {
    struct loop *loop;
    struct list children; /* the oldest first */
    size_t count;
    int64_t wait_ms; /* LEFTOVERS_WAIT_MS; less in tests */
};

void leftovers_init(struct leftovers *leftovers, struct loop *loop);
/*
 * Waits for those that are left, and kills them then. One that may be changing something ends by
 * itself yet, and whoever comes after us waits for it.
 */
void leftovers_done(struct leftovers *leftovers);

/* Nobody else watches it. Without memory it is a zombie until we end. */
void leftovers_add(struct leftovers *leftovers, pid_t pid, bool may_be_changing);

#endif
