/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is searched for in the lines of a text: literal text, or a PCRE2 regular expression, with
 * Unicode's classes and cases. A pattern is compiled once, immutable, and shared by threads; each
 * of them searches with its own matcher (search/matcher.h).
 *
 * Lines are matched one by one, without their newline. A carriage return before it belongs to the
 * line, so `$` matches after it. Bytes that are not UTF-8 match nothing, and the text on either
 * side of them matches as it would alone.
 */
#ifndef SEARCH_PATTERN_H
#define SEARCH_PATTERN_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "search/scan.h"

enum {
    PATTERN_MAX_BYTES = 4096,
    PATTERN_MAX_NESTING = 64,
    PATTERN_MAX_COMPILED_BYTES = 32 << 10,
};

struct pattern_options {
    bool is_regex;
    bool ignores_case;
    /* For tests: */
    bool has_no_jit;       /* as if executable memory were forbidden */
    bool has_no_prefilter; /* the regex engine sees every line */
    enum scan_level level;
};

struct pattern;

/*
 * ERR_INVALID_ARGUMENT with the reason and position, ERR_INVALID_UTF8, or ERR_TOO_LARGE for a
 * pattern that is too long or compiles to too much. A pattern with a line break is refused: it
 * could match nothing.
 */
int pattern_compile(struct str text, const struct pattern_options *options,
                    struct pattern **out_pattern, struct err *err);

/* What it finds in a text that is not UTF-8 depends on the encoding if it matches beyond ASCII. */
enum pattern_reach {
    PATTERN_ASCII,      /* never */
    PATTERN_ANY,        /* maybe, as "." does */
    PATTERN_NAMES_MORE, /* it has such a character */
};
enum pattern_reach pattern_reach(const struct pattern *pattern);

/* Whether matches can be told from their own bytes alone, wherever in a line they are. */
bool pattern_is_local(const struct pattern *pattern);

/* Call after freeing all its matchers. */
void pattern_free(struct pattern *pattern);

static inline void cleanup_pattern_(struct pattern **pattern)
{
    pattern_free(*pattern);
}
#define cleanup_pattern cleanup_with(cleanup_pattern_)

#endif
