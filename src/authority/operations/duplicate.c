/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of whole directories for somebody to work in: links stay links, times stay what they were,
 * and what cannot be copied is reported instead of ending it.
 */
#include "authority/operations/transfer_internal.h"
#include "authority/walk.h"

/* Of a file that is written to all the time. */
enum { MAX_TRIES = 3 };

struct duplicate {
    struct operation *op; /* of the destination */
    const struct operation *source_op;
    const struct authority_duplicate_options *options;
    struct backend_lookup target_lookup;
    struct backend_lookup lookup; /* inside the tree there is only what is put there */
    struct backend_root *tree;
    uint64_t seen;
    struct transfer_shut shut;
};

static void miss(void *data, struct str name, int code)
{
    const struct duplicate *duplicate = data;

    if (duplicate->options->missed != NULL)
        duplicate->options->missed(duplicate->options->data, name, code);
}

/* What is wrong with one file is no reason to give up; anything else is. */
static bool may_pass_over(int code)
{
    return code == ERR_PERMISSION_DENIED || code == ERR_NOT_REGULAR_FILE ||
           code == ERR_CROSSES_MOUNT || code == ERR_SYMLINK_REJECTED ||
           code == ERR_HARDLINK_REJECTED || code == ERR_TOO_LARGE || code == ERR_INVALID_PATH;
}

static bool is_wanted(const struct duplicate *duplicate, struct str name,
                      const struct authority_stat *about)
{
    return duplicate->options->admits == NULL ||
           duplicate->options->admits(duplicate->options->data, name, about);
}

static int tell(const struct duplicate *duplicate, const struct authority_duplicated *entry)
{
    return duplicate->options->copied != NULL
               ? duplicate->options->copied(duplicate->options->data, entry)
               : 0;
}

static bool is_same(const struct authority_stat *a, const struct authority_stat *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->changed_ns == b->changed_ns;
}

/* ---- one of each kind ---- */

static int copy_content(struct duplicate *duplicate, struct str name, struct backend_file *file,
                        struct authority_duplicated *entry)
{
    const struct backend_ops *ops = operation_ops(duplicate->op);
    unsigned mode = entry->from.mode & TRANSFER_FILE_MODE &
                    (kind_mode_mask(duplicate->op->scope->grant.root.kind) | 01000U);
    uint64_t budget = UINT64_MAX;
    struct backend_stage *stage;
    int r = ops->stage(duplicate->tree, &duplicate->lookup, name, BACKEND_CREATE_NEW, mode & 0777,
                       &stage);

    if (r < 0)
        return r;
    r = ops->stage_copy(stage, file, &budget);
    if (r == 0)
        r = ops->stage_dress(stage, mode, file);
    if (r == 0)
        r = ops->stage_date(stage, file, &entry->to);
    if (r < 0) {
        ops->stage_drop(stage);
        return r;
    }
    return ops->stage_publish(stage, false);
}

/* WALK_SKIP: the file is not wanted. ERR_BUSY: it was written to meanwhile. */
static int copy_file_once(struct duplicate *duplicate, const struct walk_entry *entry,
                          struct authority_duplicated *out_entry)
{
    const struct backend_ops *ops = operation_ops(duplicate->op);
    struct authority_stat after;
    struct backend_file *file;
    int r = ops->dir_file_open(entry->dir, &duplicate->source_op->lookup, entry->component, &file,
                               &out_entry->from);

    if (r < 0)
        return r;
    r = is_wanted(duplicate, entry->name, &out_entry->from)
            ? copy_content(duplicate, entry->name, file, out_entry)
            : WALK_SKIP;
    ops->file_close(file);
    if (r == 0 && ops->dir_stat(entry->dir, entry->component, &after) == 0 &&
        !is_same(&after, &out_entry->from))
        return ERR_BUSY;
    return r;
}

