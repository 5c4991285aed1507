/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers on the loop's clock. A timer is embedded in its owner: starting one never allocates and
 * never fails. Timers due at the same moment fire in the order in which they were started.
 *
 * Inside any callback, timers may be started and stopped and their owners freed, including the
 * firing timer's own. Resolution is a millisecond; a started timer keeps loop_run() running unless
 * the clock is fake.
 */
#ifndef LOOP_TIMER_H
#define LOOP_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/loop.h"

struct timer {
    struct loop *loop;
    void (*fire)(void *data);
    void *data;
    int64_t due_ms;
    int64_t every_ms; /* 0: fires once */
    uint64_t order;   /* among those with the same due_ms */
    bool is_started;
    /* A pairing heap: `prev` is the left sibling, or the parent of a first child. */
    struct timer *child;
    struct timer *next;
    struct timer *prev;
};

void timer_init(struct timer *timer, struct loop *loop, void (*fire)(void *data), void *data);

/* Fires once, after_ms from now; if not positive, when timers run next. */
void timer_start(struct timer *timer, int64_t after_ms);

/*
 * Fires every every_ms (at least 1), first one period from now. If the loop is late, it fires once
 * and skips the missed periods; the phase stays.
 */
void timer_start_repeating(struct timer *timer, int64_t every_ms);

/* Required before the owner is freed; does nothing if it is not started. */
void timer_stop(struct timer *timer);

#endif
