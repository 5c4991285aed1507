/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a search may reach: read access to one folder, recorded in the audit log, and the
 * confinement of the process.
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
    const char *directory;     /* as given by the user */
    const char *state_dir;     /* NULL: the user's default */
    const char *const *denied; /* globs, NULL-terminated; or NULL */
};

/* The message is for the user. Call search_place_close() even on failure. */
int search_place_open(const struct search_place_config *config, struct search_place *place,
                      struct err *err);
void search_place_close(struct search_place *place);

/* Confines the process for good; call it before starting any thread. */
int place_confine(const struct search_place *place, struct confine_report *out_report,
                  struct err *err);

#endif
