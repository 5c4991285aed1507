/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls from the server become calls of the engine here, and their ends answers. Where there is no
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
    /* After which the server has given a call up, in either shape: nobody need be asked then. */
    CALLS_N8N_MS = 60000,
    CALLS_SEED_MS = 30000,
    CALLS_MAX_HELD_BYTES = 256 << 20, /* of all calls: arguments, questions */
};

struct calls;

struct calls_config {
    struct loop *loop;
    const struct log *log;
    struct executor *files; /* the toolhost; outlives the calls */
    struct shell *shell;    /* NULL: no commands here */
    struct keeper *keeper;
    struct authority_scope *recorded; /* in whose name calls stand in the record */
    struct question_queue *queue;     /* NULL: the instance asks */
    bool (*offers)(void *data, const struct catalog_tool *tool);
    /* Once for each call that was begun, unless its session has ended. A whole CallToolResult. */
    void (*answer)(void *data, struct str id, struct str result);
    void *data;
};

int calls_new(const struct calls_config *config, struct calls **out_calls);
/* After calls_stop_workers(). */
void calls_free(struct calls *calls);

/* Whether somebody does this tool here. */
bool calls_have(const struct calls *calls, const struct catalog_tool *tool);

void calls_begin(struct calls *calls, const struct gateway_call *given);

/*
 * What is under way is given up and not answered; what was allowed for the session is over, and so
 * are the questions that the instance has.
 */
void calls_end_session(struct calls *calls);

/*
 * Nothing is begun after this. False: a worker hangs, and may go on at any time with what calls
 * were given, the shell and the keeper among it, which have to be left to it.
 */
bool calls_stop_workers(struct calls *calls);

#endif
