/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MCP server of one connection on two descriptors: lines in, lines out,
 * work in workers. What the work is comes from the toolbox.
 */
#ifndef PROGRAMS_MCP_STDIOFRONT_H
#define PROGRAMS_MCP_STDIOFRONT_H

#include "base/err.h"
#include "programs/mcp/front.h"

struct stdiofront;

/* on_end comes when the input has ended or the output is gone. */
int stdiofront_new(const struct front_config *config, int input_fd, int output_fd,
                   struct stdiofront **out_front, struct err *err);

/* Runs the loop, on threads of its own, until it is stopped. */
void stdiofront_run(struct stdiofront *front);

/* Takes no more; what is under way is given up, except for what has begun to change something. */
void stdiofront_stop(struct stdiofront *front);

/* Afterwards a job that still runs hangs: what it uses must not be freed. */
void stdiofront_free(struct stdiofront *front);

#endif
