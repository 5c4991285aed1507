/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP over HTTP: one path that serves both eras.
 *
 *     POST    a message. Modern requests stand alone; a legacy `initialize` opens a session
 *     GET     the stream of a legacy session, or the rest of one that broke (Last-Event-ID)
 *     DELETE  ends a legacy session
 *
 * A response is JSON if the answer is the first message, otherwise a stream of events that ends
 * with it. Closing a modern stream cancels its call; a legacy connection that drops cancels
 * nothing, and messages sent meanwhile are kept until the client returns.
 *
 * mcp.h handles the messages. The router checks Host and Origin; the program checks the token
 * before a body is read.
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

/* The defaults, for a zero in the configuration. */
enum {
    MCP_HTTP_MAX_SESSIONS = 1024,
    MCP_HTTP_MAX_REQUESTS = 4096, /* of all clients, unanswered */
    MCP_HTTP_REPLAY_BYTES = 1 << 20,
    MCP_HTTP_REPLAY_EVENTS = 512,
    MCP_HTTP_TOTAL_REPLAY_BYTES = 64 << 20,
    MCP_HTTP_IDLE_MS = 30 * 60 * 1000,
    MCP_HTTP_RETRY_MS = 1000,
    MCP_HTTP_MAX_KEPT_BYTES = 64 << 20,
};

struct mcp_http_config {
    struct loop *loop;
    const struct mcp_server *server; /* must outlive the endpoint, as must the next two */
    const struct mcp_host *host;     /* its `send` is ignored: messages are sent here */
    void *data;                      /* for the host */

    /*
     * The owner of a bearer token, as a name that stays valid as long as the endpoint;
     * ERR_UNAUTHORIZED if unknown, ERR_SCOPE_MISSING if not permitted. NULL: no token is required.
     */
    int (*authorize)(void *data, struct str token, struct str *out_principal);
    /* A legacy session has ended, by its id; not inside a callback of it. Or NULL. */
    void (*session_over)(void *data, struct str id);
    /* URL that tells clients how to get a token; or empty. */
    struct str resource_metadata;

    size_t max_sessions;
    size_t max_requests;
    size_t replay_bytes; /* events kept per session, for clients that return */
    /* Of all sessions; the longest absent client loses its events first. */
    size_t total_replay_bytes;
    /*
     * Limit of events that one client does not read; httpserver_config has the same for whole
     * answers.
     */
    size_t max_kept_bytes;
    int64_t idle_ms;  /* a session unused for so long ends */
    int64_t retry_ms; /* after which a client shall reconnect */
};

int mcp_http_new(const struct mcp_http_config *config, struct mcp_http **out_http);

/*
 * Answers 401, or 403 for ERR_SCOPE_MISSING: where to get a token, and what was wrong with the one
 * sent. For programs that look at tokens before they choose an endpoint.
 */
void mcp_http_challenge(struct exchange *exchange, int error, bool had_token, struct str metadata);

/* An exchange_handler; `data` is the endpoint. */
void mcp_http_handle(void *data, struct exchange *exchange);

/* For mcp_service_set_offer() and the like. */
struct mcp_service *mcp_http_service(const struct mcp_http *http);

/*
 * Closes the stream of a running legacy call: its client returns for the rest when it likes. Does
 * nothing for a modern call, which ends with its stream.
 */
void mcp_http_part(const struct mcp_call *call);

/* Of the legacy session that the call belongs to; empty for a modern call, which has none. */
struct str mcp_http_session_id(const struct mcp_call *call);

size_t mcp_http_session_count(const struct mcp_http *http);

/* Tells every stream that there is no more, and ends it; running calls are cancelled. */
void mcp_http_close(struct mcp_http *http);

/* Call after mcp_http_close() and the end of all calls; no more exchanges may come. */
void mcp_http_free(struct mcp_http *http);

#endif
