/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's own network: a loopback interface that leads nowhere. Creating one takes the kernel
 * as long as all the mounts together, so another process does it in parallel, in the memory and
 * with the descriptors of the first one, and is gone before the command starts.
 */
#include "isolate/box/internal.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/sanitized.h"

enum { MAKER_STACK_BYTES = 1 << 16 };

/* Programs may use its loopback interface. 0 or an errno value. */
static int make_network(int *out_network)
{
    cleanup_fd int any = -1;
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int network;

    if (unshare(CLONE_NEWNET) < 0)
        return errno;
    any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any < 0 || ioctl(any, SIOCSIFFLAGS, &request) < 0)
        return errno;
    /* Not by a name: what is mounted on /proc changes meanwhile. */
    network = ioctl(any, SIOCGSKNS);
    if (network < 0)
        return errno;
    *out_network = network;
    return 0;
}

/*
 * SAFETY: runs in the memory of the first process, in parallel. They share errno, so when this
 * fails either may see the other's error, but not a success: there is then no network to enter, and
 * the sandbox fails.
 */
static int run_maker(void *data)
{
    struct box_build *build = data;

    build->network_errno = make_network(&build->network);
    _exit(0);
}

int box_begin_network(struct box_build *build)
{
    static char stack[MAKER_STACK_BYTES] __attribute__((aligned(16)));

    if (build->box->network != BOX_NETWORK_NONE)
        return 0;
    /* A sanitizer's memory cannot be shared: there the first process makes it itself. */
    if (ISOLATE_IS_SANITIZED) {
        build->network_errno = make_network(&build->network);
        return 0;
    }
    /* If it is ended without a word. */
    build->network_errno = ECHILD;
    build->network_maker =
        clone(run_maker, stack + sizeof(stack), CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD, build);
    return build->network_maker < 0 ? errno : 0;
}

int box_enter_network(struct box_build *build)
{
    if (build->box->network != BOX_NETWORK_NONE)
        return 0;
    while (build->network_maker > 0 && waitpid(build->network_maker, NULL, 0) < 0)
        if (errno != EINTR)
            return errno;
    build->network_maker = 0;
    if (build->network_errno != 0)
        return build->network_errno;
    if (setns(build->network, CLONE_NEWNET) < 0)
        return errno;
    close(steal_fd(&build->network));
    return 0;
}
