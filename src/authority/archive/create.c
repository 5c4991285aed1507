/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/archive/internal.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

/* One directory on the path: where its name ends in packing.name. */
struct level {
    struct backend_dir *dir;
    size_t name_len;
};

struct packing {
    const struct backend_ops *ops;
    const struct backend_lookup *lookup;
    const struct archive_rules *rules;
    struct backend_stage *out;
    struct archive *writer;
    struct archive_entry *entry;
    char *block; /* ARCHIVE_BLOCK_BYTES */

    struct level *levels; /* [0] is the caller's */
    unsigned depth;
    size_t name_len;
    char name[PATH_MAX];

    struct authority_archive_result result;
    uint64_t written; /* of the archive */
    int error;        /* why a callback failed */
};

/* ---- Out ---- */

/*
 * Never fails: a writer that was told of a failure does not free its filters. Everything after the
 * first failure is dropped instead.
 */
static la_ssize_t on_write(struct archive *archive, void *data, const void *bytes, size_t len)
{
    struct packing *p = data;
    int r;

    (void)archive;
    if (p->error < 0)
        return (la_ssize_t)len;
    r = cancel_check(p->rules->cancel);
    if (r == 0 && len > p->rules->limits.archive_bytes - p->written)
        r = ERR_ARCHIVE_BYTES;
    if (r == 0)
        r = p->ops->stage_write(p->out, bytes, len);
    if (r == 0)
        p->written += len;
    p->error = r;
    return (la_ssize_t)len;
}

/* The error of the writer, or of its callback; 0 if there is none. */
static int writer_error(const struct packing *p, bool is_ok, struct err *err)
{
    const char *text = archive_error_string(p->writer);

    if (p->error < 0)
        return err_set_plain(err, p->error);
    if (is_ok)
        return 0;
    if (archive_errno(p->writer) == ENOMEM)
        return err_set_plain(err, ERR_NO_MEMORY);
    return err_set(err, ERR_INTERNAL, "cannot write the archive: %s",
                   text != NULL ? text : "no reason given");
}

static int set_format(struct archive *writer, enum authority_archive_format format)
{
    int r = ARCHIVE_OK;

    switch (format) {
    case AUTHORITY_TAR_GZ:
        r = archive_write_add_filter_gzip(writer);
        break;
    case AUTHORITY_TAR_XZ:
        r = archive_write_add_filter_xz(writer);
        break;
    case AUTHORITY_TAR_ZST:
        r = archive_write_add_filter_zstd(writer);
        break;
    case AUTHORITY_ZIP:
        r = archive_write_set_format_zip(writer);
        break;
    }
    if (r == ARCHIVE_OK && format != AUTHORITY_ZIP)
        r = archive_write_set_format_pax_restricted(writer);
    /* The same files give the same archive, whenever it is made. */
    if (r == ARCHIVE_OK && format == AUTHORITY_TAR_GZ)
        r = archive_write_set_filter_option(writer, "gzip", "timestamp", NULL);
    if (r == ARCHIVE_OK && format == AUTHORITY_ZIP)
        r = archive_write_set_format_option(writer, "zip", "hdrcharset", "UTF-8");
    return r;
}

