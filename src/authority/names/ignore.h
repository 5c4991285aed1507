/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What .gitignore, .ignore and .git/info/exclude say about a name, decided like git: the last
 * matching rule counts, and files further down override those above. It only sees bytes; the caller
 * reads the files, and says where they were found.
 *
 * Layers form a chain: each has the rules of one file and points to the layer that is asked if it
 * has no matching rule. They are immutable, so threads can share them; NULL is the chain without
 * rules. Names and directories are normalised by path_normalise(), all relative to one place,
 * usually the start of a walk.
 */
#ifndef AUTHORITY_NAMES_IGNORE_H
#define AUTHORITY_NAMES_IGNORE_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

enum {
    IGNORE_MAX_FILE_BYTES = 256 << 10,
    IGNORE_MAX_RULES = 8192,          /* of a file */
    IGNORE_MAX_LAYERS = 512,          /* of a chain */
    IGNORE_MAX_CHAIN_BYTES = 1 << 20, /* of all files of a chain */
    /*
     * Of a chain's rules with wildcards other than `*.ext`: these are tried one by one, so this
     * limits the cost of a decision.
     */
    IGNORE_MAX_WILDCARD_BYTES = 64 << 10,
};

enum ignore_decision {
    IGNORE_NONE, /* no rule matches */
    IGNORE_IGNORED,
    IGNORE_INCLUDED, /* the last matching rule begins with "!" */
};

struct ignore_layer;

/*
 * Puts the rules of a file, found in `directory` ("" is where names begin), before those of
 * `parent`. For one directory, add first .gitignore, then .ignore, which so takes precedence;
 * .git/info/exclude first of all. The layer holds a reference to the parent. A file without rules
 * returns the parent. ERR_TOO_LARGE over a limit above, and then nothing of the file counts.
 */
int ignore_layer_parse(struct ignore_layer *parent, struct str directory, struct str content,
                       struct ignore_layer **out_layer, struct err *err);

struct ignore_layer *ignore_layer_ref(struct ignore_layer *layer);
void ignore_layer_unref(struct ignore_layer *layer);

static inline void ignore_layer_cleanup_(struct ignore_layer **layer)
{
    ignore_layer_unref(*layer);
}
#define cleanup_ignore_layer cleanup_with(ignore_layer_cleanup_)

/*
 * For a walk, which does not enter ignored directories: assumes that the name's parents are not
 * ignored. Layers of other directories have no effect. A link to a directory is not a directory.
 */
enum ignore_decision ignore_decide(const struct ignore_layer *layer, struct str name, bool is_dir);

#endif
