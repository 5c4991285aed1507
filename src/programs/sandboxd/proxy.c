/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/proxy.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    HEAD_BYTES = 2 * HTTP_MAX_HEAD_BYTES,
    HOLD_BYTES = 64 << 10, /* unread by one side: the other waits */
    KEPT_BYTES = HOLD_BYTES + 4 * CONN_READ_BYTES,
    CHUNK_BYTES = 24,
};

/*
 *   CONNECTING -> ASKING -> ANSWERING -> OVER
 *                     `---> TUNNEL ------^
 */
enum proxy_state {
    PROXY_CONNECTING,
    PROXY_ASKING,    /* the sandbox has not answered */
    PROXY_ANSWERING, /* its head went to the client */
    PROXY_TUNNEL,    /* a WebSocket */
    PROXY_OVER,      /* there is no exchange any more */
};

struct proxy {
    struct conn conn; /* to the sandbox */
    struct list node;
    struct proxies *proxies;
    char sandbox[SANDBOXSTORE_ID_BYTES];
    struct exchange *exchange;
    enum proxy_state state;
    bool has_conn;
    bool is_upgrade;
    bool is_chunked; /* the request's body */
    struct httpresponse *parse;
    struct forward_plan plan;
    struct buf texts; /* of the plan */
};

/* ---- the end ---- */

static void free_proxy(struct proxy *proxy)
{
    list_remove(&proxy->node);
    proxy->proxies->count--;
    httpresponse_free(proxy->parse);
    buf_done(&proxy->texts);
    free(proxy);
}

/* The exchange, which the caller ends; the rest goes when nothing refers to it any more. */
static struct exchange *leave(struct proxy *proxy)
{
    struct exchange *exchange = proxy->exchange;

    proxy->exchange = NULL;
    proxy->state = PROXY_OVER;
    if (proxy->has_conn)
        conn_close(&proxy->conn);
    return exchange;
}

/* Whatever was sent so far: the client learns that this is not all. */
static void fail(struct proxy *proxy, int status, const char *text)
{
    const bool has_begun = proxy->state == PROXY_ANSWERING || proxy->state == PROXY_TUNNEL;
    void (*answer)(struct exchange *, int, const char *) = proxy->proxies->refuse;
    struct exchange *exchange = leave(proxy);

    if (exchange == NULL)
        return;
    if (has_begun)
        exchange_cut(exchange);
    else
        answer(exchange, status, text);
}

static void finish(struct proxy *proxy)
{
    struct exchange *exchange = leave(proxy);

    if (exchange != NULL)
        exchange_end(exchange);
}

/* ---- from the client ---- */

static void on_gone(void *data)
{
    (void)leave(data);
}

static void on_client_drained(void *data)
{
    struct proxy *proxy = data;

    if (proxy->has_conn && proxy->state != PROXY_OVER)
        conn_resume(&proxy->conn);
}

static const struct exchange_events exchange_events = {.on_gone = on_gone,
                                                       .on_drained = on_client_drained};

static void send_parts(struct proxy *proxy, const struct str *parts, size_t count)
{
    int r = conn_send(&proxy->conn, parts, count);

    /* A sandbox that reads no more may still have an answer. */
    if (r == ERR_TOO_LARGE || (r < 0 && proxy->state == PROXY_TUNNEL))
        fail(proxy, 502, "the sandbox did not take the request");
    else if (r == 0 && conn_kept(&proxy->conn) > HOLD_BYTES)
        exchange_hold_pieces(proxy->exchange);
}

static void on_piece(void *data, struct str bytes)
{
    struct proxy *proxy = data;
    char size[CHUNK_BYTES];
    struct str parts[] = {{size, 0}, bytes, STR("\r\n")};

    if (proxy->state == PROXY_OVER || bytes.len == 0)
        return;
    parts[0].len = (size_t)snprintf(size, sizeof(size), "%zx\r\n", bytes.len);
    if (proxy->is_chunked && proxy->state != PROXY_TUNNEL)
        send_parts(proxy, parts, array_size(parts));
    else
        send_parts(proxy, &bytes, 1);
}

static void on_whole_body(void *data, struct exchange *exchange)
{
    struct proxy *proxy = data;
    const struct str last = STR("0\r\n\r\n");

    (void)exchange;
    if (proxy->state != PROXY_OVER && proxy->is_chunked)
        send_parts(proxy, &last, 1);
}

