/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-sent events: answers that stay open and carry one event after the other. A hub holds the
 * streams that belong together; one timer of it keeps quiet ones alive with comments, and one event
 * can go to all of them. A client that does not read what is sent is cut off, so that it costs no
 * more than its ceiling. An idle stream holds its connection and about a hundred bytes.
 */
#ifndef NET_SSE_WRITER_H
#define NET_SSE_WRITER_H

#include <stdint.h>

#include "base/buf.h"
#include "loop/loop.h"
#include "net/http/exchange.h"

enum {
    SSE_KEEPALIVE_MS = 15000,
    SSE_MAX_KEPT_BYTES = 1 << 20,
};

struct sse_event {
    struct str id;    /* without line ends and NUL; empty: none */
    struct str event; /* its kind, without line ends; empty: "message" to the client */
    struct str data;  /* any text; a view with ptr NULL: none, and the client sees no event */
    int64_t retry_ms; /* how long the client waits before it connects anew; 0: not said */
};

/* Appends the event as it goes over the wire. ERR_INVALID_ARGUMENT for an id or kind as above. */
int sse_format(const struct sse_event *event, struct buf *out);

struct sse_hub;

struct sse_hub_config {
    int64_t keepalive_ms;  /* 0: SSE_KEEPALIVE_MS */
    size_t max_kept_bytes; /* of a stream that its client has not taken; 0: SSE_MAX_KEPT_BYTES */
};

int sse_hub_new(struct loop *loop, const struct sse_hub_config *config, struct sse_hub **out_hub);

/* Ends what is open, as sse_close() does; before the server is freed. */
void sse_hub_free(struct sse_hub *hub);

size_t sse_hub_count(const struct sse_hub *hub);

/* One event to every stream of the hub; it is put together once. */
int sse_hub_send(struct sse_hub *hub, const struct sse_event *event);

struct sse_stream;

/* Headers that a stream may have besides its own. */
enum { SSE_MAX_FIELDS = 6 };

/*
 * Answers with an event stream. on_gone comes once, from the loop: the client left or was too slow,
 * and the stream is gone when it returns. It does not come after sse_close(). The exchange is the
 * stream's from here on, also on failure. HEAD gets the head and no stream: ERR_CANCELLED.
 */
int sse_open(struct sse_hub *hub, struct exchange *exchange, void (*on_gone)(void *data),
             void *data, struct sse_stream **out_stream);

/* The same with headers of the caller's, such as those by which a browser lets a page read. */
int sse_open_with(struct sse_hub *hub, struct exchange *exchange, const struct http_field *more,
                  size_t more_count, void (*on_gone)(void *data), void *data,
                  struct sse_stream **out_stream);

/*
 * ERR_INVALID_ARGUMENT changes nothing. A client that is too slow for it is cut off, which is no
 * error of the caller: on_gone will tell.
 */
int sse_send(struct sse_stream *stream, const struct sse_event *event);

/* What sse_format() made, for those who send it to some of many. */
void sse_send_formatted(struct sse_stream *stream, struct str formatted);

/* The answer is complete. */
void sse_close(struct sse_stream *stream);

#endif
