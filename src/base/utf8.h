/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 by the standard: shortest form only, no surrogates, nothing over U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* Length of the valid multi-byte sequence at p, at most `left`; 0 if there is none. */
static inline size_t utf8_sequence(const char *p, size_t left)
{
    const unsigned char *b = (const unsigned char *)p;

#define UTF8_TAIL(i) ((b[i] & 0xC0) == 0x80)
    if (left >= 2 && b[0] >= 0xC2 && b[0] <= 0xDF)
        return UTF8_TAIL(1) ? 2 : 0;
    if (left >= 3 && (b[0] & 0xF0) == 0xE0) {
        /* E0 must not encode what two bytes could, ED must not encode a surrogate. */
        unsigned char low = b[0] == 0xE0 ? 0xA0 : 0x80;
        unsigned char high = b[0] == 0xED ? 0x9F : 0xBF;

        return b[1] >= low && b[1] <= high && UTF8_TAIL(2) ? 3 : 0;
    }
    if (left >= 4 && b[0] >= 0xF0 && b[0] <= 0xF4) {
        unsigned char low = b[0] == 0xF0 ? 0x90 : 0x80;
        unsigned char high = b[0] == 0xF4 ? 0x8F : 0xBF;

        return b[1] >= low && b[1] <= high && UTF8_TAIL(2) && UTF8_TAIL(3) ? 4 : 0;
    }
    return 0;
#undef UTF8_TAIL
}

/* Length of the longest valid prefix; equal to text.len if all of it is valid. */
size_t utf8_valid_length(struct str text);

static inline bool utf8_is_valid(struct str text)
{
    return utf8_valid_length(text) == text.len;
}

bool utf8_is_ascii(struct str text);

/*
 * Takes one code point off *text, which must not be empty. An invalid byte is taken alone and
 * returns false, with U+FFFD.
 */
bool utf8_next(struct str *text, uint32_t *out_code_point);

/*
 * Whether it is visible and does not affect the rest of the line. False for controls, invisible
 * characters and marks that reorder text.
 */
bool utf8_is_printable(uint32_t code_point);

/* Writes 1 to 4 bytes. The code point must be valid and not a surrogate. */
size_t utf8_encode(uint32_t code_point, char out_bytes[4]);

/* Number of code points in valid text. */
size_t utf8_count(struct str text);

/* The longest prefix of at most max_bytes that does not split a character. */
struct str utf8_cut(struct str text, size_t max_bytes);

#endif
