/* SPDX-License-Identifier: Apache-2.0 */
/* A directory packed into an archive that appears whole. */
#include "authority/archive_internal.h"
#include "authority/internal.h"

/* Globs are asked about the name from the root on. */
struct naming {
    const struct operation *op;
    struct str directory;
};

static bool admits(void *context, struct str name, bool is_directory)
{
    const struct naming *naming = context;

    return scope_admits_below(naming->op->scope, naming->directory, name, is_directory);
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

int authority_create_archive(struct authority_scope *scope, struct str source, struct str archive,
                             enum authority_archive_format format,
                             const struct authority_archive_options *options,
                             struct authority_archive_result *out_result, struct err *err)
{
    static const struct authority_archive_options defaults = {0};
    __attribute__((uninitialized)) struct operation op;
    struct err why = ERR_INIT;
    int r;

    if (options == NULL)
        options = &defaults;
    r = operation_begin(&op, scope,
                        &(struct operation_args){.operation = AUTHORITY_OP_ARCHIVE,
                                                 .name = source,
                                                 .destination = &archive,
                                                 .cancel = options->cancel});
    if (r == 0) {
        r = pack(&op, format, options, out_result, &why);
        operation_explain(&op, &why);
    }
    return operation_end(&op, r, err);
}
