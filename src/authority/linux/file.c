/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stat, reading and appending. A file is opened without blocking and checked through its
 * descriptor, so what was checked is what is read.
 */
#include "authority/linux/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { APPEND_TRIES = 16 };

struct backend_file {
    int fd;
    bool is_borrowed;
};

static const int read_flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

static enum authority_type type_of(mode_t mode)
{
    if (S_ISREG(mode))
        return AUTHORITY_FILE;
    if (S_ISDIR(mode))
        return AUTHORITY_DIRECTORY;
    return S_ISLNK(mode) ? AUTHORITY_SYMLINK : AUTHORITY_OTHER;
}

void linux_fill_stat(const struct stat *about, struct authority_stat *out_stat)
{
    *out_stat = (struct authority_stat){
        .type = type_of(about->st_mode),
        .size = S_ISREG(about->st_mode) ? (uint64_t)about->st_size : 0,
        .modified_ms = (int64_t)about->st_mtim.tv_sec * 1000 + about->st_mtim.tv_nsec / 1000000,
        .modified_ns = (uint64_t)about->st_mtim.tv_nsec,
        .changed_ns =
            (uint64_t)about->st_ctim.tv_sec * 1000000000U + (uint64_t)about->st_ctim.tv_nsec,
        .inode = about->st_ino,
        .device = about->st_dev,
        .mode = about->st_mode & 07777,
        .links = (unsigned)about->st_nlink,
    };
}

int linux_check_file(const struct stat *about, const struct backend_lookup *lookup)
{
    if (!S_ISREG(about->st_mode))
        return S_ISLNK(about->st_mode) ? ERR_SYMLINK_REJECTED : ERR_NOT_REGULAR_FILE;
    if (about->st_nlink > 1 && !lookup->allows_hardlinks)
        return ERR_HARDLINK_REJECTED;
    if (lookup->max_file_bytes > 0 && (uint64_t)about->st_size > lookup->max_file_bytes)
        return ERR_TOO_LARGE;
    return 0;
}

/*
 * With O_PATH: the object of that name, or the target of a link at the end if links are followed.
 */
static int open_and_look(struct backend_root *root, const struct backend_lookup *lookup,
                         struct str name, int flags, int *out_fd, struct stat *out_about)
{
    cleanup_fd int fd = -1;
    int r = linux_open(root, lookup, name, flags, &fd);

    if (r < 0)
        return r;
    r = linux_look(fd, out_about);
    if (r < 0)
        return r;
    if (S_ISLNK(out_about->st_mode) && lookup->follows_links) {
        close(steal_fd(&fd));
        r = linux_open_target(root, lookup, name, flags, &fd);
        if (r == 0)
            r = linux_look(fd, out_about);
        if (r < 0)
            return r;
    }
    *out_fd = steal_fd(&fd);
    return 0;
}

static bool is_directly_below(struct str name)
{
    return name.len > 0 && memchr(name.ptr, '/', name.len) == NULL && !str_eq(name, STR(".."));
}

/*
 * The path to a direct child of the root has no other component, so it need not be opened for a
 * stat. False if that is not enough to know. A separate function, so that the others do not pay for
 * its stack.
 */
__attribute__((noinline)) static bool look_directly(const struct backend_root *root,
                                                    const struct backend_lookup *lookup,
                                                    struct str name, struct stat *out_about)
{
    struct statx about;

    if (statx(root->fd, name.ptr, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
              STATX_BASIC_STATS | STATX_MNT_ID, &about) < 0 ||
        (about.stx_mask & STATX_MNT_ID) == 0 || about.stx_mnt_id != root->mount_id ||
        (S_ISLNK(about.stx_mode) && lookup->follows_links))
        return false;
    *out_about = (struct stat){
        .st_dev = makedev(about.stx_dev_major, about.stx_dev_minor),
        .st_ino = about.stx_ino,
        .st_mode = about.stx_mode,
        .st_nlink = about.stx_nlink,
        .st_size = (off_t)about.stx_size,
        .st_mtim = {about.stx_mtime.tv_sec, about.stx_mtime.tv_nsec},
        .st_ctim = {about.stx_ctime.tv_sec, about.stx_ctime.tv_nsec},
    };
    return true;
}

int linux_stat(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
               struct authority_stat *out_stat)
{
    cleanup_fd int fd = -1;
    __attribute__((uninitialized)) struct stat about;
    int r = cancel_check(lookup->cancel);

