/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line as it is shown: valid UTF-8, and of a long line the part around its match. Each byte that
 * is not UTF-8 becomes U+FFFD; "…" marks a cut; a carriage return at the end is dropped.
 */
#ifndef SEARCH_EXCERPT_H
#define SEARCH_EXCERPT_H

#include <stddef.h>

#include "base/str.h"

enum {
    EXCERPT_MAX_CHARACTERS = 200, /* of the line */
    EXCERPT_MAX_BYTES = EXCERPT_MAX_CHARACTERS * 4 + 2 * 3,
};

struct excerpt {
    size_t len;
    size_t match_start, match_end; /* in text, without parts that were cut off */
    char text[EXCERPT_MAX_BYTES];
};

/* The match must lie in the line. */
void excerpt_make(struct str line, size_t match_start, size_t match_end,
                  struct excerpt *out_excerpt);

#endif
