/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For a command without a sandbox: a first process that survives what may happen to the command,
 * and that kills all descendants of the command when its starter dies. No namespace does that here,
 * so the first process is the subreaper, and looks for its children itself.
 */
#include "isolate/box/internal.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/streams.h"
#include "isolate/procstat.h"

/*
 * If a scan finds nobody to signal, and nobody has ended since, the next one finds nobody either;
 * one more is for what /proc had not shown yet.
 */
enum { MAX_IDLE_LOOKS = 3 };

/* ---- Steps ---- */

/*
 * SIGKILL when the starter dies would leave the descendants running, so that is reported by a
 * signal that is read, and by the channel. All signals are blocked, and the session differs from
 * the starter's and the command's: signals to their groups do not reach this process.
 */
int box_open_tie_to_starter(struct box_build *build)
{
    struct pollfd channel = {.fd = build->channel, .events = POLLIN};
    sigset_t all;

    sigfillset(&all);
    if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || setsid() < 0)
        return errno;
    /* A starter that ignores its children's ends would have them reaped before we see them. */
    (void)signal(SIGCHLD, SIG_DFL);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_PDEATHSIG, BOX_OPEN_DEATH_SIGNAL, 0, 0, 0) < 0)
        return errno;
    /* It may have died before this was set, which shows on the channel. */
    build->starter = getppid();
    if (poll(&channel, 1, 0) < 0)
        return errno;
    return (channel.revents & (POLLHUP | POLLERR)) != 0 ? ESRCH : 0;
}

/*
 * Applied to the command only, since the first process must survive them. The command is killed
 * with the first process, should somebody kill that: the rest of its tree would not be.
 */
int box_open_enter_limits(struct box_build *build)
{
    int r = cgroup_leaf_join(build->leaf);

    if (r == 0)
        r = cgroup_limit_process(&build->box->limits, build->leaf);
    if (r == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        r = errno;
    return r;
}

/* ---- The end of all ---- */

/*
 * Signals each child together with its group, so that nobody in it can fork past that. Returns how
 * many it reached. SAFETY: the pid of an unreaped child is not reused, and its group stays in a
 * session that began below us. Grandchildren are left to the next scan, when they are ours.
 */
static int kill_children(void)
{
    cleanup_dir DIR *proc = opendir("/proc");
    const pid_t own = getpid();
    int reached = 0;

    if (proc == NULL)
        return 0;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; (entry = readdir(proc)) != NULL;) {
        struct procstat stat;
        pid_t pid;

        if (!isdigit((unsigned char)entry->d_name[0]) ||
            !procstat_read(dirfd(proc), entry->d_name, &stat) || stat.parent != own)
            continue;
        pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (stat.group > 1 && stat.group != own)
            (void)kill(-stat.group, SIGKILL);
        if (kill(pid, SIGKILL) == 0)
            reached++;
    }
    return reached;
}

void box_open_end_descendants(void)
{
    int idle_looks = 0;

    while (idle_looks < MAX_IDLE_LOOKS) {
        pid_t pid;

        while ((pid = wait4(-1, NULL, WNOHANG | __WALL, NULL)) > 0)
            idle_looks = 0;
        if (pid < 0)
            return;
        /* What became another user's by sudo cannot be signalled, and is not waited for. */
        if (kill_children() == 0)
            idle_looks++;
        else if (wait4(-1, NULL, __WALL, NULL) > 0)
            idle_looks = 0;
    }
}
