/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell scripts for what the toolbox of Daytona has no requests for: commands with their directory
 * and variables, copies, moves, whole trees; and what the scripts say.
 */
#ifndef WORKSPACE_DAYTONASCRIPT_H
#define WORKSPACE_DAYTONASCRIPT_H

#include "workspace/internal.h"

enum { DAYTONA_SCRIPT_BYTES = 4 << 20 };

/* Of a command, a list, a copy or a move. */
int daytona_script(const struct workspace_request *asked, struct buf *out);

/* The error that the exit status of a copy, a move or a list means, or 0. */
int daytona_script_status(const struct workspace_request *asked, int64_t code, struct str errors,
                          struct err *err);
/* The entries that a list has printed. */
int daytona_script_tree(struct str text, struct arena *arena, struct workspace_answer *answer,
                        struct err *err);
/*
 * Takes a text apart that has both streams: a mark of three bytes stands before what each has
 * written. A text without marks is left alone.
 */
int daytona_script_split(struct arena *arena, struct str *output, struct str *errors);

#endif