static int open_writer(struct packing *p, enum authority_archive_format format, struct err *err)
{
    p->writer = archive_write_new();
    p->entry = archive_entry_new();
    p->block = malloc(ARCHIVE_BLOCK_BYTES);
    p->levels = calloc((size_t)p->rules->limits.depth + 1, sizeof(*p->levels));
    if (p->writer == NULL || p->entry == NULL || p->block == NULL || p->levels == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    return writer_error(p,
                        set_format(p->writer, format) == ARCHIVE_OK &&
                            archive_write_set_bytes_per_block(p->writer, ARCHIVE_BLOCK_BYTES) ==
                                ARCHIVE_OK &&
                            archive_write_set_bytes_in_last_block(p->writer, 1) == ARCHIVE_OK &&
                            archive_write_open(p->writer, p, NULL, on_write, NULL) == ARCHIVE_OK,
                        err);
}

static int write_header(struct packing *p, const struct authority_stat *stat, bool is_directory,
                        struct err *err)
{
    struct archive_entry *entry = archive_entry_clear(p->entry);
    bool is_executable = is_directory || (stat->mode & 0111) != 0;

    archive_entry_set_pathname(entry, p->name);
    archive_entry_set_filetype(entry, is_directory ? AE_IFDIR : AE_IFREG);
    archive_entry_set_perm(entry, is_executable ? 0755 : 0644);
    archive_entry_set_size(entry, is_directory ? 0 : (la_int64_t)stat->size);
    archive_entry_set_mtime(entry, (time_t)(stat->modified_ms / 1000), 0);
    return writer_error(p, archive_write_header(p->writer, entry) == ARCHIVE_OK, err);
}

/* ---- In ---- */

static struct str packed_name(const struct packing *p)
{
    return (struct str){p->name, p->name_len};
}

static int refuse(const struct packing *p, int code, struct err *err)
{
    return archive_refuse(err, code, packed_name(p), err_text(code));
}

static int copy_content(struct packing *p, struct backend_file *file, uint64_t size,
                        struct err *err)
{
    uint64_t done = 0;

    while (done < size) {
        size_t wanted =
            size - done < ARCHIVE_BLOCK_BYTES ? (size_t)(size - done) : (size_t)ARCHIVE_BLOCK_BYTES;
        size_t got = 0;
        int r = cancel_check(p->rules->cancel);

        if (r == 0)
            r = p->ops->file_read(file, done, p->block, wanted, &got);
        if (r < 0)
            return refuse(p, r, err);
        if (got == 0)
            return archive_refuse(err, ERR_IO, packed_name(p),
                                  "a file was truncated while it was being read");
        r = writer_error(p, archive_write_data(p->writer, p->block, got) == (la_ssize_t)got, err);
        if (r < 0)
            return r;
        done += got;
    }
    return 0;
}

static int check_size(const struct packing *p, uint64_t size)
{
    const struct archive_limits *limits = &p->rules->limits;

    /* The first also keeps it in what libarchive can count. */
    if (size > limits->entry_bytes || size > INT64_MAX)
        return ERR_ARCHIVE_BYTES;
    if (p->result.bytes > limits->total_bytes || size > limits->total_bytes - p->result.bytes)
        return ERR_ARCHIVE_BYTES;
    return 0;
}

static int pack_file(struct packing *p, struct backend_dir *dir, struct str component,
                     struct err *err)
{
    struct backend_file *file;
    struct authority_stat stat;
    int r;

    r = p->ops->dir_file_open(dir, p->lookup, component, &file, &stat);
    if (r < 0)
        return refuse(p, r, err);
    r = check_size(p, stat.size);
    if (r < 0)
        r = refuse(p, r, err);
    else
        r = write_header(p, &stat, false, err);
    if (r == 0)
        r = copy_content(p, file, stat.size, err);
    p->ops->file_close(file);
    if (r < 0)
        return r;
    p->result.files++;
    p->result.bytes += stat.size;
    return 0;
}

static int pack_directory(struct packing *p, struct backend_dir *dir, struct str component,
                          struct err *err)
{
    struct authority_stat stat;
    struct level *level;
    int r;

    if (p->depth >= p->rules->limits.depth)
        return refuse(p, ERR_ARCHIVE_DEPTH, err);
    r = p->ops->dir_stat(dir, component, &stat);
    if (r < 0)
        return refuse(p, r, err);
    r = write_header(p, &stat, true, err);
    if (r < 0)
        return r;
    level = &p->levels[p->depth + 1];
    r = p->ops->dir_open_below(dir, component, &level->dir);
    if (r < 0)
        return refuse(p, r, err);
    level->name_len = p->name_len;
    p->depth++;
    p->result.directories++;
    return 0;
}

/* Appends the component to the name of the directory being read. */
static int set_name(struct packing *p, struct str component)
{
    size_t parent = p->levels[p->depth].name_len;

    if (!utf8_is_valid(component))
        return ERR_ARCHIVE_ENTRY_PATH;
    if (component.len + 1 >= sizeof(p->name) - parent)
        return ERR_INVALID_PATH;
    if (parent > 0)
        p->name[parent++] = '/';
    memcpy(p->name + parent, component.ptr, component.len);
    p->name_len = parent + component.len;
    p->name[p->name_len] = '\0';
    return 0;
}

static int pack_one(struct packing *p, struct str component, enum authority_type type,
                    struct err *err)
{
    const struct archive_rules *rules = p->rules;
    struct backend_dir *dir = p->levels[p->depth].dir;
    /* The name lives in the directory that is read on meanwhile. */
    char copy[NAME_MAX + 1];
    int r;

    if (component.len > NAME_MAX)
        return archive_refuse(err, ERR_INVALID_PATH, component, err_text(ERR_INVALID_PATH));
    memcpy(copy, component.ptr, component.len);
    copy[component.len] = '\0';
    component.ptr = copy;
    if (type != AUTHORITY_FILE && type != AUTHORITY_DIRECTORY)
        return 0;
    r = set_name(p, component);
    if (r < 0)
        return archive_refuse(err, r, component, "a name cannot be stored in an archive");
    if (rules->admits != NULL &&
        !rules->admits(rules->context, packed_name(p), type == AUTHORITY_DIRECTORY))
        return 0;
    if (p->result.files + p->result.directories >= rules->limits.entries)
        return refuse(p, ERR_ARCHIVE_ENTRIES, err);
    if (type == AUTHORITY_DIRECTORY)
        return pack_directory(p, dir, component, err);
    if (p->depth >= rules->limits.depth)
        return refuse(p, ERR_ARCHIVE_DEPTH, err);
    return pack_file(p, dir, component, err);
}

static int pack_all(struct packing *p, struct err *err)
{
    while (true) {
        struct level *level = &p->levels[p->depth];
        struct str component;
        enum authority_type type;
        int r = cancel_check(p->rules->cancel);

        if (r < 0)
            return err_set_plain(err, r);
        if (p->ops->dir_next(level->dir, &component, &type, &r)) {
            r = pack_one(p, component, type, err);
            if (r < 0)
                return r;
            continue;
        }
        if (r < 0)
            return err_set_plain(err, r);
        if (p->depth == 0)
            return 0;
        p->ops->dir_close(level->dir);
        level->dir = NULL;
        p->depth--;
    }
}

static void packing_done(struct packing *p)
{
    for (; p->depth > 0; p->depth--)
        p->ops->dir_close(p->levels[p->depth].dir);
    free(p->levels);
    free(p->block);
    archive_entry_free(p->entry);
    /* Closes it if that has not happened; then there was an error, and this is not wanted. */
    if (p->error == 0)
        p->error = ERR_CANCELLED;
    archive_write_free(p->writer);
}

int archive_create(struct backend *backend, struct backend_dir *source,
                   const struct backend_lookup *lookup, struct backend_stage *out,
                   enum authority_archive_format format, const struct archive_rules *rules,
                   struct authority_archive_result *out_result, struct err *err)
{
    cleanup_archive_locale struct archive_locale locale;
    cleanup_with(packing_done) struct packing p = {
        .ops = backend->ops,
        .lookup = lookup,
        .rules = rules,
        .out = out,
    };
    int r;

    archive_locale_begin(&locale);
    r = open_writer(&p, format, err);
    if (r < 0)
        return r;
    p.levels[0].dir = source;
    r = pack_all(&p, err);
    if (r < 0)
        return r;
    r = writer_error(&p, archive_write_close(p.writer) == ARCHIVE_OK, err);
    if (r < 0)
        return r;
    *out_result = p.result;
    return 0;
}
