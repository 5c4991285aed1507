/* SPDX-License-Identifier: Apache-2.0 */
#include "mcphost/workshop.h"

#include <assert.h>
#include <stdlib.h>

#include "mcphost/workshop_internal.h"

enum {
    WORKERS = 4,
    ABANDONED_MAX = 8,
    GRACE_MS = 2000,
    PROGRESS_MS = 100,
    /* Handed to the workers at a time; the others wait here, where they can be held back. */
    RUNNING_MAX = 2 * WORKERS,
};

void task_fail(struct task *task, const struct err *err)
{
    list_remove(&task->link);
    if (task->state == TASK_ASKS_DESK)
        desk_cancel(task->workshop->config.gate->desk, task->id, DESK_CANCELLED);
    job_free(task->job);
    shell_drop(task->shell_call);
    mcp_call_fail(task->call, err);
    free(task);
}

void task_fail_plainly(struct task *task, int error)
{
    struct err err = ERR_INIT;

    err_set_plain(&err, error);
    task_fail(task, &err);
}

static void tell_progress(void *data)
{
    struct workshop *workshop = data;

    list_each (node, &workshop->running) {
        struct task *task = list_entry(node, struct task, link);
        const char *what = atomic_load_explicit(&task->job->what, memory_order_acquire);
        uint64_t done = atomic_load_explicit(&task->job->done, memory_order_relaxed);

        if (what == NULL || done <= task->told)
            continue;
        task->told = done;
        mcp_call_progress(task->call, done,
                          atomic_load_explicit(&task->job->total, memory_order_relaxed), what);
    }
}

static bool is_change(const struct mcp_call *call)
{
    return mcp_call_work(call) == MCP_TOOL_CALL &&
           mcp_call_tool(call)->group == CATALOG_FILESYSTEM_WRITE;
}

/* ---- running ---- */

static void fail_finished(const struct task *task, int result, const struct job *job)
{
    struct err err = ERR_INIT;

    if (job != NULL && job->err.code == result)
        err = job->err;
    else if (result == ERR_TIMED_OUT && is_change(task->call))
        err_set(&err, result,
                "not finished within its time; it may still have been made: look before "
                "repeating it");
    else
        err_set_plain(&err, result);
    mcp_call_fail(task->call, &err);
}

static void on_done(void *context, int result, void *data)
{
    struct task *task = context;
    struct workshop *workshop = task->workshop;
    struct job *job = data; /* NULL when a worker still has it */

    assert(job != NULL || result < 0);
    list_remove(&task->link);
    workshop->running_count--;
    if (list_is_empty(&workshop->running))
        timer_stop(&workshop->progress);
    if (job != NULL && job->decision.unkept.code < 0)
        log_write(workshop->config.log, LOG_WARN,
                  "what the user decided for good could not be kept, and holds for this session",
                  LOG_TEXT("error", job->decision.unkept.message));
    /* A command of which nobody wants to know any more is not begun. */
    if (result >= 0 && job->step != JOB_WHOLE && (task->is_cancelled || workshop->is_closed))
        result = ERR_CANCELLED;
    if (result >= 0 && job->decision.asks) {
        shell_drop(steal_ptr(&task->shell_call));
        task_ask(task, &job->decision);
    } else if (result >= 0 && job->shell_call != NULL) {
        task->job = NULL; /* the pool frees it */
        task->shell_call = steal_ptr(&job->shell_call);
        task_decide_command(task);
    } else if (result >= 0 && job->step == JOB_COMMAND_DECIDED) {
        task_follow_decision(task, job);
    } else {
        shell_drop(task->shell_call);
        if (result >= 0)
            mcp_call_finish(task->call, buf_view(&job->result));
        else
            fail_finished(task, result, job);
        free(task);
    }
    workshop->events.on_answered(workshop->events.data);
    workshop_start_waiting(workshop);
}

static int run_task(struct workshop *workshop, struct task *task)
{
    const struct worker_job spec = {
        .run = job_run,
        .done = on_done,
        .free_data = job_free,
        .data = task->job,
        .context = task,
        .timeout_ms = task->due_ms - loop_now_ms(workshop->config.loop),
    };
    int r = spec.timeout_ms > 0 ? worker_submit(workshop->pool, &spec, &task->id) : ERR_TIMED_OUT;

    if (r < 0)
        return r;
    task->state = TASK_RUNS;
    list_remove(&task->link);
    list_append(&workshop->running, &task->link);
    workshop->running_count++;
    if (mcp_call_wants_progress(task->call) && !workshop->progress.is_started)
        timer_start_repeating(&workshop->progress, PROGRESS_MS);
    return 0;
}

void workshop_start_waiting(struct workshop *workshop)
{
    while (!list_is_empty(&workshop->waiting) && workshop->running_count < RUNNING_MAX &&
           !workshop->is_closed && workshop->events.may_begin(workshop->events.data)) {
        struct task *task = list_entry(workshop->waiting.next, struct task, link);
        int r = run_task(workshop, task);

        if (r < 0)
            task_fail_plainly(task, r);
    }
}

