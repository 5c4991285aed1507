/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a tree from an open directory, by file descriptor, never following links, without
 * recursion. Memory: one directory's buffer per level; if sorted, also the names of the directories
 * on the path; if breadth-first, the names of the waiting directories.
 */
#ifndef AUTHORITY_WALK_H
#define AUTHORITY_WALK_H

#include <stdbool.h>

#include "authority/backend.h"
#include "authority/names/path.h"

struct walk_entry {
    struct str name;      /* relative to the start of the walk */
    struct str component; /* its last component */
    enum authority_type type;
    unsigned depth;          /* 1 for direct children */
    struct backend_dir *dir; /* that contains it */
};

/*
 * 0 continues (and descends into a directory), WALK_SKIP continues without descending, anything
 * else ends the walk.
 */
typedef int walk_visit_fn(void *data, const struct walk_entry *entry);
enum { WALK_SKIP = 1 };

struct walk_options {
    unsigned max_depth; /* 1: only direct children; at most AUTHORITY_MAX_DEPTH */
    bool is_sorted;     /* directories first, then by name */
    bool is_breadth_first;
    /*
     * A directory that cannot be opened or read, or that is too deep, ends the walk. The first one
     * always does.
     */
    bool is_strict;
    /* Reports a directory that is passed over instead, to the visitor's data. May be NULL. */
    void (*missed)(void *data, struct str name, int code);
    const struct cancel *cancel;
};

/* Closes `start`. */
int walk_tree(const struct backend_ops *ops, struct backend_dir *start,
              const struct walk_options *options, walk_visit_fn *visit, void *data);

#endif
