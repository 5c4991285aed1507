/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the server, for its own files: http/server.c (listening, limits, the end),
 * http/conn.c (a connection from request to request) and exchange.c (what handlers call).
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
    SPARE_INCOMING = 64,          /* kept for the next requests */
    HELD_PAUSE_BYTES = 16 << 10,  /* of requests that wait for their turn, until reading stops */
    DISCARD_MAX_BYTES = 64 << 10, /* of a body nobody asked for; more costs the connection */
    SMALL_COLLECTED_BYTES = 64 << 10, /* of a body, which others do not keep from coming */
    TURN_REQUESTS = 32,               /* of one connection before others have their turn */
    LOGGED_TARGET_BYTES = 128,        /* kept of a target while its answer comes in pieces */
    SCRATCH_MAX_BYTES = 64 << 10,     /* of an answer's head */
};

/* A request while it is read and handled; not there while a connection idles or streams. */
struct incoming {
    struct httpparse *parse;
    struct buf body;
    bool is_wanted; /* the body, by one of the two below */
    size_t max_body;
    uint64_t body_bytes;
    size_t window_bytes; /* of the body, since its deadline was set */
    int error;           /* why no more of it is taken */
    exchange_handler *on_collected;
    const struct exchange_body_events *stream;
    void *data;
    struct incoming *next; /* spare one */
};

/*
 * What a connection does with its next bytes:
 *
 *   IDLE -> HEAD -> HANDLED <-> BODY -> HANDLED -> FLUSH -> IDLE ...
 *     `-------`--------`---------`---------`---------`----> LINGER -> CLOSED
 */
enum exchange_state {
    EXCHANGE_IDLE,
    EXCHANGE_HEAD,
    EXCHANGE_BODY,    /* wanted, or being thrown away behind its answer */
    EXCHANGE_HANDLED, /* bytes wait: for the handler to want the body, or for its answer */
    EXCHANGE_FLUSH,   /* the answer is complete and not yet taken */
    EXCHANGE_LINGER,  /* ours is said; what comes is thrown away */
    EXCHANGE_CLOSED,
};

enum answer_state { ANSWER_NONE, ANSWER_OPEN, ANSWER_DONE };

struct address_count {
    uint8_t key[ADDRESS_IP_BYTES];
    unsigned count;
};

struct exchange {
    struct conn conn;          /* first */
    struct httpserver *server; /* NULL when that went before */
    struct list node;          /* in server->exchanges */
    struct list turn;          /* in server->turns, when held bytes may go on */
    struct deadline deadline;
    struct address_count *from;
    struct incoming *incoming;
    struct buf held; /* bytes behind the request that is handled */
    const struct exchange_events *events;
    void *data;
    char *target; /* of an answer in pieces, for the log */
    uint64_t sent_bytes;
    int64_t began_ms;
    uint64_t seen_taken; /* by the client, when the window for sending began */
    struct address peer;
    uint16_t status;
    enum exchange_state state : 8;
    enum answer_state answer : 8;
    enum http_method method : 8;
    bool is_owed : 1;      /* the handler has it and has not answered */
    bool is_advancing : 1; /* further up the stack */
    bool is_complete : 1;  /* the request is, with its body */
    bool is_paused : 1;    /* the body, by its handler */
    bool is_chunked : 1;   /* the answer */
    bool has_no_body : 1;  /* the answer: HEAD, 204, 304 */
    bool is_http10 : 1;
    bool keeps_alive : 1;
    bool is_marked : 1;   /* the connection, by a handler */
    bool is_logged : 1;   /* there is nothing more to log */
    bool is_released : 1; /* libuv is done with the socket */
};

struct httpserver {
    struct loop *loop;
    struct httpserver_config config;
    struct conn_space *space;
    int listen_fd; /* -1 when it no longer listens */
    struct listener *listener;
    struct timer retry; /* accepting, when descriptors ran out */
    struct timer end;   /* of a shutdown */
    void (*on_finished)(void *data);
    void *finished_data;
    struct loop_task finish_task;
    bool is_closing;

    struct list exchanges;
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

    struct buf scratch; /* where heads of answers are put together */
    int64_t date_s;
    char date[HTTP_DATE_BYTES];
};

/* ---- http/server.c ---- */

struct incoming *httpserver_take_incoming(struct httpserver *server);
void httpserver_give_incoming(struct httpserver *server, struct incoming *incoming);

/* More of a body that its handler wants whole; ERR_BUSY when all of them have too much. */
int httpserver_collect(struct httpserver *server, struct incoming *incoming, struct str bytes);

/* The exchange leaves the server's lists and limits. */
void httpserver_forget(struct httpserver *server, struct exchange *exchange);

/* ---- http/conn.c ---- */

int httpconn_open(struct httpserver *server, int fd, const struct address *peer,
                  struct address_count *from);

/* Has httpconn_take_turn() called by the loop. */
void httpconn_ask_turn(struct exchange *exchange);

/* Goes on with held bytes, or with an end that could not be told on the spot. */
void httpconn_take_turn(struct exchange *exchange);

/* Something of the answer or of what is wanted has changed. The exchange may be gone after it. */
void httpconn_settle(struct exchange *exchange);

/* The last answer is given: lets the client read it, then closes. */
void httpconn_end(struct exchange *exchange);

/* It has an answer to get yet, and its handler wants to know when the client leaves. */
bool httpconn_is_watched(const struct exchange *exchange);

/* Before the answer is complete: the handler hears of it, once, if it wants to. */
void httpconn_tell_gone(struct exchange *exchange);

/* The request's memory goes back; not while it is read. */
void httpconn_release_incoming(struct exchange *exchange);

/* A piece went to the connection: it may be kept, or have found the connection broken. */
void httpconn_after_write(struct exchange *exchange);

/* Ends the connection now. The handler is told if it waits to be. */
void httpconn_cut(struct exchange *exchange);

void httpconn_expire_head(struct deadline *deadline);
void httpconn_expire_body(struct deadline *deadline);
void httpconn_expire_idle(struct deadline *deadline);
void httpconn_expire_send(struct deadline *deadline);
void httpconn_expire_linger(struct deadline *deadline);

/* ---- exchange.c ---- */

/* The answer to what could not be read, and the end. */
void exchange_refuse(struct exchange *exchange, int error);

#endif
