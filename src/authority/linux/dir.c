/* SPDX-License-Identifier: Apache-2.0 */
/* Reads directories directly with getdents64, a large buffer at a time, and creates them. */
#include "authority/linux/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { ENTRIES_BYTES = 32 << 10 };

struct backend_dir {
    const struct linux_backend *backend;
    uint64_t mount_id;
    int fd;
    bool is_own; /* and so must be what is below */
    dev_t device;
    size_t at;
    size_t filled;
    _Alignas(struct dirent64) char entries[ENTRIES_BYTES];
};

static int wrap(const struct linux_backend *backend, uint64_t mount_id, int *fd,
                struct backend_dir **out_dir)
{
    struct backend_dir *dir = malloc(sizeof(*dir));

    if (dir == NULL)
        return ERR_NO_MEMORY;
    dir->backend = backend;
    dir->mount_id = mount_id;
    dir->fd = steal_fd(fd);
    dir->is_own = false;
    dir->device = 0;
    dir->at = 0;
    dir->filled = 0;
    *out_dir = dir;
    return 0;
}

int linux_dir_open(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                   struct backend_dir **out_dir)
{
    cleanup_fd int fd = -1;
    int r = linux_open(root, lookup, name, O_RDONLY | O_DIRECTORY, &fd);

    if (r < 0)
        return r;
    return wrap(root->backend, root->mount_id, &fd, out_dir);
}

/* NUL-terminates a component of an open directory. */
static int terminate(struct str component, char out_text[NAME_MAX + 1])
{
    if (component.len == 0 || component.len > NAME_MAX || str_has_nul(component) ||
        memchr(component.ptr, '/', component.len) != NULL || str_eq(component, STR(".")) ||
        str_eq(component, STR("..")))
        return ERR_INVALID_PATH;
    memcpy(out_text, component.ptr, component.len);
    out_text[component.len] = '\0';
    return 0;
}

/*
 * Each subvolume has a device number of its own. A new time of access would be a change of every
 * directory, which the next snapshot has to write to the disk first: that takes longer than all the
 * rest.
 */
static int hold_own(int fd, dev_t device)
{
    struct stat about;

    if (fstat(fd, &about) < 0)
        return linux_error(errno);
    return about.st_uid != geteuid() || about.st_dev != device || fcntl(fd, F_SETFL, O_NOATIME) < 0
               ? ERR_UNSUPPORTED
               : 0;
}

int linux_dir_hold_own(struct backend_dir *dir)
{
    struct statfs system;
    struct stat about;
    int r;

    if (fstatfs(dir->fd, &system) < 0 || fstat(dir->fd, &about) < 0)
        return linux_error(errno);
    if (system.f_type != BTRFS_SUPER_MAGIC || about.st_ino != LINUX_SUBVOLUME_ROOT)
        return ERR_UNSUPPORTED;
    r = hold_own(dir->fd, about.st_dev);
    if (r < 0)
        return r;
    dir->is_own = true;
    dir->device = about.st_dev;
    return 0;
}

int linux_dir_fd(const struct backend_dir *dir)
{
    return dir->fd;
}

int linux_dir_open_below(struct backend_dir *dir, struct str component,
                         struct backend_dir **out_dir)
{
    char last[NAME_MAX + 1];
    cleanup_fd int fd = -1;
    int r = terminate(component, last);

    if (r < 0)
        return r;
    r = linux_open_entry(dir->backend, dir->fd, last, O_RDONLY | O_DIRECTORY, dir->mount_id, &fd);
    if (r == 0 && dir->is_own)
        r = hold_own(fd, dir->device);
    if (r == 0)
        r = wrap(dir->backend, dir->mount_id, &fd, out_dir);
    if (r < 0)
        return r;
    (*out_dir)->is_own = dir->is_own;
    (*out_dir)->device = dir->device;
    return 0;
}

/* For file systems whose directory entries have no type. */
__attribute__((noinline)) static enum authority_type look_for_type(const struct backend_dir *dir,
                                                                   const char *name)
{
    struct authority_stat about;
    struct stat raw;

    if (fstatat(dir->fd, name, &raw, AT_SYMLINK_NOFOLLOW) < 0)
        return AUTHORITY_OTHER;
    linux_fill_stat(&raw, &about);
    return about.type;
}

