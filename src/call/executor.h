/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where calls are run: an interface with two implementations. call/workers.h runs them in this
 * process; the daemon's hostlink sends them to gatehouse-toolhost. Both represent a call as a work:
 *
 *     prepare -> on_prepared -> run -> on_end
 *                    `-> preview -> on_previewed
 *
 * An executor writes what it does to the audit log, or lets the provider do so. The caller decides
 * between the steps whether it may be done. An executor that gets the terms of the decision may
 * decide by itself to save a thread switch: then on_decided or on_end comes instead of on_prepared.
 *
 * Everything except executor_decide() belongs to the loop's thread.
 */
#ifndef CALL_EXECUTOR_H
#define CALL_EXECUTOR_H

#include <stdatomic.h>

#include "call/provider.h"

/* The arguments of a call. Reference-counted, since a hanging worker may still use them. */
struct call_input {
    atomic_uint refs;
    struct arena arena; /* holds the arguments */
    const struct catalog_tool *tool;
    const struct json_value *arguments;
    uint64_t number;   /* of the call, in the audit log */
    struct str client; /* what the caller's program calls itself; may be empty */
};

/* Without arguments yet; NULL without memory. */
struct call_input *call_input_new(size_t max_bytes);
/* Parses a copy of the text as its arguments. */
int call_input_read(struct call_input *input, struct str text);
void call_input_unref(struct call_input *input);

struct work;

struct work_end {
    struct str result;     /* a whole CallToolResult */
    struct str change;     /* what it did to contents of files, as a diff, if it is known */
    const struct err *err; /* why there is no result */
    bool is_refusal;       /* the error is about this call: invalid arguments, or denied */
    bool has_begun;        /* it may have taken effect */
    /* Of an executor that decided by itself; NULL: it did not, or a worker still holds it. */
    const struct decision *decision;
};

/* on_end comes last, unless the work is dropped. Any of them may drop the work. */
struct work_events {
    void (*on_prepared)(void *data);
    void (*on_decided)(void *data); /* the user must be asked, and the question is described */
    void (*on_previewed)(void *data);
    provider_progress_fn *on_progress;
    void (*on_end)(void *data, const struct work_end *end);
};

struct work_request {
    struct call_input *input;           /* the work takes a reference */
    const struct decision_terms *terms; /* NULL: the executor does not decide */
    const void *session;
    bool wants_progress;
    const struct work_events *events;
    void *data;
};

/* Common to both implementations; each embeds it in its own struct. */
struct work {
    const struct executor_ops *ops;
    struct executor *executor; /* a hanging worker may outlive it */
    atomic_uint refs;
    struct call_input *input;
    struct arena arena;
    const struct work_events *events; /* NULL: dropped */
    void *data;
    const void *session;
    bool wants_progress;
    bool keeps_own_time; /* while it runs, only the tool's own deadline applies */
    /* Valid once prepared: */
    struct provider_subject subject;
    /* Valid once decided: */
    struct decision_terms terms;
    struct decision decision;
    const struct permission_resource *refused; /* the resource that was refused; or NULL */
    const char *refused_by;
    const char *refused_rule; /* which rule it was; or NULL */
    struct err err;
};

struct executor_ops {
    bool (*has)(const struct executor *executor, const struct catalog_tool *tool);
    /* Sets *out_work before any event. The caller owns it until work_release(). */
    int (*prepare)(struct executor *executor, const struct work_request *request,
                   struct work **out_work, struct err *err);
    /* Writes the text of the question for executor_decide(); NULL: never needed. */
    int (*describe)(struct work *work, enum decision_disclosure disclosure,
                    const struct cancel *cancel, struct question *question, struct err *err);
    /* Both need a prepared work. `run` fails if the intent cannot be recorded. */
    void (*preview)(struct work *work, enum decision_disclosure disclosure);
    int (*run)(struct work *work);
    /* on_end comes with `why`, or with a result that came first: at once or later. */
    void (*cancel)(struct work *work, int why);
    /* No events follow. What runs is cancelled. */
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

/* For implementations: initialises a zeroed work with one reference. */
void work_init(struct work *work, struct executor *executor, const struct work_request *request);
struct work *work_ref(struct work *work);
/* On any thread. */
void work_unref(void *data);
/* Drops the work and the caller's reference. Does nothing for NULL. */
void work_release(struct work *work);

/*
 * Decides by work->terms; on any thread, while nobody else uses the work. Returns 0 if allowed or
 * if work->decision asks, with a text if `describes` is set. Otherwise the error is in work->err,
 * and work->refused tells whether to record the refusal.
 */
int executor_decide(struct work *work, bool describes, const struct cancel *cancel);

#endif
