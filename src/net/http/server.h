/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP/1.1 server on a socket that listens already: address_listen() opens one, and a process
 * that confines itself does so before. It reads requests strictly (httpparse), hands each one as an
 * exchange to one handler, usually router_handle(), and cuts off whoever is too slow, too large or
 * too many. TLS is a filter that the caller brings.
 *
 * Nothing here waits for a client, and what a client costs does not grow with their number.
 */
#ifndef NET_HTTP_SERVER_H
#define NET_HTTP_SERVER_H

#include <stdint.h>

#include "loop/loop.h"
#include "net/address.h"
#include "net/conn.h"
#include "net/http/exchange.h"

struct httpserver;

/* What a zero in the configuration stands for. */
enum {
    HTTPSERVER_MAX_CONNECTIONS = 4096,
    HTTPSERVER_MAX_PER_ADDRESS = 1024,
    HTTPSERVER_MAX_KEPT_BYTES = 16 << 20,
    HTTPSERVER_MAX_COLLECTED_BYTES = 256 << 20,
    HTTPSERVER_HEAD_MS = 10000,
    HTTPSERVER_BODY_WINDOW_MS = 10000,
    HTTPSERVER_BODY_WINDOW_BYTES = 4 << 10,
    HTTPSERVER_IDLE_MS = 65000,
    HTTPSERVER_SEND_WINDOW_MS = 30000,
    HTTPSERVER_SEND_WINDOW_BYTES = 4 << 10,
    HTTPSERVER_LINGER_MS = 2000,
};

/* One line of an access log; the views are gone when the callback returns. */
struct http_access {
    const struct address *peer;
    struct str method; /* empty when the request was refused before it was read */
    struct str target; /* cut to some bytes for an answer that came in pieces */
    int status;        /* 0 when nothing was answered */
    bool is_complete;  /* the whole answer went out */
    uint64_t sent_bytes;
    int64_t took_ms; /* from the head to the end of the answer */
};

struct httpserver_config {
    exchange_handler *on_request;
    void *data;
    /* For each finished request, or NULL. */
    void (*on_access)(void *data, const struct http_access *access);
    /* A filter for a new connection (TLS), or NULL when there is none. ERR_* refuses it. */
    int (*make_filter)(void *data, struct filter **out_filter);
    /* Shared with others of the loop, or NULL for one of its own. */
    struct conn_space *space;

    unsigned max_connections;
    unsigned max_per_address; /* of IPv6 the first 64 bits count */
    size_t max_kept_bytes; /* of a connection's answers that it does not take; so, of one answer */
    /* Of the bodies that are collected, all connections together; small ones always are: 503. */
    size_t max_collected_bytes;
    int64_t head_ms;          /* from the first byte of a head to its last */
    int64_t body_window_ms;   /* in each so many ms of a body ... */
    size_t body_window_bytes; /* ... at least so many bytes come */
    int64_t idle_ms;          /* between two requests */
    int64_t send_window_ms;   /* in each so many ms a client for which bytes wait ... */
    size_t send_window_bytes; /* ... takes all of them, or at least so many */
    int64_t linger_ms;        /* for the client to read the last answer before the end */
};

/* The listening socket becomes the server's, also on failure. */
int httpserver_new(struct loop *loop, int listen_fd, const struct httpserver_config *config,
                   struct httpserver **out_server);

/* Ends everything at once. Handlers are told by on_gone; every other exchange is just gone. */
void httpserver_free(struct httpserver *server);

/*
 * Accepts nothing more, closes idle connections, lets answers under way finish and cuts off what is
 * left after within_ms. on_finished comes last, once, and may free the server.
 */
void httpserver_shutdown(struct httpserver *server, int64_t within_ms,
                         void (*on_finished)(void *data), void *data);

/*
 * Cuts off the clients that have not taken send_window_bytes of what waits for them in the last
 * so many ms, for whoever needs the room sooner than send_window_ms would make it.
 */
void httpserver_shed(struct httpserver *server, int64_t stalled_ms);

/*
 * Cuts off all clients but those whose handler has an answer to give yet and watches them: nothing
 * that any other has sent so far is read.
 */
void httpserver_cut_unwatched(struct httpserver *server);

struct httpserver_stats {
    size_t connections;
    size_t kept_bytes; /* of answers that clients do not take; others of the same space included */
    size_t collected_bytes; /* of bodies that come, or are handled */
    uint64_t accepted;
    uint64_t turned_away; /* too many in total, or from one address */
    uint64_t requests;    /* whose head was good */
    uint64_t refused;     /* which were malformed, too large or too slow */
};

void httpserver_stats(const struct httpserver *server, struct httpserver_stats *out_stats);

#endif
