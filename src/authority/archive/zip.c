/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A zip file has everything twice: in its directory at the end, and before each file. libarchive
 * uses sometimes the one, sometimes the other; here both are read and must agree. Small zips only:
 * no zip64, no parts, no encryption.
 */
#include "authority/archive/internal.h"

#include <string.h>

#include "base/cleanup.h"

enum {
    END_BYTES = 22,
    END_SEARCH_BYTES = 16 << 10, /* libarchive looks no further back either */
    LOCATOR64_BYTES = 20,
    CENTRAL_BYTES = 46,
    LOCAL_BYTES = 30,
    FIELD_MAX_BYTES = UINT16_MAX, /* of name, extra and comment each */
    WINDOW_BYTES = 256 << 10,
    LOCAL_STEP_BYTES = 4 << 10, /* what is between the local headers is not read */
    MARK_BYTES = 4,

    FLAG_ENCRYPTED = 1 << 0,
    FLAG_PATCHED = 1 << 5,
    FLAG_STRONGLY_ENCRYPTED = 1 << 6,
    FLAG_MASKED = 1 << 13,
    METHOD_STORED = 0,
    METHOD_DEFLATED = 8,
    EXTRA_UNICODE_NAME = 0x7075,
};

_Static_assert(CENTRAL_BYTES + 3 * FIELD_MAX_BYTES <= WINDOW_BYTES, "a whole entry fits");

struct archive_zip_name {
    uint64_t offset; /* of the local header */
    size_t at;       /* in archive_zip.names */
    size_t len;
};

/* A part of the file, so that not every header needs its own read. */
struct window {
    unsigned char *bytes; /* WINDOW_BYTES */
    size_t step;          /* how much is read at once */
    uint64_t start;
    size_t len;
};

static unsigned get16(const unsigned char *p)
{
    return (unsigned)p[0] | (unsigned)p[1] << 8;
}

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)get16(p) | (uint32_t)get16(p + 2) << 16;
}

static int malformed(struct err *err)
{
    return err_set(err, ERR_ARCHIVE_FORMAT, "the zip file is damaged or truncated");
}

static int read_window(const struct archive_zip *zip, struct window *window, uint64_t offset,
                       size_t wanted)
{
    int r = cancel_check(zip->rules->cancel);

    window->start = offset;
    window->len = 0;
    while (r == 0 && window->len < wanted) {
        size_t got = 0;

        r = zip->backend->ops->file_read(zip->file, offset + window->len,
                                         window->bytes + window->len, wanted - window->len, &got);
        if (got == 0)
            break;
        window->len += got;
    }
    return r;
}

/* `len` bytes of the file; or NULL, and ERR_ARCHIVE_FORMAT if there are not that many. */
static const unsigned char *look(const struct archive_zip *zip, struct window *window,
                                 uint64_t offset, size_t len, int *out_error, struct err *err)
{
    int r = 0;

    if (offset > zip->file_size || len > zip->file_size - offset) {
        *out_error = malformed(err);
        return NULL;
    }
    if (offset < window->start || offset + len > window->start + window->len)
        r = read_window(zip, window, offset, len > window->step ? len : window->step);
    if (r < 0 || offset + len > window->start + window->len) {
        *out_error = r < 0 ? err_set_plain(err, r) : malformed(err);
        return NULL;
    }
    return window->bytes + (offset - window->start);
}

/* The alternative form of the name, which libarchive prefers, is checked like the name itself. */
static int check_extra(const unsigned char *extra, size_t len, struct str *out_name,
                       struct err *err)
{
    while (len >= MARK_BYTES) {
        unsigned id = get16(extra);
        size_t size = get16(extra + 2);

        if (size > len - MARK_BYTES)
            return malformed(err);
        extra += MARK_BYTES;
        /* After a version and a checksum. */
        if (id == EXTRA_UNICODE_NAME && size > 5) {
            *out_name = (struct str){(const char *)extra + 5, size - 5};
            if (str_has_nul(*out_name))
                return err_set(err, ERR_ARCHIVE_ENTRY_PATH, "an entry's name contains a NUL byte");
        }
        extra += size;
        len -= MARK_BYTES + size;
    }
    return 0;
}

