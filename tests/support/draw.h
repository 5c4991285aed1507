/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pseudo-random numbers and texts for generated tests, determined by the seed, which must not be 0.
 */
#ifndef TESTS_SUPPORT_DRAW_H
#define TESTS_SUPPORT_DRAW_H

#include <stdint.h>
#include <string.h>

#include "base/str.h"

static uint64_t draw_seed;

/* xorshift64 */
static inline size_t draw(size_t below)
{
    draw_seed ^= draw_seed << 13;
    draw_seed ^= draw_seed >> 7;
    draw_seed ^= draw_seed << 17;
    return (size_t)(draw_seed % below);
}

/* Concatenates up to max_pieces pieces; `text` must have room for the longest result. */
static inline struct str draw_text(char *text, size_t max_pieces, const char *const *pieces,
                                   size_t count)
{
    size_t left = 1 + draw(max_pieces);
    size_t len = 0;

    while (left-- > 0) {
        struct str piece = str_from(pieces[draw(count)]);

        memcpy(text + len, piece.ptr, piece.len);
        len += piece.len;
    }
    return (struct str){text, len};
}

#endif
