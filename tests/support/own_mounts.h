/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts in a mount namespace of the process: as root, or where any user may create one. */
#ifndef TESTS_SUPPORT_OWN_MOUNTS_H
#define TESTS_SUPPORT_OWN_MOUNTS_H

#include "test.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

static inline bool tell_kernel(const char *path, const char *text)
{
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* As the same user, who may mount there. */
static inline bool enter_user_namespace(void)
{
    char users[64];
    char groups[64];

    snprintf(users, sizeof(users), "%u %u 1", geteuid(), geteuid());
    snprintf(groups, sizeof(groups), "%u %u 1", getegid(), getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && tell_kernel("/proc/self/uid_map", users) &&
           tell_kernel("/proc/self/setgroups", "deny") && tell_kernel("/proc/self/gid_map", groups);
}

/* In a child. What was opened before still sees the mounts from before. */
static inline bool enter_own_mounts(void)
{
    return (unshare(CLONE_NEWNS) == 0 || enter_user_namespace()) &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static inline bool may_mount(void)
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(enter_own_mounts() ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status == 0;
}

#define require_mounts()                                                                           \
    do {                                                                                           \
        if (!may_mount())                                                                          \
            skip_because("nothing can be mounted here");                                           \
    } while (0)

#endif
