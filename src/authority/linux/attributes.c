/* SPDX-License-Identifier: Apache-2.0 */
/* What a new file inherits from an old one. */
#include "authority/linux/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    XATTR_NAMES_BYTES = 64 << 10,
    XATTR_VALUE_BYTES = 64 << 10,
};

/* All extended attributes that may be set, except those of the system's security modules. */
static int copy_xattrs(int from, int to, bool *out_has_any)
{
    cleanup_free char *names = NULL;
    cleanup_free char *value = NULL;
    ssize_t len = flistxattr(from, NULL, 0);

    *out_has_any = len > 0;
    if (len <= 0 || len > XATTR_NAMES_BYTES)
        return len < 0 && errno != EOPNOTSUPP ? linux_error(errno) : len > 0 ? ERR_TOO_LARGE : 0;
    names = malloc(XATTR_NAMES_BYTES);
    value = malloc(XATTR_VALUE_BYTES);
    if (names == NULL || value == NULL)
        return ERR_NO_MEMORY;
    len = flistxattr(from, names, XATTR_NAMES_BYTES);
    for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
        ssize_t size;

        /* Capabilities were given to the old content, not to the new. */
        if (str_starts_with(str_from(names + at), STR("security.")))
            continue;
        size = fgetxattr(from, names + at, value, XATTR_VALUE_BYTES);
        if (size < 0 && errno == ENODATA)
            continue;
        if (size < 0)
            return linux_error(errno);
        if (fsetxattr(to, names + at, value, (size_t)size, 0) < 0 && errno != EPERM &&
            errno != EOPNOTSUPP && errno != EACCES)
            return linux_error(errno);
    }
    return 0;
}

bool linux_is_of_same_owner(const struct stat *a, const struct stat *b)
{
    return a->st_uid == b->st_uid && a->st_gid == b->st_gid;
}

int linux_take_after(int from, const struct stat *old, int to, struct stat *new)
{
    bool has_attributes = false;
    int r = 0;

    if (!linux_is_of_same_owner(old, new)) {
        /* EINVAL: an owner that this user namespace does not know. */
        if (fchown(to, old->st_uid, old->st_gid) < 0 && errno != EPERM && errno != EINVAL)
            return linux_error(errno);
        r = linux_look(to, new);
    }
    if (r == 0)
        r = copy_xattrs(from, to, &has_attributes);
    /* One of them may be an access list, which has a say in the mode. */
    return r == 0 && has_attributes ? linux_look(to, new) : r;
}
