/* SPDX-License-Identifier: Apache-2.0 */
/* What a search is for: the pattern and the globs that the options of a command line stand for. */
#ifndef PROGRAMS_SEARCH_QUERY_H
#define PROGRAMS_SEARCH_QUERY_H

#include "base/arena.h"
#include "base/options/options.h"
#include "base/str.h"

struct search_query {
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
int query_make(struct arena *arena, const struct option_values *values,
               struct search_query *out_query, struct err *err);

#endif
