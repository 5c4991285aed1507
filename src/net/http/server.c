/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/server.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "net/http/server_internal.h"

enum {
    ACCEPTS_A_TURN = 64,
    UNMARKED_TURNS = 8, /* that a new connection has, at least, before others push it out */
    RETRY_MS = 100,     /* when the process has no descriptor left for a connection */
    V6_NETWORK_BYTES = 8,
};

/* Separate from the server, because libuv releases a handle only an iteration later. */
struct listener {
    uv_poll_t poll;
    struct httpserver *server;
};

/* ---- requests that wait to be used again ---- */

static void incoming_free(struct incoming *incoming)
{
    httpparse_free(incoming->parse);
    buf_done(&incoming->body);
    free(incoming);
}

struct incoming *httpserver_take_incoming(struct httpserver *server)
{
    struct incoming *incoming = server->spare;

    if (incoming != NULL) {
        server->spare = incoming->next;
        server->spare_count--;
        return incoming;
    }
    incoming = calloc(1, sizeof(*incoming));
    if (incoming != NULL && httpparse_new(&incoming->parse) < 0) {
        free(incoming);
        return NULL;
    }
    return incoming;
}

void httpserver_give_incoming(struct httpserver *server, struct incoming *incoming)
{
    struct httpparse *parse = incoming->parse;

    if (server != NULL)
        server->stats.collected_bytes -= incoming->body.len;
    if (server == NULL || server->spare_count == SPARE_INCOMING) {
        incoming_free(incoming);
        return;
    }
    httpparse_reset(parse);
    if (incoming->body.capacity > SPARE_BODY_BYTES)
        buf_done(&incoming->body);
    buf_clear(&incoming->body);
    *incoming = (struct incoming){.parse = parse, .body = incoming->body, .next = server->spare};
    server->spare = incoming;
    server->spare_count++;
}

int httpserver_collect(struct httpserver *server, struct incoming *incoming, struct str bytes)
{
    size_t *collected = &server->stats.collected_bytes;
    int r;

    if (incoming->body.len + bytes.len > SMALL_COLLECTED_BYTES &&
        *collected + bytes.len > server->config.max_collected_bytes)
        return ERR_BUSY;
    r = buf_append_str(&incoming->body, bytes);
    if (r == 0)
        *collected += bytes.len;
    return r;
}

/* ---- who may connect ---- */

static struct str key_of(const struct address_count *count)
{
    return (struct str){(const char *)count->key, sizeof(count->key)};
}

/* NULL if there are too many from there, or no memory. */
static struct address_count *count_in(struct httpserver *server, const struct address *peer)
{
    static const uint8_t mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    struct address_count wanted = {.count = 0};
    struct address_count *count;

    memcpy(wanted.key, peer->ip, sizeof(wanted.key));
    if (memcmp(peer->ip, mapped, sizeof(mapped)) != 0)
        memset(wanted.key + V6_NETWORK_BYTES, 0, sizeof(wanted.key) - V6_NETWORK_BYTES);
    count = map_get(&server->addresses, key_of(&wanted));
    if (count == NULL) {
        count = malloc(sizeof(*count));
        if (count == NULL)
            return NULL;
        *count = wanted;
        if (map_add(&server->addresses, key_of(count), count) < 0) {
            free(count);
            return NULL;
        }
    }
    if (count->count >= server->config.max_per_address)
        return NULL;
    count->count++;
    return count;
}

static void count_out(struct httpserver *server, struct address_count *count)
{
    if (count == NULL || --count->count > 0)
        return;
    map_remove(&server->addresses, key_of(count));
    free(count);
}

static void finish_if_empty(struct httpserver *server)
{
    if (server->is_closing && server->stats.connections == 0 && server->on_finished != NULL)
        loop_defer(server->loop, &server->finish_task);
}

void httpserver_keep(struct httpserver *server, struct exchange *exchange)
{
    if (!exchange->is_unmarked)
        return;
    list_remove(&exchange->node);
    list_append(&server->exchanges, &exchange->node);
    exchange->is_unmarked = false;
    server->unmarked_count--;
}

