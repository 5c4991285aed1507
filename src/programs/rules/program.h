/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-rules: what the user has decided for good, shown and changed, in a
 * process that has given up all but the settings before it looks at them.
 */
#ifndef PROGRAMS_RULES_PROGRAM_H
#define PROGRAMS_RULES_PROGRAM_H

/* The exit status: 0, 1 failed, 2 asked wrongly. */
int program_run(int argc, char *const *argv);

#endif
