/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extracts the body of an HTTP/1 message, request or answer, with two parsers: this one and llhttp.
 * For httpparse and httpresponse, which parse the head.
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
    HTTPBODY_UNTIL_END, /* of the connection; answers only */
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
    bool has_none;     /* regardless of the head, as for an answer to HEAD */
    bool has_finished; /* by llhttp's account */
    bool keeps_alive;
    size_t line_at;   /* start of the present line in `lines` */
    uint64_t left;    /* of the body, or of the chunk and its CRLF */
    struct buf lines; /* a chunk's line, or trailers; only if they came in pieces */
    void (*on_body)(void *data, struct str bytes);
    void *data;
};

void httpbody_init(struct httpbody *body);
/* Also call before the next message. */
void httpbody_done(struct httpbody *body);

/*
 * Appends up to and including the LF of the present line, whose limit is `max` bytes. 1 if the line
 * is complete, 0 if more must come.
 */
int httpbody_take_line(struct buf *to, size_t line_at, size_t max, int too_long, struct str *bytes);

/* Passes the whole checked head to llhttp. */
int httpbody_read_head(struct httpbody *body, llhttp_type_t type, struct str head, bool has_none);

/* Starts a body with this framing. */
void httpbody_begin(struct httpbody *body, enum httpbody_framing framing, uint64_t length);

/* 1 if more can be done with the present bytes, 0 if not, or an ERR_HTTP_* code. */
int httpbody_step(struct httpbody *body, struct str *bytes);
bool httpbody_is_complete(const struct httpbody *body);

#endif
