/* SPDX-License-Identifier: Apache-2.0 */
/* Moving within one file system: both directories are pinned, and the kernel does the rest. */
#include "authority/linux_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <unistd.h>

/* A file with another name elsewhere is not moved about, nor written over. */
static int check_end(const struct linux_place *place, const struct backend_lookup *lookup)
{
    struct stat about;

    if (fstatat(place->dir_fd, place->last, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return linux_error(errno);
    if (S_ISREG(about.st_mode) && about.st_nlink > 1 && !lookup->allows_hardlinks)
        return ERR_HARDLINK_REJECTED;
    return 0;
}

static int rename_error(int errno_value)
{
    switch (errno_value) {
    case EINVAL: /* into itself */
        return ERR_INVALID_ARGUMENT;
    case EBUSY: /* a mount point */
        return ERR_CROSSES_MOUNT;
    case EISDIR: /* a file onto a directory */
    case EEXIST:
        return ERR_ALREADY_EXISTS;
    default:
        return linux_error(errno_value);
    }
}

int linux_rename(struct backend_root *from_root, const struct backend_lookup *from_lookup,
                 struct str from, struct backend_root *to_root,
                 const struct backend_lookup *to_lookup, struct str to, bool may_replace)
{
    cleanup_place struct linux_place source = LINUX_PLACE_INIT;
    cleanup_place struct linux_place target = LINUX_PLACE_INIT;
    int r = linux_open_parent(from_root, from_lookup, from, LINUX_LAST_AS_IS, &source);

    if (r == 0)
        r = linux_open_parent(to_root, to_lookup, to, LINUX_LAST_AS_IS, &target);
    if (r == 0)
        r = check_end(&source, from_lookup);
    if (r < 0)
        return r;
    r = check_end(&target, to_lookup);
    if (r < 0 && r != ERR_NOT_FOUND)
        return r;
    if (renameat2(source.dir_fd, source.last, target.dir_fd, target.last,
                  may_replace ? 0 : RENAME_NOREPLACE) < 0)
        return rename_error(errno);
    r = linux_sync_dir(target.dir_fd);
    return r < 0 ? r : linux_sync_dir(source.dir_fd);
}
