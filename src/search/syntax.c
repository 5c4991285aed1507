/* SPDX-License-Identifier: Apache-2.0 */
#include "search/syntax.h"

#include "search/syntax_internal.h"

enum {
    MOST_REPEATS = 65535,
    MOST_REPEATS_OF_REPEATS = 4, /* a{2}{3}: each is a level of the tree */
};

static int parse_either(struct syntax_parser *parser, struct syntax_node **out_node);

/* ---- groups ---- */

/* Letters up to ')' or ':'; only those that affect nothing but case. */
static int parse_flags(struct syntax_parser *parser, bool *out_has_group)
{
    bool is_on = true;

    while (parser->rest.len > 0) {
        switch (syntax_take(parser)) {
        case 'i':
            parser->ignores_case = is_on;
            break;
        case 'm':
        case 's':
            break;
        case '-':
            if (!is_on)
                return ERR_UNSUPPORTED;
            is_on = false;
            break;
        case ':':
            *out_has_group = true;
            return 0;
        case ')':
            *out_has_group = false;
            return 0;
        default:
            return ERR_UNSUPPORTED;
        }
    }
    return ERR_UNSUPPORTED;
}

static int take_name(struct syntax_parser *parser, char end)
{
    while (parser->rest.len > 0) {
        uint32_t c = syntax_take(parser);

        if (c == (unsigned char)end)
            return 0;
    }
    return ERR_UNSUPPORTED;
}

enum group_kind { GROUP_PLAIN, GROUP_LOOK, GROUP_FLAGS_ONLY };

/* Parses what is between the parenthesis and its content. */
static int parse_group_head(struct syntax_parser *parser, enum group_kind *out_kind)
{
    bool has_group;
    int r;

    *out_kind = GROUP_PLAIN;
    if (syntax_is_at(parser, '*'))
        return ERR_UNSUPPORTED;
    if (!syntax_takes(parser, STR("?")) || syntax_takes(parser, STR(":")))
        return 0;
    if (syntax_takes(parser, STR("=")) || syntax_takes(parser, STR("!")) ||
        syntax_takes(parser, STR("<=")) || syntax_takes(parser, STR("<!"))) {
        *out_kind = GROUP_LOOK;
        return 0;
    }
    if (syntax_takes(parser, STR(">"))) {
        /* An atomic group does not backtrack. */
        parser->is_complete = false;
        return 0;
    }
    if (syntax_takes(parser, STR("P<")) || syntax_takes(parser, STR("<")))
        return take_name(parser, '>');
    r = parse_flags(parser, &has_group);
    if (r == 0 && !has_group)
        *out_kind = GROUP_FLAGS_ONLY;
    return r;
}

/* Starts after its parenthesis. No node for a group that only sets flags. */
static int parse_group(struct syntax_parser *parser, struct syntax_node **out_node)
{
    bool ignored_case = parser->ignores_case;
    enum group_kind kind;
    int r = parse_group_head(parser, &kind);

    if (r < 0)
        return r;
    if (kind == GROUP_FLAGS_ONLY) {
        *out_node = NULL;
        return 0;
    }
    if (++parser->nesting > SYNTAX_MAX_NESTING)
        return ERR_UNSUPPORTED;
    r = parse_either(parser, out_node);
    if (r < 0 || !syntax_takes(parser, STR(")")))
        return r < 0 ? r : ERR_UNSUPPORTED;
    parser->nesting--;
    parser->ignores_case = ignored_case;
    if (kind == GROUP_LOOK) {
        parser->is_complete = false;
        *out_node = syntax_new(parser->arena, SYNTAX_NOTHING);
        return *out_node != NULL ? 0 : ERR_NO_MEMORY;
    }
    return 0;
}

/* ---- repeats ---- */

