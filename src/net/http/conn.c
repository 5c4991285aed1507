/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/server_internal.h"

#include <stdlib.h>

#include "base/err.h"

/* What waits while a request is handled: reading stops at HELD_PAUSE_BYTES, one read later at most.
 */
enum { HELD_MAX_BYTES = HELD_PAUSE_BYTES + 2 * CONN_READ_BYTES };

static struct exchange *exchange_of(struct conn *conn)
{
    return (struct exchange *)(void *)conn;
}

static struct exchange *exchange_of_deadline(struct deadline *deadline)
{
    return list_entry(deadline, struct exchange, deadline);
}

/* ---- states ---- */

static void watch_sending(struct exchange *exchange)
{
    exchange->seen_taken = exchange->sent_bytes - conn_kept(&exchange->conn);
    deadline_start(exchange->server->send_ring, &exchange->deadline);
}

/* The only function that changes the state; each state has its own timeout. */
static void enter(struct exchange *exchange, enum exchange_state state)
{
    const struct httpserver *server = exchange->server;

    exchange->state = state;
    switch (state) {
    case EXCHANGE_IDLE:
        deadline_start(server->idle_ring, &exchange->deadline);
        break;
    case EXCHANGE_HEAD:
        deadline_start(server->head_ring, &exchange->deadline);
        break;
    case EXCHANGE_BODY:
        exchange->incoming->window_bytes = 0;
        deadline_start(server->body_ring, &exchange->deadline);
        break;
    case EXCHANGE_HANDLED:
    case EXCHANGE_RAW:
    case EXCHANGE_FLUSH:
        if (conn_kept(&exchange->conn) > 0)
            watch_sending(exchange);
        else
            deadline_stop(&exchange->deadline);
        break;
    case EXCHANGE_LINGER:
        if (conn_kept(&exchange->conn) > 0)
            watch_sending(exchange);
        else
            deadline_start(server->linger_ring, &exchange->deadline);
        break;
    case EXCHANGE_CLOSED:
        deadline_stop(&exchange->deadline);
        break;
    }
}

static bool takes_bytes(const struct exchange *exchange)
{
    switch (exchange->state) {
    case EXCHANGE_IDLE:
    case EXCHANGE_HEAD:
        return true;
    case EXCHANGE_BODY:
    case EXCHANGE_RAW:
        return !exchange->is_held_up || exchange->answer == ANSWER_DONE;
    case EXCHANGE_HANDLED:
    case EXCHANGE_FLUSH:
    case EXCHANGE_LINGER:
    case EXCHANGE_CLOSED:
        return false;
    }
    return false;
}

/* ---- ends ---- */

static void write_log(struct exchange *exchange, bool is_complete)
{
    struct httpserver *server = exchange->server;
    struct http_access access = {
        .peer = &exchange->peer,
        .status = exchange->status,
        .is_complete = is_complete,
        .sent_bytes = exchange->sent_bytes,
    };

    if (exchange->is_logged || server->config.on_access == NULL)
        return;
    exchange->is_logged = true;
    if (exchange->began_ms >= 0) {
        access.took_ms = loop_now_ms(server->loop) - exchange->began_ms;
        access.method = http_method_name(exchange->method);
        if (exchange->incoming != NULL)
            access.request = httpparse_request(exchange->incoming->parse);
        if (exchange->target != NULL)
            access.target = str_from(exchange->target);
        else if (access.request != NULL)
            access.target = access.request->target;
    }
    server->config.on_access(server->config.data, &access);
}

void httpconn_release_incoming(struct exchange *exchange)
{
    if (exchange->incoming == NULL)
        return;
    httpserver_give_incoming(exchange->server, exchange->incoming);
    exchange->incoming = NULL;
}

static void destroy_if_done(struct exchange *exchange)
{
    if (!exchange->is_released || exchange->is_owed)
        return;
    httpconn_release_incoming(exchange);
    if (exchange->server != NULL)
        httpserver_forget(exchange->server, exchange);
    buf_done(&exchange->held);
    free(exchange->target);
    free(exchange);
}

bool httpconn_is_watched(const struct exchange *exchange)
{
    return exchange->events != NULL && exchange->events->on_gone != NULL &&
           exchange->answer != ANSWER_DONE;
}

