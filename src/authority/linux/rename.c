/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves within one file system, and second names for links: both directories are open, and the
 * kernel does the rest.
 */
#include "authority/linux/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <unistd.h>

/* A file with another name elsewhere is neither moved nor replaced. */
static int check_end(const struct linux_place *place, const struct backend_lookup *lookup,
                     struct stat *out_about)
{
    if (fstatat(place->dir_fd, place->last, out_about, AT_SYMLINK_NOFOLLOW) < 0)
        return linux_error(errno);
    if (S_ISREG(out_about->st_mode) && out_about->st_nlink > 1 && !lookup->allows_hardlinks)
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

/*
 * The target must not exist. Some file systems (NFS, 9p) do not support RENAME_NOREPLACE, but
 * link() does not replace either, and a directory can only replace an empty one.
 */
static int rename_new(const struct linux_place *source, const struct linux_place *target,
                      bool is_directory)
{
    if (renameat2(source->dir_fd, source->last, target->dir_fd, target->last, RENAME_NOREPLACE) ==
        0)
        return 0;
    if (errno != EINVAL)
        return rename_error(errno);
    if (is_directory)
        return renameat(source->dir_fd, source->last, target->dir_fd, target->last) == 0
                   ? 0
                   : rename_error(errno);
    if (linkat(source->dir_fd, source->last, target->dir_fd, target->last, 0) < 0)
        return rename_error(errno);
    return unlinkat(source->dir_fd, source->last, 0) == 0 ? 0 : linux_error(errno);
}

int linux_rename(struct backend_root *from_root, const struct backend_lookup *from_lookup,
                 struct str from, struct backend_root *to_root,
                 const struct backend_lookup *to_lookup, struct str to, bool may_replace)
{
    cleanup_place struct linux_place source = LINUX_PLACE_INIT;
    cleanup_place struct linux_place target = LINUX_PLACE_INIT;
    struct stat about = {.st_mode = 0};
    struct stat replaced;
    int r = linux_open_parent(from_root, from_lookup, from, LINUX_LAST_AS_IS, &source);

    if (r == 0)
        r = linux_open_parent(to_root, to_lookup, to, LINUX_LAST_AS_IS, &target);
    if (r == 0)
        r = check_end(&source, from_lookup, &about);
    if (r < 0)
        return r;
    r = check_end(&target, to_lookup, &replaced);
    if (r < 0 && r != ERR_NOT_FOUND)
        return r;
    if (r == 0 && !may_replace)
        return ERR_ALREADY_EXISTS;
    /* Like writing to one: a program waits behind it, or a device. */
    if (r == 0 && !S_ISREG(replaced.st_mode) && !S_ISDIR(replaced.st_mode) &&
        !S_ISLNK(replaced.st_mode))
        return ERR_NOT_REGULAR_FILE;
    if (!may_replace)
        r = rename_new(&source, &target, S_ISDIR(about.st_mode));
    else if (renameat(source.dir_fd, source.last, target.dir_fd, target.last) < 0)
        r = rename_error(errno);
    else
        r = 0;
    if (r < 0)
        return r;
    linux_journal_moved(from_root->backend->journal);
    r = linux_sync_dir(target.dir_fd);
    return r < 0 ? r : linux_sync_dir(source.dir_fd);
}

int linux_link(struct backend_root *from_root, const struct backend_lookup *from_lookup,
               struct str from, struct backend_root *to_root,
               const struct backend_lookup *to_lookup, struct str to)
{
    cleanup_place struct linux_place source = LINUX_PLACE_INIT;
    cleanup_place struct linux_place target = LINUX_PLACE_INIT;
    struct stat about;
    int r = linux_open_parent(from_root, from_lookup, from, LINUX_LAST_AS_IS, &source);

    if (r == 0)
        r = linux_open_parent(to_root, to_lookup, to, LINUX_LAST_AS_IS, &target);
    if (r < 0)
        return r;
    if (fstatat(source.dir_fd, source.last, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return linux_error(errno);
    if (!S_ISLNK(about.st_mode))
        return ERR_SYMLINK_REJECTED;
    if (linkat(source.dir_fd, source.last, target.dir_fd, target.last, 0) < 0)
        return linux_error(errno);
    /* Between the look and the call it may have become a file, which shall have no other name. */
    if (fstatat(target.dir_fd, target.last, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(about.st_mode)) {
        unlinkat(target.dir_fd, target.last, 0);
        return ERR_BUSY;
    }
    return linux_sync_dir(target.dir_fd);
}
