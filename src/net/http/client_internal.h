/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to the client: http/client.c (calls and their order), http/client_conn.c (life of a
 * connection) and http/client_head.c (format of a request).
 */
#ifndef NET_HTTP_CLIENT_INTERNAL_H
#define NET_HTTP_CLIENT_INTERNAL_H

#include "base/list.h"
#include "loop/timer.h"
#include "net/http/client.h"

/*
 *   DIALLING -> [TUNNEL] -> [SECURING] -> BUSY <-> IDLE
 *       `-----------`------------`---------`--------`---> CLOSED
 */
enum httpclient_link_state {
    LINK_DIALLING,
    LINK_TUNNEL,   /* the proxy was asked to connect */
    LINK_SECURING, /* waiting for the filter */
    LINK_BUSY,
    LINK_IDLE,
    LINK_CLOSED,
};

/* A connection to one origin. */
struct httpclient_link {
    struct conn conn; /* valid from TUNNEL, SECURING or BUSY on */
    struct list node; /* in client->links */
    struct httpclient *client;
    enum httpclient_link_state state;
    bool is_reused;
    bool may_keep; /* its answer was complete, and no extra bytes followed it */
    struct httpurl url;
    const struct httpproxy *proxy;
    struct dial *dial;
    struct httpresponse *parse;
    struct httpclient_call *call; /* NULL while idle */
    struct timer timer;           /* for an idle one */
};

enum httpclient_call_state {
    CALL_WAITING,    /* for a free connection */
    CALL_CONNECTING, /* has a connection that is not ready */
    CALL_SENDING,
    CALL_SENT,     /* waits for the head */
    CALL_ANSWERED, /* waits for the rest of the body */
};

struct httpclient_call {
    struct list node; /* in client->waiting or ->active */
    struct httpclient *client;
    enum httpclient_call_state state;
    struct httpclient_link *link;
    struct httpurl url;
    const struct httpproxy *proxy;
    enum http_method method;
    bool may_repeat;
    bool was_repeated;
    struct buf head; /* wiped after use: it contains keys */
    struct buf body;
    size_t held; /* bytes counted in held_bytes */
    size_t head_sent;
    size_t body_sent;
    struct buf answer;
    int64_t connect_ms;
    int64_t head_ms;
    int64_t idle_ms;
    struct timer phase;
    struct timer whole;
    struct err err;
    const struct httpclient_events *events;
    void *data;
};

struct httpclient {
    struct loop *loop;
    struct httpclient_config config;
    struct conn_space *space;
    struct dialer *dialer;
    struct list links;
    struct list waiting;
    struct list active;
    unsigned link_count;
    unsigned call_count;
    size_t held_bytes;
    uint64_t dialled;
};

/* http/client.c */

/* Assigns connections to waiting calls. */
void httpclient_pump(struct httpclient *client);
/* Ends the call and calls on_done; releases its link first. A message may be in call->err. */
void httpclient_call_finish(struct httpclient_call *call, int code);
/* Called by the connection as the response starts and continues. */
void httpclient_call_begin(struct httpclient_call *call);
void httpclient_call_send_more(struct httpclient_call *call);
void httpclient_call_on_head(struct httpclient_call *call, const struct http_response *response);
void httpclient_call_on_body(struct httpclient_call *call, struct str bytes);
/*
 * The server had closed the kept connection before it answered: sends the request again, if
 * allowed.
 */
bool httpclient_call_repeat(struct httpclient_call *call);
bool httpclient_call_is_sent(const struct httpclient_call *call);

/* http/client_conn.c */

int httpclient_link_new(struct httpclient *client, struct httpclient_call *call,
                        struct httpclient_link **out_link);
void httpclient_link_use(struct httpclient_link *link, struct httpclient_call *call);
/* Detaches the call: keeps the connection for the next one, or closes it. */
void httpclient_link_release(struct httpclient_link *link, bool may_keep);
void httpclient_link_close(struct httpclient_link *link);
int httpclient_link_send(struct httpclient_link *link, const struct str *parts, size_t count);

/* http/client_head.c */

/* Writes the request's head, for this proxy or none. */
int httpclient_head_write(const struct httpclient_request *request, const struct httpproxy *proxy,
                          struct buf *out, struct err *err);
/* CONNECT, for the proxy. */
int httpclient_head_write_tunnel(const struct httpurl *url, const struct httpproxy *proxy,
                                 struct buf *out);

#endif
