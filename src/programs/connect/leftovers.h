/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes that were released and exit by themselves: nobody talks to them any more, and
 * they are reaped here, even if their creator is gone. A stopped one is continued; one that does
 * not exit is killed when the daemon ends, unless it may be changing files.
 */
#ifndef PROGRAMS_CONNECT_LEFTOVERS_H
#define PROGRAMS_CONNECT_LEFTOVERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "loop/loop.h"

enum {
    /* Beyond that the oldest is killed, one that may be changing something last. */
    LEFTOVERS_MOST = 4,
    LEFTOVERS_WAIT_MS = 2000, /* for all of them, when the daemon ends */
};

struct leftovers {
    struct loop *loop;
    struct list children; /* oldest first */
    size_t count;
    int64_t wait_ms; /* LEFTOVERS_WAIT_MS; shorter in tests */
};

void leftovers_init(struct leftovers *leftovers, struct loop *loop);
/*
 * Waits for the remaining children, then kills them. One that may be changing something is left to
 * exit by itself, and the next process waits for it.
 */
void leftovers_done(struct leftovers *leftovers);

/* Nobody else may watch it. Without memory it stays a zombie until we exit. */
void leftovers_add(struct leftovers *leftovers, pid_t pid, bool may_be_changing);

#endif
