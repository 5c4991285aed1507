/* SPDX-License-Identifier: Apache-2.0 */
#include "hostfs/contenttype.h"

#include "base/cleanup.h"
#include "base/utf8.h"

struct signature {
    size_t at;
    struct str bytes;
    struct str type;
    struct str second; /* after a gap of four bytes, or empty */
};

/* clang-format off */
static const struct signature signatures[] = {
    {0, STR_LITERAL("\x89PNG\r\n\x1a\n"), STR_LITERAL("image/png"), STR_LITERAL("")},
    {0, STR_LITERAL("\xff\xd8\xff"), STR_LITERAL("image/jpeg"), STR_LITERAL("")},
    {0, STR_LITERAL("GIF87a"), STR_LITERAL("image/gif"), STR_LITERAL("")},
    {0, STR_LITERAL("GIF89a"), STR_LITERAL("image/gif"), STR_LITERAL("")},
    {0, STR_LITERAL("RIFF"), STR_LITERAL("image/webp"), STR_LITERAL("WEBP")},
    {0, STR_LITERAL("RIFF"), STR_LITERAL("audio/wav"), STR_LITERAL("WAVE")},
    {4, STR_LITERAL("ftypavif"), STR_LITERAL("image/avif"), STR_LITERAL("")},
    {4, STR_LITERAL("ftypheic"), STR_LITERAL("image/heic"), STR_LITERAL("")},
    {4, STR_LITERAL("ftyp"), STR_LITERAL("video/mp4"), STR_LITERAL("")},
    {0, STR_LITERAL("%PDF-"), STR_LITERAL("application/pdf"), STR_LITERAL("")},
    {0, STR_LITERAL("PK\x03\x04"), STR_LITERAL("application/zip"), STR_LITERAL("")},
    {0, STR_LITERAL("PK\x05\x06"), STR_LITERAL("application/zip"), STR_LITERAL("")},
    {0, STR_LITERAL("\x1f\x8b"), STR_LITERAL("application/gzip"), STR_LITERAL("")},
    {0, STR_LITERAL("\xfd""7zXZ\0"), STR_LITERAL("application/x-xz"), STR_LITERAL("")},
    {0, STR_LITERAL("\x28\xb5\x2f\xfd"), STR_LITERAL("application/zstd"), STR_LITERAL("")},
    {0, STR_LITERAL("BZh"), STR_LITERAL("application/x-bzip2"), STR_LITERAL("")},
    {257, STR_LITERAL("ustar"), STR_LITERAL("application/x-tar"), STR_LITERAL("")},
    {0, STR_LITERAL("OggS"), STR_LITERAL("application/ogg"), STR_LITERAL("")},
    {0, STR_LITERAL("ID3"), STR_LITERAL("audio/mpeg"), STR_LITERAL("")},
    {0, STR_LITERAL("\0asm"), STR_LITERAL("application/wasm"), STR_LITERAL("")},
    {0, STR_LITERAL("SQLite format 3\0"), STR_LITERAL("application/vnd.sqlite3"), STR_LITERAL("")},
};
/* clang-format on */

enum { SECOND_GAP = 4, LONGEST_CHARACTER = 4 };

static bool has_at(struct str head, size_t at, struct str bytes)
{
    return head.len >= at + bytes.len && memcmp(head.ptr + at, bytes.ptr, bytes.len) == 0;
}

/* A character that is cut by the end of the head does not count. */
static bool is_text(struct str head)
{
    size_t valid = utf8_valid_length(head);

    if (valid + (head.len >= CONTENTTYPE_BYTES ? LONGEST_CHARACTER - 1 : 0) < head.len)
        return false;
    for (size_t i = 0; i < valid; i++) {
        unsigned char c = (unsigned char)head.ptr[i];

        if ((c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f') || c == 0x7f)
            return false;
    }
    return true;
}

static bool begins_nocase(struct str text, struct str word)
{
    return str_eq_nocase(str_slice(text, 0, word.len), word);
}

static struct str type_of_text(struct str text)
{
    struct str rest = str_trim(text);

    if (begins_nocase(rest, STR("<!doctype html")) || begins_nocase(rest, STR("<html")))
        return STR("text/html; charset=utf-8");
    if (begins_nocase(rest, STR("<svg")))
        return STR("image/svg+xml");
    if (begins_nocase(rest, STR("<?xml")))
        return STR("application/xml");
    if (rest.len > 1 && rest.ptr[0] == '{') {
        rest = str_trim(str_slice(rest, 1, rest.len));
        if (rest.len > 0 && (rest.ptr[0] == '"' || rest.ptr[0] == '}'))
            return STR("application/json");
    }
    return STR("text/plain; charset=utf-8");
}

struct str contenttype_of(struct str head)
{
    head = str_slice(head, 0, CONTENTTYPE_BYTES);
    for (size_t i = 0; i < array_size(signatures); i++) {
        const struct signature *row = &signatures[i];

        if (has_at(head, row->at, row->bytes) &&
            (row->second.len == 0 ||
             has_at(head, row->at + row->bytes.len + SECOND_GAP, row->second)))
            return row->type;
    }
    return is_text(head) ? type_of_text(head) : STR("application/octet-stream");
}
