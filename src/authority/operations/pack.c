/* SPDX-License-Identifier: Apache-2.0 */
/* Packs a directory into an archive that appears complete. */
#include "authority/operations/archive_internal.h"

static int pack(struct operation *op, const struct archive_operation *request,
                const struct authority_archive_options *options,
                struct authority_archive_result *out_result, struct err *why)
{
    const struct backend_ops *ops = operation_ops(op);
    const struct operation *reading = request->reading != NULL ? request->reading : op;
    struct archive_naming naming = {.op = reading, .use = SCOPE_LOOK};
    const struct archive_rules rules = {
        .limits = archive_limits_from(options),
        .admits = archive_naming_admits,
        .context = &naming,
        .cancel = &op->cancel,
    };
    struct authority_archive_result result = {0};
    const struct backend_lookup lookup = operation_target_lookup(op);
    struct path_name source;
    struct backend_stage *stage;
    struct backend_dir *dir;
    int r = ops->dir_open(reading->scope->root, &reading->lookup, path_view(&reading->name), &dir);

    if (r < 0)
        return r;
    source = reading->has_resolved ? reading->resolved : reading->name;
    naming.directory = path_view(&source);
    r = ops->stage(op->scope->root, &lookup, path_view(&op->destination), BACKEND_CREATE_NEW,
                   kind_file_mode(op->scope->grant.root.kind), &stage);
    if (r == 0) {
        r = archive_create(op->authority->backend, dir, &reading->lookup, stage, request->format,
                           &rules, &result, why);
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
    return archive_operate(scope,
                           &(struct archive_operation){.operation = AUTHORITY_OP_ARCHIVE,
                                                       .source = source,
                                                       .destination = archive,
                                                       .format = format,
                                                       .options = options,
                                                       .run = pack},
                           out_result, err);
}
