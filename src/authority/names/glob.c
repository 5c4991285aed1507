/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/names/glob.h"

#include "authority/names/glob_internal.h"
#include "authority/names/path.h"

/* Whether the code at *code, not `*`, matches this character; advances past the code if so. */
static bool code_takes(const uint32_t **code, uint32_t c)
{
    const uint32_t *at = *code;
    bool is_inside = false;
    uint32_t count;

    if (*at <= GLOB_CODE_ANY) {
        if (*at != c && *at != GLOB_CODE_ANY)
            return false;
        *code = at + 1;
        return true;
    }
    count = at[1];
    for (uint32_t i = 0; i < count && !is_inside; i++)
        is_inside = c >= at[2 + 2 * i] && c <= at[3 + 2 * i];
    if (is_inside != (*at == GLOB_CODE_CLASS))
        return false;
    *code = at + 2 + (size_t)2 * count;
    return true;
}

/*
 * Each code but `*` matches one character, so giving a `*` as little as possible never loses a
 * match of the rest: only the last one has to be retried.
 */
static bool codes_match(const struct glob_component *component, struct str part)
{
    const uint32_t *code = component->codes;
    const uint32_t *behind_run = NULL;
    const char *end = part.ptr + part.len;
    const char *at = part.ptr;
    const char *run_end = NULL;

    while (true) {
        const char *next;

        if (code < component->codes_end && *code == GLOB_CODE_RUN) {
            behind_run = ++code;
            run_end = at;
            if (code == component->codes_end)
                return true;
        }
        if (at == end)
            return code == component->codes_end;
        if (code < component->codes_end && code_takes(&code, glob_char(at, end, &next))) {
            at = next;
            continue;
        }
        if (behind_run == NULL)
            return false;
        glob_char(run_end, end, &run_end);
        at = run_end;
        code = behind_run;
    }
}

/* Most comparisons fail, and at the last byte: the bytes before are often a common prefix. */
static inline bool is_same(const char *a, struct str wanted)
{
    return wanted.len == 0 || (a[wanted.len - 1] == wanted.ptr[wanted.len - 1] &&
                               memcmp(a, wanted.ptr, wanted.len - 1) == 0);
}

static inline bool component_matches(const struct glob_component *component, struct str part)
{
    struct str head = component->head;
    struct str tail = component->tail;

    switch (component->kind) {
    case GLOB_EQUAL:
        return part.len == head.len && is_same(part.ptr, head);
    case GLOB_ENDS:
        return part.len >= head.len + tail.len && is_same(part.ptr + (part.len - tail.len), tail) &&
               is_same(part.ptr, head);
    case GLOB_CODES:
        return codes_match(component, part);
    case GLOB_DEEP:
        break;
    }
    return true;
}

/* Same as in codes_match(), with components for characters. */
static bool path_matches(const struct glob_path *path, struct str name)
{
    size_t behind_deep = 0; /* 0: none yet, as it stands behind at least one */
    struct str deep_rest = name;
    size_t at = 0;

    while (at < path->count) {
        if (path->components[at].kind == GLOB_DEEP) {
            behind_deep = ++at;
            deep_rest = name;
            continue;
        }
        if (name.len == 0)
            return false;
        if (component_matches(&path->components[at], path_take(&name))) {
            at++;
            continue;
        }
        if (behind_deep == 0)
            return false;
        path_take(&deep_rest);
        name = deep_rest;
        at = behind_deep;
    }
    return true;
}

static bool anywhere_matches(const struct glob_anywhere *first, struct str name)
{
    while (name.len > 0) {
        struct str part = path_take(&name);

        for (const struct glob_anywhere *a = first; a != NULL; a = a->next)
            if (component_matches(&a->component, part))
                return true;
    }
    return false;
}

static bool rules_match(const struct glob_rules *rules, struct str name)
{
    if (rules->is_all)
        return true;
    for (const struct glob_path *path = rules->paths; path != NULL; path = path->next)
        if (path_matches(path, name))
            return true;
    return rules->anywhere != NULL && anywhere_matches(rules->anywhere, name);
}

/* Up to its first `**` a path has no choice; after that anything may follow. */
static bool path_may_match_below(const struct glob_path *path, struct str directory)
{
    for (size_t at = 0; at < path->count && directory.len > 0; at++) {
        if (path->components[at].kind == GLOB_DEEP)
            return true;
        if (!component_matches(&path->components[at], path_take(&directory)))
            return false;
    }
    return true;
}

static bool rules_may_match_below(const struct glob_rules *rules, struct str directory)
{
    if (rules->is_all || rules->anywhere != NULL)
        return true;
    for (const struct glob_path *path = rules->paths; path != NULL; path = path->next)
        if (path_may_match_below(path, directory))
            return true;
    return false;
}

bool glob_matches(const struct glob *glob, struct str name)
{
    return rules_match(&glob->rules, name);
}

bool glob_may_match_below(const struct glob *glob, struct str directory)
{
    return rules_may_match_below(&glob->rules, directory);
}

bool glob_set_is_empty(const struct glob_set *set)
{
    return set->rules.pattern_count == 0;
}

bool glob_set_matches(const struct glob_set *set, struct str name)
{
    return rules_match(&set->rules, name);
}

const char *glob_set_find(const struct glob_set *set, struct str name)
{
    if (set->rules.is_all)
        return set->rules.all_pattern;
    for (const struct glob_path *path = set->rules.paths; path != NULL; path = path->next)
        if (path_matches(path, name))
            return path->pattern;
    while (name.len > 0) {
        struct str part = path_take(&name);

        for (const struct glob_anywhere *a = set->rules.anywhere; a != NULL; a = a->next)
            if (component_matches(&a->component, part))
                return a->pattern;
    }
    return NULL;
}

bool glob_set_may_match_below(const struct glob_set *set, struct str directory)
{
    return rules_may_match_below(&set->rules, directory);
}
