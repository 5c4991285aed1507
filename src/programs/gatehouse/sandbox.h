/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse sandbox`: runs one command in a sandbox, for a person or a script. The front door does
 * it itself: starting another program would take a fifth of the time.
 */
#ifndef PROGRAMS_GATEHOUSE_SANDBOX_H
#define PROGRAMS_GATEHOUSE_SANDBOX_H

#include "base/options/options.h"

/*
 * Runs one of its commands. Returns the exit status: that of the command, or one of cli/sandbox.h.
 */
int sandbox_run(const struct option_values *values);

#endif
