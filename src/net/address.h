/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of the internet as text and as what the system wants, and sockets that listen on them.
 * Names are not looked up: a server listens on an address, and asking the network for one is
 * somebody else's.
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

/* Small, since every connection has one. IPv4 as IPv6 has it: ::ffff:1.2.3.4. */
struct address {
    uint8_t ip[ADDRESS_IP_BYTES];
    uint16_t port;
    bool is_ip; /* false for Unix sockets, which have no address worth a word */
};

struct address address_from(const struct sockaddr_storage *storage);

/* "127.0.0.1:8080", "[::1]:8080", "unix" */
void address_format(const struct address *address, char out_text[ADDRESS_TEXT_BYTES]);

/* This machine and no other can be behind it. */
bool address_is_loopback(const struct address *address);

/* The text of address_format(), or "localhost:8080", which is 127.0.0.1. */
int address_parse(struct str text, struct address *out_address);

/*
 * A socket that listens, ready for httpserver_new(); a port 0 is chosen by the system. A process
 * that gives up its rights opens this before.
 */
int address_listen(const struct address *address, struct err *err, int *out_fd);

/* What an open socket is bound to: tells which port was chosen. */
int address_of(int fd, struct address *out_address);

#endif
