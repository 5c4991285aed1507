/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that appear complete or not at all: how they are begun and written. publish.c puts them in
 * place.
 *
 * A new file is created without a name (O_TMPFILE) and linked when it is complete; linking never
 * replaces. A replacement needs its own name beside the target for a moment: that name is in the
 * journal before it exists. In a private tree nobody looks, so files there are written in place.
 */
#include "authority/linux/stage_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/checked.h"

enum {
    COPY_STEP_BYTES = 8 << 20, /* between two looks at the token */
    COPY_BUFFER_BYTES = 128 << 10,
    COPY_SMALL_BYTES = 16 << 10, /* on the stack */
    UNLOCKED_BYTES = 64 << 10,   /* written in no time */
    ALL_MODES = 07777,
};

/* ---- beginning ---- */

int linux_stage_take_name(struct backend_stage *stage)
{
    linux_temp_name(stage->temp_name);
    if (stage->backend->journal == NULL)
        return 0;
    return linux_journal_add(stage->backend->journal, &stage->place, stage->temp_name,
                             LINUX_LEFTOVER_FILE, &stage->journal_slot);
}

void linux_stage_forget_name(struct backend_stage *stage)
{
    if (stage->journal_slot != LINUX_NO_SLOT)
        linux_journal_remove(stage->backend->journal, stage->journal_slot);
    stage->journal_slot = LINUX_NO_SLOT;
}

