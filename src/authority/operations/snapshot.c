/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of whole directories at one moment, by the file system. The original is looked at before,
 * since a snapshot that turns out to be of no use takes long to remove; and the snapshot itself,
 * which nobody changes, decides what is in it.
 */
#include "authority/operations/transfer_internal.h"
#include "authority/walk.h"

struct snapshot {
    const struct operation *source_op;
    const struct authority_snapshot_options *options;
    struct backend_lookup lookup; /* inside the tree there is only what is put there */
    struct backend_root *tree;    /* NULL: the original is looked at */
    uint64_t seen;
};

static const struct backend_ops *ops_of(const struct snapshot *snapshot)
{
    return operation_ops(snapshot->source_op);
}

/* By its other names it would stay all the same. */
static int check_names(const struct snapshot *snapshot, const struct walk_entry *entry)
{
    struct authority_stat about;
    int r = ops_of(snapshot)->dir_stat(entry->dir, entry->component, &about);

    return r == 0 && about.links > 1 ? ERR_UNSUPPORTED : r;
}

static int leave_out(const struct snapshot *snapshot, const struct walk_entry *entry)
{
    const struct authority_snapshot_options *options = snapshot->options;
    int r = ops_of(snapshot)->remove(snapshot->tree, &snapshot->lookup, entry->name,
                                     BACKEND_REMOVE_ONE, 1);

    return r == 0 && options->left_out != NULL ? options->left_out(options->data, entry->name) : r;
}

static int look(void *data, const struct walk_entry *entry)
{
    struct snapshot *snapshot = data;
    int r;

    if (scope_is_private(entry->component) || entry->type == AUTHORITY_OTHER ||
        ++snapshot->seen > TRANSFER_MAX_ENTRIES)
        return ERR_UNSUPPORTED;
    if (entry->type == AUTHORITY_DIRECTORY ||
        snapshot->options->stays(snapshot->options->data, entry->name))
        return 0;
    r = check_names(snapshot, entry);
    if (r == ERR_NOT_FOUND && snapshot->tree == NULL)
        return 0; /* it was there a moment ago */
    return r < 0 || snapshot->tree == NULL ? r : leave_out(snapshot, entry);
}

/* Closes the directory. */
static int look_at_all(struct snapshot *snapshot, struct backend_dir *dir)
{
    const struct walk_options how = {.max_depth = AUTHORITY_MAX_DEPTH,
                                     .is_strict = true,
                                     .cancel = &snapshot->source_op->cancel};

    snapshot->seen = 0;
    return walk_tree(ops_of(snapshot), dir, &how, look, snapshot);
}

static int open_source(const struct snapshot *snapshot, struct backend_dir **out_dir)
{
    const struct operation *op = snapshot->source_op;
    const struct backend_ops *ops = ops_of(snapshot);
    struct backend_dir *dir;
    int r = ops->dir_open(op->scope->root, &op->lookup, path_view(&op->name), &dir);

    if (r < 0)
        return r;
    r = ops->dir_hold_own(dir);
    if (r < 0)
        ops->dir_close(dir);
    else
        *out_dir = dir;
    return r;
}

/* Or each file would have to be looked at. */
static bool takes_everything(const struct authority_scope *scope)
{
    return !scope_is_selective(scope) && scope->max_file_bytes == 0;
}

/* ERR_UNSUPPORTED unless a snapshot will do. */
static int check_source(struct snapshot *snapshot)
{
    struct backend_dir *dir;
    int r;

    if (ops_of(snapshot)->tree_snapshot == NULL || !takes_everything(snapshot->source_op->scope))
        return ERR_UNSUPPORTED;
    r = open_source(snapshot, &dir);
    if (r < 0)
        return r;
    if (snapshot->options->stays != NULL)
        return look_at_all(snapshot, dir);
    ops_of(snapshot)->dir_close(dir);
    return 0;
}

static int clear(struct snapshot *snapshot)
{
    const struct backend_ops *ops = ops_of(snapshot);
    struct backend_dir *dir;
    int r = ops->dir_open(snapshot->tree, &snapshot->lookup, STR_EMPTY, &dir);

    if (r < 0)
        return r;
    r = ops->dir_hold_own(dir);
    if (r == 0)
        return look_at_all(snapshot, dir);
    ops->dir_close(dir);
    return r;
}

static int take(struct snapshot *snapshot, const struct operation *op)
{
    const struct backend_ops *ops = ops_of(snapshot);
    const struct backend_lookup target = operation_target_lookup(op);
    unsigned mask = kind_mode_mask(op->scope->grant.root.kind) | 03000U;
    struct authority_stat about;
    struct backend_dir *dir;
    int r = ops->stat(snapshot->source_op->scope->root, &snapshot->source_op->lookup,
                      path_view(&snapshot->source_op->name), &about);

    if (r == 0)
        r = open_source(snapshot, &dir);
    if (r < 0)
        return r;
    r = ops->tree_snapshot(op->scope->root, &target, path_view(&op->name), dir, &snapshot->tree);
    ops->dir_close(dir);
    if (r < 0)
        return r;
    r = snapshot->options->stays != NULL ? clear(snapshot) : 0;
    if (r == 0)
        return ops->tree_publish(snapshot->tree, about.mode & 03777 & mask, false);
    ops->tree_drop(snapshot->tree);
    return r;
}

/* What a copy of each file gets over, or tells about in its own words. */
static bool is_for_copying(int code)
{
    return code == ERR_UNSUPPORTED || code == ERR_PERMISSION_DENIED || code == ERR_CROSSES_MOUNT ||
           code == ERR_TOO_LARGE || code == ERR_INVALID_PATH || code == ERR_NOT_FOUND;
}

static int take_into(struct authority_scope *scope, struct str to, struct snapshot *snapshot,
                     struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    int r = operation_begin(&op, scope,
                            &(struct operation_args){.operation = AUTHORITY_OP_COPY_IN,
                                                     .name = to,
                                                     /* Ends with either grant. */
                                                     .cancel = &snapshot->source_op->cancel});

    if (r == 0)
        r = takes_everything(scope) ? take(snapshot, &op) : ERR_UNSUPPORTED;
    return operation_end(&op, r, is_for_copying(r) ? NULL : err);
}

int authority_snapshot(struct authority_scope *scope, struct str to, struct authority_scope *source,
                       struct str from, const struct authority_snapshot_options *options,
                       bool *out_made, struct err *err)
{
    static const struct authority_snapshot_options plain = {0};
    __attribute__((uninitialized)) struct operation source_op;
    struct snapshot snapshot = {.source_op = &source_op,
                                .options = options != NULL ? options : &plain,
                                .lookup = {.cancel = &source_op.cancel}};
    int r;

    scope = scope_of(scope, &to);
    source = scope_of(source, &from);
    r = operation_begin(&source_op, source,
                        &(struct operation_args){.operation = AUTHORITY_OP_READ,
                                                 .name = from,
                                                 .more_access = AUTHORITY_LIST,
                                                 .is_directory = true,
                                                 .cancel = snapshot.options->cancel});
    if (r == 0 && source->authority != scope->authority)
        r = ERR_INVALID_ARGUMENT; /* it would be unclear which of the two records it */
    if (r == 0)
        r = check_source(&snapshot);
    if (r == 0) {
        r = take_into(scope, to, &snapshot, err);
        err = NULL; /* it has the reason */
    }
    *out_made = r == 0;
    return operation_end(&source_op, is_for_copying(r) ? 0 : r, err);
}
