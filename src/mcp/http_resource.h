/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells a client without a token where to get one (RFC 9728): a document at a well-known URL, which
 * the 401 response names. Only servers with an authorization server have one, not those whose keys
 * are handed out manually.
 */
#ifndef MCP_HTTP_RESOURCE_H
#define MCP_HTTP_RESOURCE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "net/http/exchange.h"

/* Its path, for the router: alone, and followed by the path of the endpoint. */
#define MCP_HTTP_RESOURCE_PATH "/.well-known/oauth-protected-resource"

enum { MCP_HTTP_RESOURCE_BYTES = 16 << 10 };

struct mcp_http_resource_config {
    struct str address; /* URL of the endpoint, as its clients call it: https://gate.example/mcp */
    struct str name;    /* for people; may be empty */
    const struct str *issuers; /* authorization servers, at least one */
    size_t issuer_count;
    const struct str *scopes; /* scopes that a token may be requested for; or none */
    size_t scope_count;
};

struct mcp_http_resource {
    struct buf document;
    struct buf address; /* URL of the document: for mcp_http_config.resource_metadata */
};

/* ERR_INVALID_ARGUMENT if the URL is not http or https, or without an issuer. */
int mcp_http_resource_init(struct mcp_http_resource *resource,
                           const struct mcp_http_resource_config *config, struct err *err);
void mcp_http_resource_done(struct mcp_http_resource *resource);

/* An exchange_handler, with the resource as its data. */
void mcp_http_resource_handle(void *data, struct exchange *exchange);

#endif
