/* SPDX-License-Identifier: Apache-2.0 */
#include "search/syntax_internal.h"

/* ---- classes ---- */

static void add_word(struct byteset *set)
{
    byteset_add_range(set, '0', '9');
    byteset_add_range(set, 'A', 'Z');
    byteset_add_range(set, 'a', 'z');
    byteset_add(set, '_');
}

static void add_space(struct byteset *set)
{
    byteset_add_range(set, '\t', '\r');
    byteset_add(set, ' ');
}

static void negate_ascii(struct byteset *set)
{
    set->words[0] = ~set->words[0];
    set->words[1] = ~set->words[1];
}

/* \d \w \s and their opposites. All of them have members beyond ASCII. */
static bool add_shorthand(uint32_t letter, struct byteset *set)
{
    struct byteset named = {{0}};

    switch (letter) {
    case 'd':
    case 'D':
        byteset_add_range(&named, '0', '9');
        break;
    case 'w':
    case 'W':
        add_word(&named);
        break;
    case 's':
    case 'S':
        add_space(&named);
        break;
    default:
        return false;
    }
    if (letter < 'a')
        negate_ascii(&named);
    set->words[0] |= named.words[0];
    set->words[1] |= named.words[1];
    return true;
}

/*
 * Adds both cases of its ASCII letters. Two of them have a third case beyond ASCII: the long s, and
 * the Kelvin sign.
 */
static void ignore_case(struct byteset *ascii, bool *has_others)
{
    for (unsigned c = 'a'; c <= 'z'; c++) {
        unsigned upper = c - 'a' + 'A';

        if (byteset_has(ascii, c) || byteset_has(ascii, upper)) {
            byteset_add(ascii, c);
            byteset_add(ascii, upper);
            *has_others = *has_others || c == 'k' || c == 's';
        }
    }
}

struct syntax_node *syntax_any_character(struct arena *arena)
{
    struct syntax_node *node = syntax_new(arena, SYNTAX_CLASS);

    if (node == NULL)
        return NULL;
    negate_ascii(&node->ascii);
    node->has_others = true;
    return node;
}

/* ---- escapes ---- */

static int parse_hex(struct syntax_parser *parser, uint32_t *out_code_point)
{
    bool has_braces = syntax_takes(parser, STR("{"));
    uint32_t value = 0;
    unsigned digits = 0;

    while (parser->rest.len > 0 && digits < (has_braces ? 6U : 2U)) {
        char c = parser->rest.ptr[0];
        uint32_t lower = (uint32_t)(unsigned char)c | 0x20;

        if (!syntax_is_digit(c) && (lower < 'a' || lower > 'f'))
            break;
        value = value << 4 | (syntax_is_digit(c) ? (uint32_t)(c - '0') : lower - 'a' + 10);
        parser->rest = str_slice(parser->rest, 1, parser->rest.len);
        digits++;
    }
    if (has_braces ? digits == 0 || !syntax_takes(parser, STR("}")) : digits != 2)
        return ERR_UNSUPPORTED;
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return ERR_UNSUPPORTED;
    *out_code_point = value;
    return 0;
}

/* A character written after a backslash; the letter was taken. */
static int escaped_character(struct syntax_parser *parser, uint32_t letter,
                             uint32_t *out_code_point)
{
    switch (letter) {
    case 'a':
        *out_code_point = 0x07;
        return 0;
    case 'e':
        *out_code_point = 0x1B;
        return 0;
    case 'f':
        *out_code_point = '\f';
        return 0;
    case 'n':
        *out_code_point = '\n';
        return 0;
    case 'r':
        *out_code_point = '\r';
        return 0;
    case 't':
        *out_code_point = '\t';
        return 0;
    case 'x':
        return parse_hex(parser, out_code_point);
    default:
        if (syntax_is_letter(letter) || (letter >= '0' && letter <= '9'))
            return ERR_UNSUPPORTED;
        *out_code_point = letter;
        return 0;
    }
}

/* The content of a property is unknown here: any character. */
static int parse_property(struct syntax_parser *parser)
{
    if (syntax_takes(parser, STR("{"))) {
        while (parser->rest.len > 0 && !syntax_is_at(parser, '}'))
            syntax_take(parser);
        return syntax_takes(parser, STR("}")) ? 0 : ERR_UNSUPPORTED;
    }
    if (parser->rest.len == 0 || !syntax_is_letter((unsigned char)parser->rest.ptr[0]))
        return ERR_UNSUPPORTED;
    syntax_take(parser);
    return 0;
}

struct syntax_node *syntax_character(struct syntax_parser *parser, uint32_t code_point)
{
    struct syntax_node *node = syntax_new(parser->arena, SYNTAX_CHARACTER);

    if (node != NULL) {
        node->code_point = code_point;
        node->ignores_case = parser->ignores_case;
    }
    return node;
}

