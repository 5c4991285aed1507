/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a written file in place.
 *
 * A replacement is renamed over the old file. If the old file must be a certain one, the two names
 * are exchanged instead, and what came out is compared with what was expected: whatever somebody
 * saved in the last moment goes back. Several files can be replaced that way together; the journal
 * knows of it, so that after a kill -9 the next start undoes what was not finished.
 *
 * Our own processes lock a file while they do that or append to it, so that nobody appends to a
 * file that has lost its name, or takes for the file's content what is about to go back.
 */
#include "authority/linux/stage_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* No file has such a byte, and no other program locks it alone. */
#define LOCKED_BYTE INT64_C(0x6761746568000000)

enum {
    /* A quarter of a second in all; ours hold it for microseconds. */
    LOCK_TRIES = 1000,
    LOCK_PAUSE_NS = 250 * 1000,
    SWAP_BACK_TRIES = 8,
    COMPARE_BYTES = 64 << 10,
};

/* ---- locks ---- */

void linux_lock(int fd)
{
    const struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCKED_BYTE, .l_len = 1};
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};

    for (int i = 0; i < LOCK_TRIES; i++) {
        /* Some file systems have no locks. */
        if (fcntl(fd, F_OFD_SETLK, &lock) == 0 ||
            (errno != EAGAIN && errno != EACCES && errno != EINTR))
            return;
        nanosleep(&pause, NULL);
    }
}

void linux_unlock(int fd)
{
    const struct flock lock = {
        .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = LOCKED_BYTE, .l_len = 1};

    (void)fcntl(fd, F_OFD_SETLK, &lock);
}

bool linux_try_lock(int fd)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCKED_BYTE, .l_len = 1};

    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return true;
    /* One that may only be read can be asked about. */
    return errno == EBADF && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

static int compare_inodes(const void *a, const void *b)
{
    const struct backend_stage *const *one = a;
    const struct backend_stage *const *other = b;
    ino_t x = (*one)->old_about.st_ino;
    ino_t y = (*other)->old_about.st_ino;

    return x < y ? -1 : x > y;
}

/* In one order everywhere, so that two processes do not wait for each other. */
static int lock_all(struct backend_stage **stages, size_t count)
{
    cleanup_free struct backend_stage **sorted = NULL;

    if (count <= 1) {
        linux_lock(stages[0]->old_fd);
        return 0;
    }
    sorted = malloc(count * sizeof(struct backend_stage *));
    if (sorted == NULL)
        return ERR_NO_MEMORY;
    memcpy(sorted, stages, count * sizeof(struct backend_stage *));
    qsort(sorted, count, sizeof(struct backend_stage *), compare_inodes);
    for (size_t i = 0; i < count; i++)
        linux_lock(sorted[i]->old_fd);
    return 0;
}

/* ---- before ---- */

/* Makes the new file look like the one it replaces. */
static int take_after_old(const struct backend_stage *stage)
{
    struct stat old = stage->old_about;
    struct stat new = stage->new_about;
    /*
     * If the old content was returned, the file must be unchanged, or it stays: see is_as_told().
     */
    int r = stage->exchange == NULL ? linux_look(stage->old_fd, &old) : 0;

    /* Before the mode: changing the owner takes setuid bits away. */
    if (r == 0)
        r = linux_take_after(stage->old_fd, &old, stage->fd, &new);
    if (r < 0)
        return r;
    /* Set-id bits were given to the old content too; the kernel drops them on a write as well. */
    if ((new.st_mode & 07777) != (old.st_mode & 0777) && fchmod(stage->fd, old.st_mode & 0777) < 0)
        return linux_error(errno);
    return 0;
}

