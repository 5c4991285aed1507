/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same tools for agents of this machine that come by HTTP: any number of
 * them, each with the key that was printed at the start. Work is done as for
 * the one client on standard input; what they change is one session's.
 */
#ifndef PROGRAMS_MCP_HTTPFRONT_H
#define PROGRAMS_MCP_HTTPFRONT_H

#include "base/err.h"
#include "base/secret.h"
#include "programs/mcp/front.h"

struct httpfront;

/*
 * The socket listens on loopback, and is the front's, also on failure; the key outlives it. on_end
 * comes after httpfront_stop().
 */
int httpfront_new(const struct front_config *config, int listen_fd, const struct secret *key,
                  struct httpfront **out_front, struct err *err);

/* Runs the loop, on threads of its own, until it is stopped. */
void httpfront_run(struct httpfront *front);

/* Accepts nobody any more and gives up what is under way, but for what has begun a change. */
void httpfront_stop(struct httpfront *front);

/* Afterwards a job that still runs hangs: what it uses must not be freed. */
void httpfront_free(struct httpfront *front);

#endif
