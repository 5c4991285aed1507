/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse sandbox`: one command in a box of its own, for a person or a script. The front door
 * does it itself: becoming another program would take a fifth of the time.
 */
#ifndef PROGRAMS_GATEHOUSE_SANDBOX_H
#define PROGRAMS_GATEHOUSE_SANDBOX_H

#include "base/options/options.h"

/* Of one of its commands. The exit status: that of what ran, or one of those in cli/sandbox.h.
 */
int sandbox_run(const struct option_values *values);

#endif
