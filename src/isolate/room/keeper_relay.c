/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the relay of a room with listed addresses: a copy of the keeper that keeps its network and
 * gives up everything else. It counts as one of the room's processes, and ends with the room.
 */
#include "isolate/room/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/capabilities.h"
#include "isolate/landlock.h"

enum { RELAY_FD = 3, REPORTS_FD, FIRST_FREE_FD, RELAY_USER = 65534 };

/* Another user than all others, where there is a choice. False if that fails. */
static bool become_nobody(const struct keeper *keeper, const struct kept *kept)
{
    const unsigned user = keep_first_user(kept->range) + RELAY_USER;

    return keeper->abilities.ids == ROOM_IDS_SINGLE ||
           (setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0 &&
            setresuid(user, user, user) == 0);
}

static bool confine(const struct keeper *keeper)
{
    const struct landlock_request nothing = {.allows_tcp = true};
    struct landlock_result result;

    return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
           prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           capabilities_hold(0) == 0 && landlock_confine(&nothing, &result, NULL) == 0 &&
           (result.is_applied || keeper->is_degraded);
}

/* Keeps these two, where one may be in the place of the other, and closes all others. */
static bool keep_two(int socket, int reports)
{
    const int high_socket = fcntl(socket, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    const int high_reports = fcntl(reports, F_DUPFD_CLOEXEC, FIRST_FREE_FD);

    close(REPORTS_FD);
    /* SAFETY: numbers only. */
    return dup2(high_socket, RELAY_FD) == RELAY_FD &&
           (reports < 0 || dup2(high_reports, REPORTS_FD) == REPORTS_FD) &&
           syscall(SYS_close_range, FIRST_FREE_FD, ~0U, 0) == 0;
}

static _Noreturn void live(const struct keeper *keeper, const struct kept *kept, int socket,
                           int reports, const struct iplist *addresses)
{
    struct cgroup_leaf leaf = kept->leaf;

    leaf.is_born_in = false;
    (void)prctl(PR_SET_NAME, "gatehouse-relay", 0, 0, 0);
    if (cgroup_leaf_join(&leaf) == 0 && keep_two(socket, reports) && become_nobody(keeper, kept) &&
        confine(keeper))
        room_relay(RELAY_FD, reports < 0 ? -1 : REPORTS_FD, addresses);
    _exit(EXIT_FAILURE);
}

int keep_start_relay(const struct keeper *keeper, struct kept *kept, const struct iplist *addresses,
                     int reports, int *out_socket)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return errno;
    kept->relay = fork();
    if (kept->relay == 0)
        live(keeper, kept, ends[1], reports, addresses);
    close(ends[1]);
    *out_socket = ends[0];
    return kept->relay < 0 ? EAGAIN : 0;
}

void keep_end_relay(struct kept *kept)
{
    if (kept->relay <= 0)
        return;
    (void)kill(kept->relay, SIGKILL);
    while (waitpid(kept->relay, NULL, 0) < 0 && errno == EINTR)
        ;
    kept->relay = 0;
}