static bool take_number(struct syntax_parser *parser, unsigned *out_number)
{
    unsigned number = 0;
    bool has_digits = false;

    while (parser->rest.len > 0 && syntax_is_digit(parser->rest.ptr[0]) && number < MOST_REPEATS) {
        number = number * 10 + (unsigned)(parser->rest.ptr[0] - '0');
        parser->rest = str_slice(parser->rest, 1, parser->rest.len);
        has_digits = true;
    }
    *out_number = number;
    return has_digits && number < MOST_REPEATS;
}

/* {n}, {n,} or {n,m}; other forms differ between versions. */
static int parse_counts(struct syntax_parser *parser, unsigned *out_min, unsigned *out_max)
{
    if (!take_number(parser, out_min))
        return ERR_UNSUPPORTED;
    *out_max = *out_min;
    if (syntax_takes(parser, STR(","))) {
        *out_max = SYNTAX_ENDLESS;
        if (!syntax_is_at(parser, '}') && !take_number(parser, out_max))
            return ERR_UNSUPPORTED;
    }
    return syntax_takes(parser, STR("}")) ? 0 : ERR_UNSUPPORTED;
}

/* A brace that is no count is literal. */
static bool is_count(const struct syntax_parser *parser)
{
    return syntax_is_at(parser, '{') && parser->rest.len > 1 &&
           (syntax_is_digit(parser->rest.ptr[1]) || parser->rest.ptr[1] == ',' ||
            parser->rest.ptr[1] == ' ' || parser->rest.ptr[1] == '\t');
}

static int parse_repeats(struct syntax_parser *parser, struct syntax_node **node)
{
    for (unsigned repeats = 0;; repeats++) {
        struct syntax_node *repeat;
        unsigned min = 0, max = SYNTAX_ENDLESS;

        if (syntax_takes(parser, STR("+"))) {
            min = 1;
        } else if (syntax_takes(parser, STR("?"))) {
            max = 1;
        } else if (is_count(parser)) {
            int r;

            syntax_take(parser);
            r = parse_counts(parser, &min, &max);
            if (r < 0)
                return r;
        } else if (!syntax_takes(parser, STR("*"))) {
            return 0;
        }
        if (syntax_takes(parser, STR("+")))
            parser->is_complete = false;
        else
            syntax_takes(parser, STR("?"));
        if (repeats == MOST_REPEATS_OF_REPEATS)
            return ERR_UNSUPPORTED;
        repeat = syntax_new(parser->arena, SYNTAX_REPEAT);
        if (repeat == NULL)
            return ERR_NO_MEMORY;
        repeat->min = min;
        repeat->max = max;
        syntax_add_below(repeat, *node);
        *node = repeat;
    }
}

/* ---- sequences ---- */

static int parse_atom(struct syntax_parser *parser, struct syntax_node **out_node)
{
    uint32_t c;
    int r = 0;

    if (is_count(parser))
        return ERR_UNSUPPORTED;
    c = syntax_take(parser);
    switch (c) {
    case '^':
        *out_node = syntax_new(parser->arena, SYNTAX_LINE_START);
        break;
    case '$':
        *out_node = syntax_new(parser->arena, SYNTAX_LINE_END);
        break;
    case '.':
        *out_node = syntax_any_character(parser->arena);
        break;
    case '[':
        r = syntax_read_class(parser, out_node);
        break;
    case '\\':
        r = syntax_read_escape(parser, out_node);
        break;
    case '(':
        r = parse_group(parser, out_node);
        /* Flags alone leave no node, and nothing to repeat. */
        if (r == 0 && *out_node == NULL)
            return 0;
        break;
    case '*':
    case '+':
    case '?':
        return ERR_UNSUPPORTED;
    default:
        *out_node = syntax_character(parser, c);
        break;
    }
    if (r == 0 && *out_node == NULL)
        r = ERR_NO_MEMORY;
    return r < 0 ? r : parse_repeats(parser, out_node);
}

static const struct syntax_node *repeated_class(const struct syntax_node *node)
{
    if (node->kind == SYNTAX_REPEAT && node->first->kind == SYNTAX_CLASS)
        return node->first;
    return node->kind == SYNTAX_CLASS ? node : NULL;
}

