/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/archive/internal.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/printable.h"

/*
 * A compressed tar goes through two objects of libarchive: `packed` removes the one filter, and its
 * output is counted and checked before `reader` makes entries of it. Otherwise `reader` reads the
 * file itself.
 */
struct archive_stream {
    struct backend *backend;
    struct backend_file *file;
    uint64_t file_size;
    struct archive_gate *gate;

    struct archive *packed;
    struct archive *reader;
    uint64_t offset; /* in the file */
    char *block;     /* ARCHIVE_BLOCK_BYTES */

    bool is_zip;
    struct archive_zip zip;
    struct archive_tar tar;
    uint64_t entries;
    uint64_t fingerprint;   /* of a tar */
    uint64_t declared_size; /* of all files, of a zip */

    uint64_t decoded; /* handed to `reader` */
    uint64_t header_left;
    bool is_in_header;
    /* Why a callback failed; libarchive itself only hears that it did. */
    int error;
    struct err why;

    struct archive_entry *entry;
    bool is_at_end;    /* of the entry's content */
    uint64_t position; /* in the entry */
    uint64_t hole;     /* zeros to be given before `pending` */
    struct str pending;
};

void archive_locale_begin(struct archive_locale *locale)
{
    locale->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale->previous = NULL;
    if (locale->utf8 != NULL)
        locale->previous = uselocale(locale->utf8);
}

void archive_locale_end(struct archive_locale *locale)
{
    if (locale->utf8 == NULL)
        return;
    uselocale(locale->previous);
    freelocale(locale->utf8);
}

/* ---- Bytes of the file ---- */

static int fail(struct archive_stream *stream, int error)
{
    if (stream->error == 0)
        stream->error = error;
    if (stream->why.code == 0)
        err_set_plain(&stream->why, error);
    return ARCHIVE_FATAL;
}

static int read_file(struct archive_stream *stream, size_t *out_got)
{
    uint64_t left = stream->offset < stream->file_size ? stream->file_size - stream->offset : 0;
    size_t wanted = left < ARCHIVE_BLOCK_BYTES ? (size_t)left : ARCHIVE_BLOCK_BYTES;
    int r = cancel_check(stream->gate->rules->cancel);

    /* Bytes appended meanwhile do not belong to it. */
    *out_got = 0;
    if (r == 0 && wanted > 0)
        r = stream->backend->ops->file_read(stream->file, stream->offset, stream->block, wanted,
                                            out_got);
    if (r == 0)
        stream->offset += *out_got;
    return r;
}

static la_ssize_t on_read_file(struct archive *archive, void *data, const void **out_bytes)
{
    struct archive_stream *stream = data;
    size_t got;
    int r = read_file(stream, &got);

    (void)archive;
    if (r < 0)
        return fail(stream, r);
    *out_bytes = stream->block;
    return (la_ssize_t)got;
}

static la_int64_t on_skip_file(struct archive *archive, void *data, la_int64_t request)
{
    struct archive_stream *stream = data;
    uint64_t left = stream->file_size - stream->offset;
    uint64_t skipped = request > 0 && (uint64_t)request < left ? (uint64_t)request : left;

    (void)archive;
    if (request <= 0)
        return 0;
    stream->offset += skipped;
    return (la_int64_t)skipped;
}

static la_int64_t on_seek_file(struct archive *archive, void *data, la_int64_t offset, int whence)
{
    struct archive_stream *stream = data;
    int64_t base = 0, target;

    (void)archive;
    if (whence == SEEK_CUR)
        base = (int64_t)stream->offset;
    else if (whence == SEEK_END)
        base = (int64_t)stream->file_size;
    if (__builtin_add_overflow(base, offset, &target) || target < 0 ||
        (uint64_t)target > stream->file_size)
        return fail(stream, ERR_ARCHIVE_FORMAT);
    stream->offset = (uint64_t)target;
    return target;
}

/* ---- Bytes of the tar ---- */

static int error_of(struct archive_stream *stream, struct archive *archive, struct err *err);

static int unpack(struct archive_stream *stream, const void **out_bytes, size_t *out_len)
{
    la_int64_t offset;
    int r;

    if (stream->packed == NULL) {
        *out_bytes = stream->block;
        return read_file(stream, out_len);
    }
    *out_len = 0;
    r = archive_read_data_block(stream->packed, out_bytes, out_len, &offset);
    if (r == ARCHIVE_EOF)
        *out_len = 0;
    else if (r != ARCHIVE_OK)
        return error_of(stream, stream->packed, &stream->why);
    return 0;
}

