/* SPDX-License-Identifier: Apache-2.0 */
#include "copies/gitindex.h"

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/sha1.h"

/* gitformat-index(5) */
enum {
    HEAD_BYTES = 12,
    COUNT_AT = 8,
    MODE_AT = 24,
    FLAGS_AT = 60,
    FIXED_BYTES = 62, /* before the name, or before the flags of version 3 */
    MORE_BYTES = 2,
    ALIGNMENT = 8,
    EXTENSION_BYTES = 8,

    VERSION_PLAIN = 2,
    VERSION_EXTENDED = 3,

    TYPE_MASK = 0170000,
    TYPE_DIRECTORY = 0040000, /* of a sparse index */
    TYPE_FILE = 0100000,
    TYPE_LINK = 0120000,

    FLAG_EXTENDED = 0x4000,
    STAGE_MASK = 0x3000,
    NAME_MASK = 0x0fff,
    MORE_SKIP = 0x4000,
    MORE_INTENT = 0x2000, /* the file has no content here yet */
};

struct entry {
    struct str bytes;
    struct str name;
    unsigned mode;
    unsigned flags;
    unsigned more;
};

static uint32_t read_number(struct str text, size_t at, size_t bytes)
{
    uint32_t number = 0;

    for (size_t i = 0; i < bytes; i++)
        number = number << 8 | (unsigned char)text.ptr[at + i];
    return number;
}

static int put_number(struct buf *out, unsigned number)
{
    const unsigned char bytes[] = {(unsigned char)(number >> 8), (unsigned char)number};

    return buf_append(out, bytes, sizeof(bytes));
}

/* With the NUL characters behind the name. */
static size_t padded(size_t bytes)
{
    return (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
}

static bool take_entry(struct str *rest, uint32_t version, struct entry *out_entry)
{
    size_t fixed = FIXED_BYTES;
    const char *end;
    size_t len;

    if (rest->len < FIXED_BYTES + MORE_BYTES)
        return false;
    *out_entry = (struct entry){.mode = read_number(*rest, MODE_AT, 4),
                                .flags = read_number(*rest, FLAGS_AT, 2)};
    if ((out_entry->flags & FLAG_EXTENDED) != 0) {
        if (version < VERSION_EXTENDED)
            return false;
        out_entry->more = read_number(*rest, FIXED_BYTES, MORE_BYTES);
        fixed += MORE_BYTES;
    }
    end = memchr(rest->ptr + fixed, '\0', rest->len - fixed);
    len = end != NULL ? (size_t)(end - rest->ptr) - fixed : 0;
    if (len == 0 || padded(fixed + len) > rest->len ||
        (out_entry->flags & NAME_MASK) != (len < NAME_MASK ? len : NAME_MASK))
        return false;
    out_entry->name = str_slice(*rest, fixed, len);
    out_entry->bytes = str_slice(*rest, 0, padded(fixed + len));
    *rest = str_slice(*rest, out_entry->bytes.len, rest->len);
    return (out_entry->mode & TYPE_MASK) != TYPE_DIRECTORY;
}

static bool may_skip(const struct entry *entry)
{
    unsigned type = entry->mode & TYPE_MASK;

    return (type == TYPE_FILE || type == TYPE_LINK) && (entry->flags & STAGE_MASK) == 0 &&
           (entry->more & (MORE_SKIP | MORE_INTENT)) == 0;
}

static int put_skipped(struct buf *out, const struct entry *entry)
{
    static const char zeros[ALIGNMENT];
    size_t len = FIXED_BYTES + MORE_BYTES + entry->name.len;
    int r = buf_append(out, entry->bytes.ptr, FLAGS_AT);

    if (r == 0)
        r = put_number(out, entry->flags | FLAG_EXTENDED);
    if (r == 0)
        r = put_number(out, entry->more | MORE_SKIP);
    if (r == 0)
        r = buf_append_str(out, entry->name);
    return r == 0 ? buf_append(out, zeros, padded(len) - len) : r;
}

/*
 * Those with a small letter must be understood: a split index, a sparse one. Of the others, which
 * may be left out, what knows places in the file or in the folder of the project is.
 */
static int copy_extensions(struct str rest, struct buf *out)
{
    int r = 0;

    while (r == 0 && rest.len > 0) {
        struct str whole;

        if (rest.len < EXTENSION_BYTES || rest.ptr[0] < 'A' || rest.ptr[0] > 'Z' ||
            read_number(rest, 4, 4) > rest.len - EXTENSION_BYTES)
            return ERR_UNSUPPORTED;
        whole = str_slice(rest, 0, EXTENSION_BYTES + read_number(rest, 4, 4));
        rest = str_slice(rest, whole.len, rest.len);
        if (str_starts_with(whole, STR("TREE")) || str_starts_with(whole, STR("REUC")))
            r = buf_append_str(out, whole);
    }
    return r;
}

static bool has_checksum(struct str body, struct str given)
{
    uint8_t digest[SHA1_BYTES];

    sha1(body, digest);
    return memcmp(digest, given.ptr, SHA1_BYTES) == 0;
}

static int put_checksum(struct buf *out, size_t start)
{
    uint8_t digest[SHA1_BYTES];

    sha1(str_slice(buf_view(out), start, out->len), digest);
    return buf_append(out, digest, sizeof(digest));
}

int gitindex_skip(struct str index, bool (*is_left_out)(void *data, struct str name), void *data,
                  struct buf *out, size_t *out_count)
{
    static const char head[] = {'D', 'I', 'R', 'C', 0, 0, 0, VERSION_EXTENDED};
    const size_t start = out->len;
    struct str body;
    struct str rest;
    uint32_t version;
    uint32_t entries;
    size_t count = 0;
    int r;

    if (index.len < HEAD_BYTES + SHA1_BYTES || !str_starts_with(index, STR("DIRC")))
        return ERR_UNSUPPORTED;
    body = str_slice(index, 0, index.len - SHA1_BYTES);
    version = read_number(body, 4, 4);
    entries = read_number(body, COUNT_AT, 4);
    if ((version != VERSION_PLAIN && version != VERSION_EXTENDED) ||
        !has_checksum(body, str_slice(index, body.len, SHA1_BYTES)))
        return ERR_UNSUPPORTED;
    rest = str_slice(body, HEAD_BYTES, body.len);
    r = buf_append(out, head, sizeof(head));
    if (r == 0)
        r = buf_append_str(out, str_slice(body, COUNT_AT, HEAD_BYTES - COUNT_AT));
    for (uint32_t i = 0; r == 0 && i < entries; i++) {
        struct entry entry;

        if (!take_entry(&rest, version, &entry))
            return ERR_UNSUPPORTED;
        if (may_skip(&entry) && is_left_out(data, entry.name)) {
            count++;
            r = put_skipped(out, &entry);
        } else {
            r = buf_append_str(out, entry.bytes);
        }
    }
    if (r == 0)
        r = copy_extensions(rest, out);
    if (r == 0)
        r = put_checksum(out, start);
    if (r == 0)
        *out_count = count;
    return r;
}
