/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking a tree from an open directory, by descriptor, links never followed,
 * without recursion. Memory is one directory's buffer a level; sorted, also the
 * names of the directories on the way; breadth-first, the names of the
 * directories that wait.
 */
#ifndef AUTHORITY_WALK_H
#define AUTHORITY_WALK_H

#include <stdbool.h>

#include "authority/backend.h"
#include "authority/names/path.h"

struct walk_entry {
    struct str name;      /* relative to where the walk began */
    struct str component; /* its last part */
    enum authority_type type;
    unsigned depth;          /* 1 for what is directly below */
    struct backend_dir *dir; /* that it is in */
};

/* 0 goes on (and into a directory), WALK_SKIP goes on beside it, anything else ends the walk. */
typedef int walk_visit_fn(void *data, const struct walk_entry *entry);
enum { WALK_SKIP = 1 };

struct walk_options {
    unsigned max_depth; /* 1: the directory's own entries; at most AUTHORITY_MAX_DEPTH */
    bool is_sorted;     /* directories first, then by name */
    bool is_breadth_first;
    /* A directory that cannot be opened or read ends the walk, as does one too deep. The first one
     * does so in any case. */
    bool is_strict;
    const struct cancel *cancel;
};

/* Closes `start`. */
int walk_tree(const struct backend_ops *ops, struct backend_dir *start,
              const struct walk_options *options, walk_visit_fn *visit, void *data);

#endif
