/* SPDX-License-Identifier: Apache-2.0 */
/* What conversations.c and conversationcalls.c share. */
#ifndef PROGRAMS_SERVER_CONVERSATIONS_INTERNAL_H
#define PROGRAMS_SERVER_CONVERSATIONS_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "base/sha256.h"
#include "call/engine.h"
#include "call/workers.h"
#include "loop/timer.h"
#include "permission/confirmation.h"
#include "programs/server/conversations.h"
#include "workspace/revival.h"
#include "workspace/tools.h"

enum { CONVERSATION_KEY_BYTES = 32 };

/* A provider that is offered. */
struct seat {
    struct conversations *all;
    struct workspace_client *client; /* NULL: not offered */
    struct workspace_tools *tools;
    struct provider_use use;
    struct workers *workers;
    struct executor *executor;
};

struct conversation {
    struct list node; /* in conversations->all; in ->over, when it is */
    struct conversations *all;
    struct workspace_conversation workspace; /* the session of its calls */
    unsigned char digest[SHA256_BYTES];      /* of whose it is and how the client names it */
    char key[CONVERSATION_KEY_BYTES];        /* random: of the workspace, and in the audit log */
    uint64_t number;                         /* on the page */
    int64_t agent;
    int64_t user;
    char name[STORE_MAX_NAME_BYTES + 1]; /* the agent's */
    enum workspace_provider provider;
    int64_t began_wall_ms;
    int64_t used_ms;
    struct keeper *keeper;
    struct confirmations *confirmations;
    struct call_engine *engine;
    unsigned calls;   /* in the engine */
    unsigned running; /* in the workspace, also after they were given up; and its end */
    bool is_lost;     /* with the process that had its workspace */
    bool is_over;
};

struct conversations {
    struct conversations_config config;
    struct seat seats[WORKSPACE_PROVIDERS];
    struct authority *authority; /* has no files: its scopes are for the audit log */
    struct map known;            /* by their digests */
    struct list all;
    struct list over; /* until their last calls have ended */
    struct list calls;
    size_t call_count; /* that somebody waits for */
    uint64_t last_number;
    uint64_t last_call;
    struct timer sweep;
    struct workspace_revival *revival;
    bool is_closed;
    atomic_uint running;
    atomic_uint changing;
};

/* conversations.c: the one that the call belongs to, which is created if it is new. */
int conversations_find(struct conversations *conversations, const struct conversations_call *call,
                       struct conversation **out_conversation, struct err *err);

/* conversationcalls.c */
int conversation_make_engine(struct conversation *conversation, const struct store_agent *agent,
                             struct err *err);

#endif
