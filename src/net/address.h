/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IP addresses as text and as socket addresses, and listening sockets. Does not resolve names: a
 * server listens on an address.
 */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/str.h"

/* The longest: "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535". */
enum { ADDRESS_TEXT_BYTES = 64, ADDRESS_IP_BYTES = 16 };

/* Small, since every connection has one. IPv4 is mapped to IPv6: ::ffff:1.2.3.4. */
struct address {
    uint8_t ip[ADDRESS_IP_BYTES];
    uint16_t port;
    bool is_ip; /* false for Unix sockets, which have no useful address */
};

struct address address_from(const struct sockaddr_storage *storage);

/* "127.0.0.1:8080", "[::1]:8080", "unix" */
void address_format(const struct address *address, char out_text[ADDRESS_TEXT_BYTES]);

/* Whether only this machine can be behind it. */
bool address_is_loopback(const struct address *address);

/* Parses the format of address_format(), or "localhost:8080", which is 127.0.0.1. */
int address_parse(struct str text, struct address *out_address);

/*
 * Opens a listening socket for httpserver_new(); for port 0 the system chooses one. Call it before
 * the process is confined.
 */
int address_listen(const struct address *address, struct err *err, int *out_fd);

/* The address an open socket is bound to: tells which port was chosen. */
int address_of(int fd, struct address *out_address);

#endif
