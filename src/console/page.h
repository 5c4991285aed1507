/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines for a terminal, wrapped to its width. Text from outside is shown with
 * all that could steer a terminal written out, and behind a gutter, so that it
 * looks like nothing of ours whatever it says:
 *
 *     | /srv/me/a very long name that goes
 *     : on in the next line
 *
 * What is where on the screen is left to others.
 */
#ifndef CONSOLE_PAGE_H
#define CONSOLE_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

enum page_style {
    PAGE_PLAIN,
    PAGE_BOLD,
    PAGE_WARNING, /* something will be gone */
    PAGE_ADDED,
    PAGE_REMOVED,
    PAGE_FAINT,
    PAGE_CHOSEN,
    PAGE_STYLES
};

/* How text from outside is shown. */
enum page_text {
    PAGE_LINE,  /* one line, wrapped; line breaks are written out */
    PAGE_LINES, /* as many lines as it has */
    PAGE_NAME,  /* one line in quotes, the middle of a long one left out */
    PAGE_DIFF,  /* lines, styled by what they begin with */
};

enum {
    PAGE_MIN_COLUMNS = 16,
    PAGE_MAX_COLUMNS = 512,
    PAGE_MAX_BYTES = 16 << 20,
    PAGE_NAME_BYTES = 600, /* of a name, at most; half from each end */
};

struct page {
    struct buf text; /* each line: its style as a byte, what is shown, '\n' */
    size_t lines;
    size_t columns;
    bool is_utf8; /* the terminal shows more than ASCII */
    int error;    /* the first that happened: the page is not whole */
};

void page_init(struct page *page, size_t columns, bool is_utf8);
void page_done(struct page *page);

/* Our own words, without a gutter; ASCII. */
void page_say(struct page *page, enum page_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* From outside. */
void page_quote(struct page *page, enum page_style style, struct str text, enum page_text kind);

/* The next line of *rest, which is page->text at first; false at the end. */
bool page_next(struct str *rest, enum page_style *out_style, struct str *out_line);

/*
 * A text from outside inside a sentence of ours: in quotes, as PAGE_NAME, in at most so many
 * columns.
 */
int page_name(struct buf *out, struct str text, size_t columns, bool is_utf8);

#endif
