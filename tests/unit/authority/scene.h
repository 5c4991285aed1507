/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of a test's own, and the few things tests do in it. Paths are relative to it. */
#ifndef TESTS_UNIT_AUTHORITY_SCENE_H
#define TESTS_UNIT_AUTHORITY_SCENE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "authority/linux/internal.h"

struct scene {
    char path[64];
    int fd;
};

static inline void scene_make(struct scene *scene)
{
    const char *base = getenv("TMPDIR");

    snprintf(scene->path, sizeof(scene->path), "%s/gatehouse-test-XXXXXX",
             base != NULL && strlen(base) < 32 ? base : "/tmp");
    assert_non_null(mkdtemp(scene->path));
    scene->fd = open(scene->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(scene->fd >= 0);
}

static inline void scene_drop(struct scene *scene)
{
    uint64_t budget = UINT64_MAX;
    char *slash = strrchr(scene->path, '/');
    int dir_fd;

    close(scene->fd);
    *slash = '\0';
    dir_fd = open(scene->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(linux_remove_tree(dir_fd, slash + 1, &budget, NULL), 0);
    close(dir_fd);
}

static inline void make_dir(int fd, const char *path)
{
    assert_int_equal(mkdirat(fd, path, 0755), 0);
}

static inline void make_file(int fd, const char *path, const char *text)
{
    int file = openat(fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
}

/* The thing itself, links not followed. */
static inline bool is_there(int fd, const char *path)
{
    struct stat about;

    return fstatat(fd, path, &about, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline size_t count_entries(int fd, const char *path)
{
    int copy = openat(fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fdopendir(copy);
    size_t count = 0;

    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            count++;
    closedir(dir);
    return count;
}

#endif
