/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop of a program: one thread runs it and owns every object that
 * hangs on it. Unless a comment says otherwise, everything in this layer may
 * only be called from that thread.
 *
 * Sockets, pipes and TLS belong to net, which makes its own libuv handles on
 * loop_uv(). Nothing here is for more than one loop thread.
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
 * Every timer, task, watch and pool must be gone by now, and every handle of
 * others closed; handles whose closing is still under way are waited for.
 */
void loop_free(struct loop *loop);

/* Until loop_stop(), or until nothing is left that could happen. */
void loop_run(struct loop *loop);

/* Waits for events, handles them and returns; at once when there is nothing to wait for. */
void loop_run_once(struct loop *loop);

/* Makes the run under way return after its present turn. */
void loop_stop(struct loop *loop);

/* Fires what is due on the loop's clock: for tests that have advanced a fake one. */
void loop_run_due_timers(struct loop *loop);

int64_t loop_now_ms(const struct loop *loop);
/* Since 1970, for what people read. */
int64_t loop_wall_ms(const struct loop *loop);
uv_loop_t *loop_uv(struct loop *loop);

/* The ERR_* code for a status of libuv. */
int loop_error(int uv_status);

/*
 * Work for the next turn of the loop: for what must not happen inside the
 * present callback. The task lives in its owner and is done once per defer.
 */
struct loop_task {
    struct list node;
    void (*run)(void *data);
    void *data;
};

void loop_task_init(struct loop_task *task, void (*run)(void *data), void *data);

/* A task that waits already stays where it is. */
void loop_defer(struct loop *loop, struct loop_task *task);

/* Needed before the owner dies; harmless when the task does not wait. */
void loop_task_cancel(struct loop_task *task);

#endif
