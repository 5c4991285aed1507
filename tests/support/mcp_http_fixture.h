/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP over HTTP, with server and clients in one process with a fake clock, for tests of
 * src/mcp/http*. Requests are written as text, answers are checked as received.
 *
 *     echo    answers at once                    talk   a warning, then waits
 *     wait    answers when the test says so      header has arguments that are headers too
 *     say     a warning, then answers            large  answers 3000 bytes, "warn" before
 *     ask     asks for a name, for "ms" ms       part   hangs up, then waits
 */
#ifndef TESTS_SUPPORT_MCP_HTTP_FIXTURE_H
#define TESTS_SUPPORT_MCP_HTTP_FIXTURE_H

#include "http_fixture.h"
#include "mcp/http.h"

enum {
    MCP_HTTP_FIXTURE_PARKED = 64,
    MCP_HTTP_FIXTURE_GOT_BYTES = 64 << 20,
    MCP_HTTP_FIXTURE_HEADERS = 2048,
};

struct mcp_http_fixture {
    struct http_fixture http;
    struct mcp_server server;
    struct mcp_http *endpoint;
    struct mcp_call *parked[MCP_HTTP_FIXTURE_PARKED]; /* oldest first */
    size_t parked_count;
    size_t started;
    size_t cancelled;
    size_t unsubscribed;
};

/* A client's connection, and what was received since the last request. */
struct mcp_http_link {
    struct mcp_http_fixture *fixture;
    int fd;
    struct buf got;
    bool is_closed;   /* by the server */
    char session[64]; /* as a header line, once there is one */
    const char *more; /* header lines of every request, or NULL */
};

/* Both may be NULL. */
void mcp_http_fixture_init(struct mcp_http_fixture *fixture, const struct mcp_http_config *limits,
                           const struct httpserver_config *server_limits);
void mcp_http_fixture_done(struct mcp_http_fixture *fixture);
/* Same, allocated, for tests that begin with one. */
struct mcp_http_fixture *mcp_http_fixture_new(const struct mcp_http_config *limits);
void mcp_http_fixture_free(struct mcp_http_fixture *fixture);
/* Ends the oldest waiting call. */
void mcp_http_fixture_finish(struct mcp_http_fixture *fixture);
/* Replaces the tools. */
void mcp_http_fixture_change_tools(struct mcp_http_fixture *fixture);

void mcp_http_link_open(struct mcp_http_link *link, struct mcp_http_fixture *fixture);
void mcp_http_link_close(struct mcp_http_link *link);

/* Sends any request. Returns the status; 0: no answer has begun. */
int mcp_http_send_raw(struct mcp_http_link *link, const char *method, const char *headers,
                      const char *body);
/* Posts a message with the common headers; `headers` are additional lines. */
int mcp_http_post(struct mcp_http_link *link, const char *headers, const char *body);
/* With the session's headers. */
int mcp_http_post_legacy(struct mcp_http_link *link, const char *body);
int mcp_http_get(struct mcp_http_link *link, const char *last_event);
int mcp_http_delete(struct mcp_http_link *link);
/* Calls a tool by a modern request, with id 1; `arguments` is an object. */
int mcp_http_call_modern(struct mcp_http_link *link, const char *tool, const char *arguments);
/* Same in the link's session. */
int mcp_http_call_legacy(struct mcp_http_link *link, int id, const char *tool,
                         const char *arguments);
/* Sends initialize and what follows it. */
void mcp_http_open_session(struct mcp_http_link *link, const char *revision);

/* Reads what has arrived; true if the text was received since the last request. */
bool mcp_http_has(struct mcp_http_link *link, const char *text);
/* The answer, or its stream, has ended. */
bool mcp_http_is_over(struct mcp_http_link *link);
/* Number of occurrences. */
size_t mcp_http_count(struct mcp_http_link *link, const char *text);
/* The text after this one, up to a quote or a newline. */
void mcp_http_behind(struct mcp_http_link *link, const char *text, char *out, size_t size);

#endif
