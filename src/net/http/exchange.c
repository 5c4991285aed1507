/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/exchange.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "net/http/server_internal.h"

enum {
    NUMBER_BYTES = 24,
    ERROR_BODY_BYTES = 4 << 10,
};

/* Set by the server: a second one would make the answer ambiguous. */
static const struct str OWN_FIELDS[] = {
    STR_LITERAL("connection"), STR_LITERAL("content-length"),    STR_LITERAL("content-type"),
    STR_LITERAL("date"),       STR_LITERAL("transfer-encoding"),
};

/* ---- the request ---- */

const struct http_request *exchange_request(const struct exchange *exchange)
{
    assert(exchange->incoming != NULL && "the request is forgotten");
    return httpparse_request(exchange->incoming->parse);
}

const struct address *exchange_peer(const struct exchange *exchange)
{
    return &exchange->peer;
}

int exchange_peer_uid(const struct exchange *exchange, uid_t *out_uid)
{
    return conn_peer_uid(&exchange->conn, out_uid);
}

void exchange_mark_connection(struct exchange *exchange)
{
    exchange->is_marked = true;
    if (exchange->server != NULL)
        httpserver_keep(exchange->server, exchange);
}

bool exchange_is_connection_marked(const struct exchange *exchange)
{
    return exchange->is_marked;
}

static bool is_over(const struct exchange *exchange)
{
    return exchange->answer == ANSWER_DONE || exchange->state == EXCHANGE_CLOSED;
}

/* Sends 100 Continue to clients that wait for it. */
static void invite_body(struct exchange *exchange)
{
    const struct str invitation = STR("HTTP/1.1 100 Continue\r\n\r\n");
    struct http_request *request = httpparse_request(exchange->incoming->parse);

    exchange->incoming->is_wanted = true;
    if (!request->expects_continue)
        return;
    request->expects_continue = false;
    /* What fails here is found again when the answer is written. */
    (void)conn_send(&exchange->conn, &invitation, 1);
}

void exchange_collect(struct exchange *exchange, size_t max_bytes, exchange_handler *on_complete,
                      void *data)
{
    struct incoming *incoming = exchange->incoming;

    if (is_over(exchange)) {
        /* The client left meanwhile; there is nothing to collect and nobody to answer. */
        exchange->is_owed = false;
        httpconn_settle(exchange);
        return;
    }
    if (exchange->is_complete) {
        on_complete(data, exchange);
        return;
    }
    if (httpparse_request(incoming->parse)->content_length > max_bytes) {
        exchange_answer_error(exchange, ERR_TOO_LARGE);
        return;
    }
    incoming->max_body = max_bytes;
    incoming->on_collected = on_complete;
    incoming->data = data;
    incoming->body.max = max_bytes; /* what it has of an earlier request may be more */
    exchange->is_owed = false;
    invite_body(exchange);
    httpconn_settle(exchange);
}

void exchange_stream(struct exchange *exchange, uint64_t max_bytes, exchange_piece *on_piece,
                     exchange_handler *on_complete, void *data)
{
    struct incoming *incoming = exchange->incoming;

    if (is_over(exchange))
        return; /* on_gone comes, or has come */
    if (exchange->is_complete) {
        on_complete(data, exchange);
        return;
    }
    if (httpparse_request(incoming->parse)->content_length > max_bytes) {
        exchange_refuse(exchange, ERR_TOO_LARGE);
        return;
    }
    exchange->on_piece = on_piece;
    incoming->is_streamed = true;
    incoming->max_body = max_bytes;
    incoming->on_collected = on_complete;
    incoming->data = data;
    invite_body(exchange);
    httpconn_settle(exchange);
}

void exchange_hold_pieces(struct exchange *exchange)
{
    exchange->is_held_up = true;
}

void exchange_take_pieces(struct exchange *exchange)
{
    if (!exchange->is_held_up)
        return;
    exchange->is_held_up = false;
    httpconn_settle(exchange);
}

void exchange_watch(struct exchange *exchange, const struct exchange_events *events, void *data)
{
    exchange->events = events;
    exchange->data = data;
    /* It may have left before anybody wanted to know. */
    if (exchange->state == EXCHANGE_CLOSED && exchange->answer != ANSWER_DONE)
        httpconn_ask_turn(exchange);
}

/* ---- heads ---- */