static int check_coding(unsigned flags, unsigned method, struct err *err)
{
    if (flags & (FLAG_ENCRYPTED | FLAG_STRONGLY_ENCRYPTED | FLAG_MASKED))
        return err_set(err, ERR_ARCHIVE_FORMAT, "the zip file is encrypted");
    if ((flags & FLAG_PATCHED) || (method != METHOD_STORED && method != METHOD_DEFLATED))
        return err_set(err, ERR_ARCHIVE_FORMAT,
                       "the zip file uses an unsupported compression method");
    return 0;
}

static int keep_name(struct archive_zip *zip, uint64_t index, uint64_t offset, struct str name,
                     struct err *err)
{
    int r;

    zip->order[index] = (struct archive_zip_name){offset, zip->names.len, name.len};
    r = buf_append_str(&zip->names, name);
    if (r == ERR_TOO_LARGE)
        return err_set(err, ERR_ARCHIVE_ENTRIES, "the names in the archive need too much memory");
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* One per entry; libarchive takes the name from this header. */
static int check_local(struct archive_zip *zip, struct window *window, uint64_t index,
                       const unsigned char *central, struct err *err)
{
    uint64_t offset = get32(central + 42);
    size_t name_len = get16(central + 28);
    const unsigned char *local;
    size_t extra_len;
    struct str name;
    int r;

    local = look(zip, window, offset, LOCAL_BYTES, &r, err);
    if (local == NULL)
        return r;
    if (memcmp(local, "PK\003\004", MARK_BYTES) != 0)
        return malformed(err);
    extra_len = get16(local + 28);
    if (get16(local + 26) != name_len)
        return err_set(err, ERR_ARCHIVE_FORMAT, "the zip file is inconsistent");
    local = look(zip, window, offset, LOCAL_BYTES + name_len + extra_len, &r, err);
    if (local == NULL)
        return r;
    r = check_coding(get16(local + 6), get16(local + 8), err);
    if (r < 0)
        return r;
    if (get16(local + 8) != get16(central + 10) ||
        memcmp(local + LOCAL_BYTES, central + CENTRAL_BYTES, name_len) != 0)
        return err_set(err, ERR_ARCHIVE_FORMAT, "the zip file is inconsistent");
    name = (struct str){(const char *)local + LOCAL_BYTES, name_len};
    r = check_extra(local + LOCAL_BYTES + name_len, extra_len, &name, err);
    return r < 0 ? r : keep_name(zip, index, offset, name, err);
}

static int by_offset(const void *a, const void *b)
{
    const struct archive_zip_name *first = a, *second = b;

    return (first->offset > second->offset) - (first->offset < second->offset);
}

/* Finds the directory. */
static int find_end(const struct archive_zip *zip, struct window *window, uint64_t *out_start,
                    uint64_t *out_end, unsigned *out_count, struct err *err)
{
    size_t tail_len = zip->file_size < END_SEARCH_BYTES ? (size_t)zip->file_size : END_SEARCH_BYTES;
    uint64_t tail_at = zip->file_size - tail_len;
    const unsigned char *tail, *end;
    uint64_t end_at;
    size_t i;
    int r;

    if (tail_len < END_BYTES)
        return malformed(err);
    tail = look(zip, window, tail_at, tail_len, &r, err);
    if (tail == NULL)
        return r;
    /* The last mark must be the right one: a second in the comment would be another zip file. */
    i = tail_len - MARK_BYTES;
    while (i > 0 && memcmp(tail + i, "PK\005\006", MARK_BYTES) != 0)
        i--;
    end = tail + i;
    end_at = tail_at + i;
    if (memcmp(end, "PK\005\006", MARK_BYTES) != 0 || tail_len - i < END_BYTES ||
        get16(end + 20) != tail_len - i - END_BYTES)
        return malformed(err);
    if (get16(end + 4) != 0 || get16(end + 6) != 0 || get16(end + 8) != get16(end + 10))
        return err_set(err, ERR_ARCHIVE_FORMAT, "multi-part zip files are not supported");
    if (i >= LOCATOR64_BYTES && memcmp(end - LOCATOR64_BYTES, "PK\006\007", MARK_BYTES) == 0)
        return err_set(err, ERR_ARCHIVE_FORMAT, "zip64 is not supported");
    *out_count = get16(end + 10);
    *out_start = get32(end + 16);
    *out_end = *out_start + get32(end + 12);
    /* Directly after it: nothing is hidden in between. */
    if (*out_end != end_at)
        return malformed(err);
    return 0;
}

static int check_central(struct archive_zip *zip, const unsigned char *central, struct err *err)
{
    size_t name_len = get16(central + 28);
    struct str other;
    int r;

    r = check_coding(get16(central + 8), get16(central + 10), err);
    if (r == 0)
        r = check_extra(central + CENTRAL_BYTES + name_len, get16(central + 30), &other, err);
    if (r < 0)
        return r;
    if (memchr(central + CENTRAL_BYTES, '\0', name_len) != NULL)
        return err_set(err, ERR_ARCHIVE_ENTRY_PATH, "an entry's name contains a NUL byte");
    if (get32(central + 20) == UINT32_MAX || get32(central + 24) == UINT32_MAX ||
        get32(central + 42) == UINT32_MAX)
        return err_set(err, ERR_ARCHIVE_FORMAT, "zip64 is not supported");
    zip->total_size += get32(central + 24);
    if (zip->total_size > zip->rules->limits.total_bytes)
        return err_set_plain(err, ERR_ARCHIVE_BYTES);
    return 0;
}

static void free_window(struct window *window)
{
    free(window->bytes);
}

int archive_zip_check(struct archive_zip *zip, struct err *err)
{
    cleanup_with(free_window) struct window directory = {malloc(WINDOW_BYTES), WINDOW_BYTES, 0, 0};
    cleanup_with(free_window) struct window locals = {malloc(WINDOW_BYTES), LOCAL_STEP_BYTES, 0, 0};
    uint64_t start = 0, end = 0, packed = 0, at;
    unsigned count = 0;
    int r;

    if (directory.bytes == NULL || locals.bytes == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = find_end(zip, &directory, &start, &end, &count, err);
    if (r < 0)
        return r;
    if (count > zip->rules->limits.entries)
        return err_set_plain(err, ERR_ARCHIVE_ENTRIES);
    buf_init(&zip->names, ARCHIVE_NAMES_BYTES);
    zip->order = calloc((size_t)count + 1, sizeof(*zip->order));
    if (zip->order == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    at = start;
    for (zip->entries = 0; zip->entries < count; zip->entries++) {
        const unsigned char *central;
        size_t all;

        central = look(zip, &directory, at, CENTRAL_BYTES, &r, err);
        if (central == NULL)
            return r;
        all = CENTRAL_BYTES + get16(central + 28) + get16(central + 30) + get16(central + 32);
        central = look(zip, &directory, at, all, &r, err);
        if (central == NULL)
            return r;
        at += all;
        if (memcmp(central, "PK\001\002", MARK_BYTES) != 0 || at > end)
            return malformed(err);
        r = check_central(zip, central, err);
        if (r == 0)
            r = check_local(zip, &locals, zip->entries, central, err);
        if (r < 0)
            return r;
        packed += LOCAL_BYTES + get16(central + 28) + get32(central + 20);
    }
    if (at != end)
        return malformed(err);
    /* Files that share their bytes are how a small zip becomes petabytes. */
    if (packed > start)
        return err_set(err, ERR_ARCHIVE_FORMAT, "the files in the zip file overlap");
    qsort(zip->order, count, sizeof(*zip->order), by_offset);
    return 0;
}

void archive_zip_done(struct archive_zip *zip)
{
    free(zip->order);
    buf_done(&zip->names);
}

bool archive_zip_name(const struct archive_zip *zip, uint64_t index, struct str *out_name)
{
    const struct archive_zip_name *name;

    if (index >= zip->entries)
        return false;
    name = &zip->order[index];
    *out_name = str_slice(buf_view(&zip->names), name->at, name->len);
    return true;
}