static int add_task(struct workshop *workshop, struct mcp_call *call)
{
    const struct front_config *config = &workshop->config;
    struct decision_terms terms = workshop_terms(workshop, call);
    struct task *task = calloc(1, sizeof(*task));
    int r = task != NULL ? job_new(config, &terms, call, &task->job) : ERR_NO_MEMORY;

    if (r < 0) {
        free(task);
        return r;
    }
    task->workshop = workshop;
    task->call = call;
    task->terms = terms;
    task->due_ms = loop_now_ms(config->loop) + config->timeout_ms;
    mcp_call_set_data(call, task);
    list_append(&workshop->waiting, &task->link);
    workshop_start_waiting(workshop);
    return 0;
}

void workshop_take(struct workshop *workshop, struct mcp_call *call)
{
    struct err err = ERR_INIT;
    int r;

    if (mcp_call_work(call) == MCP_SUBSCRIBE) {
        subscriptions_add(workshop->subscriptions, call);
        return;
    }
    r = add_task(workshop, call);
    if (r < 0) {
        err_set_plain(&err, r);
        mcp_call_fail(call, &err);
    }
}

void workshop_cancel(struct workshop *workshop, struct mcp_call *call)
{
    struct task *task = mcp_call_data(call);

    if (task == NULL)
        return;
    task->is_cancelled = true;
    switch (task->state) {
    case TASK_RUNS:
        worker_cancel(workshop->pool, task->id);
        return;
    case TASK_IN_SHELL:
        task_leave_shell(task);
        return;
    case TASK_WAITS:
    case TASK_ASKS_DESK:
    case TASK_ASKS_CLIENT:
        task_fail_plainly(task, ERR_CANCELLED);
        return;
    }
}

void workshop_unsubscribe(struct workshop *workshop, const struct mcp_session *session,
                          struct str uri)
{
    subscriptions_remove(workshop->subscriptions, session, uri);
}

void workshop_go_on(struct workshop *workshop)
{
    workshop_start_waiting(workshop);
}

void workshop_run(struct workshop *workshop)
{
    worker_run_loop(workshop->pool);
}

void workshop_close(struct workshop *workshop)
{
    workshop->is_closed = true;
}

static void drop_waiting(struct workshop *workshop)
{
    list_each_safe (node, &workshop->waiting)
        task_fail_plainly(list_entry(node, struct task, link), ERR_CANCELLED);
    list_each_safe (node, &workshop->asking)
        task_fail_plainly(list_entry(node, struct task, link), ERR_CANCELLED);
    list_each_safe (node, &workshop->in_shell)
        task_leave_shell(list_entry(node, struct task, link));
}

void workshop_give_up(struct workshop *workshop)
{
    list_each_safe (node, &workshop->running)
        worker_cancel(workshop->pool, list_entry(node, struct task, link)->id);
    drop_waiting(workshop);
}

int workshop_new(const struct front_config *config, const struct workshop_events *events,
                 struct workshop **out_workshop)
{
    const struct worker_config workers = {
        .threads = WORKERS,
        .queue_max = MCP_MAX_CALLS,
        .abandoned_max = ABANDONED_MAX,
        .grace_ms = GRACE_MS,
    };
    struct workshop *workshop = malloc(sizeof(*workshop));
    int r;

    if (workshop == NULL)
        return ERR_NO_MEMORY;
    *workshop = (struct workshop){.config = *config, .events = *events};
    list_init(&workshop->waiting);
    list_init(&workshop->running);
    list_init(&workshop->asking);
    list_init(&workshop->in_shell);
    timer_init(&workshop->patience, config->loop, workshop_look_at_desk, workshop);
    timer_init(&workshop->progress, config->loop, tell_progress, workshop);
    r = worker_pool_new(config->loop, &workers, &workshop->pool);
    if (r == 0)
        r = subscriptions_new(
            &(struct subscriptions_config){
                .loop = config->loop,
                .pool = workshop->pool,
                .box = config->box,
                .names = config->names,
                .files = config->files,
                .running = config->running,
            },
            &workshop->subscriptions);
    if (r < 0) {
        workshop_end(workshop);
        workshop_free(workshop);
        return r;
    }
    *out_workshop = workshop;
    return 0;
}

void workshop_end(struct workshop *workshop)
{
    if (workshop == NULL)
        return;
    workshop->is_closed = true;
    timer_stop(&workshop->progress);
    timer_stop(&workshop->patience);
    if (workshop->pool != NULL)
        worker_pool_free(workshop->pool);
    workshop->pool = NULL;
    drop_waiting(workshop);
}

void workshop_free(struct workshop *workshop)
{
    if (workshop == NULL)
        return;
    subscriptions_free(workshop->subscriptions);
    free(workshop);
}
