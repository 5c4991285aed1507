/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the patterns of rules match below some folders, for boxes, which can be denied paths alone.
 * The walk passes by what cannot match and follows no links. It runs before every command, so it
 * has a ceiling; and since a command could fill a folder to have the next one see what is denied,
 * what is not found whole is not found at all.
 */
#ifndef ISOLATE_BOX_MATCHES_H
#define ISOLATE_BOX_MATCHES_H

#include "base/arena.h"
#include "base/err.h"
#include "isolate/box/box.h"

enum { MATCHES_MAX_ENTRIES = 1 << 19 }; /* some tenths of a second */

/* The room is the caller's, the paths are the arena's. */
struct matches {
    struct box_denial *items;
    size_t room;
    size_t count;
};

/*
 * Of the denials only the patterns are looked at. The folders are real, absolute paths. One below
 * them that cannot be read and may hold a match is denied itself where it is another user's; our
 * own is ERR_PERMISSION_DENIED. ERR_TOO_LARGE if there are more entries than the ceiling or more
 * matches than room.
 */
int matches_find(struct arena *arena, const struct box_denial *denials, size_t denial_count,
                 const struct box_place *folders, size_t folder_count, struct matches *matches,
                 struct err *err);

#endif
