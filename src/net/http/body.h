/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a message of HTTP/1, request or answer, cut out of the bytes by two readers: this one
 * and llhttp. For httpparse and httpresponse, which read the head.
 */
#ifndef NET_HTTP_BODY_H
#define NET_HTTP_BODY_H

#include <llhttp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum httpbody_framing {
    HTTPBODY_LENGTH,
    HTTPBODY_CHUNKED,
    HTTPBODY_UNTIL_END, /* of the connection: answers only */
};

/*
 *   IDENTITY ---------------------> COMPLETE
 *   CHUNK_LINE <-> CHUNK_DATA           |
 *       `-------> TRAILER --------------'
 *   OPEN, until the connection ends
 */
enum httpbody_state {
    HTTPBODY_IDENTITY,
    HTTPBODY_CHUNK_LINE,
    HTTPBODY_CHUNK_DATA,
    HTTPBODY_TRAILER,
    HTTPBODY_OPEN,
    HTTPBODY_COMPLETE,
};

struct httpbody {
    llhttp_t llhttp;
    enum httpbody_state state;
    bool has_none;     /* whatever the head says: an answer to HEAD, say */
    bool has_finished; /* llhttp says so */
    bool keeps_alive;
    size_t line_at;   /* where the line under way begins in `lines` */
    uint64_t left;    /* of the body, or of the chunk and its CRLF */
    struct buf lines; /* a chunk's line, or trailers; only what came in pieces */
    void (*on_body)(void *data, struct str bytes);
    void *data;
};

void httpbody_init(struct httpbody *body);
/* Also before the next message. */
void httpbody_done(struct httpbody *body);

/*
 * Appends up to and with the LF that ends the line under way; `max` bytes must hold one. 1 when the
 * line is whole, 0 when more must come.
 */
int httpbody_take_line(struct buf *to, size_t line_at, size_t max, int too_long, struct str *bytes);

/* The whole head, once it was found good, for llhttp. */
int httpbody_read_head(struct httpbody *body, llhttp_type_t type, struct str head, bool has_none);

/* There is a body, and so it is framed. */
void httpbody_begin(struct httpbody *body, enum httpbody_framing framing, uint64_t length);

/* 1 when there may be more to do with the bytes at hand, 0 when not, or an ERR_HTTP_* code. */
int httpbody_step(struct httpbody *body, struct str *bytes);
bool httpbody_is_complete(const struct httpbody *body);

#endif