/* All that takes long. */
static int finish(struct backend_stage *stage, bool is_synced)
{
    int r = cancel_check(stage->cancel);

    if (r == 0 && stage->old_fd >= 0 && !stage->is_dressed)
        r = take_after_old(stage);
    if (r == 0 && is_synced) {
        linux_stage_lock(stage);
        r = fsync(stage->fd) < 0 ? linux_error(errno) : 0;
    }
    if (r == 0 && stage->form != STAGE_IN_PLACE)
        r = linux_check_place(stage->root, &stage->lookup, &stage->place);
    return r;
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool linux_is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The same file with the same content; a rename changes ctime. */
static bool is_unwritten(const struct stat *now, const struct stat *then)
{
    return linux_is_same_file(now, then) && now->st_size == then->st_size &&
           is_same_time(now->st_mtim, then->st_mtim);
}

/* Whether the file there is still the one whose content was returned, and unchanged. */
static bool is_as_told(const struct backend_stage *stage)
{
    const struct stat *then = &stage->old_about;
    struct stat now;

    if (stage->exchange == NULL)
        return true;
    return fstatat(stage->place.dir_fd, stage->place.last, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           is_unwritten(&now, then) && is_same_time(now.st_ctim, then->st_ctim);
}

/* ---- by a rename ---- */

/* Gives a nameless file a name; never replaces. */
static int link_in(const struct backend_stage *stage, const char *name)
{
    char self[32];

    /* Linking by descriptor alone (AT_EMPTY_PATH) needs a capability; through /proc it does not. */
    snprintf(self, sizeof(self), "/proc/self/fd/%d", stage->fd);
    if (linkat(AT_FDCWD, self, stage->place.dir_fd, name, AT_SYMLINK_FOLLOW) < 0)
        return linux_error(errno);
    return 0;
}

/* Somebody took it for one that was left: see clean.c. */
static bool has_lost_its_name(const struct backend_stage *stage)
{
    struct stat about;

    return fstat(stage->fd, &about) == 0 && about.st_nlink == 0;
}

/*
 * Renames the temporary name to the final one; with RENAME_NOREPLACE only if that does not exist.
 */
static int rename_in(const struct backend_stage *stage, unsigned flags)
{
    int dir_fd = stage->place.dir_fd;
    int e;

    if (renameat2(dir_fd, stage->temp_name, dir_fd, stage->place.last, flags) == 0)
        return 0;
    e = errno;
    /* A file system without that flag; linking does not replace either. */
    if (e == EINVAL && flags != 0) {
        if (linkat(dir_fd, stage->temp_name, dir_fd, stage->place.last, 0) == 0) {
            unlinkat(dir_fd, stage->temp_name, 0);
            return 0;
        }
        e = errno;
    }
    return e == ENOENT && has_lost_its_name(stage) ? ERR_BUSY : linux_error(e);
}

static int put_in_place(struct backend_stage *stage)
{
    int r;

    switch (stage->form) {
    case STAGE_IN_PLACE:
        return 0;
    case STAGE_NAMED:
        r = stage->old_fd < 0 ? rename_in(stage, RENAME_NOREPLACE) : rename_in(stage, 0);
        if (r == ERR_ALREADY_EXISTS && stage->create != BACKEND_CREATE_NEW)
            r = rename_in(stage, 0);
        return r;
    case STAGE_NAMELESS:
        r = link_in(stage, stage->place.last);
        if (r != ERR_ALREADY_EXISTS || stage->create == BACKEND_CREATE_NEW)
            return r;
        /* Another process was faster; replacing needs a name of our own. */
        r = linux_stage_take_name(stage);
        if (r < 0)
            return r;
        r = link_in(stage, stage->temp_name);
        if (r < 0)
            return r;
        stage->form = STAGE_NAMED;
        return rename_in(stage, 0);
    }
    return ERR_INTERNAL;
}

/* ---- by an exchange ---- */

/* 0, or an errno value. */
static int swap_names(const struct backend_stage *stage)
{
    int dir_fd = stage->place.dir_fd;

    return renameat2(dir_fd, stage->temp_name, dir_fd, stage->place.last, RENAME_EXCHANGE) == 0
               ? 0
               : errno;
}

static bool look_at_temp(const struct backend_stage *stage, struct stat *out_about)
{
    return fstatat(stage->place.dir_fd, stage->temp_name, out_about, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * Exchanges the names once more, so that what we displaced is in place again. If somebody has
 * meanwhile replaced or changed our own file, which would come out, his is what stays in place.
 * False if that cannot be settled; then the temporary name holds something of somebody else.
 */
static bool swap_back(const struct backend_stage *stage)
{
    struct stat held;
    struct stat last = stage->new_about;

    if (!look_at_temp(stage, &held))
        return false;
    for (int i = 0; i < SWAP_BACK_TRIES; i++) {
        struct stat out;
        int e = swap_names(stage);

        /* Somebody has removed it. */
        if (e == ENOENT)
            return rename_in(stage, RENAME_NOREPLACE) == 0;
        if (e != 0 || !look_at_temp(stage, &out))
            return false;
        if (is_unwritten(&out, &last))
            return true;
        last = held;
        held = out;
    }
    return false;
}

static bool has_content(int fd, struct str content)
{
    cleanup_free char *bytes = malloc(COMPARE_BYTES);
    size_t offset = 0;

    while (bytes != NULL) {
        ssize_t got = pread(fd, bytes, COMPARE_BYTES, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0)
            return offset == content.len;
        if ((size_t)got > content.len - offset ||
            memcmp(bytes, content.ptr + offset, (size_t)got) != 0)
            return false;
        offset += (size_t)got;
    }
    return false;
}

/* Whether the file that came out is the expected one; times alone may be too coarse to tell. */
static bool is_as_expected(const struct backend_stage *stage)
{
    const struct str *content = stage->exchange->expected_content;
    struct stat out;

    return look_at_temp(stage, &out) && is_unwritten(&out, &stage->old_about) &&
           (content == NULL || has_content(stage->old_fd, *content));
}

static int swap_in(struct backend_stage *stage)
{
    int e = swap_names(stage);

    /* A file system without exchanges: the look that was taken has to do. */
    if (e == EINVAL) {
        int r = rename_in(stage, 0);

        if (r == 0)
            stage->form = STAGE_NAMELESS;
        return r;
    }
    if (e != 0)
        return e == ENOENT ? ERR_BUSY : linux_error(e);
    if (is_as_expected(stage))
        return 0;
    if (!swap_back(stage))
        stage->form = STAGE_NAMELESS; /* what has that name now is not ours to remove */
    return ERR_BUSY;
}

/* Where names cannot be exchanged: writes the old content again. */
static void copy_back(struct backend_stage *stage)
{
    const struct backend_lookup any = {.allows_hardlinks = true};
    uint64_t budget = UINT64_MAX;
    struct backend_file *old = NULL;
    struct authority_stat about;
    int r;

    linux_stage_forget_name(stage);
    close(stage->fd);
    stage->fd = -1;
    stage->written = 0;
    stage->max_bytes = 0;
    stage->cancel = NULL;
    r = linux_stage_create_like_old(stage, 0777);
    if (r == 0)
        r = linux_file_from_fd(&stage->backend->base, &any, stage->old_fd, &old, &about);
    if (r == 0)
        r = linux_stage_copy(stage, old, &budget);
    if (r == 0)
        r = take_after_old(stage);
    linux_file_close(old);
    if (r == 0 && rename_in(stage, 0) == 0)
        stage->form = STAGE_NAMELESS;
}

static void undo_swap(struct backend_stage *stage)
{
    if (stage->form == STAGE_NAMELESS)
        copy_back(stage);
    else if (!swap_back(stage))
        stage->form = STAGE_NAMELESS;
}

/* In the journal: the first is the leader, and comes last. */
static void note_swaps(struct backend_stage **stages, size_t count)
{
    int leader = stages[0]->journal_slot;

    for (size_t i = count; leader != LINUX_NO_SLOT && i-- > 0;)
        linux_journal_note_swap(stages[i]->backend->journal, stages[i]->journal_slot, leader,
                                stages[i]->place.last, &stages[i]->old_about,
                                &stages[i]->new_about);
}

/* All of them, or none. On failure *out_at is the one to blame. */
static int swap_all(struct backend_stage **stages, size_t count, size_t *out_at)
{
    size_t done = 0;
    int r = lock_all(stages, count);

    for (size_t i = 0; r == 0 && i < count; i++) {
        *out_at = i;
        r = linux_look(stages[i]->fd, &stages[i]->new_about);
        /* As late as can be. */
        if (r == 0 && !is_as_told(stages[i]))
            r = ERR_BUSY;
    }
    if (r < 0)
        return r;
    note_swaps(stages, count);
    while (r == 0 && done < count) {
        *out_at = done;
        r = swap_in(stages[done]);
        done += r == 0;
    }
    if (r < 0) {
        while (done-- > 0)
            undo_swap(stages[done]);
        return r;
    }
    if (stages[0]->journal_slot != LINUX_NO_SLOT)
        linux_journal_commit(stages[0]->backend->journal, stages[0]->journal_slot);
    return 0;
}

/* ---- after ---- */

static int tell_after(const struct backend_stage *stage)
{
    struct stat about;
    int r = linux_look(stage->fd, &about);

    if (r < 0)
        return r;
    /* Somebody may have appended to it by now, which must be seen as a change of what we wrote. */
    about.st_size = (off_t)stage->written;
    linux_fill_stat(&about, &stage->exchange->after);
    return 0;
}

/* Others may use the file from here on: nobody waits for the disk. */
static void unlock(struct backend_stage *stage)
{
    close(stage->fd);
    stage->fd = -1;
    if (stage->old_fd >= 0)
        close(stage->old_fd);
    stage->old_fd = -1;
}

/* It has its name: dropping must not take that away. */
static int settle(struct backend_stage *stage, bool is_swapped, bool is_synced)
{
    int r = stage->exchange != NULL ? tell_after(stage) : 0;
    int synced;

    if (is_swapped && stage->form == STAGE_NAMED)
        unlinkat(stage->place.dir_fd, stage->temp_name, 0);
    stage->form = STAGE_NAMELESS;
    unlock(stage);
    synced = is_synced ? linux_sync_dir(stage->place.dir_fd) : 0;
    return synced < 0 ? synced : r;
}

static bool is_exact(const struct backend_stage *stage)
{
    return stage->exchange != NULL && stage->exchange->expected != NULL;
}

static bool is_to_sync(const struct backend_stage *stage, bool is_synced)
{
    return is_synced && !stage->root->is_in_memory;
}

int linux_stage_publish(struct backend_stage *stage, bool is_synced)
{
    size_t at = 0;
    int r = finish(stage, is_to_sync(stage, is_synced));

    if (r == 0 && is_exact(stage))
        r = swap_all(&stage, 1, &at);
    else if (r == 0)
        r = is_as_told(stage) ? put_in_place(stage) : ERR_BUSY;
    if (r == 0)
        r = settle(stage, is_exact(stage), is_to_sync(stage, is_synced));
    linux_stage_drop(stage);
    return r;
}

int linux_stage_publish_all(struct backend_stage **stages, size_t count, bool is_synced,
                            size_t *out_at)
{
    bool is_done;
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++) {
        assert(is_exact(stages[i]));
        *out_at = i;
        r = finish(stages[i], is_to_sync(stages[i], is_synced));
    }
    if (r == 0)
        r = swap_all(stages, count, out_at);
    is_done = r == 0;
    /* The leader last: the others look at it. */
    for (size_t i = count; i-- > 0;) {
        int settled = is_done ? settle(stages[i], true, is_to_sync(stages[i], is_synced)) : 0;

        if (settled < 0) {
            r = settled;
            *out_at = i;
        }
        linux_stage_drop(stages[i]);
    }
    return r;
}
