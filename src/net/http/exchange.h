/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request and its answer, as a handler sees them.
 *
 *     static void hello(void *data, struct exchange *exchange)
 *     {
 *         const struct str body = STR("{\"hello\":\"world\"}\n");
 *         exchange_answer(exchange, &(struct http_answer){
 *             .status = 200, .type = STR("application/json"), .parts = &body, .part_count = 1});
 *     }
 *
 * The server passes the exchange to the handler when the head was read. The handler may request the
 * body, and answers at once or later: whole, or in pieces. Further requests of the same connection
 * wait; those of other connections do not.
 *
 * An exchange lives until its answer is complete: exchange_answer(), exchange_end() or
 * exchange_cut(). If the client leaves before that, on_gone is called, if set, and the exchange
 * ends; without on_gone, the handler may still answer, and the answer is dropped. Freeing the
 * server ends all exchanges.
 */
#ifndef NET_HTTP_EXCHANGE_H
#define NET_HTTP_EXCHANGE_H

#include <sys/types.h>

#include "base/str.h"
#include "net/address.h"
#include "net/http/http.h"

struct exchange;

/* Most parts of an answer's body, or of a piece of it. */
enum { EXCHANGE_MAX_PARTS = 12 };

/* ---- the request ---- */

/* Valid until the answer is complete or exchange_begin() was called. */
const struct http_request *exchange_request(const struct exchange *exchange);

const struct address *exchange_peer(const struct exchange *exchange);

/* User of the process that connected, for a Unix socket; ERR_UNSUPPORTED for any other. */
int exchange_peer_uid(const struct exchange *exchange, uid_t *out_uid);

/*
 * Marks the connection, for a check that a handler needs to do once; later requests see the mark.
 * The server does not close it to make room for others (httpserver_config.max_unmarked).
 */
void exchange_mark_connection(struct exchange *exchange);
bool exchange_is_connection_marked(const struct exchange *exchange);

typedef void exchange_handler(void *data, struct exchange *exchange);

/*
 * Requests the whole body, in exchange_request()->body. on_complete is called when it was read,
 * maybe inside this call; a request without a body has an empty one. A body larger than max_bytes
 * is answered with 413, and on_complete is never called; nor is it if the client leaves.
 */
void exchange_collect(struct exchange *exchange, size_t max_bytes, exchange_handler *on_complete,
                      void *data);

/*
 * Some bytes of the body, or of what follows an upgrade, invalid after it returns; `data` is that
 * of exchange_watch(). May answer, end or cut the exchange.
 */
typedef void exchange_piece(void *data, struct str bytes);

/*
 * Requests the body in pieces, of max_bytes together; call exchange_watch() before, whose on_gone
 * tells if it will not be complete. on_complete is called at the end, maybe inside this call. The
 * handler may answer earlier: then no more pieces come.
 */
void exchange_stream(struct exchange *exchange, uint64_t max_bytes, exchange_piece *on_piece,
                     exchange_handler *on_complete, void *data);

/* No more pieces, except for at most CONN_READ_BYTES that were read already; or again. */
void exchange_hold_pieces(struct exchange *exchange);
void exchange_take_pieces(struct exchange *exchange);

/* ---- the client ---- */

struct exchange_events {
    /*
     * Called once, before the answer was complete: the client left, or was disconnected because it
     * was too slow. The exchange is freed when this returns.
     */
    void (*on_gone)(void *data);
    /* All pieces written so far were sent. May be NULL. */
    void (*on_drained)(void *data);
};

void exchange_watch(struct exchange *exchange, const struct exchange_events *events, void *data);

/* ---- the answer ---- */

/*
 * The server adds Date, Connection and the header for the length. A field that would break the head
 * (a newline in its value, or one of those names) makes it a 500.
 */
struct http_answer {
    int status;
    struct str type; /* Content-Type; may be empty */
    const struct http_field *fields;
    size_t field_count;
    const struct str *parts; /* the body, concatenated */
    size_t part_count;
    bool is_last; /* close the connection afterwards; for whole answers */
};

/*
 * Sends the whole answer, in one write if the client takes it. HEAD omits the body automatically.
 */
void exchange_answer(struct exchange *exchange, const struct http_answer *answer);

/* Answers with an error of the table: its HTTP status, and its name and text as JSON. */
void exchange_answer_error(struct exchange *exchange, int error);

/*
 * Sends the head of an answer whose body follows in pieces. The request becomes invalid. Does not
 * call on_gone from inside.
 */
void exchange_begin(struct exchange *exchange, const struct http_answer *head);

/*
 * Sends one piece, all of it or nothing: ERR_TOO_LARGE if the client is too slow. Pieces for a
 * client that is gone are dropped, which on_gone reports; so are those of HEAD.
 */
int exchange_write(struct exchange *exchange, const struct str *parts, size_t count);

/*
 * Answers 101: the connection is the handler's from now on, which has called exchange_watch().
 * `lines` are headers with their line ends, Upgrade and Connection among them. Bytes of the client
 * go to on_piece, never from inside this call; exchange_write() sends bytes as they are,
 * exchange_end() and exchange_cut() close. ERR_INVALID_ARGUMENT, without an answer, for a request
 * with a body.
 */
int exchange_upgrade(struct exchange *exchange, struct str lines, exchange_piece *on_piece);

/* Bytes of the answer that the client has not read. */
size_t exchange_kept(const struct exchange *exchange);

void exchange_end(struct exchange *exchange);

/* Closes the connection so that the client notices the incomplete answer. Does not call on_gone. */
void exchange_cut(struct exchange *exchange);

#endif
