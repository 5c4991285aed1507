/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of struct loop, for the modules of this layer only. Each of them
 * keeps its per-loop state here, so that none needs a global.
 */
#ifndef LOOP_INTERNAL_H
#define LOOP_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/list.h"
#include "loop/loop.h"
#include "loop/timer.h"

/* How children are watched: decided at the first watch. */
enum child_method { CHILD_METHOD_UNKNOWN, CHILD_METHOD_PIDFD, CHILD_METHOD_SIGCHLD };

struct loop {
    uv_loop_t uv;
    const struct clock *clock;
    bool is_turning; /* inside uv_run() */
    bool is_stopped; /* loop_stop() was called since the last run */

    /* loop.c: active while a task waits. */
    uv_idle_t idle;
    struct list deferred;

    /* timer.c: the one libuv timer, and the heap of ours. */
    uv_timer_t wakeup;
    int64_t wakeup_due_ms; /* INT64_MAX while it is not armed */
    struct timer *timer_root;
    uint64_t timer_order; /* numbers the starts */
    bool is_firing;

    /* child.c: used by CHILD_METHOD_SIGCHLD only. */
    enum child_method child_method;
    uv_signal_t sigchld;
    struct list children;
    struct loop_task reap;
};

/* One call of uv_run(); false when nothing is left to wait for. */
bool loop_turn(struct loop *loop, uv_run_mode mode);

/* child.c */
void child_reap(void *loop);

/* Moves all nodes of one ring to the other, which is empty. */
static inline void loop_list_take(struct list *from, struct list *to)
{
    list_init(to);
    if (list_is_empty(from))
        return;
    to->next = from->next;
    to->prev = from->prev;
    to->next->prev = to;
    to->prev->next = to;
    list_init(from);
}

#endif
