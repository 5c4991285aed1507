/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escapes untrusted text for people: the one place that decides what may be written raw to a
 * terminal, a log or a message.
 *
 * Never raw, under any rule: C0 and C1 controls (including ESC), invisible characters, marks that
 * reorder text, invalid UTF-8. They are written as `\n`, `\r`, `\t`, `\x1b` for a byte below 0x80
 * or one that is not UTF-8, `\u{202e}` for a character. The output is valid UTF-8 on one line.
 *
 * | for                                           | rule                                  |
 * |-----------------------------------------------|---------------------------------------|
 * | a name, a command, an error; a log's message  | PRINTABLE_LINE                        |
 * | the same between quotes; a field of a log     | PRINTABLE_QUOTED                      |
 * | a line of text that somebody decides by       | PRINTABLE_TABS                        |
 * | a line of the user's own file, as requested   | PRINTABLE_TABS | PRINTABLE_BLANKS     |
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
    PRINTABLE_TABS = 1 << 0,   /* keep tabs */
    PRINTABLE_BLANKS = 1 << 1, /* keep characters that look like a space */
    PRINTABLE_QUOTED = 1 << 2, /* also escape quotes and backslashes */
    PRINTABLE_ASCII = 1 << 3,  /* escape everything beyond ASCII */
    PRINTABLE_JSON = 1 << 4,   /* JSON's escapes: \u001b, and a pair of them beyond U+FFFF */
};

enum {
    PRINTABLE_BYTES = 16,        /* of one character with its NUL */
    PRINTABLE_BLANKS_BYTES = 32, /* of a run of blanks, likewise */
    PRINTABLE_CUT_BYTES = 4,     /* "..." and a NUL */
    PRINTABLE_MOST_BLANKS = 64,  /* in a row: more could push the rest out of sight */
};

/* Takes one character off *text, which must not be empty. Returns the length of its output. */
size_t printable_next(struct str *text, unsigned rule, char out[PRINTABLE_BYTES]);

/* Whether all of it would be unchanged. */
bool printable_is_plain(struct str text, unsigned rule);

int printable_append(struct buf *out, struct str text, unsigned rule);

/*
 * Writes to an array of max_bytes + PRINTABLE_CUT_BYTES. Text longer than max_bytes is cut between
 * characters and ends in "...". Returns the length; the text is always NUL-terminated.
 */
size_t printable_cut(struct str text, unsigned rule, char *out, size_t max_bytes);

/*
 * Replaces what the rule would escape by `mark`, one per character: for text that another program
 * reads.
 */
int printable_replace(struct buf *out, struct str text, unsigned rule, struct str mark);

/*
 * Takes a run of more than PRINTABLE_MOST_BLANKS spaces (and tabs) off *text and writes its length
 * as `\s{70}`; otherwise takes nothing and returns 0.
 */
size_t printable_blanks(struct str *text, bool takes_tabs, char out[PRINTABLE_BLANKS_BYTES]);

#endif
