/* SPDX-License-Identifier: Apache-2.0 */
/* What engine.c, the side of the transports, and engine_states.c share: a call and its steps. */
#ifndef CALL_ENGINE_INTERNAL_H
#define CALL_ENGINE_INTERNAL_H

#include "base/list.h"
#include "call/engine.h"
#include "call/saving.h"
#include "loop/timer.h"

/*
 *   NEW -- PREPARING -- RUNNING
 *            | ^  `-- SAVING -- RUNNING
 *            | |         |
 *            | |     PREVIEWING
 *            | |         |
 *            | `--- ASKING_USER, ASKING_CLIENT
 *            `--- RUNNING, PREVIEWING, ASKING_...
 *   and from each of them to ENDED
 */
enum call_state {
    CALL_NEW,
    CALL_PREPARING, /* at the executor; one that decides by itself may already run it */
    CALL_SAVING,    /* a worker writes the user's answer into the settings */
    CALL_PREVIEWING,
    CALL_ASKING_USER,
    CALL_ASKING_CLIENT,
    CALL_RUNNING,
    CALL_ENDED,
};

struct call {
    struct call_engine *engine;
    struct list link;
    enum call_state state;
    struct call_request request;
    struct executor *executor;
    struct work *work; /* of the last round; NULL before the first */
    struct timer timer;
    int64_t since_ms;
    int64_t due_ms;
    int64_t asked_ms;
    uint64_t question;     /* at the queue */
    uint64_t mark;         /* of what was asked about */
    bool is_users;         /* the answer came from the queue, not through the transport */
    int64_t unanswered_ms; /* nobody answered for so long */
    struct timer waiting;  /* tells the client that the user is being asked */
    uint64_t waited;
    struct saving *saving; /* of the answer, while it is saved */
    enum permission_source source;
    char rule[PERMISSION_RULE_BYTES];
    size_t held; /* as counted in engine->held */
    bool is_late;
    bool is_cancelled;
};

struct call_engine {
    struct call_engine_config config;
    struct list calls;
    struct savers *savers;
    struct timer handed_out; /* until questions that clients took are given up */
    size_t held;
    uint64_t last_number; /* of a call, in the audit log */
    bool is_closed;
    bool is_alone; /* the client has left */
};

void call_init_timers(struct call *call);
bool call_is_asking(const struct call *call);
bool call_is_over_ceiling(struct call *call);

/* Each of these may end the call, and free it. */
void call_prepare(struct call *call);
/* Prepares it once more with the answer; is_users: it came from the queue. */
void call_try_with(struct call *call, enum permission_choice choice, bool is_users);
void call_give_up(struct call *call, int why);
void call_end_with(struct call *call, const struct call_end *end);
void call_fail_plainly(struct call *call, int code);
/* Ends it without an answer. */
void call_free(struct call *call);

/* A question that a client took along has come back with its answer. */
void call_engine_come_back(struct call_engine *engine);
/* savers_config.on_saved; `data` is the engine. */
void call_on_saved(void *data, void *saved, int result, bool is_stuck);

#endif
