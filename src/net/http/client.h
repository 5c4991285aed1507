/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP/1.1 client on the loop, for few servers that are asked often: connections are kept for
 * the next request, answers are collected up to a ceiling or handed on as they come. It speaks only
 * with servers that its policy allows, and follows nobody who leads elsewhere. TLS is a filter that
 * the caller brings, so programs that speak plainly link none.
 *
 * The server is taken for hostile: whatever it sends has a ceiling, and it has to send in time.
 */
#ifndef NET_HTTP_CLIENT_H
#define NET_HTTP_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "loop/loop.h"
#include "net/conn.h"
#include "net/dial.h"
#include "net/http/proxy.h"
#include "net/http/response.h"
#include "net/http/url.h"

struct httpclient;

enum {
    HTTPCLIENT_MAX_BODY_BYTES = 16 << 20, /* of a request */
    HTTPCLIENT_MAX_TARGET_BYTES = 4 << 10,
    HTTPCLIENT_MAX_FIELDS = 16,
    /* What a zero in the configuration stands for. */
    HTTPCLIENT_MAX_CONNECTIONS = 16,
    HTTPCLIENT_MAX_CALLS = 1024,
    HTTPCLIENT_MAX_HELD_BYTES = 128 << 20,
    HTTPCLIENT_MAX_ANSWER_BYTES = 1 << 20,
    HTTPCLIENT_CONNECT_MS = 15000,
    HTTPCLIENT_HEAD_MS = 60000,
    HTTPCLIENT_IDLE_MS = 30000,
    /* Below the five seconds after which many servers close. */
    HTTPCLIENT_KEEP_MS = 4000,
};

struct httpclient_config {
    /* Whom it may ask; a server that this does not know is never connected to. */
    bool (*may_reach)(void *data, const struct httpurl *url);
    /* A filter for a connection to that host, or NULL where only plain servers are asked. */
    int (*make_filter)(void *data, struct str host, struct filter **out_filter, struct err *err);
    void *data;
    const struct httpproxies *proxies; /* borrowed; NULL: directly */
    dial_lookup_fn *lookup;            /* NULL: the system's */
    struct conn_space *space;          /* shared with others of the loop, or NULL */
    unsigned max_connections;          /* further calls wait for one */
    unsigned max_calls;                /* ERR_BUSY */
    size_t max_held_bytes;             /* of the bodies of all calls: ERR_BUSY */
    int64_t keep_ms;                   /* how long an idle connection waits for the next request */
};

int httpclient_new(struct loop *loop, const struct httpclient_config *config,
                   struct httpclient **out_client);

/* Ends all calls; nobody is told. Not from inside a callback of its own. */
void httpclient_free(struct httpclient *client);

struct httpclient_result {
    int code; /* 0 when there is a whole answer, whatever its status; else err.code */
    struct err err;
    const struct http_response *response; /* NULL where no head came */
    struct str body;                      /* when it was collected */
    struct buf *sent; /* the request's body, for who wants to send it again: may be moved away */
};

struct httpclient_events {
    /* The head has come; may cancel the call. May be NULL. */
    void (*on_head)(void *data, const struct http_response *response);
    /* Some of the body, which is gone when it returns; may cancel. NULL: it is collected. */
    void (*on_bytes)(void *data, struct str bytes);
    /* The last one, once; the views are gone when it returns. */
    void (*on_done)(void *data, const struct httpclient_result *result);
};

struct httpclient_request {
    enum http_method method;
    const struct httpurl *url;       /* whose path stands before the target */
    struct str target;               /* "/events?x=y", as it goes over the wire */
    const struct http_field *fields; /* besides Host, Connection and what tells the length */
    size_t field_count;
    struct buf *body; /* moved on success; NULL: none */
    /*
     * It does no harm twice: a kept connection that the server has closed meanwhile is replaced.
     * Others get a new connection each.
     */
    bool may_repeat;
    size_t max_answer_bytes; /* of what is collected; ERR_TOO_LARGE */
    int64_t connect_ms;      /* lookup, connection, proxy and TLS */
    int64_t head_ms;         /* from the request's last byte to the answer's head */
    int64_t idle_ms;         /* without a byte in either direction */
    int64_t whole_ms;        /* from now on, waiting included; 0: for ever */
};

struct httpclient_call;

/*
 * Begins a request; events come later, never from inside this. Fails at once with
 * ERR_SERVER_DENIED, ERR_BUSY, ERR_TOO_LARGE, ERR_INVALID_ARGUMENT or ERR_NO_MEMORY.
 */
int httpclient_send(struct httpclient *client, const struct httpclient_request *request,
                    const struct httpclient_events *events, void *data,
                    struct httpclient_call **out_call, struct err *err);

/* No event comes any more. Allowed in on_head and on_bytes; in on_done the call is gone already. */
void httpclient_cancel(struct httpclient_call *call);

struct httpclient_stats {
    unsigned connections; /* idle ones included */
    unsigned idle;
    unsigned calls; /* waiting ones included */
    unsigned waiting;
    uint64_t dialled;
};

void httpclient_stats(const struct httpclient *client, struct httpclient_stats *out_stats);

#endif
