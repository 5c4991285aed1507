/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns calls from the server into calls of the engine, and their ends into answers. Without a
 * queue the instance asks its user, by way of the answer (permission/confirmation.h).
 */
#ifndef PROGRAMS_CONNECT_CALLS_H
#define PROGRAMS_CONNECT_CALLS_H

#include <stdbool.h>

#include "base/log.h"
#include "call/executor.h"
#include "gatehouse/authority.h"
#include "gateway/event.h"
#include "loop/loop.h"
#include "permission/questionqueue.h"
#include "permission/rules/keeper.h"
#include "shell/shell.h"

enum {
    /* Timeout after which the server abandons a call, per dialect: asking is pointless then. */
    CALLS_N8N_MS = 60000,
    CALLS_SEED_MS = 30000,
    CALLS_MAX_HELD_BYTES = 256 << 20, /* of all calls: arguments, questions */
};

struct calls;

struct calls_config {
    struct loop *loop;
    const struct log *log;
    struct executor *files; /* the toolhost; must outlive the calls */
    struct shell *shell;    /* NULL: commands are not available */
    struct keeper *keeper;
    struct authority_scope *recorded; /* the scope under which calls are recorded */
    struct question_queue *queue;     /* NULL: the instance asks */
    bool (*offers)(void *data, const struct catalog_tool *tool);
    /*
     * Called once for each call that was begun, unless its session has ended. `result` is a whole
     * CallToolResult.
     */
    void (*answer)(void *data, struct str id, struct str result);
    void *data;
};

int calls_new(const struct calls_config *config, struct calls **out_calls);
/* Call after calls_stop_workers(). */
void calls_free(struct calls *calls);

/* Whether this tool can be run here. */
bool calls_have(const struct calls *calls, const struct catalog_tool *tool);

void calls_begin(struct calls *calls, const struct gateway_call *given);

/*
 * Abandons running calls without an answer, and ends permissions for the session and the questions
 * that the instance holds.
 */
void calls_end_session(struct calls *calls);

/*
 * Starts nothing more. Returns false if a worker hangs: it may continue at any time with what the
 * calls were given, including the shell and the keeper, which must not be freed.
 */
bool calls_stop_workers(struct calls *calls);

#endif