void httpconn_tell_gone(struct exchange *exchange)
{
    const struct exchange_events *events = exchange->events;
    bool is_told = httpconn_is_watched(exchange);

    exchange->events = NULL;
    if (!is_told)
        return;
    exchange->is_owed = false;
    exchange->answer = ANSWER_DONE;
    events->on_gone(exchange->data);
}

void httpconn_cut(struct exchange *exchange)
{
    if (exchange->state == EXCHANGE_CLOSED)
        return;
    enter(exchange, EXCHANGE_CLOSED);
    list_remove(&exchange->turn);
    write_log(exchange, false);
    conn_close(&exchange->conn);
    httpconn_tell_gone(exchange);
    if (exchange->server != NULL)
        httpserver_uncount(exchange->server, exchange);
}

void httpconn_end(struct exchange *exchange)
{
    struct conn *conn = &exchange->conn;

    if (exchange->state == EXCHANGE_CLOSED)
        return;
    write_log(exchange, true);
    conn_flush(conn);
    if (conn->is_broken || (conn->has_ended && conn_kept(conn) == 0)) {
        httpconn_cut(exchange);
        return;
    }
    /* Closed with bytes unread, the system would reset the connection, and the answer be lost. */
    conn_shut(conn);
    list_remove(&exchange->turn);
    buf_done(&exchange->held);
    enter(exchange, EXCHANGE_LINGER);
    conn_resume(conn);
}

/* ---- requests ---- */

static void take_body(void *data, struct str bytes)
{
    struct exchange *exchange = data;
    struct incoming *incoming = exchange->incoming;

    incoming->body_bytes += bytes.len;
    incoming->window_bytes += bytes.len;
    if (exchange->state != EXCHANGE_BODY || incoming->error < 0)
        return;
    if (exchange->answer == ANSWER_DONE) {
        if (incoming->body_bytes > DISCARD_MAX_BYTES)
            incoming->error = ERR_TOO_LARGE;
    } else if (incoming->body_bytes > incoming->max_body) {
        incoming->error = ERR_TOO_LARGE;
    } else if (incoming->is_streamed) {
        exchange->on_piece(exchange->data, bytes);
    } else {
        incoming->error = httpserver_collect(exchange->server, incoming, bytes);
    }
}

static bool begin_request(struct exchange *exchange)
{
    exchange->incoming = httpserver_take_incoming(exchange->server);
    if (exchange->incoming == NULL) {
        httpconn_cut(exchange);
        return false;
    }
    exchange->events = NULL;
    exchange->data = NULL;
    exchange->answer = ANSWER_NONE;
    exchange->method = HTTP_METHOD_GET;
    exchange->status = 0;
    exchange->sent_bytes = 0;
    exchange->began_ms = -1;
    exchange->is_http10 = false;
    exchange->is_logged = false;
    exchange->is_complete = false;
    exchange->is_chunked = false;
    exchange->has_no_body = false;
    exchange->keeps_alive = false;
    exchange->is_held_up = false;
    enter(exchange, EXCHANGE_HEAD);
    return true;
}

static void hand_over(struct exchange *exchange)
{
    struct httpserver *server = exchange->server;
    const struct http_request *request = httpparse_request(exchange->incoming->parse);

    server->stats.requests++;
    exchange->method = request->method;
    exchange->is_http10 = request->minor == 0;
    exchange->keeps_alive = request->keeps_alive;
    exchange->is_complete = !request->has_body;
    exchange->began_ms = loop_now_ms(server->loop);
    exchange->is_owed = true;
    enter(exchange, EXCHANGE_HANDLED);
    server->config.on_request(server->config.data, exchange);
}

static void complete_body(struct exchange *exchange)
{
    struct incoming *incoming = exchange->incoming;

    exchange->is_complete = true;
    enter(exchange, EXCHANGE_HANDLED);
    if (exchange->answer == ANSWER_DONE)
        return;
    exchange->is_owed = true;
    httpparse_request(incoming->parse)->body = buf_view(&incoming->body);
    incoming->on_collected(incoming->data, exchange);
    /* Streams forget the request as soon as it has been read. */
    if (exchange->answer == ANSWER_OPEN && exchange->state == EXCHANGE_HANDLED)
        httpconn_release_incoming(exchange);
}

