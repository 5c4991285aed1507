/* SPDX-License-Identifier: Apache-2.0 */
/* Adds or revokes a rule. */
#ifndef PROGRAMS_RULES_CHANGE_H
#define PROGRAMS_RULES_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "permission/settings/file.h"

/* A rule as written by the user; all but the first three may be NULL. */
struct change_wish {
    enum rule_effect effect;
    enum catalog_group group;
    const char *match;
    const char *cwd;
    const char *expires;
    const char *note;
};

/* The message is for the user. */
int change_read_wish(struct arena *arena, const struct change_wish *wish, int64_t wall_ms,
                     struct rule *out_rule, struct err *err);

/*
 * Finds the one rule that the user means: by its match as listed, or by its id or the beginning of
 * it. ERR_NOT_FOUND; ERR_INVALID_ARGUMENT if it could be several.
 */
struct change_search {
    struct str words;
    bool has_group; /* only among rules of this group */
    enum catalog_group group;
};
int change_find(const struct settings *settings, const struct change_search *search,
                size_t *out_index, struct err *err);

#endif
