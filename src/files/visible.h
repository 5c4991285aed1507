/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which entries of a directory are worth showing to somebody who did not name
 * them. This is about clutter, not about rights: whoever names such a path gets
 * it, unless the authority refuses.
 */
#ifndef FILES_VISIBLE_H
#define FILES_VISIBLE_H

#include <stdbool.h>

#include "base/str.h"
#include "gatehouse/authority.h"

/* Dot entries, but for the settings files that projects keep for all to see. */
bool visible_is_hidden(struct str component);

/* Directories full of what was fetched or built: node_modules, .git, dist, …. */
bool visible_is_excluded(struct str component);

/* Of a list: files and directories that are not hidden. */
bool visible_in_list(struct str component, enum authority_type type);

/* Of what goes into directories by itself: without the excluded ones too. */
bool visible_in_tree(struct str component, enum authority_type type);

/* The last component of a name. */
struct str visible_last(struct str name);

#endif
