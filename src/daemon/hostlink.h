/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of gatehouse-toolhost: starts one, sends it calls and rules, and replaces it
 * when it dies, hangs or has lost its workers. Calls that it had are answered with an error then;
 * none is sent twice. What a call may do is decided by others, between its two phases.
 *
 * All events come from the loop, never from inside a function of this header.
 */
#ifndef DAEMON_HOSTLINK_H
#define DAEMON_HOSTLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "daemon/leftovers.h"
#include "loop/loop.h"
#include "permission/decision.h"
#include "permission/keeper.h"
#include "protocol/catalog.h"

enum {
    HOSTLINK_READY_MS = 30000, /* to begin with */
    HOSTLINK_LATE_MS = 5000,   /* past its own deadline a call's toolhost is taken for hung */
    HOSTLINK_FIRST_WAIT_MS = 100,
    HOSTLINK_LONGEST_WAIT_MS = 30000, /* before another one is tried, where they die young */
    HOSTLINK_MAX_CALLS = 1024,
};

struct hostlink;

struct hostlink_config {
    struct loop *loop;
    const struct log *log;
    const char *libexec;
    const char *const *argv;     /* of each; outlives the link */
    uint64_t max_file_bytes;     /* as argv has it */
    struct keeper *keeper;       /* whose rules it is told */
    struct leftovers *leftovers; /* for those that were let go; outlives the link */
    /* The first one is there, or never came to be: then with words. Once. */
    void (*on_begun)(void *data, const struct err *err);
    void *data;
};

/* Of one call. */
struct hostlink_events {
    void (*on_prepared)(void *data, struct str body);
    void (*on_previewed)(void *data, struct str body);
    /* The last one: a result, or an error. `has_begun`: what it did may be there. */
    void (*on_end)(void *data, struct str result, const struct err *err, bool has_begun);
};

int hostlink_new(const struct hostlink_config *config, struct hostlink **out_link, struct err *err);
/* Nobody is told of anything any more. Not in callbacks of its own. */
void hostlink_free(struct hostlink *link);

/* Whether a toolhost has said that it has this tool. */
bool hostlink_has(const struct hostlink *link, const struct catalog_tool *tool);

/* The keeper's rules have changed. */
void hostlink_tell_rules(struct hostlink *link);

/* ERR_BUSY while there is no toolhost, or too much was sent. The number is never 0. */
int hostlink_prepare(struct hostlink *link, struct str tool, const struct json_value *arguments,
                     int64_t timeout_ms, const struct hostlink_events *events, void *data,
                     uint32_t *out_number, struct err *err);
/* These may be called for a call that has ended meanwhile: nothing happens. */
void hostlink_preview(struct hostlink *link, uint32_t number, enum decision_telling telling);
void hostlink_run(struct hostlink *link, uint32_t number);
/* What is done of it ends; on_end still comes, maybe with a result that was there first. */
void hostlink_cancel(struct hostlink *link, uint32_t number);
/* No event comes any more. What runs is cancelled. */
void hostlink_forget(struct hostlink *link, uint32_t number);

#endif
