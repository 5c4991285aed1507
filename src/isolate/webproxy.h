/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of sandboxed commands to listed hosts of the web: an HTTP proxy, which is a process
 * outside of their sandboxes. A sandbox opens the listening socket in its own network, where
 * nothing else leads anywhere, and hands it over before the command begins. The proxy resolves the
 * names, and refuses addresses of this machine and of private networks whatever the list says.
 *
 * TLS passes through it unread: it knows which host a command asked for, not what is said there.
 */
#ifndef ISOLATE_WEBPROXY_H
#define ISOLATE_WEBPROXY_H

#include <sys/types.h>

#include "base/domainlist.h"
#include "base/err.h"

/* The port in each sandbox, for programs that have read none of the variables. */
#define WEBPROXY_PORT 7653
/* NAME=value, NULL-terminated: how programs are told of it. */
extern const char *const webproxy_variables[];

struct webproxy {
    pid_t pid; /* our child; 0: none */
    int fd;
};

#define WEBPROXY_INIT                                                                              \
    {                                                                                              \
        .pid = 0, .fd = -1                                                                         \
    }

/*
 * Starts it (gatehouse-webproxy) unless it runs; the hosts are those of base/domainlist.h, up to a
 * NULL. It ends when the socket is closed.
 */
int webproxy_start(struct webproxy *proxy, const char *libexec, const char *const *hosts,
                   struct err *err);
void webproxy_stop(struct webproxy *proxy);

/*
 * In a sandbox that is being built, in its network: opens the socket and hands it over, for as long
 * as the sandbox's first process lives. 0 or an errno value. SAFETY: allocates nothing.
 */
int webproxy_listen(int fd);

enum { WEBPROXY_OWNER_BYTES = 64 };

/* What comes with a sandbox that has hosts of its own; of the list, no more than is used. */
struct webproxy_order {
    char
        owner[WEBPROXY_OWNER_BYTES]; /* whose sandboxes have a share of the connections in common */
    struct domainlist hosts;
};

/*
 * Hands over a socket that listens at WEBPROXY_PORT in a sandbox which runs already, with hosts of
 * its own. Of the owner no more counts than fits into an order. The proxy sends a byte on `life`, a
 * socket, once it serves it, and ends that when the other end of `life` is closed. Both stay the
 * caller's. 0 or an errno value.
 */
int webproxy_hand_over(int fd, const struct domainlist *hosts, const char *owner, int listener,
                       int life);

/* For the proxy itself: it can resolve names and connect, and open or start nothing else. */
int webproxy_confine(struct err *err);

#endif