/* `\d\d\d` is treated as `\d{3}`: more is known about a repeat than about its parts. */
static bool joins_last(struct syntax_node *sequence, const struct syntax_node *node)
{
    struct syntax_node *last = sequence->last;
    const struct syntax_node *before, *now;

    if (last == NULL)
        return false;
    before = repeated_class(last);
    now = repeated_class(node);
    if (before == NULL || now == NULL || last->kind != SYNTAX_REPEAT ||
        before->has_others != now->has_others || !byteset_eq(&before->ascii, &now->ascii))
        return false;
    last->min += node->kind == SYNTAX_REPEAT ? node->min : 1;
    if (node->kind == SYNTAX_REPEAT && node->max == SYNTAX_ENDLESS)
        last->max = SYNTAX_ENDLESS;
    else if (last->max != SYNTAX_ENDLESS)
        last->max += node->kind == SYNTAX_REPEAT ? node->max : 1;
    if (last->max > SYNTAX_ENDLESS)
        last->max = SYNTAX_ENDLESS;
    return true;
}

static int add_to_sequence(struct syntax_parser *parser, struct syntax_node *sequence,
                           struct syntax_node *node)
{
    if (joins_last(sequence, node))
        return 0;
    if (node->kind == SYNTAX_CLASS) {
        struct syntax_node *once = syntax_new(parser->arena, SYNTAX_REPEAT);

        if (once == NULL)
            return ERR_NO_MEMORY;
        once->min = once->max = 1;
        syntax_add_below(once, node);
        node = once;
    }
    syntax_add_below(sequence, node);
    return 0;
}

static int parse_sequence(struct syntax_parser *parser, struct syntax_node **out_node)
{
    struct syntax_node *sequence = syntax_new(parser->arena, SYNTAX_SEQUENCE);

    if (sequence == NULL)
        return ERR_NO_MEMORY;
    while (parser->rest.len > 0 && !syntax_is_at(parser, '|') && !syntax_is_at(parser, ')')) {
        struct syntax_node *node = NULL;
        int r = parse_atom(parser, &node);

        if (r == 0 && node != NULL)
            r = add_to_sequence(parser, sequence, node);
        if (r < 0)
            return r;
    }
    *out_node = sequence;
    return 0;
}

static int parse_either(struct syntax_parser *parser, struct syntax_node **out_node)
{
    struct syntax_node *either = syntax_new(parser->arena, SYNTAX_EITHER);

    if (either == NULL)
        return ERR_NO_MEMORY;
    do {
        struct syntax_node *branch = NULL;
        int r = parse_sequence(parser, &branch);

        if (r < 0)
            return r;
        syntax_add_below(either, branch);
    } while (syntax_takes(parser, STR("|")));
    *out_node = either->first == either->last ? either->first : either;
    return 0;
}

int syntax_parse(struct arena *arena, struct str text, bool ignores_case,
                 struct syntax_tree *out_tree)
{
    struct syntax_parser parser = {
        .arena = arena, .rest = text, .ignores_case = ignores_case, .is_complete = true};
    struct syntax_node *root = NULL;
    int r = parse_either(&parser, &root);

    if (r < 0)
        return r;
    if (parser.rest.len > 0)
        return ERR_UNSUPPORTED;
    *out_tree = (struct syntax_tree){root, parser.is_complete};
    return 0;
}

int syntax_literal(struct arena *arena, struct str text, bool ignores_case,
                   struct syntax_tree *out_tree)
{
    struct syntax_parser parser = {.arena = arena, .rest = text, .ignores_case = ignores_case};
    struct syntax_node *sequence = syntax_new(arena, SYNTAX_SEQUENCE);

    if (sequence == NULL)
        return ERR_NO_MEMORY;
    while (parser.rest.len > 0) {
        struct syntax_node *node = syntax_character(&parser, syntax_take(&parser));

        if (node == NULL)
            return ERR_NO_MEMORY;
        syntax_add_below(sequence, node);
    }
    *out_tree = (struct syntax_tree){sequence, true};
    return 0;
}
