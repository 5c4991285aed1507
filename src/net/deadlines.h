/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timeouts for very many objects. All deadlines of a ring wait equally long, so a ring is always
 * sorted: starting and stopping cost a few pointers, and one timer of the loop serves all rings of
 * a set. A deadline is embedded in its owner.
 */
#ifndef NET_DEADLINES_H
#define NET_DEADLINES_H

#include <stdint.h>

#include "base/list.h"
#include "loop/timer.h"

enum {
    DEADLINES_MAX_RINGS = 6,
    DEADLINES_A_TURN = 256, /* expired at once, before the loop handles other events */
};

struct deadline {
    struct list node;
    int64_t due_ms;
};

struct deadlines;

struct deadline_ring {
    struct deadlines *set;
    struct list waiting;
    int64_t after_ms;
    /* May start and stop any deadline, and free its owner. */
    void (*expire)(struct deadline *deadline);
};

struct deadlines {
    struct loop *loop;
    struct timer timer;
    struct deadline_ring rings[DEADLINES_MAX_RINGS];
    size_t ring_count;
};

void deadlines_init(struct deadlines *set, struct loop *loop);

/* Every deadline of the set must have been stopped. */
void deadlines_done(struct deadlines *set);

/* after_ms is at least 1. */
struct deadline_ring *deadlines_add_ring(struct deadlines *set, int64_t after_ms,
                                         void (*expire)(struct deadline *deadline));

void deadline_init(struct deadline *deadline);

/* Restarts one that already waits, on any ring. */
void deadline_start(struct deadline_ring *ring, struct deadline *deadline);

/* Expires those that have waited for so long; those that `expire` restarts wait again. */
void deadline_ring_hasten(struct deadline_ring *ring, int64_t waited_ms);

/* Required before the owner is freed; does nothing if it does not wait. */
void deadline_stop(struct deadline *deadline);

#endif