static const char *date_of(struct httpserver *server)
{
    int64_t now_ms = loop_wall_ms(server->loop);

    if (now_ms / 1000 != server->date_s) {
        server->date_s = now_ms / 1000;
        http_format_date(now_ms, server->date);
    }
    return server->date;
}

/* The digits, at the end of `space`. */
static struct str number_text(uint64_t number, unsigned base, char space[NUMBER_BYTES])
{
    size_t at = NUMBER_BYTES;

    do {
        space[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    return (struct str){space + at, NUMBER_BYTES - at};
}

static int append_field(struct buf *head, struct str name, struct str value)
{
    int r = buf_reserve(head, name.len + value.len + 4);

    if (r < 0)
        return r;
    buf_append_str(head, name);
    buf_append(head, ": ", 2);
    buf_append_str(head, value);
    return buf_append(head, "\r\n", 2);
}

static bool is_own_field(struct str name)
{
    for (size_t i = 0; i < array_size(OWN_FIELDS); i++)
        if (str_eq_nocase(name, OWN_FIELDS[i]))
            return true;
    return false;
}

static int append_fields(struct buf *head, const struct http_answer *answer)
{
    int r = 0;

    if (answer->type.len > 0) {
        if (!http_is_field_value(answer->type))
            return ERR_INVALID_ARGUMENT;
        r = append_field(head, STR("Content-Type"), answer->type);
    }
    for (size_t i = 0; i < answer->field_count && r == 0; i++) {
        const struct http_field *field = &answer->fields[i];

        if (!http_is_token(field->name) || !http_is_field_value(field->value) ||
            is_own_field(field->name))
            return ERR_INVALID_ARGUMENT;
        r = append_field(head, field->name, field->value);
    }
    return r;
}

/* Drops an unread body if that is cheap; a client that waits for 100 Continue gets none. */
static void decide_keeping(struct exchange *exchange)
{
    const struct http_request *request = httpparse_request(exchange->incoming->parse);

    if (!exchange->is_complete &&
        (request->expects_continue || request->content_length > DISCARD_MAX_BYTES))
        exchange->keeps_alive = false;
    if (exchange->server->is_closing)
        exchange->keeps_alive = false;
}

/* `length` of the body; UINT64_MAX for one in pieces. */
static int put_head(struct exchange *exchange, const struct http_answer *answer, uint64_t length)
{
    struct httpserver *server = exchange->server;
    struct buf *head = &server->scratch;
    char digits[NUMBER_BYTES];
    bool says_length = answer->status != 204 && answer->status != 304;
    int r;

    assert(answer->status >= 200 && answer->status <= 599);
    buf_clear(head);
    r = buf_append_str(head, STR("HTTP/1.1 "));
    if (r == 0)
        r = buf_append_str(head, number_text((uint64_t)answer->status, 10, digits));
    if (r == 0)
        r = buf_append_char(head, ' ');
    if (r == 0)
        r = buf_append_str(head, str_from(http_reason(answer->status)));
    if (r == 0)
        r = buf_append(head, "\r\n", 2);
    if (r == 0)
        r = append_field(head, STR("Date"), str_from(date_of(server)));
    if (r == 0)
        r = append_fields(head, answer);
    if (r == 0 && length != UINT64_MAX && says_length) {
        r = append_field(head, STR("Content-Length"), number_text(length, 10, digits));
    }
    if (r == 0 && exchange->is_chunked)
        r = append_field(head, STR("Transfer-Encoding"), STR("chunked"));
    if (r == 0 && !exchange->keeps_alive)
        r = append_field(head, STR("Connection"), STR("close"));
    else if (r == 0 && exchange->is_http10)
        r = append_field(head, STR("Connection"), STR("keep-alive"));
    return r < 0 ? r : buf_append(head, "\r\n", 2);
}

static bool has_no_body(const struct exchange *exchange, int status)
{
    return exchange->method == HTTP_METHOD_HEAD || status == 204 || status == 304;
}

/* ---- whole answers ---- */

/* Sends the head in the server's scratch buffer, then the parts. */
static int send_with_head(struct exchange *exchange, const struct str *parts, size_t count)
{
    struct str all[EXCHANGE_MAX_PARTS + 1] = {buf_view(&exchange->server->scratch)};
    size_t total = all[0].len;
    int r;

    for (size_t i = 0; i < count; i++) {
        total += parts[i].len;
        all[1 + i] = parts[i];
    }
    r = conn_send(&exchange->conn, all, 1 + count);
    if (r == 0)
        exchange->sent_bytes += total;
    return r;
}

static void mark_answered(struct exchange *exchange)
{
    exchange->answer = ANSWER_DONE;
    exchange->is_owed = false;
}

static int try_answer(struct exchange *exchange, const struct http_answer *answer)
{
    uint64_t length = 0;
    int r;

    for (size_t i = 0; i < answer->part_count; i++)
        length += answer->parts[i].len;
    r = put_head(exchange, answer, length);
    if (r < 0)
        return r;
    exchange->status = (uint16_t)answer->status;
    return send_with_head(exchange, answer->parts,
                          has_no_body(exchange, answer->status) ? 0 : answer->part_count);
}

void exchange_answer(struct exchange *exchange, const struct http_answer *answer)
{
    static const struct http_answer broken = {.status = 500};
    int r;

    assert(answer->part_count <= EXCHANGE_MAX_PARTS);
    if (exchange->state == EXCHANGE_CLOSED || exchange->answer != ANSWER_NONE) {
        mark_answered(exchange);
        httpconn_settle(exchange);
        return;
    }
    decide_keeping(exchange);
    if (answer->is_last)
        exchange->keeps_alive = false;
    r = try_answer(exchange, answer);
    /* Nothing was sent if the head is invalid or the whole is over the limit. */
    if (r == ERR_INVALID_ARGUMENT || r == ERR_TOO_LARGE)
        r = try_answer(exchange, &broken);
    mark_answered(exchange);
    if (r < 0)
        httpconn_cut(exchange);
    httpconn_settle(exchange);
}

/* {"error":{"name":"too_large","message":"larger than its limit"}} */
/* Without memory there is none, and the status must do. */
static struct str write_error_body(const struct exchange *exchange, int error, struct buf *out)
{
    const struct httpserver *server = exchange->server;
    struct str path = STR_EMPTY;
    int r = ERR_UNSUPPORTED;

    if (exchange->began_ms >= 0 && exchange->incoming != NULL)
        path = httpparse_request(exchange->incoming->parse)->path;
    if (server != NULL && server->config.write_error != NULL)
        r = server->config.write_error(server->config.data, path, error, out);
    if (r < 0) {
        buf_clear(out);
        r = buf_printf(out, "{\"error\":{\"name\":\"%s\",\"message\":\"%s\"}}\n", err_name(error),
                       err_text(error));
    }
    return r < 0 ? STR_EMPTY : buf_view(out);
}

void exchange_answer_error(struct exchange *exchange, int error)
{
    cleanup_buf struct buf text = BUF_INIT(ERROR_BODY_BYTES);
    struct str body = write_error_body(exchange, error, &text);

    exchange_answer(exchange, &(struct http_answer){.status = err_http_status(error),
                                                    .type = STR("application/json"),
                                                    .parts = &body,
                                                    .part_count = 1});
}

void exchange_refuse(struct exchange *exchange, int error)
{
    cleanup_buf struct buf text = BUF_INIT(ERROR_BODY_BYTES);
    struct str body = write_error_body(exchange, error, &text);
    const struct http_answer answer = {.status = err_http_status(error),
                                       .type = STR("application/json"),
                                       .parts = &body,
                                       .part_count = 1};
    bool can_answer = exchange->answer == ANSWER_NONE;

    exchange->server->stats.refused++;
    exchange->keeps_alive = false;
    httpconn_tell_gone(exchange);
    if (!can_answer || try_answer(exchange, &answer) < 0) {
        httpconn_cut(exchange);
        return;
    }
    mark_answered(exchange);
    httpconn_end(exchange);
    /* What was received of it is not kept while the client reads this. */
    httpconn_release_incoming(exchange);
}

/* ---- answers in pieces ---- */

/* Frees the request's memory; keeps the target for the log. */
static void forget_request(struct exchange *exchange)
{
    struct str target = str_slice(exchange_request(exchange)->target, 0, LOGGED_TARGET_BYTES);

    if (exchange->server->config.on_access != NULL)
        exchange->target = strndup(target.ptr, target.len);
    if (exchange->is_complete)
        httpconn_release_incoming(exchange);
}

void exchange_begin(struct exchange *exchange, const struct http_answer *head)
{
    static const struct http_answer broken = {.status = 500};
    int r;

    if (is_over(exchange))
        return;
    assert(exchange->answer == ANSWER_NONE && head->part_count == 0);
    decide_keeping(exchange);
    exchange->has_no_body = has_no_body(exchange, head->status);
    /* HTTP/1.0 knows no pieces: the end of the connection is the end of the answer. */
    exchange->is_chunked = !exchange->has_no_body && !exchange->is_http10;
    if (!exchange->is_chunked && !exchange->has_no_body)
        exchange->keeps_alive = false;
    exchange->status = (uint16_t)head->status;
    r = put_head(exchange, head, UINT64_MAX);
    if (r == 0)
        r = send_with_head(exchange, NULL, 0);
    if (r == ERR_INVALID_ARGUMENT || r == ERR_TOO_LARGE) {
        exchange->is_chunked = false;
        exchange->has_no_body = true; /* what the handler still writes is dropped */
        r = try_answer(exchange, &broken);
    }
    exchange->answer = ANSWER_OPEN;
    forget_request(exchange);
    if (r == 0)
        return;
    /* Reported by the loop, not from inside this call: the caller does not have the stream yet. */
    exchange->conn.is_broken = true;
    httpconn_ask_turn(exchange);
}

int exchange_upgrade(struct exchange *exchange, struct str lines, exchange_piece *on_piece)
{
    struct buf *head = &exchange->server->scratch;
    int r;

    if (is_over(exchange))
        return 0; /* on_gone comes */
    if (!exchange->is_complete || exchange->is_http10)
        return ERR_INVALID_ARGUMENT;
    assert(exchange->answer == ANSWER_NONE);
    buf_clear(head);
    r = buf_printf(head, "HTTP/1.1 101 %s\r\n%.*s\r\n", http_reason(101), STR_ARG(lines));
    exchange->keeps_alive = false;
    exchange->is_chunked = false;
    exchange->has_no_body = false;
    exchange->status = 101;
    exchange->on_piece = on_piece;
    if (r == 0)
        r = send_with_head(exchange, NULL, 0);
    exchange->answer = ANSWER_OPEN;
    forget_request(exchange);
    httpconn_make_raw(exchange);
    if (r < 0)
        exchange->conn.is_broken = true;
    httpconn_ask_turn(exchange); /* for bytes that came with the request, or to tell of the end */
    return 0;
}

static int write_piece(struct exchange *exchange, const struct str *parts, size_t count)
{
    struct str all[EXCHANGE_MAX_PARTS + 3];
    char size[NUMBER_BYTES];
    size_t total = 0;
    size_t used = 0;
    int r;

    for (size_t i = 0; i < count; i++)
        total += parts[i].len;
    if (total == 0) /* an empty chunk would be the last one */
        return 0;
    if (exchange->is_chunked) {
        all[used++] = number_text(total, 16, size);
        all[used++] = STR("\r\n");
    }
    for (size_t i = 0; i < count; i++)
        all[used++] = parts[i];
    if (exchange->is_chunked)
        all[used++] = STR("\r\n");
    r = conn_send(&exchange->conn, all, used);
    for (size_t i = 0; i < used && r == 0; i++)
        exchange->sent_bytes += all[i].len;
    return r;
}

int exchange_write(struct exchange *exchange, const struct str *parts, size_t count)
{
    int r;

    assert(count <= EXCHANGE_MAX_PARTS);
    if (is_over(exchange) || exchange->has_no_body)
        return 0;
    assert(exchange->answer == ANSWER_OPEN);
    r = write_piece(exchange, parts, count);
    if (r == ERR_TOO_LARGE)
        return r;
    /* The loop reports a broken connection, not this call. */
    httpconn_after_write(exchange);
    return 0;
}

size_t exchange_kept(const struct exchange *exchange)
{
    return conn_kept(&exchange->conn);
}

void exchange_end(struct exchange *exchange)
{
    const struct str last = STR("0\r\n\r\n");
    int r = 0;

    if (exchange->answer == ANSWER_OPEN && exchange->state != EXCHANGE_CLOSED &&
        exchange->is_chunked)
        r = conn_send(&exchange->conn, &last, 1);
    if (r == 0)
        exchange->sent_bytes += exchange->is_chunked ? last.len : 0;
    mark_answered(exchange);
    if (r < 0)
        httpconn_cut(exchange);
    httpconn_settle(exchange);
}

void exchange_cut(struct exchange *exchange)
{
    mark_answered(exchange);
    httpconn_cut(exchange);
    httpconn_settle(exchange);
}
