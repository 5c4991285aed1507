/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's own network, a loopback interface that leads nowhere but to a web proxy if there is
 * one, and its IPC namespace.
 * Creating them takes the kernel as long as all the mounts together, so the command's process does
 * it in parallel with them.
 */
#include "isolate/box/internal.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

static int late_namespaces(const struct box_build *build)
{
    return CLONE_NEWIPC | (build->box->network == BOX_NETWORK_HOST ? 0 : CLONE_NEWNET);
}

/* Programs may use the loopback interface. SAFETY: runs beside the first process, in its memory. */
int box_make_network(struct box_build *build)
{
    cleanup_fd int any = -1;
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int r;

    if (unshare(late_namespaces(build)) < 0)
        return errno;
    if (build->box->network == BOX_NETWORK_HOST)
        return 0;
    any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any < 0 || ioctl(any, SIOCSIFFLAGS, &request) < 0)
        return errno;
    if (build->box->network != BOX_NETWORK_LISTED)
        return 0;
    /* In a sandbox nobody keeps the proxy's socket, or it would not notice its starter's end. */
    r = webproxy_listen(build->box->proxy.fd);
    close(build->box->proxy.fd);
    return r;
}

/* By the process, not by a name: what is mounted on /proc changes meanwhile. */
int box_enter_network(struct box_build *build)
{
    return setns(build->start->pidfd, late_namespaces(build)) < 0 ? errno : 0;
}
