/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/loop.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "loop/internal.h"

static void close_handle(uv_handle_t *handle)
{
    uv_close(handle, NULL);
}

static void assert_closing(uv_handle_t *handle, void *argument)
{
    (void)argument;
    assert(uv_is_closing(handle) && "a handle was left open on the loop");
}

static void run_deferred(uv_idle_t *idle)
{
    struct loop *loop = idle->data;
    struct list batch;

    /*
     * What a task defers waits for the next iteration, so that no chain of tasks starves the rest.
     */
    loop_list_take(&loop->deferred, &batch);
    while (!list_is_empty(&batch)) {
        struct loop_task *task = list_entry(batch.next, struct loop_task, node);

        list_remove(&task->node);
        task->run(task->data);
    }
    if (list_is_empty(&loop->deferred))
        uv_idle_stop(idle);
}

static void run_ending(struct loop *loop)
{
    while (!list_is_empty(&loop->ending)) {
        struct loop_task *task = list_entry(loop->ending.next, struct loop_task, node);

        list_remove(&task->node);
        task->run(task->data);
    }
    uv_prepare_stop(&loop->before);
    uv_check_stop(&loop->after);
}

static void on_before(uv_prepare_t *before)
{
    run_ending(before->data);
}

static void on_after(uv_check_t *after)
{
    run_ending(after->data);
}

int loop_new(const struct clock *clock, struct loop **out_loop)
{
    cleanup_free struct loop *loop = calloc(1, sizeof(*loop));
    int r;

    if (loop == NULL)
        return ERR_NO_MEMORY;
    r = uv_loop_init(&loop->uv);
    if (r < 0)
        return loop_error(r);
    r = uv_signal_init(&loop->uv, &loop->sigchld);
    if (r < 0) {
        uv_loop_close(&loop->uv);
        return loop_error(r);
    }
    /* These only fill in the handle. */
    uv_idle_init(&loop->uv, &loop->idle);
    uv_prepare_init(&loop->uv, &loop->before);
    uv_check_init(&loop->uv, &loop->after);
    uv_timer_init(&loop->uv, &loop->wakeup);

    loop->clock = clock;
    loop->sigchld.data = loop;
    loop->idle.data = loop;
    loop->before.data = loop;
    loop->after.data = loop;
    loop->wakeup.data = loop;
    loop->wakeup_due_ms = INT64_MAX;
    list_init(&loop->deferred);
    list_init(&loop->ending);
    list_init(&loop->children);
    loop_task_init(&loop->reap, child_reap, loop);
    *out_loop = steal_ptr(&loop);
    return 0;
}

void loop_free(struct loop *loop)
{
    int r;

    if (loop == NULL)
        return;
    run_ending(loop); /* connections that were closed in this turn have a place there */
    assert(loop->timer_root == NULL && "a timer was left started on the loop");
    assert(list_is_empty(&loop->children) && "a child is still watched on the loop");
    loop_task_cancel(&loop->reap);
    assert(list_is_empty(&loop->deferred) && "a task was left waiting on the loop");

    close_handle((uv_handle_t *)&loop->sigchld);
    close_handle((uv_handle_t *)&loop->idle);
    close_handle((uv_handle_t *)&loop->before);
    close_handle((uv_handle_t *)&loop->after);
    close_handle((uv_handle_t *)&loop->wakeup);
    uv_walk(&loop->uv, assert_closing, NULL);
    /* Nothing is open, so this only lets the closing handles say goodbye. */
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    r = uv_loop_close(&loop->uv);
    assert(r == 0);
    free(loop);
}

bool loop_turn(struct loop *loop, uv_run_mode mode)
{
    bool is_alive;

    loop->is_turning = true;
    is_alive = uv_run(&loop->uv, mode) != 0;
    loop->is_turning = false;
    return is_alive;
}

void loop_run(struct loop *loop)
{
    if (!loop->is_stopped)
        loop_turn(loop, UV_RUN_DEFAULT);
    loop->is_stopped = false;
}

void loop_run_once(struct loop *loop)
{
    if (!loop->is_stopped)
        loop_turn(loop, UV_RUN_ONCE);
    loop->is_stopped = false;
}

void loop_stop(struct loop *loop)
{
    loop->is_stopped = true;
    /* Between two iterations libuv would apply it to the next run. */
    if (loop->is_turning)
        uv_stop(&loop->uv);
}

int64_t loop_now_ms(const struct loop *loop)
{
    return clock_monotonic_ms(loop->clock);
}

int64_t loop_wall_ms(const struct loop *loop)
{
    return clock_wall_ms(loop->clock);
}

uv_loop_t *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

int loop_error(int uv_status)
{
    /* On Unix libuv's codes are negated errno values; its own few have no row and become ERR_IO. */
    return uv_status < 0 ? err_from_errno(-uv_status) : 0;
}

void loop_task_init(struct loop_task *task, void (*run)(void *data), void *data)
{
    *task = (struct loop_task){.run = run, .data = data};
    list_init(&task->node);
}

void loop_defer(struct loop *loop, struct loop_task *task)
{
    if (!list_is_empty(&task->node))
        return;
    list_append(&loop->deferred, &task->node);
    uv_idle_start(&loop->idle, run_deferred);
}

void loop_end_turn(struct loop *loop, struct loop_task *task)
{
    if (!list_is_empty(&task->node))
        return;
    list_append(&loop->ending, &task->node);
    uv_prepare_start(&loop->before, on_before);
    uv_check_start(&loop->after, on_after);
}

void loop_task_cancel(struct loop_task *task)
{
    list_remove(&task->node);
}
