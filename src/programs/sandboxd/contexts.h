/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build contexts: the files that COPY steps of an image take, as one archive (tar, compressed or
 * not) that a client has uploaded. They are named by their SHA-256, kept in memory for a while, and
 * unpacked only inside the sandbox of a step. Clients of the Daytona API name them themselves.
 */
#ifndef PROGRAMS_SANDBOXD_CONTEXTS_H
#define PROGRAMS_SANDBOXD_CONTEXTS_H

#include "programs/sandboxd/call.h"
#include "programs/sandboxd/service.h"

enum { CONTEXTS_MAX_BYTES = 15 << 20 }; /* of one that comes in one piece */

/*
 * A reference to the context that the member of a request names, if it has one. What is wrong with
 * that, or NULL.
 */
const char *contexts_choose(const struct api_call *call, const struct json_value *object,
                            struct context **out_context);

/* ---- endpoint ---- */

void contexts_put(const struct api_call *call);

#endif
