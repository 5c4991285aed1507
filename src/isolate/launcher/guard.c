/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard between a client and its launcher: a process that only forks launchers, so that one
 * that died or hangs can be replaced when the client has threads, or is confined, and cannot fork
 * itself.
 */
#include "isolate/launcher/internal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ipc/packet.h"
#include "isolate/cgroup.h"
#include "isolate/launcher/wire.h"

/*
 * For the last processes to end, which takes some milliseconds; one that hangs in the kernel takes
 * longer.
 */
enum { STEP_NS = 1000 * 1000, MAX_STEPS = 2000 };

/* Returns the client's end; -1 with errno. */
static int fork_launcher(int guard_fd, const struct launcher_service *service, pid_t *out_pid)
{
    const int size = 2 * LAUNCHER_MAX_MESSAGE;
    const pid_t guard = getpid();
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    /* As much as one message takes, where the system's default is smaller. */
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    /* Without what libraries of the client do at a fork: their descriptors were closed long ago. */
    *out_pid = _Fork();
    if (*out_pid == 0) {
        close(guard_fd);
        close(ends[0]);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != guard)
            _exit(EXIT_FAILURE);
        if (service->leaves_processes)
            cgroup_leave_processes();
        launcher_serve(ends[1], service);
    }
    close(ends[1]);
    if (*out_pid > 0)
        return ends[0];
    close(ends[0]);
    return -1;
}

/* Without a descriptor it says that there is no launcher. */
static void hand_over(int guard_fd, int fd)
{
    if (packet_send(guard_fd, (struct str){"", 1}, &fd, fd >= 0, 0) < 0)
        _exit(EXIT_FAILURE);
}

/*
 * Waits for the launchers and what they ran, so that our end implies theirs. The first process of a
 * sandbox ends only when all others in it have.
 */
static void wait_for_all(void)
{
    const struct timespec step = {.tv_nsec = STEP_NS};
    pid_t gone;

    for (int i = 0; i < MAX_STEPS; i++) {
        do
            gone = waitpid(-1, NULL, WNOHANG);
        while (gone > 0);
        if (gone < 0)
            return;
        nanosleep(&step, NULL);
    }
}

_Noreturn void launcher_guard(int guard_fd, const struct launcher_service *service)
{
    pid_t launcher = -1;
    char byte;

    /* Sandboxes whose launcher has died become our children. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    for (;;) {
        ssize_t got = recv(guard_fd, &byte, sizeof(byte), 0);
        pid_t gone;
        int fd;

        if (got < 0 && errno == EINTR)
            continue;
        if (launcher > 0)
            kill(launcher, SIGKILL); /* not waited for yet, so the number is still its own */
        if (got <= 0) {
            wait_for_all();
            _exit(EXIT_SUCCESS);
        }
        /* One that hangs in the kernel is reaped later. */
        launcher = -1;
        do
            gone = waitpid(-1, NULL, WNOHANG);
        while (gone > 0);
        fd = fork_launcher(guard_fd, service, &launcher);
        hand_over(guard_fd, fd);
        if (fd >= 0)
            close(fd);
    }
}
