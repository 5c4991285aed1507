/* SPDX-License-Identifier: Apache-2.0 */
/* The sandboxes that the proxy serves; links are in link.c. */
#include "programs/webproxy/webproxy.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/packet.h"

enum { MAX_BOXES = 128 };

struct served {
    int listener; /* -1: free */
    int first;    /* readable when the sandbox has ended */
};

struct server {
    struct served boxes[MAX_BOXES];
    const struct domainlist *hosts;
};

static bool is_listening(int fd)
{
    int value = 0;
    socklen_t len = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &len) == 0 && value != 0;
}

static void drop_box(struct served *box)
{
    close(steal_fd(&box->listener));
    close(steal_fd(&box->first));
}

/* False when nobody can send any more. */
static bool take_box(struct server *server, int fd)
{
    int fds[2];
    char byte;
    ssize_t got = packet_receive(fd, &byte, 1, fds, array_size(fds), MSG_DONTWAIT);

    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    for (size_t i = 0; fds[0] >= 0 && fds[1] >= 0 && is_listening(fds[0]); i++) {
        if (i == MAX_BOXES)
            break;
        if (server->boxes[i].listener >= 0)
            continue;
        server->boxes[i] = (struct served){fds[0], fds[1]};
        return true;
    }
    for (size_t i = 0; i < array_size(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return true;
}

static void accept_link(const struct server *server, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0)
        webproxy_link_start(fd, server->hosts);
}

_Noreturn void webproxy_serve(int fd, const struct domainlist *hosts)
{
    static struct server server;
    static struct pollfd waits[1 + 2 * MAX_BOXES];

    server.hosts = hosts;
    for (size_t i = 0; i < MAX_BOXES; i++)
        server.boxes[i] = (struct served){-1, -1};
    for (;;) {
        waits[0] = (struct pollfd){.fd = fd, .events = POLLIN};
        for (size_t i = 0; i < MAX_BOXES; i++) {
            waits[1 + 2 * i] = (struct pollfd){.fd = server.boxes[i].listener, .events = POLLIN};
            waits[2 + 2 * i] = (struct pollfd){.fd = server.boxes[i].first, .events = POLLIN};
        }
        if (poll(waits, array_size(waits), -1) < 0 && errno != EINTR)
            _exit(EXIT_FAILURE);
        for (size_t i = 0; i < MAX_BOXES; i++) {
            if (waits[2 + 2 * i].revents != 0)
                drop_box(&server.boxes[i]);
            else if (waits[1 + 2 * i].revents != 0)
                accept_link(&server, server.boxes[i].listener);
        }
        if (waits[0].revents != 0 && !take_box(&server, fd))
            _exit(0);
    }
}
