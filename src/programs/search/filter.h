/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files of a tree are searched: excludes clutter and what the globs leave out. Access is
 * checked elsewhere.
 */
#ifndef PROGRAMS_SEARCH_FILTER_H
#define PROGRAMS_SEARCH_FILTER_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/options/options.h"
#include "files/nameglob.h"

struct file_filter {
    bool shows_hidden;
    struct nameglob *globs; /* one must match; none: all files */
    size_t glob_count;
    struct nameglob *types; /* the same, in addition */
    size_t type_count;
    struct str only;    /* the one file at the top, whatever else is said; empty: all */
    bool has_file_glob; /* and this one, when searching for file names */
    struct nameglob file_glob;
    _Atomic uint64_t hidden; /* how many it left out by their names, counted by all threads */
};

/* `file_glob` is NULL when searching for lines; ignores_case applies only to it. */
int filter_make(struct arena *arena, struct option_list globs, struct option_list types,
                const char *file_glob, bool ignores_case, struct file_filter *out_filter,
                struct err *err);

/* Callbacks of search_run(), from any thread; `data` is the filter. */
bool filter_enters(void *data, struct str directory);
bool filter_wants(void *data, struct str file);

#endif
