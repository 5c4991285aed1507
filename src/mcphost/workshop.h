/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls become jobs here: they wait, are done by workers one by one, tell how
 * far they are and end in time. Whose calls they are, and how answers travel,
 * is a front's business.
 */
#ifndef MCPHOST_WORKSHOP_H
#define MCPHOST_WORKSHOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "loop/loop.h"
#include "loop/worker.h"
#include "mcp/mcp.h"
#include "tools/toolbox.h"

struct workshop;

struct workshop_config {
    struct loop *loop;
    struct toolbox *box;
    atomic_uint *running;  /* jobs in a worker's hands; both outlive everything */
    atomic_uint *changing; /* those of them that change something */
    int64_t timeout_ms;    /* of one call, waiting included */
    /* False while clients do not take what is finished: nothing more is begun. */
    bool (*may_begin)(void *data);
    void (*on_answered)(void *data); /* each time a call has ended */
    void *data;
};

int workshop_new(const struct workshop_config *config, struct workshop **out_workshop);

/* Takes any call but MCP_SUBSCRIBE, and ends it. Uses the call's data. */
void workshop_take(struct workshop *workshop, struct mcp_call *call);
/* As mcp_host wants it; a call that it does not have is left alone. */
void workshop_cancel(struct workshop *workshop, struct mcp_call *call);
/* may_begin() is true again. */
void workshop_go_on(struct workshop *workshop);

/* Runs the loop, on threads of its own, until it is stopped. */
void workshop_run(struct workshop *workshop);
/* For work of the front's own. */
struct worker_pool *workshop_pool(const struct workshop *workshop);

/* Begins nothing any more. */
void workshop_close(struct workshop *workshop);
/* Cancels everything; what has begun to change something is finished or put back. */
void workshop_give_up(struct workshop *workshop);

/* Ends every call; the sessions must still be there. A job that still runs hangs. */
void workshop_free(struct workshop *workshop);

#endif
