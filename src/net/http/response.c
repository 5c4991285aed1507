/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/response.h"

#include <stdlib.h>

#include "base/err.h"
#include "net/http/head.h"
#include "net/http/message.h"

enum { VERSION_BYTES = 8, STATUS_BYTES = 3 };

_Static_assert((int)HTTPRESPONSE_HEAD == HTTPMESSAGE_HEAD &&
                   (int)HTTPRESPONSE_COMPLETE == HTTPMESSAGE_COMPLETE,
               "the events are the same");

struct httpresponse {
    struct http_response response;
    struct httpmessage message;
    enum httpresponse_to to;
    unsigned interim;
};

/* Duplicates of these would be ambiguous. */
static const struct str SINGLETONS[] = {
    STR_LITERAL("content-length"),
    STR_LITERAL("transfer-encoding"),
    STR_LITERAL("content-type"),
    STR_LITERAL("location"),
};

struct http_field http_response_header_at(const struct http_response *response, size_t index)
{
    const struct http_slot *slot = &response->slots[index];

    return (struct http_field){
        .name = {response->head.data + slot->name_at, slot->name_len},
        .value = {response->head.data + slot->value_at, slot->value_len},
    };
}

bool http_response_header(const struct http_response *response, struct str name,
                          struct str *out_value)
{
    for (size_t i = 0; i < response->header_count; i++) {
        struct http_field field = http_response_header_at(response, i);

        if (str_eq_nocase(field.name, name)) {
            *out_value = field.value;
            return true;
        }
    }
    return false;
}

/* ---- the head ---- */

/* "HTTP/1.1 200 OK"; the reason and the space before it may be missing. */
static int read_status_line(struct http_response *response, struct str line)
{
    struct str words;
    int r;

    if (line.len < VERSION_BYTES + 1 + STATUS_BYTES + 1 || line.ptr[line.len - 1] != '\r' ||
        line.ptr[VERSION_BYTES] != ' ')
        return ERR_HTTP_SYNTAX;
    line.len--;
    r = httphead_version(str_slice(line, 0, VERSION_BYTES), &response->minor);
    if (r < 0)
        return r;
    response->status = 0;
    for (size_t i = VERSION_BYTES + 1; i < VERSION_BYTES + 1 + STATUS_BYTES; i++) {
        if (line.ptr[i] < '0' || line.ptr[i] > '9')
            return ERR_HTTP_SYNTAX;
        response->status = response->status * 10 + (line.ptr[i] - '0');
    }
    words = str_slice(line, VERSION_BYTES + 1 + STATUS_BYTES, SIZE_MAX);
    if (response->status < 100 || (words.len > 0 && words.ptr[0] != ' ') ||
        !http_is_field_value(words))
        return ERR_HTTP_SYNTAX;
    return 0;
}

static int read_header_line(struct http_response *response, size_t at, size_t len)
{
    const char *base = response->head.data;
    struct str name;
    struct str value;

    if (!httphead_cut_header((struct str){base + at, len}, &name, &value))
        return ERR_HTTP_SYNTAX;
    if (response->header_count == HTTP_MAX_HEADERS)
        return ERR_HTTP_HEAD_LENGTH;
    response->slots[response->header_count++] = (struct http_slot){
        .name_at = (uint16_t)(name.ptr - base),
        .name_len = (uint16_t)name.len,
        .value_at = (uint16_t)(value.ptr - base),
        .value_len = (uint16_t)value.len,
    };
    return 0;
}

static bool has_twice(const struct http_response *response, struct str name)
{
    unsigned count = 0;

    for (size_t i = 0; i < response->header_count; i++)
        count += str_eq_nocase(http_response_header_at(response, i).name, name);
    return count > 1;
}

static bool can_have_body(const struct httpresponse *parse)
{
    int status = parse->response.status;

    if (parse->to == HTTPRESPONSE_TO_HEAD || status < 200 || status == 204 || status == 304)
        return false;
    return parse->to != HTTPRESPONSE_TO_CONNECT || status >= 300;
}

static int check_framing(struct httpresponse *parse)
{
    struct http_response *response = &parse->response;
    struct str length;
    struct str coding;
    bool has_length = http_response_header(response, STR("content-length"), &length);
    bool has_coding = http_response_header(response, STR("transfer-encoding"), &coding);

    for (size_t i = 0; i < array_size(SINGLETONS); i++)
        if (has_twice(response, SINGLETONS[i]))
            return ERR_HTTP_FRAMING;
    /* Checked even if no body follows: the headers about it must make sense. */
    if (has_length && has_coding)
        return ERR_HTTP_FRAMING;
    if (has_coding && (response->minor == 0 || !str_eq_nocase(coding, STR("chunked"))))
        return ERR_HTTP_CODING;
    if (has_length && httphead_length(length, &response->content_length) < 0)
        return ERR_HTTP_FRAMING;
    if (!can_have_body(parse)) {
        response->content_length = 0;
        return 0;
    }
    response->is_chunked = has_coding;
    response->lasts_until_end = !has_coding && !has_length;
    response->has_body = has_coding || !has_length || response->content_length > 0;
    return 0;
}

