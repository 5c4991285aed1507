/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request and its answer, as a handler sees them.
 *
 *     static void hello(void *data, struct exchange *exchange)
 *     {
 *         const struct str body = STR("{\"hello\":\"world\"}\n");
 *
 *         exchange_answer(exchange, &(struct http_answer){
 *             .status = 200, .type = STR("application/json"), .parts = &body, .part_count = 1});
 *     }
 *
 * The server gives the exchange when the head has come. The handler asks for the body or does not,
 * and answers at once or later: whole, or piece by piece. Other requests of the same connection
 * wait; those of other connections do not.
 *
 * An exchange lives until its answer is complete: exchange_answer(), exchange_end() or
 * exchange_cut(). A handler that sets on_gone is told when the client leaves before that, which
 * ends the exchange too; one that does not may answer a client that has gone, and nobody hears it.
 * Freeing the server ends all.
 */
#ifndef NET_HTTP_EXCHANGE_H
#define NET_HTTP_EXCHANGE_H

#include <sys/types.h>

#include "base/str.h"
#include "net/address.h"
#include "net/http/http.h"

struct exchange;

/* The body of an answer, or of a piece of one, has at most so many parts. */
enum { EXCHANGE_MAX_PARTS = 12 };

/* ---- the request ---- */

/* Valid until the answer is complete or exchange_begin() was called. */
const struct http_request *exchange_request(const struct exchange *exchange);

const struct address *exchange_peer(const struct exchange *exchange);

/* Whose process connected, of a Unix socket; ERR_UNSUPPORTED for any other. */
int exchange_peer_uid(const struct exchange *exchange, uid_t *out_uid);

/* For what a handler finds out once: a mark that later requests of the connection carry, too. */
void exchange_mark_connection(struct exchange *exchange);
bool exchange_is_connection_marked(const struct exchange *exchange);

typedef void exchange_handler(void *data, struct exchange *exchange);

/*
 * Asks for the whole body, in exchange_request()->body. on_complete comes when it is there, maybe
 * inside this call; a request without a body has an empty one. One that is larger than max_bytes is
 * answered with 413 and on_complete never called; nor is it when the client leaves.
 */
void exchange_collect(struct exchange *exchange, size_t max_bytes, exchange_handler *on_complete,
                      void *data);

struct exchange_body_events {
    /* Some bytes, which are gone when it returns. */
    void (*on_bytes)(void *data, struct str bytes);
    /* The body was complete and well-formed. If it is not, on_gone comes instead. */
    void (*on_complete)(void *data);
};

/* Asks for the body as it comes, however long. The handler also sets on_gone. */
void exchange_stream_body(struct exchange *exchange, const struct exchange_body_events *events,
                          void *data);

/* For a body that comes too fast; what has been read already still comes. */
void exchange_pause_body(struct exchange *exchange, bool is_paused);

/* ---- the client ---- */

struct exchange_events {
    /*
     * Once, before the answer was complete: the client left, or was cut off because it was too
     * slow. The exchange is gone when this returns.
     */
    void (*on_gone)(void *data);
    /* All pieces written so far have left. May be NULL. */
    void (*on_drained)(void *data);
};

void exchange_watch(struct exchange *exchange, const struct exchange_events *events, void *data);

/* ---- the answer ---- */

/*
 * The server adds Date, Connection and what tells the length. A field that would break the head (a
 * line's end in its value, one of those names) makes it a 500.
 */
struct http_answer {
    int status;
    struct str type; /* Content-Type; may be empty */
    const struct http_field *fields;
    size_t field_count;
    const struct str *parts; /* the body, one part behind the other */
    size_t part_count;
    bool is_last; /* the connection ends with it; of a whole answer */
};

/* The whole answer, in one write if the client takes it. HEAD leaves out the body by itself. */
void exchange_answer(struct exchange *exchange, const struct http_answer *answer);

/* An error of the table: its HTTP status, and its name and text as JSON. */
void exchange_answer_error(struct exchange *exchange, int error);

/*
 * The head of an answer whose body follows in pieces. The request is forgotten. Nobody is told from
 * inside it that the client is gone.
 */
void exchange_begin(struct exchange *exchange, const struct http_answer *head);

/*
 * One piece, all of it or nothing: ERR_TOO_LARGE when the client is too slow to take it. Pieces for
 * a client that is gone are dropped, which on_gone has told or will tell; so are those of HEAD.
 */
int exchange_write(struct exchange *exchange, const struct str *parts, size_t count);

/* Bytes of the answer that the client has not taken. */
size_t exchange_kept(const struct exchange *exchange);

void exchange_end(struct exchange *exchange);

/* Ends the connection so that the client sees that the answer is not complete. No on_gone. */
void exchange_cut(struct exchange *exchange);

#endif
