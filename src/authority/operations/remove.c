/* SPDX-License-Identifier: Apache-2.0 */
/* Removing. What is denied by name is not removed, nor a directory that contains it. */
#include "authority/internal.h"
#include "authority/walk.h"

enum { REMOVE_MAX_ENTRIES = 1000000 };

struct removal {
    struct operation *op;
    struct backend_lookup lookup;
    struct path_name name; /* without links above it */
};

static int check_entry(void *data, const struct walk_entry *entry)
{
    const struct removal *removal = data;
    struct path_name name;

    if (path_join(path_view(&removal->name), entry->name, &name) < 0)
        return ERR_INVALID_PATH;
    return operation_check_change(removal->op, removal->op->scope, path_view(&name));
}

static int check_subtree(struct removal *removal)
{
    const struct operation *op = removal->op;
    const struct walk_options how = {
        .max_depth = AUTHORITY_MAX_DEPTH, .is_strict = true, .cancel = &op->cancel};
    struct backend_dir *dir;
    int r;

    if (!scope_is_selective(op->scope))
        return 0;
    /* A link at the end is removed itself, so its target does not matter. */
    r = operation_ops(op)->dir_open(op->scope->root, &removal->lookup, path_view(&removal->name),
                                    &dir);
    if (r == ERR_NOT_A_DIRECTORY || r == ERR_SYMLINK_REJECTED)
        return 0;
    return r < 0 ? r : walk_tree(operation_ops(op), dir, &how, check_entry, removal);
}

static enum backend_removal how_to(const struct authority_remove_options *options)
{
    if (!options->is_recursive)
        return BACKEND_REMOVE_ONE;
    return options->is_own ? BACKEND_REMOVE_OWN_TREE : BACKEND_REMOVE_TREE;
}

static int remove_one(struct operation *op, const struct authority_remove_options *options)
{
    uint64_t budget = options->max_entries > 0 ? options->max_entries : REMOVE_MAX_ENTRIES;
    __attribute__((uninitialized)) struct removal removal;
    int r;

    if (op->name.len == 0)
        return ERR_ROOT_PROTECTED;
    removal.op = op;
    removal.lookup = op->lookup;
    r = operation_pin(op, op->scope, &removal.lookup, path_view(&op->name), &removal.name);
    if (r == 0 && options->is_recursive)
        r = check_subtree(&removal);
    if (r < 0)
        return r;
    return operation_ops(op)->remove(op->scope->root, &removal.lookup, path_view(&removal.name),
                                     how_to(options), budget);
}

int authority_remove(struct authority_scope *scope, struct str name,
                     const struct authority_remove_options *options, struct err *err)
{
    static const struct authority_remove_options plain = {0};
    __attribute__((uninitialized)) struct operation op;
    int r;

    options = options != NULL ? options : &plain;
    scope = scope_of(scope, &name);
    r = operation_begin(&op, scope,
                        &(struct operation_args){.operation = AUTHORITY_OP_REMOVE,
                                                 .name = name,
                                                 .cancel = options->cancel});
    if (r == 0)
        r = remove_one(&op, options);
    if (r == ERR_NOT_FOUND && options->may_miss)
        r = 0;
    return operation_end(&op, r, err);
}

int authority_clean(struct authority_scope *scope, const struct cancel *cancel,
                    uint64_t *out_removed, struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    int r = operation_begin(
        &op, scope,
        &(struct operation_args){.operation = AUTHORITY_OP_REMOVE,
                                 .name = STR_EMPTY,
                                 .cancel = cancel,
                                 .reason = "remove what killed sessions left in the folder"});

    *out_removed = 0;
    if (r == 0 && operation_ops(&op)->clean != NULL)
        r = operation_ops(&op)->clean(scope->root, &op.cancel, out_removed);
    return operation_end(&op, r, err);
}
