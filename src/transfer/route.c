/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/packet.h"
#include "isolate/companion.h"
#include "isolate/confine.h"

enum { CONNECT_MS = 10 * 1000, FIRST_DATA_PORT = 1024 };

/* ---- what is allowed ---- */

int route_check(const struct route_allowed *allowed, const struct transfer_place *server,
                struct err *err)
{
    for (size_t i = 0; i < allowed->count; i++)
        if (transfer_is_same_server(&allowed->places[i], server))
            return 0;
    return err_set(err, ERR_SERVER_DENIED, "the operator of this host does not allow this server");
}

/* clang-format off */
static const struct {
    uint32_t network;
    int bits;
} reserved[] = {
    {0x00000000, 8},  {0x0a000000, 8},  {0x64400000, 10}, {0x7f000000, 8},  {0xa9fe0000, 16},
    {0xac100000, 12}, {0xc0000000, 24}, {0xc0000200, 24}, {0xc0586300, 24}, {0xc0a80000, 16},
    {0xc6120000, 15}, {0xc6336400, 24}, {0xcb007100, 24}, {0xe0000000, 3},
};
/* clang-format on */

static bool is_public_4(uint32_t address)
{
    for (size_t i = 0; i < array_size(reserved); i++)
        if ((address ^ reserved[i].network) >> (32 - reserved[i].bits) == 0)
            return false;
    return true;
}

/* Global unicast, without those that stand for an address of IPv4 or for examples. */
static bool is_public_6(const unsigned char *bytes)
{
    static const unsigned char teredo[] = {0x20, 0x01, 0, 0};
    static const unsigned char examples[] = {0x20, 0x01, 0x0d, 0xb8};
    static const unsigned char translated[] = {0x20, 0x02};

    return bytes[0] >> 5 == 1 && memcmp(bytes, teredo, sizeof(teredo)) != 0 &&
           memcmp(bytes, examples, sizeof(examples)) != 0 &&
           memcmp(bytes, translated, sizeof(translated)) != 0;
}

bool route_is_public(const struct sockaddr *address)
{
    struct sockaddr_in6 six;
    struct sockaddr_in four;

    if (address->sa_family == AF_INET) {
        memcpy(&four, address, sizeof(four));
        return is_public_4(ntohl(four.sin_addr.s_addr));
    }
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&six, address, sizeof(six));
    return is_public_6(six.sin6_addr.s6_addr);
}

/* Whether the operator named the address itself, for this protocol and port. */
static bool is_named(const struct route_allowed *allowed, const struct transfer_place *server,
                     const struct addrinfo *found)
{
    char text[NI_MAXHOST];
    struct transfer_place named = {.protocol = server->protocol, .port = server->port};

    if (getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof(text), NULL, 0,
                    NI_NUMERICHOST) != 0 ||
        strlen(text) >= sizeof(named.host))
        return false;
    memcpy(named.host, text, strlen(text) + 1);
    return route_check(allowed, &named, NULL) == 0;
}

static void set_port(struct transfer_route *route, uint16_t port)
{
    struct sockaddr_in6 six;
    struct sockaddr_in four;

    if (route->address.ss_family == AF_INET) {
        memcpy(&four, &route->address, sizeof(four));
        four.sin_port = htons(port);
        memcpy(&route->address, &four, sizeof(four));
    } else {
        memcpy(&six, &route->address, sizeof(six));
        six.sin6_port = htons(port);
        memcpy(&route->address, &six, sizeof(six));
    }
}

int route_find(const struct route_allowed *allowed, const struct transfer_place *server,
               struct transfer_route *out_route, struct err *err)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = server->is_address ? AI_NUMERICHOST : AI_ADDRCONFIG};
    struct addrinfo *found = NULL;
    int r = 0;

    if (getaddrinfo(server->host, NULL, &hints, &found) != 0 || found == NULL)
        return err_set(err, ERR_HOST_UNKNOWN, "the server's name cannot be resolved");
    if ((found->ai_family != AF_INET && found->ai_family != AF_INET6) ||
        (!route_is_public(found->ai_addr) && !is_named(allowed, server, found))) {
        r = err_set(err, ERR_SERVER_DENIED,
                    "the server's name leads to an address that the operator did not allow");
    } else {
        *out_route = (struct transfer_route){.address_len = found->ai_addrlen};
        memcpy(&out_route->address, found->ai_addr, found->ai_addrlen);
        set_port(out_route, server->port);
    }
    freeaddrinfo(found);
    return r;
}

/* ---- connections ---- */

/* 0 or an errno value. */
static int finish_connecting(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    int error = 0;
    socklen_t len = sizeof(error);

    if (poll(&ready, 1, CONNECT_MS) != 1)
        return ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 ? error : errno;
}

int route_connect(const struct transfer_route *route, int *out_fd, struct err *err)
{
    cleanup_fd int fd =
        socket(route->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0;

    if (fd < 0)
        return err_set(err, ERR_UNREACHABLE, "cannot connect: %s", err_errno_text(errno));
    /* SAFETY: the storage is as large as any address, and aligned for all of them. */
    if (connect(fd, (const struct sockaddr *)&route->address, route->address_len) < 0)
        error = errno == EINPROGRESS ? finish_connecting(fd) : errno;
    if (error == 0 && fcntl(fd, F_SETFL, O_RDWR) < 0)
        error = errno;
    if (error != 0)
        return err_set(err, ERR_UNREACHABLE, "cannot connect to the server: %s",
                       err_errno_text(error));
    *out_fd = steal_fd(&fd);
    return 0;
}

struct dialer {
    struct transfer_route route;
    uint16_t port;
    int fd;
};

static uint16_t port_of(const struct transfer_route *route)
{
    struct sockaddr_in6 six;

    /* The port is at the same place in both. */
    memcpy(&six, &route->address, sizeof(six));
    return ntohs(six.sin6_port);
}

/* In the child; the exit status. */
static int dial_for_parent(void *data)
{
    struct dialer *dialer = data;
    const int kept[] = {dialer->fd};
    uint16_t port;

    if (confine_close_fds(kept, array_size(kept), NULL) < 0)
        return EXIT_FAILURE;
    while (packet_receive(dialer->fd, &port, sizeof(port), NULL, 0, 0) == sizeof(port)) {
        const struct str bytes = {(const char *)&port, sizeof(port)};
        cleanup_fd int fd = -1;

        set_port(&dialer->route, port);
        if ((port != dialer->port && port < FIRST_DATA_PORT) ||
            route_connect(&dialer->route, &fd, NULL) < 0)
            fd = -1;
        if (packet_send(dialer->fd, bytes, &fd, fd >= 0 ? 1 : 0, 0) < 0)
            break;
    }
    return EXIT_SUCCESS;
}

int route_start_dialer(const struct transfer_route *route, int *out_fd, struct err *err)
{
    struct dialer dialer = {.route = *route, .port = port_of(route)};
    int ends[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, err_from_errno(errno), "cannot create sockets: %s",
                       err_errno_text(errno));
    dialer.fd = ends[1];
    r = companion_fork(dial_for_parent, &dialer, err);
    close(ends[1]);
    if (r < 0)
        close(ends[0]);
    else
        *out_fd = ends[0];
    return r;
}

int route_dial(int dialer, uint16_t port)
{
    const struct str bytes = {(const char *)&port, sizeof(port)};
    uint16_t answer = 0;
    int fd = -1;

    if (packet_send(dialer, bytes, NULL, 0, 0) < 0 ||
        packet_receive(dialer, &answer, sizeof(answer), &fd, 1, 0) != sizeof(answer))
        return -1;
    return fd;
}
