/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life cycle of every tool call, whatever its transport and tool:
 *
 *     prepared -> decided -> run -> answered
 *                    `-> previewed -> asked -> prepared once more, with the answer
 *
 * A transport makes a call from a message, and a message from its end. An executor does the work
 * (call/executor.h). The engine knows neither messages nor tools: it decides, asks, and keeps the
 * deadlines; it makes sure that each call ends exactly once, unless its session is over.
 *
 * The user's answer counts if the prepared call would still do the same (decision.mark). While the
 * user thinks, the executor holds nothing. A permanent answer is saved by a worker, since another
 * program may have locked the settings.
 *
 * Everything here belongs to the loop's thread.
 */
#ifndef CALL_ENGINE_H
#define CALL_ENGINE_H

#include "base/log.h"
#include "call/executor.h"
#include "call/openquestions.h"
#include "loop/loop.h"
#include "permission/questionqueue.h"
#include "permission/rules/keeper.h"

enum { CALL_WAIT_MS = 4000 };

struct call_engine;
struct call;

enum call_outcome {
    CALL_DONE,    /* the tool returned a result, possibly an error */
    CALL_REFUSED, /* invalid arguments, or denied */
    CALL_FAILED,  /* cancelled, timed out, or an internal failure */
};

struct call_end {
    enum call_outcome outcome;
    struct str result;      /* CALL_DONE: a whole CallToolResult */
    struct str change;      /* the same: see work_end */
    struct err err;         /* otherwise */
    const char *refused_by; /* of CALL_REFUSED: what decided so; NULL: nobody had to. Static */
};

struct call_engine_config {
    struct loop *loop;
    const struct log *log;
    struct executor *const *executors; /* the first that has the tool runs it */
    size_t executor_count;
    atomic_uint *running; /* counts its workers' jobs; must outlive all threads */
    struct keeper *keeper;

    /* Asks there while it has a surface, and otherwise through the transport. NULL: only there. */
    struct question_queue *queue;
    const char *how_to_ask;           /* advice for the user when nobody can be asked */
    struct open_questions *questions; /* told when one opens and closes; NULL: nobody */
    bool keeps_clients_answers;       /* offer "always" even if the transport asks */
    /* Whether the call's client can be asked. NULL: always. */
    bool (*can_ask)(void *data, const struct call *call);
    /*
     * Returns 0 if call_answer() or call_lapse() will follow; 1 if the question was sent as the
     * call's answer and the user's answer comes with another call, in which case this call is
     * freed; an error if nobody was asked.
     */
    int (*ask)(void *data, struct call *call, const struct question *question, uint64_t mark,
               struct err *err);
    /* Whether the call came with the answer to this question. NULL: never. */
    bool (*find_answer)(void *data, struct call *call, const struct question *question,
                        enum permission_choice *out_choice);

    /*
     * True: the deadline of a call keeps running while the user thinks, because the client waits
     * just that long. False: it is suspended, and a queued question is denied after ask_ms.
     */
    bool charges_thinking;
    int64_t ask_ms;
    size_t max_held_bytes; /* limit over all calls; 0: the transport limits them */

    /* Called once for each call, which is freed when this returns. */
    void (*on_end)(void *data, struct call *call, const struct call_end *end);
    /*
     * With the call's data; NULL: no progress reports. Also called every CALL_WAIT_MS while the
     * user is asked, so that a client does not give up.
     */
    provider_progress_fn *on_progress;
    void *data;
};

struct call_request {
    struct call_input *input; /* the call takes ownership, even on failure */
    const void *session;      /* for the provider's jobs and call_engine_end_session() */
    int64_t timeout_ms;
    bool wants_progress;
    /* For a call that was asked about before: */
    bool has_answer;
    enum permission_choice answer;
    uint64_t mark;
    void *data;
};

int call_engine_new(const struct call_engine_config *config, struct call_engine **out_engine);
/*
 * Call before freeing the executors. Waits for workers that save answers; drops calls without an
 * answer.
 */
void call_engine_free(struct call_engine *engine);

bool call_engine_has(const struct call_engine *engine, const struct catalog_tool *tool);
/* Bits 1 << enum permission_choice that questions through the transport offer. */
unsigned call_engine_choices(const struct call_engine *engine);

/*
 * ERR_BUSY if too much is held, ERR_NOT_FOUND without an executor for the tool. Nothing happens
 * before call_start(), which may end the call.
 */
int call_new(struct call_engine *engine, const struct call_request *request,
             struct call **out_call);
void call_start(struct call *call);

/* Ends the call with ERR_CANCELLED, at once or soon; or with a result that came first. */
void call_cancel(struct call *call);
/* The answer to call_engine_config.ask. */
void call_answer(struct call *call, enum permission_choice choice);
/* Instead: there was none in time. */
void call_lapse(struct call *call);

/* The call for whose data this is true; NULL: none. */
struct call *call_engine_find(struct call_engine *engine,
                              bool (*is_it)(const void *call_data, const void *key),
                              const void *key);

void *call_data(const struct call *call);
const struct call_input *call_input(const struct call *call);
int64_t call_since_ms(const struct call *call);
/* What the call touches, as far as known. */
const struct provider_subject *call_subject(const struct call *call);
/* Whether somebody answered a question about the call, and what. */
bool call_was_asked(const struct call *call, enum permission_choice *out_answer);
/* What decided about the call. */
enum permission_source call_source(const struct call *call);
/* The same as text, see decision.h; empty if nothing did. */
const char *call_rule(const struct call *call);

/* The client can no longer be asked: calls that wait for an answer are denied. */
void call_engine_client_leaves(struct call_engine *engine);
/* Starts no more calls. */
void call_engine_close(struct call_engine *engine);
/* Call after call_engine_close(): ends each call with ERR_CANCELLED. */
void call_engine_cancel_all(struct call_engine *engine);
/*
 * Drops the session's calls without an answer, and ends its jobs and the permissions for the
 * session. A change in progress is finished or rolled back, and recorded.
 */
void call_engine_end_session(struct call_engine *engine, const void *session);

#endif
