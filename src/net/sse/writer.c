/* SPDX-License-Identifier: Apache-2.0 */
#include "net/sse/writer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "net/deadlines.h"

enum {
    SCRATCH_KEPT_BYTES = 64 << 10, /* a larger event's memory goes when it is written */
    OWN_FIELDS = 2,                /* headers of every stream */
    KEEPALIVE_BYTES = 64,
};

struct sse_hub {
    struct loop *loop;
    size_t max_kept_bytes;
    struct deadlines deadlines;
    struct deadline_ring *quiet;
    struct list streams;
    size_t count;
    struct list cut; /* too slow; the loop tells their owners */
    struct loop_task tell;
    struct buf scratch;
    struct str type;
    struct str cache_control;
    struct buf keepalive;
};

struct sse_stream {
    struct sse_hub *hub;
    struct exchange *exchange; /* NULL when it was cut off */
    struct list node;          /* in hub->streams or hub->cut */
    struct deadline deadline;  /* of its silence */
    void (*on_gone)(void *data);
    void *data;
};

/* ---- text ---- */

static bool has_line_end(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\n' || text.ptr[i] == '\r')
            return true;
    return false;
}

static int append_line(struct buf *out, struct str name, struct str value)
{
    int r = buf_reserve(out, name.len + value.len + 3);

    if (r < 0)
        return r;
    buf_append_str(out, name);
    buf_append(out, ": ", 2);
    buf_append_str(out, value);
    return buf_append_char(out, '\n');
}

/* CR, LF and CRLF all end a line for the client, so each begins a new data line here. */
static int append_data(struct buf *out, struct str data)
{
    size_t start = 0;

    for (size_t i = 0; i <= data.len; i++) {
        int r;

        if (i < data.len && data.ptr[i] != '\n' && data.ptr[i] != '\r')
            continue;
        r = append_line(out, STR("data"), (struct str){data.ptr + start, i - start});
        if (r < 0)
            return r;
        if (i + 1 < data.len && data.ptr[i] == '\r' && data.ptr[i + 1] == '\n')
            i++;
        start = i + 1;
    }
    return 0;
}

int sse_format(const struct sse_event *event, struct buf *out)
{
    size_t begin = out->len;
    char number[24];
    int r = 0;

    if (has_line_end(event->id) || str_has_nul(event->id) || has_line_end(event->event) ||
        event->retry_ms < 0)
        return ERR_INVALID_ARGUMENT;
    if (event->id.len > 0)
        r = append_line(out, STR("id"), event->id);
    if (r == 0 && event->event.len > 0)
        r = append_line(out, STR("event"), event->event);
    if (r == 0 && event->retry_ms > 0) {
        snprintf(number, sizeof(number), "%lld", (long long)event->retry_ms);
        r = append_line(out, STR("retry"), str_from(number));
    }
    if (r == 0 && event->data.ptr != NULL)
        r = append_data(out, event->data);
    if (r == 0)
        r = buf_append_char(out, '\n');
    if (r < 0)
        out->len = begin;
    return r;
}

/* ---- streams ---- */

static void forget(struct sse_stream *stream)
{
    deadline_stop(&stream->deadline);
    list_remove(&stream->node);
    if (stream->exchange != NULL)
        stream->hub->count--;
    free(stream);
}

static void on_exchange_gone(void *data)
{
    struct sse_stream *stream = data;
    void (*on_gone)(void *data) = stream->on_gone;
    void *on_gone_data = stream->data;

    forget(stream);
    on_gone(on_gone_data);
}

static const struct exchange_events EVENTS = {.on_gone = on_exchange_gone};

static void cut_off(struct sse_stream *stream)
{
    struct sse_hub *hub = stream->hub;

    exchange_cut(stream->exchange);
    stream->exchange = NULL;
    hub->count--;
    deadline_stop(&stream->deadline);
    list_remove(&stream->node);
    list_append(&hub->cut, &stream->node);
    loop_defer(hub->loop, &hub->tell);
}

static void tell_cut(void *data)
{
    struct sse_hub *hub = data;

    while (!list_is_empty(&hub->cut))
        on_exchange_gone(list_entry(hub->cut.next, struct sse_stream, node));
}

void sse_send_formatted(struct sse_stream *stream, struct str formatted)
{
    if (stream->exchange == NULL)
        return;
    if (exchange_kept(stream->exchange) + formatted.len > stream->hub->max_kept_bytes ||
        exchange_write(stream->exchange, &formatted, 1) < 0) {
        cut_off(stream);
        return;
    }
    deadline_start(stream->hub->quiet, &stream->deadline);
}

int sse_send(struct sse_stream *stream, const struct sse_event *event)
{
    struct buf *scratch = &stream->hub->scratch;
    int r;

    buf_clear(scratch);
    r = sse_format(event, scratch);
    if (r == ERR_TOO_LARGE) { /* more than any client may leave unread */
        if (stream->exchange != NULL)
            cut_off(stream);
        r = 0;
    } else if (r == 0) {
        sse_send_formatted(stream, buf_view(scratch));
    }
    if (scratch->capacity > SCRATCH_KEPT_BYTES)
        buf_done(scratch);
    return r;
}

