/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going through all files of a tree with several threads: directories wait on a
 * stack, a directory's files are taken by whoever has nothing else to do. Links
 * are never followed. Memory is the names of the directories that wait, and those
 * of the directories that are being gone through.
 */
#ifndef AUTHORITY_SIFT_H
#define AUTHORITY_SIFT_H

#include "authority/internal.h"
#include "authority/names/ignore.h"

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
    struct str base; /* the name where it begins, from the root on, without links */
    struct backend_lookup lookup;
};

/* From the directory at `base`, with the rules that hold there; does not take the layer over. */
int sift_run(const struct sift *sift, struct ignore_layer *layer);

/* The rules that a directory adds to those that hold in it; *layer is replaced. */
int sift_read_rules(const struct sift *sift, struct str directory, struct ignore_layer **layer);

#endif
