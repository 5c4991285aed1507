/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes by file descriptor. Every step names one component below an open directory, and opens it
 * with O_NOFOLLOW, so it never goes through a link or a swapped directory: a link is unlinked
 * itself.
 *
 * An open directory can still be moved. Before each batch of entries, all directories from the top
 * to here are compared with the entries of their parents; what has left the tree is left alone.
 * Between that check and the unlinks of one batch (REMOVE_BATCH_BYTES) a directory may still be
 * moved; what is lost then was in the tree when its removal was requested, since its entries had
 * been read there. What is moved into the tree during the removal is removed with it.
 *
 * Depth is not limited, descriptors are: below REMOVE_LEVELS a directory is first moved up to the
 * top of the tree being removed. It gets a name that scopes show: if the removal is interrupted,
 * what is left can still be found.
 */
#include "authority/linux/internal.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIFTED_START "half-removed-"

enum {
    REMOVE_LEVELS = 64, /* open at once */
    REMOVE_BATCH_BYTES = 2048,
    /* For a name that changes between directory and something else while we look at it. */
    REMOVE_ATTEMPTS = 8,
};

/* A directory being emptied. */
struct level {
    int fd;
    dev_t device;
    ino_t inode;
    const char *name; /* in the parent's batch, which stays while we are below */
    size_t at, filled;
    _Alignas(struct dirent64) char batch[REMOVE_BATCH_BYTES];
};

struct removal {
    int dir_fd; /* holds the top */
    uint64_t mount_id;
    uint64_t *budget;
    const struct cancel *cancel;
    bool is_own; /* what is in the way, permissions and the like, is ours to change */
    size_t depth;
    struct level *levels[REMOVE_LEVELS]; /* allocated once reached, then kept */
};

static void removal_done(struct removal *removal)
{
    while (removal->depth > 0)
        close(removal->levels[--removal->depth]->fd);
    for (size_t i = 0; i < REMOVE_LEVELS; i++)
        free(removal->levels[i]);
}
#define cleanup_removal cleanup_with(removal_done)

/* A single component that does not lead up: ".." would empty the directory above. */
static bool is_component(const char *last)
{
    return last[0] != '\0' && strchr(last, '/') == NULL && strcmp(last, ".") != 0 &&
           strcmp(last, "..") != 0;
}

static bool is_elsewhere(int dir_fd, const char *last)
{
    cleanup_fd int fd = openat(dir_fd, last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    uint64_t here, there;

    return fd >= 0 && linux_mount_id(dir_fd, &here) == 0 && linux_mount_id(fd, &there) == 0 &&
           here != there;
}

/* The code for a failed unlinkat(). */
static int unlink_error(int dir_fd, const char *last, int errno_value)
{
    if (errno_value == EBUSY && is_elsewhere(dir_fd, last))
        return ERR_CROSSES_MOUNT;
    /* The system may call a directory that is not empty either. */
    return errno_value == EEXIST ? ERR_NOT_EMPTY : linux_error(errno_value);
}

static bool is_not_empty(int errno_value)
{
    return errno_value == ENOTEMPTY || errno_value == EEXIST;
}

static int spend(struct removal *removal)
{
    if (*removal->budget == 0)
        return ERR_TOO_LARGE;
    --*removal->budget;
    return cancel_check(removal->cancel);
}

/*
 * An unreadable directory of ours: opened through its O_PATH descriptor, so that it is the same
 * one.
 */
static int open_unreadable(const struct removal *removal, int dir_fd, const char *name, int *out_fd)
{
    cleanup_fd int path_fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char proc[32];
    uint64_t mount_id;
    int r, fd;

    if (path_fd < 0)
        return linux_error(errno);
    r = linux_mount_id(path_fd, &mount_id);
    if (r < 0)
        return r;
    if (mount_id != removal->mount_id)
        return ERR_CROSSES_MOUNT;
    /* SAFETY: fchmod takes no O_PATH descriptor; this link leads to what it holds, not to a name.
     */
    snprintf(proc, sizeof(proc), "/proc/self/fd/%d", path_fd);
    if (chmod(proc, 0700) < 0)
        return ERR_PERMISSION_DENIED;
    fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return linux_error(errno);
    *out_fd = fd;
    return 0;
}

static struct level *next_level(struct removal *removal)
{
    struct level **level = &removal->levels[removal->depth];

    if (*level == NULL)
        *level = malloc(sizeof(**level));
    return *level;
}

/* Whoever owns a Btrfs subvolume can make it read-only. */
static void make_writable(int fd)
{
    uint64_t flags;

    if (ioctl(fd, BTRFS_IOC_SUBVOL_GETFLAGS, &flags) < 0 || (flags & BTRFS_SUBVOL_RDONLY) == 0)
        return;
    flags &= ~(uint64_t)BTRFS_SUBVOL_RDONLY;
    (void)ioctl(fd, BTRFS_IOC_SUBVOL_SETFLAGS, &flags);
}

/* Pushes an open directory as the deepest level. */
static int push(struct removal *removal, int *fd, const char *name)
{
    struct level *level;
    struct stat about;
    uint64_t mount_id;
    int r = linux_mount_id(*fd, &mount_id);

    if (r < 0)
        return r;
    if (mount_id != removal->mount_id)
        return ERR_CROSSES_MOUNT;
    if (fstat(*fd, &about) < 0)
        return linux_error(errno);
    level = next_level(removal);
    if (level == NULL)
        return ERR_NO_MEMORY;
    /* If these fail, so will the unlinks, and they say why. */
    if (removal->is_own && about.st_ino == LINUX_SUBVOLUME_ROOT)
        make_writable(*fd);
    if (removal->is_own && (about.st_mode & 0700) != 0700)
        (void)!fchmod(*fd, 0700);
    level->fd = steal_fd(fd);
    level->device = about.st_dev;
    level->inode = about.st_ino;
    level->name = name;
    level->at = level->filled = 0;
    removal->depth++;
    return 0;
}

enum entered {
    ENTERED,
    ENTERED_NOT, /* gone, or no directory any more: the next pass over the parent finds it again */
    ENTERED_REMOVED, /* it was empty */
};

/* Opens a directory and pushes it as the deepest level. */
static int enter(struct removal *removal, int dir_fd, const char *name, enum entered *out_entered)
{
    cleanup_fd int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r;

    if (fd < 0 && errno == EACCES) {
        /* Without a look inside: it may be empty. */
        if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0) {
            *out_entered = ENTERED_REMOVED;
            return 0;
        }
        if (!removal->is_own)
            return ERR_PERMISSION_DENIED;
        r = open_unreadable(removal, dir_fd, name, &fd);
        if (r < 0)
            return r;
    }
    if (fd < 0) {
        if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
            return linux_error(errno);
        *out_entered = ENTERED_NOT;
        return 0;
    }
    r = push(removal, &fd, name);
    if (r == 0)
        *out_entered = ENTERED;
    return r;
}

