/* SPDX-License-Identifier: Apache-2.0 */
/* Hexadecimal digits, and percent-encoding of URLs, which uses them. */
#ifndef BASE_HEX_H
#define BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define HEX_DIGITS "0123456789abcdef"

/* The value of one digit, in either case, or -1. */
static inline int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Whether all are lower-case digits, as we write them. */
static inline bool hex_is_small(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (hex_digit(text.ptr[i]) < 0 || (text.ptr[i] >= 'A' && text.ptr[i] <= 'F'))
            return false;
    return true;
}

/* The byte encoded by the two digits at `at`, or -1 if there are none. */
static inline int hex_byte(struct str text, size_t at)
{
    int high = at < text.len ? hex_digit(text.ptr[at]) : -1;
    int low = text.len - at > 1 && high >= 0 ? hex_digit(text.ptr[at + 1]) : -1;

    return low < 0 ? -1 : high << 4 | low;
}

/*
 * Takes a character off *text, which must not be empty: "%41" is 'A'. -1: two digits are missing.
 */
static inline int hex_take_percent(struct str *text)
{
    bool is_escape = text->ptr[0] == '%';
    int byte = is_escape ? hex_byte(*text, 1) : (unsigned char)text->ptr[0];

    if (byte >= 0)
        *text = str_slice(*text, is_escape ? 3 : 1, text->len);
    return byte;
}

/* Two digits per byte, without a NUL. */
static inline void hex_write(char *out_digits, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        out_digits[2 * i] = HEX_DIGITS[(unsigned char)bytes.ptr[i] >> 4];
        out_digits[2 * i + 1] = HEX_DIGITS[(unsigned char)bytes.ptr[i] & 15];
    }
}

/* Same for a digest or the like, with a NUL: 2 * len + 1 bytes. */
static inline void hex_text(char *out_text, const unsigned char *bytes, size_t len)
{
    hex_write(out_text, (struct str){(const char *)bytes, len});
    out_text[2 * len] = '\0';
}

#endif