int syntax_read_escape(struct syntax_parser *parser, struct syntax_node **out_node)
{
    uint32_t letter;
    int r;

    if (parser->rest.len == 0)
        return ERR_UNSUPPORTED;
    letter = syntax_take(parser);
    switch (letter) {
    case 'b':
    case 'B':
    case 'A': /* These three match also at invalid bytes, where PCRE2 begins and ends anew. */
    case 'z':
    case 'Z':
        parser->is_complete = false;
        *out_node = syntax_new(parser->arena, SYNTAX_NOTHING);
        return 0;
    case 'p':
    case 'P':
        r = parse_property(parser);
        *out_node = r == 0 ? syntax_any_character(parser->arena) : NULL;
        return r;
    default:
        break;
    }
    /* One digit is always a group; more may be an octal number. */
    if (letter >= '1' && letter <= '9') {
        if (parser->rest.len > 0 && syntax_is_digit(parser->rest.ptr[0]))
            return ERR_UNSUPPORTED;
        parser->is_complete = false;
        *out_node = syntax_new(parser->arena, SYNTAX_ANYTHING);
        return 0;
    }
    {
        struct byteset ascii = {{0}};

        if (add_shorthand(letter, &ascii)) {
            *out_node = syntax_new(parser->arena, SYNTAX_CLASS);
            if (*out_node != NULL) {
                (*out_node)->ascii = ascii;
                (*out_node)->has_others = true;
            }
            return 0;
        }
    }
    r = escaped_character(parser, letter, &letter);
    if (r == 0)
        *out_node = syntax_character(parser, letter);
    return r;
}

/* One end of a range, or a shorthand, which is added to the set at once. */
static int parse_class_item(struct syntax_parser *parser, struct syntax_node *node,
                            uint32_t *out_code_point, bool *out_is_shorthand)
{
    uint32_t letter;

    *out_is_shorthand = false;
    /* [:alpha:] and its like. */
    if (str_starts_with(parser->rest, STR("[:")) || str_starts_with(parser->rest, STR("[.")) ||
        str_starts_with(parser->rest, STR("[=")))
        return ERR_UNSUPPORTED;
    if (parser->rest.len == 0)
        return ERR_UNSUPPORTED;
    letter = syntax_take(parser);
    if (letter != '\\') {
        *out_code_point = letter;
        return 0;
    }
    if (parser->rest.len == 0)
        return ERR_UNSUPPORTED;
    letter = syntax_take(parser);
    if (add_shorthand(letter, &node->ascii)) {
        node->has_others = true;
        *out_is_shorthand = true;
        return 0;
    }
    return escaped_character(parser, letter, out_code_point);
}

static void add_code_points(struct syntax_node *node, uint32_t first, uint32_t last,
                            bool ignores_case)
{
    if (first < 0x80)
        byteset_add_range(&node->ascii, first, last < 0x80 ? last : 0x7F);
    node->has_others = node->has_others || last >= 0x80;
    /* Of those beyond ASCII, two have another case in ASCII. */
    if (ignores_case && first <= SYNTAX_KELVIN && last >= SYNTAX_KELVIN)
        byteset_add(&node->ascii, 'k');
    if (ignores_case && first <= SYNTAX_LONG_S && last >= SYNTAX_LONG_S)
        byteset_add(&node->ascii, 's');
}

static int parse_class_items(struct syntax_parser *parser, struct syntax_node *node)
{
    for (bool is_first = true; is_first || !syntax_is_at(parser, ']'); is_first = false) {
        uint32_t from = 0, to = 0;
        bool is_shorthand;
        int r = parse_class_item(parser, node, &from, &is_shorthand);

        if (r < 0)
            return r;
        if (syntax_is_at(parser, '-') && !str_starts_with(parser->rest, STR("-]"))) {
            if (is_shorthand)
                return ERR_UNSUPPORTED;
            syntax_take(parser);
            r = parse_class_item(parser, node, &to, &is_shorthand);
            if (r < 0 || is_shorthand || to < from)
                return ERR_UNSUPPORTED;
            add_code_points(node, from, to, parser->ignores_case);
        } else if (!is_shorthand) {
            add_code_points(node, from, from, parser->ignores_case);
        }
    }
    syntax_take(parser);
    return 0;
}

/* Starts after its bracket. */
int syntax_read_class(struct syntax_parser *parser, struct syntax_node **out_node)
{
    struct syntax_node *node = syntax_new(parser->arena, SYNTAX_CLASS);
    bool is_negated = syntax_takes(parser, STR("^"));
    int r;

    if (node == NULL)
        return ERR_NO_MEMORY;
    r = parse_class_items(parser, node);
    if (r < 0)
        return r;
    if (parser->ignores_case)
        ignore_case(&node->ascii, &node->has_others);
    if (is_negated) {
        negate_ascii(&node->ascii);
        node->has_others = true;
    }
    *out_node = node;
    return 0;
}
