/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the name of a server to connections: whether the operator allowed it, which one address it
 * has, and connections to that address and to no other.
 */
#ifndef TRANSFER_ROUTE_H
#define TRANSFER_ROUTE_H

#include <sys/socket.h>

#include "transfer/place.h"

/* The servers that the operator has named. */
struct route_allowed {
    const struct transfer_place *places;
    size_t count;
};

/* Where a server is, found out once. */
struct transfer_route {
    struct sockaddr_storage address; /* with the port */
    socklen_t address_len;
};

/* ERR_SERVER_DENIED if it is not among them. */
int route_check(const struct route_allowed *allowed, const struct transfer_place *server,
                struct err *err);

/*
 * Resolves a server that route_check() let pass. Addresses of this machine, of private networks and
 * of no network are ERR_SERVER_DENIED, unless the operator named that very address, too.
 */
int route_find(const struct route_allowed *allowed, const struct transfer_place *server,
               struct transfer_route *out_route, struct err *err);

/* The socket is close-on-exec, and blocks. */
int route_connect(const struct transfer_route *route, int *out_fd, struct err *err);

/*
 * Starts a process that makes connections for one that cannot: to the address of the route, to its
 * port or to one that servers of FTP choose for data, from 1024 on. It ends when *out_fd is closed.
 */
int route_start_dialer(const struct transfer_route *route, int *out_fd, struct err *err);
/* Asks it. Returns the socket, or -1. */
int route_dial(int dialer, uint16_t port);

/* Whether everybody may reach it: no private, local, shared, reserved or translated address. */
bool route_is_public(const struct sockaddr *address);

#endif