static la_ssize_t on_read_tar(struct archive *archive, void *data, const void **out_bytes)
{
    struct archive_stream *stream = data;
    struct err *why = &stream->why;
    size_t len;
    int r;

    (void)archive;
    r = unpack(stream, out_bytes, &len);
    if (r == 0) {
        stream->decoded += len;
        r = archive_gate_decoded(stream->gate, stream->decoded, why);
    }
    if (r == 0 && stream->is_in_header) {
        if (stream->header_left == 0)
            r = err_set(why, ERR_ARCHIVE_FORMAT, "the archive has an overlong header");
        stream->header_left -= len < stream->header_left ? len : stream->header_left;
    }
    if (r == 0 && len > 0)
        r = archive_tar_scan(&stream->tar, *out_bytes, len, why);
    return r < 0 ? fail(stream, r) : (la_ssize_t)len;
}

/* ---- Errors ---- */

/* The error of libarchive, or of its callback. */
static int error_of(struct archive_stream *stream, struct archive *archive, struct err *err)
{
    const char *text = archive_error_string(archive);

    if (stream->error < 0) {
        if (err != NULL && err != &stream->why)
            *err = stream->why;
        return stream->error;
    }
    if (archive_errno(archive) == ENOMEM)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (text == NULL || !printable_is_plain(str_from(text), PRINTABLE_ASCII))
        return err_set_plain(err, ERR_ARCHIVE_FORMAT);
    return err_set(err, ERR_ARCHIVE_FORMAT, "not a readable archive: %s", text);
}

/* ---- Opening ---- */

enum { PROBE_BYTES = 512 };

/*
 * By its first bytes only, so that exactly one reader is responsible for a file: 0 for a plain tar.
 */
static int recognise(const char *start, size_t len, bool *out_is_zip)
{
    static const struct {
        struct str magic;
        int filter;
        bool is_zip;
    } known[] = {
        {STR_LITERAL("\x1f\x8b"), ARCHIVE_FILTER_GZIP, false},
        {STR_LITERAL("BZh"), ARCHIVE_FILTER_BZIP2, false},
        {STR_LITERAL("\xfd"
                     "7zXZ\0"),
         ARCHIVE_FILTER_XZ, false},
        {STR_LITERAL("\x28\xb5\x2f\xfd"), ARCHIVE_FILTER_ZSTD, false},
        {STR_LITERAL("PK\003\004"), ARCHIVE_FILTER_NONE, true},
        {STR_LITERAL("PK\005\006"), ARCHIVE_FILTER_NONE, true},
    };

    *out_is_zip = false;
    for (size_t i = 0; i < array_size(known); i++) {
        if (!str_starts_with((struct str){start, len}, known[i].magic))
            continue;
        *out_is_zip = known[i].is_zip;
        return known[i].filter;
    }
    return ARCHIVE_FILTER_NONE;
}

static int open_zip(struct archive_stream *stream, struct err *err)
{
    struct archive *reader = stream->reader;
    int r;

    stream->zip = (struct archive_zip){
        .backend = stream->backend,
        .file = stream->file,
        .file_size = stream->file_size,
        .rules = stream->gate->rules,
    };
    r = archive_zip_check(&stream->zip, err);
    /* libarchive does not know an empty zip file when it sees one. */
    if (r < 0 || stream->zip.entries == 0)
        return r;
    if (archive_read_support_format_zip_seekable(reader) != ARCHIVE_OK ||
        archive_read_set_seek_callback(reader, on_seek_file) != ARCHIVE_OK ||
        archive_read_open2(reader, stream, NULL, on_read_file, on_skip_file, NULL) != ARCHIVE_OK)
        return error_of(stream, reader, err);
    return 0;
}

/* Removes one filter; the content must be a tar. */
/* By its own function: the one that takes a code links every filter. */
static int support_filter(struct archive *packed, int filter)
{
    switch (filter) {
    case ARCHIVE_FILTER_GZIP:
        return archive_read_support_filter_gzip(packed);
    case ARCHIVE_FILTER_BZIP2:
        return archive_read_support_filter_bzip2(packed);
    case ARCHIVE_FILTER_XZ:
        return archive_read_support_filter_xz(packed);
    case ARCHIVE_FILTER_ZSTD:
        return archive_read_support_filter_zstd(packed);
    default:
        return ARCHIVE_FATAL;
    }
}

