/* SPDX-License-Identifier: Apache-2.0 */
#include "search/casefold.h"

#include <stdio.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"

enum { STEP = 1024 }; /* code points looked at in one go */

/*
 * Ranges with cased characters: between these are ideographs, Hangul, cuneiform, private use and
 * the like.
 */
static const struct {
    uint32_t first, end;
} cased[] = {
    {0, 0x3000}, {0xA400, 0xAC00}, {0xF800, 0x12000}, {0x16800, 0x17000}, {0x1D000, 0x20000},
};

static void cleanup_code(pcre2_code **code)
{
    pcre2_code_free(*code);
}

static void cleanup_match(pcre2_match_data **match)
{
    pcre2_match_data_free(*match);
}

void casefold_want(struct casefold *table, uint32_t code_point)
{
    if (casefold_get(table, code_point) != NULL)
        return;
    if (table->count == CASEFOLD_MAX_CHARACTERS) {
        table->is_full = true;
        return;
    }
    table->rows[table->count++] = (struct casefold_row){.code_point = code_point};
}

const struct casefold_row *casefold_get(const struct casefold *table, uint32_t code_point)
{
    for (unsigned i = 0; i < table->count; i++)
        if (table->rows[i].code_point == code_point)
            return table->rows[i].count <= CASEFOLD_MAX_CASES ? &table->rows[i] : NULL;
    return NULL;
}

/* (a)|(b)|...: the group that matched tells whose case was found. */
static pcre2_code *compile(const struct casefold *table)
{
    char text[CASEFOLD_MAX_CHARACTERS * sizeof("(\\x{10ffff})|")];
    size_t len = 0;
    PCRE2_SIZE offset;
    int error;

    for (unsigned i = 0; i < table->count; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s(\\x{%x})", i > 0 ? "|" : "",
                                table->rows[i].code_point);
    return pcre2_compile((PCRE2_SPTR)text, len, PCRE2_UTF | PCRE2_CASELESS | PCRE2_NO_UTF_CHECK,
                         &error, &offset, NULL);
}

static size_t encode_step(uint32_t first, char *out_text)
{
    size_t len = 0;

    for (uint32_t c = first; c < first + STEP; c++)
        if (c < 0xD800 || c > 0xDFFF)
            len += utf8_encode(c, out_text + len);
    return len;
}

enum { MAX_FOUND = CASEFOLD_MAX_CHARACTERS * CASEFOLD_MAX_CASES };

struct found {
    uint32_t code_point;
    unsigned group;
};

/* Rows that are cases of each other matched in the group of the first of them. */
static void distribute(struct casefold *table, const struct found *found, unsigned count)
{
    for (unsigned row = 0; row < table->count; row++) {
        struct casefold_row *to = &table->rows[row];
        unsigned group = 0;

        for (unsigned i = 0; i < count; i++)
            if (found[i].code_point == to->code_point)
                group = found[i].group;
        for (unsigned i = 0; i < count; i++) {
            if (found[i].group != group)
                continue;
            if (to->count < CASEFOLD_MAX_CASES)
                to->cases[to->count] = found[i].code_point;
            to->count++;
        }
        /* Not looked up: only itself. */
        if (to->count == 0)
            to->cases[to->count++] = to->code_point;
    }
}

/* Finds matches among the code points from `first` on. */
static void look(const pcre2_code *code, pcre2_match_data *match, uint32_t first,
                 struct found *found, unsigned *count)
{
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(match);
    char text[STEP * 4];
    size_t len = encode_step(first, text);
    size_t at = 0;

    while (at < len && *count < MAX_FOUND) {
        int groups = pcre2_match(code, (PCRE2_SPTR)text, len, at, PCRE2_NO_UTF_CHECK, match, NULL);
        struct str one;

        if (groups < 2)
            return;
        one = (struct str){text + bounds[0], bounds[1] - bounds[0]};
        at = bounds[1];
        utf8_next(&one, &found[*count].code_point);
        found[*count].group = (unsigned)groups - 1;
        *count += 1;
    }
}

int casefold_fill(struct casefold *table)
{
    cleanup_with(cleanup_code) pcre2_code *code = NULL;
    cleanup_with(cleanup_match) pcre2_match_data *match = NULL;
    struct found found[MAX_FOUND];
    unsigned count = 0;

    if (table->count == 0)
        return 0;
    code = compile(table);
    match = code != NULL ? pcre2_match_data_create_from_pattern(code, NULL) : NULL;
    if (match == NULL)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < array_size(cased); i++)
        for (uint32_t first = cased[i].first; first < cased[i].end; first += STEP)
            look(code, match, first, found, &count);
    distribute(table, found, count);
    return 0;
}
