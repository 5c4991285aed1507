/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes that are not there yet. A request for a new one waits for its image; if the build takes
 * long, it is answered with the state `pending_build`, and its client asks for the state and the
 * log until the sandbox is there. What could not be built is known for a while.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_CREATION_H
#define PROGRAMS_SANDBOXD_DAYTONA_CREATION_H

#include "programs/sandboxd/call.h"

/* The id of the one that the request's first id or name means; NULL if there is none. */
const char *creation_find(const struct api_call *call);
/* Answers with its record. False: there is none, and nothing was answered. */
bool creation_answer(const struct api_call *call);
/* Forgets it; what is being built is built all the same. False: the same. */
bool creation_remove(const struct api_call *call);

/* At the end: those that clients have been told of. */
void creations_done(struct service *service);

#endif
