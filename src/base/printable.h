/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted text on its way to a person: the one place that decides what may reach a terminal, a
 * log or a message as it is.
 *
 * Never raw, under any rule: C0 and C1 controls (ESC too), characters without a shape, marks that
 * reorder text, bytes that are no UTF-8. Written as `\n`, `\r`, `\t`, `\x1b` for a byte below 0x80
 * or one that is no UTF-8, `\u{202e}` for a character. The output is valid UTF-8 on one line.
 *
 * | for                                           | rule                                  |
 * |-----------------------------------------------|---------------------------------------|
 * | a name, a command, an error; a log's message  | PRINTABLE_LINE                        |
 * | the same between quotes; a field of a log     | PRINTABLE_QUOTED                      |
 * | a line of text that somebody decides by       | PRINTABLE_TABS                        |
 * | a line of the user's own file, as asked for   | PRINTABLE_TABS | PRINTABLE_BLANKS     |
 * | a terminal without UTF-8                      | ... | PRINTABLE_ASCII                 |
 * | a JSON document that stays one                | PRINTABLE_JSON                        |
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum {
    PRINTABLE_LINE = 0,
    PRINTABLE_TABS = 1 << 0,   /* tabs stay */
    PRINTABLE_BLANKS = 1 << 1, /* what looks like a space and is none stays */
    PRINTABLE_QUOTED = 1 << 2, /* quotes and backslashes are escaped, too */
    PRINTABLE_ASCII = 1 << 3,  /* nothing beyond ASCII stays */
    PRINTABLE_JSON = 1 << 4,   /* escapes as JSON has them: \u001b, and two for what is beyond */
};

enum {
    PRINTABLE_BYTES = 16,        /* of one character with its NUL */
    PRINTABLE_BLANKS_BYTES = 32, /* of a row of blanks, likewise */
    PRINTABLE_CUT_BYTES = 4,     /* "..." and a NUL */
    PRINTABLE_MOST_BLANKS = 64,  /* in a row: more could push the rest out of sight */
};

/* Takes one character off *text, which is not empty. Returns the length of what shows it. */
size_t printable_next(struct str *text, unsigned rule, char out[PRINTABLE_BYTES]);

/* True if all of it would come out as it is. */
bool printable_is_plain(struct str text, unsigned rule);

int printable_append(struct buf *out, struct str text, unsigned rule);

/*
 * Into an array of max_bytes + PRINTABLE_CUT_BYTES. What takes more than max_bytes is cut between
 * characters and ends in "...". Returns the length; there is always a NUL behind it.
 */
size_t printable_cut(struct str text, unsigned rule, char *out, size_t max_bytes);

/*
 * What the rule would escape is replaced by `mark` instead, one for a character: for text that
 * another program reads.
 */
int printable_replace(struct buf *out, struct str text, unsigned rule, struct str mark);

/*
 * Takes a row of more than PRINTABLE_MOST_BLANKS spaces (and tabs) off *text and writes its length
 * as `\s{70}`; otherwise takes nothing and returns 0.
 */
size_t printable_blanks(struct str *text, bool takes_tabs, char out[PRINTABLE_BLANKS_BYTES]);

#endif
