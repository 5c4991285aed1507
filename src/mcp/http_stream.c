/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/http_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { ANSWER_MAX_BYTES = 1 << 30 };

/* A sent message, kept while the client may return for it. */
struct event {
    struct list link;
    uint64_t origin; /* of its stream */
    uint64_t number; /* in there, from 1 */
    size_t len;
    char data[];
};

/* ---- kept events ---- */

static void forget_event(struct mcp_http_client *client, struct event *event)
{
    list_remove(&event->link);
    client->event_count--;
    client->event_bytes -= event->len;
    client->http->event_bytes -= event->len;
    free(event);
}

void mcp_http_forget_events(struct mcp_http_client *client)
{
    list_each_safe (node, &client->events)
        forget_event(client, list_entry(node, struct event, link));
}

/* Events are never replayed with a gap. */
static void forget_events_of(struct mcp_http_client *client, uint64_t origin)
{
    list_each_safe (node, &client->events) {
        struct event *event = list_entry(node, struct event, link);

        if (event->origin == origin)
            forget_event(client, event);
    }
}

/* Clients that were away longest are least likely to return. */
static void make_room(struct mcp_http *http, size_t len)
{
    list_each (node, &http->clients) {
        if (http->event_bytes + len <= http->config.total_replay_bytes)
            return;
        mcp_http_forget_events(list_entry(node, struct mcp_http_client, link));
    }
}

/*
 * If it is too large, or there is no memory, neither it nor earlier events can be replayed: that is
 * no error.
 */
static void keep_event(struct mcp_http_stream *stream, struct str data)
{
    struct mcp_http_client *client = stream->client;
    struct mcp_http *http = client->http;
    size_t max = http->config.replay_bytes;
    struct event *event = data.len <= max && data.len <= http->config.total_replay_bytes
                              ? malloc(sizeof(*event) + data.len)
                              : NULL;

    if (event == NULL) {
        forget_events_of(client, stream->origin);
        return;
    }
    *event = (struct event){.origin = stream->origin, .number = stream->event, .len = data.len};
    memcpy(event->data, data.ptr, data.len);
    while (client->event_count > 0 &&
           (client->event_bytes + data.len > max || client->event_count >= MCP_HTTP_REPLAY_EVENTS))
        forget_event(client, list_entry(client->events.next, struct event, link));
    make_room(http, data.len);
    list_append(&client->events, &event->link);
    client->event_count++;
    client->event_bytes += data.len;
    http->event_bytes += data.len;
}

/* ---- connections ---- */

/* Nobody reads it any more. A modern call ends; a legacy client may return. */
static void lose(struct mcp_http_stream *stream)
{
    struct mcp_http_client *client = stream->client;

    stream->exchange = NULL;
    stream->sse = NULL;
    if (client->is_modern)
        mcp_http_client_finish(client);
}

static void on_gone(void *data)
{
    lose(data);
}

static const struct exchange_events exchange_events = {.on_gone = on_gone};

int mcp_http_stream_new(struct mcp_http_client *client, uint64_t origin, struct exchange *exchange,
                        struct mcp_http_stream **out_stream)
{
    struct mcp_http_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL) {
        if (exchange != NULL)
            exchange_answer_error(exchange, ERR_NO_MEMORY);
        return ERR_NO_MEMORY;
    }
    stream->client = client;
    stream->origin = origin;
    stream->exchange = exchange;
    list_append(&client->streams, &stream->link);
    client->http->stream_count++;
    if (exchange != NULL)
        exchange_watch(exchange, &exchange_events, stream);
    *out_stream = stream;
    return 0;
}

void mcp_http_stream_free(struct mcp_http_stream *stream)
{
    struct mcp_http_client *client = stream->client;

    mcp_http_stream_end(stream);
    if (client->standing == stream)
        client->standing = NULL;
    list_remove(&stream->link);
    client->http->stream_count--;
    free(stream);
}

struct mcp_http_stream *mcp_http_stream_find(struct mcp_http_client *client, uint64_t origin)
{
    list_each (node, &client->streams) {
        struct mcp_http_stream *stream = list_entry(node, struct mcp_http_stream, link);

        if (stream->origin == origin)
            return stream;
    }
    return NULL;
}

/* Clients of the newest legacy revision understand an empty event. */
static bool can_come_back(const struct mcp_http_client *client)
{
    return !client->is_modern &&
           str_compare(mcp_session_revision(client->session), STR("2025-11-25")) >= 0;
}

/* ---- events ---- */

/* "3-14": the fourteenth event of stream 3. */
static struct str event_id(const struct mcp_http_stream *stream, uint64_t number,
                           char out_text[MCP_HTTP_EVENT_ID_BYTES])
{
    int len = snprintf(out_text, MCP_HTTP_EVENT_ID_BYTES, "%llu-%llu",
                       (unsigned long long)stream->origin, (unsigned long long)number);

    return (struct str){out_text, (size_t)len};
}

