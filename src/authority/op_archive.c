/* SPDX-License-Identifier: Apache-2.0 */
/* Archives: unpacked into a tree that appears whole, packed into a file that does. */
#include "authority/archive_internal.h"
#include "authority/internal.h"

static const struct authority_archive_options defaults = {0};

/* Globs are asked about the name from the root on. */
struct naming {
    const struct operation *op;
    struct str directory;
};

static bool admits(void *context, struct str name, bool is_directory)
{
    const struct naming *naming = context;
    const struct authority_scope *scope = naming->op->scope;
    struct path_name full;

    if (path_join(naming->directory, name, &full) < 0)
        return false;
    return is_directory ? scope_admits_directory(scope, path_view(&full))
                        : scope_admits(scope, path_view(&full));
}

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
    struct naming naming = {.op = op};
    struct backend_root *tree;
    int r;

    op->has_resolved = false; /* that was the archive's name */
    r = ops->tree_stage(op->scope->root, &op->lookup, path_view(&op->destination), &tree);
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

static int extract(struct operation *op, const struct authority_archive_options *options,
                   struct authority_archive_result *out_result, struct err *why)
{
    const struct backend_ops *ops = operation_ops(op);
    struct extraction extraction = {
        .op = op,
        .rules = {.limits = archive_limits_from(options),
                  .admits = admits,
                  .cancel = &op->cancel,
                  .progress = options->progress,
                  .progress_data = options->progress_data},
        .why = why,
    };
    struct backend_lookup lookup = op->lookup;
    struct authority_stat about;
    int r;

    /* The archive has a limit of its own; what comes out of it has the scope's. */
    lookup.max_file_bytes = extraction.rules.limits.archive_bytes;
    r = ops->file_open(op->scope->root, &lookup, path_view(&op->name), &extraction.archive, &about);
    if (r < 0)
        return r == ERR_TOO_LARGE ? ERR_ARCHIVE_BYTES : r;
    extraction.archive_bytes = about.size;
    r = operation_with_parents(op, path_view(&op->destination), extract_once, &extraction);
    ops->file_close(extraction.archive);
    if (r == 0)
        *out_result = extraction.result;
    return r;
}

static int pack(struct operation *op, enum authority_archive_format format,
                const struct authority_archive_options *options,
                struct authority_archive_result *out_result, struct err *why)
{
    const struct backend_ops *ops = operation_ops(op);
    struct naming naming = {.op = op};
    const struct archive_rules rules = {
        .limits = archive_limits_from(options),
        .admits = admits,
        .context = &naming,
        .cancel = &op->cancel,
    };
    struct authority_archive_result result = {0};
    struct backend_lookup lookup = op->lookup; /* of the archive, which is a file */
    struct path_name source;
    struct backend_stage *stage;
    struct backend_dir *dir;
    int r = ops->dir_open(op->scope->root, &op->lookup, path_view(&op->name), &dir);

    if (r < 0)
        return r;
    source = op->has_resolved ? op->resolved : op->name;
    naming.directory = path_view(&source);
    lookup.admits = operation_admits;
    r = ops->stage(op->scope->root, &lookup, path_view(&op->destination), BACKEND_CREATE_NEW,
                   kind_file_mode(op->scope->grant.root.kind), &stage);
    if (r == 0) {
        r = archive_create(op->authority->backend, dir, &op->lookup, stage, format, &rules, &result,
                           why);
        if (r == 0)
            r = ops->stage_publish(stage, true);
        else
            ops->stage_drop(stage);
    }
    ops->dir_close(dir);
    if (r == 0)
        *out_result = result;
    return r;
}

struct request {
    enum authority_operation operation;
    struct str source;
    struct str destination;
    enum authority_archive_format format; /* of what is made */
    const struct authority_archive_options *options;
};

static int run(struct authority_scope *scope, const struct request *request,
               struct authority_archive_result *out_result, struct err *err)
{
    const struct authority_archive_options *options =
        request->options != NULL ? request->options : &defaults;
    __attribute__((uninitialized)) struct operation op;
    struct err why = ERR_INIT;
    int r = operation_begin(&op, scope,
                            &(struct operation_args){.operation = request->operation,
                                                     .name = request->source,
                                                     .destination = &request->destination,
                                                     .cancel = options->cancel});

    if (r == 0) {
        r = request->operation == AUTHORITY_OP_EXTRACT
                ? extract(&op, options, out_result, &why)
                : pack(&op, request->format, options, out_result, &why);
        operation_explain(&op, &why);
    }
    return operation_end(&op, r, err);
}

int authority_extract_archive(struct authority_scope *scope, struct str archive,
                              struct str destination,
                              const struct authority_archive_options *options,
                              struct authority_archive_result *out_result, struct err *err)
{
    return run(scope,
               &(struct request){.operation = AUTHORITY_OP_EXTRACT,
                                 .source = archive,
                                 .destination = destination,
                                 .options = options},
               out_result, err);
}

int authority_create_archive(struct authority_scope *scope, struct str source, struct str archive,
                             enum authority_archive_format format,
                             const struct authority_archive_options *options,
                             struct authority_archive_result *out_result, struct err *err)
{
    return run(scope,
               &(struct request){.operation = AUTHORITY_OP_ARCHIVE,
                                 .source = source,
                                 .destination = archive,
                                 .format = format,
                                 .options = options},
               out_result, err);
}
