/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program may reach: the settings, an authority that records what is done
 * with them, and the walls around the process that has both.
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
    struct settings_file *file; /* NULL: there is none, and nothing to be changed */
    bool only_reads;
};

struct rules_place_config {
    const char *settings_dir; /* as the user named it; NULL: his own */
    const char *state_dir;    /* NULL: the user's own */
    bool only_reads;
};

/* The message is for the user. rules_place_close() follows in any case. */
int rules_place_open(const struct rules_place_config *config, struct rules_place *place,
                     struct err *err);
void rules_place_close(struct rules_place *place);

/* For good, and before anything is read. */
int place_confine(const struct rules_place *place, struct confine_report *out_report,
                  struct err *err);

#endif
