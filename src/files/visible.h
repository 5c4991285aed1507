/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which directory entries are shown unless they are named explicitly. This avoids clutter and is no
 * access check: a path that is named is served, unless the authority refuses it.
 */
#ifndef FILES_VISIBLE_H
#define FILES_VISIBLE_H

#include <stdbool.h>

#include "base/str.h"
#include "files/nameglob.h"
#include "gatehouse/authority.h"

/*
 * Directories that nothing goes into by itself: version control's own, and those full of what was
 * fetched or built. Whoever names one gets it.
 */
bool visible_is_excluded(struct str component);

/* Whether the glob names one of them. */
bool visible_names_excluded(const struct nameglob *glob);

/* Of a list: files and directories, but for version control's own. */
bool visible_in_list(struct str component, enum authority_type type);

/* Of what goes into directories by itself: without the excluded ones, too. */
bool visible_in_tree(struct str component, enum authority_type type);

/* Whether the name is hidden, as shells have it, and no settings for all to see. */
bool visible_is_hidden(struct str component);

/* The last component of a name. */
struct str visible_last(struct str name);

#endif
