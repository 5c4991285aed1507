/* SPDX-License-Identifier: Apache-2.0 */
#include "ordinary_user.h"

#include <grp.h>
#include <pwd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    bool is_found;
    uid_t uid;
    gid_t gid;
} user;

int ordinary_user_become(void)
{
    if (!user.is_found)
        return 0;
    return setgroups(0, NULL) == 0 && setresgid(user.gid, user.gid, user.gid) == 0 &&
                   setresuid(user.uid, user.uid, user.uid) == 0
               ? 0
               : -1;
}

/* Asked as that user, in a process of its own. */
static bool can_start(const char *const *programs)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        int r = ordinary_user_become();

        for (; r == 0 && *programs != NULL; programs++)
            r = access(*programs, X_OK);
        _exit(r == 0 ? 0 : 1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

bool ordinary_user_find(const char *const *programs, const char *const *folders)
{
    const struct passwd *nobody;

    if (geteuid() != 0)
        return true;
    nobody = getpwnam("nobody");
    if (nobody == NULL)
        return false;
    user.is_found = true;
    user.uid = nobody->pw_uid;
    user.gid = nobody->pw_gid;
    user.is_found = can_start(programs);
    for (; user.is_found && *folders != NULL; folders++)
        user.is_found = chown(*folders, user.uid, user.gid) == 0;
    return user.is_found;
}
