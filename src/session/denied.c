/* SPDX-License-Identifier: Apache-2.0 */
#include "session/denied.h"

#include <stdlib.h>
#include <string.h>

#include "authority/names/glob.h"

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
           (rule->expires_ms == 0 || rule->expires_ms > wall_ms);
}

static enum box_access left_by(const struct rule *rule)
{
    return rule->group == CATALOG_FILESYSTEM_READ ? BOX_HIDDEN : BOX_READ;
}

static int compare(const void *a_pointer, const void *b_pointer)
{
    const struct box_denial *a = a_pointer;
    const struct box_denial *b = b_pointer;
    int order = strcmp(a->path, b->path);

    if (order == 0)
        order = (a->at_most > b->at_most) - (a->at_most < b->at_most);
    return order != 0 ? order : a->is_pattern - b->is_pattern;
}

static int add(struct denied *denied, const struct denied *before, const struct rule *rule,
               size_t most, struct err *err)
{
    struct box_denial denial = {arena_copy(&denied->arena, rule->pattern), left_by(rule),
                                rule->kind == RULE_GLOB};

    if (denial.path == NULL)
        return err_set_plain(err, denied->arena.error);
    if (before != NULL && before->count > 0 &&
        bsearch(&denial, before->items, before->count, sizeof(denial), compare) != NULL)
        return 0;
    if (denied->count == most)
        return ERR_TOO_LARGE;
    denied->items[denied->count++] = denial;
    return 0;
}

static int gather(struct denied *denied, const struct denied *before, size_t most, struct err *err)
{
    const struct rulebook *book = denied->book;
    int64_t wall_ms = clock_wall_ms(&clock_system);
    size_t count = book != NULL ? rulebook_count(book) : 0;
    size_t wanted = 0;
    int r = 0;

    denied->count = 0;
    for (size_t i = 0; i < count; i++)
        wanted += is_for_boxes(rulebook_at(book, i), wall_ms) ? 1 : 0;
    denied->items =
        arena_alloc_array(&denied->arena, wanted < most ? wanted : most, sizeof(*denied->items));
    if (denied->items == NULL)
        return err_set_plain(err, denied->arena.error);
    for (size_t i = 0; i < count && r == 0; i++)
        if (is_for_boxes(rulebook_at(book, i), wall_ms))
            r = add(denied, before, rulebook_at(book, i), most, err);
    qsort(denied->items, denied->count, sizeof(*denied->items), compare);
    denied->is_complete = r == 0;
    return r;
}

int denied_gather(struct denied *denied, struct permission *permission, struct err *err)
{
    int r;

    denied->book = permission_book(permission);
    r = gather(denied, NULL, BOX_MAX_DENIALS, err);
    if (r == ERR_TOO_LARGE)
        r = err_set(err, ERR_UNSUPPORTED,
                    "more than %d rules deny files by path, which is too many for a sandbox: "
                    "revoke some, or deny their folders (gatehouse rules)",
                    BOX_MAX_DENIALS);
    return r;
}

static int count_one(void *data, const char *absolute)
{
    size_t *count = data;

    (void)absolute;
    ++*count;
    return 0;
}

static int hide_one(void *data, const char *absolute)
{
    struct denied *denied = data;

    denied->items[denied->count++] =
        (struct box_denial){.path = absolute, .at_most = BOX_HIDDEN, .is_pattern = true};
    return 0;
}

static int each_glob(struct denied *denied, const char *folder, const char *const *globs,
                     int (*visit)(void *data, const char *absolute), void *data, struct err *err)
{
    int r = 0;

    for (; r == 0 && *globs != NULL; globs++)
        r = glob_each_below(&denied->arena, str_from(folder), str_from(*globs), visit, data, err);
    return r;
}

int denied_add_globs(struct denied *denied, const char *folder, const char *const *globs,
                     struct err *err)
{
    struct box_denial *of_rules = denied->items;
    size_t count = denied->count;
    int r = each_glob(denied, folder, globs, count_one, &count, err);

    if (r < 0 || count == denied->count)
        return r;
    if (count > BOX_MAX_DENIALS)
        return err_set(err, ERR_UNSUPPORTED,
                       "--deny and your rules deny files by more than %d patterns and paths, which "
                       "is too many for a sandbox",
                       BOX_MAX_DENIALS);
    denied->items = arena_alloc_array(&denied->arena, count, sizeof(*denied->items));
    if (denied->items == NULL)
        return err_set_plain(err, denied->arena.error);
    if (denied->count > 0)
        memcpy(denied->items, of_rules, denied->count * sizeof(*of_rules));
    r = each_glob(denied, folder, globs, hide_one, denied, err);
    qsort(denied->items, denied->count, sizeof(*denied->items), compare);
    return r;
}

int denied_gather_since(struct denied *denied, const struct denied *before,
                        struct permission *permission, struct err *err)
{
    cleanup_rulebook struct rulebook *book = permission_book(permission);
    int r;

    if (book == NULL || book == before->book || (book == denied->book && denied->is_complete))
        return 0;
    rulebook_unref(denied->book);
    denied->book = rulebook_ref(book);
    arena_reset(&denied->arena);
    r = gather(denied, before, LAUNCHER_MAX_DENIALS, err);
    if (r == ERR_TOO_LARGE)
        r = err_set(err, ERR_DENIED_BY_POLICY,
                    "more than %d deny rules for files were added since this session began; "
                    "restart the session to apply them to commands",
                    LAUNCHER_MAX_DENIALS);
    return r;
}
