/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a text/event-stream that comes in pieces, by the WHATWG HTML standard. Reading bytes and
 * reconnecting is up to the caller, as is checking UTF-8: bytes are passed on as they came.
 */
#ifndef NET_SSE_READER_H
#define NET_SSE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* The strings are valid until the callback returns. */
struct sse_received {
    struct str type; /* "message" if the stream named none */
    struct str data;
    struct str last_id; /* possibly of an earlier event; empty if there was none */
};

struct sse_handler {
    void (*event)(void *data, const struct sse_received *event);
    /* Time to wait before reconnecting; may be NULL. */
    void (*retry)(void *data, int64_t delay_ms);
    void *data;
};

/* Limits of a line with a field, and of the data of one event. Comments may have any length. */
struct sse_limits {
    size_t max_line_bytes;
    size_t max_event_bytes;
};

/* Names of events and ids are short, whatever the limit of a line. */
enum { SSE_MAX_NAME_BYTES = 1024 };

/* A larger retry is cut to this: a day. */
enum { SSE_MAX_RETRY_MS = 24 * 60 * 60 * 1000 };

/* Where the next byte belongs. */
enum sse_place {
    SSE_BOM,     /* at the very start, where a byte order mark may be */
    SSE_LINE,    /* in a line, or before its first byte */
    SSE_COMMENT, /* in a line that is ignored */
};

struct sse_reader {
    enum sse_place place;
    bool after_cr; /* an LF now belongs to the previous line end */
    int failure;
    size_t bom_len;  /* bytes of the mark received */
    struct buf line; /* incomplete line */
    struct buf type; /* of the present event, like the next two */
    struct buf data; /* with an LF after each line */
    struct buf id;   /* becomes last_id at the end of the event */
    struct buf last_id;
};

void sse_reader_init(struct sse_reader *reader, const struct sse_limits *limits);
void sse_reader_done(struct sse_reader *reader);

/* For a new connection: drops an incomplete event, keeps the last id. */
void sse_reader_restart(struct sse_reader *reader);

/*
 * ERR_TOO_LARGE over a limit, ERR_NO_MEMORY; then the same code until a restart, since the rest
 * would be misread. The handler must not call the reader.
 */
int sse_reader_feed(struct sse_reader *reader, struct str bytes, const struct sse_handler *handler);

#endif
