/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-toolhost: from the command line to a served front, and out again. */
#ifndef PROGRAMS_TOOLHOST_PROGRAM_H
#define PROGRAMS_TOOLHOST_PROGRAM_H

/* The exit status. With workers that hang it does not return. */
int program_run(int argc, char *const *argv);

#endif
