/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A family of tools as a table of functions: what a call would touch, what it would do in words,
 * and doing it. Which tools belong to a family stands in the catalogue (`provider`). Where the work
 * happens is the executor's affair, whether it may happen the engine's.
 *
 * A blocking family has `run`; then `prepare`, `subject`, `preview`, `refused` and `run` are called
 * on worker threads, for one call one after the other. A family that works with the loop's events
 * has `start` instead; then only `prepare` is called on a worker, the others on the loop.
 */
#ifndef CALL_PROVIDER_H
#define CALL_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cancel.h"
#include "base/err.h"
#include "base/json.h"
#include "permission/decision.h"
#include "protocol/catalog.h"

/* What the user has to agree to. */
struct provider_subject {
    /* With none of them the call is allowed: its group is offered, and it touches nothing. */
    const struct permission_resource *resources;
    size_t count;
    uint64_t mark; /* changes when the same call would do something else (decision_subject.mark) */
};

/* A total of 0 is unknown. */
typedef void provider_progress_fn(void *data, uint64_t done, uint64_t total, const char *what);

/* For `start`: on the loop, never from inside `start`. */
struct provider_events {
    provider_progress_fn *on_progress;
    /* Once. The result is a whole CallToolResult, also where the tool failed. */
    void (*on_done)(void *data, int error, struct str result);
    void *data;
    const void *session;  /* whose call it is; compared only */
    const char *decision; /* what allowed it, for the record: static */
    bool wants_progress;
};

struct provider {
    const char *name; /* as the catalogue has it */

    /* Whether a tool of this family is there. NULL: all are. */
    bool (*has)(const void *self, const struct catalog_tool *tool);

    /*
     * Checks the arguments, which outlive the call, and finds out what they name. Errors are in
     * words for the client.
     */
    int (*prepare)(void *self, const struct catalog_tool *tool, const struct json_value *arguments,
                   const struct cancel *cancel, void **out_call, struct err *err);
    /* On any thread. */
    void (*free)(void *call);

    /* What is not the call's own is copied into the arena. NULL: there is nothing to agree to. */
    int (*subject)(void *call, const void *session, struct arena *arena,
                   const struct cancel *cancel, struct provider_subject *out_subject,
                   struct err *err);
    /* Fills in action, detail, is_diff and deletes; an error is the one the call would end with. */
    int (*preview)(void *call, struct arena *arena, enum decision_disclosure disclosure,
                   const struct cancel *cancel, struct question *question, struct err *err);
    /* Records that the call was refused because of this resource, by what, with which code. */
    void (*refused)(void *call, const void *session, const struct permission_resource *resource,
                    const char *source, int code);

    /* Appends a whole CallToolResult. An error means that there is none: cancelled, no memory. */
    int (*run)(void *call, const char *decision, const struct cancel *cancel,
               provider_progress_fn *progress, void *data, struct buf *out, struct err *err);
    /* Whether such a call changes something, so that one given up may still have been made. */
    bool (*changes)(const struct catalog_tool *tool);

    /* Takes the call, and keeps its own time. The number is for `cancel`. */
    uint64_t (*start)(void *call, const struct provider_events *events);
    /* Ends it soon; on_done still comes. */
    void (*cancel)(void *self, uint64_t id);

    /* Ends what outlives calls. NULL: nothing does. */
    void (*end_session)(void *self, const void *session);
};

/* A family with what it works on. */
struct provider_use {
    const struct provider *provider;
    void *self;
};

/* Whether the catalogue says that the tool belongs to this family. */
bool provider_owns(const struct provider *provider, const struct catalog_tool *tool);

#endif
