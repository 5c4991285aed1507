/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the help page of a program or command from its tables: plain text, wrapped. */
#ifndef BASE_OPTIONS_HELP_H
#define BASE_OPTIONS_HELP_H

#include "base/buf.h"
#include "base/options/options.h"

enum { OPTION_HELP_MIN_WIDTH = 40 };

/*
 * Appends the page of the command that was read, with the options of its parents. Returns 0,
 * ERR_TOO_LARGE or ERR_NO_MEMORY.
 */
int options_help(const struct option_values *values, size_t width, struct buf *out);

/*
 * Appends words and a line feed, wrapped after `width` columns. The first line begins at `column`,
 * the others are indented; a word that fits no line stands alone and overflows.
 */
int options_wrap(struct str text, size_t column, size_t indent, size_t width, struct buf *out);

#endif
