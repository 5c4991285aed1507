/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of gatehouse-toolhost: starts one, sends it calls and rules, and replaces it
 * when it dies, hangs or has lost its workers. It is an executor (call/executor.h) that writes the
 * audit log: the toolhost has none. Calls of a toolhost that has died end with an error; none is
 * sent twice.
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
    HOSTLINK_READY_MS = 30000, /* to become ready */
    HOSTLINK_STEP_MS = 60000,  /* for each step of a call */
    HOSTLINK_LATE_MS = 5000,   /* beyond its deadline, a call's toolhost is considered hung */
    HOSTLINK_FIRST_WAIT_MS = 100,
    HOSTLINK_LONGEST_WAIT_MS = 30000, /* before the next try, if they keep dying early */
    HOSTLINK_MAX_CALLS = 1024,
};

struct hostlink;

struct hostlink_config {
    struct loop *loop;
    const struct log *log;
    const char *libexec;
    const char *const *argv;          /* of each toolhost; must outlive the link */
    uint64_t max_file_bytes;          /* same as in argv */
    struct keeper *keeper;            /* its rules are sent to the toolhost */
    struct authority_scope *recorded; /* the scope under which calls are recorded */
    struct leftovers *leftovers;      /* for released toolhosts; must outlive the link */
    /* Called once: the first toolhost is ready or, with an error, could not be started. */
    void (*on_begun)(void *data, const struct err *err);
    void *data;
};

int hostlink_new(const struct hostlink_config *config, struct hostlink **out_link, struct err *err);
/* No callback follows. Must not be called from its callbacks. */
void hostlink_free(struct hostlink *link);

/* Whether a toolhost has announced this tool. */
bool hostlink_has(const struct hostlink *link, const struct catalog_tool *tool);

/* Call when the keeper's rules have changed. */
void hostlink_tell_rules(struct hostlink *link);

/*
 * The executor for calls. Preparing fails with ERR_BUSY while there is no toolhost, or too much was
 * sent.
 */
struct executor *hostlink_executor(struct hostlink *link);

#endif
