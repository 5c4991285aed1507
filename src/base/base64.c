/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"

enum { WORD_IN = 6, WORD_OUT = 8 };

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/*
 * Converts eight digits, one per byte, to eight characters at once. Digits are in ranges of the
 * alphabet whose characters are consecutive, so a character is its digit plus an offset that
 * changes where a range begins; all sums fit a byte.
 */
static inline uint64_t to_characters(uint64_t digits)
{
    const uint64_t each = 0x0101010101010101U;
    const uint64_t high = each * 0x80;
    /* The high bit of each byte whose digit is not below the limit, moved to its lowest. */
    uint64_t is_lower = ((digits + each * (0x80 - 26)) & high) >> 7;
    uint64_t is_number = ((digits + each * (0x80 - 52)) & high) >> 7;
    uint64_t is_plus = ((digits + each * (0x80 - 62)) & high) >> 7;
    uint64_t is_slash = ((digits + each * (0x80 - 63)) & high) >> 7;

    /* 'A' = 0 + 65; 'a' = 26 + 71; '0' = 52 - 4; '+' = 62 - 19; '/' = 63 - 16. */
    return digits + each * 65 + is_lower * 6 - is_number * 75 - is_plus * 15 + is_slash * 3;
}

/* Spreads six bytes, in the low part of a big-endian word, to eight digits of six bits. */
static inline uint64_t spread(uint64_t word)
{
    uint64_t digits = (word & 0xFFFFFF000000U) << 8 | (word & 0xFFFFFFU);

    digits = (digits & 0x00FFF00000FFF000U) << 4 | (digits & 0x00000FFF00000FFFU);
    return (digits & 0x0FC00FC00FC00FC0U) << 2 | (digits & 0x003F003F003F003FU);
}

static void encode_rest(const unsigned char *from, size_t left, char *to)
{
    while (left > 0) {
        uint32_t word = (uint32_t)from[0] << 16;

        if (left > 1)
            word |= (uint32_t)from[1] << 8;
        if (left > 2)
            word |= from[2];
        to[0] = alphabet[word >> 18];
        to[1] = alphabet[word >> 12 & 63];
        to[2] = alphabet[word >> 6 & 63];
        to[3] = alphabet[word & 63];
        if (left < 3)
            to[3] = '=';
        if (left < 2)
            to[2] = '=';
        from += 3;
        to += 4;
        left -= left < 3 ? left : 3;
    }
}

int base64_append(struct buf *out, struct str bytes)
{
    const unsigned char *from = (const unsigned char *)bytes.ptr;
    size_t left = bytes.len;
    size_t groups = left / 3 + (left % 3 > 0);
    size_t room;
    char *to;
    int r;

    if (!checked_mul(groups, 4, &room))
        return ERR_TOO_LARGE;
    if (room == 0)
        return 0;
    r = buf_reserve(out, room);
    if (r < 0)
        return r;
    to = out->data + out->len;
    /* A word is read whole, so two bytes more than are used must be there. */
    while (left >= sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, from, sizeof(word));
        word = htobe64(to_characters(spread(be64toh(word) >> 16)));
        memcpy(to, &word, sizeof(word));
        from += WORD_IN;
        to += WORD_OUT;
        left -= WORD_IN;
    }
    encode_rest(from, left, to);
    out->len += room;
    return 0;
}

int base64_append_url(struct buf *out, struct str bytes)
{
    const size_t from = out->len;
    int r = base64_append(out, bytes);

    if (r < 0)
        return r;
    while (out->len > from && out->data[out->len - 1] == '=')
        out->len--;
    for (size_t i = from; i < out->len; i++)
        if (out->data[i] == '+' || out->data[i] == '/')
            out->data[i] = out->data[i] == '+' ? '-' : '_';
    return 0;
}

/* 64 or more if it is no digit. */
static uint32_t digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (uint32_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint32_t)(c - 'a') + 26;
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0') + 52;
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

int base64_decode(struct buf *out, struct str text)
{
    size_t padding = str_ends_with(text, STR("==")) ? 2 : str_ends_with(text, STR("=")) ? 1 : 0;
    size_t start = out->len;
    int r;

    if (text.len % 4 != 0)
        return ERR_INVALID_ARGUMENT;
    r = buf_reserve(out, text.len / 4 * 3);
    if (r < 0)
        return r;
    for (size_t i = 0; i < text.len; i += 4) {
        size_t left = i + 4 == text.len ? 4 - padding : 4;
        uint32_t word = 0;

        for (size_t k = 0; k < 4; k++) {
            uint32_t digit = k < left ? digit_of(text.ptr[i + k]) : 0;

            if (digit >= 64) {
                out->len = start;
                return ERR_INVALID_ARGUMENT;
            }
            word = word << 6 | digit;
        }
        out->data[out->len++] = (char)(word >> 16);
        out->data[out->len++] = (char)(word >> 8);
        out->data[out->len++] = (char)word;
    }
    /* What the padding stands for is no byte, and must not carry bits. */
    for (size_t k = 0; k < padding; k++) {
        if (out->data[--out->len] != 0) {
            out->len = start;
            return ERR_INVALID_ARGUMENT;
        }
    }
    return 0;
}
