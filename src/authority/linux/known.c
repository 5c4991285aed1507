/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state directories of a user's sessions, so that each start finds the journals of all: a
 * session that was killed may have been the last one with its own. Each is noted in one common
 * directory, as a link.
 */
#include "authority/linux/journal_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/hash.h"

#define KNOWN_PREFIX "elsewhere-"

enum {
    KNOWN_MAX = 64,         /* looked at in one start */
    KNOWN_MAX_ENTRIES = 64, /* removed from trees and workspaces of each */
    KNOWN_DIGITS = 16,
    KNOWN_NAME_BYTES = sizeof(KNOWN_PREFIX) + KNOWN_DIGITS,
};

/* The same in every process, whatever its own key is. */
static void name_of(const char *path, char out_name[KNOWN_NAME_BYTES])
{
    const struct hash_key key = {0};

    snprintf(out_name, KNOWN_NAME_BYTES, KNOWN_PREFIX "%016" PRIx64,
             hash_str(&key, str_from(path)));
}

/* Only what is there and private: whoever can write there can have us remove files. */
static void sweep(int dir_fd, const char *path, int *out_errno)
{
    cleanup_fd int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_fd int temp_fd = -1;
    uint64_t budget = KNOWN_MAX_ENTRIES;
    struct stat about;

    *out_errno = fd < 0 ? errno : 0;
    if (fd < 0 || fstat(fd, &about) < 0 || about.st_uid != geteuid() || (about.st_mode & 077) != 0)
        return;
    temp_fd = openat(fd, "temp", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (temp_fd >= 0)
        (void)linux_sweep(fd, temp_fd, &budget, NULL);
}

/* The directory of a note; one that is gone is forgotten. */
static void sweep_noted(int common_fd, const char *name)
{
    char path[PATH_MAX];
    ssize_t len = readlinkat(common_fd, name, path, sizeof(path));
    int gone = 0;

    if (len <= 0 || (size_t)len >= sizeof(path) || path[0] != '/')
        return;
    path[len] = '\0';
    sweep(AT_FDCWD, path, &gone);
    if (gone == ENOENT || gone == ENOTDIR)
        unlinkat(common_fd, name, 0);
}

static void close_dir(DIR **dir)
{
    if (*dir != NULL)
        closedir(*dir);
}

void authority_sweep_known(const char *common_dir, const char *state_dir)
{
    cleanup_fd int common_fd = -1;
    cleanup_fd int fd = -1;
    cleanup_with(close_dir) DIR *dir = NULL;
    const struct dirent *entry;
    char own[KNOWN_NAME_BYTES];
    int ignored;

    if (linux_open_private(AT_FDCWD, common_dir, 0, &common_fd, NULL) < 0)
        return;
    name_of(state_dir, own);
    if (str_eq(str_from(common_dir), str_from(state_dir))) {
        own[0] = '\0';
    } else {
        (void)!symlinkat(state_dir, common_fd, own);
        sweep(common_fd, ".", &ignored);
    }
    fd = openat(common_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL)
        return;
    (void)steal_fd(&fd);
    for (int seen = 0; seen < KNOWN_MAX && (entry = readdir(dir)) != NULL;) {
        struct str name = str_from(entry->d_name);

        /* Our own was swept when it was opened. */
        if (!str_starts_with(name, STR(KNOWN_PREFIX)) || str_eq(name, str_from(own)))
            continue;
        sweep_noted(common_fd, entry->d_name);
        seen++;
    }
}