static int create_named(struct backend_stage *stage, unsigned mode)
{
    int r = linux_stage_take_name(stage);

    if (r < 0)
        return r;
    stage->is_locked = false;
    stage->fd = openat(stage->place.dir_fd, stage->temp_name,
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (stage->fd >= 0) {
        stage->form = STAGE_NAMED;
        return 0;
    }
    r = linux_error(errno);
    linux_stage_forget_name(stage);
    return r;
}

void linux_stage_lock(struct backend_stage *stage)
{
    if (stage->form != STAGE_NAMED || stage->is_locked)
        return;
    linux_lock(stage->fd);
    stage->is_locked = true;
}

static int create_nameless(struct backend_stage *stage, unsigned mode)
{
    stage->fd = openat(stage->place.dir_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
    if (stage->fd >= 0) {
        stage->form = STAGE_NAMELESS;
        return 0;
    }
    /* Not every file system has it; EISDIR is how old kernels say so. */
    if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT)
        return create_named(stage, mode);
    return linux_error(errno);
}

/*
 * Opens the file to be replaced for writing, although nothing is written to it: renaming over a
 * file does not check its permission, so this does. Also for reading if permitted: see
 * stage_exchange.
 */
static int open_old(struct backend_stage *stage, const struct backend_lookup *lookup)
{
    const int flags = O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC;
    const struct linux_place *place = &stage->place;
    struct backend_lookup of_any_size = *lookup; /* it goes */
    int r;

    /* Nothing is opened that might act when it is. */
    stage->old_about = place->last_about;
    if (place->last_about.st_mode == 0 &&
        fstatat(place->dir_fd, place->last, &stage->old_about, AT_SYMLINK_NOFOLLOW) < 0)
        return linux_error(errno);
    of_any_size.max_file_bytes = 0;
    r = linux_check_file(&stage->old_about, &of_any_size);
    if (r < 0)
        return r;
    stage->old_fd = openat(place->dir_fd, place->last, O_RDWR | flags);
    stage->is_old_readable = stage->old_fd >= 0;
    if (stage->old_fd < 0 && errno == EACCES)
        stage->old_fd = openat(place->dir_fd, place->last, O_WRONLY | flags);
    if (stage->old_fd < 0)
        return linux_error(errno);
    /* A file system of layers may have made another file of it for the opening. */
    r = linux_look(stage->old_fd, &stage->old_about);
    return r < 0 ? r : linux_check_file(&stage->old_about, &of_any_size);
}

/*
 * Creates it with the mode of the old one, so that it seldom must be changed; with nothing that a
 * new file would not get. If the owner or group differs, even that could give access to users who
 * may not read the old one.
 */
int linux_stage_create_like_old(struct backend_stage *stage, unsigned mode)
{
    int r = create_named(stage, stage->old_about.st_mode & mode & 0777);

    if (r == 0)
        r = linux_look(stage->fd, &stage->new_about);
    if (r < 0 || linux_is_of_same_owner(&stage->old_about, &stage->new_about))
        return r;
    stage->new_about.st_mode = 0600;
    return fchmod(stage->fd, 0600) < 0 ? linux_error(errno) : 0;
}

static int begin(struct backend_stage *stage, const struct backend_root *root,
                 const struct backend_lookup *lookup, unsigned mode)
{
    int r;

    if (root->is_private) {
        stage->form = STAGE_IN_PLACE;
        stage->fd = openat(stage->place.dir_fd, stage->place.last,
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        return stage->fd < 0 ? linux_error(errno) : 0;
    }
    r = open_old(stage, lookup);
    if (r == 0 && stage->create == BACKEND_CREATE_NEW)
        return ERR_ALREADY_EXISTS;
    if (r == 0)
        return linux_stage_create_like_old(stage, mode);
    if (r != ERR_NOT_FOUND || stage->create == BACKEND_REPLACE_OLD)
        return stage->create == BACKEND_CREATE_NEW && r != ERR_NOT_FOUND ? ERR_ALREADY_EXISTS : r;
    return create_nameless(stage, mode);
}

/* The directory of the file before, if it is the same; else opens it, and keeps that one. */
static int open_parent_in_tree(struct backend_root *tree, const struct backend_lookup *lookup,
                               struct str name, struct linux_place *out_place)
{
    struct linux_last_parent *kept = tree->last_parent;
    struct str parent;
    struct str last;
    int r;

    path_split(name, &parent, &last);
    if (kept->fd < 0 || last.len == 0 || last.len > NAME_MAX ||
        !str_eq(parent, path_view(&kept->name))) {
        r = linux_open_parent(tree, lookup, name, LINUX_LAST_AS_IS, out_place);
        if (r < 0 || out_place->is_dir_borrowed)
            return r;
        if (kept->fd >= 0)
            close(kept->fd);
        kept->fd = out_place->dir_fd;
        kept->name.len = parent.len;
        memcpy(kept->name.text, parent.ptr, parent.len);
        kept->name.text[parent.len] = '\0';
        out_place->is_dir_borrowed = true;
        return 0;
    }
    memcpy(out_place->last, last.ptr, last.len);
    out_place->last[last.len] = '\0';
    out_place->dir_fd = kept->fd;
    out_place->is_dir_borrowed = true;
    return cancel_check(lookup->cancel);
}

int linux_stage(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                enum backend_create create, unsigned mode, struct backend_stage **out_stage)
{
    struct backend_stage *stage = malloc(sizeof(*stage));
    int r;

    if (stage == NULL)
        return ERR_NO_MEMORY;
    *stage = (struct backend_stage){
        .backend = root->backend,
        .root = root,
        .lookup = *lookup,
        .place = LINUX_PLACE_INIT,
        .fd = -1,
        .old_fd = -1,
        .create = create,
        .max_bytes = lookup->max_file_bytes,
        .cancel = lookup->cancel,
        .journal_slot = LINUX_NO_SLOT,
    };
    /* In a private tree it is created, and nothing that is there already is used. */
    r = root->last_parent != NULL
            ? open_parent_in_tree(root, lookup, name, &stage->place)
            : linux_open_parent(root, lookup, name,
                                root->is_private ? LINUX_LAST_AS_IS : LINUX_LAST_RESOLVED,
                                &stage->place);
    if (r == 0)
        r = begin(stage, root, lookup, mode);
    if (r < 0) {
        linux_stage_drop(stage);
        return r;
    }
    *out_stage = stage;
    return 0;
}

/* Reads all of the file being replaced, or nothing. */
static int read_old(const struct backend_stage *stage, struct buf *content)
{
    uint64_t size = (uint64_t)stage->old_about.st_size;
    size_t start = content->len;
    int r;

    if (!stage->is_old_readable)
        return ERR_PERMISSION_DENIED;
    if (size > content->max - content->len)
        return ERR_TOO_LARGE;
    r = buf_reserve(content, (size_t)size);
    while (r == 0 && content->len - start < size) {
        ssize_t got = pread(stage->old_fd, content->data + content->len,
                            (size_t)size - (content->len - start), (off_t)(content->len - start));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) /* it was truncated: another process is changing it */
            r = got < 0 ? linux_error(errno) : ERR_BUSY;
        else
            content->len += (size_t)got;
    }
    if (r < 0)
        content->len = start;
    return r;
}

int linux_stage_exchange(struct backend_stage *stage, struct authority_exchange *exchange)
{
    int r = exchange->content != NULL ? read_old(stage, exchange->content) : 0;

    if (r < 0)
        return r;
    linux_fill_stat(&stage->old_about, &exchange->before);
    stage->exchange = exchange;
    if (exchange->expected != NULL)
        linux_stage_lock(stage);
    return 0;
}

/* ---- writing ---- */

static int grow_by(struct backend_stage *stage, uint64_t len)
{
    uint64_t size;

    if (__builtin_add_overflow(stage->written, len, &size) ||
        (stage->max_bytes > 0 && size > stage->max_bytes))
        return ERR_TOO_LARGE;
    stage->written = size;
    return cancel_check(stage->cancel);
}

int linux_stage_write(struct backend_stage *stage, const void *bytes, size_t len)
{
    const char *next = bytes;
    int r;

    if (stage->written > 0 || len > UNLOCKED_BYTES)
        linux_stage_lock(stage);
    r = grow_by(stage, len);
    if (r < 0)
        return r;
    while (len > 0) {
        ssize_t written = write(stage->fd, next, len);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return linux_error(errno);
        next += written;
        len -= (size_t)written;
    }
    return 0;
}

/* ---- copying ---- */

static int spend(uint64_t *budget, uint64_t len)
{
    if (len > *budget)
        return ERR_TOO_LARGE;
    *budget -= len;
    return 0;
}

/* The next data at or after `offset`; false if there is only a hole or nothing at all. */
static bool find_data(int fd, uint64_t offset, uint64_t *out_start, uint64_t *out_end)
{
    off_t start = lseek(fd, (off_t)offset, SEEK_DATA);
    off_t end;

    if (start < 0 && errno == ENXIO)
        return false;
    end = start < 0 ? -1 : lseek(fd, start, SEEK_HOLE);
    /* A file system that does not tell: data, to wherever the file ends. */
    *out_start = start < 0 ? offset : (uint64_t)start;
    *out_end = end < 0 ? INT64_MAX : (uint64_t)end;
    return true;
}

/* Before anything is written. The file may still grow, so copying counts again. */
static int check_budget(const struct backend_stage *stage, int fd, uint64_t budget,
                        uint64_t *out_data)
{
    off_t position = lseek(fd, 0, SEEK_CUR); /* which may be the host's, and is moved here */
    uint64_t offset = 0;
    uint64_t start;
    uint64_t end;
    struct stat about;
    int r = fstat(fd, &about) < 0 ? linux_error(errno) : 0;

    *out_data = 0;
    while (r == 0 && offset < (uint64_t)about.st_size && find_data(fd, offset, &start, &end)) {
        offset = end < (uint64_t)about.st_size ? end : (uint64_t)about.st_size;
        r = spend(&budget, offset > start ? offset - start : 0);
        *out_data += offset > start ? offset - start : 0;
        if (r == 0)
            r = cancel_check(stage->cancel);
    }
    if (position >= 0)
        (void)lseek(fd, position, SEEK_SET);
    return r;
}

/* By reading and writing, if the kernel cannot copy between the two. */
static int copy_by_hand(struct backend_stage *stage, struct backend_file *file, uint64_t *offset,
                        uint64_t end, uint64_t *budget)
{
    cleanup_free char *buffer = malloc(COPY_BUFFER_BYTES);
    size_t got = 1;
    int r = buffer == NULL ? ERR_NO_MEMORY : 0;

    while (r == 0 && got > 0 && *offset < end) {
        size_t most =
            end - *offset < COPY_BUFFER_BYTES ? (size_t)(end - *offset) : COPY_BUFFER_BYTES;

        r = linux_file_read(file, *offset, buffer, most, &got);
        if (r == 0)
            r = spend(budget, got);
        if (r == 0 && got > 0)
            r = linux_stage_write(stage, buffer, got);
        if (r == 0)
            *offset += got;
    }
    return r;
}

/* Up to `end`, or less if the file ends before. */
static int copy_data(struct backend_stage *stage, struct backend_file *file, uint64_t *offset,
                     uint64_t end, uint64_t *budget)
{
    while (*offset < end) {
        off64_t from = (off64_t)*offset;
        size_t most = end - *offset < COPY_STEP_BYTES ? (size_t)(end - *offset) : COPY_STEP_BYTES;
        ssize_t copied = copy_file_range(linux_file_fd(file), &from, stage->fd, NULL, most, 0);
        int r;

        if (copied < 0 && errno == EINTR)
            continue;
        /* Some file systems answer 0 for files that have more to give (procfs): ask read too. */
        if (copied == 0 || (copied < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS ||
                                           errno == EOPNOTSUPP || errno == EBADF)))
            return copy_by_hand(stage, file, offset, end, budget);
        if (copied < 0)
            return linux_error(errno);
        r = spend(budget, (uint64_t)copied);
        if (r == 0)
            r = grow_by(stage, (uint64_t)copied);
        if (r < 0)
            return r;
        *offset += (uint64_t)copied;
    }
    return 0;
}

