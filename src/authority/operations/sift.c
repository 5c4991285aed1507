/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all files of a tree as one operation: checked once, recorded once. */
#include "authority/sift.h"

/* Reads the ignore rules of all directories above the start, without its own. */
static int read_rules_above(const struct sift *sift, struct ignore_layer **layer)
{
    struct str rest = sift->base;
    size_t len = 0;
    int r = 0;

    while (r == 0 && rest.len > 0) {
        struct path_name directory;

        r = path_join(STR_EMPTY, str_slice(sift->base, 0, len), &directory);
        if (r == 0)
            r = sift_read_rules(sift, path_view(&directory), layer);
        (void)path_take(&rest);
        len = rest.len > 0 ? (size_t)(rest.ptr - sift->base.ptr) - 1 : sift->base.len;
    }
    return r;
}

/* Rules that cannot be used are reported and no reason to stop. */
static int run(const struct sift *sift)
{
    cleanup_ignore_layer struct ignore_layer *layer = NULL;

    if (sift->options->heeds_ignore_files) {
        int r = read_rules_above(sift, &layer);

        if (r == ERR_NO_MEMORY)
            return r;
        if (r < 0 && sift->visitor->missed != NULL)
            sift->visitor->missed(sift->visitor->data, 0, STR_EMPTY, ERR_UNSUPPORTED);
    }
    return sift_run(sift, layer);
}

static uint64_t smaller_limit(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

int authority_sift(struct authority_scope *scope, struct str name,
                   const struct authority_sift_options *options,
                   const struct authority_sift_visitor *visitor, struct err *err)
{
    __attribute__((uninitialized)) struct operation op;
    struct backend_dir *start;
    int r;

    scope = scope_of(scope, &name);
    r = operation_begin(&op, scope,
                        &(struct operation_args){.operation = AUTHORITY_OP_SEARCH,
                                                 .name = name,
                                                 .cancel = options->cancel});
    /* Where it leads, and that it may be looked into. */
    if (r == 0)
        r = operation_ops(&op)->dir_open(scope->root, &op.lookup, path_view(&op.name), &start);
    if (r == 0) {
        struct secondnames names;
        struct sift sift = {
            .scope = scope,
            .ops = operation_ops(&op),
            .options = options,
            .visitor = visitor,
            .base = operation_resolved(&op, path_view(&op.name)),
            .lookup = op.lookup,
            .names = &names,
        };

        operation_ops(&op)->dir_close(start);
        /* All below is reached by names without links, from several threads. */
        sift.lookup.follows_links = false;
        sift.lookup.admits = NULL;
        sift.lookup.context = NULL;
        sift.lookup.is_selective = false;
        sift.lookup.allows_hardlinks = scope->allows_hardlinks || scope->reads_hardlinks;
        sift.lookup.max_file_bytes = smaller_limit(scope->max_file_bytes, options->max_file_bytes);
        secondnames_init(&names, scope, &op.cancel);
        r = run(&sift);
        secondnames_done(&names);
    }
    /* That the visitor had enough is not an error. */
    (void)operation_end(&op, r < 0 ? r : 0, err);
    return r;
}

struct str authority_sifted_name(const struct authority_sifted *file)
{
    return file->name;
}

const struct authority_stat *authority_sifted_stat(const struct authority_sifted *file)
{
    return &file->about;
}

int authority_sifted_read(struct authority_sifted *file, uint64_t offset, void *bytes, size_t size,
                          size_t *out_got)
{
    int r = cancel_check(file->cancel);

    return r < 0 ? r : file->ops->file_read(file->file, offset, bytes, size, out_got);
}
