/* SPDX-License-Identifier: Apache-2.0 */
#include "net/httpresponse.h"

#include <stdlib.h>

#include "base/err.h"
#include "net/httpbody.h"
#include "net/httphead.h"

enum { VERSION_BYTES = 8, STATUS_BYTES = 3 };

/* LINE -> HEADER -> TOLD -> BODY -> COMPLETE, and from HEADER back to LINE after an interim one. */
enum state {
    STATE_LINE,
    STATE_HEADER,
    STATE_TOLD,
    STATE_BODY,
    STATE_COMPLETE,
    STATE_REFUSED,
};

struct httpresponse {
    struct http_response response;
    struct httpbody body;
    enum state state;
    enum httpresponse_to to;
    int error;
    unsigned interim;
    size_t line_at; /* where the line under way begins in the head */
};

/* Two of these would let two readers choose differently. */
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

/* "HTTP/1.1 200 OK", of which the words and the space before them may be missing. */
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
    /* Checked also where no body follows: what is said about it has to make sense. */
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

static int finish_head(struct httpresponse *parse)
{
    struct http_response *response = &parse->response;
    int r = check_framing(parse);

    if (r < 0)
        return r;
    r = httpbody_read_head(&parse->body, HTTP_RESPONSE, buf_view(&response->head),
                           !can_have_body(parse));
    if (r < 0)
        return r;
    if (parse->body.has_finished == response->has_body)
        return ERR_HTTP_FRAMING;
    response->keeps_alive = parse->body.keeps_alive && !response->lasts_until_end;
    if (response->status >= 200) {
        parse->state = STATE_TOLD;
        return 0;
    }
    /* Nobody asked to change the protocol. */
    if (response->status == 101 || ++parse->interim > HTTPRESPONSE_MAX_INTERIM)
        return ERR_HTTP_SYNTAX;
    forget_head(response);
    parse->line_at = 0;
    parse->state = STATE_LINE;
    return 1;
}

static int read_head(struct httpresponse *parse, struct str *bytes)
{
    struct http_response *response = &parse->response;
    struct buf *head = &response->head;
    bool is_first = parse->state == STATE_LINE;
    size_t max = is_first ? HTTP_MAX_LINE_BYTES : HTTP_MAX_HEAD_BYTES - parse->line_at;
    size_t len;
    int r;

    r = httpbody_take_line(head, parse->line_at, max, ERR_HTTP_HEAD_LENGTH, bytes);
    if (r <= 0)
        return r;
    len = head->len - parse->line_at - 1;
    if (is_first) {
        r = read_status_line(response, (struct str){head->data, len});
        parse->state = STATE_HEADER;
    } else if (len == 1 && head->data[parse->line_at] == '\r') {
        return finish_head(parse);
    } else {
        r = read_header_line(response, parse->line_at, len);
    }
    parse->line_at = head->len;
    return r < 0 ? r : 1;
}

/* ---- the body ---- */

static int begin_body(struct httpresponse *parse)
{
    const struct http_response *response = &parse->response;

    if (!response->has_body) {
        parse->state = STATE_COMPLETE;
        return 0;
    }
    httpbody_begin(&parse->body,
                   response->is_chunked        ? HTTPBODY_CHUNKED
                   : response->lasts_until_end ? HTTPBODY_UNTIL_END
                                               : HTTPBODY_LENGTH,
                   response->content_length);
    parse->state = STATE_BODY;
    return 1;
}

static int read_body(struct httpresponse *parse, struct str *bytes)
{
    int r = httpbody_step(&parse->body, bytes);

    if (r == 0 && httpbody_is_complete(&parse->body))
        parse->state = STATE_COMPLETE;
    return r;
}

/* 1 when there may be more to do with the bytes at hand. */
static int step(struct httpresponse *parse, struct str *bytes, int *out_event)
{
    int r = 0;

    switch (parse->state) {
    case STATE_LINE:
    case STATE_HEADER:
        r = read_head(parse, bytes);
        *out_event = parse->state == STATE_TOLD ? HTTPRESPONSE_HEAD : HTTPRESPONSE_MORE;
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
    *out_event = parse->state == STATE_COMPLETE ? HTTPRESPONSE_COMPLETE : HTTPRESPONSE_MORE;
    return r;
}

int httpresponse_feed(struct httpresponse *parse, struct str *bytes,
                      void (*on_body)(void *data, struct str bytes), void *data)
{
    int event = HTTPRESPONSE_MORE;
    int r = 1;

    parse->body.on_body = on_body;
    parse->body.data = data;
    while (r > 0)
        r = step(parse, bytes, &event);
    if (r < 0) {
        parse->state = STATE_REFUSED;
        /* The codes underneath speak of requests. */
        parse->error = r == ERR_NO_MEMORY ? r : ERR_HTTP_ANSWER;
        return parse->error;
    }
    return event;
}

int httpresponse_end(struct httpresponse *parse)
{
    switch (parse->state) {
    case STATE_LINE:
    case STATE_HEADER:
        return ERR_CONNECTION_LOST;
    case STATE_TOLD:
        if (parse->response.has_body && !parse->response.lasts_until_end)
            return ERR_CONNECTION_LOST;
        break;
    case STATE_BODY:
        if (!parse->response.lasts_until_end)
            return ERR_CONNECTION_LOST;
        break;
    case STATE_COMPLETE:
        break;
    case STATE_REFUSED:
        return parse->error;
    }
    parse->state = STATE_COMPLETE;
    return 0;
}

/* ---- lives ---- */

int httpresponse_new(struct httpresponse **out_parse)
{
    struct httpresponse *parse = calloc(1, sizeof(*parse));

    if (parse == NULL)
        return ERR_NO_MEMORY;
    buf_init(&parse->response.head, HTTP_MAX_HEAD_BYTES);
    httpbody_init(&parse->body);
    httpresponse_reset(parse, HTTPRESPONSE_TO_ANY);
    *out_parse = parse;
    return 0;
}

void httpresponse_free(struct httpresponse *parse)
{
    if (parse == NULL)
        return;
    buf_done(&parse->response.head);
    httpbody_done(&parse->body);
    free(parse);
}

void httpresponse_reset(struct httpresponse *parse, enum httpresponse_to to)
{
    httpbody_done(&parse->body);
    forget_head(&parse->response);
    parse->response.status = 0;
    parse->state = STATE_LINE;
    parse->to = to;
    parse->error = 0;
    parse->interim = 0;
    parse->line_at = 0;
}

const struct http_response *httpresponse_get(const struct httpresponse *parse)
{
    return &parse->response;
}

bool httpresponse_is_untouched(const struct httpresponse *parse)
{
    return parse->state == STATE_LINE && parse->interim == 0 && parse->response.head.len == 0;
}