static enum authority_type type_of_entry(const struct backend_dir *dir,
                                         const struct dirent64 *entry)
{
    switch (entry->d_type) {
    case DT_REG:
        return AUTHORITY_FILE;
    case DT_DIR:
        return AUTHORITY_DIRECTORY;
    case DT_LNK:
        return AUTHORITY_SYMLINK;
    case DT_UNKNOWN:
        return look_for_type(dir, entry->d_name);
    default:
        return AUTHORITY_OTHER;
    }
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/*
 * Its length without scanning all of it: the kernel pads an entry to eight bytes, so the terminator
 * is among the last eight.
 */
static struct str name_of(const struct dirent64 *entry)
{
    size_t room = entry->d_reclen - offsetof(struct dirent64, d_name);
    size_t len = room > sizeof(uint64_t) ? room - sizeof(uint64_t) : 0;

    while (entry->d_name[len] != '\0')
        len++;
    return (struct str){entry->d_name, len};
}

bool linux_dir_next(struct backend_dir *dir, struct str *out_component,
                    enum authority_type *out_type, int *out_error)
{
    while (true) {
        const struct dirent64 *entry;

        if (dir->at >= dir->filled) {
            ssize_t got = getdents64(dir->fd, dir->entries, sizeof(dir->entries));

            if (got <= 0) {
                /* A directory that was removed meanwhile has nothing more to tell. */
                *out_error = got < 0 && errno != ENOENT ? linux_error(errno) : 0;
                return false;
            }
            dir->at = 0;
            dir->filled = (size_t)got;
        }
        /* SAFETY: the kernel lays entries out aligned for this struct, whole, one after another. */
        entry = (const struct dirent64 *)(const void *)(dir->entries + dir->at);
        dir->at += entry->d_reclen;
        if (is_dots(entry->d_name))
            continue;
        *out_component = name_of(entry);
        *out_type = type_of_entry(dir, entry);
        return true;
    }
}

int linux_dir_stat(struct backend_dir *dir, struct str component, struct authority_stat *out_stat)
{
    char last[NAME_MAX + 1];
    struct stat about;
    int r = terminate(component, last);

    if (r < 0)
        return r;
    if (fstatat(dir->fd, last, &about, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
        return linux_error(errno);
    linux_fill_stat(&about, out_stat);
    return 0;
}

int linux_dir_read_link(struct backend_dir *dir, struct str component, char out_target[PATH_MAX],
                        struct authority_stat *out_stat)
{
    char last[NAME_MAX + 1];
    cleanup_fd int fd = -1;
    struct stat about;
    ssize_t len;
    int r = terminate(component, last);

    if (r < 0)
        return r;
    /* Held, so that both are of one link. */
    fd = openat(dir->fd, last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return linux_error(errno);
    r = linux_look(fd, &about);
    if (r < 0)
        return r;
    len = readlinkat(fd, "", out_target, PATH_MAX);
    if (len < 0) /* of an object that is no link: ENOENT */
        return linux_error(errno);
    if (len >= PATH_MAX)
        return ERR_INVALID_PATH;
    out_target[len] = '\0';
    linux_fill_stat(&about, out_stat);
    return 0;
}

int linux_dir_file_open(struct backend_dir *dir, const struct backend_lookup *lookup,
                        struct str component, struct backend_file **out_file,
                        struct authority_stat *out_stat)
{
    char last[NAME_MAX + 1];
    int r = terminate(component, last);

    if (r < 0)
        return r;
    return linux_file_open_at(dir->backend, dir->fd, dir->mount_id, last, lookup, out_file,
                              out_stat);
}

void linux_dir_close(struct backend_dir *dir)
{
    if (dir == NULL)
        return;
    close(dir->fd);
    free(dir);
}

int linux_mkdir(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                unsigned mode, bool is_synced)
{
    cleanup_place struct linux_place place = LINUX_PLACE_INIT;
    int r = linux_open_parent(root, lookup, name, LINUX_LAST_AS_IS, &place);

    if (r == ERR_ROOT_PROTECTED)
        return ERR_ALREADY_EXISTS;
    if (r < 0)
        return r;
    if (mkdirat(place.dir_fd, place.last, mode) < 0)
        return linux_error(errno);
    linux_journal_moved(root->backend->journal);
    /* In a tree that is being copied it is the source's mode, which no umask changes. */
    if (root->is_private && fchmodat(place.dir_fd, place.last, mode, AT_SYMLINK_NOFOLLOW) < 0)
        return linux_error(errno);
    return is_synced ? linux_sync_dir(place.dir_fd) : 0;
}
