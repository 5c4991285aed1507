/* SPDX-License-Identifier: Apache-2.0 */
#include "mcphost/workshop.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/list.h"
#include "loop/timer.h"
#include "loop/worker.h"
#include "mcphost/job.h"
#include "mcphost/subscriptions.h"

enum {
    WORKERS = 4,
    ABANDONED_MAX = 8,
    GRACE_MS = 2000,
    PROGRESS_MS = 100,
    /* Handed to the workers at a time; the others wait here, where they can be held back. */
    RUNNING_MAX = 2 * WORKERS,
    /* So long the user may take at the terminal; through the client, the library counts. */
    DESK_MS = MCP_DEFAULT_ASK_MS,
    LOOK_AT_DESK_MS = 1000,
    LINE_BYTES = 256, /* of what a command printed last, for those who wait */
};

enum task_state {
    TASK_WAITS,
    TASK_RUNS,
    TASK_ASKS_DESK,
    TASK_ASKS_CLIENT,
    TASK_IN_SHELL, /* its command runs */
};

/* A call and its job, on the loop's side. */
struct task {
    struct list link; /* of those that wait, that run, that ask, or whose commands run */
    enum task_state state;
    struct workshop *workshop;
    struct mcp_call *call;         /* NULL: was answered while its command still ends */
    struct shell_call *shell_call; /* while a worker decides about it */
    struct job *job;               /* until its done was called; the worker's besides */
    int64_t due_ms; /* it is answered by then, waiting included, but not what the user takes */
    int64_t asked_ms;
    uint64_t id; /* of the worker's job while it runs, of the question at the desk, in the shell */
    uint64_t mark; /* of that question */
    struct decision_terms terms;
    uint64_t told; /* progress */
    bool is_cancelled;
    /* Somebody may answer while being asked: */
    bool is_being_asked;
    bool has_answer;
    enum permission_choice answer;
};

struct workshop {
    struct front_config config;
    struct workshop_events events;
    struct worker_pool *pool;
    struct subscriptions *subscriptions;
    struct list waiting;
    struct list running;
    struct list asking;
    struct list in_shell;
    size_t running_count;
    struct timer progress;
    struct timer patience; /* while somebody is asked at the desk */
    bool is_closed;
    bool is_alone; /* the client has left, and nobody is asked for it any more */
};

/* Ends a call that no worker has. */
static void fail_task(struct task *task, const struct err *err)
{
    list_remove(&task->link);
    if (task->state == TASK_ASKS_DESK)
        desk_cancel(task->workshop->config.gate->desk, task->id, DESK_CANCELLED);
    job_free(task->job);
    shell_drop(task->shell_call);
    mcp_call_fail(task->call, err);
    free(task);
}

