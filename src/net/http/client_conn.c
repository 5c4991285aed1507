/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/client_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEPT_BYTES = 1 << 20, /* of a request that the server does not take; it comes in pieces */
    TUNNEL_HEAD_BYTES = 2 << 10,
};

static void free_link(struct httpclient_link *link)
{
    httpresponse_free(link->parse);
    free(link);
}

/* ---- the end ---- */

static void on_closed(struct conn *conn)
{
    free_link(list_entry(conn, struct httpclient_link, conn));
}

static bool has_conn(const struct httpclient_link *link)
{
    return link->state != LINK_DIALLING && link->state != LINK_CLOSED;
}

void httpclient_link_close(struct httpclient_link *link)
{
    bool is_connected = has_conn(link);

    if (link->state == LINK_CLOSED)
        return;
    link->state = LINK_CLOSED;
    link->call = NULL;
    timer_stop(&link->timer);
    list_remove(&link->node);
    link->client->link_count--;
    link->client = NULL;
    dial_cancel(link->dial);
    link->dial = NULL;
    if (is_connected)
        conn_close(&link->conn);
    else
        free_link(link);
}

/* Ends the call, if there is one, with this code; the link is freed. */
static void fail(struct httpclient_link *link, int code)
{
    struct httpclient_call *call = link->call;
    struct httpclient *client = link->client;

    link->call = NULL;
    httpclient_link_close(link);
    if (call != NULL) {
        call->link = NULL;
        httpclient_call_finish(call, code);
    } else {
        httpclient_pump(client);
    }
}

static void on_idle_too_long(void *data)
{
    httpclient_link_close(data);
}

void httpclient_link_release(struct httpclient_link *link, bool may_keep)
{
    link->call = NULL;
    if (!may_keep || link->conn.has_ended || link->conn.is_broken) {
        httpclient_link_close(link);
        return;
    }
    link->state = LINK_IDLE;
    timer_start(&link->timer, link->client->config.keep_ms);
}

/* ---- becoming ready ---- */

static void become_busy(struct httpclient_link *link)
{
    link->state = LINK_BUSY;
    link->may_keep = false;
    httpresponse_reset(link->parse, link->call->method == HTTP_METHOD_HEAD ? HTTPRESPONSE_TO_HEAD
                                                                           : HTTPRESPONSE_TO_ANY);
    httpclient_call_begin(link->call);
}

static void on_ready(struct conn *conn)
{
    struct httpclient_link *link = list_entry(conn, struct httpclient_link, conn);

    if (link->state == LINK_SECURING)
        become_busy(link);
}

static void secure(struct httpclient_link *link)
{
    struct httpclient *client = link->client;
    struct filter *filter;
    int r;

    link->state = LINK_SECURING;
    if (client->config.make_filter == NULL) {
        fail(link, ERR_UNSUPPORTED);
        return;
    }
    r = client->config.make_filter(client->config.data, str_from(link->url.host), &filter,
                                   &link->call->err);
    if (r == 0)
        r = conn_set_filter(&link->conn, filter);
    if (r < 0)
        fail(link, r);
}

static void open_tunnel(struct httpclient_link *link)
{
    cleanup_buf struct buf head = BUF_INIT(TUNNEL_HEAD_BYTES);
    struct str view;
    int r = httpclient_head_write_tunnel(&link->url, link->proxy, &head);

    link->state = LINK_TUNNEL;
    httpresponse_reset(link->parse, HTTPRESPONSE_TO_CONNECT);
    view = buf_view(&head);
    if (r == 0)
        r = conn_send(&link->conn, &view, 1);
    secret_wipe(head.data, head.len);
    if (r < 0)
        fail(link, ERR_PROXY);
}

/* Blames the proxy in the error; does not contain credentials. */
static void blame_proxy(struct httpclient_link *link, const char *words)
{
    cleanup_buf struct buf name = BUF_INIT(HTTPURL_HOST_BYTES + 16);

    if (httpurl_append_authority(&link->proxy->url, true, &name) == 0)
        err_set(&link->call->err, ERR_PROXY, "the proxy %.*s %s", STR_ARG(buf_view(&name)), words);
    fail(link, ERR_PROXY);
}

static void ignore_body(void *data, struct str bytes)
{
    (void)data;
    (void)bytes;
}

static void on_tunnel_bytes(struct httpclient_link *link, struct str bytes)
{
    int event = httpresponse_feed(link->parse, &bytes, ignore_body, NULL);
    int status = httpresponse_get(link->parse)->status;
    char words[32] = "does not connect";

    if (event == HTTPRESPONSE_MORE)
        return;
    /* In TLS the client talks first: more bytes would be someone else's. */
    if (event == HTTPRESPONSE_HEAD && status / 100 == 2 && bytes.len == 0) {
        secure(link);
        return;
    }
    if (event == HTTPRESPONSE_HEAD && status / 100 != 2)
        snprintf(words, sizeof(words), "responded with %d", status);
    blame_proxy(link, words);
}

/* ---- events of the connection ---- */

static void on_body(void *data, struct str bytes)
{
    struct httpclient_link *link = data;

    if (link->call != NULL)
        httpclient_call_on_body(link->call, bytes);
}

