/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Globs that files are looked for with. One without a slash is matched with the
 * last component of a name, one with a slash with all of it; never with a part, and
 * not with what lies below a match. Case is ignored for ASCII letters alone.
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

/* ERR_INVALID_ARGUMENT says what is wrong with it. What it points to lives in the arena. */
int nameglob_compile(struct arena *arena, struct str text, bool ignores_case,
                     struct nameglob *out_glob, struct err *err);

/* By any thread. A name is shorter than PATH_MAX. */
bool nameglob_matches(const struct nameglob *glob, struct str name);

/* Could something below this directory match? False lets a search pass it by. */
bool nameglob_may_match_below(const struct nameglob *glob, struct str directory);

#endif
