/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of MCP over HTTP share with each other alone.
 *
 *     http.c          who may come, what was sent, which era it is
 *     http_headers.c  headers that say what the message says
 *     http_client.c   sessions of the legacy era, and modern requests, which are their own
 *     http_stream.c   where a message of ours goes: an answer, a stream, the kept events
 */
#ifndef MCP_HTTP_INTERNAL_H
#define MCP_HTTP_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "loop/timer.h"
#include "mcp/http.h"
#include "net/sse/writer.h"

enum {
    MCP_HTTP_ID_LEN = 32, /* of a session: 190 bits */
    MCP_HTTP_EVENT_ID_BYTES = 48,
};

struct mcp_http {
    struct mcp_http_config config;
    struct mcp_host host; /* ours, around the program's */
    struct mcp_service *service;
    struct sse_hub *hub; /* of all streams: one rhythm of signs of life */

    struct map sessions;  /* by their id */
    struct list clients;  /* all; the one that was used last is last */
    struct list finished; /* to be freed when no callback of theirs is running */
    bool has_unsettled;   /* a client is */
    size_t stream_count;
    size_t event_bytes; /* kept for all clients */
    uint64_t last_origin;

    struct loop_task reap;
    struct timer questions; /* until one has waited too long for its answer */
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
    bool is_unsettled;            /* one of its streams may have nothing more to say */
    char id[MCP_HTTP_ID_LEN + 1]; /* legacy, else empty */
    struct str principal;
    int64_t used_ms;

    struct list streams;
    struct mcp_http_stream *standing; /* what belongs to no call; in `streams` too */

    /* Legacy: events that a client may come back for, the oldest first. */
    struct list events;
    size_t event_count;
    size_t event_bytes;
};

/* What belongs together: the request of one POST and all that is said about it, or the rest. */
struct mcp_http_stream {
    struct list link;
    struct mcp_http_client *client;
    uint64_t origin;           /* 0: the session's own */
    struct exchange *exchange; /* until its answer has begun as a stream, or is given */
    struct sse_stream *sse;    /* from then on; neither, when the client is not connected */
    bool is_batch;
    bool is_cancelled; /* the client wants no answer, and will get none */
    bool opens_session;
    uint64_t event; /* number of the last one */
    uint64_t seen;  /* of the last one that was written to a connection */
};

/* http_headers.c */

/* Empty when there is none. */
struct str mcp_http_header(const struct exchange *exchange, struct str name);
/* Whether it was sent more than once: then nobody can say which one is meant. */
bool mcp_http_is_repeated(const struct exchange *exchange, struct str name);
/* Of a modern request. What a relay in between decides by has to be what we decide by. */
int mcp_http_check_headers(const struct mcp_http *http, const struct exchange *exchange,
                           const struct mcp_message *message, struct err *err);

/* http_client.c */

int mcp_http_client_new(struct mcp_http *http, bool is_modern, struct str principal,
                        struct mcp_http_client **out_client);
/* NULL where there is none, or it is somebody else's. */
struct mcp_http_client *mcp_http_client_find(struct mcp_http *http, struct str id,
                                             struct str principal);
/* From now on it can be found. */
int mcp_http_client_publish(struct mcp_http_client *client);
void mcp_http_client_use(struct mcp_http_client *client);
/* Ends its streams now, and itself when no callback of its session is running. */
void mcp_http_client_finish(struct mcp_http_client *client);
/*
 * Frees those that are finished, ends what is complete; not from inside a callback of a session.
 * Of this and the next one `data` is the endpoint.
 */
void mcp_http_reap(void *data);
void mcp_http_expire_idle(void *data);

/* http_stream.c */

/* Takes the exchange in any case: without memory it is answered. */
int mcp_http_stream_new(struct mcp_http_client *client, uint64_t origin, struct exchange *exchange,
                        struct mcp_http_stream **out_stream);
/* Ends what is still connected. */
void mcp_http_stream_free(struct mcp_http_stream *stream);
struct mcp_http_stream *mcp_http_stream_find(struct mcp_http_client *client, uint64_t origin);

/* mcp_host.send, whose `data` is the client: one message to where it belongs. */
void mcp_http_send(void *data, const struct mcp_outgoing *about, const struct str *parts,
                   size_t count);

/* The answer becomes a stream of events, begun with one that can be come back to. */
int mcp_http_stream_begin(struct mcp_http_stream *stream);
/* The connection ends as it should. */
void mcp_http_stream_end(struct mcp_http_stream *stream);
/* Ends those on which nothing will be said any more. */
void mcp_http_streams_settle(struct mcp_http_client *client);

/* GET: the session's own stream, or what was said behind the event that the client names. */
void mcp_http_resume(struct mcp_http_client *client, struct exchange *exchange, struct str event);
void mcp_http_forget_events(struct mcp_http_client *client);

/* An error as JSON-RPC says it, without an id. */
void mcp_http_refuse(struct exchange *exchange, int status, int error, const char *words);

#endif