static void complete(struct httpclient_link *link, bool has_rest)
{
    link->may_keep = !has_rest && httpresponse_get(link->parse)->keeps_alive &&
                     httpclient_call_is_sent(link->call);
    link->call->state = CALL_ANSWERED;
    httpclient_call_finish(link->call, 0);
}

static void on_bytes(struct conn *conn, struct str bytes)
{
    struct httpclient_link *link = list_entry(conn, struct httpclient_link, conn);
    int event;

    if (link->state == LINK_TUNNEL) {
        on_tunnel_bytes(link, bytes);
        return;
    }
    /* There is no request. */
    if (link->state != LINK_BUSY || link->call == NULL) {
        fail(link, ERR_HTTP_ANSWER);
        return;
    }
    do {
        event = httpresponse_feed(link->parse, &bytes, on_body, link);
        if (link->call == NULL) /* a callback cancelled it */
            return;
        if (event == HTTPRESPONSE_HEAD)
            httpclient_call_on_head(link->call, httpresponse_get(link->parse));
        if (link->call == NULL)
            return;
    } while (event == HTTPRESPONSE_HEAD);
    if (event < 0)
        fail(link, event);
    else if (event == HTTPRESPONSE_COMPLETE)
        complete(link, bytes.len > 0);
}

static bool is_tls_code(int code)
{
    switch (code) {
    case ERR_TLS_UNTRUSTED:
    case ERR_TLS_WRONG_HOST:
    case ERR_TLS_EXPIRED:
    case ERR_TLS_CERTIFICATE:
    case ERR_TLS_VERSION:
    case ERR_TLS_HANDSHAKE:
    case ERR_TLS_BROKEN:
    case ERR_TLS_TRUNCATED:
        return true;
    default:
        return false;
    }
}

static void on_end(struct conn *conn, int error)
{
    struct httpclient_link *link = list_entry(conn, struct httpclient_link, conn);
    int code = is_tls_code(error) ? error : ERR_CONNECTION_LOST;

    if (link->state == LINK_IDLE || link->call == NULL) {
        fail(link, code);
        return;
    }
    if (link->state == LINK_TUNNEL) {
        blame_proxy(link, "closed the connection");
        return;
    }
    if (link->state == LINK_SECURING) {
        fail(link, is_tls_code(error) && error != ERR_TLS_TRUNCATED ? error : ERR_TLS_HANDSHAKE);
        return;
    }
    if (httpresponse_is_untouched(link->parse) && link->is_reused &&
        httpclient_call_repeat(link->call))
        return;
    if (error == 0)
        code = httpresponse_end(link->parse);
    if (code < 0)
        fail(link, code);
    else
        complete(link, false);
}

static void on_drained(struct conn *conn)
{
    struct httpclient_link *link = list_entry(conn, struct httpclient_link, conn);

    if (link->state == LINK_BUSY && link->call != NULL)
        httpclient_call_send_more(link->call);
}

static const struct conn_events EVENTS = {
    .on_bytes = on_bytes,
    .on_end = on_end,
    .on_ready = on_ready,
    .on_drained = on_drained,
    .on_closed = on_closed,
};

int httpclient_link_send(struct httpclient_link *link, const struct str *parts, size_t count)
{
    return conn_send(&link->conn, parts, count);
}

static void on_dialled(void *data, int error, int fd)
{
    struct httpclient_link *link = data;
    struct httpclient *client = link->client;
    int r = error;

    link->dial = NULL;
    if (r == 0)
        r = conn_init(&link->conn, client->loop, client->space, fd, KEPT_BYTES, &EVENTS);
    if (error < 0 && link->proxy != NULL && link->call != NULL) {
        blame_proxy(link,
                    error == ERR_HOST_UNKNOWN ? "has an unknown host name" : "cannot be reached");
        return;
    }
    if (r < 0) {
        fail(link, r);
        return;
    }
    /* Where it could not be opened it closes by itself. */
    link->state = LINK_BUSY;
    if (link->conn.is_closing) {
        fail(link, ERR_CONNECTION_LOST);
        return;
    }
    conn_resume(&link->conn);
    if (link->url.is_tls && link->proxy != NULL)
        open_tunnel(link);
    else if (link->url.is_tls)
        secure(link);
    else
        become_busy(link);
}

int httpclient_link_new(struct httpclient *client, struct httpclient_call *call,
                        struct httpclient_link **out_link)
{
    struct httpclient_link *link = calloc(1, sizeof(*link));
    const struct httpurl *there = call->proxy != NULL ? &call->proxy->url : &call->url;
    int r;

    if (link == NULL)
        return ERR_NO_MEMORY;
    r = httpresponse_new(&link->parse);
    if (r == 0)
        r = dial_start(client->dialer, there->host, there->port, on_dialled, link, &link->dial);
    if (r < 0) {
        free_link(link);
        return r;
    }
    link->client = client;
    link->state = LINK_DIALLING;
    link->url = call->url;
    link->proxy = call->proxy;
    link->call = call;
    timer_init(&link->timer, client->loop, on_idle_too_long, link);
    list_append(&client->links, &link->node);
    client->link_count++;
    client->dialled++;
    *out_link = link;
    return 0;
}

void httpclient_link_use(struct httpclient_link *link, struct httpclient_call *call)
{
    timer_stop(&link->timer);
    link->is_reused = true;
    link->call = call;
    become_busy(link);
}
