/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/denied.h"

enum { DENIED_BYTES = BOX_MAX_DENIALS * (RULE_PATTERN_MAX_BYTES / 4) };

void denied_init(struct denied *denied)
{
    *denied = (struct denied){0};
    arena_init(&denied->arena, DENIED_BYTES);
}

void denied_done(struct denied *denied)
{
    rulebook_unref(denied->book);
    arena_done(&denied->arena);
}

static bool is_for_boxes(const struct rule *rule, int64_t wall_ms)
{
    return rule->effect == RULE_DENY && rule->group <= CATALOG_FILESYSTEM_WRITE &&
           (rule->kind == RULE_EXACT || rule->kind == RULE_DIR) &&
           (rule->expires_ms == 0 || rule->expires_ms > wall_ms);
}

static int add(struct denied *denied, const struct rule *rule, struct err *err)
{
    const char *path;

    if (denied->count == BOX_MAX_DENIALS)
        return err_set(err, ERR_UNSUPPORTED,
                       "more than %d rules deny files by their paths, and no box holds so many: "
                       "remove some, or deny their folders (gatehouse rules)",
                       BOX_MAX_DENIALS);
    path = arena_copy(&denied->arena, rule->pattern);
    if (path == NULL)
        return err_set_plain(err, denied->arena.error);
    denied->items[denied->count++] =
        (struct box_denial){path, rule->group == CATALOG_FILESYSTEM_READ ? BOX_HIDDEN : BOX_READ};
    return 0;
}

int denied_gather(struct denied *denied, struct permission *permission, struct err *err)
{
    int64_t wall_ms = clock_wall_ms(&clock_system);
    size_t count;
    size_t wanted = 0;
    int r = 0;

    denied->book = permission_book(permission);
    count = denied->book != NULL ? rulebook_count(denied->book) : 0;
    for (size_t i = 0; i < count; i++)
        wanted += is_for_boxes(rulebook_at(denied->book, i), wall_ms) ? 1 : 0;
    if (wanted > BOX_MAX_DENIALS)
        wanted = BOX_MAX_DENIALS;
    denied->items = arena_alloc_array(&denied->arena, wanted, sizeof(*denied->items));
    if (denied->items == NULL)
        return err_set_plain(err, denied->arena.error);
    for (size_t i = 0; i < count && r == 0; i++)
        if (is_for_boxes(rulebook_at(denied->book, i), wall_ms))
            r = add(denied, rulebook_at(denied->book, i), err);
    return r;
}
