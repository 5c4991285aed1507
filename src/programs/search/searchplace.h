/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a search may reach: read access to folders, recorded in the audit log, and the
 * confinement of the process.
 */
#ifndef PROGRAMS_SEARCH_SEARCHPLACE_H
#define PROGRAMS_SEARCH_SEARCHPLACE_H

#include <limits.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/options/options.h"
#include "gatehouse/authority.h"
#include "isolate/confine.h"
#include "session/state.h"

enum { SEARCH_PLACE_SPOTS = 256 };

/* A folder, or one file in it. */
struct search_spot {
    struct authority_scope *scope;
    const char *given;     /* by the user */
    const char *root_path; /* without links */
    struct str file;       /* of `given`; empty: all of the folder */
};

struct search_place {
    struct session_state state;
    struct search_spot *spots; /* in the arena */
    size_t spot_count;
    struct arena arena;
};

struct search_place_config {
    struct option_list paths;  /* as given by the user; at least one */
    const char *state_dir;     /* NULL: the user's default */
    const char *const *denied; /* globs, NULL-terminated; or NULL */
    /* Told of each path that cannot be searched, if there are others. */
    void (*complain)(const char *words);
};

/*
 * Returns 0, or 1 if some of the paths cannot be searched; an error if none can. The message is for
 * the user. Call search_place_close() even on failure.
 */
int search_place_open(const struct search_place_config *config, struct search_place *place,
                      struct err *err);
void search_place_close(struct search_place *place);

/* Confines the process for good; call it before starting any thread. */
int place_confine(const struct search_place *place, struct confine_report *out_report,
                  struct err *err);

#endif
