/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What .gitignore, .ignore and .git/info/exclude say about a name, as git
 * decides it: the last rule that matches counts, and a file further down counts
 * before those above. Only bytes are looked at; who calls reads the files, and
 * says where they were found.
 *
 * Layers form a chain: each has the rules of one file and knows the layer that is
 * asked when it says nothing. They never change, so threads share them freely;
 * NULL is the chain without rules. Names and directories are those of
 * path_normalise(), all relative to one place, usually where a walk begins.
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
    /* Of a chain's rules with wildcards other than `*.ext`: these are tried one by one, so they
     * bound what a decision can cost. */
    IGNORE_MAX_WILDCARD_BYTES = 64 << 10,
};

enum ignore_decision {
    IGNORE_NONE, /* no rule matches */
    IGNORE_IGNORED,
    IGNORE_INCLUDED, /* the last rule that matches begins with "!" */
};

struct ignore_layer;

/*
 * Puts the rules of a file, found in `directory` ("" is where names begin), before
 * those of `parent`. Of one directory, first .gitignore, then .ignore, which so
 * comes to stand before it; .git/info/exclude first of all. The layer holds the
 * parent; both belong to their holders. A file without rules gives the parent.
 *
 * ERR_TOO_LARGE beyond a ceiling above, and then nothing of the file counts.
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
 * For a walk, which does not enter what is ignored: the directories on the way
 * are taken as not ignored. Layers of directories that the name is not below
 * have no say. A link to a directory is none.
 */
enum ignore_decision ignore_decide(const struct ignore_layer *layer, struct str name, bool is_dir);

/*
 * For a name that comes alone: it is ignored too where a directory on the way is,
 * whatever the rules say about itself.
 */
enum ignore_decision ignore_decide_alone(const struct ignore_layer *layer, struct str name,
                                         bool is_dir);

#endif
