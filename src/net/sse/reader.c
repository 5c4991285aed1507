/* SPDX-License-Identifier: Apache-2.0 */
#include "net/sse/reader.h"

#include <string.h>

#include "base/err.h"

enum { SPARE_BYTES = 64 << 10, BLOCK_BYTES = 256 };

static const struct str bom = STR_LITERAL("\xEF\xBB\xBF");

void sse_reader_init(struct sse_reader *reader, const struct sse_limits *limits)
{
    *reader = (struct sse_reader){.place = SSE_BOM};
    buf_init(&reader->line, limits->max_line_bytes);
    buf_init(&reader->type, SSE_MAX_NAME_BYTES);
    buf_init(&reader->data, limits->max_event_bytes);
    buf_init(&reader->id, SSE_MAX_NAME_BYTES);
    buf_init(&reader->last_id, SSE_MAX_NAME_BYTES);
}

void sse_reader_done(struct sse_reader *reader)
{
    buf_done(&reader->line);
    buf_done(&reader->type);
    buf_done(&reader->data);
    buf_done(&reader->id);
    buf_done(&reader->last_id);
}

static int set(struct buf *buf, struct str text)
{
    buf_clear(buf);
    return buf_append_str(buf, text);
}

/* Empties the buffer; memory for a large event is not kept forever. */
static void forget(struct buf *buf)
{
    size_t max = buf->max;

    buf_clear(buf);
    if (buf->capacity > SPARE_BYTES) {
        buf_done(buf);
        buf_init(buf, max);
    }
}

static void forget_event(struct sse_reader *reader)
{
    forget(&reader->type);
    forget(&reader->data);
}

void sse_reader_restart(struct sse_reader *reader)
{
    forget_event(reader);
    forget(&reader->line);
    reader->place = SSE_BOM;
    reader->bom_len = 0;
    reader->after_cr = false;
    /* It fitted before, so the memory for it is there. */
    reader->failure = set(&reader->id, buf_view(&reader->last_id));
}

/* The empty line. An event without data is not reported, but its id counts. */
static int end_event(struct sse_reader *reader, const struct sse_handler *handler)
{
    int r = set(&reader->last_id, buf_view(&reader->id));

    if (r == 0 && reader->data.len > 0) {
        struct str type = buf_view(&reader->type);
        struct str data = buf_view(&reader->data);
        struct sse_received event = {
            .type = type.len > 0 ? type : STR("message"),
            .data = {data.ptr, data.len - 1}, /* each line left an LF, and the last one goes */
            .last_id = buf_view(&reader->last_id),
        };

        handler->event(handler->data, &event);
    }
    forget_event(reader);
    return r;
}

static int add_data(struct sse_reader *reader, struct str value)
{
    int r = buf_append_str(&reader->data, value);

    return r < 0 ? r : buf_append_char(&reader->data, '\n');
}

static void take_retry(struct str digits, const struct sse_handler *handler)
{
    int64_t delay_ms = 0;

    if (digits.len == 0)
        return;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.ptr[i] < '0' || digits.ptr[i] > '9')
            return;
        if (delay_ms < SSE_MAX_RETRY_MS)
            delay_ms = delay_ms * 10 + (digits.ptr[i] - '0');
    }
    if (handler->retry != NULL)
        handler->retry(handler->data, delay_ms < SSE_MAX_RETRY_MS ? delay_ms : SSE_MAX_RETRY_MS);
}

static int take_line(struct sse_reader *reader, struct str line, const struct sse_handler *handler)
{
    const char *colon;
    struct str name = line;
    struct str value = STR_EMPTY;

    if (line.len == 0)
        return end_event(reader, handler);
    colon = memchr(line.ptr, ':', line.len);
    if (colon != NULL) {
        name.len = (size_t)(colon - line.ptr);
        value = str_slice(line, name.len + 1, line.len);
        if (str_starts_with(value, STR(" ")))
            value = str_slice(value, 1, value.len);
    }
    if (str_eq(name, STR("data")))
        return add_data(reader, value);
    if (str_eq(name, STR("event")))
        return set(&reader->type, value);
    if (str_eq(name, STR("id")) && !str_has_nul(value))
        return set(&reader->id, value);
    if (str_eq(name, STR("retry")))
        take_retry(value, handler);
    return 0;
}

/*
 * Position of the line end, or the end of the piece. In blocks: if all lines end with a CR, each
 * would otherwise search the whole piece for an LF.
 */
static size_t line_length(struct str bytes)
{
    for (size_t at = 0; at < bytes.len; at += BLOCK_BYTES) {
        struct str block = str_slice(bytes, at, BLOCK_BYTES);
        const char *lf = memchr(block.ptr, '\n', block.len);
        size_t len = lf != NULL ? (size_t)(lf - block.ptr) : block.len;
        const char *cr = memchr(block.ptr, '\r', len);

        if (cr != NULL)
            return (size_t)(cr - bytes.ptr);
        if (lf != NULL)
            return (size_t)(lf - bytes.ptr);
    }
    return bytes.len;
}

static int end_line(struct sse_reader *reader, struct str piece, const struct sse_handler *handler)
{
    int r = 0;

    if (reader->place == SSE_LINE && reader->line.len == 0 && piece.len <= reader->line.max) {
        r = take_line(reader, piece, handler); /* the usual case: no copy */
    } else if (reader->place == SSE_LINE) {
        r = buf_append_str(&reader->line, piece);
        if (r == 0)
            r = take_line(reader, buf_view(&reader->line), handler);
    }
    forget(&reader->line);
    reader->place = SSE_LINE;
    return r;
}

/* Takes a part of a line off *bytes, with its end if present. */
static int take_piece(struct sse_reader *reader, struct str *bytes,
                      const struct sse_handler *handler)
{
    size_t len;
    struct str piece;

    if (reader->place == SSE_LINE && reader->line.len == 0 && bytes->ptr[0] == ':')
        reader->place = SSE_COMMENT;
    len = line_length(*bytes);
    piece = str_slice(*bytes, 0, len);
    if (len == bytes->len) {
        *bytes = STR_EMPTY;
        return reader->place == SSE_COMMENT ? 0 : buf_append_str(&reader->line, piece);
    }
    reader->after_cr = bytes->ptr[len] == '\r';
    *bytes = str_slice(*bytes, len + 1, bytes->len);
    return end_line(reader, piece, handler);
}

/* One byte at the very start: of the byte order mark, which is dropped, or of the first line. */
static int take_bom(struct sse_reader *reader, struct str *bytes)
{
    size_t came = reader->bom_len;

    if (bytes->ptr[0] == bom.ptr[came]) {
        *bytes = str_slice(*bytes, 1, bytes->len);
        reader->bom_len++;
        if (reader->bom_len == bom.len)
            reader->place = SSE_LINE;
        return 0;
    }
    reader->place = SSE_LINE;
    return buf_append_str(&reader->line, str_slice(bom, 0, came));
}

int sse_reader_feed(struct sse_reader *reader, struct str bytes, const struct sse_handler *handler)
{
    while (reader->failure == 0 && bytes.len > 0) {
        if (reader->place == SSE_BOM) {
            reader->failure = take_bom(reader, &bytes);
        } else if (reader->after_cr && bytes.ptr[0] == '\n') {
            bytes = str_slice(bytes, 1, bytes.len);
            reader->after_cr = false;
        } else {
            reader->after_cr = false;
            reader->failure = take_piece(reader, &bytes, handler);
        }
    }
    return reader->failure;
}
