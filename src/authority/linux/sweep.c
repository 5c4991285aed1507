/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sweep: removes what journals of dead processes list, and their workspaces.
 *
 * A journal that can be locked has no owner. It is read as a whole and trusted only if all of it is
 * consistent; even then only a name that we made is removed, of the recorded kind, in the very
 * directory that was recorded. Workspaces need no trust: they are in a directory with the journal's
 * name.
 *
 * Files that were being replaced together get their old content back, unless all were replaced.
 *
 * Files are removed at once: one may be the second name of a file that was being put in place,
 * which is refused because of that name. A tree is moved to its owner's workspaces first, if the
 * file system allows, so that it is out of the user's way and where a confined process can still
 * reach it. Removing those takes long; it has a budget, and the rest can be done later.
 */
#include "authority/linux/journal_internal.h"

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

enum { SWEEP_MAX_JOURNALS = 1024 }; /* looked at in one pass */

struct sweep {
    int state_fd;
    int temp_fd;
    uint64_t *budget;
    const struct cancel *cancel;
    struct journal_image image; /* the present journal */
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

static bool is_sound_swap(const struct journal_swap *swap)
{
    size_t len = strnlen(swap->target, sizeof(swap->target));

    return swap->leader == 0 ||
           (swap->leader <= JOURNAL_FILE_SLOTS && len > 0 && len < sizeof(swap->target) &&
            memchr(swap->target, '/', len) == NULL && strcmp(swap->target, ".") != 0 &&
            strcmp(swap->target, "..") != 0);
}

static bool is_sound(const struct journal_image *image)
{
    if (image->slot_count != JOURNAL_SLOTS || image->slot_bytes != sizeof(image->slots[0]))
        return false;
    for (size_t i = 0; i < JOURNAL_SLOTS; i++) {
        uint32_t state = atomic_load_explicit(&image->states[i], memory_order_relaxed);

        if (state > JOURNAL_USED || (state == JOURNAL_USED && !is_sound_slot(&image->slots[i])))
            return false;
        if (state == JOURNAL_USED && i < JOURNAL_FILE_SLOTS && !is_sound_swap(&image->swaps[i]))
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

/* A link anywhere in the path means that it is not the recorded directory. */
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

static bool remove_tree(const struct sweep *sweep, int dir_fd, const char *last)
{
    int r = linux_remove_tree(dir_fd, last, sweep->budget, sweep->cancel);

    return r == 0 || r == ERR_NOT_FOUND;
}

/* False if the tree cannot be renamed, for example on another file system. */
static bool set_aside(const struct sweep *sweep, const char *journal, int dir_fd, const char *last)
{
    cleanup_fd int aside_fd = -1;

    if (mkdirat(sweep->temp_fd, journal, 0700) < 0 && errno != EEXIST)
        return false;
    aside_fd = openat(sweep->temp_fd, journal, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return aside_fd >= 0 && renameat(dir_fd, last, aside_fd, last) == 0;
}

static bool is_print_of(const struct journal_print *print, const struct stat *about)
{
    struct journal_print now;

    linux_fill_print(about, &now);
    return now.inode == print->inode && now.size == print->size &&
           now.modified_s == print->modified_s && now.modified_ns == print->modified_ns;
}

/* The exchange that the name was for, if it was not finished; or NULL. */
static const struct journal_swap *unfinished_swap(const struct journal_image *image, size_t slot)
{
    const struct journal_swap *swap = slot < JOURNAL_FILE_SLOTS ? &image->swaps[slot] : NULL;

    return swap != NULL && swap->leader != 0 &&
                   image->swaps[swap->leader - 1].leader == swap->leader
               ? swap
               : NULL;
}

/* False if it should have been removed and is still there. */
static bool remove_file(int dir_fd, const char *last)
{
    return unlinkat(dir_fd, last, 0) == 0 || means_gone(errno) || errno == EISDIR;
}

/*
 * The same, of a temporary name that was exchanged, or was to be. If what we replaced has it, and
 * our file is where it was put, unchanged, it goes back. A file that somebody else saved in the
 * moment of the kill stays.
 */
static bool undo_swap(int dir_fd, const char *last, const struct stat *about,
                      const struct journal_swap *swap)
{
    struct stat now;

    if (about->st_ino == swap->new.inode)
        return remove_file(dir_fd, last);
    if (fstatat(dir_fd, swap->target, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_print_of(&swap->new, &now))
        return renameat(dir_fd, last, dir_fd, swap->target) == 0;
    return !is_print_of(&swap->old, about) || remove_file(dir_fd, last);
}

/* The same. */
static bool remove_leftover(const struct sweep *sweep, const char *journal, size_t index)
{
    const struct journal_slot *slot = &sweep->image.slots[index];
    cleanup_fd int dir_fd = open_dir(slot->path);
    struct stat about;

    if (dir_fd < 0)
        return means_gone(errno);
    if (fstat(dir_fd, &about) < 0)
        return false;
    if (about.st_dev != slot->device || about.st_ino != slot->inode)
        return true;
    if (fstatat(dir_fd, slot->last, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return means_gone(errno);
    if (slot->kind == LINUX_LEFTOVER_FILE) {
        const struct journal_swap *swap = unfinished_swap(&sweep->image, index);

        if (!S_ISREG(about.st_mode))
            return true;
        return swap != NULL ? undo_swap(dir_fd, slot->last, &about, swap)
                            : remove_file(dir_fd, slot->last);
    }
    if (!S_ISDIR(about.st_mode))
        return true;
    return set_aside(sweep, journal, dir_fd, slot->last) || remove_tree(sweep, dir_fd, slot->last);
}

static bool remove_leftovers(const struct sweep *sweep, const char *journal)
{
    const struct journal_image *image = &sweep->image;
    bool are_gone = true;

    for (size_t i = 0; i < JOURNAL_SLOTS; i++)
        if (atomic_load_explicit(&image->states[i], memory_order_relaxed) == JOURNAL_USED &&
            !remove_leftover(sweep, journal, i))
            are_gone = false;
    return are_gone;
}

/* ---- one journal after the other ---- */

/* Locked, and still the file of that name: another sweep may have been faster. */
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

static void sweep_journal(struct sweep *sweep, const char *name)
{
    cleanup_fd int fd = open_orphan(sweep->state_fd, name);
    bool are_gone;

    if (fd < 0)
        return;
    switch (read_image(fd, &sweep->image)) {
    case VERDICT_SOUND:
        /* The journal is removed last: without it nobody would look for its workspaces. */
        are_gone = remove_leftovers(sweep, name);
        if (remove_tree(sweep, sweep->temp_fd, name) && are_gone)
            unlinkat(sweep->state_fd, name, 0);
        break;
    case VERDICT_CORRUPT:
        /* Kept for inspection; only one, so that they do not pile up. */
        if (remove_tree(sweep, sweep->temp_fd, name))
            (void)!renameat(sweep->state_fd, name, sweep->state_fd, JOURNAL_CORRUPT);
        break;
    case VERDICT_FOREIGN:
    case VERDICT_UNREAD:
        break;
    }
}

/* Its creator is dead, or will notice that it was removed and create another. */
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

bool linux_sweep(int state_fd, int temp_fd, uint64_t *budget, const struct cancel *cancel)
{
    cleanup_fd int fd = openat(state_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_free struct sweep *sweep = malloc(sizeof(*sweep));
    cleanup_with(close_dir) DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (dir != NULL)
        (void)steal_fd(&fd);
    if (dir == NULL || sweep == NULL)
        return false;
    sweep->state_fd = state_fd;
    sweep->temp_fd = temp_fd;
    sweep->budget = budget;
    sweep->cancel = cancel;
    for (int seen = 0; seen < SWEEP_MAX_JOURNALS && (entry = readdir(dir)) != NULL;) {
        struct str name = str_from(entry->d_name);

        if (cancel_check(cancel) < 0)
            return true;
        if (str_starts_with(name, STR(JOURNAL_PREFIX)))
            sweep_journal(sweep, entry->d_name);
        else if (str_starts_with(name, STR(JOURNAL_FRESH)))
            sweep_fresh(state_fd, entry->d_name);
        else
            continue;
        seen++;
    }
    return *budget == 0;
}
