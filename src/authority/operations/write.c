/* SPDX-License-Identifier: Apache-2.0 */
/* Writing: whole files, at once; appending; creating directories. */
#include "authority/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonwrite.h"
#include "base/utf8.h"

enum { JSON_FILE_MAX_BYTES = 64 << 20 };

static const struct authority_write_options write_plain = {0};

static enum backend_create create_of(enum authority_create create)
{
    switch (create) {
    case AUTHORITY_CREATE_OR_REPLACE:
        return BACKEND_CREATE_OR_REPLACE;
    case AUTHORITY_CREATE_NEW:
        return BACKEND_CREATE_NEW;
    case AUTHORITY_REPLACE_OLD:
        return BACKEND_REPLACE_OLD;
    }
    return BACKEND_CREATE_NEW;
}

/* ---- directories on the way ---- */

/*
 * Creates each directory above `name`, outermost first, skipping existing ones. *out_first is the
 * end of the first one created, even if a later one fails.
 */
static int make_parents(const struct operation *op, struct str name, size_t *out_first)
{
    const struct backend_lookup lookup =
        op->use == SCOPE_CHANGE ? op->lookup : operation_target_lookup(op);
    unsigned mode = kind_dir_mode(op->scope->grant.root.kind);

    *out_first = name.len;
    for (size_t end = 0; end < name.len; end++) {
        struct path_name parent;
        int r;

        if (name.ptr[end] != '/')
            continue;
        (void)path_join(STR_EMPTY, str_slice(name, 0, end), &parent);
        if (!scope_admits_directory(op->scope, path_view(&parent), SCOPE_CHANGE))
            return ERR_DENIED_BY_POLICY;
        r = operation_ops(op)->mkdir(op->scope->root, &lookup, path_view(&parent), mode, false);
        if (r < 0 && r != ERR_ALREADY_EXISTS)
            return r;
        if (r == 0 && *out_first == name.len)
            *out_first = end;
    }
    return 0;
}

/* Removes them innermost first, and only while they are empty. */
static void unmake_parents(const struct operation *op, struct str name, size_t first)
{
    struct backend_lookup lookup = op->lookup;

    lookup.cancel = NULL; /* cleaning up is not cancelled */
    for (size_t end = name.len; end-- > first;) {
        struct path_name parent;

        if (name.ptr[end] != '/')
            continue;
        (void)path_join(STR_EMPTY, str_slice(name, 0, end), &parent);
        (void)operation_ops(op)->remove(op->scope->root, &lookup, path_view(&parent),
                                        BACKEND_REMOVE_ONE, 1);
    }
}

static bool has_dotdot(struct str name)
{
    struct str rest = name;
    struct str part;

    while (str_cut(&rest, '/', &part))
        if (str_eq(part, STR("..")))
            return true;
    return false;
}

int operation_with_parents(const struct operation *op, struct str name, int (*once)(void *data),
                           void *data)
{
    size_t first;
    int r = once(data);

    /* What lies above a ".." depends on links; nothing is made, and so nothing unmade, there. */
    if (r != ERR_NOT_FOUND || has_dotdot(name))
        return r;
    r = make_parents(op, name, &first);
    if (r == 0)
        r = once(data);
    if (r < 0)
        unmake_parents(op, name, first);
    return r;
}

/* ---- files ---- */

struct writing {
    const struct operation *op;
    struct str bytes;
    const struct authority_write_options *options;
    unsigned mode;
};

/* The same file, unchanged. */
static bool is_unchanged(const struct authority_stat *then, const struct authority_stat *now)
{
    return now->device == then->device && now->inode == then->inode && now->size == then->size &&
           now->modified_ms == then->modified_ms && now->modified_ns == then->modified_ns &&
           now->changed_ns == then->changed_ns;
}

static int exchange(const struct backend_ops *ops, struct backend_stage *stage,
                    struct authority_exchange *wanted)
{
    int r = ops->stage_exchange(stage, wanted);

    if (r == 0 && wanted->expected != NULL && !is_unchanged(wanted->expected, &wanted->before))
        r = ERR_BUSY;
    return r;
}

static int write_once(void *data)
{
    const struct writing *writing = data;
    const struct operation *op = writing->op;
    const struct backend_ops *ops = operation_ops(op);
    struct backend_stage *stage;
    int r = ops->stage(op->scope->root, &op->lookup, path_view(&op->name),
                       create_of(writing->options->create), writing->mode, &stage);

    if (r < 0)
        return r;
    if (writing->options->exchange != NULL)
        r = exchange(ops, stage, writing->options->exchange);
    if (r == 0)
        r = ops->stage_write(stage, writing->bytes.ptr, writing->bytes.len);
    if (r < 0) {
        ops->stage_drop(stage);
        return r;
    }
    return ops->stage_publish(stage, !writing->options->is_unsynced);
}