void httpserver_uncount(struct httpserver *server, struct exchange *exchange)
{
    httpserver_keep(server, exchange);
    if (!exchange->is_counted || exchange->is_owed)
        return;
    exchange->is_counted = false;
    count_out(server, exchange->from);
    server->counted--;
}

void httpserver_forget(struct httpserver *server, struct exchange *exchange)
{
    list_remove(&exchange->turn);
    exchange->is_owed = false;
    httpserver_uncount(server, exchange);
    list_remove(&exchange->node);
    server->stats.connections--;
    exchange->server = NULL;
    finish_if_empty(server);
}

/* ---- accepting ---- */

/* One write, without waiting whether it arrives. */
static void turn_away(struct httpserver *server, int fd)
{
    static const char words[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
                                "Connection: close\r\nRetry-After: 1\r\n\r\n";

    server->stats.turned_away++;
    if (server->config.make_filter == NULL)
        (void)!write(fd, words, sizeof(words) - 1); /* a confined server may not send() */
    close(fd);
}

/* So that strangers who only connect cannot keep out those whom a handler knows. */
static void make_room(struct httpserver *server)
{
    const struct httpserver_config *config = &server->config;

    if (config->max_unmarked == 0 || server->unmarked_count == 0 ||
        (server->unmarked_count < config->max_unmarked &&
         server->counted < config->max_connections))
        return;
    server->stats.turned_away++;
    httpconn_cut(list_entry(server->unmarked.next, struct exchange, node));
}

static void welcome(struct httpserver *server, int fd, const struct sockaddr_storage *storage)
{
    struct address peer = address_from(storage);
    struct address_count *from = NULL;

    server->stats.accepted++;
    make_room(server);
    if (server->counted >= server->config.max_connections) {
        turn_away(server, fd);
        return;
    }
    if (peer.is_ip) {
        from = count_in(server, &peer);
        if (from == NULL) {
            turn_away(server, fd);
            return;
        }
    }
    if (httpconn_open(server, fd, &peer, from) < 0)
        count_out(server, from);
}

static void on_poll(uv_poll_t *poll, int status, int events);

static void resume_accepting(void *data)
{
    struct httpserver *server = data;

    if (server->listener != NULL)
        uv_poll_start(&server->listener->poll, UV_READABLE, on_poll);
}

/*
 * Accepts a few per iteration, so that a flood of connections does not starve the open ones, nor
 * push out new ones before their request is read.
 */
static unsigned accepts_a_turn(const struct httpserver *server)
{
    unsigned most = server->config.max_unmarked / UNMARKED_TURNS;

    if (server->config.max_unmarked == 0 || most >= ACCEPTS_A_TURN)
        return ACCEPTS_A_TURN;
    return most > 0 ? most : 1;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct httpserver *server = ((struct listener *)poll->data)->server;

    (void)status; /* accepting shows what is wrong */
    (void)events;
    for (unsigned i = accepts_a_turn(server); i > 0; i--) {
        struct sockaddr_storage storage = {0};
        socklen_t len = sizeof(storage);
        int fd = accept4(server->listen_fd, (struct sockaddr *)&storage, &len,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            welcome(server, fd, &storage);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            /* They would be reported endlessly, and can wait in the backlog. */
            uv_poll_stop(poll);
            timer_start(&server->retry, RETRY_MS);
            return;
        } else if (errno == EAGAIN || errno == EINVAL || errno == EBADF) {
            return;
        } /* else that one connection failed before it was taken */
    }
}

static void on_listener_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void stop_listening(struct httpserver *server)
{
    timer_stop(&server->retry);
    if (server->listener != NULL) {
        uv_poll_stop(&server->listener->poll);
        uv_close((uv_handle_t *)&server->listener->poll, on_listener_closed);
        server->listener = NULL;
    }
    if (server->listen_fd >= 0)
        close(server->listen_fd);
    server->listen_fd = -1;
}

static int start_listening(struct httpserver *server)
{
    struct listener *listener = malloc(sizeof(*listener));
    int r;

    if (listener == NULL)
        return ERR_NO_MEMORY;
    /* This also makes it non-blocking. */
    r = uv_poll_init(loop_uv(server->loop), &listener->poll, server->listen_fd);
    if (r < 0) {
        free(listener);
        return loop_error(r);
    }
    listener->poll.data = listener;
    listener->server = server;
    server->listener = listener;
    return loop_error(uv_poll_start(&listener->poll, UV_READABLE, on_poll));
}

/* ---- turns and ends ---- */

/* Moves the whole list. */
static void take_all(struct list *from, struct list *to)
{
    list_init(to);
    if (list_is_empty(from))
        return;
    *to = *from;
    to->next->prev = to;
    to->prev->next = to;
    list_init(from);
}

static void take_turns(void *data)
{
    struct httpserver *server = data;
    struct list batch;

    /* Unfinished ones wait for the next iteration. */
    take_all(&server->turns, &batch);
    while (!list_is_empty(&batch)) {
        struct exchange *exchange = list_entry(batch.next, struct exchange, turn);

        list_remove(&exchange->turn);
        httpconn_take_turn(exchange);
    }
}

static bool is_busy(const struct exchange *exchange)
{
    return exchange->state != EXCHANGE_IDLE || exchange->held.len > 0;
}

/* A handler that is told may end other exchanges: no pointer is held while one is cut. */
static void cut_in(struct list *exchanges, bool (*is_kept)(const struct exchange *exchange))
{
    struct list batch;

    take_all(exchanges, &batch);
    while (!list_is_empty(&batch)) {
        struct exchange *exchange = list_entry(batch.next, struct exchange, node);

        list_remove(&exchange->node);
        list_append(exchanges, &exchange->node);
        if (is_kept == NULL || !is_kept(exchange))
            httpconn_cut(exchange);
    }
}

/* The unmarked ones come last: being cut, they join the others. */
static void cut_each(struct httpserver *server, bool (*is_kept)(const struct exchange *exchange))
{
    cut_in(&server->exchanges, is_kept);
    cut_in(&server->unmarked, is_kept);
}

static void on_end_timer(void *data)
{
    cut_each(data, NULL);
}

static void tell_finished(void *data)
{
    struct httpserver *server = data;
    void (*on_finished)(void *data) = server->on_finished;

    timer_stop(&server->end);
    server->on_finished = NULL;
    on_finished(server->finished_data);
}

static void fill_in(struct httpserver_config *config)
{
#define DEFAULT(member, value)                                                                     \
    do {                                                                                           \
        if (config->member == 0)                                                                   \
            config->member = (value);                                                              \
    } while (0)
    DEFAULT(max_connections, HTTPSERVER_MAX_CONNECTIONS);
    DEFAULT(max_per_address, HTTPSERVER_MAX_PER_ADDRESS);
    DEFAULT(max_kept_bytes, HTTPSERVER_MAX_KEPT_BYTES);
    DEFAULT(max_collected_bytes, HTTPSERVER_MAX_COLLECTED_BYTES);
    DEFAULT(head_ms, HTTPSERVER_HEAD_MS);
    DEFAULT(body_window_ms, HTTPSERVER_BODY_WINDOW_MS);
    DEFAULT(body_window_bytes, HTTPSERVER_BODY_WINDOW_BYTES);
    DEFAULT(idle_ms, HTTPSERVER_IDLE_MS);
    DEFAULT(send_window_ms, HTTPSERVER_SEND_WINDOW_MS);
    DEFAULT(send_window_bytes, HTTPSERVER_SEND_WINDOW_BYTES);
    DEFAULT(linger_ms, HTTPSERVER_LINGER_MS);
#undef DEFAULT
}

int httpserver_new(struct loop *loop, int listen_fd, const struct httpserver_config *config,
                   struct httpserver **out_server)
{
    struct httpserver *server = calloc(1, sizeof(*server));
    struct deadlines *deadlines;
    int r = 0;

    if (server == NULL) {
        close(listen_fd);
        return ERR_NO_MEMORY;
    }
    server->loop = loop;
    server->config = *config;
    fill_in(&server->config);
    config = &server->config;
    server->listen_fd = listen_fd;
    server->addresses = (struct map)MAP_INIT(config->max_connections);
    server->date_s = -1;
    list_init(&server->exchanges);
    list_init(&server->unmarked);
    list_init(&server->turns);
    loop_task_init(&server->turn_task, take_turns, server);
    loop_task_init(&server->finish_task, tell_finished, server);
    timer_init(&server->retry, loop, resume_accepting, server);
    timer_init(&server->end, loop, on_end_timer, server);
    buf_init(&server->scratch, SCRATCH_MAX_BYTES);
    deadlines = &server->deadlines;
    deadlines_init(deadlines, loop);
    server->head_ring = deadlines_add_ring(deadlines, config->head_ms, httpconn_expire_head);
    server->body_ring = deadlines_add_ring(deadlines, config->body_window_ms, httpconn_expire_body);
    server->idle_ring = deadlines_add_ring(deadlines, config->idle_ms, httpconn_expire_idle);
    server->send_ring = deadlines_add_ring(deadlines, config->send_window_ms, httpconn_expire_send);
    server->linger_ring = deadlines_add_ring(deadlines, config->linger_ms, httpconn_expire_linger);
    if (config->space != NULL)
        server->space = conn_space_ref(config->space);
    else
        r = conn_space_new(&server->space);
    if (r == 0)
        r = start_listening(server);
    if (r < 0) {
        httpserver_free(server);
        return r;
    }
    *out_server = server;
    return 0;
}

void httpserver_free(struct httpserver *server)
{
    if (server == NULL)
        return;
    stop_listening(server);
    timer_stop(&server->end);
    loop_task_cancel(&server->finish_task);
    server->on_finished = NULL;
    cut_each(server, NULL);
    /* Their sockets are closing; the rest is freed with those. */
    while (!list_is_empty(&server->exchanges)) {
        struct exchange *exchange = list_entry(server->exchanges.next, struct exchange, node);

        httpserver_forget(server, exchange);
        exchange->events = NULL;
        if (exchange->is_released)
            httpconn_settle(exchange);
    }
    loop_task_cancel(&server->turn_task);
    deadlines_done(&server->deadlines);
    while (server->spare != NULL) {
        struct incoming *incoming = server->spare;

        server->spare = incoming->next;
        incoming_free(incoming);
    }
    map_done(&server->addresses);
    buf_done(&server->scratch);
    conn_space_unref(server->space);
    free(server);
}

void httpserver_shutdown(struct httpserver *server, int64_t within_ms,
                         void (*on_finished)(void *data), void *data)
{
    assert(!server->is_closing);
    server->is_closing = true;
    server->on_finished = on_finished;
    server->finished_data = data;
    stop_listening(server);
    cut_each(server, is_busy);
    timer_start(&server->end, within_ms);
    finish_if_empty(server);
}

void httpserver_shed(struct httpserver *server, int64_t stalled_ms)
{
    deadline_ring_hasten(server->send_ring, stalled_ms);
}

void httpserver_cut_unwatched(struct httpserver *server)
{
    cut_each(server, httpconn_is_watched);
}

void httpserver_stats(const struct httpserver *server, struct httpserver_stats *out_stats)
{
    *out_stats = server->stats;
    out_stats->kept_bytes = conn_space_kept(server->space);
}

void http_access_log(const struct http_access *access, const struct log *log)
{
    char peer[ADDRESS_TEXT_BYTES];
    struct str query = access->target;
    struct str path = STR_EMPTY;

    if (!log_wants(log, LOG_INFO))
        return;
    address_format(access->peer, peer);
    str_cut(&query, '?', &path);
    log_write(log, LOG_INFO, "request", LOG_TEXT("peer", peer), LOG_STR("method", access->method),
              LOG_STR("path", path), LOG_INT("status", access->status),
              LOG_INT("bytes", (int64_t)access->sent_bytes), LOG_INT("ms", access->took_ms));
}
