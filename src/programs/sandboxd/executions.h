/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands in sandboxes, and who follows their output. An execution has an id: whoever starts it
 * again follows the first one. It outlives the connection that started it, and its events are kept
 * for ten minutes after its end, 16 MiB at most. A command whose output somebody follows waits for
 * that reader; without a reader its oldest output is dropped.
 *
 * The first generation of the API has no ids: the command ends with its connection. So does one of
 * the second generation that is `attached`, an addition of ours, but its events are kept. Other
 * additions: standard input, terminals, output in base64, and a list of what is kept.
 */
#ifndef PROGRAMS_SANDBOXD_EXECUTIONS_H
#define PROGRAMS_SANDBOXD_EXECUTIONS_H

#include "programs/sandboxd/call.h"
#include "programs/sandboxd/service.h"

enum {
    EXECUTIONS_MAX_BODY_BYTES = 1 << 20,
    EXECUTIONS_MAX_INPUT_BYTES = 1 << 20, /* of one request */
    EXECUTIONS_MAX_SIZE_BYTES = 1 << 10,  /* of a request that sets a terminal's size */
    EXECUTIONS_KEPT_MS = 10 * 60 * 1000,
    EXECUTIONS_KEPT_BYTES = 16 << 20,      /* of one */
    EXECUTIONS_ALL_KEPT_BYTES = 256 << 20, /* of all; then the oldest that are over go */
    EXECUTIONS_LEAST_BYTES = 64 << 10,     /* of one, while all have too much */
    EXECUTIONS_TIMEOUT_MS = 300 * 1000,    /* of one that gives none */
    EXECUTIONS_MAX_TIMEOUT_MS = 24 * 60 * 60 * 1000,
};

/* ---- endpoints ---- */

void executions_start(const struct api_call *call);
void executions_start_plain(const struct api_call *call);
void executions_follow(const struct api_call *call);
void executions_remove(const struct api_call *call);
/* Additions of ours to the API. */
void executions_list(const struct api_call *call);
void executions_input(const struct api_call *call);
void executions_resize(const struct api_call *call);

/* ---- for the service ---- */

/* Those that ended long ago. */
void executions_expire(struct service *service);
/* Ends and forgets all of a sandbox. */
void executions_forget_all(struct sandbox *sandbox);

#endif
