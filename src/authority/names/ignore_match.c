/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/names/ignore_internal.h"

#include "authority/names/path.h"

static bool code_takes(const struct ignore_bytes *sets, uint32_t code, char byte)
{
    if (code >= IGNORE_CODE_CLASS)
        return ignore_bytes_has(&sets[code - IGNORE_CODE_CLASS], byte);
    return code == (unsigned char)byte || code == IGNORE_CODE_ANY;
}

/*
 * Each code but `*` matches one byte, so giving a `*` as little as possible never loses a match of
 * the rest: only the last one is retried.
 */
static bool codes_match(const struct ignore_component *component, const struct ignore_bytes *sets,
                        struct str part)
{
    size_t code = 0;
    size_t at = 0;
    size_t behind_run = 0; /* 0: none yet, as it stands behind at least one */
    size_t run_end = 0;

    while (true) {
        if (code < component->code_count && component->codes[code] == IGNORE_CODE_RUN) {
            behind_run = ++code;
            run_end = at;
            continue;
        }
        if (at == part.len && code == component->code_count)
            return true;
        if (at < part.len && code < component->code_count &&
            code_takes(sets, component->codes[code], part.ptr[at])) {
            code++;
            at++;
            continue;
        }
        if (behind_run == 0 || run_end == part.len)
            return false;
        at = ++run_end;
        code = behind_run;
    }
}

static bool is_same(const char *bytes, struct str wanted)
{
    return wanted.len == 0 || memcmp(bytes, wanted.ptr, wanted.len) == 0;
}

static bool component_matches(const struct ignore_component *component,
                              const struct ignore_bytes *sets, struct str part)
{
    struct str head = component->head;
    struct str tail = component->tail;

    switch (component->kind) {
    case IGNORE_KIND_EQUAL:
        return part.len == head.len && is_same(part.ptr, head);
    case IGNORE_KIND_ENDS:
        return part.len >= head.len + tail.len && is_same(part.ptr, head) &&
               is_same(part.ptr + (part.len - tail.len), tail);
    case IGNORE_KIND_CODES:
        return codes_match(component, sets, part);
    case IGNORE_KIND_DEEP:
        break;
    }
    return true;
}

/* Same as in codes_match(), with components for bytes. */
bool ignore_pattern_matches(const struct ignore_pattern *pattern, struct str name)
{
    size_t behind_deep = 0;
    struct str deep_rest = name;
    size_t at = 0;

    if (!ignore_bytes_has(&pattern->first, name.ptr[0]) ||
        !ignore_bytes_has(&pattern->last, name.ptr[name.len - 1]))
        return false;
    while (true) {
        if (at < pattern->count && pattern->components[at].kind == IGNORE_KIND_DEEP) {
            behind_deep = ++at;
            deep_rest = name;
            continue;
        }
        if (at == pattern->count && (name.len == 0 || behind_deep == at))
            return true;
        if (at < pattern->count && name.len > 0 &&
            component_matches(&pattern->components[at], pattern->sets, path_take(&name))) {
            at++;
            continue;
        }
        if (behind_deep == 0 || deep_rest.len == 0)
            return false;
        path_take(&deep_rest);
        name = deep_rest;
        at = behind_deep;
    }
}
