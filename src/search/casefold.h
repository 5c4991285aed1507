/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other cases of characters beyond ASCII, by asking PCRE2, so that no table of ours can differ
 * from its own.
 */
#ifndef SEARCH_CASEFOLD_H
#define SEARCH_CASEFOLD_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CASEFOLD_MAX_CHARACTERS = 48, /* different ones in a pattern */
    CASEFOLD_MAX_CASES = 8,       /* of one character; PCRE2 10.42 knows none with more than four */
};

struct casefold_row {
    uint32_t code_point;
    unsigned count;
    uint32_t cases[CASEFOLD_MAX_CASES]; /* including itself */
};

struct casefold {
    unsigned count;
    bool is_full; /* some characters did not fit: their cases are unknown */
    struct casefold_row rows[CASEFOLD_MAX_CHARACTERS];
};

/* Registers a character to be looked up. */
void casefold_want(struct casefold *table, uint32_t code_point);

/* Looks up all registered ones. Takes less than a millisecond; ERR_NO_MEMORY. */
int casefold_fill(struct casefold *table);

/* NULL if its cases are unknown. */
const struct casefold_row *casefold_get(const struct casefold *table, uint32_t code_point);

#endif
