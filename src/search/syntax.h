/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a regular expression into a tree, as far as needed to find out which
 * bytes every match must contain. What matches is PCRE2's to say: a form that is
 * not known here is refused, and the pattern then goes without a prefilter. What
 * the tree says is never narrower than what PCRE2 matches within a line.
 */
#ifndef SEARCH_SYNTAX_H
#define SEARCH_SYNTAX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "search/byteset.h"

enum {
    SYNTAX_MAX_NESTING = 16,
    SYNTAX_ENDLESS = UINT16_MAX, /* of a repeat's `max` */
    /* The only characters beyond ASCII that have another case in it: k and s. */
    SYNTAX_KELVIN = 0x212A,
    SYNTAX_LONG_S = 0x17F,
};

enum syntax_kind {
    SYNTAX_NOTHING, /* takes no bytes; it may ask for more than the tree knows */
    SYNTAX_LINE_START,
    SYNTAX_LINE_END,
    SYNTAX_CHARACTER,
    SYNTAX_CLASS,    /* one character of several */
    SYNTAX_ANYTHING, /* any number of bytes, also none */
    SYNTAX_SEQUENCE,
    SYNTAX_EITHER,
    SYNTAX_REPEAT,
};

struct syntax_node {
    enum syntax_kind kind;
    bool ignores_case; /* of a character */
    uint32_t code_point;
    struct byteset ascii;      /* of a class: its members below 0x80 */
    bool has_others;           /* and whether it has any above */
    unsigned min, max;         /* of a repeat */
    struct syntax_node *first; /* of those below it */
    struct syntax_node *last;
    struct syntax_node *next; /* beside it */
};

struct syntax_tree {
    const struct syntax_node *root;
    /* False when some condition or order of trying is not in the tree, so that what it describes
     * may be more than what matches. */
    bool is_complete;
};

/* The text is valid UTF-8 and compiles. ERR_UNSUPPORTED when a form is not known. */
int syntax_parse(struct arena *arena, struct str text, bool ignores_case,
                 struct syntax_tree *out_tree);

/* The same for text that stands for itself. */
int syntax_literal(struct arena *arena, struct str text, bool ignores_case,
                   struct syntax_tree *out_tree);

#endif
