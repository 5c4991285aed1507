/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the other names (hard links) that denied and hidden files have in what a command sees. A
 * sandbox can only be denied paths, and an earlier command may have given a file a second name
 * before a rule denied the first one. Looks only if such a file has several names.
 */
#ifndef ISOLATE_BOX_SECONDNAMES_H
#define ISOLATE_BOX_SECONDNAMES_H

#include "isolate/box/matches.h"

/*
 * Adds those names to `denied`, which has only paths, without links. Files below a denied directory
 * count if it lies in a place that is seen; those below a hidden place do not. An incomplete search
 * is an error, as for matches: ERR_TOO_LARGE, or ERR_PERMISSION_DENIED for a directory of our own
 * that cannot be read.
 */
int secondnames_find(struct arena *arena, const struct box_place *places, size_t place_count,
                     struct matches *denied, struct err *err);

#endif