static int append_once(void *data)
{
    const struct writing *writing = data;
    const struct operation *op = writing->op;

    return operation_ops(op)->append(op->scope->root, &op->lookup, path_view(&op->name),
                                     writing->bytes,
                                     writing->options->create != AUTHORITY_REPLACE_OLD,
                                     writing->mode, !writing->options->is_unsynced);
}

static int write_file(const struct operation *op, struct str bytes,
                      const struct authority_write_options *options, int (*once)(void *data))
{
    enum authority_root_kind kind = op->scope->grant.root.kind;
    struct writing writing = {
        .op = op,
        .bytes = bytes,
        .options = options,
        .mode = (options->mode != 0 ? options->mode : kind_file_mode(kind)) & kind_mode_mask(kind),
    };

    if (op->scope->max_file_bytes > 0 && bytes.len > op->scope->max_file_bytes)
        return ERR_TOO_LARGE;
    if (options->make_parents && options->create != AUTHORITY_REPLACE_OLD)
        return operation_with_parents(op, path_view(&op->name), once, &writing);
    return once(&writing);
}

/* How the bytes were made: a failure there is recorded like any other. */
enum made { MADE_BYTES, MADE_TEXT, MADE_ARTIFACT };

static int write_operation(struct authority_scope *scope, struct str name, struct str bytes,
                           const struct authority_write_options *options, enum made made,
                           int made_error, struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    int r;

    options = options != NULL ? options : &write_plain;
    scope = scope_of(scope, &name);
    r = operation_begin(
        &op, scope,
        &(struct operation_args){.operation = AUTHORITY_OP_WRITE,
                                 .name = name,
                                 .cancel = options->cancel,
                                 /* The old content is read as well as replaced. */
                                 .more_access = options->exchange != NULL ? AUTHORITY_READ : 0,
                                 .via_artifact_call = made == MADE_ARTIFACT});
    if (r == 0)
        r = made_error;
    if (r == 0 && made == MADE_TEXT && !utf8_is_valid(bytes))
        r = ERR_INVALID_UTF8;
    if (r == 0 && options->exchange != NULL && options->create != AUTHORITY_REPLACE_OLD)
        r = ERR_INVALID_ARGUMENT;
    if (r == 0)
        r = write_file(&op, bytes, options, write_once);
    return operation_end(&op, r, err);
}

/* ---- several files at once ---- */

struct replacing {
    struct operation op;
    struct backend_stage *stage; /* NULL: none yet, or published */
    bool has_begun;
};

static int stage_one(struct replacing *one, struct authority_scope *first,
                     struct authority_replacement *file, const struct cancel *cancel)
{
    struct str name = file->name;
    struct authority_scope *scope = scope_of(first, &name);
    const struct operation_args args = {.operation = AUTHORITY_OP_WRITE,
                                        .name = name,
                                        .cancel = cancel,
                                        .more_access = AUTHORITY_READ};
    const struct operation *op = &one->op;
    enum authority_root_kind kind = scope->grant.root.kind;
    int r = operation_begin(&one->op, scope, &args);

    one->has_begun = true;
    if (r == 0 && file->exchange.expected == NULL)
        r = ERR_INVALID_ARGUMENT;
    if (r == 0 && scope->max_file_bytes > 0 && file->content.len > scope->max_file_bytes)
        r = ERR_TOO_LARGE;
    if (r == 0)
        r = operation_ops(op)->stage(scope->root, &op->lookup, path_view(&op->name),
                                     BACKEND_REPLACE_OLD,
                                     kind_file_mode(kind) & kind_mode_mask(kind), &one->stage);
    if (r == 0)
        r = exchange(operation_ops(op), one->stage, &file->exchange);
    if (r == 0)
        r = operation_ops(op)->stage_write(one->stage, file->content.ptr, file->content.len);
    return r;
}

static int publish_all(const struct backend_ops *ops, struct replacing *all, size_t count,
                       size_t *out_at)
{
    struct backend_stage *stages[AUTHORITY_MAX_REPLACEMENTS];

    for (size_t i = 0; i < count; i++)
        stages[i] = steal_ptr(&all[i].stage);
    return ops->stage_publish_all(stages, count, true, out_at);
}