static int open_packed(struct archive_stream *stream, int filter, struct err *err)
{
    struct archive *packed = archive_read_new();
    struct archive_entry *entry;

    stream->packed = packed;
    if (packed == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (support_filter(packed, filter) != ARCHIVE_OK ||
        archive_read_support_format_raw(packed) != ARCHIVE_OK ||
        archive_read_open2(packed, stream, NULL, on_read_file, NULL, NULL) != ARCHIVE_OK ||
        archive_read_next_header(packed, &entry) != ARCHIVE_OK)
        return error_of(stream, packed, err);
    /* The filter and the file itself. */
    if (archive_filter_count(packed) != 2 || archive_filter_code(packed, 0) != filter)
        return err_set(err, ERR_ARCHIVE_FORMAT, "the archive is compressed more than once");
    return 0;
}

static int open_tar(struct archive_stream *stream, int filter, struct err *err)
{
    struct archive *reader = stream->reader;
    int r = 0;

    if (filter != ARCHIVE_FILTER_NONE)
        r = open_packed(stream, filter, err);
    if (r < 0)
        return r;
    if (archive_read_support_format_tar(reader) != ARCHIVE_OK ||
        archive_read_open2(reader, stream, NULL, on_read_tar, NULL, NULL) != ARCHIVE_OK)
        return error_of(stream, reader, err);
    return 0;
}

static int open_any(struct archive_stream *stream, struct err *err)
{
    bool is_zip;
    int filter;
    size_t got;
    int r;

    r = stream->backend->ops->file_read(stream->file, 0, stream->block, PROBE_BYTES, &got);
    if (r < 0)
        return err_set_plain(err, r);
    filter = recognise(stream->block, got, &is_zip);
    stream->is_zip = is_zip;
    return is_zip ? open_zip(stream, err) : open_tar(stream, filter, err);
}

int archive_stream_open(struct backend *backend, struct backend_file *file, uint64_t size,
                        struct archive_gate *gate, struct archive_stream **out_stream,
                        struct err *err)
{
    struct archive_stream *stream = calloc(1, sizeof(*stream));
    int r;

    if (stream == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    stream->backend = backend;
    stream->file = file;
    stream->file_size = size;
    stream->gate = gate;
    stream->header_left = ARCHIVE_HEADER_BYTES;
    archive_tar_init(&stream->tar);
    stream->block = malloc(ARCHIVE_BLOCK_BYTES);
    stream->reader = archive_read_new();
    if (stream->block == NULL || stream->reader == NULL)
        r = err_set_plain(err, ERR_NO_MEMORY);
    else if (size > INT64_MAX)
        r = err_set_plain(err, ERR_ARCHIVE_BYTES);
    else
        r = open_any(stream, err);
    if (r < 0) {
        archive_stream_close(stream);
        return r;
    }
    *out_stream = stream;
    return 0;
}

void archive_stream_close(struct archive_stream *stream)
{
    if (stream == NULL)
        return;
    archive_read_free(stream->reader);
    archive_read_free(stream->packed);
    archive_tar_done(&stream->tar);
    archive_zip_done(&stream->zip);
    free(stream->block);
    free(stream);
}

/* ---- Entries ---- */

static int finish(struct archive_stream *stream, struct err *err)
{
    if (!stream->is_zip)
        return archive_tar_finish(&stream->tar, stream->entries, stream->fingerprint, err);
    if (stream->entries != stream->zip.entries || stream->declared_size != stream->zip.total_size)
        return err_set(err, ERR_ARCHIVE_FORMAT, "the archive is ambiguous");
    return 0;
}

static int check_type(struct archive_entry *entry, struct str name, struct err *err)
{
    __LA_MODE_T type = archive_entry_filetype(entry);

    if (archive_entry_hardlink(entry) != NULL || archive_entry_symlink(entry) != NULL ||
        type == AE_IFLNK)
        return archive_refuse(err, ERR_ARCHIVE_ENTRY_LINK, name, err_text(ERR_ARCHIVE_ENTRY_LINK));
    if (type != AE_IFREG && type != AE_IFDIR)
        return archive_refuse(err, ERR_ARCHIVE_ENTRY_TYPE, name, err_text(ERR_ARCHIVE_ENTRY_TYPE));
    if (archive_entry_is_encrypted(entry))
        return archive_refuse(err, ERR_ARCHIVE_FORMAT, name, "the archive is encrypted");
    if (!archive_entry_size_is_set(entry) || archive_entry_size(entry) < 0)
        return archive_refuse(err, ERR_ARCHIVE_FORMAT, name, "an entry does not declare its size");
    return 0;
}

/* The name as the archive writes it, which must be the one that libarchive read. */
static int find_name(struct archive_stream *stream, struct str *out_name, struct err *err)
{
    const char *text = archive_entry_pathname(stream->entry);
    struct str understood = text != NULL ? str_from(text) : STR_EMPTY;
    struct str name = understood;
    bool is_known;

    is_known = stream->is_zip ? archive_zip_name(&stream->zip, stream->entries, &name)
                              : archive_tar_name(&stream->tar, stream->entries, &name);
    if ((stream->is_zip && !is_known) || !archive_is_same_text(name, understood))
        return archive_refuse(err, ERR_ARCHIVE_FORMAT, understood, "an entry's name is ambiguous");
    *out_name = name;
    return 0;
}

static int take_entry(struct archive_stream *stream, struct archive_item *out_item, struct err *err)
{
    struct archive_entry *entry = stream->entry;
    struct str name;
    int r;

    r = find_name(stream, &name, err);
    if (r == 0)
        r = check_type(entry, name, err);
    if (r < 0)
        return r;
    stream->entries++;
    stream->fingerprint = archive_tar_mix(stream->fingerprint,
                                          (uint64_t)archive_read_header_position(stream->reader));
    stream->declared_size += (uint64_t)archive_entry_size(entry);
    stream->position = 0;
    stream->hole = 0;
    stream->pending = STR_EMPTY;
    stream->is_at_end = false;
    return archive_gate_entry(stream->gate, name, archive_entry_filetype(entry) == AE_IFDIR,
                              archive_entry_perm(entry), (uint64_t)archive_entry_size(entry),
                              out_item, err);
}

bool archive_stream_next(struct archive_stream *stream, struct archive_item *out_item,
                         int *out_error, struct err *err)
{
    int r;

    if (stream->is_zip && stream->zip.entries == 0) {
        *out_error = 0;
        return false;
    }
    stream->header_left = ARCHIVE_HEADER_BYTES;
    stream->is_in_header = true;
    r = archive_read_next_header(stream->reader, &stream->entry);
    stream->is_in_header = false;
    if (r == ARCHIVE_EOF) {
        *out_error = finish(stream, err);
        return false;
    }
    /* A warning is treated as an error. */
    *out_error =
        r == ARCHIVE_OK ? take_entry(stream, out_item, err) : error_of(stream, stream->reader, err);
    return *out_error == 0;
}

/* ---- Content ---- */

static int read_block(struct archive_stream *stream, struct err *err)
{
    const void *bytes = NULL;
    size_t len = 0;
    la_int64_t offset = 0;
    uint64_t start;
    int r;

    r = archive_read_data_block(stream->reader, &bytes, &len, &offset);
    if (r == ARCHIVE_EOF) {
        stream->is_at_end = true;
        bytes = NULL;
        len = 0;
        /* A tar may end in a hole; in all else the missing part is an error of libarchive's. */
        start = stream->is_zip ? stream->position : stream->gate->declared;
    } else if (r == ARCHIVE_OK) {
        start = (uint64_t)offset;
    } else {
        return error_of(stream, stream->reader, err);
    }
    if (start < stream->position || (stream->is_zip && start != stream->position))
        return err_set(err, ERR_ARCHIVE_FORMAT, "an entry's content is out of order");
    stream->hole = start - stream->position;
    stream->pending = len > 0 ? (struct str){bytes, len} : STR_EMPTY;
    return 0;
}

int archive_stream_read(struct archive_stream *stream, struct str *out_bytes, struct err *err)
{
    static char zeros[64 << 10]; /* never written; as a constant it would lie in the program */
    struct str bytes;
    int r;

    while (stream->hole == 0 && stream->pending.len == 0) {
        r = cancel_check(stream->gate->rules->cancel);
        if (r < 0)
            return err_set_plain(err, r);
        if (stream->is_at_end) {
            *out_bytes = STR_EMPTY;
            return archive_gate_entry_end(stream->gate, err);
        }
        r = read_block(stream, err);
        if (r < 0)
            return r;
    }
    if (stream->hole > 0) {
        bytes.ptr = zeros;
        bytes.len = stream->hole < sizeof(zeros) ? (size_t)stream->hole : sizeof(zeros);
        stream->hole -= bytes.len;
    } else {
        bytes = stream->pending;
        stream->pending = STR_EMPTY;
    }
    stream->position += bytes.len;
    r = archive_gate_bytes(stream->gate, bytes.len, err);
    if (r == 0)
        *out_bytes = bytes;
    return r;
}

uint64_t archive_stream_total(const struct archive_stream *stream)
{
    return stream->is_zip ? stream->zip.total_size : 0;
}
