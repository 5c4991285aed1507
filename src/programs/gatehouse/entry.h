/* SPDX-License-Identifier: Apache-2.0 */
/* Called by the entry point of the executable. */
#ifndef PROGRAMS_GATEHOUSE_ENTRY_H
#define PROGRAMS_GATEHOUSE_ENTRY_H

/*
 * Becomes gatehouse-mcp, found as start.h says, if this is a plain start of it; returns if the
 * usual way has to be taken. The stack is as the kernel set it up: the number of words, the words,
 * and the environment, each with a NULL behind it.
 */
void front_door_try(const long *stack);

#endif
