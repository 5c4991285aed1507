/* SPDX-License-Identifier: Apache-2.0 */
#include "base/encoding.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"

enum {
    HIGH_SHARE = 3,     /* at most 1/3 of the bytes are beyond ASCII */
    NARROW_SHARE = 2,   /* over 1/2 of the characters are of Latin-1, if there is no mark */
    BARE_MIN_BYTES = 8, /* less is too little to tell text from numbers */
};

/* Windows-1252 where it is not Latin-1, from 0x80; 0: not defined. */
static const uint16_t windows[32] = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178,
};

const char *encoding_name(enum encoding encoding)
{
    static const char *const names[] = {
        [ENCODING_BINARY] = "binary",          [ENCODING_UTF_8] = "utf-8",
        [ENCODING_UTF_16LE] = "utf-16le",      [ENCODING_UTF_16BE] = "utf-16be",
        [ENCODING_UTF_16LE_BARE] = "utf-16le", [ENCODING_UTF_16BE_BARE] = "utf-16be",
        [ENCODING_LATIN_1] = "iso-8859-1",     [ENCODING_WINDOWS_1252] = "windows-1252",
    };

    return names[encoding];
}

/* ---- guessing ---- */

bool encoding_is_cut(struct str bytes)
{
    unsigned char first = bytes.len > 0 ? (unsigned char)bytes.ptr[0] : 0;
    size_t whole = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;

    if (first < 0xC2 || first > 0xF4 || bytes.len >= whole)
        return false;
    for (size_t i = 1; i < bytes.len; i++)
        if (((unsigned char)bytes.ptr[i] & 0xC0) != 0x80)
            return false;
    return true;
}

static bool is_utf_8(struct str bytes, bool is_whole)
{
    size_t valid = utf8_valid_length(bytes);

    return valid == bytes.len || (!is_whole && encoding_is_cut(str_slice(bytes, valid, bytes.len)));
}

static bool is_high(uint32_t unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low(uint32_t unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

static bool is_little(enum encoding encoding)
{
    return encoding == ENCODING_UTF_16LE || encoding == ENCODING_UTF_16LE_BARE;
}

static uint32_t unit_of(enum encoding encoding, unsigned char first, unsigned char second)
{
    return is_little(encoding) ? first | (uint32_t)second << 8 : second | (uint32_t)first << 8;
}

/* Controls that text has; NUL, the others, DEL and those of Latin-1 are signs of something else. */
static bool is_control(uint32_t code_point)
{
    return code_point < 0x20 ? code_point == 0 || strchr("\t\n\v\f\r\x1b", (int)code_point) == NULL
                             : code_point >= 0x7f && code_point < 0xa0;
}

/*
 * Whether the bytes are text in this UTF-16. Numbers of two or four bytes are not: some unit is 0
 * or half a pair.
 */
static bool is_bare(struct str bytes, enum encoding encoding, bool is_whole)
{
    size_t narrow = 0;
    size_t i;
    bool has_high = false;

    for (i = 0; i + 1 < bytes.len; i += 2) {
        uint32_t unit =
            unit_of(encoding, (unsigned char)bytes.ptr[i], (unsigned char)bytes.ptr[i + 1]);

        /* U+FEFF is the mark, and what the other order has there is no character. */
        if (is_low(unit) != has_high || is_control(unit) || unit >= 0xFFFE || unit == 0xFEFF)
            return false;
        has_high = is_high(unit);
        narrow += unit < 0x100;
    }
    return narrow > i / 2 / NARROW_SHARE && (!is_whole || (i == bytes.len && !has_high));
}

/* It is not text in both orders: what is Latin-1 in one is beyond it in the other. */
static enum encoding guess_bare(struct str bytes, bool is_whole)
{
    if (bytes.len < BARE_MIN_BYTES)
        return ENCODING_BINARY;
    if (is_bare(bytes, ENCODING_UTF_16LE_BARE, is_whole))
        return ENCODING_UTF_16LE_BARE;
    return is_bare(bytes, ENCODING_UTF_16BE_BARE, is_whole) ? ENCODING_UTF_16BE_BARE
                                                            : ENCODING_BINARY;
}

static enum encoding guess_single(struct str bytes)
{
    enum encoding guess = ENCODING_LATIN_1;
    size_t high = 0;

    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];

        if (c == 0 || (c < 0x20 && strchr("\t\n\v\f\r\x1b", c) == NULL) || c == 0x7f)
            return ENCODING_BINARY;
        if (c < 0x80)
            continue;
        high++;
        if (c >= 0xa0)
            continue;
        if (windows[c - 0x80] == 0)
            return ENCODING_BINARY;
        guess = ENCODING_WINDOWS_1252;
    }
    return high > bytes.len / HIGH_SHARE ? ENCODING_BINARY : guess;
}

bool encoding_has_mark(struct str bytes)
{
    return str_starts_with(bytes, STR("\xff\xfe")) || str_starts_with(bytes, STR("\xfe\xff"));
}

enum encoding encoding_guess(struct str bytes, bool is_whole)
{
    if (encoding_has_mark(bytes)) {
        bool is_utf_32 = bytes.len >= 4 && memcmp(bytes.ptr, "\xff\xfe\0\0", 4) == 0;

        if (is_utf_32 || (is_whole && bytes.len % 2 != 0))
            return ENCODING_BINARY;
        return (unsigned char)bytes.ptr[0] == 0xff ? ENCODING_UTF_16LE : ENCODING_UTF_16BE;
    }
    if (str_has_nul(str_slice(bytes, 0, ENCODING_LOOK_BYTES)))
        return guess_bare(bytes, is_whole);
    return is_utf_8(bytes, is_whole) ? ENCODING_UTF_8 : guess_single(bytes);
}

