/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls become jobs here: they wait, are done by workers one by one, tell how
 * far they are and end in time. Whose calls they are, and how answers travel,
 * is a front's business.
 */
#ifndef MCPHOST_WORKSHOP_H
#define MCPHOST_WORKSHOP_H

#include <stdbool.h>

#include "mcp/mcp.h"
#include "mcphost/front.h"

struct workshop;

struct workshop_events {
    /* False while clients do not take what is finished: nothing more is begun. */
    bool (*may_begin)(void *data);
    void (*on_answered)(void *data); /* each time a call has ended */
    void *data;
};

int workshop_new(const struct front_config *config, const struct workshop_events *events,
                 struct workshop **out_workshop);

/* mcp_host.start, .answered, .cancel and .unsubscribe: uses the call's data. */
void workshop_take(struct workshop *workshop, struct mcp_call *call);
void workshop_answered(struct workshop *workshop, struct mcp_call *call);
void workshop_cancel(struct workshop *workshop, struct mcp_call *call);
void workshop_unsubscribe(struct workshop *workshop, const struct mcp_session *session,
                          struct str uri);

/* Nothing comes from the client any more: nobody is asked for its sake, and nothing allowed. */
void workshop_client_leaves(struct workshop *workshop);

/* may_begin() is true again. */
void workshop_go_on(struct workshop *workshop);

/* Runs the loop, on threads of its own, until it is stopped. */
void workshop_run(struct workshop *workshop);

/* Begins nothing any more. */
void workshop_close(struct workshop *workshop);
/* Cancels everything; what has begun to change something is finished or put back. */
void workshop_give_up(struct workshop *workshop);

/* Ends every call, while the sessions are still there. A job that still runs hangs. */
void workshop_end(struct workshop *workshop);
/* After the sessions. */
void workshop_free(struct workshop *workshop);

#endif
