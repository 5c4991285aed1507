/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories of the host that no scope can reach, whatever its root and globs: our state
 * directory, and others that the host names.
 */
#include "authority/internal.h"

#include <stdlib.h>
#include <string.h>

/* The path of this directory without links. */
static int find_existing(struct authority *authority, const char *path, char out_path[PATH_MAX])
{
    const struct backend_ops *ops = authority->backend->ops;
    struct backend_root *root;
    int r = ops->root_open(authority->backend, path, &root);

    if (r < 0)
        return r;
    r = ops->root_path(root, out_path);
    ops->root_close(root);
    return r;
}

/* There is no directory yet, as far as this user can tell. */
static bool is_missing(int code)
{
    return code == ERR_NOT_FOUND || code == ERR_NOT_A_DIRECTORY || code == ERR_PERMISSION_DENIED;
}

/* The directory's path without links; of a missing one, the names behind what exists are added. */
static int find_path(struct authority *authority, const char *path, char out_path[PATH_MAX])
{
    struct path_name above;
    struct path_name whole;
    struct str missing;
    struct str parent;
    struct str last;
    int r = find_existing(authority, path, out_path);

    if (!is_missing(r))
        return r;
    r = path_normalise(str_slice(str_from(path), 1, PATH_MAX), NULL, false, &whole);
    if (r < 0)
        return r;
    parent = path_view(&whole);
    do {
        path_split(parent, &parent, &last);
        above.text[0] = '/';
        memcpy(above.text + 1, parent.ptr, parent.len);
        above.text[parent.len + 1] = '\0';
        r = find_existing(authority, above.text, out_path);
    } while (is_missing(r) && parent.len > 0);
    if (r < 0)
        return r;
    missing = str_slice(path_view(&whole), (size_t)(last.ptr - path_view(&whole).ptr), PATH_MAX);
    parent = str_from(strcmp(out_path, "/") == 0 ? "" : out_path);
    if (parent.len + 1 + missing.len >= PATH_MAX)
        return ERR_INVALID_PATH;
    out_path[parent.len] = '/';
    memcpy(out_path + parent.len + 1, missing.ptr, missing.len);
    out_path[parent.len + 1 + missing.len] = '\0';
    return 0;
}

static bool is_known(const struct authority *authority, const char *path)
{
    for (size_t i = 0; i < authority->protected_count; i++)
        if (strcmp(authority->protected[i], path) == 0)
            return true;
    return false;
}

int protect_path(struct authority *authority, const char *path, struct err *err)
{
    char found[PATH_MAX];
    int r;

    r = find_path(authority, path, found);
    if (r < 0)
        return err_set_plain(err, r);
    if (is_known(authority, found))
        return 0;
    if (authority->protected_count == AUTHORITY_MAX_PROTECTED)
        return err_set_plain(err, ERR_TOO_LARGE);
    authority->protected[authority->protected_count] = strdup(found);
    if (authority->protected[authority->protected_count] == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    authority->protected_count++;
    return 0;
}

int authority_protect(struct authority *authority, const char *path, struct err *err)
{
    if (path[0] != '/')
        return err_set(err, ERR_INVALID_ARGUMENT, "only an absolute path can be protected");
    return protect_path(authority, path, err);
}

/* By whole components; the part after the slash goes to *out_below. */
static bool lies_in(struct str path, struct str directory, struct str *out_below)
{
    if (str_eq(directory, STR("/")))
        directory = STR_EMPTY;
    if (!path_is_within(path, directory) && directory.len > 0)
        return false;
    *out_below = str_slice(path, directory.len + 1, path.len);
    return true;
}

int protect_scope(struct authority_scope *scope, struct err *err)
{
    const struct authority *authority = scope->authority;
    char root[PATH_MAX];

    if (authority->protected_count == 0 || authority_scope_path(scope, root) < 0)
        return 0;
    for (size_t i = 0; i < authority->protected_count; i++) {
        struct str own = str_from(authority->protected[i]);
        struct str below;

        if (lies_in(str_from(root), own, &below)) {
            if (scope->grant.source != AUTHORITY_FROM_CORE)
                return err_set(err, ERR_DENIED_BY_POLICY,
                               "this directory belongs to Gatehouse and cannot be granted");
        } else if (lies_in(own, str_from(root), &below)) {
            const char *copy = arena_copy(&scope->arena, below);

            if (copy == NULL)
                return err_set_plain(err, scope->arena.error);
            scope->protected[scope->protected_count++] = (struct str){copy, below.len};
        }
    }
    return 0;
}

void protect_done(struct authority *authority)
{
    for (size_t i = 0; i < authority->protected_count; i++)
        free(authority->protected[i]);
}
