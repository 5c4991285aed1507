/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libarchive reads names up to their first NUL and skips what it does not understand. This parses
 * the same stream independently: it finds names with a NUL, and refuses a stream that the two read
 * differently at its end, before anything is published.
 */
#include "authority/archive/internal.h"

#include <string.h>

#include "base/str.h"

enum {
    BLOCK_BYTES = 512,
    SIZE_AT = 124,
    SIZE_BYTES = 12,
    TYPE_AT = 156,
    SPARSE_MORE_AT = 482,      /* in the header of an old GNU sparse file */
    SPARSE_EVEN_MORE_AT = 504, /* in each further map */
    SPECIAL_MAX_BYTES = 1 << 20,
    /* This reading is ahead of libarchive's by a block and by what an entry's header takes. */
    NAMES_MAX_BYTES = 2 * (ARCHIVE_BLOCK_BYTES + ARCHIVE_HEADER_BYTES),
};

/* In archive_tar.names, before the name itself. */
struct name_mark {
    uint64_t index;
    size_t len;
};

void archive_tar_init(struct archive_tar *tar)
{
    *tar = (struct archive_tar){
        .special = BUF_INIT(SPECIAL_MAX_BYTES),
        .names = BUF_INIT(NAMES_MAX_BYTES),
    };
}

void archive_tar_done(struct archive_tar *tar)
{
    buf_done(&tar->special);
    buf_done(&tar->names);
}

uint64_t archive_tar_mix(uint64_t fingerprint, uint64_t entry_start)
{
    /* No secret: it finds two honest readings that differ. */
    return (fingerprint ^ entry_start) * 0x9E3779B97F4A7C15U + 1;
}

static int malformed(struct err *err)
{
    return err_set(err, ERR_ARCHIVE_FORMAT, "the archive has a malformed header");
}

static void halt(struct archive_tar *tar, int error)
{
    tar->state = ARCHIVE_TAR_HALTED;
    tar->halted_error = error;
}

/* Octal digits between spaces, or a big-endian binary number after a set bit. */
static bool parse_size(const unsigned char *field, uint64_t *out_size)
{
    uint64_t size = 0;
    size_t i = 0;

    if (field[0] & 0x80) {
        if (field[0] != 0x80)
            return false;
        for (i = 1; i < SIZE_BYTES; i++) {
            if (size >> 55)
                return false;
            size = size << 8 | field[i];
        }
        *out_size = size;
        return true;
    }
    while (i < SIZE_BYTES && field[i] == ' ')
        i++;
    for (; i < SIZE_BYTES && field[i] >= '0' && field[i] <= '7'; i++)
        size = size << 3 | (uint64_t)(field[i] - '0');
    if (i < SIZE_BYTES && field[i] != ' ' && field[i] != '\0')
        return false;
    *out_size = size;
    return true;
}

/* ---- Headers about the next header ---- */

static int take_path(struct archive_tar *tar, struct str path, bool is_sparse, struct err *err)
{
    if (path.len >= sizeof(tar->path))
        return err_set(err, ERR_ARCHIVE_ENTRY_PATH, "an entry's name is too long");
    /* For a sparse file, the other path is only where it is stored. */
    if (tar->has_sparse_path && !is_sparse)
        return 0;
    tar->has_path = true;
    tar->has_sparse_path = is_sparse;
    tar->path_len = path.len;
    memcpy(tar->path, path.ptr, path.len);
    return 0;
}

static int check_pax_record(struct archive_tar *tar, struct str key, struct str value,
                            struct err *err)
{
    bool is_sparse_path = str_eq(key, STR("GNU.sparse.name"));
    bool is_path = str_eq(key, STR("path")) || is_sparse_path;
    bool is_name = is_path || str_eq(key, STR("linkpath"));
    bool is_size = str_eq(key, STR("size"));
    int64_t size;

    if (str_has_nul(key))
        return malformed(err);
    if (is_name && str_has_nul(value))
        return err_set(err, ERR_ARCHIVE_ENTRY_PATH, "an entry's name contains a NUL byte");
    /* For every file that follows: readers disagree on what that means. */
    if (tar->special_type == 'g' && (is_name || is_size))
        return malformed(err);
    if (is_size) {
        if (!str_to_int64(value, &size) || size < 0)
            return malformed(err);
        tar->has_size = true;
        tar->size = (uint64_t)size;
    }
    return is_path ? take_path(tar, value, is_sparse_path, err) : 0;
}