/* Writes nothing; the next data is written after the hole. */
static int copy_hole(struct backend_stage *stage, uint64_t *offset, uint64_t end)
{
    int r = grow_by(stage, end - *offset);

    if (r < 0)
        return r;
    if (lseek(stage->fd, (off_t)stage->written, SEEK_SET) < 0)
        return errno == EINVAL ? ERR_TOO_LARGE : linux_error(errno);
    *offset = end;
    return 0;
}

/* The file has no more data; it may end with a hole. */
static int copy_end(struct backend_stage *stage, struct backend_file *file, uint64_t offset,
                    uint64_t *budget)
{
    struct stat about;
    int r = fstat(linux_file_fd(file), &about) < 0 ? linux_error(errno) : 0;

    if (r == 0 && (uint64_t)about.st_size > offset) {
        r = copy_hole(stage, &offset, (uint64_t)about.st_size);
        if (r == 0 && ftruncate(stage->fd, (off_t)stage->written) < 0)
            r = linux_error(errno);
    }
    /* What was added since, or exists although the size did not tell. */
    return r < 0 ? r : copy_by_hand(stage, file, &offset, UINT64_MAX, budget);
}

static int copy_parts(struct backend_stage *stage, struct backend_file *file, uint64_t *budget)
{
    uint64_t offset = 0;
    uint64_t start;
    uint64_t end;

    while (find_data(linux_file_fd(file), offset, &start, &end)) {
        int r = cancel_check(stage->cancel);

        if (r == 0 && start > offset)
            r = copy_hole(stage, &offset, start);
        if (r == 0)
            r = copy_data(stage, file, &offset, end, budget);
        /* It ended before its data did: it was truncated, or its end was unknown. */
        if (r < 0 || offset < end)
            return r;
    }
    return copy_end(stage, file, offset, budget);
}

