/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reverse proxies that the server believes: the address of the client, and who the user is. What
 * anybody else writes into the same headers is ignored.
 */
#ifndef PROGRAMS_SERVER_PROXIES_H
#define PROGRAMS_SERVER_PROXIES_H

#include "net/address.h"
#include "net/http/exchange.h"

enum {
    PROXIES_MAX = 16,
    PROXIES_CLIENT_BYTES = ADDRESS_TEXT_BYTES,
};

struct trusted_proxies {
    struct address list[PROXIES_MAX]; /* their ports mean nothing */
    size_t count;
    struct str header; /* that names the user; empty: none does */
    bool creates_users;
};

/* "192.0.2.7", "2001:db8::7" */
int proxies_add(struct trusted_proxies *proxies, const char *address, struct err *err);

/* The address of the client, without port; as X-Forwarded-For has it last, if a proxy says so. */
void proxies_client(const struct trusted_proxies *proxies, const struct exchange *exchange,
                    char out_text[PROXIES_CLIENT_BYTES]);

/* The same for a request that has been answered; without `request` it is the peer. */
void proxies_client_of(const struct trusted_proxies *proxies, const struct address *peer,
                       const struct http_request *request, char out_text[PROXIES_CLIENT_BYTES]);

/* The network to count attempts of: of IPv6 the first 64 bits, since one client has them all. */
struct str proxies_network(const char *client, char space[ADDRESS_IP_BYTES]);

/* The user that a proxy names; false without one. Several such headers are none. */
bool proxies_user(const struct trusted_proxies *proxies, const struct exchange *exchange,
                  struct str *out_name);
bool proxies_user_of(const struct trusted_proxies *proxies, const struct address *peer,
                     const struct http_request *request, struct str *out_name);

#endif
