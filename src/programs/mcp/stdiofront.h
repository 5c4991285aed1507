/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves MCP on one connection over two file descriptors: lines in, lines out, with calls run by
 * workers. The toolbox does the work.
 */
#ifndef PROGRAMS_MCP_STDIOFRONT_H
#define PROGRAMS_MCP_STDIOFRONT_H

#include "base/err.h"
#include "programs/mcp/front.h"

struct stdiofront;

/* on_end comes when the input has ended or the output is closed. */
int stdiofront_new(const struct front_config *config, int input_fd, int output_fd,
                   struct stdiofront **out_front, struct err *err);

/* Runs the loop, on its own threads, until it is stopped. */
void stdiofront_run(struct stdiofront *front);

/* Reads no more and abandons running calls, except those that have begun a change. */
void stdiofront_stop(struct stdiofront *front);

/* A job that still runs afterwards hangs: what it uses must not be freed. */
void stdiofront_free(struct stdiofront *front);

#endif