/*
 * Most files are small: to look for holes in them takes longer than to read them. 0, and *out_done
 * false, if it has more to give; then nothing was written.
 */
static int copy_small(struct backend_stage *stage, struct backend_file *file, uint64_t *budget,
                      bool *out_done)
{
    __attribute__((uninitialized)) char bytes[COPY_SMALL_BYTES];
    size_t len = 0;
    size_t got = 1;
    int r = 0;

    while (r == 0 && got > 0 && len < sizeof(bytes)) {
        r = linux_file_read(file, len, bytes + len, sizeof(bytes) - len, &got);
        if (r == 0)
            len += got;
    }
    *out_done = r == 0 && got == 0;
    if (!*out_done)
        return r;
    r = spend(budget, len);
    return r == 0 ? linux_stage_write(stage, bytes, len) : r;
}

/* Looking for data moves the position, and the host may have opened this file. */
static int copy_large(struct backend_stage *stage, struct backend_file *file, uint64_t *budget)
{
    off_t position = lseek(linux_file_fd(file), 0, SEEK_CUR);
    int r = copy_parts(stage, file, budget);

    if (position >= 0)
        (void)lseek(linux_file_fd(file), position, SEEK_SET);
    return r;
}

/* What fills a tree comes from one place, so if one file cannot be cloned there, none can. */
static bool make_clone(struct backend_stage *stage, int from)
{
    struct backend_root *root = stage->root;

    if (root->cannot_clone || stage->written > 0)
        return false;
    if (ioctl(stage->fd, FICLONE, from) == 0)
        return true;
    root->cannot_clone = root->last_parent != NULL && (errno == EOPNOTSUPP || errno == EXDEV);
    return false;
}

