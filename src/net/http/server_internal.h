/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to the server: http/server.c (listening, limits, shutdown), http/conn.c (a connection
 * from request to request) and exchange.c (functions for handlers).
 */
#ifndef NET_HTTP_SERVER_INTERNAL_H
#define NET_HTTP_SERVER_INTERNAL_H

#include "base/map.h"
#include "loop/timer.h"
#include "net/conn.h"
#include "net/deadlines.h"
#include "net/http/parse.h"
#include "net/http/server.h"

enum {
    SPARE_INCOMING = 64,              /* kept for reuse */
    SPARE_BODY_BYTES = 16 << 10,      /* and this much of their bodies' memory */
    HELD_PAUSE_BYTES = 16 << 10,      /* of pipelined requests, before reading stops */
    DISCARD_MAX_BYTES = 64 << 10,     /* of a body nobody requested; more closes the connection */
    SMALL_COLLECTED_BYTES = 64 << 10, /* of a body; always accepted, whatever the total */
    TURN_REQUESTS = 32,               /* of one connection before others get a turn */
    LOGGED_TARGET_BYTES = 128,        /* kept of a target during an answer in pieces */
    SCRATCH_MAX_BYTES = 64 << 10,     /* of an answer's head */
};

/* A request while it is read and handled; NULL while a connection idles or streams. */
struct incoming {
    struct httpparse *parse;
    struct buf body;
    bool is_wanted;   /* the body, by on_collected */
    bool is_streamed; /* in pieces, by the exchange's on_piece; else collected */
    size_t max_body;
    uint64_t body_bytes;
    size_t window_bytes; /* of the body, since its deadline was set */
    int error;           /* why no more is accepted */
    exchange_handler *on_collected;
    void *data;
    struct incoming *next; /* in the list of spare ones */
};

/*
 * What a connection does with its next bytes:
 *
 *   IDLE -> HEAD -> HANDLED <-> BODY -> HANDLED -> FLUSH -> IDLE ...
 *     |       |        |-> RAW    |         |         |
 *     `-------`--------`--`-------`---------`---------`---> LINGER -> CLOSED
 */
enum exchange_state {
    EXCHANGE_IDLE,
    EXCHANGE_HEAD,
    EXCHANGE_BODY,    /* requested, or dropped after its answer */
    EXCHANGE_HANDLED, /* bytes wait until the handler requests the body, or answers */
    EXCHANGE_RAW,     /* upgraded: all bytes are the handler's */
    EXCHANGE_FLUSH,   /* the answer is complete but not fully sent */
    EXCHANGE_LINGER,  /* our side is finished; input is dropped */
    EXCHANGE_CLOSED,
};

enum answer_state { ANSWER_NONE, ANSWER_OPEN, ANSWER_DONE };

struct address_count {
    uint8_t key[ADDRESS_IP_BYTES];
    unsigned count;
};

struct exchange {
    struct conn conn;          /* first member */
    struct httpserver *server; /* NULL if freed before */
    struct list node;          /* in server->unmarked, later in server->exchanges */
    struct list turn;          /* in server->turns, if held bytes may be processed */
    struct deadline deadline;
    struct address_count *from;
    struct incoming *incoming;
    struct buf held; /* bytes after the present request */
    const struct exchange_events *events;
    void *data;
    exchange_piece *on_piece; /* of a body in pieces, or of what follows an upgrade */
    char *target;             /* of an answer in pieces, for the log */
    uint64_t sent_bytes;
    int64_t began_ms;
    uint64_t seen_taken; /* sent bytes when the send window began */
    struct address peer;
    uint16_t status;
    enum exchange_state state : 8;
    enum answer_state answer : 8;
    enum http_method method : 8;
    bool is_owed : 1;      /* the handler has it and has not answered */
    bool is_advancing : 1; /* a function further up the stack is processing it */
    bool is_complete : 1;  /* the request was read, with its body */
    bool is_chunked : 1;   /* the answer */
    bool has_no_body : 1;  /* of the answer: HEAD, 204, 304 */
    bool is_http10 : 1;
    bool keeps_alive : 1;
    bool is_marked : 1;   /* the connection, by a handler */
    bool is_unmarked : 1; /* in server->unmarked, until it is marked or only has to close */
    bool is_counted : 1;  /* against the limits of connections */
    bool is_logged : 1;   /* already logged */
    bool is_released : 1; /* libuv has released the socket */
    bool is_held_up : 1;  /* the handler takes no pieces now */
};

