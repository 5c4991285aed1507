/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/names/path.h"

#include <string.h>

#include "base/err.h"

/* Empty or ".": means the same directory. */
static inline bool is_here(struct str part)
{
    return part.len == 0 || (part.len == 1 && part.ptr[0] == '.');
}

static inline bool is_dotdot(struct str part)
{
    return part.len == 2 && part.ptr[0] == '.' && part.ptr[1] == '.';
}

static bool take_real(struct str *rest, struct str *out_part)
{
    while (rest->len > 0) {
        struct str part = path_take(rest);

        if (!is_here(part)) {
            *out_part = part;
            return true;
        }
    }
    return false;
}

/* ".." is compared like any other component: above the root, only the kernel could resolve it. */
bool path_strip_root(struct str *name, const char *root_path)
{
    struct str rest = *name;
    struct str root, wanted, part;

    if (root_path == NULL || root_path[0] != '/')
        return false;
    root = str_from(root_path);
    while (take_real(&root, &wanted))
        if (!take_real(&rest, &part) || !str_eq(part, wanted))
            return false;
    while (rest.len > 0 && rest.ptr[0] == '/')
        rest = str_slice(rest, 1, rest.len);
    *name = rest;
    return true;
}

/* Whether the name is valid, and if so whether it is already normalised. */
static int check_components(struct str name, bool keep_dotdot, bool *out_is_normal)
{
    bool is_normal = name.len == 0 || name.ptr[name.len - 1] != '/';
    size_t depth = 0;

    while (name.len > 0) {
        struct str part = path_take(&name);

        if (is_here(part)) {
            is_normal = false;
        } else if (is_dotdot(part)) {
            if (depth == 0)
                return ERR_PATH_OUTSIDE_ROOT;
            depth--;
            is_normal = is_normal && keep_dotdot;
        } else {
            if (part.len > NAME_MAX)
                return ERR_INVALID_PATH;
            depth++;
        }
    }
    *out_is_normal = is_normal;
    return 0;
}

/* For a checked name, which can neither leave the root nor become longer. */
static size_t write_components(struct str name, bool keep_dotdot, char *text)
{
    struct str part;
    size_t len = 0;

    while (take_real(&name, &part)) {
        if (is_dotdot(part) && !keep_dotdot) {
            const char *slash = memrchr(text, '/', len);

            len = slash == NULL ? 0 : (size_t)(slash - text);
            continue;
        }
        if (len > 0)
            text[len++] = '/';
        memcpy(text + len, part.ptr, part.len);
        len += part.len;
    }
    return len;
}

int path_normalise(struct str given, const char *root_path, bool keep_dotdot,
                   struct path_name *out_name)
{
    bool is_normal;
    int r;

    if (given.len >= PATH_MAX || str_has_nul(given))
        return ERR_INVALID_PATH;
    if (given.len > 0 && given.ptr[0] == '/' && !path_strip_root(&given, root_path))
        return ERR_PATH_OUTSIDE_ROOT;
    r = check_components(given, keep_dotdot, &is_normal);
    if (r < 0)
        return r;

    if (!is_normal) {
        out_name->len = write_components(given, keep_dotdot, out_name->text);
    } else {
        if (given.len > 0)
            memcpy(out_name->text, given.ptr, given.len);
        out_name->len = given.len;
    }
    out_name->text[out_name->len] = '\0';
    return 0;
}

void path_split(struct str name, struct str *out_parent, struct str *out_last)
{
    const char *slash = name.len > 0 ? memrchr(name.ptr, '/', name.len) : NULL;

    *out_parent = STR_EMPTY;
    *out_last = name;
    if (slash != NULL) {
        size_t parent_len = (size_t)(slash - name.ptr);

        *out_parent = (struct str){name.ptr, parent_len};
        *out_last = (struct str){slash + 1, name.len - parent_len - 1};
    }
}

bool path_is_within(struct str name, struct str prefix)
{
    if (prefix.len == 0)
        return true;
    return str_starts_with(name, prefix) && (name.len == prefix.len || name.ptr[prefix.len] == '/');
}

int path_join(struct str directory, struct str below, struct path_name *out_name)
{
    size_t at = directory.len;

    if (at + below.len + 2 > sizeof(out_name->text))
        return ERR_INVALID_PATH;
    memcpy(out_name->text, directory.ptr, at);
    if (at > 0 && below.len > 0)
        out_name->text[at++] = '/';
    memcpy(out_name->text + at, below.ptr, below.len);
    out_name->len = at + below.len;
    out_name->text[out_name->len] = '\0';
    return 0;
}
