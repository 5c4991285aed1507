/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outlet of a room with listed addresses, inside its network, which has no other interface than
 * the loopback. Routes make the listed addresses local, so what connects to one of them stays here
 * and needs somebody who listens at that address and port. A filter tells the outlet of each
 * connect() before the kernel carries it out: it reads the address, listens there for as long as it
 * takes, and passes the connection on to the relay.
 *
 * What it reads is only a hint, which the program may change meanwhile: there is no other way out
 * than the relay, which decides by itself. Whatever goes wrong here, the connection is refused.
 */
#include "isolate/room/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "ipc/packet.h"
#include "isolate/capabilities.h"

enum { NOTICES_FD = 3, RELAY_FD, READY_FD, FIRST_FREE_FD };
enum {
    LOOPBACK_INDEX = 1, /* in every network */
    MAX_DOORS = 64,
    DOOR_MS = 10000,
    TICK_MS = 1000,
    BACKLOG = 128,
    NOTICE_BYTES = 512, /* more than any kernel needs */
    V4_BITS_AT = 96,
    LOOPBACK_NET = 127,
    FREEBIND_V6 = 78, /* IPV6_FREEBIND */
};

/* A listening socket for connections that are about to come. */
struct door {
    int fd; /* or -1 */
    unsigned expected;
    int64_t deadline_ms;
    struct room_target target;
};

static struct door doors[MAX_DOORS];

/* ---- Routes ---- */

struct route {
    struct nlmsghdr head;
    struct rtmsg what;
    struct rtattr index_head;
    uint32_t index;
    struct rtattr address_head;
    uint8_t address[IPLIST_IP_BYTES];
};

/* 0 or an errno value. */
static int add_route(int netlink, const struct iplist_network *network)
{
    const bool is_v4 = iplist_is_v4(network);
    const size_t size = is_v4 ? 4 : IPLIST_IP_BYTES;
    struct route route = {
        .head = {.nlmsg_len = (uint32_t)(offsetof(struct route, address) + size),
                 .nlmsg_type = RTM_NEWROUTE,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE},
        .what = {.rtm_family = is_v4 ? AF_INET : AF_INET6,
                 .rtm_dst_len = (unsigned char)(network->bits - (is_v4 ? V4_BITS_AT : 0)),
                 .rtm_table = RT_TABLE_LOCAL,
                 .rtm_protocol = RTPROT_STATIC,
                 .rtm_scope = RT_SCOPE_HOST,
                 .rtm_type = RTN_LOCAL},
        .index_head = {.rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_OIF},
        .index = LOOPBACK_INDEX,
        .address_head = {.rta_len = (unsigned short)RTA_LENGTH(size), .rta_type = RTA_DST},
    };
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        char more[256];
    } answer;
    ssize_t got;

    memcpy(route.address, network->ip + (is_v4 ? IPLIST_IP_BYTES - size : 0), size);
    if (send(netlink, &route, route.head.nlmsg_len, 0) < 0)
        return errno;
    got = recv(netlink, &answer, sizeof(answer), 0);
    if (got < (ssize_t)(sizeof(answer.head) + sizeof(answer.error.error)) ||
        answer.head.nlmsg_type != NLMSG_ERROR)
        return EPROTO;
    return -answer.error.error;
}

static int add_routes(const struct iplist *addresses)
{
    cleanup_fd int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (netlink < 0)
        return errno;
    for (size_t i = 0; i < addresses->count && i < IPLIST_MAX; i++) {
        const struct iplist_network *network = &addresses->networks[i];
        const int r = network->is_denied ? 0 : add_route(netlink, network);

        /* A kernel without IPv6 cannot reach such addresses anyway. */
        if (r != 0 && iplist_is_v4(network))
            return r;
    }
    return 0;
}

/* ---- Doors ---- */

