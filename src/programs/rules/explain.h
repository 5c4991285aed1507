/* SPDX-License-Identifier: Apache-2.0 */
/* Explains what the settings decide about a resource, and by which step. */
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
    /* Modes from the session's options, by enum catalog_group; the settings provide the others. */
    bool has_mode[PERMISSION_GROUPS];
    struct permission_modes modes;
    /* Protected directories; absolute, NULL-terminated. */
    const char *const *protected_dirs;
};

/* Appends lines for a terminal. */
int explain_decision(struct arena *arena, const struct settings *settings,
                     const struct explain_question *question, struct buf *out, struct err *err);

#endif
