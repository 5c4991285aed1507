/* SPDX-License-Identifier: Apache-2.0 */
/* The public walk: the tree walk with the scope's globs and limits. */
#include "authority/walk.h"
#include "authority/internal.h"

struct walking {
    const struct operation *op;
    const struct authority_walk_options *options;
    authority_visit_fn *visit;
    void *data;
    uint64_t shown;
    bool is_full;
};

/* Checks the entry's name relative to the root, as the globs need it. */
static bool is_shown(const struct operation *op, const struct walk_entry *entry)
{
    const struct authority_scope *scope = op->scope;

    if (!scope_is_selective(scope))
        return !scope_is_private(entry->component);
    return scope_admits_below(scope, operation_resolved(op, path_view(&op->name)), entry->name,
                              entry->type == AUTHORITY_DIRECTORY, SCOPE_LOOK);
}

static int show(void *data, const struct walk_entry *entry)
{
    struct walking *walking = data;
    struct authority_entry shown = {
        .name = entry->name,
        .type = entry->type,
        .depth = entry->depth,
    };
    int r;

    if (!is_shown(walking->op, entry))
        return WALK_SKIP;
    if (walking->options->max_entries > 0 && walking->shown == walking->options->max_entries) {
        walking->is_full = true;
        return ERR_TOO_LARGE; /* ends the walk; not an error to the caller */
    }
    walking->shown++;
    if (walking->options->with_stat)
        shown.has_stat =
            operation_ops(walking->op)->dir_stat(entry->dir, entry->component, &shown.stat) == 0;
    r = walking->visit(walking->data, &shown);
    return r == AUTHORITY_WALK_SKIP ? WALK_SKIP : r;
}

int authority_walk(struct authority_scope *scope, struct str name,
                   const struct authority_walk_options *options, authority_visit_fn *visit,
                   void *data, struct err *err)
{
    static const struct authority_walk_options plain = {0};
    __attribute__((uninitialized)) struct operation op;
    struct walking walking = {.op = &op, .visit = visit, .data = data};
    struct walk_options how;
    struct backend_dir *dir;
    int r;

    walking.options = options != NULL ? options : &plain;
    scope = scope_of(scope, &name);
    r = operation_begin(&op, scope,
                        &(struct operation_args){.operation = AUTHORITY_OP_WALK,
                                                 .name = name,
                                                 .cancel = walking.options->cancel});
    if (r == 0)
        r = operation_ops(&op)->dir_open(scope->root, &op.lookup, path_view(&op.name), &dir);
    if (r == 0) {
        how = (struct walk_options){
            .max_depth =
                walking.options->max_depth > 0 && walking.options->max_depth < AUTHORITY_MAX_DEPTH
                    ? walking.options->max_depth
                    : AUTHORITY_MAX_DEPTH,
            .is_sorted = walking.options->is_sorted,
            .is_breadth_first = walking.options->is_breadth_first,
            .cancel = &op.cancel,
        };
        r = walk_tree(operation_ops(&op), dir, &how, show, &walking);
        if (walking.is_full)
            r = 0;
    }
    return operation_end(&op, r, err);
}
