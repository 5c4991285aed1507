/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The globs of --deny and --allow as a person writes them. Patterns that would silently match
 * nothing are refused with advice; an absolute path inside the folder becomes a glob relative to
 * the folder. The authority defines the syntax of globs.
 */
#ifndef FILES_PATTERNS_H
#define FILES_PATTERNS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum { PATTERNS_MAX_BYTES = 4 << 20 }; /* the arena needs this much room */

/*
 * `given` is NULL-terminated, or NULL; `roots` are the folder's absolute paths, NULL-terminated;
 * `others` those of other folders, or NULL: a pattern of theirs matches nothing in this one.
 * ERR_INVALID_ARGUMENT names the option and the pattern. The result lives in the arena.
 */
int patterns_take(struct arena *arena, const char *option, const char *const *given,
                  const char *const *roots, const char *const *others,
                  const char *const **out_patterns, struct err *err);

/* The same errors, as far as they do not depend on the folder. */
int patterns_check(const char *option, const char *const *given, struct err *err);

struct glob_set;

/* Which option excludes this name, as the end of a sentence; NULL if neither does by itself. */
const char *patterns_verdict(const struct glob_set *denied, const struct glob_set *allowed,
                             struct str name);

#endif
