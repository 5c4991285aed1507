/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse completions --names`: what a shell offers for an argument that names something. The
 * command that lists them prints them, unless that would create a state or start a service.
 */
#ifndef PROGRAMS_GATEHOUSE_NAMES_H
#define PROGRAMS_GATEHOUSE_NAMES_H

#include <stddef.h>

#include "base/err.h"

/* For the option's choices; ends with NULL. */
extern const char *const names_kinds[];

/* Returns 0 if there is nothing to print, or why the program does not start. */
int names_print(size_t kind, struct err *err);

#endif
