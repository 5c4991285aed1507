/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/operations/archive_internal.h"

bool archive_naming_admits(void *naming, struct str name, bool is_directory)
{
    const struct archive_naming *below = naming;

    return scope_admits_below(below->op->scope, below->directory, name, is_directory, below->use);
}

/* The source is in another scope: reading it is an operation of its own. */
static int operate_between(struct authority_scope *scope, struct authority_scope *source,
                           const struct archive_operation *request,
                           const struct authority_archive_options *options,
                           struct authority_archive_result *out_result, struct err *err)
{
    __attribute__((uninitialized)) struct operation reading;
    __attribute__((uninitialized)) struct operation op;
    struct archive_operation between = *request;
    struct err why = ERR_INIT;
    int r = operation_begin(
        &reading, source,
        &(struct operation_args){.operation = AUTHORITY_OP_READ,
                                 .name = request->source,
                                 .is_directory = request->operation == AUTHORITY_OP_ARCHIVE,
                                 .cancel = options->cancel});

    if (r < 0)
        return operation_end(&reading, r, err);
    between.reading = &reading;
    r = operation_begin(&op, scope,
                        &(struct operation_args){.operation = request->operation,
                                                 .name = request->destination,
                                                 .destination = &request->destination,
                                                 /* Ends with either grant. */
                                                 .cancel = &reading.cancel});
    if (r == 0) {
        r = request->run(&op, &between, options, out_result, &why);
        operation_explain(&op, &why);
    }
    r = operation_end(&op, r, err);
    (void)operation_end(&reading, r, NULL);
    return r;
}

static int operate_within(struct authority_scope *scope, const struct archive_operation *request,
                          const struct authority_archive_options *options,
                          struct authority_archive_result *out_result, struct err *err)
{
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

int archive_operate(struct authority_scope *scope, const struct archive_operation *request,
                    struct authority_archive_result *out_result, struct err *err)
{
    static const struct authority_archive_options defaults = {0};
    const struct authority_archive_options *options =
        request->options != NULL ? request->options : &defaults;
    struct archive_operation own = *request;
    struct authority_scope *source = scope_of(scope, &own.source);

    scope = scope_of(scope, &own.destination);
    return source == scope ? operate_within(scope, &own, options, out_result, err)
                           : operate_between(scope, source, &own, options, out_result, err);
}
