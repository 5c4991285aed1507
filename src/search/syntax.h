/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a regular expression into a tree, as far as needed to find out which bytes every match
 * must contain. PCRE2 decides what matches: syntax that is unknown here is refused, and the pattern
 * then has no prefilter. The tree never matches less than PCRE2 within a line.
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
    SYNTAX_ENDLESS = UINT16_MAX, /* unlimited `max` of a repeat */
    /* The only characters beyond ASCII with another case in ASCII: k and s. */
    SYNTAX_KELVIN = 0x212A,
    SYNTAX_LONG_S = 0x17F,
};

enum syntax_kind {
    SYNTAX_NOTHING, /* takes no bytes; may have conditions that the tree does not know */
    SYNTAX_LINE_START,
    SYNTAX_LINE_END,
    SYNTAX_CHARACTER,
    SYNTAX_CLASS,    /* one of several characters */
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
    bool has_others;           /* whether it has others */
    unsigned min, max;         /* of a repeat */
    struct syntax_node *first; /* child nodes */
    struct syntax_node *last;
    struct syntax_node *next; /* sibling */
};

struct syntax_tree {
    const struct syntax_node *root;
    /*
     * False if a condition or the order of alternatives is not in the tree, so that it may describe
     * more than what matches.
     */
    bool is_complete;
};

/* The text must be valid UTF-8 and compile. ERR_UNSUPPORTED for unknown syntax. */
int syntax_parse(struct arena *arena, struct str text, bool ignores_case,
                 struct syntax_tree *out_tree);

/* Same for literal text. */
int syntax_literal(struct arena *arena, struct str text, bool ignores_case,
                   struct syntax_tree *out_tree);

#endif
