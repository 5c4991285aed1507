/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving, and copying from other scopes. A move is one rename if the kernel can do it and it gives
 * the destination nothing that a copy would have held back; else it is a copy that appears
 * complete, followed by the removal of the source, so that at any moment there is the old, or the
 * new, or both.
 */
#include "authority/operations/transfer_internal.h"
#include "authority/walk.h"

static const struct authority_move_options plain = {0};

/* Between scopes: whether the destination has no limits that only a copy would enforce. */
static bool may_rename(const struct transfer *transfer)
{
    const struct authority_scope *scope = transfer->op->scope;

    return transfer->options->may_rename && scope->max_file_bytes == 0 &&
           scope->grant.root.kind != AUTHORITY_ARTIFACT && transfer_mode_mask(transfer) == 0777;
}

/* ---- names below a directory ---- */

struct subtree_check {
    const struct transfer *transfer;
    bool asks_names;
    bool looks_for_set_id;
    bool has_set_id;
    uint64_t seen;
};

/* A program that others run with the rights of its owner does not change hands. */
static bool is_set_id(const struct authority_stat *about)
{
    return about->type == AUTHORITY_FILE && (about->mode & ~(unsigned)TRANSFER_FILE_MODE) != 0;
}

/*
 * What is denied by name stays where it is: neither it nor a directory that contains it is moved,
 * or it could get a name that is not denied.
 */
static int check_entry(void *data, const struct walk_entry *entry)
{
    struct subtree_check *check = data;
    const struct transfer *transfer = check->transfer;
    struct path_name name;
    int r;

    if (++check->seen > TRANSFER_MAX_ENTRIES)
        return ERR_TOO_LARGE;
    if (check->looks_for_set_id && !check->has_set_id && entry->type == AUTHORITY_FILE) {
        struct authority_stat about;

        r = operation_ops(transfer->op)->dir_stat(entry->dir, entry->component, &about);
        if (r < 0)
            return r;
        check->has_set_id = is_set_id(&about);
    }
    if (!check->asks_names)
        return 0;
    if (path_join(transfer->from, entry->name, &name) < 0)
        return ERR_INVALID_PATH;
    r = operation_check_change(transfer->op, transfer->source, path_view(&name));
    if (r < 0)
        return r;
    if (path_join(transfer->to, entry->name, &name) < 0)
        return ERR_INVALID_PATH;
    return operation_check_change(transfer->op, transfer->op->scope, path_view(&name));
}

/* *out_set_id, which may be NULL, tells whether there are set-id files in it. */
static int check_subtree(const struct transfer *transfer, bool *out_set_id)
{
    const struct backend_ops *ops = operation_ops(transfer->op);
    struct subtree_check check = {
        .transfer = transfer,
        .asks_names =
            scope_is_selective(transfer->source) || scope_is_selective(transfer->op->scope),
        .looks_for_set_id = out_set_id != NULL,
    };
    const struct walk_options how = {
        .max_depth = AUTHORITY_MAX_DEPTH, .is_strict = true, .cancel = &transfer->op->cancel};
    struct backend_dir *dir;
    int r;

    /*
     * What is renamed to another scope is always checked: a copy would have stopped at a mount, at
     * unreadable files and at limits.
     */
    if (!check.asks_names && (transfer->source == transfer->op->scope || !may_rename(transfer)))
        return 0;
    r = ops->dir_open(transfer->source->root, &transfer->source_lookup, transfer->from, &dir);
    if (r == ERR_NOT_A_DIRECTORY || r == ERR_SYMLINK_REJECTED)
        return 0; /* nothing below it */
    if (r < 0)
        return r;
    r = walk_tree(ops, dir, &how, check_entry, &check);
    if (out_set_id != NULL)
        *out_set_id = check.has_set_id;
    return r;
}

/* ---- moving ---- */

/*
 * Two roots may lead to one place: a file must not be copied over itself and then removed. And no
 * directory may replace something else.
 */
static int check_target(const struct transfer *transfer, const struct authority_stat *source)
{
    struct authority_stat target;
    int r = operation_ops(transfer->op)
                ->stat(transfer->op->scope->root, &transfer->lookup, transfer->to, &target);

    if (r < 0)
        return 0; /* missing, or the move itself reports the error */
    if (target.device == source->device && target.inode == source->inode)
        return ERR_INVALID_ARGUMENT;
    return source->type == AUTHORITY_DIRECTORY && target.type != AUTHORITY_DIRECTORY
               ? ERR_ALREADY_EXISTS
               : 0;
}

static int move_by_copying(struct transfer *transfer)
{
    const struct backend_ops *ops = operation_ops(transfer->op);
    struct authority_stat about;
    bool is_directory;
    int r = ops->stat(transfer->source->root, &transfer->source_lookup, transfer->from, &about);

    if (r == 0)
        r = check_target(transfer, &about);
    if (r < 0)
        return r;
    is_directory = about.type == AUTHORITY_DIRECTORY;
    r = is_directory ? transfer_copy_tree(transfer, about.mode) : transfer_copy_file(transfer);
    if (r == 0)
        r = transfer_check_unchanged(transfer, is_directory);
    if (r < 0)
        return r;
    return ops->remove(transfer->source->root, &transfer->source_lookup, transfer->from,
                       is_directory ? BACKEND_REMOVE_TREE : BACKEND_REMOVE_ONE,
                       TRANSFER_MAX_ENTRIES);
}

