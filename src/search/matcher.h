/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the lines of a text that match a pattern. A matcher is used by one thread; it is created
 * once for many texts, and searching allocates nothing.
 *
 * A text is a block of whole lines. Its last line may lack the newline only at the end of the whole
 * content, since `$` matches there. What follows the last newline is a line if it is not empty.
 */
#ifndef SEARCH_MATCHER_H
#define SEARCH_MATCHER_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "search/pattern.h"

struct matcher;

/* Pattern and token must outlive the matcher; the token may be NULL. ERR_NO_MEMORY. */
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
 * The first matching line at or after `from`, which is a line's start or the text's length; the
 * next search begins at end + 1, unless that is beyond the text.
 *
 * ERR_PATTERN_COST if the pattern takes too many steps on a line, ERR_TOO_LARGE if a line is too
 * long for the regex engine, and the codes of the cancel token, which is checked every MiB, and
 * more often while the engine runs.
 */
int matcher_next(struct matcher *matcher, struct str text, size_t from,
                 struct matcher_line *out_line);

/* Number of matching lines, as `rg -c` counts. */
int matcher_count(struct matcher *matcher, struct str text, size_t *out_count);

#endif
