/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request on its way through a worker. A job owns all that it touches: a
 * worker that hangs in the kernel may come back long after its call was
 * answered.
 */
#ifndef MCPHOST_JOB_H
#define MCPHOST_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cancel.h"
#include "base/err.h"
#include "mcp/mcp.h"
#include "mcphost/front.h"
#include "shell/shell.h"
#include "tools/toolbox.h"

/*
 * A call that runs a command goes through a worker twice: to be understood, and to be decided
 * about. Between them and behind them it is the shell's, on the loop.
 */
enum job_step { JOB_WHOLE, JOB_COMMAND_PREPARED, JOB_COMMAND_DECIDED };

/* What such a call would execute, copied. */
struct job_command {
    struct permission_resource resource;
    struct str text; /* as it was written; or what is typed, in words */
};

struct job {
    enum job_step step;
    struct toolbox *box;
    struct shell *shell;   /* NULL: no commands here */
    atomic_uint *running;  /* counts those that are in a worker's hands */
    atomic_uint *changing; /* of them, those that change something */
    enum mcp_work work;
    struct arena arena; /* holds what follows */
    const struct catalog_tool *tool;
    const struct json_value *arguments;
    struct str text; /* cursor, address, or what is typed so far */
    struct decision_terms terms;
    /* Where it asks there is no result yet: the same is tried again with the answer. */
    struct decision decision;
    struct shell_call *shell_call; /* JOB_COMMAND_PREPARED, and not refused: the loop takes it */
    struct job_command command;    /* JOB_COMMAND_DECIDED */
    int refusal;                   /* of the command: the code, and what decided */
    const char *refused_by;
    /* Told by the worker, read by the loop. */
    atomic_uint_fast64_t done;
    atomic_uint_fast64_t total;
    _Atomic(const char *) what; /* static text; NULL before the first step */
    struct buf result;
    struct err err;
};

/* Copies what the job needs of the call. */
int job_new(const struct front_config *config, const struct decision_terms *terms,
            const struct mcp_call *call, struct job **out_job);
/* The second step of a call that runs a command. */
int job_new_decision(const struct front_config *config, const struct decision_terms *terms,
                     const struct catalog_tool *tool, const struct job_command *command,
                     struct job **out_job);
void job_free(void *data);

/* On a worker, with the job as its data; the result, or the error when it is negative, is in the
 * job. */
int job_run(void *data, struct cancel *token);

#endif