    if (r == 0 && !(is_directly_below(name) && look_directly(root, lookup, name, &about)))
        r = open_and_look(root, lookup, name, O_PATH | O_NOFOLLOW, &fd, &about);
    if (r == 0)
        linux_fill_stat(&about, out_stat);
    return r;
}

/* Checks an open file and wraps it; takes ownership of the descriptor only on success. */
static int wrap(int *fd, bool is_borrowed, const struct backend_lookup *lookup,
                struct backend_file **out_file, struct authority_stat *out_stat)
{
    struct backend_file *file;
    __attribute__((uninitialized)) struct stat about;
    int r = linux_look(*fd, &about);

    if (r == 0)
        r = linux_check_file(&about, lookup);
    if (r < 0)
        return r;
    file = malloc(sizeof(*file));
    if (file == NULL)
        return ERR_NO_MEMORY;
    *file = (struct backend_file){.fd = steal_fd(fd), .is_borrowed = is_borrowed};
    linux_fill_stat(&about, out_stat);
    *out_file = file;
    return 0;
}

/*
 * Root could open devices, which may have effects: checks first, then opens the very object that
 * was checked.
 */
static int open_looked_at(int path_fd, const struct stat *about,
                          const struct backend_lookup *lookup, int *out_fd)
{
    char name[32];
    int fd;
    int r = linux_check_file(about, lookup);

    if (r < 0)
        return r;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
    fd = open(name, read_flags | O_CLOEXEC);
    if (fd < 0)
        return linux_error(errno);
    *out_fd = fd;
    return 0;
}

int linux_file_open(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                    struct backend_file **out_file, struct authority_stat *out_stat)
{
    cleanup_fd int fd = -1;
    int r;

    if (root->backend->is_privileged) {
        cleanup_fd int path_fd = -1;
        __attribute__((uninitialized)) struct stat about;

        r = open_and_look(root, lookup, name, O_PATH | O_NOFOLLOW, &path_fd, &about);
        if (r == 0)
            r = open_looked_at(path_fd, &about, lookup, &fd);
    } else {
        r = linux_open(root, lookup, name, read_flags, &fd);
    }
    if (r < 0)
        return r;
    return wrap(&fd, false, lookup, out_file, out_stat);
}

int linux_file_open_at(const struct linux_backend *backend, int dir_fd, uint64_t mount_id,
                       const char *last, const struct backend_lookup *lookup,
                       struct backend_file **out_file, struct authority_stat *out_stat)
{
    cleanup_fd int fd = -1;
    int r;

