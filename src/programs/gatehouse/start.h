/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the program that does the work, from the front door. */
#ifndef PROGRAMS_GATEHOUSE_START_H
#define PROGRAMS_GATEHOUSE_START_H

#include <limits.h>

#include "base/err.h"

/*
 * Replaces this process by `name`, one of our own programs: from this program's directory, or from
 * where they are installed. Returns only on failure.
 */
int start_program(const char *name, char *const *argv, struct err *err);

/* The path by which others can start this program. */
int start_own_path(char out_path[PATH_MAX], struct err *err);

/* Makes a path from the command line absolute, without looking at the file system. */
int start_absolute(const char *name, char out_path[PATH_MAX], struct err *err);

#endif
