/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Glob patterns over names, compiled once: `*` and `?` within a component, `**` for any number of
 * components, `[a-z]` and `[!a-z]`, nested `{a,b}`, a backslash quotes the next character. Bytes
 * that are not UTF-8 match as single characters. Names must be normalised by path_normalise():
 * other spellings of the same file are not recognised.
 *
 * A pattern without a slash matches in any directory (".env" matches "a/b/.env"), one with a slash
 * from the root; with braces, each alternative by itself. A pattern that matches a directory
 * matches everything below it; `**` at the end also matches no component, so that it includes the
 * directory itself. Time is bounded by the product of the sizes of pattern and name.
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
    GLOB_MAX_ALTERNATIVES = 256,     /* of a pattern, all braces expanded */
    GLOB_MAX_EXPANDED_BYTES = 16384, /* of these alternatives in total */
    GLOB_MAX_NESTING = 16,           /* of braces */
    GLOB_SET_MAX_PATTERNS = 1024,
};

struct glob;

/* ERR_INVALID_ARGUMENT says what is wrong with the pattern. Everything lives in the arena. */
int glob_compile(struct arena *arena, struct str pattern, const struct glob **out_glob,
                 struct err *err);

bool glob_matches(const struct glob *glob, struct str name);

/*
 * Writes a pattern for names below `folder` as patterns for names from /, one for each alternative
 * of its braces, and calls `visit` until one returns nonzero, which is returned. The folder is an
 * absolute path, not a pattern. The texts live in the arena and may be too long for glob_compile().
 */
int glob_each_below(struct arena *arena, struct str folder, struct str pattern,
                    int (*visit)(void *data, const char *absolute), void *data, struct err *err);

/* Whether something below this directory could match; if not, a walk can skip it. */
bool glob_may_match_below(const struct glob *glob, struct str directory);

/*
 * What a name must have to match one alternative of a pattern, for looking up many patterns at
 * once: it lies below a directory of `fixed_count` literal components, and below that each part
 * fits some component of it. This is necessary, but not sufficient.
 */
struct glob_component;

struct glob_shape {
    const struct glob_component *components;
    size_t fixed_count;
    size_t part_count;
};

enum glob_part {
    GLOB_PART_IS,   /* the component is the text */
    GLOB_PART_ENDS, /* the component ends in it */
    GLOB_PART_ANY,  /* the component is anything, or missing */
};

/* Calls `visit` for each alternative until one returns nonzero, which is returned. */
int glob_each_shape(const struct glob *glob,
                    int (*visit)(void *data, const struct glob_shape *shape), void *data);

/* The literal component `index`, below fixed_count. */
struct str glob_shape_fixed(const struct glob_shape *shape, size_t index);

/* The part `index`, below part_count. */
enum glob_part glob_shape_part(const struct glob_shape *shape, size_t index, struct str *out_text);

struct glob_set;

/* NULL-terminated patterns; NULL or none makes a set that matches nothing. */
int glob_set_compile(struct arena *arena, const char *const *patterns,
                     const struct glob_set **out_set, struct err *err);
bool glob_set_is_empty(const struct glob_set *set);
bool glob_set_matches(const struct glob_set *set, struct str name);
/* One of the patterns that match, as given; NULL: none does. */
const char *glob_set_find(const struct glob_set *set, struct str name);
bool glob_set_may_match_below(const struct glob_set *set, struct str directory);

#endif
