/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files of a tree are searched: neither clutter nor what the globs leave out.
 * Rights are not its business.
 */
#ifndef PROGRAMS_SEARCH_FILTER_H
#define PROGRAMS_SEARCH_FILTER_H

#include "base/arena.h"
#include "base/options/options.h"
#include "files/nameglob.h"

struct filter {
    bool shows_hidden;
    struct nameglob *globs; /* one of them must match; none: all files */
    size_t glob_count;
    bool has_file_glob; /* and this one, where files are looked for */
    struct nameglob file_glob;
};

/* `file_glob` is NULL where lines are looked for; case is ignored in it alone. */
int filter_make(struct arena *arena, struct option_list globs, const char *file_glob,
                bool ignores_case, struct filter *out_filter, struct err *err);

/* As search_run() asks, by any thread; `data` is the filter. */
bool filter_enters(void *data, struct str directory);
bool filter_wants(void *data, struct str file);

#endif
