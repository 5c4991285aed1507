/* SPDX-License-Identifier: Apache-2.0 */
/* What a pattern is; for search/pattern.c, search/matcher.c and search/engine.c alone. */
#ifndef SEARCH_PATTERN_INTERNAL_H
#define SEARCH_PATTERN_INTERNAL_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "search/pattern.h"

struct pattern {
    pcre2_code *code;
    pcre2_code *ascii_code;   /* for lines that are ASCII, twice as fast; or NULL */
    pcre2_code *watched_code; /* for the interpreter: it calls back before each part; or NULL */
    bool has_jit;             /* code has; ascii_code always has */

    bool has_scan;       /* only lines in which it finds something may match */
    bool is_whole;       /* and those match for which it is exact */
    bool is_single;      /* what it finds first is the first match, exactly */
    bool has_line_start; /* it cannot see whether the first line of a text may match, */
    bool has_line_end;   /* or the last that no newline ends */
    struct scan scan;
    char *needle;
};

#endif
