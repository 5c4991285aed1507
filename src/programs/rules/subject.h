/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user names on the command line, as a call would name it: paths from "/"
 * on, commands without what does not matter to rules.
 */
#ifndef PROGRAMS_RULES_SUBJECT_H
#define PROGRAMS_RULES_SUBJECT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "protocol/catalog.h"

bool subject_is_file(enum catalog_group group);

/* From where the user is, if it is relative. A '~' that no shell has replaced is refused. */
int subject_path(struct arena *arena, struct str given, struct str *out_path, struct err *err);

/* By the PATH of the environment. */
int subject_command(struct arena *arena, struct str given, struct str *out_command,
                    struct err *err);

/* A resource of the group. */
int subject_resource(struct arena *arena, enum catalog_group group, struct str given,
                     struct str *out_resource, struct err *err);

/* The same behind a marker: only what stands for one path or for a command has another form. */
int subject_match(struct arena *arena, enum catalog_group group, struct str given,
                  struct str *out_match, struct err *err);

#endif
