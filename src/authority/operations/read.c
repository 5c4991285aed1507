/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: bytes, text, JSON, and large files in pieces. */
#include "authority/internal.h"
#include "authority/secondnames.h"
#include "base/utf8.h"

enum {
    READ_STEP_BYTES = 1 << 20, /* between two looks at the token */
    PIECE_BYTES = 256 << 10,
};

/* Reads from `offset` up to `wanted` bytes, or to the end as it was when the file was opened. */
static int read_range(const struct operation *op, struct backend_file *file, uint64_t offset,
                      uint64_t wanted, struct buf *out)
{
    size_t before = out->len;

    while (wanted > 0) {
        size_t step = wanted < READ_STEP_BYTES ? (size_t)wanted : READ_STEP_BYTES;
        size_t got = 0;
        int r = buf_reserve(out, step);

        if (r == 0)
            r = operation_ops(op)->file_read(file, offset, out->data + out->len, step, &got);
        if (r == 0 && got < wanted)
            r = cancel_check(&op->cancel);
        if (r < 0) {
            out->len = before;
            return r;
        }
        if (got == 0)
            return 0;
        out->len += got;
        offset += got;
        wanted -= got;
    }
    return 0;
}

/* Apart, so that files of one name do not pay for its stack. */
__attribute__((noinline)) static int check_names(struct operation *op,
                                                 const struct authority_stat *about)
{
    struct secondnames names;
    struct err why = ERR_INIT;
    int r;

    secondnames_init(&names, op->scope, &op->cancel);
    r = secondnames_check(&names, about);
    secondnames_done(&names);
    if (r == ERR_HARDLINK_REJECTED) {
        (void)err_set(&why, r, SECONDNAMES_REFUSED);
        operation_explain(op, &why);
    }
    return r;
}

/*
 * Opens the file, and determines how much to read: no more than it had, so that a growing file does
 * not keep us reading.
 */
static int open_wanted(struct operation *op, const struct authority_read_options *options,
                       struct backend_file **out_file, struct authority_stat *out_stat,
                       uint64_t *out_wanted)
{
    uint64_t left;
    int r = operation_ops(op)->file_open(op->scope->root, &op->lookup, path_view(&op->name),
                                         out_file, out_stat);

    if (r == 0 && out_stat->links > 1) {
        r = check_names(op, out_stat);
        if (r < 0)
            operation_ops(op)->file_close(*out_file);
    }
    if (r < 0)
        return r;
    left = options->offset < out_stat->size ? out_stat->size - options->offset : 0;
    *out_wanted = options->max_bytes > 0 && options->max_bytes < left ? options->max_bytes : left;
    return 0;
}

static int read_into(struct operation *op, const struct authority_read_options *options,
                     struct buf *out)
{
    struct backend_file *file;
    struct authority_stat about;
    uint64_t left;
    int r = open_wanted(op, options, &file, &about, &left);

    if (r < 0)
        return r;
    /* Rather than read what will not fit: a sparse file costs nothing and has no end. */
    r = left <= out->max - out->len ? read_range(op, file, options->offset, left, out)
                                    : ERR_TOO_LARGE;
    operation_ops(op)->file_close(file);
    return r;
}

/* Sets *options to the defaults if none were given. */
static int begin_read(struct operation *op, struct authority_scope *scope, struct str name,
                      const struct authority_read_options **options)
{
    static const struct authority_read_options read_all = {0};
    int r;

    if (*options == NULL)
        *options = &read_all;
    scope = scope_of(scope, &name);
    r = operation_begin(op, scope,
                        &(struct operation_args){.operation = AUTHORITY_OP_READ,
                                                 .name = name,
                                                 .cancel = (*options)->cancel});
    /* Its names are checked once it is open. */
    op->lookup.allows_hardlinks = scope->allows_hardlinks || scope->reads_hardlinks;
    return r;
}

int authority_read_bytes(struct authority_scope *scope, struct str name,
                         const struct authority_read_options *options, struct buf *out,
                         struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    int r;

    r = begin_read(&op, scope, name, &options);
    if (r == 0)
        r = read_into(&op, options, out);
    return operation_end(&op, r, err);
}

int authority_read_text(struct authority_scope *scope, struct str name,
                        const struct authority_read_options *options, struct buf *out,
                        struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    size_t before = out->len;
    int r;

    r = begin_read(&op, scope, name, &options);
    if (r == 0)
        r = read_into(&op, options, out);
    if (r == 0 && !utf8_is_valid(str_slice(buf_view(out), before, out->len))) {
        out->len = before;
        r = ERR_INVALID_UTF8;
    }
    return operation_end(&op, r, err);
}

static int parse(struct arena *arena, struct str text, const struct json_value **out_document,
                 struct err *err)
{
    const char *kept = arena_copy(arena, text);

    if (kept == NULL)
        return err_set_plain(err, arena->error);
    return json_parse(arena, (struct str){kept, text.len}, JSON_LIMITS_DEFAULT, out_document, err);
}

int authority_read_json(struct authority_scope *scope, struct str name,
                        const struct authority_read_options *options, struct arena *arena,
                        const struct json_value **out_document, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(JSON_DEFAULT_MAX_BYTES);
    const struct json_value *document = NULL;
    __attribute__((uninitialized)) struct operation op;
    struct err why = ERR_INIT;
    int r;

    r = begin_read(&op, scope, name, &options);
    if (r == 0)
        r = read_into(&op, options, &text);
    if (r == 0) {
        r = parse(arena, buf_view(&text), &document, &why);
        operation_explain(&op, &why);
    }
    r = operation_end(&op, r, err);
    if (r == 0)
        *out_document = document;
    return r;
}

static int read_pieces(struct operation *op, const struct authority_read_options *options,
                       struct authority_stat *out_stat, authority_take_fn *take, void *data)
{
    cleanup_buf struct buf piece = BUF_INIT(PIECE_BYTES);
    uint64_t offset = options->offset;
    struct backend_file *file;
    struct authority_stat about;
    uint64_t left;
    int r = open_wanted(op, options, &file, &about, &left);

    if (r < 0)
        return r;
    if (out_stat != NULL)
        *out_stat = about;
    while (r == 0 && left > 0) {
        buf_clear(&piece);
        r = read_range(op, file, offset, left < PIECE_BYTES ? left : PIECE_BYTES, &piece);
        if (r < 0 || piece.len == 0) /* it has become shorter */
            break;
        offset += piece.len;
        left -= piece.len;
        r = take(data, buf_view(&piece));
        if (r == 0)
            r = cancel_check(&op->cancel);
    }
    operation_ops(op)->file_close(file);
    return r;
}

int authority_read_pieces(struct authority_scope *scope, struct str name,
                          const struct authority_read_options *options,
                          struct authority_stat *out_stat, authority_take_fn *take, void *data,
                          struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    int r;

    r = begin_read(&op, scope, name, &options);
    if (r == 0)
        r = read_pieces(&op, options, out_stat, take, data);
    return operation_end(&op, r, err);
}
