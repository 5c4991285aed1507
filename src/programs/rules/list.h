/* SPDX-License-Identifier: Apache-2.0 */
/* Prints rules, as a table for a person or as a JSON object each for a program. */
#ifndef PROGRAMS_RULES_LIST_H
#define PROGRAMS_RULES_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/output.h"
#include "permission/settings/settings.h"

struct list_view {
    const struct rule *rules;
    size_t count;
    int64_t wall_ms;
    bool has_group; /* only this group */
    enum catalog_group group;
};

/* An output error stays in `output`; any other is returned. */
int list_text(struct output *output, const struct list_view *view);
int list_json(struct output *output, const struct list_view *view);

/* "1a2b3c4d5e: allow shell prefix:git status in /src until 2026-12-01 18:00 (in 3 days)" */
int list_one(struct output *output, const struct rule *rule, int64_t wall_ms);

#endif
