/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every match of a pattern must contain: one of a few short sequences of byte sets, or a run
 * of bytes of one set. The one that is rarest in source text is chosen. A line without it need not
 * be passed to the regex engine.
 *
 * A line's start and end are in a sequence as the newline before or after it, so the first line of
 * a text, and the last if it has no newline, must always be checked if `has_line_start` or
 * `has_line_end` is set.
 */
#ifndef SEARCH_WINDOW_H
#define SEARCH_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/byteset.h"
#include "search/syntax.h"

enum {
    WINDOW_MAX_LENGTH = 24,
    WINDOW_MAX_SEQUENCES = 12, /* from the pattern */
    WINDOW_MAX_RARE_CASES = 4, /* added to them; see window.c */
    WINDOW_MAX_SETS = 96,
    WINDOW_MAX_RUN = 64,
};

struct window_sequence {
    uint8_t length;
    bool is_exact;                   /* its bytes are exactly what the sets describe */
    bool starts_line;                /* its first set is the newline before the line */
    bool ends_line;                  /* its last set is the newline after the line */
    uint8_t rare_cases;              /* one bit each */
    uint8_t sets[WINDOW_MAX_LENGTH]; /* by number */
};

enum window_kind {
    WINDOW_NONE, /* any line may match */
    WINDOW_SEQUENCES,
    WINDOW_RUN,
};

struct window {
    enum window_kind kind;
    bool is_whole; /* a line with an exact sequence matches, without the regex engine */
    bool has_line_start;
    bool has_line_end;
    unsigned count;
    struct window_sequence sequences[WINDOW_MAX_SEQUENCES + WINDOW_MAX_RARE_CASES];
    unsigned set_count;
    struct byteset sets[WINDOW_MAX_SETS];
    struct byteset run_set;
    unsigned run_length;
};

/* Can only fail with ERR_NO_MEMORY. */
int window_find(const struct syntax_tree *tree, struct window *out_window);

#endif
