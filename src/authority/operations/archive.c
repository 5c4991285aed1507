/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/operations/archive_internal.h"

bool archive_naming_admits(void *naming, struct str name, bool is_directory)
{
    const struct archive_naming *below = naming;

    return scope_admits_below(below->op->scope, below->directory, name, is_directory, below->use);
}

int archive_operate(struct authority_scope *scope, const struct archive_operation *request,
                    struct authority_archive_result *out_result, struct err *err)
{
    static const struct authority_archive_options defaults = {0};
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
        r = request->run(&op, request, options, out_result, &why);
        operation_explain(&op, &why);
    }
    return operation_end(&op, r, err);
}
