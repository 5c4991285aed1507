/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a pattern; internal to search/pattern.c, search/matcher.c and search/engine.c. */
#ifndef SEARCH_PATTERN_INTERNAL_H
#define SEARCH_PATTERN_INTERNAL_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "search/pattern.h"

struct pattern {
    pcre2_code *code;
    pcre2_code *ascii_code;   /* for ASCII lines, twice as fast; or NULL */
    pcre2_code *watched_code; /* for the interpreter: calls back before each part; or NULL */
    bool has_jit;             /* of code; ascii_code always has it */
    enum pattern_reach reach;

    bool has_scan;       /* only lines in which the scan finds something may match */
    bool is_whole;       /* and exact hits always match */
    bool is_single;      /* its first hit is exactly the first match */
    bool has_line_start; /* the scan cannot tell whether the first line of a text matches */
    bool has_line_end;   /* nor the last line without a newline */
    struct scan scan;
    char *needle;
};

#endif
