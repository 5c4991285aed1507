/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repositories whose hooks and settings a command sees read-only. Git takes them from elsewhere if
 * a file `commondir` says so; where there is none, none can be kept, so one that is there when the
 * command has ended is removed.
 */
#ifndef ISOLATE_LAUNCHER_KEPTGIT_H
#define ISOLATE_LAUNCHER_KEPTGIT_H

#include "isolate/box/box.h"

struct kept_gits {
    char **paths;
    size_t count;
};

/*
 * Those without such a file, by the denials of the command that is about to start. ERR_NO_MEMORY.
 */
int kept_gits_note(struct kept_gits *gits, const struct box_denial *denials, size_t count);
/* Removes what has appeared. Afterwards there are none. */
void kept_gits_end(struct kept_gits *gits);

#endif
