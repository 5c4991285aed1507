/* SPDX-License-Identifier: Apache-2.0 */
/* A child process, and in it a small file system of its own that can be filled. */
#ifndef TESTS_UNIT_AUTHORITY_SMALL_DISK_H
#define TESTS_UNIT_AUTHORITY_SMALL_DISK_H

#include "test.h"

#include <fcntl.h>
#include <unistd.h>

#include "own_mounts.h"

enum { DISK_BYTES = 1 << 20 };

/* What a child does; the line where it stopped, 0 for success. It cannot use cmocka's asserts. */
typedef int child_fn(void *data);

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)

/* Exit codes have 8 bits, lines more. */
enum { CHILD_SKIPS = -1 };

struct child {
    pid_t pid;
    int result_fd;
};

static inline struct child start_child(child_fn *run, void *data)
{
    int ends[2];
    struct child child;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    child.pid = fork();
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        int line = run(data);
        bool is_told = write(ends[1], &line, sizeof(line)) == (ssize_t)sizeof(line);

        _exit(is_told ? 0 : 1);
    }
    close(ends[1]);
    child.result_fd = ends[0];
    return child;
}

static inline int end_child(const struct child *child)
{
    int line = 0;
    ssize_t got = read(child->result_fd, &line, sizeof(line));
    int status;

    close(child->result_fd);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    assert_int_equal(got, sizeof(line));
    return line;
}

/* Takes everything that is left. */
static inline int fill_disk(int dir_fd)
{
    static char page[4096];
    cleanup_fd int fd = openat(dir_fd, "filler", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    CHECK(fd >= 0);
    while (write(fd, page, sizeof(page)) > 0)
        continue;
    CHECK(errno == ENOSPC);
    return 0;
}

/* A small file system of its own, in a mount namespace that goes with the child. */
static inline int mount_small_disk(const char *path)
{
    static const char options[] = "size=1m";

    _Static_assert(DISK_BYTES == 1 << 20, "as mounted");
    return enter_own_mounts() && mount("small", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0
               ? 0
               : CHILD_SKIPS;
}

#endif
