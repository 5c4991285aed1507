/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The relay of a room with listed addresses: a process outside the room's network, without rights,
 * files or other users' processes. The room's outlet passes on connections that programs have made
 * inside; where such a one leads to is its own local address, as the kernel says. If the list
 * allows that address, the relay connects to it and passes bytes on. It trusts nothing from the
 * room: whatever comes, it reaches what the list allows, and not this machine.
 */
#include "isolate/room/inner.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "ipc/packet.h"
#include "isolate/pump.h"

enum { CONNECT_MS = 30000, TICK_MS = 1000 };

enum { INSIDE, OUTSIDE };

struct link {
    bool is_used;
    bool is_connecting;
    int64_t deadline_ms; /* while it is connecting */
    struct pump pump;
};

static struct link links[ROOM_MAX_LINKS];

/* What was refused and not reported, of each kind. */
struct tally {
    uint32_t count;
    struct room_target last;
    int64_t quiet_until_ms;
};

static struct tally tallies[ROOM_REFUSALS];

/* ---- Refusals ---- */

static void note(enum room_refusal_kind kind, const struct room_target *target)
{
    struct tally *tally = &tallies[kind];

    tally->last = *target;
    if (tally->count < UINT32_MAX)
        tally->count++;
}

/* True if something is left for later. */
static bool report(int reports)
{
    const int64_t now_ms = clock_monotonic_ms(&clock_system);
    bool is_left = false;

    for (unsigned i = 0; i < ROOM_REFUSALS; i++) {
        struct tally *tally = &tallies[i];
        struct room_refusal refusal = {.kind = (enum room_refusal_kind)i,
                                       .count = tally->count,
                                       .port = ntohs(tally->last.port)};

        memcpy(refusal.ip, tally->last.ip, sizeof(refusal.ip));
        if (tally->count == 0)
            continue;
        if (now_ms < tally->quiet_until_ms) {
            is_left = true;
            continue;
        }
        /* What the service does not take now is dropped, as is all if nobody wants it (-1). */
        (void)send(reports, &refusal, sizeof(refusal), MSG_DONTWAIT | MSG_NOSIGNAL);
        tally->count = 0;
        tally->quiet_until_ms = now_ms + ROOM_REFUSAL_MS;
    }
    return is_left;
}

/* ---- Links ---- */

static void drop(struct link *link, bool is_hard)
{
    pump_close(&link->pump, is_hard);
    *link = (struct link){.is_used = false};
}

static struct link *free_link(void)
{
    for (size_t i = 0; i < ROOM_MAX_LINKS; i++)
        if (!links[i].is_used)
            return &links[i];
    return NULL;
}

static bool is_tcp(int fd)
{
    int type = 0;
    int protocol = 0;
    socklen_t type_len = sizeof(type);
    socklen_t protocol_len = sizeof(protocol);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 && type == SOCK_STREAM &&
           getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &protocol_len) == 0 &&
           protocol == IPPROTO_TCP;
}

