/* SPDX-License-Identifier: Apache-2.0 */
/* The sandboxes that the proxy serves; links are in link.c. */
#include "programs/webproxy/webproxy.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/packet.h"

struct served {
    int listener; /* -1: free */
    struct webproxy_box *box;
};

struct server {
    struct served boxes[WEBPROXY_MAX_BOXES];
    struct webproxy_owner owners[WEBPROXY_MAX_BOXES + WEBPROXY_MAX_LINKS];
    const struct webproxy_terms *terms;
};

static bool is_listening(int fd)
{
    int value = 0;
    socklen_t len = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &len) == 0 && value != 0;
}

struct webproxy_box *webproxy_box_ref(struct webproxy_box *box)
{
    atomic_fetch_add(&box->uses, 1);
    return box;
}

void webproxy_box_unref(struct webproxy_box *box)
{
    if (box == NULL || atomic_fetch_sub(&box->uses, 1) > 1)
        return;
    close(box->life);
    if (box->owner != NULL)
        atomic_fetch_sub(&box->owner->uses, 1);
    free(box);
}

static void drop_box(struct served *served)
{
    close(steal_fd(&served->listener));
    webproxy_box_unref(steal_ptr(&served->box));
}

/* There is room for as many as there can be sandboxes, with those that only links still keep. */
static struct webproxy_owner *use_owner(struct server *server, const char *name)
{
    struct webproxy_owner *owner = NULL;

    for (size_t i = 0; i < array_size(server->owners); i++) {
        struct webproxy_owner *one = &server->owners[i];

        if (atomic_load(&one->uses) == 0) {
            owner = owner == NULL ? one : owner;
        } else if (strcmp(one->name, name) == 0) {
            owner = one;
            break;
        }
    }
    if (owner != NULL && atomic_fetch_add(&owner->uses, 1) == 0)
        snprintf(owner->name, sizeof(owner->name), "%s", name);
    return owner;
}

/* Takes both descriptors over, unless there is no room. No order: the hosts are the proxy's own. */
static bool add_box(struct server *server, int listener, int life,
                    const struct webproxy_order *order)
{
    const struct domainlist *hosts = order != NULL ? &order->hosts : &server->terms->hosts;
    struct webproxy_box *box;
    size_t i = 0;

    while (i < server->terms->max_boxes && server->boxes[i].listener >= 0)
        i++;
    box = i < server->terms->max_boxes ? calloc(1, sizeof(*box)) : NULL;
    if (box == NULL)
        return false;
    box->uses = 1;
    box->life = life;
    if (order != NULL)
        box->owner = use_owner(server, order->owner);
    memcpy(&box->hosts, hosts, domainlist_bytes(hosts->count));
    server->boxes[i] = (struct served){listener, box};
    return true;
}

/* Whether a packet is one, and not the byte of a sandbox that has no hosts of its own. */
static bool read_order(struct webproxy_order *order, size_t len)
{
    const size_t head = offsetof(struct webproxy_order, hosts);
    struct domainlist *list = &order->hosts;

    if (len < head + domainlist_bytes(0) || list->count > DOMAINLIST_MAX ||
        len != head + domainlist_bytes(list->count))
        return false;
    order->owner[WEBPROXY_OWNER_BYTES - 1] = '\0';
    for (size_t i = 0; i < list->count; i++)
        list->entries[i].host[DOMAINLIST_HOST_BYTES - 1] = '\0';
    return true;
}

/* False when nobody can send any more. */
static bool take_box(struct server *server, int fd)
{
    static struct webproxy_order order;
    int fds[2];
    ssize_t got = packet_receive(fd, &order, sizeof(order), fds, array_size(fds), MSG_DONTWAIT);
    bool has_order = got > 0 && read_order(&order, (size_t)got);

    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    if (fds[0] >= 0 && fds[1] >= 0 && is_listening(fds[0]) && (got == 1 || has_order) &&
        add_box(server, fds[0], fds[1], has_order ? &order : NULL)) {
        if (has_order) /* whoever sent it waits */
            (void)send(fds[1], "r", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        return true;
    }
    for (size_t i = 0; i < array_size(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return true;
}

static void accept_link(const struct server *server, const struct served *served)
{
    int fd = accept4(served->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0)
        webproxy_link_start(fd, served->box, server->terms->max_links);
}

_Noreturn void webproxy_serve(int fd, const struct webproxy_terms *terms)
{
    static struct server server;
    static struct pollfd waits[1 + 2 * WEBPROXY_MAX_BOXES];

    server.terms = terms;
    for (size_t i = 0; i < terms->max_boxes; i++)
        server.boxes[i] = (struct served){.listener = -1};
    for (;;) {
        waits[0] = (struct pollfd){.fd = fd, .events = POLLIN};
        for (size_t i = 0; i < terms->max_boxes; i++) {
            const struct served *served = &server.boxes[i];
            int life = served->listener < 0 ? -1 : served->box->life;

            waits[1 + 2 * i] = (struct pollfd){.fd = served->listener, .events = POLLIN};
            waits[2 + 2 * i] = (struct pollfd){.fd = life, .events = POLLIN};
        }
        /* No more than there may be descriptors, or it is refused. */
        if (poll(waits, 1 + 2 * terms->max_boxes, -1) < 0 && errno != EINTR)
            _exit(EXIT_FAILURE);
        for (size_t i = 0; i < terms->max_boxes; i++) {
            if (waits[2 + 2 * i].revents != 0)
                drop_box(&server.boxes[i]);
            else if (waits[1 + 2 * i].revents != 0)
                accept_link(&server, &server.boxes[i]);
        }
        if (waits[0].revents != 0 && !take_box(&server, fd))
            _exit(0);
    }
}
