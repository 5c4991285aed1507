/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a shell command is called in rules and questions. `sudo -u me nice make`
 * runs make, so a rule about make holds for it; what the shell would make of
 * anything less plain is not guessed, and such a command is called by its whole
 * text. Nothing is run and no file is looked at.
 *
 * What is left out is only: wrappers with those of their options that change
 * neither what runs nor on which files, assignments that do not choose programs,
 * blanks between words, and the directory of a program that lies in PATH. All
 * else stays, byte for byte.
 */
#ifndef PERMISSION_COMMANDLINE_COMMANDLINE_H
#define PERMISSION_COMMANDLINE_COMMANDLINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

/* What Linux takes as one argument, with its NUL: a longer one can be given to no shell. */
enum { COMMAND_MAX_BYTES = 128 << 10 };

/*
 * path_dirs are the directories of PATH up to a NULL; NULL: none. The resource lives in
 * the arena; it is the command without blanks at its ends when *out_is_as_is. The
 * command's standard input is empty.
 * ERR_TOO_LARGE and ERR_NO_MEMORY.
 */
int command_normalise(struct arena *arena, struct str command, const char *const *path_dirs,
                      struct str *out_resource, bool *out_is_as_is);

/*
 * The same for a command that may be given input while it runs: what xargs makes of that is not
 * known, so a command with it is called by its whole text.
 */
int command_normalise_fed(struct arena *arena, struct str command, const char *const *path_dirs,
                          struct str *out_resource, bool *out_is_as_is);

#endif
