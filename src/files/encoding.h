/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that is not UTF-8: UTF-16 with a byte order mark, Latin-1 and Windows-1252. Tools read it as
 * UTF-8 and say which encoding the file has.
 */
#ifndef FILES_ENCODING_H
#define FILES_ENCODING_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

enum encoding {
    ENCODING_BINARY, /* no text */
    ENCODING_UTF_8,
    ENCODING_UTF_16LE,
    ENCODING_UTF_16BE,
    ENCODING_LATIN_1,
    ENCODING_WINDOWS_1252,
};

/* "utf-16le", "windows-1252" …, as in HTML. */
const char *encoding_name(enum encoding encoding);

/*
 * By the beginning of a file, or by all of it: Latin-1 and Windows-1252 are what has no control
 * characters and is mostly ASCII. With `is_whole` false, the last character may be cut.
 */
enum encoding encoding_guess(struct str bytes, bool is_whole);

/* Whether it begins with a byte order mark of UTF-16. */
bool encoding_has_mark(struct str bytes);

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
 * The reverse, with a byte order mark for UTF-16. ERR_INVALID_ARGUMENT if the encoding lacks a
 * character, which is then *out_missing.
 */
int encoding_encode(enum encoding encoding, struct str text, struct buf *out,
                    uint32_t *out_missing);

#endif
