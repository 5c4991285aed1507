/* SPDX-License-Identifier: Apache-2.0 */
#include "net/httpparse.h"

#include <llhttp.h>
#include <stdlib.h>

#include "base/err.h"
#include "net/httphead.h"

enum {
    /* Room for the head of most requests; what grew larger is not kept for the next one. */
    HEAD_FIRST_BYTES = 1 << 10,
    HEAD_KEPT_BYTES = 4 << 10,
    CRLF_BYTES = 2,
};

/*
 *   LINE -> HEADER -> TOLD -> IDENTITY ------------------------> COMPLETE
 *                       |`--> CHUNK_LINE <-> CHUNK_DATA              |
 *                       |          `-------> TRAILER ----------------|
 *                       `--------------------------------------------'
 */
enum state {
    STATE_LINE,
    STATE_HEADER,
    STATE_TOLD, /* of the head; the body, if there is one, begins */
    STATE_IDENTITY,
    STATE_CHUNK_LINE,
    STATE_CHUNK_DATA,
    STATE_TRAILER,
    STATE_COMPLETE,
    STATE_REFUSED,
};

struct httpparse {
    struct http_request request;
    llhttp_t llhttp;
    enum state state;
    bool has_finished; /* llhttp says so */
    int error;
    size_t line_at;   /* where the line under way begins, in the head or in `lines` */
    uint64_t left;    /* of the body, or of the chunk and its CRLF */
    struct buf lines; /* a chunk's line, or trailers; only what came in pieces */
    void (*on_body)(void *data, struct str bytes);
    void *data;
};

/* ---- llhttp, the second reader ---- */

static int on_headers_complete(llhttp_t *llhttp)
{
    struct httpparse *parse = llhttp->data;

    parse->request.keeps_alive = llhttp_should_keep_alive(llhttp) != 0;
    /* Nobody changes protocols here, so the next bytes are a request like this one. */
    llhttp->upgrade = 0;
    return 0;
}

static int on_body(llhttp_t *llhttp, const char *at, size_t length)
{
    struct httpparse *parse = llhttp->data;

    parse->on_body(parse->data, (struct str){at, length});
    return 0;
}

