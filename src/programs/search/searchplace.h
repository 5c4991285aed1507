/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a search may look: the right to read one folder, recorded, and the walls
 * around the process that has it.
 */
#ifndef PROGRAMS_SEARCH_SEARCHPLACE_H
#define PROGRAMS_SEARCH_SEARCHPLACE_H

#include <limits.h>

#include "base/err.h"
#include "gatehouse/authority.h"
#include "isolate/confine.h"
#include "session/state.h"

struct search_place {
    struct session_state state;
    struct authority_scope *scope;
    char root_path[PATH_MAX]; /* without links */
};

struct search_place_config {
    const char *directory;     /* as the user named it */
    const char *state_dir;     /* NULL: the user's own */
    const char *const *denied; /* globs up to a NULL; or NULL */
};

/* The message is for the user. search_place_close() follows in any case. */
int search_place_open(const struct search_place_config *config, struct search_place *place,
                      struct err *err);
void search_place_close(struct search_place *place);

/* For good, and before any thread. */
int place_confine(const struct search_place *place, struct confine_report *out_report,
                  struct err *err);

#endif
