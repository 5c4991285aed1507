/* SPDX-License-Identifier: Apache-2.0 */
/* A set of byte values, one bit each. */
#ifndef SEARCH_BYTESET_H
#define SEARCH_BYTESET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct byteset {
    uint64_t words[4];
};

static inline bool byteset_has(const struct byteset *set, unsigned byte)
{
    return (set->words[byte / 64] >> byte % 64 & 1) != 0;
}

static inline void byteset_add(struct byteset *set, unsigned byte)
{
    set->words[byte / 64] |= UINT64_C(1) << byte % 64;
}

static inline void byteset_remove(struct byteset *set, unsigned byte)
{
    set->words[byte / 64] &= ~(UINT64_C(1) << byte % 64);
}

static inline void byteset_add_range(struct byteset *set, unsigned first, unsigned last)
{
    for (unsigned byte = first; byte <= last; byte++)
        byteset_add(set, byte);
}

static inline bool byteset_eq(const struct byteset *a, const struct byteset *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

#endif
