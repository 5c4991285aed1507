/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-audit: the record for its user, in a process that has given up all but
 * reading it before it looks at the first line.
 */
#ifndef PROGRAMS_AUDIT_PROGRAM_H
#define PROGRAMS_AUDIT_PROGRAM_H

/* The exit status: 0, 1 failed, 2 asked wrongly; 128 + n by a signal. */
int program_run(int argc, char *const *argv);

#endif
