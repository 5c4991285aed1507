/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies that go between a daemon and its gateway besides events: what the server says to init,
 * its words for an error, and the answer to a call in the shape that the call wants. No sockets, no
 * state.
 */
#ifndef GATEWAY_REPLY_H
#define GATEWAY_REPLY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/secret.h"
#include "gateway/event.h"

enum {
    /* The server takes no more: a longer answer would be lost. */
    GATEWAY_MAX_ANSWER_BYTES = 16 << 20,
    GATEWAY_MAX_REPLY_BYTES = 64 << 10, /* of the server's words to us */
    GATEWAY_ERROR_BYTES = 160,
};

/*
 * {"ok":true,"sessionKey":"..."}, also inside {"data":...}. ERR_GATEWAY_ANSWER for anything else. A
 * key must be one that a header can carry; *out_has_key is false when there is none.
 */
int gateway_init_parse(struct str body, struct secret *out_key, bool *out_has_key);

/*
 * The message of {"code":403,"message":"..."}, one line of printable text; empty when there is
 * none. A server may repeat what it was sent: the key, which can have any form, and what looks like
 * one are left out.
 */
void gateway_error_parse(struct str body, const struct secret *key,
                         char out_text[GATEWAY_ERROR_BYTES]);

/*
 * Appends the answer to a call. `result` is a CallToolResult as finished JSON; in the older shape
 * its structured content goes, or its text, or its error. ERR_TOO_LARGE when it is more than the
 * server takes, ERR_INVALID_JSON when it cannot be turned into that shape; nothing was appended.
 */
int gateway_answer_write(enum gateway_shape shape, struct str result, struct buf *out);

/* {"error":"..."}; what is no UTF-8 is replaced. */
int gateway_refusal_write(struct str text, struct buf *out);

#endif
