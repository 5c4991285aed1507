/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the workshop's own files share: workshop.c (calls become jobs, and end),
 * workshop_ask.c (jobs that need the user's consent) and workshop_command.c (calls
 * that run commands).
 */
#ifndef MCPHOST_WORKSHOP_INTERNAL_H
#define MCPHOST_WORKSHOP_INTERNAL_H

#include "base/list.h"
#include "loop/timer.h"
#include "loop/worker.h"
#include "mcphost/job.h"
#include "mcphost/subscriptions.h"
#include "mcphost/workshop.h"

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

/* ---- workshop.c ---- */

/* Ends a call that no worker has. */
void task_fail(struct task *task, const struct err *err);
void task_fail_plainly(struct task *task, int error);

/* As many of those that wait as may run. */
void workshop_start_waiting(struct workshop *workshop);

/* ---- workshop_ask.c ---- */

/* What a call is decided by at the moment. */
struct decision_terms workshop_terms(const struct workshop *workshop, const struct mcp_call *call);

/* The job has a question instead of a result: it is put, and the call tried again. */
void task_ask(struct task *task, const struct decision *decision);

/* Who does not answer has not agreed: of the timer. */
void workshop_look_at_desk(void *data);

/* ---- workshop_command.c ---- */

/* The call is understood: what would it execute, and may it? */
void task_decide_command(struct task *task);

/* The task is not the worker's any more: the answer is out, or the command runs. */
void task_follow_decision(struct task *task, const struct job *job);

/* Answered at once; what it runs is killed, and its end is heard of later. */
void task_leave_shell(struct task *task);

#endif
