/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder as a person names it, and whether it can be given at all: asked before anything is
 * begun, so that a slip of the hand can be mended where it was made.
 */
#ifndef PROGRAMS_CONNECT_FOLDER_H
#define PROGRAMS_CONNECT_FOLDER_H

#include <limits.h>

#include "base/err.h"
#include "base/str.h"

/* From / on; a ~ at its beginning is the user's home, since no shell has seen what is typed. */
int folder_name(struct str typed, char out_path[PATH_MAX], struct err *err);

/* Whether it is a directory that is ours to open; the message is for the user. */
int folder_check(const char *state_dir, const char *path, struct err *err);

#endif