/* A client that is too slow is disconnected, and on_gone follows. */
static void write_event(struct mcp_http_stream *stream, uint64_t number, struct str data)
{
    char text[MCP_HTTP_EVENT_ID_BYTES];
    struct sse_event event = {.data = data};

    if (!stream->client->is_modern)
        event.id = event_id(stream, number, text);
    (void)sse_send(stream->sse, &event);
    stream->seen = number;
}

/* An event from which a client can resume before any message; also sets the retry time. */
static void write_first_event(struct mcp_http_stream *stream)
{
    char text[MCP_HTTP_EVENT_ID_BYTES];

    if (can_come_back(stream->client))
        (void)sse_send(stream->sse,
                       &(struct sse_event){.id = event_id(stream, stream->seen, text),
                                           .data = STR(""),
                                           .retry_ms = stream->client->http->config.retry_ms});
}

static int connect_events(struct mcp_http_stream *stream, struct exchange *exchange)
{
    int r;

    stream->exchange = NULL;
    r = sse_open(stream->client->http->hub, exchange, on_gone, stream, &stream->sse);
    if (r == 0)
        write_first_event(stream);
    return r;
}

int mcp_http_stream_begin(struct mcp_http_stream *stream)
{
    if (stream->sse != NULL)
        return 0;
    return stream->exchange != NULL ? connect_events(stream, stream->exchange) : ERR_NOT_FOUND;
}

void mcp_http_stream_end(struct mcp_http_stream *stream)
{
    if (stream->sse != NULL)
        sse_close(stream->sse);
    else if (stream->exchange != NULL)
        exchange_answer_error(stream->exchange, ERR_CANCELLED);
    stream->sse = NULL;
    stream->exchange = NULL;
}

static int join(struct buf *joined, const struct str *parts, size_t count)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++)
        r = buf_append_str(joined, parts[i]);
    return r;
}

static void say_event(struct mcp_http_stream *stream, const struct str *parts, size_t count)
{
    cleanup_buf struct buf joined = BUF_INIT(ANSWER_MAX_BYTES);
    bool is_connected = mcp_http_stream_begin(stream) == 0;

    stream->event++;
    if (join(&joined, parts, count) < 0) {
        mcp_http_stream_end(stream); /* half of it would be worse */
        return;
    }
    if (!stream->client->is_modern)
        keep_event(stream, buf_view(&joined));
    if (is_connected)
        write_event(stream, stream->event, buf_view(&joined));
}

/* ---- whole answers ---- */

static void answer_at_once(struct mcp_http_stream *stream, const struct mcp_outgoing *about,
                           const struct str *parts, size_t count)
{
    struct mcp_http_client *client = stream->client;
    cleanup_buf struct buf joined = BUF_INIT(ANSWER_MAX_BYTES);
    struct http_field session = {.name = STR("Mcp-Session-Id")};
    struct http_answer answer = {
        .status = about->http_status,
        .type = STR("application/json"),
        .parts = parts,
        .part_count = count,
    };
    struct str whole;
    int r = 0;

    if (stream->opens_session && about->kind == MCP_SENT_RESULT) {
        r = mcp_http_client_publish(client);
        session.value = (struct str){client->id, MCP_HTTP_ID_LEN};
        answer.fields = &session;
        answer.field_count = 1;
    }
    /* A list of tools has more parts than one write takes. */
    if (count > EXCHANGE_MAX_PARTS) {
        if (r == 0)
            r = join(&joined, parts, count);
        whole = buf_view(&joined);
        answer.parts = &whole;
        answer.part_count = 1;
    }
    if (r == 0)
        exchange_answer(stream->exchange, &answer);
    else
        exchange_answer_error(stream->exchange, r);
    stream->exchange = NULL;
}

/* ---- where it goes ---- */

/* Messages about a request that is no batch end with its answer. */
static bool ends_stream(const struct mcp_http_stream *stream, const struct mcp_outgoing *about)
{
    return !stream->is_batch && stream->origin != 0 &&
           (about->kind == MCP_SENT_RESULT || about->kind == MCP_SENT_ERROR);
}

static struct mcp_http_stream *stream_of(struct mcp_http_client *client, uint64_t origin)
{
    struct mcp_http_stream *stream = mcp_http_stream_find(client, origin);

    /* Messages of the session itself wait until the client listens. */
    if (stream == NULL && origin == 0 && !client->is_modern &&
        mcp_http_stream_new(client, 0, NULL, &stream) == 0)
        client->standing = stream;
    return stream;
}

