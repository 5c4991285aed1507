/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of one connection, from PREPARE to their last answer: turns frames into steps of the
 * executor (call/workers.h), and their results into frames. Each step has a deadline, which applies
 * even if its worker hangs. host.c transports the frames.
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
    CALLS_WORKERS = 12, /* more than may be lost, so that other calls still have workers */
    CALLS_LOST_MAX = 8,
    CALLS_GRACE_MS = 1000,
};

struct calls;

struct toolhost_calls_config {
    struct loop *loop;
    struct toolbox *box;
    /* Counts the jobs on workers; must outlive all threads. */
    atomic_uint *running;
    atomic_uint *changing; /* those of them that change files */
    size_t max_request_bytes;
    size_t max_answer_bytes;
    /* Sends an answer to a call, or LOST. The body is invalid after it returns. */
    void (*send)(void *data, uint32_t call, enum toolwire_type type, struct str body);
    /* A required answer cannot be given: the connection must end. */
    void (*fail)(void *data, const struct err *err);
    void *data;
};

int calls_new(const struct toolhost_calls_config *config, struct calls **out_calls);

/* Runs the loop, on its own threads, until it is stopped. */
void calls_run_loop(struct calls *calls);

/* Abandons all calls and sends nothing more; waits for workers no longer than the grace period. */
void calls_free(struct calls *calls);

/*
 * Handles a frame about a call. A call that cannot be started is answered with an error. An error
 * returned here is a protocol error of the front end and ends the connection. Ignores frames for
 * unknown calls: they had their last answer, which the front end has not read yet.
 */
int calls_take(struct calls *calls, const struct toolwire_frame *frame, struct err *err);

/* While the front end does not read, no more calls are started. */
void calls_hold(struct calls *calls, bool is_held);

#endif
