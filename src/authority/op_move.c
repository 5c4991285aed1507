/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving and copying. A move is one rename where the kernel can; across file
 * systems it is a copy that appears whole, and then the removal of the source,
 * so that at any moment there is the old, or the new, or both.
 */
#include "authority/internal.h"
#include "authority/walk.h"
#include "base/hash.h"

enum { MOVE_MAX_ENTRIES = 1000000 };

static const struct authority_move_options plain = {0};

/* Both ends of a copy or move: names in two scopes that may be one and the same. */
struct transfer {
    struct operation *op; /* of the destination */
    struct authority_scope *source;
    struct backend_lookup source_lookup;
    struct backend_lookup lookup; /* of the destination */
    struct str from;
    struct str to;
    const struct authority_move_options *options;
    uint64_t copied; /* fingerprint of what was */
};

/* ---- names below a directory ---- */

struct subtree_check {
    const struct transfer *transfer;
    uint64_t seen;
};

/*
 * What is denied by its name stays where it is: neither it nor what holds it is
 * moved, or it could come out under a name that is not denied.
 */
static int check_entry(void *data, const struct walk_entry *entry)
{
    struct subtree_check *check = data;
    const struct transfer *transfer = check->transfer;
    struct path_name name;

    if (++check->seen > MOVE_MAX_ENTRIES)
        return ERR_TOO_LARGE;
    if (path_join(transfer->from, entry->name, &name) < 0)
        return ERR_INVALID_PATH;
    if (!scope_admits(transfer->source, path_view(&name)))
        return ERR_DENIED_BY_POLICY;
    if (path_join(transfer->to, entry->name, &name) < 0)
        return ERR_INVALID_PATH;
    return scope_admits(transfer->op->scope, path_view(&name)) ? 0 : ERR_DENIED_BY_POLICY;
}

static int check_subtree(const struct transfer *transfer)
{
    const struct backend_ops *ops = operation_ops(transfer->op);
    struct subtree_check check = {.transfer = transfer};
    const struct walk_options how = {
        .max_depth = AUTHORITY_MAX_DEPTH, .is_strict = true, .cancel = &transfer->op->cancel};
    struct backend_dir *dir;
    int r;

    if (!scope_has_globs(transfer->source) && !scope_has_globs(transfer->op->scope))
        return 0;
    r = ops->dir_open(transfer->source->root, &transfer->source_lookup, transfer->from, &dir);
    if (r == ERR_NOT_A_DIRECTORY || r == ERR_SYMLINK_REJECTED)
        return 0; /* nothing below it */
    if (r < 0)
        return r;
    return walk_tree(ops, dir, &how, check_entry, &check);
}

/* ---- copying ---- */

static int copy_open_file(const struct transfer *transfer, struct backend_file *file, unsigned mode)
{
    const struct backend_ops *ops = operation_ops(transfer->op);
    struct backend_stage *stage;
    int r =
        ops->stage(transfer->op->scope->root, &transfer->lookup, transfer->to,
                   transfer->options->may_replace ? BACKEND_CREATE_OR_REPLACE : BACKEND_CREATE_NEW,
                   mode, &stage);

    if (r < 0)
        return r;
    r = ops->stage_copy(stage, file);
    if (r < 0) {
        ops->stage_drop(stage);
        return r;
    }
    return ops->stage_publish(stage, true);
}

/*
 * What was copied, so that a move removes nothing else: combined over a tree
 * without regard to order. A file that is written, replaced or added changes it.
 */
static uint64_t fingerprint(struct str name, const struct authority_stat *about)
{
    const uint64_t facts[] = {
        hash_str(hash_process_key(), name),
        about->device,
        about->inode,
        about->type == AUTHORITY_FILE ? about->size : 0,
        about->type == AUTHORITY_FILE ? about->changed_ns : 0,
    };

    return hash_str(hash_process_key(), (struct str){(const char *)facts, sizeof(facts)});
}

static unsigned copied_mode(const struct transfer *transfer, unsigned mode)
{
    unsigned usual = kind_file_mode(transfer->op->scope->grant.root.kind);

    /* What was private stays so, executable stays executable; set-id bits do not travel. */
    return mode & (usual | (usual & 0444) >> 2);
}

static int copy_file(void *data)
{
    struct transfer *transfer = data;
    const struct backend_ops *ops = operation_ops(transfer->op);
    struct backend_file *file;
    struct authority_stat about;
    int r = ops->file_open(transfer->source->root, &transfer->source_lookup, transfer->from, &file,
                           &about);

    if (r < 0)
        return r;
    r = copy_open_file(transfer, file, copied_mode(transfer, about.mode));
    ops->file_close(file);
    transfer->copied = fingerprint(STR_EMPTY, &about);
    return r;
}