static int copy_file(struct duplicate *duplicate, const struct walk_entry *entry)
{
    const struct backend_ops *ops = operation_ops(duplicate->op);
    struct authority_duplicated copied = {.name = entry->name};
    int r = ERR_BUSY;

    for (int i = 0; i < MAX_TRIES && r == ERR_BUSY; i++) {
        if (i > 0)
            r = ops->remove(duplicate->tree, &duplicate->lookup, entry->name, BACKEND_REMOVE_ONE,
                            1);
        if (r == 0 || i == 0)
            r = copy_file_once(duplicate, entry, &copied);
    }
    /* What was seen before it was copied is told: whoever compares later finds it changed. */
    return r == 0 || r == ERR_BUSY ? tell(duplicate, &copied) : r;
}

static int copy_directory(struct duplicate *duplicate, const struct walk_entry *entry)
{
    const struct backend_ops *ops = operation_ops(duplicate->op);
    struct authority_duplicated copied = {.name = entry->name};
    unsigned mode;
    int r = ops->dir_stat(entry->dir, entry->component, &copied.from);

    if (r < 0)
        return r;
    if (!is_wanted(duplicate, entry->name, &copied.from))
        return WALK_SKIP;
    mode =
        copied.from.mode & 03777 & (kind_mode_mask(duplicate->op->scope->grant.root.kind) | 03000U);
    if ((mode & 0700) != 0700)
        r = transfer_shut_later(&duplicate->shut, entry->name, mode);
    if (r == 0)
        r = ops->mkdir(duplicate->tree, &duplicate->lookup, entry->name, mode | 0700, false);
    copied.to = copied.from;
    return r == 0 ? tell(duplicate, &copied) : r;
}

static int copy_link(struct duplicate *duplicate, const struct walk_entry *entry)
{
    const struct backend_ops *ops = operation_ops(duplicate->op);
    struct authority_duplicated copied = {.name = entry->name};
    int r = ops->dir_stat(entry->dir, entry->component, &copied.from);

    if (r < 0)
        return r;
    if (!is_wanted(duplicate, entry->name, &copied.from))
        return WALK_SKIP;
    r = ops->tree_link(duplicate->tree, entry->name, entry->dir, entry->component, &copied.from,
                       &copied.to);
    return r == 0 ? tell(duplicate, &copied) : r;
}

/* ---- all of it ---- */

static bool is_visible(const struct duplicate *duplicate, const struct walk_entry *entry)
{
    const struct operation *op = duplicate->source_op;

    if (scope_is_private(entry->component))
        return false;
    return !scope_is_selective(op->scope) ||
           scope_admits_below(op->scope, operation_resolved(op, path_view(&op->name)), entry->name,
                              entry->type == AUTHORITY_DIRECTORY, SCOPE_LOOK);
}

static bool may_be_created(const struct duplicate *duplicate, const struct walk_entry *entry)
{
    const struct operation *op = duplicate->op;

    return !scope_is_selective(op->scope) ||
           scope_admits_below(op->scope, operation_resolved(op, path_view(&op->name)), entry->name,
                              entry->type == AUTHORITY_DIRECTORY, SCOPE_CHANGE);
}

static int copy_kind(struct duplicate *duplicate, const struct walk_entry *entry)
{
    switch (entry->type) {
    case AUTHORITY_FILE:
        return copy_file(duplicate, entry);
    case AUTHORITY_DIRECTORY:
        return copy_directory(duplicate, entry);
    case AUTHORITY_SYMLINK:
        return copy_link(duplicate, entry);
    case AUTHORITY_OTHER:
        return ERR_NOT_REGULAR_FILE;
    }
    return ERR_INTERNAL;
}

static int copy_entry(void *data, const struct walk_entry *entry)
{
    struct duplicate *duplicate = data;
    int r;

    if (!is_visible(duplicate, entry))
        return WALK_SKIP;
    if (++duplicate->seen > TRANSFER_MAX_ENTRIES)
        return ERR_TOO_LARGE;
    r = may_be_created(duplicate, entry) ? copy_kind(duplicate, entry) : ERR_DENIED_BY_POLICY;
    /* It was there a moment ago. */
    if (r == ERR_NOT_FOUND)
        return WALK_SKIP;
    if (may_pass_over(r) || r == ERR_DENIED_BY_POLICY) {
        miss(duplicate, entry->name, r);
        return WALK_SKIP;
    }
    return r;
}

