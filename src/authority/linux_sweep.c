/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sweep: what journals of processes that are gone say is still to be removed,
 * and their workspaces.
 *
 * A journal that can be locked has no owner. It is read as a whole and believed
 * only if all of it makes sense; even then nothing goes but a name of our own
 * making, of the kind that was noted, in the very directory that was noted.
 * Workspaces need no belief: they are in a directory that has the journal's name.
 */
#include "authority/linux_journal_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    SWEEP_MAX_JOURNALS = 1024,   /* looked at in one start */
    SWEEP_MAX_ENTRIES = 1000000, /* removed for one leftover; the next start goes on */
};

/* ---- reading a journal ---- */

enum verdict {
    VERDICT_SOUND,
    VERDICT_CORRUPT,
    VERDICT_FOREIGN, /* another version's, for its next start */
    VERDICT_UNREAD,  /* not now */
};

static bool is_sound_slot(const struct journal_slot *slot)
{
    size_t len = strnlen(slot->last, sizeof(slot->last));

    return (slot->kind == LINUX_LEFTOVER_FILE || slot->kind == LINUX_LEFTOVER_TREE) &&
           linux_is_temp_name((struct str){slot->last, len}) && slot->path[0] == '/' &&
           memchr(slot->path, '\0', sizeof(slot->path)) != NULL;
}

static bool is_sound(const struct journal_image *image)
{
    if (image->slot_count != JOURNAL_SLOTS || image->slot_bytes != sizeof(image->slots[0]))
        return false;
    for (size_t i = 0; i < JOURNAL_SLOTS; i++) {
        uint32_t state = atomic_load_explicit(&image->states[i], memory_order_relaxed);

        if (state > JOURNAL_USED || (state == JOURNAL_USED && !is_sound_slot(&image->slots[i])))
            return false;
    }
    return true;
}

static enum verdict read_image(int fd, struct journal_image *out_image)
{
    struct stat about;
    size_t filled = 0;

    if (fstat(fd, &about) < 0)
        return VERDICT_UNREAD;
    while (filled < sizeof(*out_image)) {
        ssize_t got =
            pread(fd, (char *)out_image + filled, sizeof(*out_image) - filled, (off_t)filled);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return VERDICT_UNREAD;
        if (got == 0)
            break;
        filled += (size_t)got;
    }
    if (filled < offsetof(struct journal_image, states) ||
        memcmp(out_image->magic, JOURNAL_MAGIC, sizeof(out_image->magic)) != 0)
        return VERDICT_CORRUPT;
    if (out_image->version != JOURNAL_VERSION)
        return VERDICT_FOREIGN;
    if (about.st_size != (off_t)sizeof(*out_image) || filled != sizeof(*out_image))
        return VERDICT_CORRUPT;
    return is_sound(out_image) ? VERDICT_SOUND : VERDICT_CORRUPT;
}

/* ---- removing what it names ---- */

/* -1 and errno, as from open(2). */
static int walk_to(const char *path)
{
    cleanup_fd int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct str rest = str_from(path);
    struct str part;

    while (at >= 0 && str_cut(&rest, '/', &part)) {
        char component[NAME_MAX + 1];
        int next;

        if (part.len == 0)
            continue;
        if (part.len > NAME_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(component, part.ptr, part.len);
        component[part.len] = '\0';
        next = openat(at, component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            return -1;
        close(at);
        at = next;
    }
    return steal_fd(&at);
}

/* A link anywhere on the way means that it is not the directory that was noted. */
static int open_dir(const char *path)
{
    const struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    int fd;

    /* SAFETY: this libc has no wrapper; the arguments are those of openat2(2). */
    fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    /* Missing, or forbidden by a filter, which says so in several ways. */
    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL))
        fd = walk_to(path);
    return fd;
}

static bool means_gone(int errno_value)
{
    return errno_value == ENOENT || errno_value == ENOTDIR || errno_value == ELOOP ||
           errno_value == ENAMETOOLONG;
}