/* ---- from the sandbox ---- */

static void pass(struct proxy *proxy, struct str bytes)
{
    if (proxy->state == PROXY_OVER || bytes.len == 0)
        return;
    if (exchange_write(proxy->exchange, &bytes, 1) < 0)
        fail(proxy, 502, "the client did not take the answer");
    else if (exchange_kept(proxy->exchange) > HOLD_BYTES)
        conn_pause(&proxy->conn);
}

static void on_body(void *data, struct str bytes)
{
    pass(data, bytes);
}

static void begin_tunnel(struct proxy *proxy, const struct http_response *response)
{
    cleanup_buf struct buf lines = BUF_INIT(HEAD_BYTES);
    int r = forward_write_upgrade(response, &proxy->plan, &lines);

    if (r == 0) {
        proxy->state = PROXY_TUNNEL;
        r = exchange_upgrade(proxy->exchange, buf_view(&lines), on_piece);
    }
    if (r < 0) {
        proxy->state = PROXY_ASKING;
        fail(proxy, 502, err_text(r));
    }
}

static void begin_answer(struct proxy *proxy)
{
    const struct http_response *response = httpresponse_get(proxy->parse);
    struct http_field fields[HTTP_MAX_HEADERS];
    cleanup_buf struct buf space = BUF_INIT(HEAD_BYTES);
    struct http_answer head = {.status = response->status, .fields = fields};

    if (response->status == 101) {
        begin_tunnel(proxy, response);
        return;
    }
    if (response->status > 599 || forward_read_answer(response, &proxy->plan, &space, fields,
                                                      &head.field_count, &head.type) < 0) {
        fail(proxy, 502, "the sandbox's answer cannot be passed on");
        return;
    }
    proxy->state = PROXY_ANSWERING;
    exchange_begin(proxy->exchange, &head);
}

static void on_bytes(struct conn *conn, struct str bytes)
{
    struct proxy *proxy = list_entry(conn, struct proxy, conn);
    int event = HTTPRESPONSE_HEAD;

    while (proxy->state != PROXY_OVER && proxy->state != PROXY_TUNNEL &&
           event == HTTPRESPONSE_HEAD) {
        event = httpresponse_feed(proxy->parse, &bytes, on_body, proxy);
        if (event == HTTPRESPONSE_HEAD)
            begin_answer(proxy);
    }
    if (proxy->state == PROXY_TUNNEL)
        pass(proxy, bytes);
    else if (event < 0)
        fail(proxy, 502, "the sandbox did not answer in HTTP");
    else if (event == HTTPRESPONSE_COMPLETE)
        finish(proxy);
}

/* Whether all was said when the sandbox closes the connection. */
static bool is_whole(struct proxy *proxy)
{
    return proxy->state == PROXY_TUNNEL ||
           (proxy->state == PROXY_ANSWERING && httpresponse_end(proxy->parse) == 0);
}

static void on_end(struct conn *conn, int error)
{
    struct proxy *proxy = list_entry(conn, struct proxy, conn);

    if (error == 0 && is_whole(proxy))
        finish(proxy);
    else
        fail(proxy, 502, "the sandbox closed the connection");
}

static void on_drained(struct conn *conn)
{
    struct proxy *proxy = list_entry(conn, struct proxy, conn);

    if (proxy->state != PROXY_OVER)
        exchange_take_pieces(proxy->exchange);
}

static void on_closed(struct conn *conn)
{
    struct proxy *proxy = list_entry(conn, struct proxy, conn);

    proxy->has_conn = false;
    fail(proxy, 502, "the sandbox closed the connection");
    free_proxy(proxy);
}

static const struct conn_events conn_events = {
    .on_bytes = on_bytes, .on_end = on_end, .on_drained = on_drained, .on_closed = on_closed};

/* ---- the beginning ---- */

