/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary workspaces. */
#include "authority/internal.h"

#include <limits.h>

int authority_create_temp(struct authority *authority, const struct authority_subject *subject,
                          const char *reason, struct authority_scope **out_scope, struct err *err)
{
    struct authority_request request = {
        .subject = *subject,
        .root = {.kind = AUTHORITY_TEMP, .id = "temp"},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = reason,
        .source = AUTHORITY_FROM_CORE,
    };
    const struct authority_request shown = request; /* without the path that comes later */
    struct authority_scope *scope = NULL;
    struct backend_root *root = NULL;
    char path[PATH_MAX];
    struct err why = ERR_INIT;
    struct operation op;
    int r = operation_begin_request(&op, authority, AUTHORITY_OP_TEMP, &shown);

    if (r == 0 && (subject->id == NULL || reason == NULL || reason[0] == '\0'))
        r = err_set(&why, ERR_INVALID_ARGUMENT, "a request needs a subject and a reason");
    if (r == 0)
        r = authority->backend->ops->temp_make(authority->backend, &root);
    /* For a command sandbox that must mount it. */
    if (r == 0 && authority->backend->ops->root_path(root, path) == 0)
        request.root.path = path;
    if (r == 0)
        r = scope_new(authority, &request, root, &scope, &why);
    if (r == 0)
        scope->is_temporary = true;
    else if (root != NULL)
        authority->backend->ops->temp_drop(root);
    operation_explain(&op, &why);
    r = operation_end(&op, r, err);
    if (r == 0)
        *out_scope = scope;
    else if (scope != NULL)
        authority_scope_free(scope);
    return r;
}