struct tree_copy {
    const struct transfer *transfer;
    struct backend_root *tree;
    struct backend_lookup lookup;
    uint64_t seen;
    uint64_t copied;
};

static int copy_tree_file(struct tree_copy *copy, const struct walk_entry *entry)
{
    const struct backend_ops *ops = operation_ops(copy->transfer->op);
    struct backend_stage *stage;
    struct backend_file *file;
    struct authority_stat about;
    int r = ops->dir_file_open(entry->dir, &copy->transfer->source_lookup, entry->component, &file,
                               &about);

    if (r < 0)
        return r;
    r = ops->stage(copy->tree, &copy->lookup, entry->name, BACKEND_CREATE_NEW,
                   about.mode & kind_mode_mask(copy->transfer->op->scope->grant.root.kind), &stage);
    if (r == 0) {
        r = ops->stage_copy(stage, file);
        if (r == 0)
            r = ops->stage_publish(stage, false);
        else
            ops->stage_drop(stage);
    }
    ops->file_close(file);
    copy->copied ^= fingerprint(entry->name, &about);
    return r;
}

static int copy_tree_entry(void *data, const struct walk_entry *entry)
{
    struct tree_copy *copy = data;
    struct authority_stat about;
    int r;

    if (++copy->seen > MOVE_MAX_ENTRIES)
        return ERR_TOO_LARGE;
    switch (entry->type) {
    case AUTHORITY_FILE:
        return copy_tree_file(copy, entry);
    case AUTHORITY_DIRECTORY:
        r = operation_ops(copy->transfer->op)->dir_stat(entry->dir, entry->component, &about);
        if (r < 0)
            return r;
        copy->copied ^= fingerprint(entry->name, &about);
        return operation_ops(copy->transfer->op)
            ->mkdir(copy->tree, &copy->lookup, entry->name,
                    about.mode & kind_mode_mask(copy->transfer->op->scope->grant.root.kind), false);
    case AUTHORITY_SYMLINK:
        return ERR_SYMLINK_REJECTED; /* what it would mean over there is anybody's guess */
    case AUTHORITY_OTHER:
        return ERR_NOT_REGULAR_FILE;
    }
    return ERR_INTERNAL;
}

static int copy_tree(struct transfer *transfer, unsigned mode)
{
    const struct backend_ops *ops = operation_ops(transfer->op);
    const struct walk_options how = {
        .max_depth = AUTHORITY_MAX_DEPTH, .is_strict = true, .cancel = &transfer->op->cancel};
    struct tree_copy copy = {.transfer = transfer,
                             .lookup = {.max_file_bytes = transfer->lookup.max_file_bytes,
                                        .cancel = &transfer->op->cancel}};
    struct backend_dir *dir;
    int r = ops->dir_open(transfer->source->root, &transfer->source_lookup, transfer->from, &dir);

    if (r < 0)
        return r;
    r = ops->tree_stage(transfer->op->scope->root, &transfer->lookup, transfer->to, &copy.tree);
    if (r < 0) {
        ops->dir_close(dir);
        return r;
    }
    r = walk_tree(ops, dir, &how, copy_tree_entry, &copy);
    if (r < 0) {
        ops->tree_drop(copy.tree);
        return r;
    }
    transfer->copied = copy.copied;
    return ops->tree_publish(copy.tree, mode & kind_mode_mask(transfer->op->scope->grant.root.kind),
                             true);
}

/* ---- moving ---- */

/* Two roots may lead to one place: a file is not copied over itself and then removed. */
static int check_distinct(const struct transfer *transfer, const struct authority_stat *source)
{
    struct authority_stat target;
    int r = operation_ops(transfer->op)
                ->stat(transfer->op->scope->root, &transfer->lookup, transfer->to, &target);

    if (r == 0 && target.device == source->device && target.inode == source->inode)
        return ERR_INVALID_ARGUMENT;
    return 0;
}

struct looking_again {
    const struct backend_ops *ops;
    uint64_t found;
};

static int look_again(void *data, const struct walk_entry *entry)
{
    struct looking_again *looking = data;
    struct authority_stat about;
    int r = looking->ops->dir_stat(entry->dir, entry->component, &about);

    if (r == 0)
        looking->found ^= fingerprint(entry->name, &about);
    return r;
}