/* Proxies and clients consider a silent connection dead. */
static void on_quiet(struct deadline *deadline)
{
    struct sse_stream *stream = list_entry(deadline, struct sse_stream, deadline);

    sse_send_formatted(stream, buf_view(&stream->hub->keepalive));
}

int sse_open_with(struct sse_hub *hub, struct exchange *exchange, const struct http_field *more,
                  size_t more_count, void (*on_gone)(void *data), void *data,
                  struct sse_stream **out_stream)
{
    struct http_field fields[OWN_FIELDS + SSE_MAX_FIELDS] = {
        {STR_LITERAL("Cache-Control"), hub->cache_control},
        /* nginx would hold events back until it has a bufferful. */
        {STR_LITERAL("X-Accel-Buffering"), STR_LITERAL("no")},
    };
    bool is_head = exchange_request(exchange)->method == HTTP_METHOD_HEAD;
    struct sse_stream *stream = malloc(sizeof(*stream));

    assert(more_count <= SSE_MAX_FIELDS);
    for (size_t i = 0; i < more_count; i++)
        fields[OWN_FIELDS + i] = more[i];
    if (stream == NULL) {
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return ERR_NO_MEMORY;
    }
    exchange_begin(exchange, &(struct http_answer){.status = 200,
                                                   .type = hub->type,
                                                   .fields = fields,
                                                   .field_count = OWN_FIELDS + more_count});
    if (is_head) {
        free(stream);
        exchange_end(exchange);
        return ERR_CANCELLED;
    }
    *stream =
        (struct sse_stream){.hub = hub, .exchange = exchange, .on_gone = on_gone, .data = data};
    deadline_init(&stream->deadline);
    list_append(&hub->streams, &stream->node);
    hub->count++;
    deadline_start(hub->quiet, &stream->deadline);
    exchange_watch(exchange, &EVENTS, stream);
    *out_stream = stream;
    return 0;
}

int sse_open(struct sse_hub *hub, struct exchange *exchange, void (*on_gone)(void *data),
             void *data, struct sse_stream **out_stream)
{
    return sse_open_with(hub, exchange, NULL, 0, on_gone, data, out_stream);
}

void sse_close(struct sse_stream *stream)
{
    struct exchange *exchange = stream->exchange;

    forget(stream);
    if (exchange != NULL)
        exchange_end(exchange);
}

/* ---- the hub ---- */

static struct str or_default(struct str text, struct str fallback)
{
    return text.len > 0 ? text : fallback;
}

int sse_hub_new(struct loop *loop, const struct sse_hub_config *config, struct sse_hub **out_hub)
{
    struct sse_hub *hub = calloc(1, sizeof(*hub));

    if (hub == NULL)
        return ERR_NO_MEMORY;
    hub->loop = loop;
    hub->type = or_default(config->type, STR("text/event-stream"));
    hub->cache_control = or_default(config->cache_control, STR("no-store"));
    buf_init(&hub->keepalive, KEEPALIVE_BYTES);
    if (buf_printf(&hub->keepalive, "%.*s\n\n", STR_ARG(or_default(config->keepalive, STR(":")))) <
        0) {
        free(hub);
        return ERR_NO_MEMORY;
    }
    hub->max_kept_bytes = config->max_kept_bytes > 0 ? config->max_kept_bytes : SSE_MAX_KEPT_BYTES;
    deadlines_init(&hub->deadlines, loop);
    hub->quiet = deadlines_add_ring(
        &hub->deadlines, config->keepalive_ms > 0 ? config->keepalive_ms : SSE_KEEPALIVE_MS,
        on_quiet);
    list_init(&hub->streams);
    list_init(&hub->cut);
    loop_task_init(&hub->tell, tell_cut, hub);
    buf_init(&hub->scratch, hub->max_kept_bytes);
    *out_hub = hub;
    return 0;
}

void sse_hub_free(struct sse_hub *hub)
{
    if (hub == NULL)
        return;
    while (!list_is_empty(&hub->streams))
        sse_close(list_entry(hub->streams.next, struct sse_stream, node));
    while (!list_is_empty(&hub->cut))
        sse_close(list_entry(hub->cut.next, struct sse_stream, node));
    loop_task_cancel(&hub->tell);
    deadlines_done(&hub->deadlines);
    buf_done(&hub->scratch);
    buf_done(&hub->keepalive);
    free(hub);
}

size_t sse_hub_count(const struct sse_hub *hub)
{
    return hub->count;
}

int sse_hub_send(struct sse_hub *hub, const struct sse_event *event)
{
    cleanup_buf struct buf text = BUF_INIT(hub->max_kept_bytes);
    int r = sse_format(event, &text);

    if (r < 0)
        return r;
    list_each_safe (node, &hub->streams)
        sse_send_formatted(list_entry(node, struct sse_stream, node), buf_view(&text));
    return 0;
}
