/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/webproxy.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/packet.h"
#include "isolate/box/internal.h"
#include "isolate/capabilities.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "isolate/landlock.h"

#define TEXT_OF_(number) #number
#define TEXT_OF(number)  TEXT_OF_(number)
#define PROXY_URL        "http://127.0.0.1:" TEXT_OF(WEBPROXY_PORT)
#define HERE             "localhost,127.0.0.1,::1"

const char *const webproxy_variables[] = {
    "http_proxy=" PROXY_URL, "https_proxy=" PROXY_URL,
    "HTTP_PROXY=" PROXY_URL, "HTTPS_PROXY=" PROXY_URL,
    "no_proxy=" HERE,        "NO_PROXY=" HERE,
    "NODE_USE_ENV_PROXY=1",  NULL,
};

enum { BACKLOG = 64 };

/* ---- a sandbox's side ---- */

int webproxy_listen(int fd)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(WEBPROXY_PORT),
                                        .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    cleanup_fd int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* SAFETY: the first process of our own process namespace; no name. */
    cleanup_fd int first = (int)syscall(SYS_pidfd_open, 1, 0);
    const int fds[] = {listener, first};

    if (listener < 0 || first < 0 ||
        bind(listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(listener, BACKLOG) < 0 || packet_send(fd, STR("b"), fds, array_size(fds), 0) < 0)
        return errno;
    return 0;
}

int webproxy_hand_over(int fd, const struct domainlist *hosts, const char *owner, int listener,
                       int life)
{
    struct webproxy_order order = {.owner = ""};
    /* No more than is used, so that many fit. */
    const size_t used = domainlist_bytes(hosts->count);
    const struct str bytes = {(const char *)&order, offsetof(struct webproxy_order, hosts) + used};

    snprintf(order.owner, sizeof(order.owner), "%s", owner);
    memcpy(&order.hosts, hosts, used);
    return packet_send(fd, bytes, (const int[]){listener, life}, 2, MSG_DONTWAIT) < 0 ? errno : 0;
}

/* ---- its confinement ---- */

/* What a C library reads to resolve names. */
static int confine_files(struct err *err)
{
    const struct landlock_place places[] = {
        {.path = "/etc", .rights = LANDLOCK_MAY_READ},
        {.path = "/lib", .rights = LANDLOCK_MAY_READ, .may_be_missing = true},
        {.path = "/lib64", .rights = LANDLOCK_MAY_READ, .may_be_missing = true},
        {.path = "/usr/lib", .rights = LANDLOCK_MAY_READ, .may_be_missing = true},
        {.path = "/run/systemd/resolve", .rights = LANDLOCK_MAY_READ, .may_be_missing = true},
        {.path = "/run/resolvconf", .rights = LANDLOCK_MAY_READ, .may_be_missing = true},
        {.path = "/run/NetworkManager", .rights = LANDLOCK_MAY_READ, .may_be_missing = true},
    };
    const struct landlock_request request = {
        .places = places, .place_count = array_size(places), .allows_tcp = true};
    struct landlock_result result;

    /* Without Landlock its filter and its user's rights are left. */
    return landlock_confine(&request, &result, err);
}

int webproxy_confine(struct err *err)
{
    struct seccomp_program calls;
    int r;

    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        capabilities_hold(0) != 0)
        return err_set(err, ERR_UNSUPPORTED, "cannot give up privileges");
    r = confine_files(err);
    if (r == 0)
        r = box_calls_compile(SECCOMP_ON_THIS, BOX_CALLS_COMMAND, &calls, err);
    if (r < 0)
        return r;
    /* Locks are asked about in sandboxes only. */
    seccomp_replace_answer(&calls, SECCOMP_RET_USER_NOTIF, SECCOMP_RET_ALLOW);
    return seccomp_install(&calls, err);
}

/* ---- starting ---- */

static int start(struct webproxy *proxy, const char *libexec, const char *const *hosts,
                 struct err *err)
{
    const char *argv[1 + DOMAINLIST_MAX + 1] = {"gatehouse-webproxy"};
    int ends[2];
    int r;

    for (size_t i = 0; i < DOMAINLIST_MAX && hosts[i] != NULL; i++)
        argv[1 + i] = hosts[i];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, err_from_errno(errno), "cannot create a socket pair: %s",
                       err_errno_text(errno));
    r = companion_start_with(argv[0], libexec, argv, (const int[]){ends[1], -1}, STDERR_FILENO,
                             &proxy->pid, err);
    close(ends[1]);
    proxy->fd = ends[0];
    if (r < 0)
        webproxy_stop(proxy);
    return r;
}

/* One that has hung up may not have ended yet, and would take no sandbox. */
static bool has_hung_up(int fd)
{
    struct pollfd end = {.fd = fd};

    return poll(&end, 1, 0) != 0;
}

int webproxy_start(struct webproxy *proxy, const char *libexec, const char *const *hosts,
                   struct err *err)
{
    if (proxy->pid > 0 && waitpid(proxy->pid, NULL, WNOHANG) != 0)
        proxy->pid = 0;
    if (proxy->pid > 0 && !has_hung_up(proxy->fd))
        return 0;
    webproxy_stop(proxy);
    return start(proxy, libexec, hosts, err);
}

void webproxy_stop(struct webproxy *proxy)
{
    if (proxy->fd >= 0)
        close(steal_fd(&proxy->fd));
    if (proxy->pid > 0) {
        (void)kill(proxy->pid, SIGKILL);
        while (waitpid(proxy->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    *proxy = (struct webproxy)WEBPROXY_INIT;
}
