/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP/1.1 client on the loop, for few servers that are asked often: connections are kept for
 * the next request, answers are collected up to a limit or passed on as they come. It only talks to
 * servers that its policy allows, and follows no redirects. TLS is a filter provided by the caller,
 * so that programs without TLS link none.
 *
 * The server is considered hostile: everything it sends has a limit and a deadline.
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
    /* The defaults, for a zero in the configuration. */
    HTTPCLIENT_MAX_CONNECTIONS = 16,
    HTTPCLIENT_MAX_CALLS = 1024,
    HTTPCLIENT_MAX_HELD_BYTES = 128 << 20,
    HTTPCLIENT_MAX_ANSWER_BYTES = 1 << 20,
    HTTPCLIENT_CONNECT_MS = 15000,
    HTTPCLIENT_HEAD_MS = 60000,
    HTTPCLIENT_IDLE_MS = 30000,
    /* Less than the five seconds after which many servers close. */
    HTTPCLIENT_KEEP_MS = 4000,
};

struct httpclient_config {
    /* Whether it may connect to this server; all others are refused. */
    bool (*may_reach)(void *data, const struct httpurl *url);
    /* Makes a filter for a connection to that host; NULL if only plain servers are used. */
    int (*make_filter)(void *data, struct str host, struct filter **out_filter, struct err *err);
    void *data;
    const struct httpproxies *proxies; /* borrowed; NULL: connect directly */
    dial_lookup_fn *lookup;            /* NULL: the system's resolver */
    struct conn_space *space;          /* shared with others on the loop, or NULL */
    unsigned max_connections;          /* further calls wait */
    unsigned max_calls;                /* ERR_BUSY beyond */
    size_t max_held_bytes;             /* of the bodies of all calls; ERR_BUSY beyond */
    int64_t keep_ms;                   /* how long an idle connection is kept */
};

int httpclient_new(struct loop *loop, const struct httpclient_config *config,
                   struct httpclient **out_client);

/* Ends all calls without callbacks. Must not be called from its own callbacks. */
void httpclient_free(struct httpclient *client);

struct httpclient_result {
    int code; /* 0 for a whole answer, whatever its status; else err.code */
    struct err err;
    const struct http_response *response; /* NULL if no head was received */
    struct str body;                      /* if collected */
    struct buf *sent; /* the request's body, to send it again: may be moved away */
};

struct httpclient_events {
    /* The head was received; may cancel the call. May be NULL. */
    void (*on_head)(void *data, const struct http_response *response);
    /* Some of the body, which is invalid after it returns; may cancel. NULL: it is collected. */
    void (*on_bytes)(void *data, struct str bytes);
    /* Called last, once; the strings are invalid after it returns. */
    void (*on_done)(void *data, const struct httpclient_result *result);
};

struct httpclient_request {
    enum http_method method;
    const struct httpurl *url;       /* its path is put before the target */
    struct str target;               /* "/events?x=y", as sent */
    const struct http_field *fields; /* besides Host, Connection and the length */
    size_t field_count;
    struct buf *body; /* moved on success; NULL: none */
    /*
     * The request may be sent twice: a kept connection that the server has closed meanwhile is
     * replaced. Other requests get a new connection each.
     */
    bool may_repeat;
    size_t max_answer_bytes; /* of what is collected; ERR_TOO_LARGE beyond */
    int64_t connect_ms;      /* lookup, connection, proxy and TLS */
    int64_t head_ms;         /* from the request's last byte to the answer's head */
    int64_t idle_ms;         /* without a byte in either direction */
    int64_t whole_ms;        /* in total, including waiting; 0: unlimited */
};

struct httpclient_call;

/*
 * Starts a request; events come later, never from inside this. Fails at once with
 * ERR_SERVER_DENIED, ERR_BUSY, ERR_TOO_LARGE, ERR_INVALID_ARGUMENT or ERR_NO_MEMORY.
 */
int httpclient_send(struct httpclient *client, const struct httpclient_request *request,
                    const struct httpclient_events *events, void *data,
                    struct httpclient_call **out_call, struct err *err);

/* No event follows. Allowed in on_head and on_bytes; in on_done the call is already freed. */
void httpclient_cancel(struct httpclient_call *call);

#endif
