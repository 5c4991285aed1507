/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the patterns of rules match below some folders, for boxes, which can be denied paths alone.
 * The walk is breadth first, passes by what cannot match, follows no links and ends at a ceiling:
 * it runs before every command.
 */
#ifndef ISOLATE_MATCHES_H
#define ISOLATE_MATCHES_H

#include "base/arena.h"
#include "base/err.h"
#include "isolate/box.h"

enum { MATCHES_MAX_ENTRIES = 32768 };

/* What was found, and whether that is all. The room is the caller's, the paths are the arena's. */
struct matches {
    struct box_denial *items;
    size_t room;
    size_t count;
    bool is_complete;
};

/* Of the denials only the patterns are looked at. The folders are real, absolute paths. */
int matches_find(struct arena *arena, const struct box_denial *denials, size_t denial_count,
                 const struct box_place *folders, size_t folder_count, struct matches *matches,
                 struct err *err);

#endif
