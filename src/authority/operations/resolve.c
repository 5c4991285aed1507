/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves a name, for callers that decide before something is done: the result has no links, and
 * is used in a scope that rejects them.
 */
#include "authority/internal.h"

#include <string.h>

/* For removing and renaming, a link at the end is the object itself. */
static bool keeps_last_link(enum authority_operation operation)
{
    return operation == AUTHORITY_OP_REMOVE || operation == AUTHORITY_OP_MOVE;
}

/* Resolves all links of an existing name. */
static int resolve_existing(struct operation *op, struct str name, struct path_name *out_name,
                            struct authority_stat *out_stat)
{
    struct authority_stat about;
    int r;

    op->has_resolved = false;
    r = operation_ops(op)->stat(op->scope->root, &op->lookup, name, &about);
    if (r < 0)
        return r;
    if (out_stat != NULL)
        *out_stat = about;
    return path_join(STR_EMPTY, operation_resolved(op, name), out_name);
}

/* Missing components at the end stay as given; the existing directory is resolved. */
static int resolve_missing(struct operation *op, struct str name, struct path_name *out_name)
{
    struct str above = name;
    struct path_name directory;

    for (;;) {
        struct str parent;
        struct str last;
        int r;

        path_split(above, &parent, &last);
        /* Out of something that is not there leads nowhere. */
        if (last.len == 0 || str_eq(last, STR("..")))
            return ERR_NOT_FOUND;
        above = (struct str){name.ptr, parent.len};
        /* Its own terminator: a backend's names have one. */
        r = path_join(STR_EMPTY, above, &directory);
        if (r == 0) {
            struct path_name given = directory;

            r = resolve_existing(op, path_view(&given), &directory, NULL);
        }
        if (r == 0)
            return path_join(path_view(&directory),
                             str_slice(name, parent.len + (parent.len > 0), name.len), out_name);
        if (r != ERR_NOT_FOUND)
            return r;
    }
}

/* Whether the name ends in "..", after which there is no link: then the whole name is resolved. */
static bool ends_above(struct str name)
{
    struct str parent;
    struct str last;

    path_split(name, &parent, &last);
    return str_eq(last, STR(".."));
}

static bool may_pass(void *data, struct str resolved)
{
    struct operation *op = data;

    op->has_resolved = path_join(STR_EMPTY, resolved, &op->resolved) == 0;
    return op->has_resolved && scope_admits_directory(op->scope, resolved, SCOPE_LOOK);
}

/* Also describes what would be removed or moved; a link there is not followed. */
static void look_at_last(struct operation *op, struct str name, struct authority_stat *out_stat)
{
    struct authority_stat about;

    op->lookup.follows_links = false;
    if (operation_ops(op)->stat(op->scope->root, &op->lookup, name, &about) == 0)
        *out_stat = about;
    op->lookup.follows_links = true;
}

static int resolve(struct operation *op, enum authority_operation operation,
                   struct path_name *out_name, struct authority_stat *out_stat)
{
    bool (*admits)(void *, struct str) = op->lookup.admits;
    struct str name = path_view(&op->name);
    int r;

    if (!op->lookup.follows_links || name.len == 0) {
        *out_name = op->name;
        return 0;
    }
    r = keeps_last_link(operation) && !ends_above(name)
            ? ERR_NOT_FOUND
            : resolve_existing(op, name, out_name, out_stat);
    if (r == ERR_NOT_FOUND) {
        op->lookup.admits = may_pass; /* only passed on the way */
        r = resolve_missing(op, name, out_name);
        op->lookup.admits = admits;
        if (r == 0 && !admits(op, path_view(out_name)))
            r = ERR_DENIED_BY_POLICY;
        if (r == 0 && out_stat != NULL && keeps_last_link(operation))
            look_at_last(op, path_view(out_name), out_stat);
    }
    return r;
}

/* With the first scope, the name leads back to this one. */
static int make_absolute(const struct authority_scope *scope, struct path_name *name)
{
    __attribute__((uninitialized)) struct path_name whole;
    int r = path_join(str_from(scope->real_path), path_view(name), &whole);

    if (r == 0)
        *name = whole;
    return r;
}

int authority_resolve(struct authority_scope *scope, enum authority_operation operation,
                      struct str name, char out_name[PATH_MAX], size_t *out_len,
                      struct authority_stat *out_stat, struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    __attribute__((uninitialized)) struct path_name found;
    struct authority_scope *first = scope;
    int r;

    scope = scope_of(scope, &name);
    r = operation_begin(
        &op, scope,
        &(struct operation_args){.operation = operation, .name = name, .is_question = true});
    found.len = 0;
    if (out_stat != NULL)
        *out_stat = (struct authority_stat){0};
    if (r == 0)
        r = resolve(&op, operation, &found, out_stat);
    if (r == 0 && found.len == 0 && keeps_last_link(operation))
        r = ERR_ROOT_PROTECTED;
    if (r == 0 && scope != first) {
        /* Its name does not tell that it is a root, so the caller may want to know that it exists.
         */
        if (found.len == 0 && out_stat != NULL)
            r = operation_ops(&op)->stat(scope->root, &op.lookup, STR_EMPTY, out_stat);
        if (r == 0)
            r = make_absolute(scope, &found);
    }
    r = operation_end(&op, r, err);
    if (r == 0) {
        memcpy(out_name, found.text, found.len + 1);
        *out_len = found.len;
    }
    return r;
}
