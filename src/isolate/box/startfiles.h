/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a command could leave for later: the user's shells, desktop and service manager run
 * them by themselves, outside of any sandbox.
 */
#ifndef ISOLATE_BOX_STARTFILES_H
#define ISOLATE_BOX_STARTFILES_H

#include "isolate/box/places.h"

/*
 * The first writable place in which such a file exists or could be created: in this home (NULL:
 * none), or beside existing start files. NULL if there is none.
 */
const char *startfiles_writable(const struct places *places, const char *home);

#endif
