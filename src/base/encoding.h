/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that is not UTF-8: UTF-16 with a byte order mark or without, Latin-1 and Windows-1252. Tools
 * read it as UTF-8 and say which encoding the file has.
 */
#ifndef BASE_ENCODING_H
#define BASE_ENCODING_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

enum { ENCODING_LOOK_BYTES = 8 << 10 }; /* a NUL in there means that it is no text, or UTF-16 */

enum encoding {
    ENCODING_BINARY, /* no text */
    ENCODING_UTF_8,
    ENCODING_UTF_16LE, /* with a byte order mark */
    ENCODING_UTF_16BE,
    ENCODING_UTF_16LE_BARE, /* without */
    ENCODING_UTF_16BE_BARE,
    ENCODING_LATIN_1,
    ENCODING_WINDOWS_1252,
};

/* "utf-16le", "windows-1252" …, as in HTML. */
const char *encoding_name(enum encoding encoding);

/* UTF-16, with its mark or without */
static inline bool encoding_is_wide(enum encoding encoding)
{
    return encoding >= ENCODING_UTF_16LE && encoding <= ENCODING_UTF_16BE_BARE;
}

/* The same for what does not begin the file. */
static inline enum encoding encoding_without_mark(enum encoding encoding)
{
    return encoding == ENCODING_UTF_16LE   ? ENCODING_UTF_16LE_BARE
           : encoding == ENCODING_UTF_16BE ? ENCODING_UTF_16BE_BARE
                                           : encoding;
}

/*
 * By the beginning of a file, or by all of it: Latin-1 and Windows-1252 are what has no control
 * characters and is mostly ASCII. UTF-16 without a mark is mostly ASCII or Latin-1 too, all of it
 * characters of text, and at least four. With `is_whole` false, the last character may be cut.
 */
enum encoding encoding_guess(struct str bytes, bool is_whole);

/* Whether it begins with a byte order mark of UTF-16. */
bool encoding_has_mark(struct str bytes);

/*
 * Whether bytes that are not UTF-8 are so for the greater part: then it is damaged, not another
 * encoding.
 */
bool encoding_is_damaged_utf_8(struct str bytes);

/* Whether these bytes are the beginning of a character of UTF-8. */
bool encoding_is_cut(struct str bytes);

/* Decodes a file piece by piece. */
struct decoder {
    enum encoding encoding; /* set it, and the rest to 0 */
    /* Of UTF-16, what the next piece goes on with: */
    bool has_begun;
    bool has_first;
    unsigned char first_byte; /* of two */
    uint32_t high;            /* of a pair of surrogates */
};

/* Appends UTF-8, without the byte order mark of UTF-16; U+FFFD for a lone surrogate. */
int encoding_decode(struct decoder *decoder, struct str bytes, struct buf *out);

/*
 * For text that is UTF-8 only in part: appends UTF-8 as it is, and each other byte as Windows-1252
 * has it. With `is_end` false, it leaves a character that is cut at the end. *out_taken is how many
 * bytes it took.
 */
int encoding_decode_mixed(struct str bytes, bool is_end, struct buf *out, size_t *out_taken);

/*
 * The reverse, with a byte order mark if the encoding has one. ERR_INVALID_ARGUMENT if the encoding
 * lacks a character, which is then *out_missing.
 */
int encoding_encode(enum encoding encoding, struct str text, struct buf *out,
                    uint32_t *out_missing);

#endif
