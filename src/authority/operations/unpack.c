/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks archives into a tree that appears complete. Programs link this and no more of libarchive.
 */
#include "authority/operations/archive_internal.h"

struct extraction {
    struct operation *op;
    struct archive_rules rules;
    struct backend_file *archive;
    uint64_t archive_bytes;
    struct authority_archive_result result;
    struct err *why;
};

static int extract_once(void *data)
{
    struct extraction *extraction = data;
    struct operation *op = extraction->op;
    const struct backend_ops *ops = operation_ops(op);
    /* Inside the tree there is nothing but what is put there. */
    const struct backend_lookup inside = {.max_file_bytes = op->scope->max_file_bytes,
                                          .cancel = &op->cancel};
    const struct backend_lookup lookup = operation_target_lookup(op);
    struct archive_naming naming = {.op = op, .use = SCOPE_CHANGE};
    struct backend_root *tree;
    int r;

    op->has_resolved = false; /* that was the archive's name */
    r = ops->tree_stage(op->scope->root, &lookup, path_view(&op->destination), &tree);
    if (r < 0)
        return r;
    naming.directory = operation_resolved(op, path_view(&op->destination));
    extraction->rules.context = &naming;
    r = archive_extract(op->authority->backend, extraction->archive, extraction->archive_bytes,
                        tree, &inside, &extraction->rules, &extraction->result, extraction->why);
    if (r == 0)
        return ops->tree_publish(tree, kind_dir_mode(op->scope->grant.root.kind), true);
    ops->tree_drop(tree);
    return r;
}

static int extract(struct operation *op, const struct archive_operation *request,
                   const struct authority_archive_options *options,
                   struct authority_archive_result *out_result, struct err *why)
{
    const struct backend_ops *ops = operation_ops(op);
    struct extraction extraction = {
        .op = op,
        .rules = {.limits = archive_limits_from(options),
                  .admits = archive_naming_admits,
                  .cancel = &op->cancel,
                  .progress = options->progress,
                  .progress_data = options->progress_data},
        .why = why,
    };
    const struct operation *reading = request->reading != NULL ? request->reading : op;
    struct backend_lookup lookup = reading->lookup;
    struct authority_stat about;
    int r;

    /* The archive has a limit of its own; what comes out of it has the scope's. */
    lookup.max_file_bytes = extraction.rules.limits.archive_bytes;
    r = ops->file_open(reading->scope->root, &lookup, path_view(&reading->name),
                       &extraction.archive, &about);
    if (r < 0)
        return r == ERR_TOO_LARGE ? ERR_ARCHIVE_BYTES : r;
    extraction.archive_bytes = about.size;
    r = operation_with_parents(op, path_view(&op->destination), extract_once, &extraction);
    ops->file_close(extraction.archive);
    if (r == 0)
        *out_result = extraction.result;
    return r;
}

int authority_extract_archive(struct authority_scope *scope, struct str archive,
                              struct str destination,
                              const struct authority_archive_options *options,
                              struct authority_archive_result *out_result, struct err *err)
{
    return archive_operate(scope,
                           &(struct archive_operation){.operation = AUTHORITY_OP_EXTRACT,
                                                       .source = archive,
                                                       .destination = destination,
                                                       .options = options,
                                                       .run = extract},
                           out_result, err);
}
