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

/* Of a list: files and directories, but for dot entries that are no settings for all to see. */
bool visible_in_list(struct str component, enum authority_type type);

/* Of what goes into directories by itself: without those full of what was fetched or built, too. */
bool visible_in_tree(struct str component, enum authority_type type);

/* The last component of a name. */
struct str visible_last(struct str name);

#endif
