/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder as the user named it, and whether it can be served: checked before anything starts, so
 * that a typing error can be corrected at once.
 */
#ifndef PROGRAMS_CONNECT_FOLDER_H
#define PROGRAMS_CONNECT_FOLDER_H

#include <limits.h>

#include "base/err.h"
#include "base/str.h"

/* Makes it absolute; a ~ at its beginning is the user's home, since no shell expands typed text. */
int folder_name(struct str typed, char out_path[PATH_MAX], struct err *err);

/* Whether it is a directory that we can open; the message is for the user. */
int folder_check(const char *state_dir, const char *path, struct err *err);

#endif
