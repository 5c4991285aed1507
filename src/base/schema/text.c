/* SPDX-License-Identifier: Apache-2.0 */
#include "base/schema/internal.h"

#include <assert.h>
#include <stdio.h>

#include "base/printable.h"

enum {
    LITERAL_BYTES = 40, /* of one string or number inside a message */
    CHOICE_BYTES = 64,  /* the same with quotes and dots */
};

void schema_text_init(struct schema_text *text, char *bytes, size_t size)
{
    *text = (struct schema_text){.bytes = bytes, .size = size};
    bytes[0] = '\0';
}

bool schema_text_add(struct schema_text *text, struct str piece)
{
    if (piece.len >= text->size - text->len)
        return false;
    if (piece.len > 0)
        memcpy(text->bytes + text->len, piece.ptr, piece.len);
    text->len += piece.len;
    text->bytes[text->len] = '\0';
    return true;
}

static void add_printable(struct schema_text *text, struct str piece, size_t max_bytes,
                          unsigned rule)
{
    size_t room = text->size - text->len;
    char printed[SCHEMA_TEXT_PIECE_BYTES + PRINTABLE_CUT_BYTES];
    size_t len;

    if (room <= PRINTABLE_CUT_BYTES)
        return;
    if (max_bytes > room - PRINTABLE_CUT_BYTES)
        max_bytes = room - PRINTABLE_CUT_BYTES;
    assert(max_bytes <= SCHEMA_TEXT_PIECE_BYTES);
    len = printable_cut(piece, rule, printed, max_bytes);
    schema_text_add(text, (struct str){printed, len});
}

void schema_text_add_printable(struct schema_text *text, struct str piece, size_t max_bytes)
{
    add_printable(text, piece, max_bytes, PRINTABLE_LINE);
}

void schema_text_add_quoted(struct schema_text *text, struct str piece, size_t max_bytes)
{
    schema_text_add(text, STR("\""));
    add_printable(text, piece, max_bytes, PRINTABLE_QUOTED);
    schema_text_add(text, STR("\""));
}

bool schema_text_is_plain(struct str piece)
{
    for (size_t i = 0; i < piece.len; i++)
        if (memchr(" .,:[]{}\"'`\\", piece.ptr[i], 12) != NULL)
            return false;
    return piece.len > 0 && printable_is_plain(piece, PRINTABLE_LINE);
}

void schema_text_add_literal(struct schema_text *text, const struct json_value *literal)
{
    char number[32];

    switch ((enum json_type)literal->type) {
    case JSON_NULL:
        schema_text_add(text, STR("null"));
        break;
    case JSON_BOOL:
        schema_text_add(text, literal->integer != 0 ? STR("true") : STR("false"));
        break;
    case JSON_INT:
        snprintf(number, sizeof(number), "%lld", (long long)literal->integer);
        schema_text_add(text, str_from(number));
        break;
    case JSON_NUMBER:
        schema_text_add_printable(text, json_str(literal), LITERAL_BYTES);
        break;
    case JSON_STRING:
        schema_text_add_quoted(text, json_str(literal), LITERAL_BYTES);
        break;
    case JSON_ARRAY:
        schema_text_add(text, literal->size > 0 ? STR("[...]") : STR("[]"));
        break;
    case JSON_OBJECT:
        schema_text_add(text, literal->size > 0 ? STR("{...}") : STR("{}"));
        break;
    }
}

/* After the last choice there is always room for the mark that more follow. */
static void add_choice(struct schema_text *text, struct str choice)
{
    static const struct str more = STR_LITERAL(", ...");
    struct str separator = text->len > 0 ? STR(", ") : STR_EMPTY;

    if (str_ends_with((struct str){text->bytes, text->len}, more))
        return;
    if (separator.len + choice.len + more.len >= text->size - text->len) {
        schema_text_add(text, more);
        return;
    }
    schema_text_add(text, separator);
    schema_text_add(text, choice);
}

static bool is_bare(struct str name)
{
    return schema_text_is_plain(name) && !str_eq_c(name, "true") && !str_eq_c(name, "false") &&
           !str_eq_c(name, "null") && name.ptr[0] != '-' &&
           !(name.ptr[0] >= '0' && name.ptr[0] <= '9');
}

void schema_text_add_choice_name(struct schema_text *text, struct str name)
{
    char room[CHOICE_BYTES];
    struct schema_text choice;

    schema_text_init(&choice, room, sizeof(room));
    if (is_bare(name))
        schema_text_add_printable(&choice, name, LITERAL_BYTES);
    else
        schema_text_add_quoted(&choice, name, LITERAL_BYTES);
    add_choice(text, (struct str){choice.bytes, choice.len});
}

void schema_text_add_choice(struct schema_text *text, const struct json_value *literal)
{
    char room[CHOICE_BYTES];
    struct schema_text choice;

    if (literal->type == JSON_STRING) {
        schema_text_add_choice_name(text, json_str(literal));
        return;
    }
    schema_text_init(&choice, room, sizeof(room));
    schema_text_add_literal(&choice, literal);
    add_choice(text, (struct str){choice.bytes, choice.len});
}
