/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workspaces for agents whose keys give them one instead of the user's machine: one for each
 * conversation, created with its first call, which no other conversation reaches. A conversation is
 * a session of MCP, or has a name that the client chose; it ends with its session, when it was not
 * used for a while, when the user stops it or revokes the key, and with the server.
 *
 * The calls are decided, asked about and recorded here as a machine does it: a question is sent as
 * a result, and the answer comes with the repeated call.
 */
#ifndef PROGRAMS_SERVER_CONVERSATIONS_H
#define PROGRAMS_SERVER_CONVERSATIONS_H

#include "base/jsonwrite.h"
#include "base/log.h"
#include "gateway/hub.h"
#include "loop/loop.h"
#include "programs/server/workspacestart.h"
#include "protocol/catalog.h"
#include "session/serveraudit.h"
#include "store/store.h"

struct conversations;

enum {
    CONVERSATIONS_MAX_OF_USER = 32,
    CONVERSATIONS_NAME_BYTES = 256, /* that a client may choose */
};

struct conversations_config {
    struct loop *loop;
    const struct log *log;
    struct store *store;
    struct serveraudit *audit;
    const struct workspace_offer *offer;
    /* The list of this user's workspaces is another one now; called from the loop. */
    void (*changed)(void *data, int64_t user);
    void *data;
};

int conversations_new(const struct conversations_config *config,
                      struct conversations **out_conversations, struct err *err);
/* Ends all of them; calls under way fail. */
void conversations_close(struct conversations *conversations);
/* Before the loop is freed, and before workspacestart_close(). */
void conversations_free(struct conversations *conversations);

/* Whether this tool of a workspace is offered with such a key. */
bool conversations_offer(const struct store_agent *agent, const struct catalog_tool *tool);

struct conversations_call {
    const struct store_agent *agent;
    struct str session; /* of MCP; or empty */
    struct str name;    /* of the conversation, chosen by the client, which counts more; or empty */
    struct str client;  /* what it calls itself */
    const struct catalog_tool *tool;
    const struct json_value *arguments;
    struct str confirmation; /* the user's answer to a question; or empty */
};

/* As hub_call() */
int conversations_call(struct conversations *conversations, const struct conversations_call *call,
                       const struct hub_call_events *events, void *data, uint64_t *out_number,
                       struct err *err);
/* `done` is not called any more. */
void conversations_cancel(struct conversations *conversations, uint64_t number);
/* Calls that have not been answered. */
size_t conversations_call_count(const struct conversations *conversations);

/* The session is over: its workspace ends. */
void conversations_end_session(struct conversations *conversations, int64_t agent,
                               struct str session);
/* The key was revoked. */
void conversations_end_agent(struct conversations *conversations, int64_t agent);

/* The providers that are offered, as an array. */
void conversations_write_providers(const struct conversations *conversations,
                                   struct json_writer *json);
bool conversations_has(const struct conversations *conversations, const char *provider);
/* The workspaces of a user, as an array. */
void conversations_write(const struct conversations *conversations, int64_t user,
                         struct json_writer *json);
/* The user wants it to end. ERR_NOT_FOUND */
int conversations_stop(struct conversations *conversations, int64_t user, uint64_t number);

#endif
