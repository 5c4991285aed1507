/* SPDX-License-Identifier: Apache-2.0 */
#include "net/httpparse.h"

#include <stdlib.h>

#include "base/err.h"
#include "net/httpbody.h"
#include "net/httphead.h"

enum {
    /* Room for the head of most requests; what grew larger is not kept for the next one. */
    HEAD_FIRST_BYTES = 1 << 10,
    HEAD_KEPT_BYTES = 4 << 10,
};

/* LINE -> HEADER -> TOLD -> BODY -> COMPLETE */
enum state {
    STATE_LINE,
    STATE_HEADER,
    STATE_TOLD, /* of the head; the body, if there is one, begins */
    STATE_BODY,
    STATE_COMPLETE,
    STATE_REFUSED,
};

struct httpparse {
    struct http_request request;
    struct httpbody body;
    enum state state;
    int error;
    size_t line_at; /* where the line under way begins in the head */
};

/* ---- the head ---- */

static int finish_head(struct httpparse *parse)
{
    struct http_request *request = &parse->request;
    int r = httphead_finish(request);

    if (r < 0)
        return r;
    r = httpbody_read_head(&parse->body, HTTP_REQUEST, buf_view(&request->head), false);
    if (r < 0)
        return r;
    request->keeps_alive = parse->body.keeps_alive;
    if (parse->body.has_finished == request->has_body)
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
    r = httpbody_take_line(head, parse->line_at, max,
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

static int begin_body(struct httpparse *parse)
{
    const struct http_request *request = &parse->request;

    if (!request->has_body) {
        parse->state = STATE_COMPLETE;
        return 0;
    }
    httpbody_begin(&parse->body, request->is_chunked ? HTTPBODY_CHUNKED : HTTPBODY_LENGTH,
                   request->content_length);
    parse->state = STATE_BODY;
    return 1;
}

static int read_body(struct httpparse *parse, struct str *bytes)
{
    int r = httpbody_step(&parse->body, bytes);

    if (r == 0 && httpbody_is_complete(&parse->body))
        parse->state = STATE_COMPLETE;
    return r;
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
    case STATE_BODY:
        r = read_body(parse, bytes);
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

    parse->body.on_body = on_body_bytes;
    parse->body.data = data;
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
    httpbody_init(&parse->body);
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
    httpbody_done(&parse->body);
    free(parse);
}

void httpparse_reset(struct httpparse *parse)
{
    struct http_request *request = &parse->request;

    if (request->head.capacity > HEAD_KEPT_BYTES)
        buf_done(&request->head);
    httpbody_done(&parse->body);
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
    parse->error = 0;
    parse->line_at = 0;
}

struct http_request *httpparse_request(struct httpparse *parse)
{
    return &parse->request;
}