int linux_stage_copy(struct backend_stage *stage, struct backend_file *file, uint64_t *budget)
{
    int from = linux_file_fd(file);
    struct stat about;
    uint64_t data = 0;
    bool is_done = false;
    int r;

    linux_stage_lock(stage);
    r = *budget < UINT64_MAX ? check_budget(stage, from, *budget, &data) : 0;

    if (r < 0)
        return r;
    if (!make_clone(stage, from)) {
        r = copy_small(stage, file, budget, &is_done);
        return r < 0 || is_done ? r : copy_large(stage, file, budget);
    }
    /* The clone is as large as the file was at that moment, which may have grown. */
    if (fstat(stage->fd, &about) < 0)
        return linux_error(errno);
    *budget -= data;
    return grow_by(stage, (uint64_t)about.st_size);
}

/* ---- the end ---- */

int linux_stage_dress(struct backend_stage *stage, unsigned mode, struct backend_file *after)
{
    struct stat old = {.st_mode = 0};
    struct stat new = {.st_mode = 0};

    if (after != NULL) {
        int r = linux_look(linux_file_fd(after), &old);

        if (r == 0)
            r = linux_look(stage->fd, &new);
        if (r == 0)
            r = linux_take_after(linux_file_fd(after), &old, stage->fd, &new);
        if (r < 0)
            return r;
    }
    /* What was looked at, and has the mode already, needs no change. */
    if ((after == NULL || (new.st_mode &ALL_MODES) != mode) && fchmod(stage->fd, mode) < 0)
        return linux_error(errno);
    stage->is_dressed = true;
    return 0;
}

int linux_stage_date(struct backend_stage *stage, struct backend_file *after,
                     struct authority_stat *out_stat)
{
    struct stat about;
    int r = linux_look(linux_file_fd(after), &about);

    if (r < 0)
        return r;
    if (futimens(stage->fd, (const struct timespec[]){about.st_atim, about.st_mtim}) < 0)
        return linux_error(errno);
    r = linux_look(stage->fd, &about);
    if (r == 0)
        linux_fill_stat(&about, out_stat);
    return r;
}

void linux_stage_drop(struct backend_stage *stage)
{
    if (stage == NULL)
        return;
    if (stage->form == STAGE_NAMED)
        unlinkat(stage->place.dir_fd, stage->temp_name, 0);
    else if (stage->form == STAGE_IN_PLACE && stage->fd >= 0)
        unlinkat(stage->place.dir_fd, stage->place.last, 0);
    if (stage->fd >= 0)
        close(stage->fd);
    linux_stage_forget_name(stage);
    if (stage->old_fd >= 0)
        close(stage->old_fd);
    linux_place_done(&stage->place);
    free(stage);
}