/* Records "LENGTH KEY=VALUE\n", where the length is that of the whole record. */
static int check_pax(struct archive_tar *tar, struct err *err)
{
    struct str rest = buf_view(&tar->special);

    while (rest.len > 0) {
        const char *space = memchr(rest.ptr, ' ', rest.len);
        const char *equals;
        struct str record;
        int64_t len;
        int r;

        if (space == NULL ||
            !str_to_int64((struct str){rest.ptr, (size_t)(space - rest.ptr)}, &len) || len <= 0 ||
            (uint64_t)len > rest.len || rest.ptr[len - 1] != '\n' || space + 1 >= rest.ptr + len)
            return malformed(err);
        record = (struct str){space + 1, (size_t)(rest.ptr + len - 1 - (space + 1))};
        equals = memchr(record.ptr, '=', record.len);
        if (equals == NULL)
            return malformed(err);
        r = check_pax_record(
            tar, (struct str){record.ptr, (size_t)(equals - record.ptr)},
            (struct str){equals + 1, (size_t)(record.ptr + record.len - (equals + 1))}, err);
        if (r < 0)
            return r;
        rest = str_slice(rest, (size_t)len, SIZE_MAX);
    }
    return 0;
}

/* A long name of GNU tar: NULs may follow it, but not be in it. */
static int check_long_name(const struct archive_tar *tar, struct err *err)
{
    struct str name = buf_view(&tar->special);

    while (name.len > 0 && name.ptr[name.len - 1] == '\0')
        name.len--;
    if (str_has_nul(name))
        return err_set(err, ERR_ARCHIVE_ENTRY_PATH, "an entry's name contains a NUL byte");
    return 0;
}

static int end_special(struct archive_tar *tar, struct err *err)
{
    if (tar->special_type == 'L' || tar->special_type == 'K')
        return check_long_name(tar, err);
    return check_pax(tar, err);
}

/* ---- The blocks ---- */

static void begin_body(struct archive_tar *tar)
{
    tar->state = ARCHIVE_TAR_BODY;
    tar->is_in_entry = false;
    tar->has_size = false;
    tar->has_path = false;
    tar->has_sparse_path = false;
}

/* Keeps the name until libarchive reaches it. */
static int keep_path(struct archive_tar *tar, uint64_t index)
{
    struct name_mark mark = {index, tar->path_len};
    int r = buf_append(&tar->names, &mark, sizeof(mark));

    if (r == 0)
        r = buf_append(&tar->names, tar->path, tar->path_len);
    return r;
}

bool archive_tar_name(struct archive_tar *tar, uint64_t index, struct str *out_name)
{
    struct name_mark mark;

    if (tar->names_read == tar->names.len) {
        buf_clear(&tar->names);
        tar->names_read = 0;
        return false;
    }
    memcpy(&mark, tar->names.data + tar->names_read, sizeof(mark));
    if (mark.index != index)
        return false;
    *out_name = (struct str){tar->names.data + tar->names_read + sizeof(mark), mark.len};
    tar->names_read += sizeof(mark) + mark.len;
    return true;
}

static int begin_special(struct archive_tar *tar, char type, uint64_t size, struct err *err)
{
    if (size > SPECIAL_MAX_BYTES)
        return malformed(err);
    buf_clear(&tar->special);
    tar->special_type = type;
    tar->state = ARCHIVE_TAR_SPECIAL;
    tar->body_left = size;
    tar->padding = -size & (BLOCK_BYTES - 1);
    return 0;
}