    if (backend->is_privileged) {
        cleanup_fd int path_fd = openat(dir_fd, last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat about;

        if (path_fd < 0 || fstat(path_fd, &about) < 0)
            return linux_error(errno);
        r = open_looked_at(path_fd, &about, lookup, &fd);
        if (r < 0)
            return r;
        /* A file can be a mount of its own. */
        r = linux_check_mount(fd, mount_id);
    } else {
        r = linux_open_entry(backend, dir_fd, last, read_flags, mount_id, &fd);
    }
    return r < 0 ? r : wrap(&fd, false, lookup, out_file, out_stat);
}

int linux_file_from_fd(struct backend *backend, const struct backend_lookup *lookup, int fd,
                       struct backend_file **out_file, struct authority_stat *out_stat)
{
    (void)backend;
    return wrap(&fd, true, lookup, out_file, out_stat);
}

int linux_file_read(struct backend_file *file, uint64_t offset, void *bytes, size_t size,
                    size_t *out_got)
{
    ssize_t got;

    if (offset > INT64_MAX)
        return ERR_INVALID_ARGUMENT;
    do
        got = pread(file->fd, bytes, size, (off_t)offset);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return linux_error(errno);
    *out_got = (size_t)got;
    return 0;
}

void linux_file_close(struct backend_file *file)
{
    if (file == NULL)
        return;
    if (!file->is_borrowed)
        close(file->fd);
    free(file);
}

int linux_file_fd(const struct backend_file *file)
{
    return file->fd;
}

/* Where one append has written; others may append to the same file meanwhile. */
struct appended {
    off_t start;
    off_t end;
    size_t written;
};

static int write_all(int fd, struct str bytes, const struct cancel *cancel, struct appended *done)
{
    while (bytes.len > 0) {
        ssize_t written = write(fd, bytes.ptr, bytes.len);
        int r;

        if (written < 0 && errno != EINTR)
            return linux_error(errno);
        if (written > 0) {
            bytes = str_slice(bytes, (size_t)written, bytes.len);
            /* An appending write leaves the position at its own end. */
            done->end = lseek(fd, 0, SEEK_CUR);
            if (done->written == 0)
                done->start = done->end - written;
            done->written += (size_t)written;
        }
        r = bytes.len > 0 ? cancel_check(cancel) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* Truncates a partial write, unless other processes' bytes lie between or after. */
static int take_back(int fd, const struct appended *done)
{
    struct stat about;

    if (done->written == 0)
        return 0;
    if (fstat(fd, &about) < 0 || about.st_size != done->end ||
        done->end - done->start != (off_t)done->written || ftruncate(fd, done->start) < 0)
        return ERR_IO;
    return 0;
}

/* Whether the file still has its name. */
static bool is_in_place(const struct linux_place *place, const struct stat *file)
{
    struct stat now;

    return fstatat(place->dir_fd, place->last, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           linux_is_same_file(&now, file);
}

/*
 * ERR_BUSY if the file has lost its name to another: then it is not the one that was meant, and
 * what was appended is lost with it.
 */
static int append_to(int fd, const struct linux_place *place, const struct backend_lookup *lookup,
                     struct str bytes, bool is_synced)
{
    struct appended done = {0};
    struct stat about;
    uint64_t size;
    int r;

    /* So long nobody of us replaces it; others do not wait. */
    linux_lock(fd);
    if (fstat(fd, &about) < 0)
        return linux_error(errno);
    if (!is_in_place(place, &about))
        return ERR_BUSY;
    r = linux_check_file(&about, lookup);
    if (r < 0)
        return r;
    if (__builtin_add_overflow((uint64_t)about.st_size, bytes.len, &size) ||
        (lookup->max_file_bytes > 0 && size > lookup->max_file_bytes))
        return ERR_TOO_LARGE;
    /* They were given to the old content; as root we keep a right that spares them on a write. */
    if ((about.st_mode & (S_ISUID | S_ISGID)) != 0 && fchmod(fd, about.st_mode & 0777) < 0 &&
        errno != EPERM)
        return linux_error(errno);
    r = write_all(fd, bytes, lookup->cancel, &done);
    if (r == 0 && !is_in_place(place, &about))
        return ERR_BUSY;
    linux_unlock(fd);
    if (r == 0 && is_synced && fsync(fd) < 0)
        r = linux_error(errno);
    if (r < 0 && take_back(fd, &done) < 0)
        return ERR_IO;
    return r;
}

static int append_to_new(struct backend_root *root, const struct backend_lookup *lookup,
                         struct str name, struct str bytes, unsigned mode, bool is_synced)
{
    struct backend_stage *stage;
    int r = linux_stage(root, lookup, name, BACKEND_CREATE_NEW, mode, &stage);

    if (r < 0)
        return r;
    r = linux_stage_write(stage, bytes.ptr, bytes.len);
    if (r < 0) {
        linux_stage_drop(stage);
        return r;
    }
    return linux_stage_publish(stage, is_synced);
}

int linux_append(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 struct str bytes, bool may_create, unsigned mode, bool is_synced)
{
    /* Again, if another process creates, replaces or removes the file in between. */
    for (int tries = 0; tries < APPEND_TRIES; tries++) {
        cleanup_place struct linux_place place = LINUX_PLACE_INIT;
        cleanup_fd int fd = -1;
        struct stat about;
        int r = linux_open_parent(root, lookup, name, LINUX_LAST_RESOLVED, &place);

        if (r < 0)
            return r;
        if (fstatat(place.dir_fd, place.last, &about, AT_SYMLINK_NOFOLLOW) == 0) {
            r = linux_check_file(&about, lookup);
            if (r < 0)
                return r;
            fd = openat(place.dir_fd, place.last,
                        O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
        }
        if (fd >= 0) {
            r = linux_check_mount(fd, root->mount_id);
            if (r == 0)
                r = append_to(fd, &place, lookup, bytes, is_synced);
            if (r != ERR_BUSY)
                return r;
            continue;
        }
        if (errno != ENOENT)
            return linux_error(errno);
        if (!may_create)
            return ERR_NOT_FOUND;
        r = append_to_new(root, lookup, name, bytes, mode, is_synced);
        if (r != ERR_ALREADY_EXISTS)
            return r;
    }
    return ERR_BUSY;
}
