/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Glob patterns over names, compiled once: `*` and `?` within a component,
 * `**` over any number of components, `[a-z]` and `[!a-z]`, `{a,b}` nested, a
 * backslash takes the next character as it is. Bytes that are no UTF-8 match as
 * single characters. Names are those of path_normalise(): another spelling of
 * the same file is not recognised here.
 *
 * A pattern without a slash matches in any directory (".env" finds "a/b/.env"),
 * one with a slash from the root; of braces, each alternative by itself. A
 * pattern that matches a directory matches all that lies below it; `**` at the
 * end takes no component too, so that with it the directory itself is meant.
 *
 * Time is bounded by the sizes of pattern and name multiplied, whatever they are.
 */
#ifndef AUTHORITY_NAMES_GLOB_H
#define AUTHORITY_NAMES_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum {
    GLOB_PATTERN_MAX_BYTES = 1024,
    GLOB_MAX_ALTERNATIVES = 256,     /* of all braces of a pattern, multiplied out */
    GLOB_MAX_EXPANDED_BYTES = 16384, /* of these alternatives together */
    GLOB_MAX_NESTING = 16,           /* of braces */
    GLOB_SET_MAX_PATTERNS = 1024,
};

struct glob;

/* ERR_INVALID_ARGUMENT says what is wrong with the pattern. Everything lives in the arena. */
int glob_compile(struct arena *arena, struct str pattern, const struct glob **out_glob,
                 struct err *err);

bool glob_matches(const struct glob *glob, struct str name);

/* Could something below this directory match? False lets a walk pass it by. */
bool glob_may_match_below(const struct glob *glob, struct str directory);

/*
 * What a name must have to match one alternative of a pattern, for those who look many patterns up
 * at once: it lies below a directory of `fixed_count` components that are written out, and below
 * that each part fits some component of it. More may be asked of it.
 */
struct glob_component;

struct glob_shape {
    const struct glob_component *components;
    size_t fixed_count;
    size_t part_count;
};

enum glob_part {
    GLOB_PART_IS,   /* the component is the text */
    GLOB_PART_ENDS, /* or ends in it */
    GLOB_PART_ANY,  /* or is anything, or none at all */
};

/* Calls `visit` for each alternative until one returns other than 0, which is handed on. */
int glob_each_shape(const struct glob *glob,
                    int (*visit)(void *data, const struct glob_shape *shape), void *data);

/* The written-out component `index`, which is below fixed_count. */
struct str glob_shape_fixed(const struct glob_shape *shape, size_t index);

/* The part `index`, which is below part_count. */
enum glob_part glob_shape_part(const struct glob_shape *shape, size_t index, struct str *out_text);

struct glob_set;

/* Patterns up to a NULL pointer; NULL or none is a set that matches nothing. */
int glob_set_compile(struct arena *arena, const char *const *patterns,
                     const struct glob_set **out_set, struct err *err);
bool glob_set_is_empty(const struct glob_set *set);
bool glob_set_matches(const struct glob_set *set, struct str name);
bool glob_set_may_match_below(const struct glob_set *set, struct str directory);

#endif