static int take_header(struct archive_tar *tar, struct err *err)
{
    static const unsigned char zeros[BLOCK_BYTES];
    char type = (char)tar->header[TYPE_AT];
    uint64_t size;

    if (memcmp(tar->header, zeros, BLOCK_BYTES) == 0) {
        /* A header about a next entry that does not come. */
        if (tar->is_in_entry)
            return malformed(err);
        tar->state = ARCHIVE_TAR_ENDED;
        return 0;
    }
    if (!parse_size(tar->header + SIZE_AT, &size))
        return malformed(err);
    if (!tar->is_in_entry) {
        tar->is_in_entry = true;
        tar->entry_start = tar->position - BLOCK_BYTES;
    }
    if (strchr("xXgLK", type) != NULL && type != '\0')
        return begin_special(tar, type, size, err);

    if (tar->has_path) {
        int r = keep_path(tar, tar->entries);

        if (r < 0)
            return r == ERR_TOO_LARGE ? malformed(err) : err_set_plain(err, r);
    }
    tar->entries++;
    tar->fingerprint = archive_tar_mix(tar->fingerprint, tar->entry_start);
    if (tar->has_size)
        size = tar->size;
    tar->body_left = size;
    tar->padding = -size & (BLOCK_BYTES - 1);
    switch (type) {
    case '\0':
    case '0':
    case '7':
        begin_body(tar);
        break;
    case '5':
        begin_body(tar);
        if (size > 0)
            halt(tar, ERR_ARCHIVE_FORMAT);
        break;
    case 'S':
        begin_body(tar);
        if (tar->header[SPARSE_MORE_AT] != 0)
            tar->state = ARCHIVE_TAR_SPARSE;
        break;
    case '1':
    case '2':
        halt(tar, ERR_ARCHIVE_ENTRY_LINK);
        break;
    default:
        halt(tar, ERR_ARCHIVE_ENTRY_TYPE);
        break;
    }
    return 0;
}

static int take_block(struct archive_tar *tar, struct err *err)
{
    tar->filled = 0;
    if (tar->state == ARCHIVE_TAR_HEADER)
        return take_header(tar, err);
    if (tar->header[SPARSE_EVEN_MORE_AT] == 0)
        tar->state = ARCHIVE_TAR_BODY;
    return 0;
}

/* Consumes up to `len` bytes of the body and its padding; sets how many. */
static int take_body(struct archive_tar *tar, const char *bytes, size_t len, size_t *out_taken,
                     struct err *err)
{
    size_t body = tar->body_left < len ? (size_t)tar->body_left : len;
    size_t padding = tar->padding < len - body ? (size_t)tar->padding : len - body;
    bool is_special = tar->state == ARCHIVE_TAR_SPECIAL;
    int r;

    if (is_special) {
        r = buf_append(&tar->special, bytes, body);
        if (r < 0)
            return err_set_plain(err, r);
    }
    tar->body_left -= body;
    tar->padding -= padding;
    *out_taken = body + padding;
    if (tar->body_left > 0 || tar->padding > 0)
        return 0;
    tar->state = ARCHIVE_TAR_HEADER;
    return is_special ? end_special(tar, err) : 0;
}

int archive_tar_scan(struct archive_tar *tar, const void *bytes, size_t len, struct err *err)
{
    const char *at = bytes;
    const char *end = at + len;

    while (at < end) {
        size_t taken = 0;
        int r = 0;

        switch (tar->state) {
        case ARCHIVE_TAR_HEADER:
        case ARCHIVE_TAR_SPARSE:
            taken = BLOCK_BYTES - tar->filled;
            if (taken > (size_t)(end - at))
                taken = (size_t)(end - at);
            memcpy(tar->header + tar->filled, at, taken);
            tar->filled += taken;
            tar->position += taken;
            if (tar->filled == BLOCK_BYTES)
                r = take_block(tar, err);
            break;
        case ARCHIVE_TAR_SPECIAL:
        case ARCHIVE_TAR_BODY:
            r = take_body(tar, at, (size_t)(end - at), &taken, err);
            if (r == 0)
                tar->position += taken;
            break;
        case ARCHIVE_TAR_ENDED:
        case ARCHIVE_TAR_HALTED:
            return 0;
        }
        if (r < 0)
            return r;
        at += taken;
    }
    return 0;
}

int archive_tar_finish(const struct archive_tar *tar, uint64_t entries, uint64_t fingerprint,
                       struct err *err)
{
    if (tar->state == ARCHIVE_TAR_HALTED)
        return err_set_plain(err, tar->halted_error);
    if (tar->state != ARCHIVE_TAR_ENDED)
        return err_set(err, ERR_ARCHIVE_FORMAT, "the archive is truncated");
    if (tar->entries != entries || tar->fingerprint != fingerprint)
        return err_set(err, ERR_ARCHIVE_FORMAT, "the archive is ambiguous");
    return 0;
}
