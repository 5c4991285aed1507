/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a front end and gatehouse-browser say to each other over their socket: JSON objects, each
 * after its length in four bytes. Both are from the same build on the same machine.
 *
 *     front end                                      gatehouse-browser
 *     {"call": N, "tool", "arguments", "page",       {"done": N, "isError", "result", "image"}
 *      "host", "agreed", "file", "own", …}
 *     {"cancel": N}                                  {"pages": [{"id", "url", "title", "active"}]}
 *     {"verdict": N, "allowed", "named"}             {"check": N, "host", "port", "agreed"}
 *     {"verdict": N, "allowed", "type", "data",      {"check": N, "file"}
 *      "why"}
 */
#ifndef BROWSER_WIRE_H
#define BROWSER_WIRE_H

#include "base/buf.h"
#include "base/str.h"

enum {
    BROWSER_MAX_MESSAGE = 192 << 20, /* a picture of a long page, as text */
    BROWSER_LENGTH_BYTES = 4,
};

/* The length of a message, as it goes before it. */
void browser_wire_length(size_t len, char out_bytes[BROWSER_LENGTH_BYTES]);

/* Cuts a stream into messages. */
struct browser_wire {
    struct buf bytes;
    size_t used; /* of them, by messages that were taken */
};

#define BROWSER_WIRE_INIT                                                                          \
    {                                                                                              \
        .bytes = BUF_INIT((size_t)BROWSER_MAX_MESSAGE + BROWSER_LENGTH_BYTES + (1 << 20))          \
    }

int browser_wire_feed(struct browser_wire *wire, struct str bytes);
/*
 * The next whole message, which is valid until bytes are fed; its text is empty if there is none.
 * ERR_TOO_LARGE: the stream is broken.
 */
int browser_wire_next(struct browser_wire *wire, struct str *out_message);
void browser_wire_done(struct browser_wire *wire);

#endif
