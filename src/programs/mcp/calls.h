/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns MCP requests into calls of the engine, and their ends into answers. The front end owns the
 * requests and transports the answers.
 */
#ifndef PROGRAMS_MCP_CALLS_H
#define PROGRAMS_MCP_CALLS_H

#include <stdbool.h>

#include "mcp/mcp.h"
#include "programs/mcp/front.h"

struct calls;

struct calls_events {
    /* False while clients do not read finished answers: nothing more is started. */
    bool (*may_begin)(void *data);
    void (*on_answered)(void *data); /* whenever a call has ended */
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

/*
 * No more input from the client: it is not asked any more, and nothing that needs asking is
 * allowed.
 */
void calls_client_leaves(struct calls *calls);

/* Call when may_begin() is true again. */
void calls_go_on(struct calls *calls);

/* Runs the loop, on its own threads, until it is stopped. */
void calls_run(struct calls *calls);

/* Starts no more calls. */
void calls_close(struct calls *calls);
/* Call after calls_close(): cancels everything; a change in progress is finished or rolled back. */
void calls_give_up(struct calls *calls);

/* Ends every call while the sessions still exist. A job that still runs afterwards hangs. */
void calls_end(struct calls *calls);
/* Call after freeing the sessions. */
void calls_free(struct calls *calls);

#endif
