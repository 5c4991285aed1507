/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's own network: a loopback interface that leads nowhere. Creating one takes the kernel
 * as long as all the mounts together, so the command's process does it in parallel with them.
 */
#include "isolate/box/internal.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"

/*
 * Programs may use its loopback interface. SAFETY: runs beside the first process, in its memory and
 * with its descriptors.
 */
int box_make_network(struct box_build *build)
{
    cleanup_fd int any = -1;
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int network;

    if (build->box->network != BOX_NETWORK_NONE || build->network >= 0)
        return 0;
    if (unshare(CLONE_NEWNET) < 0)
        return errno;
    any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any < 0 || ioctl(any, SIOCSIFFLAGS, &request) < 0)
        return errno;
    /* Not by a name: what is mounted on /proc changes meanwhile. */
    network = ioctl(any, SIOCGSKNS);
    if (network < 0)
        return errno;
    build->network = network;
    return 0;
}

int box_enter_network(struct box_build *build)
{
    if (build->box->network != BOX_NETWORK_NONE)
        return 0;
    return setns(build->network, CLONE_NEWNET) < 0 ? errno : 0;
}
