/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defines what a glob means, as simply as possible and without regard to time: the real matcher is
 * compared with it, for patterns that compile. Only for short patterns and names.
 */
#ifndef TESTS_SUPPORT_GLOB_REFERENCE_H
#define TESTS_SUPPORT_GLOB_REFERENCE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

enum { GLOB_REFERENCE_BYTES = 64 };

static inline struct str glob_reference_skip(struct str s, size_t count)
{
    return (struct str){s.ptr + count, s.len - count};
}

/* A code point, or a number above all of them for an invalid byte. */
static inline uint32_t glob_reference_take_char(struct str *s)
{
    unsigned char byte = (unsigned char)s->ptr[0];
    uint32_t c;

    return utf8_next(s, &c) ? c : 0x110000U + byte;
}

static inline uint32_t glob_reference_take_literal(struct str *pattern)
{
    if (pattern->ptr[0] == '\\')
        *pattern = glob_reference_skip(*pattern, 1);
    return glob_reference_take_char(pattern);
}

/* *pattern starts after the "[" and ends after the "]". */
static inline bool glob_reference_take_class(struct str *pattern, uint32_t c)
{
    bool is_negated = pattern->ptr[0] == '!' || pattern->ptr[0] == '^';
    bool is_first = true;
    bool is_member = false;

    if (is_negated)
        *pattern = glob_reference_skip(*pattern, 1);
    for (; is_first || pattern->ptr[0] != ']'; is_first = false) {
        uint32_t first = glob_reference_take_literal(pattern);
        uint32_t last = first;

        if (pattern->ptr[0] == '-' && pattern->ptr[1] != ']') {
            *pattern = glob_reference_skip(*pattern, 1);
            last = glob_reference_take_literal(pattern);
        }
        is_member = is_member || (first <= c && c <= last);
    }
    *pattern = glob_reference_skip(*pattern, 1);
    return is_member != is_negated;
}

static inline bool glob_reference_component(struct str pattern, struct str part)
{
    uint32_t c;

    if (pattern.len == 0)
        return part.len == 0;
    if (pattern.ptr[0] == '*') {
        if (glob_reference_component(glob_reference_skip(pattern, 1), part))
            return true;
        if (part.len == 0)
            return false;
        glob_reference_take_char(&part);
        return glob_reference_component(pattern, part);
    }
    if (part.len == 0)
        return false;
    c = glob_reference_take_char(&part);
    if (pattern.ptr[0] == '?') {
        pattern = glob_reference_skip(pattern, 1);
    } else if (pattern.ptr[0] == '[') {
        pattern = glob_reference_skip(pattern, 1);
        if (!glob_reference_take_class(&pattern, c))
            return false;
    } else if (glob_reference_take_literal(&pattern) != c) {
        return false;
    }
    return glob_reference_component(pattern, part);
}

/* Sets *out_first to the part before the first slash; false if there is no slash. */
static inline bool glob_reference_cut(struct str s, struct str *out_first, struct str *out_rest)
{
    size_t slash = str_find(s, STR("/"));

    *out_first = slash == SIZE_MAX ? s : str_slice(s, 0, slash);
    *out_rest = slash == SIZE_MAX ? STR_EMPTY : glob_reference_skip(s, slash + 1);
    return slash != SIZE_MAX;
}

/* Matches the pattern from the root to the end of a name or of one of its parent directories. */
static inline bool glob_reference_path(struct str pattern, bool has_pattern, struct str name)
{
    struct str wanted, wanted_rest, part, part_rest;
    bool is_more;

    if (!has_pattern)
        return true;
    is_more = glob_reference_cut(pattern, &wanted, &wanted_rest);
    glob_reference_cut(name, &part, &part_rest);
    if (str_eq(wanted, STR("**")))
        return glob_reference_path(wanted_rest, is_more, name) ||
               (name.len > 0 && glob_reference_path(pattern, true, part_rest));
    return name.len > 0 && glob_reference_component(wanted, part) &&
           glob_reference_path(wanted_rest, is_more, part_rest);
}

static inline bool glob_reference_plain(struct str pattern, struct str name)
{
    char anywhere[GLOB_REFERENCE_BYTES + 3] = "**/";

    if (pattern.ptr[0] == '/')
        return glob_reference_path(glob_reference_skip(pattern, 1), true, name);
    if (str_find(pattern, STR("/")) != SIZE_MAX)
        return glob_reference_path(pattern, true, name);
    memcpy(anywhere + 3, pattern.ptr, pattern.len);
    return glob_reference_path((struct str){anywhere, pattern.len + 3}, true, name);
}

/* Length of a class, an escaped character or a single byte at the start of the pattern. */
static inline size_t glob_reference_unit(struct str pattern)
{
    struct str rest = pattern;

    if (pattern.ptr[0] == '\\')
        return 2;
    if (pattern.ptr[0] != '[')
        return 1;
    rest = glob_reference_skip(rest, 1);
    glob_reference_take_class(&rest, 0);
    return pattern.len - rest.len;
}

/* With braces: replaces the first one by each of its choices. */
static inline bool glob_reference_matches(struct str pattern, struct str name)
{
    size_t open = 0;
    size_t depth = 0;
    size_t ends[GLOB_REFERENCE_BYTES] = {0}; /* of the choices */
    size_t count = 0;
    size_t start, at;

    assert(pattern.len <= GLOB_REFERENCE_BYTES);
    while (open < pattern.len && pattern.ptr[open] != '{')
        open += glob_reference_unit(glob_reference_skip(pattern, open));
    if (open == pattern.len)
        return glob_reference_plain(pattern, name);

    at = open;
    do {
        char c = pattern.ptr[at];

        if (depth == 1 && (c == ',' || c == '}'))
            ends[count++] = at;
        if (c == '{')
            depth++;
        if (c == '}')
            depth--;
        at += glob_reference_unit(glob_reference_skip(pattern, at));
    } while (depth > 0);

    start = open + 1;
    for (size_t i = 0; i < count; i++) {
        char text[GLOB_REFERENCE_BYTES];
        size_t choice_len = ends[i] - start;
        size_t rest_len = pattern.len - at;

        memcpy(text, pattern.ptr, open);
        memcpy(text + open, pattern.ptr + start, choice_len);
        memcpy(text + open + choice_len, pattern.ptr + at, rest_len);
        if (glob_reference_matches((struct str){text, open + choice_len + rest_len}, name))
            return true;
        start = ends[i] + 1;
    }
    return false;
}

#endif
