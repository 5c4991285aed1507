/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-search: one search for a person, in a process that has given up all but
 * the folder before it looks at the pattern or at any file.
 */
#ifndef PROGRAMS_SEARCH_PROGRAM_H
#define PROGRAMS_SEARCH_PROGRAM_H

/* The exit status, as grep has it: 0 found, 1 not found, 2 an error; 128 + n by a signal. */
int program_run(int argc, char *const *argv);

#endif
