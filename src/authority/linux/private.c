/* SPDX-License-Identifier: Apache-2.0 */
/* Our own directories: private, created if missing. Their paths come from the host. */
#include "authority/linux/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "gatehouse/audit.h"

enum { PRIVATE_MODE = 0700 };

static int refuse(struct err *err, const char *path, int errno_value)
{
    return err_set_field(err, linux_error(errno_value), "state_dir",
                         "cannot use the state directory: %s: %s", err_errno_text(errno_value),
                         path);
}

/* Whoever can write here can make us remove files, so nobody else may. */
static int check_private(int fd, const char *path, struct err *err)
{
    struct stat about;

    if (fstat(fd, &about) < 0)
        return refuse(err, path, errno);
    if (about.st_uid != geteuid())
        return err_set_field(err, ERR_PERMISSION_DENIED, "state_dir",
                             "the state directory belongs to another user (uid %u), who has to run "
                             "this: %s",
                             (unsigned)about.st_uid, path);
    if ((about.st_mode & 077) != 0)
        return err_set_field(
            err, ERR_PERMISSION_DENIED, "state_dir",
            "the state directory is accessible to other users (mode %04o); it must be 0700: %s",
            (unsigned)about.st_mode & 07777, path);
    return 0;
}

/* 0, or an errno value. */
static int make_with_parents(int dir_fd, const char *path)
{
    char text[PATH_MAX];

    if (mkdirat(dir_fd, path, PRIVATE_MODE) == 0 || errno == EEXIST)
        return 0;
    if (errno != ENOENT || strlen(path) >= sizeof(text))
        return errno;
    memcpy(text, path, strlen(path) + 1);
    for (char *slash = strchr(text + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdirat(dir_fd, text, PRIVATE_MODE) < 0 && errno != EEXIST)
            return errno;
        *slash = '/';
    }
    return mkdirat(dir_fd, path, PRIVATE_MODE) == 0 || errno == EEXIST ? 0 : errno;
}

int linux_open_private(int dir_fd, const char *path, int flags, int *out_fd, struct err *err)
{
    cleanup_fd int fd = -1;
    int r = make_with_parents(dir_fd, path);

    if (r != 0)
        return refuse(err, path, r);
    fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (fd < 0)
        return refuse(err, path, errno);
    r = check_private(fd, path, err);
    if (r < 0)
        return r;
    *out_fd = steal_fd(&fd);
    return 0;
}

int audit_dir_open(const char *path, int *out_fd, struct err *err)
{
    return linux_open_private(AT_FDCWD, path, 0, out_fd, err);
}

int audit_dir_find(const char *path, int *out_fd, struct err *err)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r;

    if (fd < 0)
        return refuse(err, path, errno);
    /* Root may read any user's. */
    r = geteuid() == 0 ? 0 : check_private(fd, path, err);
    if (r == 0)
        *out_fd = steal_fd(&fd);
    return r;
}
