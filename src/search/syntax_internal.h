/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the two parts of the regex parser: syntax.c for groups, repeats and sequences,
 * syntax_class.c for single characters and classes.
 */
#ifndef SEARCH_SYNTAX_INTERNAL_H
#define SEARCH_SYNTAX_INTERNAL_H

#include "base/utf8.h"
#include "search/syntax.h"

struct syntax_parser {
    struct arena *arena;
    struct str rest;
    bool ignores_case;
    bool is_complete;
    unsigned nesting;
};

static inline struct syntax_node *syntax_new(struct arena *arena, enum syntax_kind kind)
{
    struct syntax_node *node = arena_new(arena, struct syntax_node);

    if (node != NULL)
        *node = (struct syntax_node){.kind = kind};
    return node;
}

static inline void syntax_add_below(struct syntax_node *parent, struct syntax_node *child)
{
    if (parent->last == NULL)
        parent->first = child;
    else
        parent->last->next = child;
    parent->last = child;
}

static inline bool syntax_is_at(const struct syntax_parser *parser, char c)
{
    return parser->rest.len > 0 && parser->rest.ptr[0] == c;
}

static inline bool syntax_takes(struct syntax_parser *parser, struct str text)
{
    if (!str_starts_with(parser->rest, text))
        return false;
    parser->rest = str_slice(parser->rest, text.len, parser->rest.len);
    return true;
}

static inline bool syntax_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool syntax_is_letter(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The next character; the text must be valid and not at its end. */
static inline uint32_t syntax_take(struct syntax_parser *parser)
{
    uint32_t code_point;

    utf8_next(&parser->rest, &code_point);
    return code_point;
}

struct syntax_node *syntax_character(struct syntax_parser *parser, uint32_t code_point);
struct syntax_node *syntax_any_character(struct arena *arena);

/* Start after the backslash, after the bracket. Nodes are NULL without memory. */
int syntax_read_escape(struct syntax_parser *parser, struct syntax_node **out_node);
int syntax_read_class(struct syntax_parser *parser, struct syntax_node **out_node);

#endif
