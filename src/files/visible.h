/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which directory entries are shown unless they are named explicitly. This avoids clutter and is no
 * access check: a path that is named is served, unless the authority refuses it.
 */
#ifndef FILES_VISIBLE_H
#define FILES_VISIBLE_H

#include <stdbool.h>

#include "base/str.h"
#include "gatehouse/authority.h"

/* Dot files, except well-known project settings. */
bool visible_is_hidden(struct str component);

/* Directories with downloaded or built content: node_modules, .git, dist, …. */
bool visible_is_excluded(struct str component);

/* Whether a directory listing shows it: files and directories that are not hidden. */
bool visible_in_list(struct str component, enum authority_type type);

/* Whether a recursive listing shows it: as above, without excluded directories. */
bool visible_in_tree(struct str component, enum authority_type type);

/* The last component of a name. */
struct str visible_last(struct str name);

#endif