static void forget_head(struct http_response *response)
{
    buf_clear(&response->head);
    response->header_count = 0;
    response->keeps_alive = false;
    response->is_chunked = false;
    response->lasts_until_end = false;
    response->has_body = false;
    response->content_length = 0;
}

static int finish_head(void *owner)
{
    struct httpresponse *parse = owner;
    struct httpbody *body = &parse->message.body;
    struct http_response *response = &parse->response;
    int r = check_framing(parse);

    if (r < 0)
        return r;
    r = httpbody_read_head(body, HTTP_RESPONSE, buf_view(&response->head), !can_have_body(parse));
    if (r < 0)
        return r;
    if (body->has_finished == response->has_body)
        return ERR_HTTP_FRAMING;
    response->keeps_alive = body->keeps_alive && !response->lasts_until_end;
    if (response->status >= 200 ||
        (response->status == 101 && parse->to == HTTPRESPONSE_TO_UPGRADE)) {
        parse->message.state = HTTPMESSAGE_TOLD;
        return 0;
    }
    /* A change of protocol was not requested. */
    if (response->status == 101 || ++parse->interim > HTTPRESPONSE_MAX_INTERIM)
        return ERR_HTTP_SYNTAX;
    forget_head(response);
    parse->message.line_at = 0;
    parse->message.state = HTTPMESSAGE_LINE;
    return 1;
}

static int read_line(void *owner, bool is_first, size_t at, size_t len)
{
    struct http_response *response = &((struct httpresponse *)owner)->response;

    return is_first ? read_status_line(response, (struct str){response->head.data, len})
                    : read_header_line(response, at, len);
}

static bool frame(const void *owner, enum httpbody_framing *out_framing, uint64_t *out_length)
{
    const struct http_response *response = &((const struct httpresponse *)owner)->response;

    *out_framing = response->is_chunked        ? HTTPBODY_CHUNKED
                   : response->lasts_until_end ? HTTPBODY_UNTIL_END
                                               : HTTPBODY_LENGTH;
    *out_length = response->content_length;
    return response->has_body;
}

int httpresponse_feed(struct httpresponse *parse, struct str *bytes,
                      void (*on_body)(void *data, struct str bytes), void *data)
{
    static const struct httpmessage_kind answer = {read_line, finish_head, frame,
                                                   ERR_HTTP_HEAD_LENGTH};
    int r;

    parse->message.body.on_body = on_body;
    parse->message.body.data = data;
    r = httpmessage_take(&parse->message, &answer, parse, &parse->response.head, bytes);
    if (r < 0 && r != ERR_NO_MEMORY)
        r = parse->message.error = ERR_HTTP_ANSWER; /* the codes underneath speak of requests */
    return r;
}

int httpresponse_end(struct httpresponse *parse)
{
    switch (parse->message.state) {
    case HTTPMESSAGE_LINE:
    case HTTPMESSAGE_HEADER:
        return ERR_CONNECTION_LOST;
    case HTTPMESSAGE_TOLD:
        if (parse->response.has_body && !parse->response.lasts_until_end)
            return ERR_CONNECTION_LOST;
        break;
    case HTTPMESSAGE_BODY:
        if (!parse->response.lasts_until_end)
            return ERR_CONNECTION_LOST;
        break;
    case HTTPMESSAGE_DONE:
        break;
    case HTTPMESSAGE_REFUSED:
        return parse->message.error;
    }
    parse->message.state = HTTPMESSAGE_DONE;
    return 0;
}

/* ---- lives ---- */

int httpresponse_new(struct httpresponse **out_parse)
{
    struct httpresponse *parse = calloc(1, sizeof(*parse));

    if (parse == NULL)
        return ERR_NO_MEMORY;
    buf_init(&parse->response.head, HTTP_MAX_HEAD_BYTES);
    httpbody_init(&parse->message.body);
    httpresponse_reset(parse, HTTPRESPONSE_TO_ANY);
    *out_parse = parse;
    return 0;
}

void httpresponse_free(struct httpresponse *parse)
{
    if (parse == NULL)
        return;
    buf_done(&parse->response.head);
    httpbody_done(&parse->message.body);
    free(parse);
}

void httpresponse_reset(struct httpresponse *parse, enum httpresponse_to to)
{
    httpmessage_reset(&parse->message);
    forget_head(&parse->response);
    parse->response.status = 0;
    parse->to = to;
    parse->interim = 0;
}

const struct http_response *httpresponse_get(const struct httpresponse *parse)
{
    return &parse->response;
}

bool httpresponse_is_untouched(const struct httpresponse *parse)
{
    return parse->message.state == HTTPMESSAGE_LINE && parse->interim == 0 &&
           parse->response.head.len == 0;
}
