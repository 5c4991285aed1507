/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of every tool call, whoever sent it and whatever it does:
 *
 *     prepared -> decided -> run -> answered
 *                    `-> previewed -> asked -> prepared once more, with the answer
 *
 * A transport makes a call out of a message, and bytes out of its end. An executor does the work
 * (call/executor.h). The engine knows neither messages nor tools: it decides, asks, and keeps the
 * time; it sees to it that each call ends exactly once, unless its session is over.
 *
 * The user's answer counts if the prepared call is still about the same (decision.mark). While
 * somebody thinks, nothing is held at the executor. An answer that is kept for good is written by a
 * worker, since another program may have the settings.
 *
 * All of it belongs to the loop.
 */
#ifndef CALL_ENGINE_H
#define CALL_ENGINE_H

#include "base/log.h"
#include "call/executor.h"
#include "loop/loop.h"
#include "permission/questionqueue.h"
#include "permission/rules/keeper.h"

struct call_engine;
struct call;

enum call_outcome {
    CALL_DONE,    /* the tool has a result, which may tell of an error */
    CALL_REFUSED, /* its arguments are wrong, or it is denied */
    CALL_FAILED,  /* cancelled, too late, or something broke */
};

struct call_end {
    enum call_outcome outcome;
    struct str result; /* CALL_DONE: a whole CallToolResult */
    struct err err;    /* else */
};

struct call_engine_config {
    struct loop *loop;
    const struct log *log;
    struct executor *const *executors; /* the first that has a tool does it */
    size_t executor_count;
    atomic_uint *running; /* counts its workers' jobs; outlives all threads */
    struct keeper *keeper;

    /* The terminal, and nobody else then. NULL: the transport asks. */
    struct question_queue *queue;
    const char *how_to_ask;     /* what the user can do where nobody can be asked */
    bool keeps_clients_answers; /* "always" is offered when the transport asks, too */
    /* Without a queue: whether the call's client can be asked. */
    bool (*can_ask)(void *data, const struct call *call);
    /*
     * 0: call_answer() will come. 1: the question was the call's answer, which somebody brings with
     * another call; this one is gone. An error: nobody was asked.
     */
    int (*ask)(void *data, struct call *call, const struct question *question, uint64_t mark,
               struct err *err);
    /* Whether the call has brought the answer to this question along. NULL: never. */
    bool (*find_answer)(void *data, struct call *call, const struct question *question,
                        enum permission_choice *out_choice);

    /*
     * True: the time of a call goes on while the user thinks, because somebody waits for just so
     * long. Else it stands still, and a question at the queue is denied after ask_ms.
     */
    bool charges_thinking;
    int64_t ask_ms;
    size_t max_held_bytes; /* by all calls; 0: the transport counts them */

    /* Once for each call; it is gone when this returns. */
    void (*on_end)(void *data, struct call *call, const struct call_end *end);
    provider_progress_fn *on_progress; /* with the call's data; NULL: nobody hears of it */
    void *data;
};

struct call_request {
    struct call_input *input; /* becomes the call's, also on failure */
    const void *session;      /* of the provider's jobs, and for call_engine_end_session() */
    int64_t timeout_ms;
    bool wants_progress;
    /* Of a call that was asked about before: */
    bool has_answer;
    enum permission_choice answer;
    uint64_t mark;
    void *data;
};

int call_engine_new(const struct call_engine_config *config, struct call_engine **out_engine);
/* Before the executors. Waits for workers that keep answers; calls are dropped without an answer.
 */
void call_engine_free(struct call_engine *engine);

bool call_engine_has(const struct call_engine *engine, const struct catalog_tool *tool);
/* Bits 1 << enum permission_choice that a question offers. */
unsigned call_engine_choices(const struct call_engine *engine);

/* ERR_BUSY with too much held, ERR_NOT_FOUND without an executor. Nothing happens before
 * call_start(), which may end the call. */
int call_new(struct call_engine *engine, const struct call_request *request,
             struct call **out_call);
void call_start(struct call *call);

/* Ends it with ERR_CANCELLED, in here or soon; or with a result that was there first. */
void call_cancel(struct call *call);
/* The answer to call_engine_config.ask. */
void call_answer(struct call *call, enum permission_choice choice);

void *call_data(const struct call *call);
const struct call_input *call_input(const struct call *call);
int64_t call_since_ms(const struct call *call);
/* What it is about, as far as that is known. */
const struct provider_subject *call_subject(const struct call *call);
/* What decided about it. */
enum permission_source call_source(const struct call *call);

/* Nobody is there to be asked for these calls any more: what waits for an answer is denied. */
void call_engine_client_leaves(struct call_engine *engine);
/* Begins nothing more. */
void call_engine_close(struct call_engine *engine);
/* After call_engine_close(): each call ends with ERR_CANCELLED. */
void call_engine_cancel_all(struct call_engine *engine);
/*
 * Its calls are dropped without an answer, its jobs and what was allowed for it are over. A change
 * that was begun is finished or put back, and recorded.
 */
void call_engine_end_session(struct call_engine *engine, const void *session);

#endif