int authority_replace_all(struct authority_scope *scope, struct authority_replacement *files,
                          size_t count, const struct cancel *cancel, size_t *out_at,
                          struct err *err)
{
    const struct backend_ops *ops = scope->authority->backend->ops;
    cleanup_free struct replacing *all = NULL;
    size_t at = 0;
    int r = 0;

    if (count == 0 || count > AUTHORITY_MAX_REPLACEMENTS)
        return err_set_plain(err, ERR_INVALID_ARGUMENT);
    all = calloc(count, sizeof(*all));
    if (all == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    for (size_t i = 0; r == 0 && i < count; i++) {
        at = i;
        r = stage_one(&all[i], scope, &files[i], cancel);
    }
    if (r == 0)
        r = publish_all(ops, all, count, &at);
    for (size_t i = 0; i < count && all[i].has_begun; i++) {
        ops->stage_drop(all[i].stage);
        /* Of those that could have been replaced, the record says no more than that. */
        (void)operation_end(&all[i].op, r < 0 && i != at ? ERR_CANCELLED : r, i == at ? err : NULL);
    }
    *out_at = at;
    return r;
}

int authority_write_bytes(struct authority_scope *scope, struct str name, struct str bytes,
                          const struct authority_write_options *options, struct err *err)
{
    return write_operation(scope, name, bytes, options, MADE_BYTES, 0, err);
}

int authority_write_text(struct authority_scope *scope, struct str name, struct str text,
                         const struct authority_write_options *options, struct err *err)
{
    return write_operation(scope, name, text, options, MADE_TEXT, 0, err);
}

int authority_write_artifact(struct authority_scope *scope, struct str name, struct str bytes,
                             const struct authority_write_options *options, struct err *err)
{
    return write_operation(scope, name, bytes, options, MADE_ARTIFACT, 0, err);
}

int authority_write_json(struct authority_scope *scope, struct str name,
                         const struct json_value *document,
                         const struct authority_write_options *options, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(JSON_FILE_MAX_BYTES);
    struct json_writer writer;
    int r;

    json_writer_init(&writer, &text);
    json_writer_set_pretty(&writer);
    json_write_value(&writer, document);
    r = json_writer_finish(&writer);
    if (r == 0)
        r = buf_append_char(&text, '\n');
    return write_operation(scope, name, buf_view(&text), options, MADE_TEXT, r, err);
}

int authority_append(struct authority_scope *scope, struct str name, struct str bytes,
                     const struct authority_write_options *options, struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    int r;

    options = options != NULL ? options : &write_plain;
    scope = scope_of(scope, &name);
    r = operation_begin(&op, scope,
                        &(struct operation_args){.operation = AUTHORITY_OP_APPEND,
                                                 .name = name,
                                                 .cancel = options->cancel});
    if (r == 0 && options->exchange != NULL)
        r = ERR_INVALID_ARGUMENT; /* nothing is replaced */
    if (r == 0)
        r = write_file(&op, bytes, options,
                       options->create == AUTHORITY_CREATE_NEW ? write_once : append_once);
    return operation_end(&op, r, err);
}

static int mkdir_once(void *data)
{
    const struct operation *op = data;

    return operation_ops(op)->mkdir(op->scope->root, &op->lookup, path_view(&op->name),
                                    kind_dir_mode(op->scope->grant.root.kind), true);
}

int authority_mkdir(struct authority_scope *scope, struct str name,
                    const struct authority_mkdir_options *options, struct err *err)
{
    static const struct authority_mkdir_options plain = {0};
    __attribute__((uninitialized)) struct operation op;
    struct authority_stat about;
    int r;

    options = options != NULL ? options : &plain;
    scope = scope_of(scope, &name);
    r = operation_begin(&op, scope,
                        &(struct operation_args){.operation = AUTHORITY_OP_MKDIR,
                                                 .name = name,
                                                 .cancel = options->cancel});
    if (r == 0)
        r = options->make_parents
                ? operation_with_parents(&op, path_view(&op.name), mkdir_once, &op)
                : mkdir_once(&op);
    /* What exists must be a directory, or it is not what was asked for. */
    if (r == ERR_ALREADY_EXISTS && options->may_exist &&
        operation_ops(&op)->stat(scope->root, &op.lookup, path_view(&op.name), &about) == 0 &&
        about.type == AUTHORITY_DIRECTORY)
        r = 0;
    return operation_end(&op, r, err);
}
