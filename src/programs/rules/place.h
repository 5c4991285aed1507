/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program may reach: the settings, an authority that records what is done
 * with them, and the walls around the process that has both.
 */
#ifndef PROGRAMS_RULES_PLACE_H
#define PROGRAMS_RULES_PLACE_H

#include <stdbool.h>

#include "base/err.h"
#include "isolate/confine.h"
#include "permission/settings/file.h"
#include "tools/recorded.h"

struct place {
    struct recorded recorded;
    struct settings_file *file; /* NULL: there is none, and nothing to be changed */
    bool only_reads;
};

struct place_config {
    const char *settings_dir; /* as the user named it; NULL: his own */
    const char *state_dir;    /* NULL: the user's own */
    bool only_reads;
};

/* The message is for the user. place_close() follows in any case. */
int place_open(const struct place_config *config, struct place *place, struct err *err);
void place_close(struct place *place);

/* For good, and before anything is read. */
int place_confine(const struct place *place, struct confine_report *out_report, struct err *err);

#endif