/* False when it should have gone and is still there. */
static bool remove_leftover(const struct journal_slot *slot)
{
    cleanup_fd int dir_fd = open_dir(slot->path);
    uint64_t budget = SWEEP_MAX_ENTRIES;
    struct stat about;
    int r;

    if (dir_fd < 0)
        return means_gone(errno);
    if (fstat(dir_fd, &about) < 0)
        return false;
    if (about.st_dev != slot->device || about.st_ino != slot->inode)
        return true;
    if (fstatat(dir_fd, slot->last, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return means_gone(errno);
    if (slot->kind == LINUX_LEFTOVER_FILE) {
        if (!S_ISREG(about.st_mode))
            return true;
        return unlinkat(dir_fd, slot->last, 0) == 0 || means_gone(errno) || errno == EISDIR;
    }
    if (!S_ISDIR(about.st_mode))
        return true;
    r = linux_remove_tree(dir_fd, slot->last, &budget, NULL);
    return r == 0 || r == ERR_NOT_FOUND;
}

static bool remove_leftovers(const struct journal_image *image)
{
    bool are_gone = true;

    for (size_t i = 0; i < JOURNAL_SLOTS; i++)
        if (atomic_load_explicit(&image->states[i], memory_order_relaxed) == JOURNAL_USED &&
            !remove_leftover(&image->slots[i]))
            are_gone = false;
    return are_gone;
}

static bool remove_workspaces(int temp_fd, const char *journal)
{
    uint64_t budget = SWEEP_MAX_ENTRIES;
    int r = linux_remove_tree(temp_fd, journal, &budget, NULL);

    return r == 0 || r == ERR_NOT_FOUND;
}

/* ---- one journal after the other ---- */

/* Locked, and still what the name stands for: another sweep may have been faster. */
static int open_orphan(int state_fd, const char *name)
{
    /* O_NONBLOCK: were it a FIFO, opening it must not wait. */
    cleanup_fd int fd = openat(state_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat held, named;

    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &held) < 0 ||
        fstatat(state_fd, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (!S_ISREG(held.st_mode) || held.st_dev != named.st_dev || held.st_ino != named.st_ino)
        return -1;
    return steal_fd(&fd);
}

static void sweep_journal(int state_fd, int temp_fd, const char *name, struct journal_image *image)
{
    cleanup_fd int fd = open_orphan(state_fd, name);

    if (fd < 0)
        return;
    switch (read_image(fd, image)) {
    case VERDICT_SOUND:
        /* The journal goes last: without it nobody would look for its workspaces. */
        if (remove_leftovers(image) && remove_workspaces(temp_fd, name))
            unlinkat(state_fd, name, 0);
        break;
    case VERDICT_CORRUPT:
        /* Kept for whoever wants to know; one, so that they do not pile up. */
        if (remove_workspaces(temp_fd, name))
            (void)!renameat(state_fd, name, state_fd, JOURNAL_CORRUPT);
        break;
    case VERDICT_FOREIGN:
    case VERDICT_UNREAD:
        break;
    }
}

/* Whoever was making this one is dead, or will see that it has gone and make another. */
static void sweep_fresh(int state_fd, const char *name)
{
    cleanup_fd int fd = open_orphan(state_fd, name);

    if (fd >= 0)
        unlinkat(state_fd, name, 0);
}

static void close_dir(DIR **dir)
{
    if (*dir != NULL)
        closedir(*dir);
}

void linux_sweep(int state_fd, int temp_fd)
{
    cleanup_fd int fd = openat(state_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_free struct journal_image *image = malloc(sizeof(*image));
    cleanup_with(close_dir) DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (dir == NULL || image == NULL)
        return;
    (void)steal_fd(&fd);
    for (int seen = 0; seen < SWEEP_MAX_JOURNALS && (entry = readdir(dir)) != NULL;) {
        struct str name = str_from(entry->d_name);

        if (str_starts_with(name, STR(JOURNAL_PREFIX)))
            sweep_journal(state_fd, temp_fd, entry->d_name, image);
        else if (str_starts_with(name, STR(JOURNAL_FRESH)))
            sweep_fresh(state_fd, entry->d_name);
        else
            continue;
        seen++;
    }
}
