/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse workspace sh`: a command in a sandbox that may change the copy of a project; and
 * `gatehouse workspace mcp`, which serves the copy to an agent, or tells the agent's client how.
 */
#ifndef PROGRAMS_GATEHOUSE_WORKSPACE_H
#define PROGRAMS_GATEHOUSE_WORKSPACE_H

#include "base/options/options.h"

/*
 * `program` is the front door's own table: it runs `gatehouse sandbox run` in the folder of the
 * copy. Returns the exit status, as sandbox_run().
 */
int workspace_shell(const struct option_command *program, struct option_values *values);

/* Executes gatehouse-mcp; returns only if that fails, with the exit status. */
int workspace_serve(struct option_values *values);

#endif
