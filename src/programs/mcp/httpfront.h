/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves the tools over HTTP to agents of this machine: any number of them, each with the key that
 * was printed at the start. Calls run as for the one client on standard input; all changes belong
 * to one session.
 */
#ifndef PROGRAMS_MCP_HTTPFRONT_H
#define PROGRAMS_MCP_HTTPFRONT_H

#include "base/err.h"
#include "base/secret.h"
#include "programs/mcp/front.h"

struct httpfront;

/*
 * The socket listens on loopback; the front end takes ownership, even on failure. The key must
 * outlive it. on_end comes after httpfront_stop().
 */
int httpfront_new(const struct front_config *config, int listen_fd, const struct secret *key,
                  struct httpfront **out_front, struct err *err);

/* Runs the loop, on its own threads, until it is stopped. */
void httpfront_run(struct httpfront *front);

/* Accepts no more connections and abandons running calls, except those that have begun a change. */
void httpfront_stop(struct httpfront *front);

/* A job that still runs afterwards hangs: what it uses must not be freed. */
void httpfront_free(struct httpfront *front);

#endif