static void leave(struct removal *removal)
{
    close(removal->levels[--removal->depth]->fd);
}

static int parent_fd(const struct removal *removal, size_t i)
{
    return i == 0 ? removal->dir_fd : removal->levels[i - 1]->fd;
}

/*
 * Leaves every directory that is no longer where it was entered. ERR_NOT_FOUND if the top has
 * moved.
 */
static int leave_what_has_moved(struct removal *removal)
{
    for (size_t i = 0; i < removal->depth; i++) {
        const struct level *level = removal->levels[i];
        struct stat about;

        if (fstatat(parent_fd(removal, i), level->name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            about.st_dev == level->device && about.st_ino == level->inode)
            continue;
        while (removal->depth > i)
            leave(removal);
    }
    return removal->depth > 0 ? 0 : ERR_NOT_FOUND;
}

/* The next entry of the deepest level, or NULL at the end of its batch. */
static const struct dirent64 *next_entry(struct level *level)
{
    while (level->at < level->filled) {
        /* SAFETY: the kernel wrote whole records here, each aligned for the next. */
        const struct dirent64 *entry = (const void *)(level->batch + level->at);

        level->at += entry->d_reclen;
        if (is_component(entry->d_name))
            return entry;
    }
    return NULL;
}

/* The deepest level has no more entries: removes it, or starts over if it has new ones. */
static int finish_level(struct removal *removal)
{
    size_t last = removal->depth - 1;
    struct level *level = removal->levels[last];
    int dir_fd = parent_fd(removal, last);
    int r;

    if (unlinkat(dir_fd, level->name, AT_REMOVEDIR) == 0) {
        leave(removal);
        return 0;
    }
    if (is_not_empty(errno)) {
        /* Uses up budget, so that a process that keeps filling it cannot keep us busy. */
        r = spend(removal);
        if (r < 0)
            return r;
        return lseek(level->fd, 0, SEEK_SET) < 0 ? linux_error(errno) : 0;
    }
    if (errno != ENOENT && errno != ENOTDIR)
        return unlink_error(dir_fd, level->name, errno);
    leave(removal);
    return removal->depth > 0 ? 0 : ERR_NOT_FOUND;
}

static int read_batch(struct removal *removal)
{
    int r = leave_what_has_moved(removal);
    struct level *level;
    ssize_t got;

    if (r < 0)
        return r;
    level = removal->levels[removal->depth - 1];
    /* Something below has moved, and this level still has entries. */
    if (level->at < level->filled)
        return 0;
    got = getdents64(level->fd, level->batch, sizeof(level->batch));
    /* ENOENT: another process removed it while it was open. */
    if (got < 0 && errno != ENOENT)
        return linux_error(errno);
    if (got <= 0)
        return finish_level(removal);
    level->at = 0;
    level->filled = (size_t)got;
    return 0;
}

/* No level is left for it: moves it to the top, where the next pass finds it. */
static int lift(struct removal *removal, int dir_fd, const char *name)
{
    char lifted[sizeof(LIFTED_START) + LINUX_TEMP_NAME_BYTES];
    char drawn[LINUX_TEMP_NAME_BYTES];

    if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT || errno == ENOTDIR)
        return 0;
    if (!is_not_empty(errno))
        return unlink_error(dir_fd, name, errno);
    linux_temp_name(drawn);
    snprintf(lifted, sizeof(lifted), LIFTED_START "%s", strrchr(drawn, '-') + 1);
    if (renameat(dir_fd, name, removal->levels[0]->fd, lifted) < 0 && errno != ENOENT)
        return unlink_error(dir_fd, name, errno);
    return 0;
}

