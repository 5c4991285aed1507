/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file or folder of this machine that the user has named, and what is in it: opened, listed, read
 * and written by the authority, below the folder that it is in. Links and special files are left
 * out, and said.
 */
#ifndef PROGRAMS_SANDBOXCTL_TREE_H
#define PROGRAMS_SANDBOXCTL_TREE_H

#include <limits.h>

#include "base/options/options.h"
#include "session/state.h"

/* A file or folder in it. */
struct tree_item {
    struct str name; /* relative to what was named, "" for itself */
    bool is_directory;
    bool may_run;
    uint64_t size;
};

struct tree {
    struct session_state state;
    struct authority_scope *scope; /* the folder that it is in */
    char folder[PATH_MAX];
    char name[PATH_MAX]; /* in that folder */
    struct arena names;
    struct tree_item *items;
    size_t count;
    size_t room;
    size_t files;
    size_t left_out;
};

void tree_init(struct tree *tree);
void tree_done(struct tree *tree);

/* Opens the folder that the path is in; it need not exist itself. */
int tree_open(struct tree *tree, const struct option_values *values, const char *path,
              bool may_write, struct err *err);

/* ERR_TOO_LARGE, with a message, if there are too many. */
int tree_add(struct tree *tree, const struct tree_item *item, struct err *err);

/* Adds what is there: the named file, or the folder and all in it. */
int tree_gather(struct tree *tree, struct err *err);

/* The name of an item in the folder. */
int tree_name(const struct tree *tree, struct str item, char out_name[PATH_MAX], struct err *err);

/* Says that something was not copied. */
void tree_leave_out(struct tree *tree, struct str name, const char *why);

/* All of it as a tar archive, named relative to what was named. */
int tree_pack(struct tree *tree, struct buf *out, struct err *err);

#endif
