/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URIs to which clients have subscribed. Watches the directory of each, once for all URIs in it;
 * finding it may block, so a worker does that.
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
    struct authority_scope *names; /* resolves links */
    struct authority_scope *files; /* for watching */
    atomic_uint *running;          /* counts jobs on workers; must outlive everything */
};

int subscriptions_new(const struct subscriptions_config *config,
                      struct subscriptions **out_subscriptions);

/*
 * Takes an MCP_SUBSCRIBE call and ends it. Its session is notified of changes until it
 * unsubscribes.
 */
void subscriptions_add(struct subscriptions *subscriptions, struct mcp_call *call);
void subscriptions_remove(struct subscriptions *subscriptions, const struct mcp_session *session,
                          struct str uri);

/* Call after freeing the pool. */
void subscriptions_free(struct subscriptions *subscriptions);

#endif
