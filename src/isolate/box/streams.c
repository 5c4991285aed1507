/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The standard streams of a command. A descriptor from outside belongs to a mount from outside,
 * which is writable: even if opened for reading, it suffices to change the mode, times and
 * attributes of its file. So files that are only read are reopened where everything is read-only.
 */
#include "isolate/box/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { PATH_OF_FD_BYTES = 32, MEMORY_DEVICES = 1 };

/* The sandbox's own devices, by minor number. */
static const struct {
    unsigned minor;
    const char *path;
} own_devices[] = {
    {3, "/dev/null"}, {5, "/dev/zero"}, {7, "/dev/full"}, {8, "/dev/random"}, {9, "/dev/urandom"},
};

/* Of what is open for both, input is read. */
static bool is_only_read(int stream, int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 &&
           ((flags & O_ACCMODE) == O_RDONLY || (stream == 0 && (flags & O_ACCMODE) == O_RDWR));
}

/* Reopens the same file by name, at the same offset; an errno value. */
static int open_again(int fd, const struct stat *about, int *out_fd)
{
    char by_number[PATH_OF_FD_BYTES];
    char target[BOX_PATH_BYTES];
    cleanup_fd int again = -1;
    struct stat found;
    ssize_t len;

    snprintf(by_number, sizeof(by_number), "/proc/self/fd/%d", fd);
    len = readlink(by_number, target, sizeof(target) - 1);
    if (len < 0)
        return errno;
    target[len] = '\0';
    again = open(target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (again < 0 || fstat(again, &found) < 0)
        return errno;
    if (found.st_dev != about->st_dev || found.st_ino != about->st_ino)
        return ESTALE;
    if (fcntl(again, F_SETFL, 0) < 0 || lseek(again, lseek(fd, 0, SEEK_CUR), SEEK_SET) < 0)
        return errno;
    *out_fd = steal_fd(&again);
    return 0;
}

int box_reopen_files(struct box_build *build)
{
    for (int i = 0; i < BOX_STREAMS; i++) {
        int fd = build->command->fds[i];
        struct stat about;
        int r;

        if (fd < 0)
            continue;
        if (fstat(fd, &about) < 0)
            return errno;
        /* A file without a name ends with its descriptors, and nobody finds it changed. */
        if (!S_ISREG(about.st_mode) || about.st_nlink == 0 || !is_only_read(i, fd))
            continue;
        snprintf(build->what, sizeof(build->what), "descriptor %d", i);
        r = open_again(fd, &about, &build->files[i]);
        /* Another user's file is theirs to change, and they may have opened it for us. */
        if (r != 0 && about.st_uid == build->box->uid)
            return r;
    }
    return 0;
}

/* Opens a device from the sandbox if it has it; its descriptor, or -1. */
static int open_own_device(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    struct stat about;

    if (flags < 0 || fstat(fd, &about) < 0 || !S_ISCHR(about.st_mode) ||
        major(about.st_rdev) != MEMORY_DEVICES)
        return -1;
    for (size_t i = 0; i < array_size(own_devices); i++)
        if (minor(about.st_rdev) == own_devices[i].minor)
            return open(own_devices[i].path, (flags & O_ACCMODE) | O_CLOEXEC);
    return -1;
}

int box_open_stream(const struct box_build *build, int stream)
{
    int fd = build->command->fds[stream];
    int own;

    if (fd == BOX_FD_PTY)
        return build->pty_slave;
    if (fd < 0)
        return open("/dev/null", O_RDWR | O_CLOEXEC);
    own = build->files[stream] >= 0 ? build->files[stream] : open_own_device(fd);
    return own >= 0 ? own : fd;
}