/*
 * The names below a directory were checked: if another one has taken its place since, it is moved
 * back. Files and links have nothing below.
 */
static int check_moved(const struct transfer *transfer, const struct authority_stat *source)
{
    const struct backend_ops *ops = operation_ops(transfer->op);
    struct backend_root *root = transfer->op->scope->root;
    struct authority_stat moved;

    if (ops->stat(root, &transfer->lookup, transfer->to, &moved) < 0 ||
        (source->type != AUTHORITY_DIRECTORY && moved.type != AUTHORITY_DIRECTORY) ||
        (moved.device == source->device && moved.inode == source->inode))
        return 0;
    (void)ops->rename(root, &transfer->lookup, transfer->to, transfer->source->root,
                      &transfer->source_lookup, transfer->from, false);
    return ERR_BUSY;
}

/* Moves to another scope, by a rename if possible. */
static int move_between(struct transfer *transfer)
{
    const struct backend_ops *ops = operation_ops(transfer->op);
    struct backend_lookup any_names = transfer->source_lookup;
    struct authority_stat source;
    bool has_set_id = false;
    bool is_directory;
    int r = ops->stat(transfer->source->root, &transfer->source_lookup, transfer->from, &source);

    if (r == 0)
        r = check_target(transfer, &source);
    if (r == 0)
        r = check_subtree(transfer, &has_set_id);
    if (r < 0)
        return r;
    if (has_set_id || is_set_id(&source))
        return transfer->options->only_renames ? ERR_CROSS_DEVICE : move_by_copying(transfer);
    is_directory = source.type == AUTHORITY_DIRECTORY;
    /* It is neither read nor written, so other names that a file has are no matter. */
    any_names.allows_hardlinks = true;
    /* As a copied one would, a directory goes onto an empty one; the system sees to "empty". */
    r = ops->rename(transfer->source->root, &any_names, transfer->from, transfer->op->scope->root,
                    &transfer->lookup, transfer->to,
                    is_directory || transfer->options->may_replace);
    /* A directory that may not be written to keeps its "..": it can still be copied and removed. */
    if (!transfer->options->only_renames &&
        (r == ERR_CROSS_DEVICE || (r == ERR_PERMISSION_DENIED && is_directory)))
        return move_by_copying(transfer);
    return r < 0 ? r : check_moved(transfer, &source);
}

static int move_within(struct transfer *transfer)
{
    int r = check_subtree(transfer, NULL);

    if (r < 0)
        return r;
    r = operation_ops(transfer->op)
            ->rename(transfer->source->root, &transfer->source_lookup, transfer->from,
                     transfer->op->scope->root, &transfer->lookup, transfer->to,
                     transfer->options->may_replace);
    return r == ERR_CROSS_DEVICE && !transfer->options->only_renames ? move_by_copying(transfer)
                                                                     : r;
}

static int move_once(void *data)
{
    struct transfer transfer = *(const struct transfer *)data;
    struct operation *op = transfer.op;
    __attribute__((uninitialized)) struct path_name from;
    __attribute__((uninitialized)) struct path_name to;
    int r;

    if (transfer.from.len == 0 || transfer.to.len == 0)
        return ERR_ROOT_PROTECTED;
    r = operation_pin(op, transfer.source, &transfer.source_lookup, transfer.from, &from);
    if (r == 0)
        r = operation_pin(op, op->scope, &transfer.lookup, transfer.to, &to);
    if (r < 0)
        return r;
    transfer.from = path_view(&from);
    transfer.to = path_view(&to);
    if (transfer.source == op->scope)
        return move_within(&transfer);
    if (may_rename(&transfer))
        return move_between(&transfer);
    if (transfer.options->only_renames)
        return ERR_CROSS_DEVICE;
    r = check_subtree(&transfer, NULL);
    return r < 0 ? r : move_by_copying(&transfer);
}

static int run(struct transfer *transfer, int (*once)(void *data))
{
    return transfer->options->make_parents
               ? operation_with_parents(transfer->op, transfer->to, once, transfer)
               : once(transfer);
}

/* Both ends in one scope. */
static int transfer_within(struct authority_scope *scope, struct str from, struct str to,
                           const struct authority_move_options *options,
                           enum authority_operation operation, int (*once)(void *data),
                           struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    int r;

    options = options != NULL ? options : &plain;
    r = operation_begin(
        &op, scope,
        &(struct operation_args){
            .operation = operation, .name = from, .destination = &to, .cancel = options->cancel});
    if (r == 0)
        r = run(&(struct transfer){.op = &op,
                                   .source = scope,
                                   .source_lookup = op.lookup,
                                   .lookup = operation_target_lookup(&op),
                                   .from = path_view(&op.name),
                                   .to = path_view(&op.destination),
                                   .options = options},
                once);
    return operation_end(&op, r, err);
}

