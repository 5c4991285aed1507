/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Globs for finding files. A glob without a slash is matched against the last component of a name,
 * one with a slash against the whole name; never against a part of it, nor against what lies below
 * a match. Ignoring case applies to ASCII letters only. files/globtext.h has the syntax.
 */
#ifndef FILES_NAMEGLOB_H
#define FILES_NAMEGLOB_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct nameglob {
    const struct glob *glob;
    bool has_slash;
    bool ignores_case;
};

/* ERR_INVALID_ARGUMENT says what is wrong with it. *out_glob points into the arena. */
int nameglob_compile(struct arena *arena, struct str text, bool ignores_case,
                     struct nameglob *out_glob, struct err *err);

/* Thread-safe. A name is shorter than PATH_MAX. */
bool nameglob_matches(const struct nameglob *glob, struct str name);

/* Whether something below this directory could match; if not, a search can skip it. */
bool nameglob_may_match_below(const struct nameglob *glob, struct str directory);

/*
 * Visits the directory that each alternative lies below, "" for the start, until one visit returns
 * nonzero, which is returned. In lower case if case is ignored.
 */
int nameglob_each_directory(const struct nameglob *glob,
                            int (*visit)(void *data, struct str directory), void *data);

/* Whether a component of a glob with a slash is this name. */
bool nameglob_names(const struct nameglob *glob, struct str component);

#endif
