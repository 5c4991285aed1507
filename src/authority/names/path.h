/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names from outside, checked and brought into one form before anything else
 * looks at them: components joined by single slashes, no ".", no leading or
 * trailing slash, "" for the root. Nothing is decoded: "%2e", "\" and "~" are
 * characters like any other.
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
 * ERR_INVALID_PATH for a NUL, a component over NAME_MAX or a name that with its
 * NUL would be over PATH_MAX, as given; ERR_PATH_OUTSIDE_ROOT for one that leaves
 * the root. An absolute name is taken when it lies in `root_path` by whole
 * components (NULL: never). A slash at the end is dropped and asks for nothing.
 *
 * ".." goes back one component, exact as long as links are rejected. With
 * `keep_dotdot` it is left to the kernel, except where it would leave the root
 * even without links.
 */
int path_normalise(struct str given, const char *root_path, bool keep_dotdot,
                   struct path_name *out_name);

/*
 * Makes an absolute name that lies in the root by whole components relative to it,
 * with all that follows as it was given, ".." too. False leaves it alone.
 */
bool path_strip_root(struct str *name, const char *root_path);

static inline struct str path_view(const struct path_name *name)
{
    return (struct str){name->text, name->len};
}

/* Takes the next component off *rest, which is not empty, with the slash behind it. */
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

/* A name below a directory's; ERR_INVALID_PATH when that is too long. */
int path_join(struct str directory, struct str below, struct path_name *out_name);

/* The part before the last component ("" for none), and the last component. */
void path_split(struct str name, struct str *out_parent, struct str *out_last);

/* Whether `name` is `prefix` or lies below it, by whole components. */
bool path_is_within(struct str name, struct str prefix);

#endif