static int fill(struct duplicate *duplicate, struct backend_dir *dir)
{
    const struct backend_ops *ops = operation_ops(duplicate->op);
    const struct walk_options how = {
        .max_depth = AUTHORITY_MAX_DEPTH, .missed = miss, .cancel = &duplicate->op->cancel};
    int r;

    transfer_shut_init(&duplicate->shut);
    r = walk_tree(ops, dir, &how, copy_entry, duplicate);
    if (r == 0)
        r = transfer_shut_now(&duplicate->shut, ops, duplicate->tree);
    transfer_shut_done(&duplicate->shut);
    return r;
}

static int duplicate_once(void *data)
{
    struct duplicate *duplicate = data;
    const struct operation *source_op = duplicate->source_op;
    struct authority_scope *source = source_op->scope;
    struct authority_scope *scope = duplicate->op->scope;
    const struct backend_ops *ops = operation_ops(duplicate->op);
    struct str from = path_view(&source_op->name);
    struct authority_stat about;
    struct backend_dir *dir;
    int r = ops->stat(source->root, &source_op->lookup, from, &about);

    if (r == 0)
        r = ops->tree_stage(scope->root, &duplicate->target_lookup, path_view(&duplicate->op->name),
                            &duplicate->tree);
    if (r < 0)
        return r;
    r = ops->dir_open(source->root, &source_op->lookup, from, &dir);
    if (r == 0)
        r = fill(duplicate, dir);
    if (r < 0) {
        ops->tree_drop(duplicate->tree);
        return r;
    }
    return ops->tree_publish(duplicate->tree,
                             about.mode & 03777 & (kind_mode_mask(scope->grant.root.kind) | 03000U),
                             false);
}

static int duplicate_into(struct operation *op, const struct operation *source_op,
                          const struct authority_duplicate_options *options)
{
    struct duplicate duplicate = {
        .op = op,
        .source_op = source_op,
        .options = options,
        .target_lookup = operation_target_lookup(op),
        .lookup = {.max_file_bytes = op->scope->max_file_bytes, .cancel = &op->cancel}};

    return options->make_parents
               ? operation_with_parents(op, path_view(&op->name), duplicate_once, &duplicate)
               : duplicate_once(&duplicate);
}

int authority_duplicate(struct authority_scope *scope, struct str to,
                        struct authority_scope *source, struct str from,
                        const struct authority_duplicate_options *options, struct err *err)
{
    static const struct authority_duplicate_options plain = {0};
    __attribute__((uninitialized)) struct operation source_op;
    __attribute__((uninitialized)) struct operation op;
    int r;

    options = options != NULL ? options : &plain;
    scope = scope_of(scope, &to);
    source = scope_of(source, &from);
    r = operation_begin(&source_op, source,
                        &(struct operation_args){.operation = AUTHORITY_OP_READ,
                                                 .name = from,
                                                 .more_access = AUTHORITY_LIST,
                                                 .is_directory = true,
                                                 .cancel = options->cancel});
    if (r == 0 && source->authority != scope->authority)
        r = ERR_INVALID_ARGUMENT; /* it would be unclear which of the two records it */
    if (r < 0)
        return operation_end(&source_op, r, err);
    r = operation_begin(&op, scope,
                        &(struct operation_args){.operation = AUTHORITY_OP_COPY_IN,
                                                 .name = to,
                                                 /* Ends with either grant. */
                                                 .cancel = &source_op.cancel});
    if (r == 0)
        r = duplicate_into(&op, &source_op, options);
    r = operation_end(&op, r, err);
    (void)operation_end(&source_op, r, NULL);
    return r;
}
