/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP/1.1 server on a listening socket: address_listen() opens one, before the process is
 * confined. It parses requests strictly (httpparse), passes each one as an exchange to one handler,
 * usually router_handle(), and disconnects clients that are too slow, too large or too many. TLS is
 * a filter provided by the caller.
 *
 * Nothing here blocks on a client, and the cost of a client does not grow with their number.
 */
#ifndef NET_HTTP_SERVER_H
#define NET_HTTP_SERVER_H

#include <stdint.h>

#include "base/log.h"
#include "loop/loop.h"
#include "net/address.h"
#include "net/conn.h"
#include "net/http/exchange.h"

struct httpserver;

/* The defaults, for a zero in the configuration. */
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

/* One line of an access log; the strings are invalid after the callback returns. */
struct http_access {
    const struct address *peer;
    /* NULL if it is not in memory any more, or never was. */
    const struct http_request *request;
    struct str method; /* empty if the request was refused before it was parsed */
    struct str target; /* shortened for an answer that was sent in pieces */
    int status;        /* 0 without an answer */
    bool is_complete;  /* the whole answer was sent */
    uint64_t sent_bytes;
    int64_t took_ms; /* from the head to the end of the answer */
};

/* Writes the line, at level info. Without the query, which may contain a key. */
void http_access_log(const struct http_access *access, const struct log *log);

struct httpserver_config {
    exchange_handler *on_request;
    void *data;
    /* Called for each finished request; or NULL. */
    void (*on_access)(void *data, const struct http_access *access);
    /*
     * Writes the body of an error in the form of the API that a path belongs to; `path` is empty if
     * the head was not understood. ERR_* leaves it to the server, as does NULL.
     */
    int (*write_error)(void *data, struct str path, int error, struct buf *out);
    /* Makes a filter for a new connection (TLS); or NULL. ERR_* refuses the connection. */
    int (*make_filter)(void *data, struct filter **out_filter);
    /* Shared with others on the loop, or NULL for its own. */
    struct conn_space *space;

    unsigned max_connections;
    /*
     * Of those, connections that no handler has marked (exchange_mark_connection()): with more, or
     * with max_connections, the oldest of them is closed for a new one. 0: none makes room.
     */
    unsigned max_unmarked;
    unsigned max_per_address; /* for IPv6 per /64 network */
    size_t max_kept_bytes;    /* unread answers of a connection, so also limits one answer */
    /* Collected bodies of all connections; small ones are always accepted; 503 beyond. */
    size_t max_collected_bytes;
    int64_t head_ms;          /* from the first byte of a head to its last */
    int64_t body_window_ms;   /* in each window of a body ... */
    size_t body_window_bytes; /* ... at least this many bytes must come */
    int64_t idle_ms;          /* between two requests */
    int64_t send_window_ms;   /* in each window, a client with pending bytes ... */
    size_t send_window_bytes; /* ... must read all of them, or at least this many */
    int64_t linger_ms;        /* for the client to read the last answer before closing */
};

/* The server takes ownership of the listening socket, even on failure. */
int httpserver_new(struct loop *loop, int listen_fd, const struct httpserver_config *config,
                   struct httpserver **out_server);

/* Ends everything at once. Handlers with on_gone are told; all other exchanges are just freed. */
void httpserver_free(struct httpserver *server);

/*
 * Accepts no more connections, closes idle ones, lets running answers finish and disconnects the
 * rest after within_ms. on_finished is called last, once, and may free the server.
 */
void httpserver_shutdown(struct httpserver *server, int64_t within_ms,
                         void (*on_finished)(void *data), void *data);

/*
 * Disconnects clients that have not read send_window_bytes of their pending bytes in the last
 * stalled_ms, for callers that need the memory before send_window_ms.
 */
void httpserver_shed(struct httpserver *server, int64_t stalled_ms);

/*
 * Disconnects all clients except those whose handler still has to answer and has set on_gone; input
 * of the others is not read any more.
 */
void httpserver_cut_unwatched(struct httpserver *server);

struct httpserver_stats {
    size_t connections;
    size_t kept_bytes;      /* unread by clients; includes others of the same space */
    size_t collected_bytes; /* of bodies being received or handled */
    uint64_t accepted;
    uint64_t turned_away; /* too many in total, or from one address, or made room */
    uint64_t requests;    /* with a valid head */
    uint64_t refused;     /* malformed, too large or too slow */
};

void httpserver_stats(const struct httpserver *server, struct httpserver_stats *out_stats);

#endif
