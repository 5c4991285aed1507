/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-sent events: responses that stay open and carry one event after the other. A hub holds
 * related streams; its timer keeps idle ones alive with comments, and one event can go to all of
 * them. A client that does not read is disconnected, so that it costs no more than its limit. An
 * idle stream needs its connection and about a hundred bytes.
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
    struct str id;    /* without newlines and NUL; empty: none */
    struct str event; /* its type, without newlines; empty: "message" to the client */
    struct str data;  /* any text; with ptr NULL: none, and the client sees no event */
    int64_t retry_ms; /* time the client waits before reconnecting; 0: unspecified */
};

/* Appends the event in wire format. ERR_INVALID_ARGUMENT for an invalid id or type. */
int sse_format(const struct sse_event *event, struct buf *out);

struct sse_hub;

struct sse_hub_config {
    int64_t keepalive_ms;  /* 0: SSE_KEEPALIVE_MS */
    size_t max_kept_bytes; /* unread by a stream's client; 0: SSE_MAX_KEPT_BYTES */
    /* For a protocol that prescribes them; empty: "text/event-stream", "no-store", ":". */
    struct str type;
    struct str cache_control;
    struct str keepalive; /* a comment, without its line end */
};

int sse_hub_new(struct loop *loop, const struct sse_hub_config *config, struct sse_hub **out_hub);

/* Closes open streams like sse_close(); call it before freeing the server. */
void sse_hub_free(struct sse_hub *hub);

size_t sse_hub_count(const struct sse_hub *hub);

/* Sends one event to every stream of the hub; it is formatted once. */
int sse_hub_send(struct sse_hub *hub, const struct sse_event *event);

struct sse_stream;

/* Extra headers that a stream may have. */
enum { SSE_MAX_FIELDS = 6 };

/*
 * Answers with an event stream. on_gone is called once, from the loop, if the client left or was
 * too slow; the stream is freed when it returns. It is not called after sse_close(). The stream
 * takes ownership of the exchange, even on failure. HEAD gets the head and no stream:
 * ERR_CANCELLED.
 */
int sse_open(struct sse_hub *hub, struct exchange *exchange, void (*on_gone)(void *data),
             void *data, struct sse_stream **out_stream);

/* Same with extra headers, such as those for CORS. */
int sse_open_with(struct sse_hub *hub, struct exchange *exchange, const struct http_field *more,
                  size_t more_count, void (*on_gone)(void *data), void *data,
                  struct sse_stream **out_stream);

/*
 * ERR_INVALID_ARGUMENT changes nothing. A client that is too slow is disconnected, which is no
 * error here: on_gone follows.
 */
int sse_send(struct sse_stream *stream, const struct sse_event *event);

/* Sends the output of sse_format(), for callers that send it to some of many. */
void sse_send_formatted(struct sse_stream *stream, struct str formatted);

/* Completes the response. */
void sse_close(struct sse_stream *stream);

#endif
