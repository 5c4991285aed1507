/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command may leave for later: files that the user's shells, desktop and service manager
 * run by themselves, outside of any box.
 */
#ifndef ISOLATE_BOX_STARTFILES_H
#define ISOLATE_BOX_STARTFILES_H

#include "isolate/box/places.h"

/*
 * The first writable place in which such a file lies or could be made: in this home (NULL: none),
 * or beside start files that are there. NULL when there is none.
 */
const char *startfiles_writable(const struct places *places, const char *home);

#endif
