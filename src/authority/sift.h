/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Visits all files of a tree with several threads: directories wait on a stack, and idle threads
 * take files of a directory. Never follows links. Memory: the names of waiting directories, and
 * those of the directories being visited.
 */
#ifndef AUTHORITY_SIFT_H
#define AUTHORITY_SIFT_H

#include "authority/internal.h"
#include "authority/names/ignore.h"
#include "authority/secondnames.h"

struct authority_sifted {
    const struct backend_ops *ops;
    struct backend_file *file;
    struct str name;
    struct authority_stat about;
    const struct cancel *cancel;
};

struct sift {
    const struct authority_scope *scope;
    const struct backend_ops *ops;
    const struct authority_sift_options *options;
    const struct authority_sift_visitor *visitor;
    struct str base; /* the start, relative to the root, without links */
    struct backend_lookup lookup;
    struct secondnames *names;
};

/*
 * Starts at the directory `base`, with the rules that apply there; does not take ownership of the
 * layer.
 */
int sift_run(const struct sift *sift, struct ignore_layer *layer);

/* Adds the ignore rules of a directory to those that apply in it; *layer is replaced. */
int sift_read_rules(const struct sift *sift, struct str directory, struct ignore_layer **layer);

#endif
