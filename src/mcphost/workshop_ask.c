/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that need the user's consent: asked, answered, and tried once more. */
#include "mcphost/workshop_internal.h"

#include <stdlib.h>

enum {
    /* So long the user may take at the terminal; through the client, the library counts. */
    DESK_MS = MCP_DEFAULT_ASK_MS,
    LOOK_AT_DESK_MS = 1000,
};

struct decision_terms workshop_terms(const struct workshop *workshop, const struct mcp_call *call)
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
        task_fail_plainly(task, r);
    workshop_start_waiting(workshop);
}

static void try_with(struct task *task, enum permission_choice choice)
{
    struct decision_terms terms = workshop_terms(task->workshop, task->call);

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
    struct decision_terms terms = workshop_terms(workshop, call);

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

void workshop_look_at_desk(void *data)
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

void task_ask(struct task *task, const struct decision *decision)
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
        task_fail_plainly(task, ERR_CANCELLED);
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
        task_fail(task, &err);
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
