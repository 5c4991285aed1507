/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/helper.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

/* 0 or an errno value. */
static int describe(const struct helper *helper, posix_spawn_file_actions_t *actions,
                    posix_spawnattr_t *attributes)
{
    sigset_t none;
    sigset_t all;
    int r = 0;

    sigemptyset(&none);
    sigfillset(&all);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && r == 0; fd++)
        r = posix_spawn_file_actions_addopen(actions, fd, "/dev/null",
                                             fd == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
    if (r == 0 && helper->has_output)
        r = posix_spawn_file_actions_adddup2(actions, helper->output_fd, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    if (r == 0)
        r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                     POSIX_SPAWN_SETPGROUP);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(attributes, &all);
    if (r == 0)
        r = posix_spawnattr_setsigmask(attributes, &none);
    if (r == 0)
        r = posix_spawnattr_setpgroup(attributes, 0);
    return r;
}

/* SAFETY: the C library takes pointers to char and does not write to them. */
static char *const *words(const char *const *from)
{
    char *const *to;

    memcpy(&to, &from, sizeof(to));
    return to;
}

int helper_start(const struct helper *helper, pid_t *out_pid, struct err *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r;

    assert(helper->path[0] == '/');
    r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = posix_spawnattr_init(&attributes);
    if (r == 0) {
        r = describe(helper, &actions, &attributes);
        if (r == 0)
            r = posix_spawn(out_pid, helper->path, &actions, &attributes, words(helper->argv),
                            words(helper->env));
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return r == 0 ? 0
                  : err_set_field(err, err_from_errno(r), helper->path, "cannot start %s: %s",
                                  helper->path, err_errno_text(r));
}

bool helper_is_installed(const char *path)
{
    return access(path, X_OK) == 0;
}