bool encoding_is_damaged_utf_8(struct str bytes)
{
    size_t characters = 0;
    size_t others = 0;

    while (bytes.len > 0) {
        uint32_t code_point;

        if (!utf8_next(&bytes, &code_point))
            others++;
        else if (code_point >= 0x80)
            characters++;
    }
    return others > 0 && characters >= others;
}

/* ---- decoding ---- */

static int put_code_point(struct buf *out, uint32_t code_point)
{
    char bytes[4];
    size_t len = utf8_encode(code_point, bytes);

    return buf_append_str(out, (struct str){bytes, len});
}

static int take_unit(struct decoder *decoder, uint32_t unit, struct buf *out)
{
    uint32_t before = decoder->high;
    bool is_mark = unit == 0xFEFF && !decoder->has_begun &&
                   encoding_without_mark(decoder->encoding) != decoder->encoding;
    int r = 0;

    decoder->has_begun = true;
    decoder->high = 0;
    if (is_mark)
        return 0;
    if (before != 0 && is_low(unit))
        return put_code_point(out, 0x10000 + ((before - 0xD800) << 10) + (unit - 0xDC00));
    if (before != 0)
        r = put_code_point(out, 0xFFFD);
    if (r == 0 && is_high(unit))
        decoder->high = unit;
    else if (r == 0)
        r = put_code_point(out, is_low(unit) ? 0xFFFD : unit);
    return r;
}

static int decode_utf_16(struct decoder *decoder, struct str bytes, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < bytes.len && r == 0; i++) {
        unsigned char first = decoder->first_byte;
        unsigned char second = (unsigned char)bytes.ptr[i];

        decoder->has_first = !decoder->has_first;
        if (decoder->has_first)
            decoder->first_byte = second;
        else
            r = take_unit(decoder, unit_of(decoder->encoding, first, second), out);
    }
    return r;
}

/* A byte of Latin-1 or Windows-1252. */
static int put_single_byte(struct buf *out, unsigned char byte)
{
    bool is_of_windows = byte >= 0x80 && byte < 0xa0 && windows[byte - 0x80] != 0;

    return put_code_point(out, is_of_windows ? windows[byte - 0x80] : byte);
}

int encoding_decode(struct decoder *decoder, struct str bytes, struct buf *out)
{
    int r = 0;

    switch (decoder->encoding) {
    case ENCODING_BINARY:
    case ENCODING_UTF_8:
        return buf_append_str(out, bytes);
    case ENCODING_UTF_16LE:
    case ENCODING_UTF_16BE:
    case ENCODING_UTF_16LE_BARE:
    case ENCODING_UTF_16BE_BARE:
        return decode_utf_16(decoder, bytes, out);
    case ENCODING_LATIN_1:
    case ENCODING_WINDOWS_1252:
        break;
    }
    for (size_t i = 0; i < bytes.len && r == 0; i++)
        r = put_single_byte(out, (unsigned char)bytes.ptr[i]);
    return r;
}

int encoding_decode_mixed(struct str bytes, bool is_end, struct buf *out, size_t *out_taken)
{
    size_t at = 0;
    int r = 0;

    while (r == 0 && at < bytes.len) {
        struct str rest = str_slice(bytes, at, bytes.len);
        size_t valid = utf8_valid_length(rest);

        r = buf_append_str(out, str_slice(rest, 0, valid));
        at += valid;
        if (r < 0 || at == bytes.len ||
            (!is_end && encoding_is_cut(str_slice(rest, valid, rest.len))))
            break;
        r = put_single_byte(out, (unsigned char)bytes.ptr[at++]);
    }
    *out_taken = at;
    return r;
}

/* ---- encoding ---- */

static int put_unit(enum encoding encoding, struct buf *out, uint32_t unit)
{
    const char low = (char)(unit & 0xff);
    const char high = (char)(unit >> 8);
    const char bytes[] = {is_little(encoding) ? low : high, is_little(encoding) ? high : low};

    return buf_append_str(out, (struct str){bytes, 2});
}

static int put_utf_16(enum encoding encoding, struct buf *out, uint32_t code_point)
{
    int r;

    if (code_point < 0x10000)
        return put_unit(encoding, out, code_point);
    r = put_unit(encoding, out, 0xD800 + ((code_point - 0x10000) >> 10));
    return r == 0 ? put_unit(encoding, out, 0xDC00 + ((code_point - 0x10000) & 0x3ff)) : r;
}

static int put_single(enum encoding encoding, struct buf *out, uint32_t code_point)
{
    if (code_point < 0x80 || (code_point >= 0xa0 && code_point <= 0xff))
        return buf_append_char(out, (char)code_point);
    for (size_t i = 0; encoding == ENCODING_WINDOWS_1252 && i < array_size(windows); i++)
        if (windows[i] == code_point)
            return buf_append_char(out, (char)(0x80 + i));
    return ERR_INVALID_ARGUMENT;
}

int encoding_encode(enum encoding encoding, struct str text, struct buf *out, uint32_t *out_missing)
{
    bool is_wide = encoding_is_wide(encoding);
    bool has_mark = encoding_without_mark(encoding) != encoding;
    int r = has_mark ? put_unit(encoding, out, 0xFEFF) : 0;

    if (!is_wide && encoding != ENCODING_LATIN_1 && encoding != ENCODING_WINDOWS_1252)
        return buf_append_str(out, text);
    while (text.len > 0 && r == 0) {
        (void)utf8_next(&text, out_missing);
        r = is_wide ? put_utf_16(encoding, out, *out_missing)
                    : put_single(encoding, out, *out_missing);
    }
    return r;
}
