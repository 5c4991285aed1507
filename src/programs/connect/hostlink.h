/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of gatehouse-toolhost: starts one, sends it calls and rules, and replaces it
 * when it dies, hangs or has lost its workers. It is an executor (call/executor.h), which keeps the
 * record: the toolhost has none. Calls of a toolhost that is gone end with an error; none is sent
 * twice.
 */
#ifndef PROGRAMS_CONNECT_HOSTLINK_H
#define PROGRAMS_CONNECT_HOSTLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "call/executor.h"
#include "gatehouse/authority.h"
#include "loop/loop.h"
#include "permission/rules/keeper.h"
#include "programs/connect/leftovers.h"
#include "protocol/catalog.h"

enum {
    HOSTLINK_READY_MS = 30000, /* to begin with */
    HOSTLINK_STEP_MS = 60000,  /* of each step of a call */
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
    const char *const *argv;          /* of each; outlives the link */
    uint64_t max_file_bytes;          /* as argv has it */
    struct keeper *keeper;            /* whose rules it is told */
    struct authority_scope *recorded; /* in whose name calls stand in the record */
    struct leftovers *leftovers;      /* for those that were let go; outlives the link */
    /* The first one is there, or never came to be: then with words. Once. */
    void (*on_begun)(void *data, const struct err *err);
    void *data;
};

int hostlink_new(const struct hostlink_config *config, struct hostlink **out_link, struct err *err);
/* Nobody is told of anything any more. Not in callbacks of its own. */
void hostlink_free(struct hostlink *link);

/* Whether a toolhost has said that it has this tool. */
bool hostlink_has(const struct hostlink *link, const struct catalog_tool *tool);

/* The keeper's rules have changed. */
void hostlink_tell_rules(struct hostlink *link);

/* Its calls. Preparing fails with ERR_BUSY while there is no toolhost, or too much was sent. */
struct executor *hostlink_executor(struct hostlink *link);

#endif
