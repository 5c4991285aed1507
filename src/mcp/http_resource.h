/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client without a token is told about where to get one (RFC 9728): a
 * document at a well-known address, which the answer 401 names. Only a server
 * with an authorization server has one; where keys are handed out by hand there
 * is nothing to find out.
 */
#ifndef MCP_HTTP_RESOURCE_H
#define MCP_HTTP_RESOURCE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "net/http/exchange.h"

/* Addresses of it, for the router: by itself, and with the path of the endpoint behind it. */
#define MCP_HTTP_RESOURCE_PATH "/.well-known/oauth-protected-resource"

enum { MCP_HTTP_RESOURCE_BYTES = 16 << 10 };

struct mcp_http_resource_config {
    struct str address; /* of the endpoint, as its clients call it: https://gate.example/mcp */
    struct str name;    /* for people; may be empty */
    const struct str *issuers; /* authorization servers, at least one */
    size_t issuer_count;
    const struct str *scopes; /* what a token may be asked for; or none */
    size_t scope_count;
};

struct mcp_http_resource {
    struct buf document;
    struct buf address; /* of the document: for mcp_http_config.resource_metadata */
};

/* ERR_INVALID_ARGUMENT for an address that is none of http or https, or without an issuer. */
int mcp_http_resource_init(struct mcp_http_resource *resource,
                           const struct mcp_http_resource_config *config, struct err *err);
void mcp_http_resource_done(struct mcp_http_resource *resource);

/* An exchange_handler, with the resource as its data. */
void mcp_http_resource_handle(void *data, struct exchange *exchange);

#endif
