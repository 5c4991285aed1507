/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often bytes are seen in source text, by a table that was counted once. It
 * decides what is searched for first, and never what is found.
 */
#ifndef SEARCH_RARITY_H
#define SEARCH_RARITY_H

#include "search/byteset.h"

/* As many neighbours are compared at once. */
enum { RARITY_WIDTH = 4 };

/* Among a hundred thousand bytes; at least 1. */
unsigned rarity_of_byte(unsigned char byte);

/* The part of all bytes that are in the set, from 0 to 1. */
double rarity_of_set(const struct byteset *set);

/* How often a byte of a set follows one of the same: bytes of a kind stand together. */
static inline double rarity_again(double one)
{
    return one > 0.5 ? one : 0.5;
}

/* What searching for a run costs, in nanoseconds for each byte of text, roughly. */
double rarity_of_run(const struct byteset *set, unsigned length);

#endif
