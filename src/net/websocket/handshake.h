/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The WebSocket handshake over HTTP, on both sides: from the headers of a request to those of its
 * answer. Parsing and writing HTTP, and checking the origin, is left to others.
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

/* For the 101 answer. */
struct wshandshake_answer {
    char accept[WSHANDSHAKE_ACCEPT_CHARS + 1];
    struct str protocol; /* one of the server's; empty if none was negotiated */
};

/*
 * Server side. `protocols` are those that it supports; the client's first one among them is used.
 * ERR_WS_HANDSHAKE, or ERR_WS_VERSION, whose answer needs "Sec-WebSocket-Version: 13".
 */
int wshandshake_accept(const struct wshandshake_request *request, const struct str *protocols,
                       size_t protocol_count, struct wshandshake_answer *out_answer,
                       struct err *err);

/* Writes the answer's headers as lines, without the final empty one. */
int wshandshake_write_answer(const struct wshandshake_answer *answer, struct buf *out_lines);

/* Client side: makes a NUL-terminated key for each connection. */
void wshandshake_make_key(char out_key[WSHANDSHAKE_KEY_CHARS + 1]);

/* Writes the request's headers as lines; they follow Host and the caller's own. */
int wshandshake_write_request(const char *key, const struct str *protocols, size_t protocol_count,
                              struct buf *out_lines);

/* Whether the server agreed: `out_protocol` is one of ours, or empty. */
int wshandshake_check(int status, const struct wshandshake_header *headers, size_t header_count,
                      const char *key, const struct str *protocols, size_t protocol_count,
                      struct str *out_protocol, struct err *err);

#endif
