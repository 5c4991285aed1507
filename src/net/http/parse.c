/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/parse.h"

#include <stdlib.h>

#include "base/err.h"
#include "net/http/head.h"
#include "net/http/message.h"

enum {
    /* Room for the head of most requests; what grew larger is not kept for the next one. */
    HEAD_FIRST_BYTES = 1 << 10,
    HEAD_KEPT_BYTES = 4 << 10,
};

_Static_assert((int)HTTPPARSE_HEAD == HTTPMESSAGE_HEAD &&
                   (int)HTTPPARSE_COMPLETE == HTTPMESSAGE_COMPLETE,
               "the events are the same");

struct httpparse {
    struct http_request request;
    struct httpmessage message;
};

/* ---- the head ---- */

static int finish_head(void *owner)
{
    struct httpparse *parse = owner;
    struct httpbody *body = &parse->message.body;
    struct http_request *request = &parse->request;
    int r = httphead_finish(request);

    if (r < 0)
        return r;
    r = httpbody_read_head(body, HTTP_REQUEST, buf_view(&request->head), false);
    if (r < 0)
        return r;
    request->keeps_alive = body->keeps_alive;
    if (body->has_finished == request->has_body)
        return ERR_HTTP_FRAMING;
    parse->message.state = HTTPMESSAGE_TOLD;
    return 0;
}

static int read_line(void *owner, bool is_first, size_t at, size_t len)
{
    struct http_request *request = &((struct httpparse *)owner)->request;

    return is_first ? httphead_request_line(request, at, len)
                    : httphead_header_line(request, at, len);
}

static bool frame(const void *owner, enum httpbody_framing *out_framing, uint64_t *out_length)
{
    const struct http_request *request = &((const struct httpparse *)owner)->request;

    *out_framing = request->is_chunked ? HTTPBODY_CHUNKED : HTTPBODY_LENGTH;
    *out_length = request->content_length;
    return request->has_body;
}

int httpparse_feed(struct httpparse *parse, struct str *bytes,
                   void (*on_body_bytes)(void *data, struct str bytes), void *data)
{
    static const struct httpmessage_kind request = {read_line, finish_head, frame,
                                                    ERR_HTTP_TARGET_LENGTH};
    struct httpmessage *message = &parse->message;
    struct buf *head = &parse->request.head;

    /* What cannot become a method is refused at its first byte: a client that speaks TLS, say. */
    if (message->state == HTTPMESSAGE_LINE && head->len == 0 && bytes->len > 0 &&
        !http_is_token(str_slice(*bytes, 0, 1))) {
        message->state = HTTPMESSAGE_REFUSED;
        message->error = ERR_HTTP_SYNTAX;
    }
    message->body.on_body = on_body_bytes;
    message->body.data = data;
    return httpmessage_take(message, &request, parse, head, bytes);
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
    httpbody_init(&parse->message.body);
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
    httpbody_done(&parse->message.body);
    free(parse);
}

void httpparse_reset(struct httpparse *parse)
{
    struct http_request *request = &parse->request;

    if (request->head.capacity > HEAD_KEPT_BYTES)
        buf_done(&request->head);
    httpmessage_reset(&parse->message);
    buf_done(&request->decoded);
    buf_clear(&request->head);
    request->header_count = 0;
    request->keeps_alive = false;
    request->expects_continue = false;
    request->is_chunked = false;
    request->has_body = false;
    request->content_length = 0;
    request->body = STR_EMPTY;
}

struct http_request *httpparse_request(struct httpparse *parse)
{
    return &parse->request;
}
