/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP over HTTP: one path that serves both eras.
 *
 *     POST    a message. Modern requests stand alone; a legacy `initialize` opens a session
 *     GET     the stream of a legacy session, or the rest of one that broke (Last-Event-ID)
 *     DELETE  ends a legacy session
 *
 * An answer is JSON when it is the first thing to say, otherwise a stream of
 * events that ends with it. Closing a modern stream cancels its call; a legacy
 * connection that drops cancels nothing, and what is said meanwhile is kept for
 * the client to come back for.
 *
 * What the messages mean is mcp.h's. Host and Origin are the router's to check;
 * who may come with which token is asked of the program before a body is read.
 */
#ifndef MCP_HTTP_H
#define MCP_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"
#include "mcp/mcp.h"
#include "net/http/exchange.h"

struct mcp_http;

/* What a zero in the configuration stands for. */
enum {
    MCP_HTTP_MAX_SESSIONS = 1024,
    MCP_HTTP_MAX_REQUESTS = 4096, /* of all clients, not answered yet */
    MCP_HTTP_REPLAY_BYTES = 1 << 20,
    MCP_HTTP_REPLAY_EVENTS = 512,
    MCP_HTTP_TOTAL_REPLAY_BYTES = 64 << 20,
    MCP_HTTP_IDLE_MS = 30 * 60 * 1000,
    MCP_HTTP_RETRY_MS = 1000,
    MCP_HTTP_MAX_KEPT_BYTES = 64 << 20,
};

struct mcp_http_config {
    struct loop *loop;
    const struct mcp_server *server; /* outlives the endpoint, as do the next two */
    const struct mcp_host *host;     /* its `send` is not looked at: sending is done here */
    void *data;                      /* for the host */

    /*
     * Who is behind a bearer token, as a name that stays while the endpoint does; ERR_UNAUTHORIZED
     * for nobody, ERR_SCOPE_MISSING for somebody who may not. NULL: no token is asked for.
     */
    int (*authorize)(void *data, struct str token, struct str *out_principal);
    /* Where a client finds out how to get a token: an address, or empty. */
    struct str resource_metadata;

    size_t max_sessions;
    size_t max_requests;
    size_t replay_bytes;       /* kept of a session's events, for clients that come back */
    size_t total_replay_bytes; /* of all; who was away longest loses his first */
    /* Of events that one client does not take; httpserver_config has the same for whole answers. */
    size_t max_kept_bytes;
    int64_t idle_ms;  /* a session that nobody uses so long is over */
    int64_t retry_ms; /* after which a client comes back */
};

int mcp_http_new(const struct mcp_http_config *config, struct mcp_http **out_http);

/* An exchange_handler; `data` is the endpoint. */
void mcp_http_handle(void *data, struct exchange *exchange);

/* For mcp_service_set_offer() and kin. */
struct mcp_service *mcp_http_service(const struct mcp_http *http);

/*
 * Closes the stream of a legacy call that goes on: its client comes back for the rest when it
 * likes. Nothing happens to a modern call, whose stream is its life.
 */
void mcp_http_part(const struct mcp_call *call);

size_t mcp_http_session_count(const struct mcp_http *http);

/* Tells every stream that there is no more, and ends it; calls under way are cancelled. */
void mcp_http_close(struct mcp_http *http);

/* After mcp_http_close() and the calls; no exchange comes any more. */
void mcp_http_free(struct mcp_http *http);

#endif