void mcp_http_send(void *data, const struct mcp_outgoing *about, const struct str *parts,
                   size_t count)
{
    struct mcp_http_client *client = data;
    struct mcp_http *http = client->http;
    struct mcp_http_stream *stream;
    bool is_last;

    if (client->is_finished)
        return;
    stream = stream_of(client, about->origin);
    if (stream == NULL)
        return;
    /* Its deadline may come before those of open ones. */
    if (about->kind == MCP_SENT_QUESTION)
        timer_start(&http->questions, 0);
    is_last = ends_stream(stream, about);
    if (is_last && stream->exchange != NULL)
        answer_at_once(stream, about, parts, count);
    else
        say_event(stream, parts, count);
    if (!is_last) {
        if (stream->is_batch) {
            client->is_unsettled = true;
            http->has_unsettled = true;
            loop_defer(http->config.loop, &http->reap);
        }
        return;
    }
    if (stream->opens_session && client->id[0] == '\0')
        client->is_modern = true; /* it did not come to a session: goes with its last stream */
    mcp_http_stream_free(stream);
    if (client->is_modern && list_is_empty(&client->streams))
        mcp_http_client_finish(client);
}

void mcp_http_streams_settle(struct mcp_http_client *client)
{
    if (client->is_finished || !client->is_unsettled)
        return;
    client->is_unsettled = false;
    list_each_safe (node, &client->streams) {
        struct mcp_http_stream *stream = list_entry(node, struct mcp_http_stream, link);
        bool is_over = stream->is_batch ? !mcp_session_is_waiting(client->session, stream->origin)
                                        : stream->is_cancelled;

        if (!is_over)
            continue;
        /* A cancelled request, and a batch of notifications, have no answer at all. */
        if (stream->exchange != NULL) {
            exchange_answer(stream->exchange, &(struct http_answer){.status = 202});
            stream->exchange = NULL;
        }
        mcp_http_stream_free(stream);
    }
}

/* ---- coming back ---- */

static bool parse_event_id(struct str text, uint64_t *out_origin, uint64_t *out_number)
{
    struct str origin;
    int64_t numbers[2];

    if (!str_cut(&text, '-', &origin) || !str_to_int64(origin, &numbers[0]) ||
        !str_to_int64(text, &numbers[1]) || numbers[0] < 0 || numbers[1] < 0)
        return false;
    *out_origin = (uint64_t)numbers[0];
    *out_number = (uint64_t)numbers[1];
    return true;
}

/* Whether everything after this one is still kept. */
static bool is_kept_from(const struct mcp_http_client *client, uint64_t origin, uint64_t number,
                         uint64_t last)
{
    uint64_t first = last + 1;

    list_each (node, &client->events) {
        const struct event *event = list_entry(node, struct event, link);

        if (event->origin == origin && event->number < first)
            first = event->number;
    }
    return number <= last && first <= number + 1;
}

static void replay(struct mcp_http_stream *stream, uint64_t behind)
{
    list_each (node, &stream->client->events) {
        const struct event *event = list_entry(node, struct event, link);
        const struct str data = {event->data, event->len};

        if (event->origin == stream->origin && event->number > behind)
            write_event(stream, event->number, data);
    }
}

static uint64_t last_event(const struct mcp_http_client *client, uint64_t origin)
{
    uint64_t last = 0;

    list_each (node, &client->events) {
        const struct event *event = list_entry(node, struct event, link);

        if (event->origin == origin && event->number > last)
            last = event->number;
    }
    return last;
}

void mcp_http_resume(struct mcp_http_client *client, struct exchange *exchange, struct str event)
{
    struct mcp_http_stream *stream;
    uint64_t origin = 0, behind = 0;
    uint64_t last;
    bool is_over = false;

    if (event.len > 0 && !parse_event_id(event, &origin, &behind)) {
        mcp_http_refuse(exchange, 400, ERR_INVALID_ARGUMENT, "unknown Last-Event-ID");
        return;
    }
    stream = mcp_http_stream_find(client, origin);
    is_over = stream == NULL && origin != 0;
    last = stream != NULL ? stream->event : last_event(client, origin);
    if (event.len > 0 && ((is_over && last == 0) || !is_kept_from(client, origin, behind, last))) {
        mcp_http_refuse(exchange, 400, ERR_NOT_FOUND,
                        "the events after this one are no longer available");
        return;
    }
    /* The old connection may look alive for long: the newer one is the client's. */
    if (stream != NULL && event.len > 0 && stream->sse != NULL)
        mcp_http_stream_end(stream);
    if (stream != NULL && (stream->sse != NULL || stream->exchange != NULL)) {
        mcp_http_refuse(exchange, 409, ERR_ALREADY_EXISTS, "this session already has a stream");
        return;
    }
    if (stream == NULL && mcp_http_stream_new(client, origin, NULL, &stream) < 0) {
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return;
    }
    if (origin == 0)
        client->standing = stream;
    if (event.len > 0)
        stream->seen = behind;
    if (connect_events(stream, exchange) < 0) {
        if (is_over)
            mcp_http_stream_free(stream);
        return;
    }
    replay(stream, stream->seen);
    if (is_over)
        mcp_http_stream_free(stream);
}
