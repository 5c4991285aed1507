/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP for agents: a bearer key, or a token of OAuth, is an agent of one user, and each agent has an
 * MCP endpoint of its own, with the tools that the user's machine offers and its key allows. The
 * tools come and go with the machine. A key may be for a workspace instead, which has tools of its
 * own.
 */
#ifndef PROGRAMS_SERVER_AGENTS_H
#define PROGRAMS_SERVER_AGENTS_H

#include "base/log.h"
#include "gateway/hubhttp.h"
#include "loop/loop.h"
#include "net/http/exchange.h"
#include "programs/server/board.h"
#include "programs/server/conversations.h"
#include "programs/server/oauth.h"
#include "store/store.h"

struct agents;

struct agents_config {
    struct loop *loop;
    const struct log *log;
    struct store *store;
    struct hubhttp *gateway;
    struct board *board; /* where the page shows calls and asks */
    struct metrics *metrics;
    struct oauth *oauth;
    struct conversations *conversations; /* those of workspaces */
    /* Somebody shows a key that nobody has: false after it answered that this is too much. */
    bool (*admit)(void *data, struct exchange *exchange, bool is_known);
    void *data;
};

int agents_new(const struct agents_config *config, struct agents **out_agents);

/* An exchange_handler, called before the body is read; `data` is this. */
void agents_handle(void *data, struct exchange *exchange);

/* The tools of this user's machine may be others now. */
void agents_changed(struct agents *agents, int64_t user);

/* Keys or tokens were revoked: what they opened ends now, and not only soon. */
void agents_look(struct agents *agents);

/* No new requests from here on; calls go on. */
void agents_refuse(struct agents *agents);
/* Cancels all calls and ends all streams. */
void agents_close(struct agents *agents);
void agents_free(struct agents *agents);

#endif
