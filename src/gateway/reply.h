/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies of HTTP messages between a daemon and its gateway: the server's answer to init, its
 * error messages, and the answer to a call in the shape that the call requires. No sockets, no
 * state.
 */
#ifndef GATEWAY_REPLY_H
#define GATEWAY_REPLY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/secret.h"
#include "gateway/event.h"

enum {
    /* The server's limit: a longer answer would be lost. */
    GATEWAY_MAX_ANSWER_BYTES = 16 << 20,
    GATEWAY_MAX_REPLY_BYTES = 64 << 10, /* of the server's answers to us */
    GATEWAY_ERROR_BYTES = 160,
};

struct gateway_init_reply {
    struct secret key; /* of the session */
    bool has_key;
    bool has_extensions; /* the server is one of ours */
};

/*
 * Parses {"ok":true,"sessionKey":"..."}, also inside {"data":...}. ERR_GATEWAY_ANSWER for anything
 * else. The key must be valid in a header.
 */
int gateway_init_parse(struct str body, struct gateway_init_reply *out_reply);

/* The member by which both sides of the protocol say that they understand each other's extensions.
 */
#define GATEWAY_EXTENSIONS       "extensions"
#define GATEWAY_EXTENSIONS_VALUE "{\"gatehouse\":1}"

/*
 * The message of {"code":403,"message":"..."} as one line of printable text; empty if there is
 * none. A server may repeat what it was sent: the key, in whatever form, and what looks like a
 * secret are removed.
 */
void gateway_error_parse(struct str body, const struct secret *key,
                         char out_text[GATEWAY_ERROR_BYTES]);

/*
 * Appends the answer to a call. `result` is a CallToolResult as finished JSON; in the older shape
 * its structured content is sent, or its text, or its error. Appends nothing on ERR_TOO_LARGE (more
 * than the server accepts) and ERR_INVALID_JSON (cannot be converted to that shape).
 */
int gateway_answer_write(enum gateway_shape shape, struct str result, struct buf *out);

/* {"error":"..."}; invalid UTF-8 is replaced. */
int gateway_refusal_write(struct str text, struct buf *out);

#endif