static int on_message_complete(llhttp_t *llhttp)
{
    struct httpparse *parse = llhttp->data;

    parse->has_finished = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t SETTINGS = {
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* All of the bytes are read, or it is an error: the request ends where we expect it. */
static int read_too(struct httpparse *parse, struct str bytes)
{
    llhttp_errno_t outcome = llhttp_execute(&parse->llhttp, bytes.ptr, bytes.len);

    if (outcome == HPE_OK)
        return 0;
    if (outcome == HPE_PAUSED && parse->has_finished &&
        llhttp_get_error_pos(&parse->llhttp) == bytes.ptr + bytes.len)
        return 0;
    return ERR_HTTP_SYNTAX;
}

/* ---- lines ---- */

/*
 * Appends up to and with the LF that ends the line under way; `max` bytes must hold one. 1 when the
 * line is whole, 0 when more must come.
 */
static int take_line(struct buf *to, size_t line_at, size_t max, int too_long, struct str *bytes)
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

/* ---- the head ---- */

static int finish_head(struct httpparse *parse)
{
    struct http_request *request = &parse->request;
    int r = httphead_finish(request);

    if (r < 0)
        return r;
    llhttp_init(&parse->llhttp, HTTP_REQUEST, &SETTINGS);
    parse->llhttp.data = parse;
    r = read_too(parse, buf_view(&request->head));
    if (r < 0)
        return r;
    if (parse->has_finished == request->has_body)
        return ERR_HTTP_FRAMING;
    parse->state = STATE_TOLD;
    return 0;
}

static int read_head(struct httpparse *parse, struct str *bytes)
{
    struct http_request *request = &parse->request;
    struct buf *head = &request->head;
    bool is_first = parse->state == STATE_LINE;
    size_t max = is_first ? HTTP_MAX_LINE_BYTES : HTTP_MAX_HEAD_BYTES - parse->line_at;
    size_t len;
    int r;

    /* What cannot become a method is refused at its first byte: a client that speaks TLS, say. */
    if (is_first && head->len == 0 && bytes->len > 0 && !http_is_token(str_slice(*bytes, 0, 1)))
        return ERR_HTTP_SYNTAX;
    r = take_line(head, parse->line_at, max,
                  is_first ? ERR_HTTP_TARGET_LENGTH : ERR_HTTP_HEAD_LENGTH, bytes);
    if (r <= 0)
        return r;
    len = head->len - parse->line_at - 1;
    if (is_first) {
        r = httphead_request_line(request, parse->line_at, len);
        parse->state = STATE_HEADER;
    } else if (len == 1 && head->data[parse->line_at] == '\r') {
        return finish_head(parse);
    } else {
        r = httphead_header_line(request, parse->line_at, len);
    }
    parse->line_at = head->len;
    return r < 0 ? r : 1;
}

/* ---- the body ---- */

static int complete(struct httpparse *parse)
{
    parse->state = STATE_COMPLETE;
    return 0;
}

static int begin_body(struct httpparse *parse)
{
    const struct http_request *request = &parse->request;

    if (!request->has_body)
        return complete(parse);
    parse->left = request->content_length;
    parse->line_at = 0;
    parse->state = request->is_chunked ? STATE_CHUNK_LINE : STATE_IDENTITY;
    return 1;
}

/* Hands on what belongs to the body, or to the chunk with its CRLF. */
static int pass_on(struct httpparse *parse, struct str *bytes)
{
    struct str part = str_slice(*bytes, 0, parse->left < SIZE_MAX ? (size_t)parse->left : SIZE_MAX);
    int r;

    if (part.len == 0)
        return 0;
    parse->left -= part.len;
    *bytes = str_slice(*bytes, part.len, SIZE_MAX);
    r = read_too(parse, part);
    if (r < 0)
        return r;
    if (parse->left > 0)
        return 0;
    if (parse->state == STATE_CHUNK_DATA) {
        parse->state = STATE_CHUNK_LINE;
        return parse->has_finished ? ERR_HTTP_FRAMING : 1;
    }
    return parse->has_finished ? complete(parse) : ERR_HTTP_FRAMING;
}

static int read_chunk_line(struct httpparse *parse, struct str *bytes)
{
    int r = take_line(&parse->lines, 0, HTTP_MAX_CHUNK_LINE_BYTES, ERR_HTTP_SYNTAX, bytes);
    struct str line;

    if (r <= 0)
        return r;
    line = buf_view(&parse->lines);
    if (line.len < CRLF_BYTES ||
        !http_is_field_value((struct str){line.ptr, line.len - CRLF_BYTES}))
        return ERR_HTTP_SYNTAX;
    r = read_too(parse, line);
    if (r < 0)
        return r;
    buf_clear(&parse->lines);
    if (parse->llhttp.content_length == 0) {
        parse->state = STATE_TRAILER;
        return 1;
    }
    if (parse->llhttp.content_length > INT64_MAX)
        return ERR_HTTP_FRAMING;
    parse->left = parse->llhttp.content_length + CRLF_BYTES;
    parse->state = STATE_CHUNK_DATA;
    return 1;
}

static int read_trailer(struct httpparse *parse, struct str *bytes)
{
    struct buf *lines = &parse->lines;
    int r = take_line(lines, parse->line_at, HTTP_MAX_TRAILER_BYTES - parse->line_at,
                      ERR_HTTP_HEAD_LENGTH, bytes);
    struct str line;

    if (r <= 0)
        return r;
    line = line_of(lines, parse->line_at);
    parse->line_at = lines->len;
    if (!str_eq(line, STR("\r\n"))) {
        r = httphead_trailer_line((struct str){line.ptr, line.len - 1});
        return r < 0 ? r : 1;
    }
    r = read_too(parse, buf_view(lines));
    if (r < 0)
        return r;
    return parse->has_finished ? complete(parse) : ERR_HTTP_FRAMING;
}

/* 1 when there may be more to do with the bytes at hand. */
static int step(struct httpparse *parse, struct str *bytes, int *out_event)
{
    int r = 0;

    switch (parse->state) {
    case STATE_LINE:
    case STATE_HEADER:
        r = read_head(parse, bytes);
        *out_event = parse->state == STATE_TOLD ? HTTPPARSE_HEAD : HTTPPARSE_MORE;
        return r;
    case STATE_TOLD:
        r = begin_body(parse);
        break;
    case STATE_IDENTITY:
    case STATE_CHUNK_DATA:
        r = pass_on(parse, bytes);
        break;
    case STATE_CHUNK_LINE:
        r = read_chunk_line(parse, bytes);
        break;
    case STATE_TRAILER:
        r = read_trailer(parse, bytes);
        break;
    case STATE_COMPLETE:
        break;
    case STATE_REFUSED:
        return parse->error;
    }
    *out_event = parse->state == STATE_COMPLETE ? HTTPPARSE_COMPLETE : HTTPPARSE_MORE;
    return r;
}

int httpparse_feed(struct httpparse *parse, struct str *bytes,
                   void (*on_body_bytes)(void *data, struct str bytes), void *data)
{
    int event = HTTPPARSE_MORE;
    int r = 1;

    parse->on_body = on_body_bytes;
    parse->data = data;
    while (r > 0)
        r = step(parse, bytes, &event);
    if (r < 0) {
        parse->state = STATE_REFUSED;
        parse->error = r;
        return r;
    }
    return event;
}

/* ---- lives ---- */

int httpparse_new(struct httpparse **out_parse)
{
    struct httpparse *parse = malloc(sizeof(*parse));
    int r;

    if (parse == NULL)
        return ERR_NO_MEMORY;
    buf_init(&parse->request.head, HTTP_MAX_HEAD_BYTES);
    buf_init(&parse->request.decoded, HTTP_MAX_LINE_BYTES);
    buf_init(&parse->lines, HTTP_MAX_TRAILER_BYTES);
    httpparse_reset(parse);
    r = buf_reserve(&parse->request.head, HEAD_FIRST_BYTES);
    if (r < 0) {
        free(parse);
        return r;
    }
    *out_parse = parse;
    return 0;
}

void httpparse_free(struct httpparse *parse)
{
    if (parse == NULL)
        return;
    buf_done(&parse->request.head);
    buf_done(&parse->request.decoded);
    buf_done(&parse->lines);
    free(parse);
}

void httpparse_reset(struct httpparse *parse)
{
    struct http_request *request = &parse->request;

    if (request->head.capacity > HEAD_KEPT_BYTES)
        buf_done(&request->head);
    buf_done(&parse->lines);
    buf_done(&request->decoded);
    buf_clear(&request->head);
    request->header_count = 0;
    request->keeps_alive = false;
    request->expects_continue = false;
    request->is_chunked = false;
    request->has_body = false;
    request->content_length = 0;
    request->body = STR_EMPTY;
    parse->state = STATE_LINE;
    parse->has_finished = false;
    parse->error = 0;
    parse->line_at = 0;
    parse->left = 0;
}

struct http_request *httpparse_request(struct httpparse *parse)
{
    return &parse->request;
}

bool httpparse_is_untouched(const struct httpparse *parse)
{
    return parse->state == STATE_LINE && parse->request.head.len == 0;
}
