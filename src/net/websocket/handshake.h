/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an HTTP connection becomes a WebSocket, on both sides: from the headers of
 * a request to those of its answer. Reading and writing HTTP is left to others,
 * and so is the question whether the origin may connect at all.
 */
#ifndef NET_WEBSOCKET_HANDSHAKE_H
#define NET_WEBSOCKET_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { WSHANDSHAKE_KEY_CHARS = 24, WSHANDSHAKE_ACCEPT_CHARS = 28 };

struct wshandshake_header {
    struct str name;
    struct str value;
};

struct wshandshake_request {
    struct str method;
    bool is_http11; /* or later */
    const struct wshandshake_header *headers;
    size_t header_count;
};

/* What stands in the answer 101. */
struct wshandshake_answer {
    char accept[WSHANDSHAKE_ACCEPT_CHARS + 1];
    struct str protocol; /* one of the server's; empty when none was agreed on */
};

/*
 * The server's side. `protocols` are those that it speaks; the client's first
 * that is among them is taken. ERR_WS_HANDSHAKE, or ERR_WS_VERSION, which wants
 * "Sec-WebSocket-Version: 13" in the refusal.
 */
int wshandshake_accept(const struct wshandshake_request *request, const struct str *protocols,
                       size_t protocol_count, struct wshandshake_answer *out_answer,
                       struct err *err);

/* The answer's headers as lines, without the empty one behind them. */
int wshandshake_write_answer(const struct wshandshake_answer *answer, struct buf *out_lines);

/* The client's side: a key for each connection, terminated. */
void wshandshake_make_key(char out_key[WSHANDSHAKE_KEY_CHARS + 1]);

/* The request's headers as lines; they come behind Host and the caller's own. */
int wshandshake_write_request(const char *key, const struct str *protocols, size_t protocol_count,
                              struct buf *out_lines);

/* Whether the server agreed: `out_protocol` is one of ours, or empty. */
int wshandshake_check(int status, const struct wshandshake_header *headers, size_t header_count,
                      const char *key, const struct str *protocols, size_t protocol_count,
                      struct str *out_protocol, struct err *err);

#endif
