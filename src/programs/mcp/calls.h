/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of MCP become calls of the engine here, and their ends answers. Whose requests they are,
 * and how answers travel, is a front's business.
 */
#ifndef PROGRAMS_MCP_CALLS_H
#define PROGRAMS_MCP_CALLS_H

#include <stdbool.h>

#include "mcp/mcp.h"
#include "programs/mcp/front.h"

struct calls;

struct calls_events {
    /* False while clients do not take what is finished: nothing more is begun. */
    bool (*may_begin)(void *data);
    void (*on_answered)(void *data); /* each time a call has ended */
    void *data;
};

int calls_new(const struct front_config *config, const struct calls_events *events,
              struct calls **out_calls);

/*
 * mcp_host.start, .answered, .cancel and .unsubscribe, for a host whose data begins with a pointer
 * to its calls. They use the call's data.
 */
void calls_take(void *data, struct mcp_call *call);
void calls_answered(void *data, struct mcp_call *call);
void calls_cancel(void *data, struct mcp_call *call);
void calls_unsubscribe(void *data, struct mcp_session *session, struct str uri);

/* Nothing comes from the client any more: nobody is asked for its sake, and nothing allowed. */
void calls_client_leaves(struct calls *calls);

/* may_begin() is true again. */
void calls_go_on(struct calls *calls);

/* Runs the loop, on threads of its own, until it is stopped. */
void calls_run(struct calls *calls);

/* Begins nothing any more. */
void calls_close(struct calls *calls);
/* After calls_close(): cancels everything; a change that has begun is finished or put back. */
void calls_give_up(struct calls *calls);

/* Ends every call, while the sessions are still there. A job that still runs hangs. */
void calls_end(struct calls *calls);
/* After the sessions. */
void calls_free(struct calls *calls);

#endif