static void ask(struct proxy *proxy)
{
    cleanup_buf struct buf head = BUF_INIT(HEAD_BYTES);
    const struct http_request *request = exchange_request(proxy->exchange);
    int r = forward_write_request(request, &proxy->plan, &head);
    struct str view = buf_view(&head);

    proxy->state = PROXY_ASKING;
    proxy->is_upgrade = forward_is_upgrade(request);
    proxy->is_chunked = request->is_chunked;
    httpresponse_reset(proxy->parse, proxy->is_upgrade                     ? HTTPRESPONSE_TO_UPGRADE
                                     : request->method == HTTP_METHOD_HEAD ? HTTPRESPONSE_TO_HEAD
                                                                           : HTTPRESPONSE_TO_ANY);
    if (r == 0)
        r = conn_send(&proxy->conn, &view, 1);
    if (r < 0) {
        fail(proxy, r == ERR_TOO_LARGE ? 431 : 502, "the request cannot be passed on");
        return;
    }
    conn_resume(&proxy->conn);
    if (!proxy->is_upgrade)
        exchange_stream(proxy->exchange, SIZE_MAX, on_piece, on_whole_body, proxy);
}

static void on_connected(void *data, const struct err *err, int fd)
{
    struct proxy *proxy = data;
    int r;

    if (proxy->exchange == NULL || err != NULL) {
        if (fd >= 0)
            close(fd);
        if (err != NULL && err->code == ERR_SESSION_OVER)
            fail(proxy, 400, "the sandbox was stopped");
        else if (err != NULL && err->code == ERR_CONNECTION_LOST)
            fail(proxy, 502, "nobody listens on this port of the sandbox");
        else
            fail(proxy, 502, "the sandbox does not accept the connection");
        free_proxy(proxy);
        return;
    }
    r = conn_init(&proxy->conn, proxy->proxies->loop, proxy->proxies->space, fd, KEPT_BYTES,
                  &conn_events);
    if (r < 0) {
        fail(proxy, 503, err_text(r));
        free_proxy(proxy);
        return;
    }
    proxy->has_conn = true;
    ask(proxy);
}

static size_t count_of(const struct proxies *proxies, const char *sandbox)
{
    size_t count = 0;

    list_each (node, &proxies->list)
        if (strcmp(list_entry(node, struct proxy, node)->sandbox, sandbox) == 0)
            count++;
    return count;
}

static int copy_plan(struct proxy *proxy, const struct forward_plan *plan)
{
    int r = buf_append_str(&proxy->texts, plan->target);

    if (r == 0)
        r = buf_append_str(&proxy->texts, plan->prefix);
    proxy->plan = *plan;
    proxy->plan.target = str_slice(buf_view(&proxy->texts), 0, plan->target.len);
    proxy->plan.prefix = str_slice(buf_view(&proxy->texts), plan->target.len, plan->prefix.len);
    return r;
}

void proxy_start(struct proxies *proxies, struct exchange *exchange, struct sandbox *sandbox,
                 const struct forward_plan *plan)
{
    struct proxy *proxy;
    int r;

    if (proxies->count >= PROXY_MOST ||
        count_of(proxies, sandbox->record.id) >= PROXY_MOST_OF_SANDBOX) {
        proxies->refuse(exchange, 503, "the sandbox has too many connections; try again");
        return;
    }
    proxy = calloc(1, sizeof(*proxy));
    if (proxy == NULL) {
        proxies->refuse(exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    *proxy =
        (struct proxy){.proxies = proxies, .exchange = exchange, .texts = BUF_INIT(HEAD_BYTES)};
    memcpy(proxy->sandbox, sandbox->record.id, sizeof(proxy->sandbox));
    list_init(&proxy->node);
    list_append(&proxies->list, &proxy->node);
    proxies->count++;
    r = copy_plan(proxy, plan);
    if (r == 0)
        r = httpresponse_new(&proxy->parse);
    if (r == 0)
        r = room_connect(sandbox->room, plan->port, on_connected, proxy);
    if (r < 0) {
        fail(proxy, 503, err_text(r));
        free_proxy(proxy);
        return;
    }
    exchange_watch(exchange, &exchange_events, proxy);
}

int proxies_init(struct proxies *proxies, struct loop *loop,
                 void (*refuse)(struct exchange *exchange, int status, const char *text))
{
    *proxies = (struct proxies){.loop = loop, .refuse = refuse};
    list_init(&proxies->list);
    return conn_space_new(&proxies->space);
}

void proxies_done(struct proxies *proxies)
{
    while (!list_is_empty(&proxies->list))
        free_proxy(list_entry(proxies->list.next, struct proxy, node));
    conn_space_unref(proxies->space);
    proxies->space = NULL;
}
