/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines for a terminal, wrapped to its width. Untrusted text is escaped, so that it cannot control
 * the terminal, and shown with a margin, so that it cannot imitate our own text:
 *
 *     | /srv/me/a very long name that goes
 *     : on in the next line
 *
 * The position on the screen is left to others.
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
    PAGE_WARNING, /* something will be deleted */
    PAGE_ADDED,
    PAGE_REMOVED,
    PAGE_FAINT,
    PAGE_CHOSEN,
    PAGE_STYLES
};

/* How untrusted text is shown. */
enum page_text {
    PAGE_LINE,  /* one line, wrapped; line breaks are escaped */
    PAGE_LINES, /* as many lines as it has */
    PAGE_NAME,  /* one line in quotes, with the middle of a long one omitted */
    PAGE_DIFF,  /* lines, styled by their first character */
};

enum {
    PAGE_MIN_COLUMNS = 16,
    PAGE_MAX_COLUMNS = 512,
    PAGE_MAX_BYTES = 16 << 20,
    PAGE_NAME_BYTES = 600, /* limit of a name; half from each end */
};

struct console_page {
    struct buf text; /* each line: a style byte, the text, '\n' */
    size_t lines;
    size_t columns;
    bool is_utf8; /* the terminal can show more than ASCII */
    int error;    /* first error: the page is incomplete */
};

void page_init(struct console_page *page, size_t columns, bool is_utf8);
void page_done(struct console_page *page);

/* Adds our own text, without a margin; ASCII. */
void page_say(struct console_page *page, enum page_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds untrusted text. */
void page_quote(struct console_page *page, enum page_style style, struct str text,
                enum page_text kind);

/* Takes the next line off *rest, which is page->text at first; false at the end. */
bool page_next(struct str *rest, enum page_style *out_style, struct str *out_line);

/* Quotes untrusted text inside a sentence of ours, like PAGE_NAME, in at most `columns` columns. */
int page_name(struct buf *out, struct str text, size_t columns, bool is_utf8);

#endif