struct httpserver {
    struct loop *loop;
    struct httpserver_config config;
    struct conn_space *space;
    int listen_fd; /* -1 if it no longer listens */
    struct listener *listener;
    struct timer retry; /* of accept(), after running out of descriptors */
    struct timer end;   /* of a shutdown */
    void (*on_finished)(void *data);
    void *finished_data;
    struct loop_task finish_task;
    bool is_closing;

    struct list exchanges; /* all others */
    struct list unmarked;  /* connections without a mark, the oldest first */
    size_t unmarked_count;
    size_t counted; /* connections that the limit counts: all but those that only have to close */
    struct list turns;
    struct loop_task turn_task;
    struct map addresses;
    struct httpserver_stats stats;
    struct incoming *spare;
    size_t spare_count;

    struct deadlines deadlines;
    struct deadline_ring *head_ring;
    struct deadline_ring *body_ring;
    struct deadline_ring *idle_ring;
    struct deadline_ring *send_ring;
    struct deadline_ring *linger_ring;

    struct buf scratch; /* for building heads of answers */
    int64_t date_s;
    char date[HTTP_DATE_BYTES];
};

/* ---- http/server.c ---- */

struct incoming *httpserver_take_incoming(struct httpserver *server);
void httpserver_give_incoming(struct httpserver *server, struct incoming *incoming);

/* Adds to a body that its handler wants whole; ERR_BUSY over the total limit. */
int httpserver_collect(struct httpserver *server, struct incoming *incoming, struct str bytes);

/* From now on it does not make room for others. */
void httpserver_keep(struct httpserver *server, struct exchange *exchange);

/* It is closed, so another may have its place, unless a handler still works for it. */
void httpserver_uncount(struct httpserver *server, struct exchange *exchange);

/* Removes the exchange from the server's lists and limits. */
void httpserver_forget(struct httpserver *server, struct exchange *exchange);

/* ---- http/conn.c ---- */

int httpconn_open(struct httpserver *server, int fd, const struct address *peer,
                  struct address_count *from);

/* Makes the loop call httpconn_take_turn(). */
void httpconn_ask_turn(struct exchange *exchange);

/* After a 101: what follows is the handler's. */
void httpconn_make_raw(struct exchange *exchange);

/* Continues with held bytes, or with an end that could not be reported at once. */
void httpconn_take_turn(struct exchange *exchange);

/* Call when the answer or the requested input has changed. May free the exchange. */
void httpconn_settle(struct exchange *exchange);

/* After the last answer: lets the client read it, then closes. */
void httpconn_end(struct exchange *exchange);

/* Whether it is unanswered, and its handler wants to know if the client leaves. */
bool httpconn_is_watched(const struct exchange *exchange);

/* Before the answer is complete: calls the handler's on_gone, once, if set. */
void httpconn_tell_gone(struct exchange *exchange);

/* Releases the request's memory; not while it is read. */
void httpconn_release_incoming(struct exchange *exchange);

/* Call after a piece was sent: it may be kept, or the connection may be broken. */
void httpconn_after_write(struct exchange *exchange);

/* Closes the connection now. Calls the handler's on_gone if it waits for it. */
void httpconn_cut(struct exchange *exchange);

void httpconn_expire_head(struct deadline *deadline);
void httpconn_expire_body(struct deadline *deadline);
void httpconn_expire_idle(struct deadline *deadline);
void httpconn_expire_send(struct deadline *deadline);
void httpconn_expire_linger(struct deadline *deadline);

/* ---- exchange.c ---- */

/* Answers a request that could not be parsed, and closes. */
void exchange_refuse(struct exchange *exchange, int error);

#endif
