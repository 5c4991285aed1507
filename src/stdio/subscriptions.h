/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that a client wants to hear of. The directory of each is watched,
 * once for all addresses in it; looking for it may block, so a worker does it.
 */
#ifndef STDIO_SUBSCRIPTIONS_H
#define STDIO_SUBSCRIPTIONS_H

#include "loop/loop.h"
#include "loop/worker.h"
#include "mcp/mcp.h"
#include "tools/toolbox.h"

struct subscriptions;

/*
 * on_updated comes on the loop, for an address that was added. `names` says where
 * links lead, `files` is watched.
 */
int subscriptions_new(struct loop *loop, struct toolbox *box, struct authority_scope *names,
                      struct authority_scope *files, struct worker_pool *pool,
                      void (*on_updated)(void *data, struct str uri), void *data,
                      struct subscriptions **out_subscriptions);

/* Takes an MCP_SUBSCRIBE and ends it. */
void subscriptions_add(struct subscriptions *subscriptions, struct mcp_call *call);
void subscriptions_remove(struct subscriptions *subscriptions, struct str uri);

/* After the pool. */
void subscriptions_free(struct subscriptions *subscriptions);

#endif
