/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program may reach: the settings, an authority that records changes to them, and the
 * confinement of the process.
 */
#ifndef PROGRAMS_RULES_RULESPLACE_H
#define PROGRAMS_RULES_RULESPLACE_H

#include <stdbool.h>

#include "base/err.h"
#include "isolate/confine.h"
#include "permission/settings/file.h"
#include "session/state.h"

struct rules_place {
    struct session_state state;
    struct settings_file *file; /* NULL: there are no settings, and nothing to change */
    bool only_reads;
    struct authority_scope *folder; /* whose files are counted; NULL: none */
    char folder_path[PATH_MAX];
};

struct rules_place_config {
    const char *settings_dir; /* as given by the user; NULL: the default */
    const char *state_dir;    /* NULL: the user's default */
    bool only_reads;
    const char *counted_dir; /* whose files a new rule may touch; only their names are needed */
    bool has_to_count;       /* the user named it: an error if it cannot be opened */
};

/* The message is for the user. Call rules_place_close() even on failure. */
int rules_place_open(const struct rules_place_config *config, struct rules_place *place,
                     struct err *err);
void rules_place_close(struct rules_place *place);

/* Confines the process for good; call it before reading anything. */
int place_confine(const struct rules_place *place, struct confine_report *out_report,
                  struct err *err);

#endif
