/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frequencies of bytes in source text, from a table that was counted once. It decides what is
 * searched for first, and never what is found.
 */
#ifndef SEARCH_RARITY_H
#define SEARCH_RARITY_H

#include "search/byteset.h"

/* Number of neighbouring bytes compared at once. */
enum { RARITY_WIDTH = 4 };

/* Per hundred thousand bytes; at least 1. */
unsigned rarity_of_byte(unsigned char byte);

/* The fraction of bytes that are in the set, from 0 to 1. */
double rarity_of_set(const struct byteset *set);

/* Probability that a byte of a set follows another one: bytes of a kind come in groups. */
static inline double rarity_again(double one)
{
    return one > 0.5 ? one : 0.5;
}

/* Approximate cost of searching for a run, in nanoseconds per byte of text. */
double rarity_of_run(const struct byteset *set, unsigned length);

#endif