/* ---- between scopes ---- */

/*
 * The source's side of a transfer is an operation of its own, with its own grant and audit record.
 */
static int transfer_in(struct authority_scope *scope, struct str to, struct authority_scope *source,
                       struct str from, const struct authority_move_options *options, bool is_move,
                       struct err *err)
{
    __attribute__((uninitialized)) struct operation source_op;
    __attribute__((uninitialized)) struct operation op;
    int r;

    options = options != NULL ? options : &plain;
    r = operation_begin(
        &source_op, source,
        &(struct operation_args){.operation = is_move ? AUTHORITY_OP_MOVE : AUTHORITY_OP_READ,
                                 .name = from,
                                 .cancel = options->cancel});
    if (r == 0 && source->authority != scope->authority)
        r = ERR_INVALID_ARGUMENT; /* it would be unclear which of the two records it */
    if (r < 0)
        return operation_end(&source_op, r, err);
    r = operation_begin(&op, scope,
                        &(struct operation_args){.operation = AUTHORITY_OP_COPY_IN,
                                                 .name = to,
                                                 /* Ends with either grant. */
                                                 .cancel = &source_op.cancel,
                                                 .via_artifact_call = true});
    if (r == 0) {
        struct transfer transfer = {.op = &op,
                                    .source = source,
                                    .source_lookup = source_op.lookup,
                                    .lookup = op.lookup,
                                    .from = path_view(&source_op.name),
                                    .to = path_view(&op.name),
                                    .options = options};

        r = run(&transfer, is_move ? move_once : transfer_copy_file);
    }
    r = operation_end(&op, r, err);
    (void)operation_end(&source_op, r, NULL);
    return r;
}

int authority_move(struct authority_scope *scope, struct str from, struct str to,
                   const struct authority_move_options *options, struct err *err)
{
    struct authority_move_options between = options != NULL ? *options : plain;
    struct authority_scope *source = scope_of(scope, &from);

    scope = scope_of(scope, &to);
    if (source == scope)
        return transfer_within(scope, from, to, options, AUTHORITY_OP_MOVE, move_once, err);
    /* As within one scope: it stays what it is. */
    between.may_rename = true;
    between.is_exact = true;
    return transfer_in(scope, to, source, from, &between, true, err);
}

int authority_copy(struct authority_scope *scope, struct str from, struct str to,
                   const struct authority_move_options *options, struct err *err)
{
    struct authority_scope *source = scope_of(scope, &from);

    scope = scope_of(scope, &to);
    return source == scope ? transfer_within(scope, from, to, options, AUTHORITY_OP_COPY,
                                             transfer_copy_file, err)
                           : transfer_in(scope, to, source, from, options, false, err);
}

int authority_copy_in(struct authority_scope *scope, struct str to, struct authority_scope *source,
                      struct str from, const struct authority_move_options *options,
                      struct err *err)
{
    scope = scope_of(scope, &to);
    source = scope_of(source, &from);
    return transfer_in(scope, to, source, from, options, false, err);
}

int authority_move_in(struct authority_scope *scope, struct str to, struct authority_scope *source,
                      struct str from, const struct authority_move_options *options,
                      struct err *err)
{
    scope = scope_of(scope, &to);
    source = scope_of(source, &from);
    return transfer_in(scope, to, source, from, options, true, err);
}

struct fd_copy {
    struct transfer transfer;
    struct backend_file *file;
    unsigned mode;
};

static int copy_fd_once(void *data)
{
    const struct fd_copy *copy = data;

    return transfer_copy_open_file(&copy->transfer, copy->file, copy->mode);
}

int authority_copy_in_fd(struct authority_scope *scope, struct str to, int fd,
                         const struct authority_move_options *options, struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    struct backend_file *file = NULL;
    struct authority_stat about;
    int r;

    options = options != NULL ? options : &plain;
    scope = scope_of(scope, &to);
    r = operation_begin(&op, scope,
                        &(struct operation_args){.operation = AUTHORITY_OP_COPY_IN,
                                                 .name = to,
                                                 .cancel = options->cancel,
                                                 .via_artifact_call = true});
    if (r == 0) {
        /* The host opened it, so its other names are the host's business. */
        struct backend_lookup lookup = {.allows_hardlinks = true,
                                        .max_file_bytes = scope->max_file_bytes};

        r = operation_ops(&op)->file_from_fd(scope->authority->backend, &lookup, fd, &file, &about);
    }
    if (r == 0) {
        struct fd_copy copy = {
            .transfer = {.op = &op,
                         .lookup = op.lookup,
                         .to = path_view(&op.name),
                         .options = options},
            .file = file,
        };

        copy.mode = transfer_copied_mode(&copy.transfer, about.mode);
        r = options->make_parents
                ? operation_with_parents(&op, copy.transfer.to, copy_fd_once, &copy)
                : copy_fd_once(&copy);
        operation_ops(&op)->file_close(file);
    }
    return operation_end(&op, r, err);
}
