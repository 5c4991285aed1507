/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the server: an HTTP client that reaches only this server, TLS if its URL
 * requires it, and the gateway's protocol over it (gateway/client.h).
 */
#ifndef PROGRAMS_CONNECT_CONNECTION_H
#define PROGRAMS_CONNECT_CONNECTION_H

#include "base/err.h"
#include "gateway/client.h"
#include "loop/loop.h"
#include "net/http/url.h"

struct connection;

struct connection_config {
    struct loop *loop;
    struct httpurl url;
    struct str authorities_pem; /* trusted besides the system's; may be empty */
    const struct gateway_owner *owner;
    void *data;
};

int connection_new(const struct connection_config *config, struct connection **out_connection,
                   struct err *err);
void connection_free(struct connection *connection);

struct gateway *connection_gateway(const struct connection *connection);

#endif
