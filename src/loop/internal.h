/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to this layer: struct loop. Each module keeps its per-loop state here, so that none
 * needs a global.
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

    /* loop.c: active while a task waits for the end of the turn, before and after libuv waits. */
    uv_prepare_t before;
    uv_check_t after;
    struct list ending;

    /* timer.c: the only libuv timer, and our heap. */
    uv_timer_t wakeup;
    int64_t wakeup_due_ms; /* INT64_MAX if not armed */
    struct timer *timer_root;
    uint64_t timer_order; /* counts the starts */
    bool is_firing;

    /* child.c: used by CHILD_METHOD_SIGCHLD only. */
    enum child_method child_method;
    uv_signal_t sigchld;
    struct list children;
    struct loop_task reap;
};

/* Calls uv_run() once; false if nothing is left to wait for. */
bool loop_turn(struct loop *loop, uv_run_mode mode);

/* child.c */
void child_reap(void *loop);

/* Moves all nodes of one list to the other, which is empty. */
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
