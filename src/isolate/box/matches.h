/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files that patterns of rules match below some folders, for sandboxes, which can only be
 * denied paths. The walk skips directories that cannot match and follows no links. It runs before
 * every command, so it has a limit; and since a command could fill a folder to expose denied files
 * to the next one, an incomplete search is an error.
 */
#ifndef ISOLATE_BOX_MATCHES_H
#define ISOLATE_BOX_MATCHES_H

#include "base/arena.h"
#include "base/err.h"
#include "isolate/box/box.h"

enum { MATCHES_MAX_ENTRIES = 1 << 19 }; /* takes some tenths of a second */

/* The caller owns the array, the arena the paths. */
struct matches {
    struct box_denial *items;
    size_t room;
    size_t count;
};

/*
 * Uses only the patterns among the denials. The folders are real, absolute paths. A directory below
 * them that cannot be read and may hold a match is denied itself if it is another user's; our own
 * is ERR_PERMISSION_DENIED. ERR_TOO_LARGE if there are more entries than the limit or more matches
 * than room.
 */
int matches_find(struct arena *arena, const struct box_denial *denials, size_t denial_count,
                 const struct box_place *folders, size_t folder_count, struct matches *matches,
                 struct err *err);

/* Files that are denied by what they are. */
struct matches_kinds {
    bool sensitive; /* what authority/names/sensitive.h names is hidden */
    bool autorun;   /* what authority/names/autorun.h names is read-only in writable places */
};

/*
 * Finds these in the same way, except in folders of other people's code, such as node_modules; a
 * directory that cannot be read is denied. Of a repository the hooks are denied although there are
 * none: the folder for them is created.
 */
int matches_find_kinds(struct arena *arena, struct matches_kinds kinds,
                       const struct box_place *folders, size_t folder_count,
                       struct matches *matches, struct err *err);

#endif
