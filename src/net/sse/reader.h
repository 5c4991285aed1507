/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events out of a text/event-stream that comes in pieces, by the rules of the
 * WHATWG HTML standard. How the bytes come and when to connect again is the
 * caller's business, and so is whether they are UTF-8: they are handed on as
 * they came.
 */
#ifndef NET_SSE_READER_H
#define NET_SSE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* The views live until the callback returns. */
struct sse_event {
    struct str type; /* "message" where the stream named none */
    struct str data;
    struct str last_id; /* also of an earlier event; empty when there was none */
};

struct sse_handler {
    void (*event)(void *data, const struct sse_event *event);
    /* How long to wait before connecting again; may be NULL. */
    void (*retry)(void *data, int64_t delay_ms);
    void *data;
};

/* A line that names a field, and the data of one event. Comments may be of any length. */
struct sse_limits {
    size_t max_line_bytes;
    size_t max_event_bytes;
};

/* Names of events and ids are short, whatever the lines may be. */
enum { SSE_MAX_NAME_BYTES = 1024 };

/* A retry beyond this is taken for this: a day. */
enum { SSE_MAX_RETRY_MS = 24 * 60 * 60 * 1000 };

/* Where in a line the next byte stands. */
enum sse_place {
    SSE_BOM,     /* at the start of all, where a byte order mark may be */
    SSE_LINE,    /* in a line, or before its first byte */
    SSE_COMMENT, /* in a line that nobody reads */
};

struct sse_reader {
    enum sse_place place;
    bool after_cr; /* an LF now is the second half of a line's end */
    int failure;
    size_t bom_len;  /* bytes of the mark that came */
    struct buf line; /* what came of a line whose end has not */
    struct buf type; /* of the event that is under way, like the next two */
    struct buf data; /* with an LF behind each line */
    struct buf id;   /* becomes last_id at the event's end */
    struct buf last_id;
};

void sse_reader_init(struct sse_reader *reader, const struct sse_limits *limits);
void sse_reader_done(struct sse_reader *reader);

/* A new connection: what was begun is dropped, the last id stays. */
void sse_reader_restart(struct sse_reader *reader);

/*
 * ERR_TOO_LARGE over a limit, ERR_NO_MEMORY; after that the same code until a
 * restart, since what follows would be taken for something else. The handler
 * may not call the reader.
 */
int sse_reader_feed(struct sse_reader *reader, struct str bytes, const struct sse_handler *handler);

#endif
