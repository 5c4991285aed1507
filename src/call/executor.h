/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where calls are done: an interface with two implementations. call/workers.h does them in this
 * process; the daemon's hostlink sends them to gatehouse-toolhost. For both a call is a work:
 *
 *     prepare -> on_prepared -> run -> on_end
 *                    `-> preview -> on_previewed
 *
 * An executor writes into the record what it does, or has that done by the provider. Whether it may
 * be done is decided by the caller, between the steps. An executor that is given the terms of the
 * decision may decide by itself where that saves a way between threads: then on_decided or on_end
 * comes instead of on_prepared.
 *
 * Everything but executor_decide() belongs to the loop.
 */
#ifndef CALL_EXECUTOR_H
#define CALL_EXECUTOR_H

#include <stdatomic.h>

#include "call/provider.h"

/* The arguments of a call. Counted, since a worker that hangs may come back to them. */
struct call_input {
    atomic_uint refs;
    struct arena arena; /* holds the arguments */
    const struct catalog_tool *tool;
    const struct json_value *arguments;
};

/* Empty; NULL without memory. */
struct call_input *call_input_new(size_t max_bytes);
struct call_input *call_input_ref(struct call_input *input);
void call_input_unref(struct call_input *input);

struct work;

struct work_end {
    struct str result;     /* a whole CallToolResult */
    const struct err *err; /* or why there is none */
    bool is_refusal;       /* the error is about this call: its arguments, or that it is denied */
    bool has_begun;        /* what it did may be there */
    /* Of an executor that decided by itself; NULL: it did not, or a worker still has it. */
    const struct decision *decision;
};

/* The last one is on_end, unless the work is dropped. Any of them may drop it. */
struct work_events {
    void (*on_prepared)(void *data);
    void (*on_decided)(void *data); /* it asks, and the question is described */
    void (*on_previewed)(void *data);
    provider_progress_fn *on_progress;
    void (*on_end)(void *data, const struct work_end *end);
};

struct work_request {
    struct call_input *input;           /* the work adds a reference */
    const struct decision_terms *terms; /* NULL: the executor does not decide */
    const void *session;
    bool wants_progress;
    const struct work_events *events;
    void *data;
};

/* What both implementations share; each adds its own behind it. */
struct work {
    const struct executor_ops *ops;
    struct executor *executor; /* which a worker that hangs may outlive */
    atomic_uint refs;
    struct call_input *input;
    struct arena arena;
    const struct work_events *events; /* NULL: dropped */
    void *data;
    const void *session;
    bool wants_progress;
    bool keeps_own_time; /* while it runs no deadline but the tool's own holds */
    /* Since it is prepared: */
    struct provider_subject subject;
    /* Since it is decided about: */
    struct decision_terms terms;
    struct decision decision;
    const struct permission_resource *refused; /* because of which it was refused; or NULL */
    const char *refused_by;
    struct err err;
};

struct executor_ops {
    bool (*has)(const struct executor *executor, const struct catalog_tool *tool);
    /* *out_work is set before any event. It is the caller's until work_release(). */
    int (*prepare)(struct executor *executor, const struct work_request *request,
                   struct work **out_work, struct err *err);
    /* The question's words, for executor_decide(); NULL: never asked for. */
    int (*describe)(struct work *work, enum decision_disclosure disclosure,
                    const struct cancel *cancel, struct question *question, struct err *err);
    /* Both for a prepared work. `run` fails when the intent cannot be recorded. */
    void (*preview)(struct work *work, enum decision_disclosure disclosure);
    int (*run)(struct work *work);
    /* on_end comes with `why`, or with a result that was there first: in here or later. */
    void (*cancel)(struct work *work, int why);
    /* No event comes any more. What runs is cancelled. */
    void (*drop)(struct work *work);
    void (*refused)(struct work *work);
    /* Both may be NULL: a session ends; rules were added. */
    void (*end_session)(struct executor *executor, const void *session);
    void (*rules_changed)(struct executor *executor);
    void (*free_work)(struct work *work);
};

struct executor {
    const struct executor_ops *ops;
};

/* For implementations: fills in a zeroed work, with one reference. */
void work_init(struct work *work, struct executor *executor, const struct work_request *request);
struct work *work_ref(struct work *work);
/* On any thread. */
void work_unref(void *data);
/* Drops it and gives up the caller's reference. Nothing for NULL. */
void work_release(struct work *work);

/*
 * Decides by work->terms; on any thread, while nobody else touches the work. 0: allowed, or
 * work->decision asks, with words where `describes` is set. Else the error is in work->err, and
 * work->refused says whether the refusal has to be recorded.
 */
int executor_decide(struct work *work, bool describes, const struct cancel *cancel);

#endif
