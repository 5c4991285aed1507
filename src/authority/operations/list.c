/* SPDX-License-Identifier: Apache-2.0 */
/* Stat of one file, entries of one directory. */
#include "authority/internal.h"

enum { ENTRIES_BETWEEN_CHECKS = 64 }; /* about as many as a system call brings */

/* A name that is only allowed for directories reveals nothing else. */
static int look(const struct operation *op, struct authority_stat *out_stat)
{
    int r = operation_ops(op)->stat(op->scope->root, &op->lookup, path_view(&op->name), out_stat);

    if (r < 0 || out_stat->type == AUTHORITY_DIRECTORY)
        return r;
    if (!op->is_admitted ||
        (op->has_resolved && !scope_admits(op->scope, path_view(&op->resolved), SCOPE_LOOK)))
        return ERR_DENIED_BY_POLICY;
    return 0;
}

int authority_stat(struct authority_scope *scope, struct str name, struct authority_stat *out_stat,
                   struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    struct authority_stat about;
    int r;

    scope = scope_of(scope, &name);
    r = operation_begin(&op, scope,
                        &(struct operation_args){.operation = AUTHORITY_OP_STAT, .name = name});
    if (r == 0)
        r = look(&op, &about);
    if (r == 0)
        *out_stat = about;
    return operation_end(&op, r, err);
}

int authority_exists(struct authority_scope *scope, struct str name, bool *out_exists,
                     struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    struct authority_stat about;
    bool exists = true;
    int r;

    scope = scope_of(scope, &name);
    r = operation_begin(&op, scope,
                        &(struct operation_args){.operation = AUTHORITY_OP_STAT, .name = name});
    if (r == 0)
        r = look(&op, &about);
    if (r == ERR_NOT_FOUND || r == ERR_NOT_A_DIRECTORY) {
        exists = false;
        r = 0;
    }
    r = operation_end(&op, r, err);
    if (r == 0)
        *out_exists = exists;
    return r;
}

/* Checks what denies names at present, by the name relative to the root. */
static bool is_shown(const struct operation *op, const struct authority_entry *entry)
{
    if (!scope_is_selective(op->scope))
        return !scope_is_private(entry->name);
    return scope_admits_below(op->scope, operation_resolved(op, path_view(&op->name)), entry->name,
                              entry->type == AUTHORITY_DIRECTORY, SCOPE_LOOK);
}

static int list_entries(const struct operation *op, struct backend_dir *dir,
                        const struct authority_list_options *options, authority_visit_fn *visit,
                        void *data)
{
    const struct backend_ops *ops = operation_ops(op);
    struct authority_entry entry = {.depth = 1};
    uint64_t shown = 0;
    uint64_t seen = 0;
    int error = 0;

    while (ops->dir_next(dir, &entry.name, &entry.type, &error)) {
        int r = seen++ % ENTRIES_BETWEEN_CHECKS == 0 ? cancel_check(&op->cancel) : 0;

        if (r < 0)
            return r;
        if (!is_shown(op, &entry))
            continue;
        if (options->max_entries > 0 && shown == options->max_entries)
            return 0;
        shown++;
        if (options->with_stat)
            entry.has_stat = ops->dir_stat(dir, entry.name, &entry.stat) == 0;
        r = visit(data, &entry);
        if (r != 0)
            return r;
    }
    return error;
}

int authority_list(struct authority_scope *scope, struct str name,
                   const struct authority_list_options *options, authority_visit_fn *visit,
                   void *data, struct err *err)
{
    static const struct authority_list_options plain = {0};
    __attribute__((uninitialized)) struct operation op;
    struct backend_dir *dir;
    int r;

    options = options != NULL ? options : &plain;
    scope = scope_of(scope, &name);
    r = operation_begin(&op, scope,
                        &(struct operation_args){.operation = AUTHORITY_OP_LIST,
                                                 .name = name,
                                                 .cancel = options->cancel});
    if (r == 0)
        r = operation_ops(&op)->dir_open(scope->root, &op.lookup, path_view(&op.name), &dir);
    if (r == 0) {
        r = list_entries(&op, dir, options, visit, data);
        operation_ops(&op)->dir_close(dir);
    }
    return operation_end(&op, r, err);
}