/* The request was read and answered. */
static void finish(struct exchange *exchange)
{
    write_log(exchange, true);
    httpconn_release_incoming(exchange);
    free(exchange->target);
    exchange->target = NULL;
    exchange->events = NULL;
    if (exchange->conn.has_ended)
        conn_flush(&exchange->conn);
    if (!exchange->keeps_alive || exchange->conn.is_broken)
        httpconn_end(exchange);
    else if (conn_kept(&exchange->conn) > 0)
        enter(exchange, EXCHANGE_FLUSH);
    else
        enter(exchange, EXCHANGE_IDLE);
}

static bool read_on(struct exchange *exchange, struct str *bytes)
{
    int event;

    if (exchange->state == EXCHANGE_BODY && !takes_bytes(exchange))
        return false;
    event = httpparse_feed(exchange->incoming->parse, bytes, take_body, exchange);
    /* A handler may have ended it all. */
    if (exchange->state != EXCHANGE_HEAD && exchange->state != EXCHANGE_BODY)
        return false;
    if (event >= 0 && exchange->incoming->error < 0)
        event = exchange->incoming->error;
    /* A body that is dropped after its answer is not worth another answer. */
    if (exchange->answer == ANSWER_DONE && (event < 0 || !exchange->keeps_alive)) {
        exchange->keeps_alive = false;
        finish(exchange);
        return false;
    }
    if (event < 0) {
        exchange_refuse(exchange, event);
        return false;
    }
    if (event == HTTPPARSE_HEAD)
        hand_over(exchange);
    else if (event == HTTPPARSE_COMPLETE)
        complete_body(exchange);
    return event != HTTPPARSE_MORE;
}

static bool go_on_handled(struct exchange *exchange)
{
    if (exchange->answer == ANSWER_DONE && (exchange->is_complete || !exchange->keeps_alive)) {
        finish(exchange);
        return true;
    }
    if (!exchange->is_complete &&
        (exchange->answer == ANSWER_DONE || exchange->incoming->is_wanted)) {
        enter(exchange, EXCHANGE_BODY);
        return true;
    }
    return false;
}

static bool go_on_raw(struct exchange *exchange, struct str *bytes)
{
    struct str piece = *bytes;

    if (exchange->answer == ANSWER_DONE) {
        finish(exchange);
        return true;
    }
    if (bytes->len == 0 || exchange->is_held_up)
        return false;
    *bytes = STR_EMPTY;
    exchange->on_piece(exchange->data, piece);
    return true;
}

/* True if there may be more to do. */
static bool step(struct exchange *exchange, struct str *bytes)
{
    switch (exchange->state) {
    case EXCHANGE_IDLE:
        return bytes->len > 0 && begin_request(exchange);
    case EXCHANGE_HEAD:
    case EXCHANGE_BODY:
        return read_on(exchange, bytes);
    case EXCHANGE_HANDLED:
        return go_on_handled(exchange);
    case EXCHANGE_RAW:
        return go_on_raw(exchange, bytes);
    case EXCHANGE_FLUSH:
    case EXCHANGE_LINGER:
    case EXCHANGE_CLOSED:
        return false;
    }
    return false;
}

static void advance(struct exchange *exchange, struct str *bytes)
{
    unsigned begun = 0;

    exchange->is_advancing = true;
    while (exchange->state != EXCHANGE_IDLE || begun++ < TURN_REQUESTS)
        if (!step(exchange, bytes))
            break;
    exchange->is_advancing = false;
}

void httpconn_ask_turn(struct exchange *exchange)
{
    struct httpserver *server = exchange->server;

    if (list_is_empty(&exchange->turn))
        list_append(&server->turns, &exchange->turn);
    loop_defer(server->loop, &server->turn_task);
}

void httpconn_make_raw(struct exchange *exchange)
{
    enter(exchange, EXCHANGE_RAW);
}

