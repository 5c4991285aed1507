/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a passage in a text and replaces it. A passage that is nowhere exactly is looked for with
 * other line ends, then with other whitespace. What is inserted gets the line ends of the place,
 * and the indentation if only that differed.
 */
#ifndef FILES_PASSAGE_H
#define FILES_PASSAGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

enum passage_kind {
    PASSAGE_EXACT,
    PASSAGE_LINE_ENDS, /* CR LF in one, LF in the other */
    PASSAGE_BLANKS,    /* other runs of whitespace */
};

enum {
    PASSAGE_HINT_BYTES = 160,
    PASSAGE_MAX_LINES = 8, /* that are told */
};

struct passage {
    /* What passage_find() found: */
    size_t count;
    enum passage_kind kind;
    size_t lines[PASSAGE_MAX_LINES]; /* where matches begin, each once */
    size_t line_count;
    bool has_more_lines;
    /* Private: */
    struct str text, old, new;
    struct buf small_text, small_old; /* without what the kind ignores */
    struct buf indented;              /* the new text, like the match */
    struct buf with_lf, with_crlf;    /* the new text, with these line ends */
    bool has_lines;                   /* it has line ends */
};

/*
 * Both texts must outlive it. Returns 0 even if nothing is found; ERR_NO_MEMORY. Call
 * passage_done() in any case.
 */
int passage_find(struct passage *passage, struct str text, struct str old);
void passage_done(struct passage *passage);
#define cleanup_passage cleanup_with(passage_done)

/* After passage_find(): sets the replacement of every match, and tells the size of the result. */
int passage_replace_with(struct passage *passage, struct str new, uint64_t *out_size);
/* Appends the text with every match replaced. */
int passage_append_replaced(const struct passage *passage, struct buf *out);

/* "lines 4, 8, 20", "line 4" */
void passage_name_lines(const struct passage *passage, char out_text[PASSAGE_HINT_BYTES]);

#endif
