/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to MCP over HTTP.
 *
 *     http.c          checks access, reads the message, determines the era
 *     http_headers.c  headers that repeat what the message says
 *     http_client.c   sessions of the legacy era, and modern requests, which are their own
 *     http_stream.c   sends our messages: as an answer, on a stream, or into the kept events
 */
#ifndef MCP_HTTP_INTERNAL_H
#define MCP_HTTP_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "loop/timer.h"
#include "mcp/http.h"
#include "net/sse/writer.h"

enum {
    MCP_HTTP_ID_LEN = 32, /* of a session id: 190 bits */
    MCP_HTTP_EVENT_ID_BYTES = 48,
};

struct mcp_http {
    struct mcp_http_config config;
    struct mcp_host host; /* our own, wrapping the program's */
    struct mcp_service *service;
    struct sse_hub *hub; /* of all streams: common keep-alives */

    struct map sessions;  /* by id */
    struct list clients;  /* all; least recently used first */
    struct list finished; /* to be freed when none of their callbacks is running */
    bool has_unsettled;   /* some client is */
    size_t stream_count;
    size_t event_bytes; /* kept for all clients */
    uint64_t last_origin;

    struct loop_task reap;
    struct timer questions; /* until the next question times out */
    struct timer idle;
    bool is_closed;
};

/* A legacy session, or one modern request. */
struct mcp_http_client {
    struct list link;
    struct mcp_http *http;
    struct mcp_session *session;
    bool is_modern;
    bool is_finished;
    bool is_unsettled;            /* one of its streams may be complete */
    char id[MCP_HTTP_ID_LEN + 1]; /* legacy, else empty */
    struct str principal;
    int64_t used_ms;

    struct list streams;
    struct mcp_http_stream *standing; /* for messages of no call; in `streams` too */

    /* Legacy: events for a client that returns, oldest first. */
    struct list events;
    size_t event_count;
    size_t event_bytes;
};

/* The request of one POST and all messages about it, or the messages of no request. */
struct mcp_http_stream {
    struct list link;
    struct mcp_http_client *client;
    uint64_t origin;           /* 0: the session's own */
    struct exchange *exchange; /* until its response has begun as a stream, or is sent */
    struct sse_stream *sse;    /* from then on; both NULL if the client is not connected */
    bool is_batch;
    bool is_cancelled; /* the client wants no answer, and gets none */
    bool opens_session;
    uint64_t event; /* number of the last one */
    uint64_t seen;  /* number of the last one written to a connection */
};

/* http_headers.c */

/* Empty if missing. */
struct str mcp_http_header(const struct exchange *exchange, struct str name);
/* Whether it was sent more than once, which makes it ambiguous. */
bool mcp_http_is_repeated(const struct exchange *exchange, struct str name);
/* Checks the headers of a modern request: a proxy that decides by them must see what we see. */
int mcp_http_check_headers(const struct mcp_http *http, const struct exchange *exchange,
                           const struct mcp_message *message, struct err *err);

/* http_client.c */

int mcp_http_client_new(struct mcp_http *http, bool is_modern, struct str principal,
                        struct mcp_http_client **out_client);
/* NULL if there is none, or it belongs to another principal. */
struct mcp_http_client *mcp_http_client_find(struct mcp_http *http, struct str id,
                                             struct str principal);
/* Makes it findable. */
int mcp_http_client_publish(struct mcp_http_client *client);
void mcp_http_client_use(struct mcp_http_client *client);
/* Ends its streams now, and the client itself when no callback of its session is running. */
void mcp_http_client_finish(struct mcp_http_client *client);
/*
 * Frees finished clients and ends complete streams; not from inside a callback of a session. For
 * this and the next one `data` is the endpoint.
 */
void mcp_http_reap(void *data);
void mcp_http_expire_idle(void *data);

/* http_stream.c */

/* Always takes the exchange: without memory it is answered. */
int mcp_http_stream_new(struct mcp_http_client *client, uint64_t origin, struct exchange *exchange,
                        struct mcp_http_stream **out_stream);
/* Ends it if still connected. */
void mcp_http_stream_free(struct mcp_http_stream *stream);
struct mcp_http_stream *mcp_http_stream_find(struct mcp_http_client *client, uint64_t origin);

/* mcp_host.send, whose `data` is the client: sends one message to where it belongs. */
void mcp_http_send(void *data, const struct mcp_outgoing *about, const struct str *parts,
                   size_t count);

/* Turns the response into a stream of events, starting with one that the client can resume from. */
int mcp_http_stream_begin(struct mcp_http_stream *stream);
/* Ends the connection regularly. */
void mcp_http_stream_end(struct mcp_http_stream *stream);
/* Ends the streams that are complete. */
void mcp_http_streams_settle(struct mcp_http_client *client);

/* GET: the session's own stream, or the events after the one that the client names. */
void mcp_http_resume(struct mcp_http_client *client, struct exchange *exchange, struct str event);
void mcp_http_forget_events(struct mcp_http_client *client);

/* Sends a JSON-RPC error without an id. */
void mcp_http_refuse(struct exchange *exchange, int status, int error, const char *words);

#endif
