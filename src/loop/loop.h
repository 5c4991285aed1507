/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop of a program: one thread runs it and owns every object attached to it. Unless a
 * comment says otherwise, everything in this layer may only be called from that thread.
 *
 * Sockets, pipes and TLS belong to net, which creates its own libuv handles on loop_uv(). Nothing
 * here supports more than one loop thread.
 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include <stdint.h>

#include <uv.h>

#include "base/clock.h"
#include "base/list.h"

struct loop;

/* The clock is borrowed. With a fake one, time passes only in loop_run_due_timers(). */
int loop_new(const struct clock *clock, struct loop **out_loop);

/*
 * Every timer, task, watch and pool must have been freed, and every handle of others closed; waits
 * for handles that are still closing.
 */
void loop_free(struct loop *loop);

/* Runs until loop_stop(), or until nothing is left that could happen. */
void loop_run(struct loop *loop);

/* Waits for events, handles them and returns; returns at once if there is nothing to wait for. */
void loop_run_once(struct loop *loop);

/* Makes the present run return after its iteration. */
void loop_stop(struct loop *loop);

/* Fires due timers by the loop's clock: for tests that have advanced a fake one. */
void loop_run_due_timers(struct loop *loop);

int64_t loop_now_ms(const struct loop *loop);
/* Since 1970, for people. */
int64_t loop_wall_ms(const struct loop *loop);
uv_loop_t *loop_uv(struct loop *loop);

/* The ERR_* code for a libuv status. */
int loop_error(int uv_status);

/*
 * Work for the next iteration of the loop, which must not happen inside the present callback. The
 * task is embedded in its owner and runs once per defer.
 */
struct loop_task {
    struct list node;
    void (*run)(void *data);
    void *data;
};

void loop_task_init(struct loop_task *task, void (*run)(void *data), void *data);

/* A waiting task keeps its place. */
void loop_defer(struct loop *loop, struct loop_task *task);

/*
 * Like loop_defer(), but before the loop waits again: when all events that it has were handled.
 * What the task itself puts here runs as well.
 */
void loop_end_turn(struct loop *loop, struct loop_task *task);

/* Required before the owner is freed; does nothing if the task does not wait. */
void loop_task_cancel(struct loop_task *task);

#endif
