/* SPDX-License-Identifier: Apache-2.0 */
/* What the settings decide about one thing, and by which step. */
#ifndef PROGRAMS_RULES_EXPLAIN_H
#define PROGRAMS_RULES_EXPLAIN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "permission/settings/settings.h"

struct explain_question {
    enum catalog_group group;
    const char *resource;
    const char *resolved; /* or NULL */
    const char *cwd;      /* or NULL */
    /* What the session's options say, by enum catalog_group; where they say nothing the settings
     * do. */
    bool has_mode[PERMISSION_GROUPS];
    struct permission_modes modes;
    /* Absolute, up to a NULL: directories that nobody may use. */
    const char *const *protected_dirs;
};

/* Appends lines for a terminal. */
int explain_decision(struct arena *arena, const struct settings *settings,
                     const struct explain_question *question, struct buf *out, struct err *err);

#endif
