/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalises a shell command to its name in rules and questions. `sudo -u me nice make` runs make,
 * so a rule about make applies to it. Nothing is guessed about less plain commands: they keep their
 * whole text. Runs nothing and reads no file.
 *
 * Removes only: wrappers with those of their options that change neither what runs nor on which
 * files, assignments that do not choose programs, blanks between words, and the directory of a
 * program that lies in PATH. Everything else stays, byte for byte.
 */
#ifndef PERMISSION_COMMANDLINE_COMMANDLINE_H
#define PERMISSION_COMMANDLINE_COMMANDLINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

/* Linux's limit of one argument, with its NUL: no shell can be given a longer command. */
enum { COMMAND_MAX_BYTES = 128 << 10 };

/*
 * path_dirs are the directories of PATH up to a NULL; NULL: none. The resource lives in
 * the arena; it is the command without blanks at its ends when *out_is_as_is. What xargs makes
 * of input that comes while it runs is not known, so a command with it is called by its whole
 * text where it may be given some.
 * ERR_TOO_LARGE and ERR_NO_MEMORY.
 */
int command_normalise(struct arena *arena, struct str command, const char *const *path_dirs,
                      bool has_input, struct str *out_resource, bool *out_is_as_is);
#endif
