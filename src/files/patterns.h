/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The globs of --deny and --allow as a person writes them. What would silently match
 * nothing is refused, with what to write instead; a path of the machine that lies in
 * the folder becomes a glob from the folder on. What a glob is, the authority knows.
 */
#ifndef FILES_PATTERNS_H
#define FILES_PATTERNS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum { PATTERNS_MAX_BYTES = 4 << 20 }; /* what the arena has to have room for */

/*
 * `given` ends with a NULL, or is NULL; `roots` are the folder's absolute paths, up to a NULL.
 * ERR_INVALID_ARGUMENT names the option and the pattern. The result lives in the arena.
 */
int patterns_take(struct arena *arena, const char *option, const char *const *given,
                  const char *const *roots, const char *const **out_patterns, struct err *err);

struct glob_set;

/* Which option keeps this name out, as the end of a sentence; NULL when neither does by itself. */
const char *patterns_verdict(const struct glob_set *denied, const struct glob_set *allowed,
                             struct str name);

#endif