static void fail_plainly(struct task *task, int error)
{
    struct err err = ERR_INIT;

    err_set_plain(&err, error);
    fail_task(task, &err);
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

static void start_waiting(struct workshop *workshop);

static bool is_change(const struct mcp_call *call)
{
    return mcp_call_work(call) == MCP_TOOL_CALL &&
           mcp_call_tool(call)->group == CATALOG_FILESYSTEM_WRITE;
}

/* ---- asking ---- */

static struct decision_terms terms_of(const struct workshop *workshop, const struct mcp_call *call)
{
    struct decision_terms terms = gate_terms(workshop->config.gate, call);

    terms.can_ask = terms.can_ask && !workshop->is_alone;
    return terms;
}

/* Once more, with the answer. The user's time is not the call's. */
static void try_again(struct task *task, const struct decision_terms *terms)
{
    struct workshop *workshop = task->workshop;
    const struct front_config *config = &workshop->config;
    int64_t now_ms = loop_now_ms(config->loop);
    int r = job_new(config, terms, task->call, &task->job);

    list_remove(&task->link);
    list_append(&workshop->waiting, &task->link);
    task->state = TASK_WAITS;
    task->terms = *terms;
    task->due_ms += now_ms - task->asked_ms;
    if (r < 0)
        fail_plainly(task, r);
    start_waiting(workshop);
}

static void try_with(struct task *task, enum permission_choice choice)
{
    struct decision_terms terms = terms_of(task->workshop, task->call);

    terms.has_answer = true;
    terms.answer = choice;
    terms.mark = task->mark;
    try_again(task, &terms);
}

static void on_desk_answer(void *data, uint64_t id, enum permission_choice choice, const char *by)
{
    struct task *task = data;

    (void)id;
    (void)by;
    if (task->is_being_asked) {
        task->has_answer = true;
        task->answer = choice;
        return;
    }
    try_with(task, choice);
}

void workshop_answered(struct workshop *workshop, struct mcp_call *call)
{
    struct task *task = mcp_call_data(call);
    struct decision_terms terms = terms_of(workshop, call);

    if (task->state == TASK_ASKS_CLIENT)
        try_again(task, &terms);
}

void workshop_client_leaves(struct workshop *workshop)
{
    workshop->is_alone = true;
    list_each_safe (node, &workshop->asking) {
        struct task *task = list_entry(node, struct task, link);

        if (task->state == TASK_ASKS_DESK)
            desk_cancel(workshop->config.gate->desk, task->id, DESK_CANCELLED);
        try_with(task, CHOICE_DENY_ONCE);
    }
}

/* Who does not answer has not agreed. */
static void look_at_desk(void *data)
{
    struct workshop *workshop = data;
    int64_t now_ms = loop_now_ms(workshop->config.loop);

    list_each_safe (node, &workshop->asking) {
        struct task *task = list_entry(node, struct task, link);

        if (task->state != TASK_ASKS_DESK || now_ms - task->asked_ms < DESK_MS)
            continue;
        desk_cancel(workshop->config.gate->desk, task->id, DESK_TIMED_OUT);
        try_with(task, CHOICE_DENY_ONCE);
    }
    if (list_is_empty(&workshop->asking))
        timer_stop(&workshop->patience);
}

static void ask(struct task *task, const struct decision *decision)
{
    struct workshop *workshop = task->workshop;
    enum gate_way way = GATE_AT_DESK;
    struct err err = ERR_INIT;
    int r;

    list_append(&workshop->asking, &task->link);
    task->job = NULL; /* the worker's pool frees it */
    task->mark = decision->mark;
    task->asked_ms = loop_now_ms(workshop->config.loop);
    task->state = TASK_ASKS_CLIENT;
    /* Both may have come while a worker made the question. */
    if (task->is_cancelled) {
        fail_plainly(task, ERR_CANCELLED);
        return;
    }
    if (workshop->is_alone) {
        try_with(task, CHOICE_DENY_ONCE);
        return;
    }
    task->is_being_asked = true;
    task->has_answer = false;
    r = gate_ask(workshop->config.gate, task->call, decision, on_desk_answer, task, &way, &task->id,
                 &err);
    task->is_being_asked = false;
    if (r < 0) {
        fail_task(task, &err);
        return;
    }
    switch (way) {
    case GATE_BY_CLIENT:
        return;
    case GATE_AT_DESK:
        if (task->has_answer) {
            try_with(task, task->answer);
            return;
        }
        task->state = TASK_ASKS_DESK;
        if (!workshop->patience.is_started)
            timer_start_repeating(&workshop->patience, LOOK_AT_DESK_MS);
        return;
    case GATE_REPEATED:
        list_remove(&task->link);
        free(task);
        return;
    }
}

/* ---- commands ---- */

static void on_shell_progress(void *data, uint64_t bytes, struct str last_line)
{
    const struct task *task = data;
    char line[LINE_BYTES];

    if (task->call == NULL)
        return;
    snprintf(line, sizeof(line), "%.*s", STR_ARG(last_line));
    mcp_call_progress(task->call, bytes, 0, line);
}

static void on_shell_done(void *data, int error, struct str result)
{
    struct task *task = data;
    struct err err = ERR_INIT;

    /* The workshop may be gone by then. */
    if (task->call == NULL) {
        free(task);
        return;
    }
    list_remove(&task->link);
    if (error == 0) {
        mcp_call_finish(task->call, result);
    } else {
        err_set_plain(&err, error);
        mcp_call_fail(task->call, &err);
    }
    task->workshop->events.on_answered(task->workshop->events.data);
    free(task);
}

static void run_command(struct task *task, const char *decision)
{
    struct workshop *workshop = task->workshop;
    const struct shell_events events = {
        .on_progress = mcp_call_wants_progress(task->call) ? on_shell_progress : NULL,
        .on_done = on_shell_done,
        .data = task,
        .session = workshop, /* all clients of one process share their jobs */
        .decision = decision,
    };

    task->state = TASK_IN_SHELL;
    list_append(&workshop->in_shell, &task->link);
    task->id = shell_run(steal_ptr(&task->shell_call), &events);
}

/* It is understood: what would it execute, and may it? */
static void decide_command(struct task *task)
{
    struct workshop *workshop = task->workshop;
    struct decision_terms terms = task->terms;
    struct job_command command;
    int r;

    if (!shell_resource(task->shell_call, workshop, &command.resource, &command.text)) {
        run_command(task, permission_source_name(PERMISSION_BY_MODE));
        return;
    }
    list_append(&workshop->waiting, &task->link);
    task->state = TASK_WAITS;
    r = job_new_decision(&workshop->config, &terms, mcp_call_tool(task->call), &command,
                         &task->job);
    if (r < 0)
        fail_plainly(task, r);
}

/* The answer is out, or the command runs: the task is not the worker's any more. */
static void follow_decision(struct task *task, const struct job *job)
{
    if (job->refusal == 0 && job->result.len == 0) {
        run_command(task, permission_source_name(job->decision.source));
        return;
    }
    shell_refuse(steal_ptr(&task->shell_call), task->workshop, job->refused_by, job->refusal, 0);
    mcp_call_finish(task->call, buf_view(&job->result));
    free(task);
}

/* Answered at once; what it runs is killed, and its end is heard of later. */
static void leave_shell(struct task *task)
{
    struct mcp_call *call = steal_ptr(&task->call);
    struct err err = ERR_INIT;

    list_remove(&task->link);
    err_set_plain(&err, ERR_CANCELLED);
    mcp_call_fail(call, &err);
    shell_cancel(task->workshop->config.shell, task->id);
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
        ask(task, &job->decision);
    } else if (result >= 0 && job->shell_call != NULL) {
        task->job = NULL; /* the pool frees it */
        task->shell_call = steal_ptr(&job->shell_call);
        decide_command(task);
    } else if (result >= 0 && job->step == JOB_COMMAND_DECIDED) {
        follow_decision(task, job);
    } else {
        shell_drop(task->shell_call);
        if (result >= 0)
            mcp_call_finish(task->call, buf_view(&job->result));
        else
            fail_finished(task, result, job);
        free(task);
    }
    workshop->events.on_answered(workshop->events.data);
    start_waiting(workshop);
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

/* As many as may run. */
static void start_waiting(struct workshop *workshop)
{
    while (!list_is_empty(&workshop->waiting) && workshop->running_count < RUNNING_MAX &&
           !workshop->is_closed && workshop->events.may_begin(workshop->events.data)) {
        struct task *task = list_entry(workshop->waiting.next, struct task, link);
        int r = run_task(workshop, task);

        if (r < 0)
            fail_plainly(task, r);
    }
}

static int add_task(struct workshop *workshop, struct mcp_call *call)
{
    const struct front_config *config = &workshop->config;
    struct decision_terms terms = terms_of(workshop, call);
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
    start_waiting(workshop);
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
        leave_shell(task);
        return;
    case TASK_WAITS:
    case TASK_ASKS_DESK:
    case TASK_ASKS_CLIENT:
        fail_plainly(task, ERR_CANCELLED);
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
    start_waiting(workshop);
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
        fail_plainly(list_entry(node, struct task, link), ERR_CANCELLED);
    list_each_safe (node, &workshop->asking)
        fail_plainly(list_entry(node, struct task, link), ERR_CANCELLED);
    list_each_safe (node, &workshop->in_shell)
        leave_shell(list_entry(node, struct task, link));
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
    timer_init(&workshop->patience, config->loop, look_at_desk, workshop);
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
