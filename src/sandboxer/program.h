/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-sandbox: one command in a box of its own, for a person or a script. */
#ifndef SANDBOXER_PROGRAM_H
#define SANDBOXER_PROGRAM_H

/* The command's exit status, or one of those in command/sandbox.h. */
int program_run(int argc, char *const *argv);

#endif
