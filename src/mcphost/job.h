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
#include "mcphost/decision.h"
#include "tools/toolbox.h"

struct job {
    struct toolbox *box;
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
    /* Told by the worker, read by the loop. */
    atomic_uint_fast64_t done;
    atomic_uint_fast64_t total;
    _Atomic(const char *) what; /* static text; NULL before the first step */
    struct buf result;
    struct err err;
};

/* Copies what the job needs of the call. */
int job_new(struct toolbox *box, atomic_uint *running, atomic_uint *changing,
            const struct decision_terms *terms, const struct mcp_call *call, struct job **out_job);
void job_free(void *data);

/* On a worker, with the job as its data; the result, or the error when it is negative, is in the
 * job. */
int job_run(void *data, struct cancel *token);

#endif
