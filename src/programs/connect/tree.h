/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder as a tree, which servers of the older dialect get at init: what the tool get_file_tree
 * returns as JSON, as a list, level by level, and as text.
 */
#ifndef PROGRAMS_CONNECT_TREE_H
#define PROGRAMS_CONNECT_TREE_H

#include "base/arena.h"
#include "base/jsonwrite.h"
#include "base/str.h"

enum {
    TREE_DEPTH = 8,
    TREE_MAX_BYTES = 8 << 20, /* of the JSON: 10,000 entries */
};

/* Appends the text of the tool's result; ERR_INVALID_JSON if it has none. */
int tree_take(struct str result, struct buf *out_text);

/* {rootPath, tree: [{path, type, sizeBytes}], treeText}; empty without a tree, or if it is invalid.
 */
int tree_write(const char *root_path, struct str tree, struct json_writer *json);

#endif
