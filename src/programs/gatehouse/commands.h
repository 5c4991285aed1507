/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front door's commands: what they are called and take, and the one
 * function that runs the one that was asked for.
 */
#ifndef PROGRAMS_GATEHOUSE_COMMANDS_H
#define PROGRAMS_GATEHOUSE_COMMANDS_H

/* Runs `gatehouse` as it was called; the exit status: 0, 1 failed, 2 asked wrongly. */
int commands_run(int argc, char *const *argv);

#endif
