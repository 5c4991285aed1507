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

enum { BUFFER_BYTES = 32 << 10, CONNECT_MS = 30000, TICK_MS = 1000 };

/* What was read from one end and not written to the other. */
struct half {
    char *bytes;
    size_t start;
    size_t len;
    bool is_ended; /* nothing more comes */
    bool is_shut;  /* and the other end was told */
};

enum { INSIDE, OUTSIDE, ENDS };

struct link {
    bool is_used;
    bool is_connecting;
    int64_t deadline_ms; /* while it is connecting */
    int fds[ENDS];
    struct half halves[ENDS]; /* from this end to the other */
};

static struct link links[ROOM_MAX_LINKS];

/* ---- Links ---- */

static void close_hard(int fd)
{
    const struct linger at_once = {.l_onoff = 1};

    if (fd < 0)
        return;
    /* The program sees a reset, not the end of what it reads. */
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(fd);
}

static void drop(struct link *link, bool is_hard)
{
    for (int i = 0; i < ENDS; i++) {
        if (is_hard)
            close_hard(link->fds[i]);
        else
            close(link->fds[i]);
        free(link->halves[i].bytes);
    }
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

/* The socket that connects to where `inside` leads; -1 if it may not. */
static int reach(int inside, const struct iplist *addresses, bool *out_is_connecting)
{
    struct sockaddr_storage local = {0};
    struct sockaddr_storage address;
    struct room_target target;
    socklen_t len = sizeof(local);
    const int on = 1;
    uint16_t port;
    int fd;

    if (!is_tcp(inside) || getsockname(inside, (struct sockaddr *)&local, &len) < 0 ||
        !room_target_from(&local, len, &target) || !iplist_allows(addresses, target.ip))
        return -1;
    port = target.port;
    target.port = 0;
    len = room_target_to(&target, &address);
    if (is_own(&address, len))
        return -1;
    target.port = port;
    len = room_target_to(&target, &address);
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
                         .deadline_ms = clock_monotonic_ms(&clock_system) + CONNECT_MS,
                         .fds = {inside, -1}};

    fresh.fds[OUTSIDE] = link != NULL ? reach(inside, addresses, &fresh.is_connecting) : -1;
    for (int i = 0; i < ENDS && fresh.fds[OUTSIDE] >= 0; i++)
        fresh.halves[i].bytes = malloc(BUFFER_BYTES);
    if (fresh.halves[INSIDE].bytes != NULL && fresh.halves[OUTSIDE].bytes != NULL)
        *link = fresh;
    else
        drop(&fresh, true);
}

/* ---- Passing bytes on ---- */

/* False if the link is broken. The other side of the room may have changed the flags of the file.
 */
static bool fill(struct link *link, int end)
{
    struct half *half = &link->halves[end];
    ssize_t got;

    if (half->len > 0 || half->is_ended)
        return true;
    got = recv(link->fds[end], half->bytes, BUFFER_BYTES, MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    half->start = 0;
    half->len = (size_t)got;
    half->is_ended = got == 0;
    return true;
}

static bool flush(struct link *link, int end)
{
    struct half *half = &link->halves[end];
    ssize_t sent;

    if (half->len > 0) {
        sent = send(link->fds[1 - end], half->bytes + half->start, half->len,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR;
        half->start += (size_t)sent;
        half->len -= (size_t)sent;
    }
    if (half->len == 0 && half->is_ended && !half->is_shut) {
        half->is_shut = true;
        (void)shutdown(link->fds[1 - end], SHUT_WR);
    }
    return true;
}

static bool finish_connecting(struct link *link)
{
    int code = 0;
    socklen_t len = sizeof(code);

    link->is_connecting = false;
    return getsockopt(link->fds[OUTSIDE], SOL_SOCKET, SO_ERROR, &code, &len) == 0 && code == 0;
}

static void work(struct link *link, const struct pollfd waits[ENDS])
{
    bool is_sound = true;

    if (link->is_connecting) {
        if (waits[OUTSIDE].revents != 0)
            is_sound = finish_connecting(link);
        else
            is_sound = clock_monotonic_ms(&clock_system) < link->deadline_ms;
    }
    for (int i = 0; i < ENDS && is_sound && !link->is_connecting; i++) {
        if ((waits[i].revents & POLLERR) != 0 ||
            ((waits[i].revents & (POLLIN | POLLHUP)) != 0 && !fill(link, i)))
            is_sound = false;
    }
    for (int i = 0; i < ENDS && is_sound && !link->is_connecting; i++)
        is_sound = flush(link, i);
    if (!is_sound)
        drop(link, true);
    else if (link->halves[INSIDE].is_shut && link->halves[OUTSIDE].is_shut)
        drop(link, false);
}

/* An end that nothing is wanted from is left out, or its hang-up would come again and again. */
static void choose_waits(const struct link *link, struct pollfd waits[ENDS])
{
    for (int i = 0; i < ENDS; i++) {
        const struct half *from = &link->halves[i];
        const struct half *to = &link->halves[1 - i];
        short events = 0;

        if (link->is_connecting)
            events = i == OUTSIDE ? POLLOUT : 0;
        else
            events = (short)((from->len == 0 && !from->is_ended ? POLLIN : 0) |
                             (to->len > 0 ? POLLOUT : 0));
        waits[i] = (struct pollfd){.fd = link->is_used && events != 0 ? link->fds[i] : -1,
                                   .events = events};
    }
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

_Noreturn void room_relay(int socket, const struct iplist *addresses)
{
    static struct pollfd waits[1 + ENDS * ROOM_MAX_LINKS];

    /* The room waits for this. */
    if (packet_send(socket, STR("r"), NULL, 0, 0) < 0 || confine() != 0)
        _exit(EXIT_FAILURE);
    for (;;) {
        bool is_connecting = false;
        int inside = -1;
        ssize_t got;
        char byte;

        waits[0] = (struct pollfd){.fd = socket, .events = POLLIN};
        for (size_t i = 0; i < ROOM_MAX_LINKS; i++) {
            choose_waits(&links[i], &waits[1 + ENDS * i]);
            is_connecting = is_connecting || links[i].is_connecting;
        }
        if (poll(waits, array_size(waits), is_connecting ? TICK_MS : -1) < 0 && errno != EINTR)
            _exit(EXIT_FAILURE);
        for (size_t i = 0; i < ROOM_MAX_LINKS; i++)
            if (links[i].is_used)
                work(&links[i], &waits[1 + ENDS * i]);
        if (waits[0].revents == 0)
            continue;
        got = packet_receive(socket, &byte, 1, &inside, 1, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            _exit(0); /* the room has ended */
        if (inside >= 0)
            add_link(inside, addresses);
    }
}