/* After every change: handles what waits, and continues or stops reading. */
static void look_after(struct exchange *exchange)
{
    struct conn *conn = &exchange->conn;

    if (exchange->state == EXCHANGE_CLOSED || exchange->state == EXCHANGE_LINGER)
        return;
    if (exchange->held.len > 0 && takes_bytes(exchange)) {
        httpconn_ask_turn(exchange);
    } else if (takes_bytes(exchange) && conn->has_ended) {
        httpconn_cut(exchange); /* in the middle of a request, or between two */
        return;
    } else if (exchange->state == EXCHANGE_IDLE && exchange->server->is_closing) {
        httpconn_end(exchange);
        return;
    }
    if (exchange->held.len >= HELD_PAUSE_BYTES)
        conn_pause(conn);
    else
        conn_resume(conn);
}

void httpconn_take_turn(struct exchange *exchange)
{
    struct buf held = exchange->held;
    struct str bytes = buf_view(&held);

    if (exchange->state == EXCHANGE_CLOSED) {
        httpconn_tell_gone(exchange);
        destroy_if_done(exchange);
        return;
    }
    if (exchange->conn.is_broken) {
        httpconn_cut(exchange);
        return;
    }
    buf_init(&exchange->held, HELD_MAX_BYTES);
    advance(exchange, &bytes);
    if (bytes.len > 0 && exchange->state != EXCHANGE_LINGER && exchange->state != EXCHANGE_CLOSED) {
        buf_drop_front(&held, held.len - bytes.len);
        exchange->held = held;
    } else {
        buf_done(&held);
    }
    look_after(exchange);
}

void httpconn_settle(struct exchange *exchange)
{
    struct str none = STR_EMPTY;

    if (exchange->is_advancing)
        return;
    if (exchange->state == EXCHANGE_CLOSED) {
        destroy_if_done(exchange);
        return;
    }
    advance(exchange, &none);
    look_after(exchange);
}

void httpconn_after_write(struct exchange *exchange)
{
    if (exchange->conn.is_broken) {
        httpconn_ask_turn(exchange);
    } else if ((exchange->state == EXCHANGE_HANDLED || exchange->state == EXCHANGE_RAW) &&
               conn_kept(&exchange->conn) > 0 && list_is_empty(&exchange->deadline.node)) {
        watch_sending(exchange);
    }
}

/* ---- what the connection tells ---- */

static void on_bytes(struct conn *conn, struct str bytes)
{
    struct exchange *exchange = exchange_of(conn);

    if (exchange->held.len == 0 && takes_bytes(exchange))
        advance(exchange, &bytes);
    if (exchange->state == EXCHANGE_LINGER || exchange->state == EXCHANGE_CLOSED)
        return;
    if (bytes.len > 0 && buf_append_str(&exchange->held, bytes) < 0) {
        httpconn_cut(exchange);
        return;
    }
    look_after(exchange);
}

/* As if the send itself had left something. */
static void on_kept(struct conn *conn)
{
    struct exchange *exchange = exchange_of(conn);

    switch (exchange->state) {
    case EXCHANGE_IDLE:
        enter(exchange, EXCHANGE_FLUSH);
        break;
    case EXCHANGE_HANDLED:
    case EXCHANGE_RAW:
        httpconn_after_write(exchange);
        break;
    case EXCHANGE_HEAD:
    case EXCHANGE_BODY:
    case EXCHANGE_FLUSH:
    case EXCHANGE_LINGER:
    case EXCHANGE_CLOSED:
        break;
    }
}

static void on_end(struct conn *conn, int error)
{
    struct exchange *exchange = exchange_of(conn);

    conn_flush(conn);
    if (conn->kept != NULL)
        on_kept(conn);
    /*
     * A client that closes and one that only stops sending look the same. Handlers with on_gone
     * take it for the first; for the others the answer is still written.
     */
    if (error < 0 || exchange->state == EXCHANGE_LINGER || httpconn_is_watched(exchange))
        httpconn_cut(exchange);
    else
        look_after(exchange);
}