/* ERR_BUSY when the source is not what was copied any more: then both stay. */
static int check_unchanged(const struct transfer *transfer, bool is_directory)
{
    const struct walk_options how = {
        .max_depth = AUTHORITY_MAX_DEPTH, .is_strict = true, .cancel = &transfer->op->cancel};
    struct looking_again looking = {.ops = operation_ops(transfer->op)};
    struct authority_stat about;
    struct backend_dir *dir;
    int r;

    if (is_directory) {
        r = looking.ops->dir_open(transfer->source->root, &transfer->source_lookup, transfer->from,
                                  &dir);
        if (r == 0)
            r = walk_tree(looking.ops, dir, &how, look_again, &looking);
    } else {
        r = looking.ops->stat(transfer->source->root, &transfer->source_lookup, transfer->from,
                              &about);
        if (r == 0)
            looking.found = fingerprint(STR_EMPTY, &about);
    }
    if (r < 0)
        return r;
    return looking.found == transfer->copied ? 0 : ERR_BUSY;
}

static int move_by_copying(struct transfer *transfer)
{
    const struct backend_ops *ops = operation_ops(transfer->op);
    struct authority_stat about;
    bool is_directory;
    int r = ops->stat(transfer->source->root, &transfer->source_lookup, transfer->from, &about);

    if (r == 0)
        r = check_distinct(transfer, &about);
    if (r < 0)
        return r;
    is_directory = about.type == AUTHORITY_DIRECTORY;
    r = is_directory ? copy_tree(transfer, about.mode) : copy_file(transfer);
    if (r == 0)
        r = check_unchanged(transfer, is_directory);
    if (r < 0)
        return r;
    return ops->remove(transfer->source->root, &transfer->source_lookup, transfer->from,
                       is_directory, MOVE_MAX_ENTRIES);
}

static int move_once(void *data)
{
    struct transfer transfer = *(const struct transfer *)data;
    const struct operation *op = transfer.op;
    __attribute__((uninitialized)) struct path_name from;
    __attribute__((uninitialized)) struct path_name to;
    int r;

    if (transfer.from.len == 0 || transfer.to.len == 0)
        return ERR_ROOT_PROTECTED;
    r = operation_pin(transfer.source, &transfer.source_lookup, transfer.from, &from);
    if (r == 0)
        r = operation_pin(op->scope, &transfer.lookup, transfer.to, &to);
    if (r < 0)
        return r;
    transfer.from = path_view(&from);
    transfer.to = path_view(&to);
    r = check_subtree(&transfer);
    if (r < 0)
        return r;
    /* Another scope has limits of its own, which a copy keeps and a rename would not. */
    if (transfer.source != op->scope)
        return move_by_copying(&transfer);
    r = operation_ops(op)->rename(transfer.source->root, &transfer.source_lookup, transfer.from,
                                  op->scope->root, &transfer.lookup, transfer.to,
                                  transfer.options->may_replace);
    return r == ERR_CROSS_DEVICE ? move_by_copying(&transfer) : r;
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
                                   .lookup = op.lookup,
                                   .from = path_view(&op.name),
                                   .to = path_view(&op.destination),
                                   .options = options},
                once);
    return operation_end(&op, r, err);
}

int authority_move(struct authority_scope *scope, struct str from, struct str to,
                   const struct authority_move_options *options, struct err *err)
{
    return transfer_within(scope, from, to, options, AUTHORITY_OP_MOVE, move_once, err);
}

int authority_copy(struct authority_scope *scope, struct str from, struct str to,
                   const struct authority_move_options *options, struct err *err)
{
    return transfer_within(scope, from, to, options, AUTHORITY_OP_COPY, copy_file, err);
}

/* ---- between scopes ---- */

/* The source's side of a transfer is an operation of its own, with its own grant and record. */
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
        r = ERR_INVALID_ARGUMENT; /* nobody could say which of the two records it */
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

        r = run(&transfer, is_move ? move_once : copy_file);
    }
    r = operation_end(&op, r, err);
    (void)operation_end(&source_op, r, NULL);
    return r;
}

int authority_copy_in(struct authority_scope *scope, struct str to, struct authority_scope *source,
                      struct str from, const struct authority_move_options *options,
                      struct err *err)
{
    return transfer_in(scope, to, source, from, options, false, err);
}

int authority_move_in(struct authority_scope *scope, struct str to, struct authority_scope *source,
                      struct str from, const struct authority_move_options *options,
                      struct err *err)
{
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

    return copy_open_file(&copy->transfer, copy->file, copy->mode);
}

int authority_copy_in_fd(struct authority_scope *scope, struct str to, int fd,
                         const struct authority_move_options *options, struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    struct backend_file *file = NULL;
    struct authority_stat about;
    int r;

    options = options != NULL ? options : &plain;
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

        copy.mode = copied_mode(&copy.transfer, about.mode);
        r = options->make_parents
                ? operation_with_parents(&op, copy.transfer.to, copy_fd_once, &copy)
                : copy_fd_once(&copy);
        operation_ops(&op)->file_close(file);
    }
    return operation_end(&op, r, err);
}
