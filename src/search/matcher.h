/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the lines of a text that match a pattern. One thread uses a matcher; it
 * is made once for many texts, and searching allocates nothing.
 *
 * A text is a block of whole lines. Its last line may lack the newline only where
 * the whole content ends, since `$` matches there. What follows the last newline
 * is a line if it is not empty.
 */
#ifndef SEARCH_MATCHER_H
#define SEARCH_MATCHER_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "search/pattern.h"

struct matcher;

/* Pattern and token live as long; the token may be NULL. ERR_NO_MEMORY. */
int matcher_new(const struct pattern *pattern, const struct cancel *cancel,
                struct matcher **out_matcher);
void matcher_free(struct matcher *matcher);

static inline void cleanup_matcher_(struct matcher **matcher)
{
    matcher_free(*matcher);
}
#define cleanup_matcher cleanup_with(cleanup_matcher_)

struct matcher_line {
    bool is_found;
    size_t start, end; /* of the line, without its newline */
    size_t match_start, match_end;
};

/*
 * The first matching line at or behind `from`, which is a line's start or the
 * text's length; the next search begins at end + 1, if that is not behind the
 * text.
 *
 * ERR_PATTERN_COST when the pattern takes too many steps on a line, ERR_TOO_LARGE
 * when a line is longer than the regex engine may see, and what the token says:
 * it is looked at every MiB, and more often where the engine works.
 */
int matcher_next(struct matcher *matcher, struct str text, size_t from,
                 struct matcher_line *out_line);

/* How many lines match, as `rg -c` counts. */
int matcher_count(struct matcher *matcher, struct str text, size_t *out_count);

#endif
