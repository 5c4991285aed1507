/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A family of tools as a table of functions: what a call would touch, a description of what it
 * would do, and doing it. The catalogue says which tools belong to a family (`provider`). The
 * executor chooses where the work is done, the engine whether it may be done.
 *
 * A blocking family has `run`; then `prepare`, `subject`, `preview`, `refused` and `run` are called
 * on worker threads, one after the other for one call. An event-driven family has `start` instead;
 * then only `prepare` is called on a worker, and the others on the loop.
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

/* What needs permission. */
struct provider_subject {
    /* Without any, the call is allowed: its group is offered, and it touches nothing. */
    const struct permission_resource *resources;
    size_t count;
    uint64_t mark; /* changes when the same call would do something else (decision_subject.mark) */
};

/* `total` is 0 if unknown. */
typedef void provider_progress_fn(void *data, uint64_t done, uint64_t total, const char *what);

/* For `start`: called on the loop, never from inside `start`. */
struct provider_events {
    provider_progress_fn *on_progress;
    /* Called once. The result is a whole CallToolResult, even if the tool failed. */
    void (*on_done)(void *data, int error, struct str result);
    void *data;
    const void *session;  /* that the call belongs to */
    const char *decision; /* what allowed it, for the audit log; a static string */
    bool wants_progress;
};

struct provider {
    const char *name; /* as in the catalogue */

    /* Whether a tool of this family is available. NULL: all are. */
    bool (*has)(const void *self, const struct catalog_tool *tool);

    /*
     * Checks the arguments, which outlive the call, and resolves what they name. Error messages are
     * for the client. `number` is the call's in the audit log.
     */
    int (*prepare)(void *self, const struct catalog_tool *tool, const struct json_value *arguments,
                   uint64_t number, const struct cancel *cancel, void **out_call, struct err *err);
    /* Called on any thread. */
    void (*free)(void *call);

    /* Copies into the arena what the call does not own. NULL: nothing needs permission. */
    int (*subject)(void *call, const void *session, struct arena *arena,
                   const struct cancel *cancel, struct provider_subject *out_subject,
                   struct err *err);
    /*
     * Fills in action, detail, is_diff, deletes and is_folder; an error is the one that the call
     * would return.
     */
    int (*preview)(void *call, struct arena *arena, enum decision_disclosure disclosure,
                   const struct cancel *cancel, struct question *question, struct err *err);
    /*
     * Records in the audit log that the call was refused because of this resource, what decided so,
     * the rule or NULL, and the code.
     */
    void (*refused)(void *call, const void *session, const struct permission_resource *resource,
                    const char *source, const char *rule, int code);

    /* Appends a whole CallToolResult. On an error (cancelled, no memory) there is none. */
    int (*run)(void *call, const char *decision, const struct cancel *cancel,
               provider_progress_fn *progress, void *data, struct buf *out, struct err *err);
    /* Whether such a call changes something, so that it may have taken effect even if abandoned. */
    bool (*changes)(const struct catalog_tool *tool);
    /* After `run`, for the audit log: what it did to contents, as a diff. NULL: never anything. */
    struct str (*change)(const void *call);

    /* Takes ownership of the call, and keeps its own deadline. Returns an id for `cancel`. */
    uint64_t (*start)(void *call, const struct provider_events *events);
    /* Makes it end soon; on_done is still called. */
    void (*cancel)(void *self, uint64_t id);

    /* Ends what outlives the session's calls. NULL: nothing does. */
    void (*end_session)(void *self, const void *session);
};

/* A family with the object it works on. */
struct provider_use {
    const struct provider *provider;
    void *self;
};

/*
 * For provider_subject.mark, where the resource does not name what the arguments say: no other
 * arguments have the same. `more` is what else the call depends on; or empty.
 */
int provider_mark(const struct json_value *arguments, struct str more, uint64_t *out_mark);

/* Whether the tool belongs to this family, by the catalogue. */
bool provider_owns(const struct provider *provider, const struct catalog_tool *tool);

#endif