/* Whether the address is one of this machine: only those can be bound to. */
static bool is_own(const struct sockaddr_storage *address, socklen_t len)
{
    cleanup_fd int any = socket(address->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    return any < 0 || bind(any, (const struct sockaddr *)address, len) == 0 ||
           errno != EADDRNOTAVAIL;
}

/* Where it leads to; false if it is no connection. */
static bool find_target(int inside, struct room_target *out_target)
{
    struct sockaddr_storage local = {0};
    socklen_t len = sizeof(local);

    return is_tcp(inside) && getsockname(inside, (struct sockaddr *)&local, &len) == 0 &&
           room_target_from(&local, len, out_target);
}

static bool may_reach(const struct room_target *target, const struct iplist *addresses)
{
    struct room_target host = *target;
    struct sockaddr_storage address;
    socklen_t len;

    host.port = 0;
    len = room_target_to(&host, &address);
    if (!iplist_allows(addresses, target->ip))
        note(ROOM_REFUSED_ADDRESS, target);
    else if (is_own(&address, len))
        note(ROOM_REFUSED_OWN, target);
    else
        return true;
    return false;
}

/* The socket that connects there, for `inside`; -1 if it may not. */
static int reach(const struct room_target *target, int inside, const struct iplist *addresses,
                 bool *out_is_connecting)
{
    struct sockaddr_storage address;
    const socklen_t len = room_target_to(target, &address);
    const int on = 1;
    int fd;

    if (!may_reach(target, addresses))
        return -1;
    fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(inside, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    *out_is_connecting = connect(fd, (const struct sockaddr *)&address, len) < 0;
    if (!*out_is_connecting || errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

/* Takes the connection over. */
static void add_link(int inside, const struct iplist *addresses)
{
    struct link *link = free_link();
    struct link fresh = {.is_used = true,
                         .deadline_ms = clock_monotonic_ms(&clock_system) + CONNECT_MS};
    struct room_target target;
    int outside = -1;

    if (find_target(inside, &target)) {
        if (link != NULL)
            outside = reach(&target, inside, addresses, &fresh.is_connecting);
        else
            note(ROOM_REFUSED_MANY, &target);
    }
    if (outside >= 0 && pump_open(&fresh.pump, inside, outside)) {
        *link = fresh;
        return;
    }
    pump_close_socket(inside, true);
    pump_close_socket(outside, true);
}

/* ---- Passing bytes on ---- */

static bool finish_connecting(struct link *link)
{
    int code = 0;
    socklen_t len = sizeof(code);

    link->is_connecting = false;
    return getsockopt(link->pump.fds[OUTSIDE], SOL_SOCKET, SO_ERROR, &code, &len) == 0 && code == 0;
}

static void work(struct link *link, const struct pollfd waits[PUMP_ENDS])
{
    bool is_sound = true;

    if (link->is_connecting) {
        if (waits[OUTSIDE].revents != 0)
            is_sound = finish_connecting(link);
        else
            is_sound = clock_monotonic_ms(&clock_system) < link->deadline_ms;
    }
    if (is_sound && !link->is_connecting)
        is_sound = pump_work(&link->pump, waits);
    if (!is_sound)
        drop(link, true);
    else if (pump_is_over(&link->pump))
        drop(link, false);
}

static void choose_waits(const struct link *link, struct pollfd waits[PUMP_ENDS])
{
    waits[INSIDE] = waits[OUTSIDE] = (struct pollfd){.fd = -1};
    if (link->is_used && link->is_connecting)
        waits[OUTSIDE] = (struct pollfd){.fd = link->pump.fds[OUTSIDE], .events = POLLOUT};
    else if (link->is_used)
        pump_waits(&link->pump, waits);
}

/* ---- The process ---- */

static int confine(void)
{
    static const struct seccomp_rule allowed[] = {
        {SYS_socket, SYS_socket, SECCOMP_RET_ALLOW, 1, {{0, UINT32_MAX, AF_INET}}},
        {SYS_socket, SYS_socket, SECCOMP_RET_ALLOW, 1, {{0, UINT32_MAX, AF_INET6}}},
        {SYS_connect, SYS_connect, SECCOMP_RET_ALLOW, 0, {{0}}},
        {SYS_bind, SYS_bind, SECCOMP_RET_ALLOW, 0, {{0}}},
        {SYS_getsockname, SYS_getsockname, SECCOMP_RET_ALLOW, 0, {{0}}},
        {SYS_getsockopt, SYS_getsockopt, SECCOMP_RET_ALLOW, 0, {{0}}},
        {SYS_setsockopt, SYS_setsockopt, SECCOMP_RET_ALLOW, 0, {{0}}},
        {SYS_shutdown, SYS_shutdown, SECCOMP_RET_ALLOW, 0, {{0}}},
        {SYS_recvfrom, SYS_recvfrom, SECCOMP_RET_ALLOW, 0, {{0}}},
        {SYS_recvmsg, SYS_recvmsg, SECCOMP_RET_ALLOW, 0, {{0}}},
        {SYS_sendto, SYS_sendto, SECCOMP_RET_ALLOW, 0, {{0}}},
    };

    return room_allow_calls(allowed, array_size(allowed));
}

/* What the outlet says; false at the room's end. */
static bool take_packet(int socket, const struct iplist *addresses)
{
    struct room_target target;
    int inside = -1;
    const ssize_t got = packet_receive(socket, &target, sizeof(target), &inside, 1, MSG_DONTWAIT);

    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        return false;
    if (inside >= 0)
        add_link(inside, addresses);
    else if (got == (ssize_t)sizeof(target))
        note(ROOM_REFUSED_ADDRESS, &target);
    return true;
}

_Noreturn void room_relay(int socket, int reports, const struct iplist *addresses)
{
    static struct pollfd waits[1 + PUMP_ENDS * ROOM_MAX_LINKS];
    bool has_refusals = false;

    /* The room waits for this. */
    if (packet_send(socket, STR("r"), NULL, 0, 0) < 0 || confine() != 0)
        _exit(EXIT_FAILURE);
    for (;;) {
        bool is_connecting = false;

        waits[0] = (struct pollfd){.fd = socket, .events = POLLIN};
        for (size_t i = 0; i < ROOM_MAX_LINKS; i++) {
            choose_waits(&links[i], &waits[1 + PUMP_ENDS * i]);
            is_connecting = is_connecting || links[i].is_connecting;
        }
        if (poll(waits, array_size(waits), is_connecting || has_refusals ? TICK_MS : -1) < 0 &&
            errno != EINTR)
            _exit(EXIT_FAILURE);
        for (size_t i = 0; i < ROOM_MAX_LINKS; i++)
            if (links[i].is_used)
                work(&links[i], &waits[1 + PUMP_ENDS * i]);
        if (waits[0].revents != 0 && !take_packet(socket, addresses))
            _exit(0); /* the room has ended */
        has_refusals = report(reports);
    }
}
