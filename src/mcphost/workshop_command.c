/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that run commands: between a worker that understood them and the shell that does them. */
#include "mcphost/workshop_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINE_BYTES = 256 }; /* of what a command printed last, for those who wait */

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

void task_decide_command(struct task *task)
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
        task_fail_plainly(task, r);
}

void task_follow_decision(struct task *task, const struct job *job)
{
    if (job->refusal == 0 && job->result.len == 0) {
        run_command(task, permission_source_name(job->decision.source));
        return;
    }
    shell_refuse(steal_ptr(&task->shell_call), task->workshop, job->refused_by, job->refusal, 0);
    mcp_call_finish(task->call, buf_view(&job->result));
    free(task);
}

void task_leave_shell(struct task *task)
{
    struct mcp_call *call = steal_ptr(&task->call);
    struct err err = ERR_INIT;

    list_remove(&task->link);
    err_set_plain(&err, ERR_CANCELLED);
    mcp_call_fail(call, &err);
    shell_cancel(task->workshop->config.shell, task->id);
}
