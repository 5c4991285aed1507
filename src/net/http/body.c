/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/body.h"

#include "base/err.h"
#include "net/http/head.h"
#include "net/http/http.h"

enum { CRLF_BYTES = 2 };

/* ---- llhttp, the second reader ---- */

static int on_headers_complete(llhttp_t *llhttp)
{
    struct httpbody *body = llhttp->data;

    /* Must come first: a message without a body does not last until the connection ends. */
    if (body->has_none)
        llhttp->flags |= F_SKIPBODY;
    body->keeps_alive = llhttp_should_keep_alive(llhttp) != 0;
    /* Protocols are never changed here, so the next bytes are a message like this one. */
    llhttp->upgrade = 0;
    return body->has_none ? 1 : 0;
}

static int on_body(llhttp_t *llhttp, const char *at, size_t length)
{
    struct httpbody *body = llhttp->data;

    body->on_body(body->data, (struct str){at, length});
    return 0;
}

static int on_message_complete(llhttp_t *llhttp)
{
    struct httpbody *body = llhttp->data;

    body->has_finished = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t SETTINGS = {
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* All bytes must be consumed: the message must end where we expect it. */
static int read_too(struct httpbody *body, struct str bytes)
{
    llhttp_errno_t outcome = llhttp_execute(&body->llhttp, bytes.ptr, bytes.len);

    if (outcome == HPE_OK)
        return 0;
    if (outcome == HPE_PAUSED && body->has_finished &&
        llhttp_get_error_pos(&body->llhttp) == bytes.ptr + bytes.len)
        return 0;
    return ERR_HTTP_SYNTAX;
}

int httpbody_read_head(struct httpbody *body, llhttp_type_t type, struct str head, bool has_none)
{
    llhttp_init(&body->llhttp, type, &SETTINGS);
    body->llhttp.data = body;
    body->has_none = has_none;
    body->has_finished = false;
    return read_too(body, head);
}

/* ---- lines ---- */

int httpbody_take_line(struct buf *to, size_t line_at, size_t max, int too_long, struct str *bytes)
{
    size_t room = max - (to->len - line_at);
    size_t looked = bytes->len < room ? bytes->len : room;
    const char *lf = looked > 0 ? memchr(bytes->ptr, '\n', looked) : NULL;
    size_t taken = lf != NULL ? (size_t)(lf + 1 - bytes->ptr) : looked;
    int r;

    if (lf == NULL && looked == room)
        return too_long;
    r = buf_append(to, bytes->ptr, taken);
    if (r < 0)
        return r;
    *bytes = str_slice(*bytes, taken, SIZE_MAX);
    return lf != NULL;
}

static struct str line_of(const struct buf *buf, size_t line_at)
{
    return (struct str){buf->data + line_at, buf->len - line_at};
}

/* ---- the body ---- */

static int complete(struct httpbody *body)
{
    body->state = HTTPBODY_COMPLETE;
    return 0;
}

void httpbody_begin(struct httpbody *body, enum httpbody_framing framing, uint64_t length)
{
    body->left = length;
    body->line_at = 0;
    switch (framing) {
    case HTTPBODY_LENGTH:
        body->state = HTTPBODY_IDENTITY;
        break;
    case HTTPBODY_CHUNKED:
        body->state = HTTPBODY_CHUNK_LINE;
        break;
    case HTTPBODY_UNTIL_END:
        body->state = HTTPBODY_OPEN;
        break;
    }
}

/* Passes on what belongs to the body, or to the chunk with its CRLF. */
static int pass_on(struct httpbody *body, struct str *bytes)
{
    struct str part = str_slice(*bytes, 0, body->left < SIZE_MAX ? (size_t)body->left : SIZE_MAX);
    int r;

    if (part.len == 0)
        return 0;
    body->left -= part.len;
    *bytes = str_slice(*bytes, part.len, SIZE_MAX);
    r = read_too(body, part);
    if (r < 0)
        return r;
    if (body->left > 0)
        return 0;
    if (body->state == HTTPBODY_CHUNK_DATA) {
        body->state = HTTPBODY_CHUNK_LINE;
        return body->has_finished ? ERR_HTTP_FRAMING : 1;
    }
    return body->has_finished ? complete(body) : ERR_HTTP_FRAMING;
}

static int read_chunk_line(struct httpbody *body, struct str *bytes)
{
    int r = httpbody_take_line(&body->lines, 0, HTTP_MAX_CHUNK_LINE_BYTES, ERR_HTTP_SYNTAX, bytes);
    struct str line;

    if (r <= 0)
        return r;
    line = buf_view(&body->lines);
    if (line.len < CRLF_BYTES ||
        !http_is_field_value((struct str){line.ptr, line.len - CRLF_BYTES}))
        return ERR_HTTP_SYNTAX;
    r = read_too(body, line);
    if (r < 0)
        return r;
    buf_clear(&body->lines);
    if (body->llhttp.content_length == 0) {
        body->state = HTTPBODY_TRAILER;
        return 1;
    }
    if (body->llhttp.content_length > INT64_MAX)
        return ERR_HTTP_FRAMING;
    body->left = body->llhttp.content_length + CRLF_BYTES;
    body->state = HTTPBODY_CHUNK_DATA;
    return 1;
}

static int read_trailer(struct httpbody *body, struct str *bytes)
{
    struct buf *lines = &body->lines;
    int r = httpbody_take_line(lines, body->line_at, HTTP_MAX_TRAILER_BYTES - body->line_at,
                               ERR_HTTP_HEAD_LENGTH, bytes);
    struct str line;

    if (r <= 0)
        return r;
    line = line_of(lines, body->line_at);
    body->line_at = lines->len;
    if (!str_eq(line, STR("\r\n"))) {
        r = httphead_trailer_line((struct str){line.ptr, line.len - 1});
        return r < 0 ? r : 1;
    }
    r = read_too(body, buf_view(lines));
    if (r < 0)
        return r;
    return body->has_finished ? complete(body) : ERR_HTTP_FRAMING;
}

int httpbody_step(struct httpbody *body, struct str *bytes)
{
    int r;

    switch (body->state) {
    case HTTPBODY_IDENTITY:
    case HTTPBODY_CHUNK_DATA:
        return pass_on(body, bytes);
    case HTTPBODY_CHUNK_LINE:
        return read_chunk_line(body, bytes);
    case HTTPBODY_TRAILER:
        return read_trailer(body, bytes);
    case HTTPBODY_OPEN:
        r = bytes->len > 0 ? read_too(body, *bytes) : 0;
        *bytes = STR_EMPTY;
        return r;
    case HTTPBODY_COMPLETE:
        break;
    }
    return 0;
}

bool httpbody_is_complete(const struct httpbody *body)
{
    return body->state == HTTPBODY_COMPLETE;
}

void httpbody_init(struct httpbody *body)
{
    buf_init(&body->lines, HTTP_MAX_TRAILER_BYTES);
}

void httpbody_done(struct httpbody *body)
{
    buf_done(&body->lines);
}
