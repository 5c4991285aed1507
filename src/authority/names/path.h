/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks and normalises untrusted names before anything else uses them: components joined by single
 * slashes, no ".", no leading or trailing slash, "" for the root. Nothing is decoded: "%2e", "\"
 * and "~" are ordinary characters.
 */
#ifndef AUTHORITY_NAMES_PATH_H
#define AUTHORITY_NAMES_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/str.h"

struct path_name {
    size_t len;
    char text[PATH_MAX]; /* NUL-terminated */
};

/*
 * ERR_INVALID_PATH for a NUL, a component over NAME_MAX or a name that with its NUL would be over
 * PATH_MAX, as given; ERR_PATH_OUTSIDE_ROOT if it leaves the root. Accepts an absolute name if it
 * lies in `root_path` by whole components (NULL: never). A trailing slash is dropped and means
 * nothing.
 *
 * ".." removes one component, which is exact as long as links are rejected. With `keep_dotdot` it
 * is left to the kernel, except where it would leave the root even without links.
 */
int path_normalise(struct str given, const char *root_path, bool keep_dotdot,
                   struct path_name *out_name);

/*
 * Makes an absolute name that lies in the root by whole components relative to it, leaving the rest
 * as given, including "..". False leaves it unchanged.
 */
bool path_strip_root(struct str *name, const char *root_path);

static inline struct str path_view(const struct path_name *name)
{
    return (struct str){name->text, name->len};
}

/* Takes the next component and its slash off *rest, which must not be empty. */
static inline struct str path_take(struct str *rest)
{
    const char *slash = memchr(rest->ptr, '/', rest->len);
    size_t len = slash == NULL ? rest->len : (size_t)(slash - rest->ptr);
    size_t taken = slash == NULL ? len : len + 1;
    struct str part = {rest->ptr, len};

    rest->ptr += taken;
    rest->len -= taken;
    return part;
}

/* Joins a directory and a name below it; ERR_INVALID_PATH if the result is too long. */
int path_join(struct str directory, struct str below, struct path_name *out_name);

/* The part before the last component ("" for none), and the last component. */
void path_split(struct str name, struct str *out_parent, struct str *out_last);

/* Whether `name` is `prefix` or lies below it, by whole components. */
bool path_is_within(struct str name, struct str prefix);

#endif
