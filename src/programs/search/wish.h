/* SPDX-License-Identifier: Apache-2.0 */
/* What a search is for: the pattern and the globs that the options of a command line stand for. */
#ifndef PROGRAMS_SEARCH_WISH_H
#define PROGRAMS_SEARCH_WISH_H

#include "base/arena.h"
#include "base/options/options.h"
#include "base/str.h"

struct wish {
    struct str pattern; /* with --files a glob */
    bool is_regex;
    bool ignores_case;
    struct str regex;          /* the same as a regular expression; with -o only */
    struct option_list globs;  /* of which one must match; none: all files */
    struct option_list types;  /* globs likewise, and in addition */
    const char *const *denied; /* NULL-terminated */
    struct option_list paths;  /* as given; none: the current folder */
};

/* Everything lives in the arena or points into the values. ERR_INVALID_OPTION. */
int wish_make(struct arena *arena, const struct option_values *values, struct wish *out_wish,
              struct err *err);

#endif
