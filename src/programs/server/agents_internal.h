/* SPDX-License-Identifier: Apache-2.0 */
/* What agents.c and agentcalls.c share. */
#ifndef PROGRAMS_SERVER_AGENTS_INTERNAL_H
#define PROGRAMS_SERVER_AGENTS_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "loop/timer.h"
#include "mcp/http.h"
#include "programs/server/agents.h"

/* The endpoint of one agent. */
struct agent_door {
    struct list node;       /* in agents->all; in agents->over, when it is */
    struct list user_node;  /* in agents_user.doors */
    struct list stale_node; /* in agents->stale, if its tools must be looked at again */
    struct agents *agents;
    struct store_agent agent;
    unsigned char key_digest[SHA256_BYTES];
    struct mcp_server server;
    struct mcp_http *mcp;
    bool is_over; /* its key was revoked */
};

/* Its calls go to a workspace, and never to the machine. */
static inline bool agent_has_workspace(const struct agent_door *door)
{
    return door->agent.workspace[0] != '\0';
}

/* The doors of one user. */
struct agents_user {
    int64_t id;
    struct list doors;
};

struct agents {
    struct agents_config config;
    struct map doors; /* by the bytes of the agent's id */
    struct map known; /* those whose key was looked up since the store changed, by its digest */
    struct store_view view;
    struct map users; /* those with doors, by the bytes of their ids */
    struct list all;  /* doors; the one that was checked longest ago first */
    size_t unchecked; /* of these, in this round */
    bool has_revoked; /* keys too must be looked up, in this round */
    struct store_view checked_view;
    struct list stale;
    struct list over; /* doors whose keys were revoked */
    struct loop_task refresh;
    struct loop_task look;
    struct timer sweep;
    bool is_closed;
};

/* The host of every endpoint; its data is an agent_door. */
extern const struct mcp_host agentcalls_host;

#endif
