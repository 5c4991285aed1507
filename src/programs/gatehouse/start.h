/* SPDX-License-Identifier: Apache-2.0 */
/* From the front door to the program for the job. */
#ifndef PROGRAMS_GATEHOUSE_START_H
#define PROGRAMS_GATEHOUSE_START_H

#include <limits.h>

#include "base/err.h"

/*
 * Becomes `name`, one of our own programs: from the directory that this one is
 * in, or from where they are installed. Returns only if that fails.
 */
int start_program(const char *name, char *const *argv, struct err *err);

/* How somebody else starts this program. */
int start_own_path(char out_path[PATH_MAX], struct err *err);

/* A name from the command line, from "/" on; what is in it is not looked at. */
int start_absolute(const char *name, char out_path[PATH_MAX], struct err *err);

#endif
