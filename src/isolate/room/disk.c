/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file system of a limited size for the files of one room: ext4 in a sparse file, by a loop
 * device. The mount belongs to no mount namespace until the room has it, and the kernel frees the
 * device with the last user of the mount, so nothing is left if we are killed at any moment.
 *
 * An empty file system of each size is made once, by mke2fs, and copied without its holes.
 */
#include "isolate/room/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
    MODE_FILE = 0600,
    COPY_BYTES = 64 << 10,
    MAX_TRIES = 64,
    NAME_BYTES = 64,
    FIRST_FREE_FD = 3
};

#define UNFINISHED ROOM_DISK ".new"

static const char *const formatters[] = {"/usr/sbin/mke2fs", "/sbin/mke2fs"};

static const char *find_formatter(void)
{
    for (size_t i = 0; i < array_size(formatters); i++)
        if (access(formatters[i], X_OK) == 0)
            return formatters[i];
    return NULL;
}

bool room_disk_is_possible(void)
{
    cleanup_fd int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    cleanup_fd int type = fsopen("ext4", FSOPEN_CLOEXEC);

    return control >= 0 && type >= 0 && find_formatter() != NULL;
}

/* ---- Making one ---- */

/* In a child: the image is its descriptor 3. */
static _Noreturn void exec_formatter(const char *program, int image)
{
    static char *const no_environment[] = {NULL};
    const char *const argv[] = {"mke2fs",
                                "-q",
                                "-F",
                                "-t",
                                "ext4",
                                "-m",
                                "0",
                                "-J",
                                "size=4",
                                "-O",
                                "^resize_inode",
                                "-E",
                                "lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=0:0",
                                "/proc/self/fd/3",
                                NULL};
    char *words[array_size(argv)];
    int null = open("/dev/null", O_RDWR);

    image = fcntl(image, F_DUPFD, FIRST_FREE_FD + 1); /* it may be where another must go */
    for (int i = 0; i < FIRST_FREE_FD; i++)
        if (null < 0 || dup2(null, i) < 0)
            _exit(EXIT_FAILURE);
    if (image < 0 || dup2(image, FIRST_FREE_FD) < 0)
        _exit(EXIT_FAILURE);
    /* SAFETY: numbers only. */
    (void)syscall(SYS_close_range, FIRST_FREE_FD + 1, ~0U, 0);
    /* SAFETY: execve() changes none of the words; its type is older than const. */
    memcpy(words, argv, sizeof(words));
    execve(program, words, no_environment);
    _exit(EXIT_FAILURE);
}

/* 0 or an errno value. */
static int format(int image)
{
    const char *program = find_formatter();
    int status = 0;
    pid_t pid;

    if (program == NULL)
        return ENOENT;
    pid = fork();
    if (pid == 0)
        exec_formatter(program, image);
    if (pid < 0)
        return errno;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : EINVAL;
}

/* An empty file system of this size, or -1 with errno. */
static int open_template(int disks, uint64_t bytes)
{
    char name[NAME_BYTES];
    char unfinished[NAME_BYTES];
    cleanup_fd int image = -1;
    int r;

    snprintf(name, sizeof(name), "%llu", (unsigned long long)bytes);
    snprintf(unfinished, sizeof(unfinished), "%llu.new", (unsigned long long)bytes);
    image = openat(disks, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (image >= 0)
        return steal_fd(&image);
    image =
        openat(disks, unfinished, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, MODE_FILE);
    if (image < 0 || ftruncate(image, (off_t)bytes) < 0)
        return -1;
    r = format(image);
    if (r != 0 || renameat(disks, unfinished, disks, name) < 0) {
        r = r != 0 ? r : errno;
        (void)unlinkat(disks, unfinished, 0);
        errno = r;
        return -1;
    }
    return steal_fd(&image);
}

static int copy_part(int from, int to, off_t at, off_t end)
{
    static char bytes[COPY_BYTES];

    while (at < end) {
        size_t wanted = end - at < (off_t)sizeof(bytes) ? (size_t)(end - at) : sizeof(bytes);
        ssize_t got = pread(from, bytes, wanted, at);

        if (got <= 0 || pwrite(to, bytes, (size_t)got, at) != got)
            return got < 0 ? errno : ENOSPC;
        at += got;
    }
    return 0;
}

/* What is not a hole. 0 or an errno value. */
static int copy_sparse(int from, int to, uint64_t bytes)
{
    off_t at = 0;

    if (ftruncate(to, (off_t)bytes) < 0)
        return errno;
    while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
        off_t end = lseek(from, at, SEEK_HOLE);
        int r = end < 0 ? errno : copy_part(from, to, at, end);

        if (r != 0)
            return r;
        at = end;
    }
    return errno == ENXIO ? 0 : errno; /* no data after this */
}

int room_disk_make(int disks, int own, uint64_t bytes)
{
    cleanup_fd int from = open_template(disks, bytes);
    cleanup_fd int to = -1;
    int r;

    if (from < 0)
        return errno;
    to = openat(own, UNFINISHED, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, MODE_FILE);
    if (to < 0)
        return errno;
    r = copy_sparse(from, to, bytes);
    if (r == 0 && renameat(own, UNFINISHED, own, ROOM_DISK) < 0)
        r = errno;
    if (r != 0)
        (void)unlinkat(own, UNFINISHED, 0);
    return r;
}

/* ---- Mounting it ---- */

/* A loop device over the image, which ends with its last user. -1 with errno. */
static int attach(int image, char out_path[NAME_BYTES])
{
    cleanup_fd int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    const struct loop_config config = {.fd = (unsigned)image, .info.lo_flags = LO_FLAGS_AUTOCLEAR};

    for (int i = 0; i < MAX_TRIES && control >= 0; i++) {
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        cleanup_fd int device = -1;

        if (number < 0)
            return -1;
        snprintf(out_path, NAME_BYTES, "/dev/loop%d", number);
        device = open(out_path, O_RDWR | O_CLOEXEC);
        if (device < 0)
            return -1;
        if (ioctl(device, LOOP_CONFIGURE, &config) == 0)
            return steal_fd(&device);
        if (errno != EBUSY)
            return -1; /* busy: somebody else was quicker */
    }
    return -1;
}

int room_disk_mount(int own)
{
    char path[NAME_BYTES];
    cleanup_fd int image = openat(own, ROOM_DISK, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    cleanup_fd int device = image >= 0 ? attach(image, path) : -1;
    cleanup_fd int type = device >= 0 ? fsopen("ext4", FSOPEN_CLOEXEC) : -1;

    /* Empty tables of inodes stay holes. */
    if (type < 0 || fsconfig(type, FSCONFIG_SET_STRING, "source", path, 0) < 0 ||
        fsconfig(type, FSCONFIG_SET_FLAG, "noinit_itable", NULL, 0) < 0 ||
        fsconfig(type, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return fsmount(type, FSMOUNT_CLOEXEC, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID);
}
