/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of one connection, from PREPARE to their one last answer: frames become steps of the
 * executor (call/workers.h), and what comes of them frames. Each step has a deadline that holds
 * also when its worker hangs. How frames travel is host.c's affair.
 */
#ifndef PROGRAMS_TOOLHOST_CALLS_H
#define PROGRAMS_TOOLHOST_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "files/toolbox.h"
#include "loop/loop.h"
#include "protocol/toolwire.h"

enum {
    CALLS_MAX = 1024,
    CALLS_WORKERS = 12, /* more than may be lost, so that the others have theirs meanwhile */
    CALLS_LOST_MAX = 8,
    CALLS_GRACE_MS = 1000,
};

struct calls;

struct calls_config {
    struct loop *loop;
    struct toolbox *box;
    /* Counts the jobs on workers; must live as long as any thread. */
    atomic_uint *running;
    atomic_uint *changing; /* those of them that change files */
    size_t max_request_bytes;
    size_t max_answer_bytes;
    /* An answer to a call, or LOST. The body is gone when it returns. */
    void (*send)(void *data, uint32_t call, enum toolwire_type type, struct str body);
    /* An answer is owed that cannot be given: without it the connection has no meaning. */
    void (*fail)(void *data, const struct err *err);
    void *data;
};

int calls_new(const struct calls_config *config, struct calls **out_calls);

/* Runs the loop, on threads of its own, until it is stopped. */
void calls_run_loop(struct calls *calls);

/* Gives all up and sends nothing more; waits for workers no longer than the grace. */
void calls_free(struct calls *calls);

/*
 * Takes a frame about a call from the front. A call that cannot be begun is answered with an error
 * like any other. An error returned here means that the front has broken a rule of the wire, and
 * the connection is over. A call that is not known has had its last answer, which the front will
 * find on its way here.
 */
int calls_take(struct calls *calls, const struct toolwire_frame *frame, struct err *err);

/* While the front does not read, nothing more is begun. */
void calls_hold(struct calls *calls, bool is_held);

#endif
