/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a search may look: the right to read one folder, recorded, and the walls
 * around the process that has it.
 */
#ifndef PROGRAMS_SEARCH_PLACE_H
#define PROGRAMS_SEARCH_PLACE_H

#include <limits.h>

#include "base/err.h"
#include "gatehouse/authority.h"
#include "isolate/confine.h"
#include "tools/recorded.h"

struct place {
    struct recorded recorded;
    struct authority_scope *scope;
    char root_path[PATH_MAX]; /* without links */
};

struct place_config {
    const char *directory;     /* as the user named it */
    const char *state_dir;     /* NULL: the user's own */
    const char *const *denied; /* globs up to a NULL; or NULL */
};

/* The message is for the user. place_close() follows in any case. */
int place_open(const struct place_config *config, struct place *place, struct err *err);
void place_close(struct place *place);

/* For good, and before any thread. */
int place_confine(const struct place *place, struct confine_report *out_report, struct err *err);

#endif
