/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary workspaces and watches. */
#include "authority/internal.h"

#include <limits.h>
#include <stdlib.h>

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

struct authority_watch {
    struct authority_scope *scope;
    struct backend_watch *watch;
    struct path_name name;
    void (*report)(void *data, enum authority_change change, struct str name);
    void *data;
};

int authority_watch(struct authority_scope *scope, struct str name,
                    struct authority_watch **out_watch, int *out_fd, struct err *err)
{
    struct authority_watch *watch = calloc(1, sizeof(*watch));
    __attribute__((uninitialized)) struct operation op;
    int r = operation_begin(
        &op, scope, &(struct operation_args){.operation = AUTHORITY_OP_WATCH, .name = name});
    int fd = -1;

    if (r == 0 && watch == NULL)
        r = ERR_NO_MEMORY;
    if (r == 0)
        r = operation_ops(&op)->watch(scope->root, &op.lookup, path_view(&op.name), &watch->watch,
                                      &fd);
    if (r < 0) {
        free(watch);
        return operation_end(&op, r, err);
    }
    watch->scope = scope;
    watch->name = op.has_resolved ? op.resolved : op.name;
    *out_watch = watch;
    *out_fd = fd;
    return operation_end(&op, 0, err);
}

/* Names that the scope may not know are not told. */
static void filter(void *data, enum authority_change change, struct str name)
{
    struct authority_watch *watch = data;
    struct path_name full;

    if (name.len > 0 && (path_join(path_view(&watch->name), name, &full) < 0 ||
                         !scope_admits(watch->scope, path_view(&full))))
        return;
    watch->report(watch->data, change, name);
}

int authority_watch_read(struct authority_watch *watch,
                         void (*report)(void *data, enum authority_change change, struct str name),
                         void *data)
{
    const struct authority_scope *scope = watch->scope;

    if (atomic_load(&scope->is_revoked))
        return ERR_GRANT_REVOKED;
    if (scope->grant.expires_ms != 0 &&
        clock_wall_ms(scope->authority->clock) >= scope->grant.expires_ms)
        return ERR_GRANT_EXPIRED;
    watch->report = report;
    watch->data = data;
    return watch->scope->authority->backend->ops->watch_read(watch->watch, filter, watch);
}

void authority_watch_free(struct authority_watch *watch)
{
    if (watch == NULL)
        return;
    watch->scope->authority->backend->ops->watch_free(watch->watch);
    free(watch);
}