static void on_drained(struct conn *conn)
{
    struct exchange *exchange = exchange_of(conn);

    switch (exchange->state) {
    case EXCHANGE_HANDLED:
    case EXCHANGE_RAW:
        deadline_stop(&exchange->deadline);
        break;
    case EXCHANGE_FLUSH:
        enter(exchange, EXCHANGE_IDLE);
        look_after(exchange);
        return;
    case EXCHANGE_LINGER:
        if (conn->has_ended)
            httpconn_cut(exchange);
        else
            enter(exchange, EXCHANGE_LINGER);
        return;
    case EXCHANGE_IDLE:
    case EXCHANGE_HEAD:
    case EXCHANGE_BODY:
    case EXCHANGE_CLOSED:
        break;
    }
    if (exchange->answer == ANSWER_OPEN && exchange->events != NULL &&
        exchange->events->on_drained != NULL)
        exchange->events->on_drained(exchange->data);
}

static void on_closed(struct conn *conn)
{
    struct exchange *exchange = exchange_of(conn);

    exchange->is_released = true;
    destroy_if_done(exchange);
}

static const struct conn_events CONN_EVENTS = {.on_bytes = on_bytes,
                                               .on_end = on_end,
                                               .on_drained = on_drained,
                                               .on_kept = on_kept,
                                               .on_closed = on_closed,
                                               .owner_bytes = sizeof(struct exchange)};

/* ---- time ---- */

void httpconn_expire_head(struct deadline *deadline)
{
    struct exchange *exchange = exchange_of_deadline(deadline);

    if (exchange->state == EXCHANGE_HEAD)
        exchange_refuse(exchange, ERR_HTTP_SLOW);
    else
        httpconn_cut(exchange); /* never said a word */
}

void httpconn_expire_body(struct deadline *deadline)
{
    struct exchange *exchange = exchange_of_deadline(deadline);
    struct httpserver *server = exchange->server;

    /* A client whose bytes nobody takes is not slow. */
    if (exchange->is_held_up ||
        exchange->incoming->window_bytes >= server->config.body_window_bytes) {
        exchange->incoming->window_bytes = 0;
        deadline_start(server->body_ring, deadline);
    } else {
        exchange_refuse(exchange, ERR_HTTP_SLOW);
    }
}

void httpconn_expire_idle(struct deadline *deadline)
{
    httpconn_cut(exchange_of_deadline(deadline));
}

void httpconn_expire_send(struct deadline *deadline)
{
    struct exchange *exchange = exchange_of_deadline(deadline);
    uint64_t taken = exchange->sent_bytes - conn_kept(&exchange->conn);

    if ((int64_t)(taken - exchange->seen_taken) >=
        (int64_t)exchange->server->config.send_window_bytes)
        watch_sending(exchange);
    else
        httpconn_cut(exchange);
}

void httpconn_expire_linger(struct deadline *deadline)
{
    httpconn_cut(exchange_of_deadline(deadline));
}

/* ---- birth ---- */

int httpconn_open(struct httpserver *server, int fd, const struct address *peer,
                  struct address_count *from)
{
    struct exchange *exchange = calloc(1, sizeof(*exchange));
    struct filter *filter = NULL;
    int r;

    if (exchange == NULL) {
        close(fd);
        return ERR_NO_MEMORY;
    }
    if (server->config.make_filter != NULL) {
        r = server->config.make_filter(server->config.data, &filter);
        if (r < 0) {
            close(fd);
            free(exchange);
            return r;
        }
    }
    r = conn_init(&exchange->conn, server->loop, server->space, fd, server->config.max_kept_bytes,
                  &CONN_EVENTS);
    if (r < 0) {
        if (filter != NULL)
            filter->ops->free(filter);
        free(exchange);
        return r;
    }
    exchange->server = server;
    exchange->peer = *peer;
    exchange->from = from;
    exchange->is_logged = true; /* nothing was asked yet */
    exchange->answer = ANSWER_DONE;
    buf_init(&exchange->held, HELD_MAX_BYTES);
    list_init(&exchange->turn);
    deadline_init(&exchange->deadline);
    list_append(&server->unmarked, &exchange->node);
    exchange->is_unmarked = true;
    server->unmarked_count++;
    server->stats.connections++;
    server->counted++;
    exchange->is_counted = true;
    /* The first request has no more time than the later ones, its connecting included. */
    exchange->state = EXCHANGE_IDLE;
    deadline_start(server->head_ring, &exchange->deadline);
    if (filter != NULL && conn_set_filter(&exchange->conn, filter) < 0)
        httpconn_cut(exchange);
    else
        conn_resume(&exchange->conn);
    return 0;
}