static int remove_entry(struct removal *removal, const struct dirent64 *entry)
{
    int dir_fd = removal->levels[removal->depth - 1]->fd;
    enum entered entered;
    int r = spend(removal);

    if (r < 0)
        return r;
    if (entry->d_type != DT_DIR) {
        if (unlinkat(dir_fd, entry->d_name, 0) == 0 || errno == ENOENT)
            return 0;
        if (errno != EISDIR)
            return unlink_error(dir_fd, entry->d_name, errno);
    }
    if (removal->depth == REMOVE_LEVELS)
        return lift(removal, dir_fd, entry->d_name);
    return enter(removal, dir_fd, entry->d_name, &entered);
}

static int remove_below(struct removal *removal)
{
    int r = 0;

    while (r == 0 && removal->depth > 0) {
        const struct dirent64 *entry = next_entry(removal->levels[removal->depth - 1]);

        r = entry != NULL ? remove_entry(removal, entry) : read_batch(removal);
    }
    return r;
}

static int remove_whole(int dir_fd, const char *last, uint64_t *budget, const struct cancel *cancel,
                        bool is_own)
{
    cleanup_removal struct removal removal = {.dir_fd = dir_fd, .cancel = cancel, .is_own = is_own};
    enum entered entered = ENTERED_NOT;
    int r;

    removal.budget = budget;
    if (!is_component(last))
        return ERR_INVALID_PATH;
    r = linux_mount_id(dir_fd, &removal.mount_id);
    if (r < 0)
        return r;
    r = spend(&removal);
    for (int i = 0; r == 0 && i < REMOVE_ATTEMPTS; i++) {
        if (unlinkat(dir_fd, last, 0) == 0)
            return 0;
        if (errno != EISDIR)
            return unlink_error(dir_fd, last, errno);
        r = enter(&removal, dir_fd, last, &entered);
        if (r == 0 && entered != ENTERED_NOT)
            return remove_below(&removal);
    }
    return r < 0 ? r : ERR_BUSY;
}

static int remove_one(int dir_fd, const char *last)
{
    for (int i = 0; i < REMOVE_ATTEMPTS; i++) {
        if (unlinkat(dir_fd, last, 0) == 0)
            return 0;
        if (errno != EISDIR)
            return unlink_error(dir_fd, last, errno);
        if (unlinkat(dir_fd, last, AT_REMOVEDIR) == 0)
            return 0;
        if (errno != ENOTDIR)
            return unlink_error(dir_fd, last, errno);
    }
    return ERR_BUSY;
}

int linux_remove_tree(int dir_fd, const char *last, uint64_t *budget, const struct cancel *cancel)
{
    return remove_whole(dir_fd, last, budget, cancel, true);
}

int linux_remove_held(int dir_fd, const char *last, int fd, uint64_t *budget)
{
    cleanup_removal struct removal removal = {.dir_fd = dir_fd, .is_own = true};
    cleanup_fd int top = fd;
    int r = linux_mount_id(dir_fd, &removal.mount_id);

    removal.budget = budget;
    if (r == 0)
        r = push(&removal, &top, last);
    /* The name is compared before anything below is touched, here as for every level. */
    return r < 0 ? r : remove_below(&removal);
}

/*
 * A file with several names is removed too, whatever the rule about hard links: the other names
 * keep it, unchanged.
 */
int linux_remove(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 enum backend_removal removal, uint64_t max_entries)
{
    cleanup_place struct linux_place place = LINUX_PLACE_INIT;
    uint64_t budget = max_entries;
    int r;

    if (name.len == 0)
        return ERR_ROOT_PROTECTED;
    r = cancel_check(lookup->cancel);
    if (r < 0)
        return r;
    r = linux_open_parent(root, lookup, name, LINUX_LAST_AS_IS, &place);
    if (r < 0)
        return r;
    if (!is_component(place.last))
        return ERR_INVALID_PATH;
    r = removal == BACKEND_REMOVE_ONE
            ? remove_one(place.dir_fd, place.last)
            : remove_whole(place.dir_fd, place.last, &budget, lookup->cancel,
                           removal == BACKEND_REMOVE_OWN_TREE);
    /* What nobody sees yet need not be safe from a power cut. */
    if (r < 0 || root->is_private)
        return r;
    /* EINVAL: a file system whose directories cannot be synced has nothing to wait for. */
    if (fsync(place.dir_fd) < 0 && errno != EINVAL && errno != EROFS)
        return linux_error(errno);
    return 0;
}
