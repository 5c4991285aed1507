/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns what the user names on the command line into the form of a call: absolute paths, normalised
 * commands.
 */
#ifndef PROGRAMS_RULES_SUBJECT_H
#define PROGRAMS_RULES_SUBJECT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "protocol/catalog.h"

bool subject_is_file(enum catalog_group group);

/* Relative paths start at the working directory. Refuses a '~' that no shell has expanded. */
int subject_path(struct arena *arena, struct str given, struct str *out_path, struct err *err);

/* Uses PATH of the environment. */
int subject_command(struct arena *arena, struct str given, struct str *out_command,
                    struct err *err);

/* A resource of the group. */
int subject_resource(struct arena *arena, enum catalog_group group, struct str given,
                     struct str *out_resource, struct err *err);

/*
 * Refuses a text for a new rule that hardly means what its writer meant, and says how to write it:
 * a wildcard, a relative name or a folder without a marker, and a command that is denied without
 * one, which would deny it only without further words.
 */
int subject_check_meaning(enum catalog_group group, bool is_denied, struct str given,
                          struct err *err);

/* Same for a text with a marker: normalises only what stands for one path or for a command. */
int subject_match(struct arena *arena, enum catalog_group group, struct str given,
                  struct str *out_match, struct err *err);

#endif
