/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of daemon/calls share, and nobody else needs. */
#ifndef DAEMON_CALLS_INTERNAL_H
#define DAEMON_CALLS_INTERNAL_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/list.h"
#include "daemon/calls.h"
#include "loop/timer.h"
#include "loop/worker.h"
#include "permission/confirmation.h"
#include "permission/decision.h"

enum {
    CALLS_RESULT_BYTES = 4 << 20, /* of what is said here: an error, a question for the instance */
};

/*
 *   PREPARING -- DECIDED? -- PREVIEWING -- ASKING -- PREPARING ...
 *        `-- KEEPING --`-- RUNNING
 *   and from each of them to ENDED
 */
enum call_state {
    CALL_PREPARING,  /* the toolhost, or a worker, finds out what it is about */
    CALL_PREVIEWING, /* it finds out what would be done */
    CALL_ASKING,     /* at the desk */
    CALL_KEEPING,    /* a worker has the call: an answer is kept for good */
    CALL_RUNNING,
    CALL_ENDED,
};

/* What is touched, as the record names it. */
struct touched {
    enum authority_operation operation;
    struct str name;
    uint64_t request_id; /* of the intent */
};

struct call {
    struct calls *calls;
    struct list node;
    atomic_uint holders; /* the loop, and a job of a worker, which may outlive what it is for */
    enum call_state state;
    struct arena arena; /* holds what follows */
    struct str id;
    const struct catalog_tool *tool;
    const struct json_value *arguments;
    struct str confirmation; /* the answer that the instance brought; or empty */
    struct timer deadline;   /* the server's */
    int64_t since_ms;
    uint32_t number; /* at the toolhost; 0: none */
    struct permission_resource *resources;
    size_t resource_count;
    struct touched *touched;
    size_t touched_count;
    uint64_t mark;
    bool deletes;
    struct shell_call *shell_call; /* of a command, until it is run */
    uint64_t shell_id;             /* while it runs; else 0 */
    struct str command;            /* as it was written; or what is typed, in words */
    const char *refused_by;        /* of a command: what decided so */
    struct decision decision;
    struct err err;
    bool has_answer;
    enum permission_choice answer;
    uint64_t answer_mark;
    uint64_t question;                             /* at the desk */
    void (*worked)(struct call *call, int result); /* while a worker has it */
    bool is_away;      /* a worker or the shell has it and gives it back */
    bool is_forgotten; /* its session has ended meanwhile */
    bool is_late;      /* the server has given it up */
};

struct calls {
    struct calls_config config;
    struct list all;
    struct confirmations *confirmations; /* where the instance asks */
    struct worker_pool *pool;            /* understands commands */
    struct worker_pool *keepers;         /* of answers: they are given more time in the end */
    atomic_uint at_work; /* what the workers of both have, those that hang included */
};

/* The only place where a state changes. Whatever waits for the call elsewhere is called back. */
void calls_enter(struct call *call, enum call_state next);

/* The last thing that happens to a call, which is gone then. */
void calls_answer(struct call *call, struct str result);
/* With what the user has to be asked. */
void calls_answer_question(struct call *call, struct str result);
/* Not answered: its session has ended. */
void calls_drop(struct call *call);
void calls_fail(struct call *call, const struct err *err);
void calls_fail_plainly(struct call *call, int code);
/* The server has given it up before it was begun. */
void calls_fail_late(struct call *call);

/* The next step, when the call is understood; when the user has to be asked; when it is allowed. */
void calls_decide(struct call *call);
void calls_ask(struct call *call);
void calls_run(struct call *call);

/* Gives the call to a worker; `done` gets it back with the result, unless it is given up. */
void calls_work(struct call *call, int (*work)(void *data, struct cancel *token),
                void (*done)(struct call *call, int result), int64_t timeout_ms);
/* False: its session has ended meanwhile, and it is gone. */
bool calls_is_back(struct call *call);

/* All of them together, what the toolhost says of them included. */
bool calls_hold_too_much(const struct calls *calls);

/* ---- commands ---- */

bool calls_is_command(const struct call *call);
void calls_prepare_command(struct call *call);
void calls_describe_command(struct call *call);
void calls_run_command(struct call *call);
void calls_refuse_command(struct call *call, const char *source, int code);

/* ---- files ---- */

void calls_prepare(struct call *call);
/* Reads the body of PREPARED into the call. */
int calls_read_prepared(struct call *call, struct str body, struct err *err);
int calls_read_previewed(struct call *call, struct str body, struct err *err);
/* Whether a result tells of an error, and its words. */
bool calls_read_failure(struct str result, struct err *out_err);

/* ---- the record ---- */

enum calls_outcome {
    CALLS_DONE,
    CALLS_FAILED,
    CALLS_UNKNOWN, /* what was to be changed stands there as begun, and never as ended */
};

/* One that fails means that nothing may be done. */
int calls_note_intents(struct call *call);
void calls_note_outcomes(struct call *call, enum calls_outcome outcome, int error);
/* A tool of a group that is denied, which nobody was told of. */
void calls_note_not_offered(const struct calls *calls, const struct catalog_tool *tool);
/* A name that the toolhost does not take. */
void calls_note_error(struct call *call, const struct err *err);
void calls_note_refusal(void *data, const struct permission_resource *resource, const char *source,
                        int code);

#endif
