/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/settings/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum {
    DIR_MODE = 0700,
    FILE_MODE = 0600,
    OPEN_TO_OTHERS = 077,
    LOCK_STEP_MS = 4, /* between two tries */
};

static int refuse(struct err *err, const char *name, int errno_value)
{
    return err_set_field(err, err_from_errno(errno_value), name, "%s: %s", name,
                         err_errno_text(errno_value));
}

/* ---- the directory ---- */

static bool is_settings(const struct settingsdir_request *request, int dir_fd)
{
    struct stat about;

    return request->is_default || fstatat(dir_fd, request->name, &about, AT_SYMLINK_NOFOLLOW) == 0;
}

static int check_dir(const struct settingsdir_request *request, int dir_fd,
                     char out_note[SETTINGSDIR_NOTE_BYTES], struct err *err)
{
    struct stat about;

    if (fstat(dir_fd, &about) < 0)
        return refuse(err, request->path, errno);
    if (about.st_uid != geteuid())
        return err_set_field(err, ERR_PERMISSION_DENIED, request->path,
                             "%s belongs to another user", request->path);
    if ((about.st_mode & OPEN_TO_OTHERS) == 0)
        return 0;
    /* A folder that serves others, too, is not ours to close. */
    if ((about.st_mode & S_ISVTX) != 0 || !is_settings(request, dir_fd))
        return err_set_field(
            err, ERR_PERMISSION_DENIED, request->path,
            "%s is accessible to other users (mode %04o): run 'chmod 700' on it, or choose another",
            request->path, (unsigned)about.st_mode & 07777);
    if (fchmod(dir_fd, DIR_MODE) < 0)
        return refuse(err, request->path, errno);
    snprintf(out_note, SETTINGSDIR_NOTE_BYTES,
             "the settings directory was accessible to other users (mode %04o) and is now 0700",
             (unsigned)about.st_mode & 07777);
    return 0;
}

int settingsdir_open(const struct settingsdir_request *request, int *out_fd,
                     char out_note[SETTINGSDIR_NOTE_BYTES], struct err *err)
{
    cleanup_fd int fd = -1;
    int r;

    if (request->may_make && mkdir(request->path, DIR_MODE) < 0 && errno != EEXIST)
        return refuse(err, request->path, errno);
    fd = open(request->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return refuse(err, request->path, errno);
    r = check_dir(request, fd, out_note, err);
    if (r < 0)
        return r;
    *out_fd = steal_fd(&fd);
    return 0;
}

/* ---- a file in it ---- */

static int check_file(const struct stat *about, const char *name, struct err *err)
{
    if (S_ISLNK(about->st_mode))
        return err_set_field(err, ERR_SYMLINK_REJECTED, name,
                             "%s is a symbolic link; replace it with the file itself", name);
    if (!S_ISREG(about->st_mode))
        return err_set_field(err, ERR_NOT_REGULAR_FILE, name, "%s is not a regular file", name);
    if (about->st_uid != geteuid())
        return err_set_field(err, ERR_PERMISSION_DENIED, name, "%s belongs to another user", name);
    if (about->st_nlink > 1)
        return err_set_field(err, ERR_HARDLINK_REJECTED, name,
                             "%s has other hard links; remove them", name);
    return 0;
}

/* By file descriptor, so that it is the very file that was checked. */
static int close_to_others(int dir_fd, const char *name, char out_note[SETTINGSDIR_NOTE_BYTES],
                           struct err *err)
{
    cleanup_fd int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat about;
    int r;

    if (fd < 0 || fstat(fd, &about) < 0)
        return refuse(err, name, errno);
    r = check_file(&about, name, err);
    if (r < 0)
        return r;
    if (fchmod(fd, FILE_MODE) < 0)
        return refuse(err, name, errno);
    snprintf(out_note, SETTINGSDIR_NOTE_BYTES,
             "%s was accessible to other users (mode %04o) and is now 0600", name,
             (unsigned)about.st_mode & 07777);
    return 0;
}

int settingsdir_check_file(int dir_fd, const char *name, char out_note[SETTINGSDIR_NOTE_BYTES],
                           struct err *err)
{
    struct stat about;
    int r;

    if (fstatat(dir_fd, name, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return refuse(err, name, errno);
    r = check_file(&about, name, err);
    if (r < 0 || (about.st_mode & OPEN_TO_OTHERS) == 0)
        return r;
    return close_to_others(dir_fd, name, out_note, err);
}

/* ---- the lock ---- */

/* Someone may have removed the file meanwhile, and others may lock another one of that name. */
static bool is_still_there(int dir_fd, const char *name, int lock_fd)
{
    struct stat there;
    struct stat ours;

    return fstatat(dir_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && fstat(lock_fd, &ours) == 0 &&
           there.st_ino == ours.st_ino && there.st_dev == ours.st_dev;
}

/* 0 if it was locked, ERR_BUSY if another process holds it. */
static int try_lock(int dir_fd, const char *name, int operation, int *out_fd, struct err *err)
{
    cleanup_fd int fd =
        openat(dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, FILE_MODE);

    if (fd < 0)
        return refuse(err, name, errno);
    if (flock(fd, operation | LOCK_NB) < 0)
        return errno == EWOULDBLOCK || errno == EINTR ? ERR_BUSY : refuse(err, name, errno);
    if (!is_still_there(dir_fd, name, fd))
        return ERR_BUSY;
    *out_fd = steal_fd(&fd);
    return 0;
}

static int lock(int dir_fd, const char *name, int operation, int64_t wait_ms, int *out_fd,
                struct err *err)
{
    const struct timespec step = {.tv_nsec = LOCK_STEP_MS * 1000000L};
    int64_t deadline = clock_monotonic_ms(&clock_system) + wait_ms;
    int r;

    while ((r = try_lock(dir_fd, name, operation, out_fd, err)) == ERR_BUSY) {
        if (clock_monotonic_ms(&clock_system) >= deadline)
            return err_set(err, ERR_BUSY,
                           "another program has locked the settings for too long; try again");
        nanosleep(&step, NULL);
    }
    return r;
}

int settingsdir_lock(int dir_fd, const char *name, int64_t wait_ms, int *out_fd, struct err *err)
{
    return lock(dir_fd, name, LOCK_EX, wait_ms, out_fd, err);
}

int settingsdir_share(int dir_fd, const char *name, int64_t wait_ms, int *out_fd, struct err *err)
{
    return lock(dir_fd, name, LOCK_SH, wait_ms, out_fd, err);
}

bool settingsdir_is_locked(int dir_fd, const char *name)
{
    cleanup_fd int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return errno != ENOENT;
    return flock(fd, LOCK_EX | LOCK_NB) < 0;
}
