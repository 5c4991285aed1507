/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that clients want to hear of. The directory of each is watched,
 * once for all addresses in it; looking for it may block, so a worker does it.
 */
#ifndef PROGRAMS_MCP_SUBSCRIPTIONS_H
#define PROGRAMS_MCP_SUBSCRIPTIONS_H

#include <stdatomic.h>

#include "files/toolbox.h"
#include "loop/loop.h"
#include "loop/worker.h"
#include "mcp/mcp.h"

struct subscriptions;

struct subscriptions_config {
    struct loop *loop;
    struct worker_pool *pool;
    struct toolbox *box;
    struct authority_scope *names; /* says where links lead */
    struct authority_scope *files; /* is watched */
    atomic_uint *running;          /* counts what a worker has or had; outlives everything */
};

int subscriptions_new(const struct subscriptions_config *config,
                      struct subscriptions **out_subscriptions);

/* Takes an MCP_SUBSCRIBE and ends it. Its session is told of changes, until it unsubscribes. */
void subscriptions_add(struct subscriptions *subscriptions, struct mcp_call *call);
void subscriptions_remove(struct subscriptions *subscriptions, const struct mcp_session *session,
                          struct str uri);

/* After the pool. */
void subscriptions_free(struct subscriptions *subscriptions);

#endif