static bool is_same(const struct room_target *a, const struct room_target *b)
{
    return a->port == b->port && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

static void close_door(struct door *door)
{
    if (door->fd >= 0)
        close(door->fd);
    *door = (struct door){.fd = -1};
}

static int open_listener(const struct room_target *target)
{
    struct sockaddr_storage address;
    const socklen_t len = room_target_to(target, &address);
    cleanup_fd int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
        return -1;
    if (address.ss_family == AF_INET6 &&
        (setsockopt(fd, IPPROTO_IPV6, FREEBIND_V6, &on, sizeof(on)) < 0 ||
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0))
        return -1;
    if (bind(fd, (const struct sockaddr *)&address, len) < 0 || listen(fd, BACKLOG) < 0)
        return -1;
    return steal_fd(&fd);
}

/* False if a program in the room has the port itself, or there are too many. */
static bool open_door(const struct room_target *target)
{
    struct door *found = NULL;

    for (size_t i = 0; i < MAX_DOORS; i++) {
        if (doors[i].fd >= 0 && is_same(&doors[i].target, target)) {
            found = &doors[i];
            break;
        }
        if (doors[i].fd < 0 && found == NULL)
            found = &doors[i];
    }
    if (found == NULL)
        return false;
    if (found->fd < 0)
        *found = (struct door){.fd = open_listener(target), .target = *target};
    found->expected++;
    found->deadline_ms = clock_monotonic_ms(&clock_system) + DOOR_MS;
    return found->fd >= 0;
}

/* All that wait there. If the relay is gone or busy, they are refused. */
static void pass_on(struct door *door, int relay)
{
    int fd;

    while ((fd = accept4(door->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (relay >= 0)
            (void)packet_send(relay, STR("c"), &fd, 1, MSG_DONTWAIT);
        close(fd);
        if (door->expected > 0)
            door->expected--;
    }
    /* Not longer than needed: programs in the room may want the port. */
    if (door->expected == 0)
        close_door(door);
}

/* ---- Notices of connect() ---- */

/* What the calling process is about to connect to; false if that cannot be read. */
static bool read_target(const struct seccomp_notif *notice, struct room_target *out_target)
{
    struct sockaddr_storage address = {0};
    const uint64_t given = notice->data.args[2] & UINT32_MAX;
    const size_t len = given < sizeof(address) ? (size_t)given : sizeof(address);
    const struct iovec here = {.iov_base = &address, .iov_len = len};
    /* SAFETY: an address of the other process, which only the kernel looks at. */
    const struct iovec there = {
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel has it as a number */
        .iov_base = (void *)(uintptr_t)notice->data.args[1],
        .iov_len = len,
    };

    return process_vm_readv((pid_t)notice->pid, &here, 1, &there, 1, 0) == (ssize_t)len &&
           room_target_from(&address, (socklen_t)len, out_target);
}

/* Whether it stays in the room, as it would in any: its own loopback, or no address. */
static bool is_inner(const struct room_target *target)
{
    static const uint8_t mapped[V4_BITS_AT / 8] = {[10] = 0xff, [11] = 0xff};
    static const uint8_t zeros[IPLIST_IP_BYTES - 1];
    const uint8_t *v4 = target->ip + sizeof(mapped);

    if (memcmp(target->ip, mapped, sizeof(mapped)) == 0)
        return v4[0] == LOOPBACK_NET || memcmp(v4, zeros, IPLIST_IP_BYTES - sizeof(mapped)) == 0;
    return memcmp(target->ip, zeros, sizeof(zeros)) == 0 && target->ip[sizeof(zeros)] <= 1;
}

/* False when nobody is left who could connect. */
static bool take_notice(int notices, const struct iplist *addresses, int relay)
{
    static union {
        struct seccomp_notif notice;
        char bytes[NOTICE_BYTES];
    } in;
    static union {
        struct seccomp_notif_resp answer;
        char bytes[NOTICE_BYTES];
    } out;
    struct room_target target;

    memset(&in, 0, sizeof(in));
    memset(&out, 0, sizeof(out));
    if (ioctl(notices, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0)
        return errno == ENOENT || errno == EINTR; /* it was killed meanwhile */
    out.answer.id = in.notice.id;
    out.answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (relay >= 0 && read_target(&in.notice, &target)) {
        if (!iplist_allows(addresses, target.ip) && !is_inner(&target)) {
            /* The kernel refuses it; the relay tells. */
            (void)packet_send(relay, (struct str){(const char *)&target, sizeof(target)}, NULL, 0,
                              MSG_DONTWAIT);
        } else if (iplist_allows(addresses, target.ip) && !open_door(&target)) {
            out.answer.flags = 0;
            out.answer.error = -EADDRNOTAVAIL;
        }
    }
    return ioctl(notices, SECCOMP_IOCTL_NOTIF_SEND, &out) == 0 || errno == ENOENT;
}

/* The filter that asks about connect(); its descriptor, or -1 with errno. */
static int install_filter(void)
{
    const struct seccomp_rule rule = {
        .first = SYS_connect, .last = SYS_connect, .answer = SECCOMP_RET_USER_NOTIF};
    struct seccomp_program program;

    if (seccomp_compile(&(struct seccomp_policy){.machine = SECCOMP_ON_THIS,
                                                 .rules = &rule,
                                                 .rule_count = 1,
                                                 .otherwise = SECCOMP_RET_ALLOW},
                        &program, NULL) < 0) {
        errno = EINVAL;
        return -1;
    }
    return seccomp_install_listener(&program);
}

/* ---- The process ---- */

/* No Landlock: with it, it could not read addresses of processes that have another. No files. */
static int confine(void)
{
    static const struct seccomp_rule allowed[] = {
        {SYS_socket, SYS_socket, SECCOMP_RET_ALLOW, 1, {{0, UINT32_MAX, AF_INET}}},
        {SYS_socket, SYS_socket, SECCOMP_RET_ALLOW, 1, {{0, UINT32_MAX, AF_INET6}}},
        {SYS_bind, SYS_bind, SECCOMP_RET_ALLOW, 0, {{0}}},
        {SYS_listen, SYS_listen, SECCOMP_RET_ALLOW, 0, {{0}}},
        {SYS_accept4, SYS_accept4, SECCOMP_RET_ALLOW, 0, {{0}}},
        {SYS_setsockopt, SYS_setsockopt, SECCOMP_RET_ALLOW, 0, {{0}}},
        {SYS_sendmsg, SYS_sendmsg, SECCOMP_RET_ALLOW, 0, {{0}}},
        {SYS_ioctl, SYS_ioctl, SECCOMP_RET_ALLOW, 1, {{1, UINT32_MAX, SECCOMP_IOCTL_NOTIF_RECV}}},
        {SYS_ioctl, SYS_ioctl, SECCOMP_RET_ALLOW, 1, {{1, UINT32_MAX, SECCOMP_IOCTL_NOTIF_SEND}}},
        {SYS_process_vm_readv, SYS_process_vm_readv, SECCOMP_RET_ALLOW, 0, {{0}}},
    };
    const uint64_t kept = (UINT64_C(1) << CAP_SYS_PTRACE) | (UINT64_C(1) << CAP_NET_BIND_SERVICE);
    int r = capabilities_keep(kept);

    return r != 0 ? r : room_allow_calls(allowed, array_size(allowed));
}

static _Noreturn void serve(int notices, int relay, const struct iplist *addresses)
{
    struct pollfd waits[2 + MAX_DOORS];

    for (;;) {
        bool has_doors = false;
        int64_t now_ms;

        waits[0] = (struct pollfd){.fd = notices, .events = POLLIN};
        waits[1] = (struct pollfd){.fd = relay};
        for (size_t i = 0; i < MAX_DOORS; i++) {
            waits[2 + i] = (struct pollfd){.fd = doors[i].fd, .events = POLLIN};
            has_doors = has_doors || doors[i].fd >= 0;
        }
        if (poll(waits, array_size(waits), has_doors ? TICK_MS : -1) < 0 && errno != EINTR)
            _exit(EXIT_FAILURE);
        if (waits[1].revents != 0)
            close(steal_fd(&relay));
        now_ms = clock_monotonic_ms(&clock_system);
        for (size_t i = 0; i < MAX_DOORS; i++) {
            if (waits[2 + i].fd >= 0 && waits[2 + i].revents != 0)
                pass_on(&doors[i], relay);
            if (doors[i].fd >= 0 && (relay < 0 || now_ms >= doors[i].deadline_ms))
                close_door(&doors[i]);
        }
        if (waits[0].revents != 0 && !take_notice(notices, addresses, relay))
            _exit(EXIT_FAILURE);
    }
}

static _Noreturn void live(int notices, int relay, int ready, const struct iplist *addresses)
{
    /* Out of the way first: one may be where another must go. */
    const int high_notices = fcntl(notices, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    const int high_relay = fcntl(relay, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    const int high_ready = fcntl(ready, F_DUPFD_CLOEXEC, FIRST_FREE_FD);

    (void)prctl(PR_SET_NAME, "gatehouse-outlet", 0, 0, 0);
    for (size_t i = 0; i < MAX_DOORS; i++)
        doors[i].fd = -1;
    /* SAFETY: numbers only. */
    if (dup3(high_notices, NOTICES_FD, O_CLOEXEC) < 0 ||
        dup3(high_relay, RELAY_FD, O_CLOEXEC) < 0 || dup3(high_ready, READY_FD, O_CLOEXEC) < 0 ||
        syscall(SYS_close_range, FIRST_FREE_FD, ~0U, 0) < 0 || confine() != 0 ||
        packet_send(READY_FD, STR("r"), NULL, 0, 0) < 0)
        _exit(EXIT_FAILURE);
    close(READY_FD);
    serve(NOTICES_FD, RELAY_FD, addresses);
}

int room_start_outlet(struct room_birth *birth, pid_t *out_outlet)
{
    cleanup_fd int notices = -1;
    int r = birth->relay >= 0 ? add_routes(&birth->addresses) : EBADF;
    int ends[2];
    char byte;

    if (r != 0)
        return r;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return errno;
    notices = install_filter();
    *out_outlet = notices >= 0 ? fork() : -1;
    r = *out_outlet < 0 ? errno : 0;
    if (*out_outlet == 0)
        live(notices, birth->relay, ends[1], &birth->addresses);
    close(ends[1]);
    /* Both processes are as they must be, or there is no room. */
    if (r == 0 && (packet_receive(ends[0], &byte, 1, NULL, 0, 0) != 1 ||
                   packet_receive(birth->relay, &byte, 1, NULL, 0, 0) != 1))
        r = ECANCELED;
    close(ends[0]);
    return r;
}
