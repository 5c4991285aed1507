/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts questions about calls to whoever is there, on the loop: to the terminal
 * that the user named, and to nobody else then; else through the client.
 */
#ifndef MCPHOST_GATE_H
#define MCPHOST_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "mcp/call.h"
#include "permission/decision.h"
#include "permission/desk.h"

struct gate {
    struct keeper *keeper;
    struct desk *desk;         /* with the terminal; NULL: the client is asked */
    bool allows_remote_always; /* choices that are kept for good also by way of the client */
};

/* What a call is decided by; one that repeats an earlier one brings its answer. */
struct decision_terms gate_terms(const struct gate *gate, const struct mcp_call *call);

enum gate_way {
    GATE_AT_DESK,   /* answered through `answer` */
    GATE_BY_CLIENT, /* by mcp_host.answered */
    GATE_REPEATED,  /* the call has ended and is gone; its repetition brings the answer */
};

/* Or an error, and then nobody was asked. *out_id is for desk_cancel(). */
int gate_ask(const struct gate *gate, struct mcp_call *call, const struct decision *decision,
             desk_answer_fn *answer, void *data, enum gate_way *out_way, uint64_t *out_id,
             struct err *err);

#endif
