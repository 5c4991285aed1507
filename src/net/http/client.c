/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "net/http/client_internal.h"

enum {
    HEAD_BYTES = 16 << 10,
    PIECE_BYTES = 256 << 10, /* of a body that is given to the connection at a time */
    SHOWN_LOCATION_BYTES = 128,
};

/* ---- one call ---- */

static void free_call(struct httpclient_call *call)
{
    struct httpclient *client = call->client;

    timer_stop(&call->phase);
    timer_stop(&call->whole);
    list_remove(&call->node);
    client->call_count--;
    client->held_bytes -= call->held;
    if (call->head.data != NULL)
        secret_wipe(call->head.data, call->head.len);
    buf_done(&call->head);
    buf_done(&call->body);
    buf_done(&call->answer);
    free(call);
}

/* "host:port: words": names the peer, which is the first thing to check. */
static void say(const struct httpclient_call *call, struct err *err, int code, const char *words)
{
    cleanup_buf struct buf name = BUF_INIT(HTTPURL_HOST_BYTES + 16);

    /* An unknown name has no port. */
    if (httpurl_append_authority(&call->url, code != ERR_HOST_UNKNOWN, &name) < 0)
        err_set_plain(err, code);
    else
        err_set(err, code, "%.*s: %s", STR_ARG(buf_view(&name)), words);
}

/* Called before the link is free for others: it holds the strings of the answer. */
void httpclient_call_finish(struct httpclient_call *call, int code)
{
    struct httpclient *client = call->client;
    struct httpclient_link *link = call->link;
    struct httpclient_result result = {.code = code};

    timer_stop(&call->phase);
    timer_stop(&call->whole);
    if (code < 0) {
        result.err = call->err;
        if (result.err.code == 0)
            say(call, &result.err, code, err_text(code));
        result.err.code = code;
        result.code = code;
    }
    if (link != NULL && call->state == CALL_ANSWERED)
        result.response = httpresponse_get(link->parse);
    result.body = buf_view(&call->answer);
    result.sent = &call->body;
    /* From here on events of the link do not reach the call. */
    if (link != NULL)
        link->call = NULL;
    call->link = NULL;
    call->events->on_done(call->data, &result);
    if (link != NULL && link->state != LINK_CLOSED)
        httpclient_link_release(link, code == 0 && link->may_keep);
    free_call(call);
    httpclient_pump(client);
}

static void on_phase_over(void *data)
{
    struct httpclient_call *call = data;

    if (call->err.code == 0)
        say(call, &call->err, ERR_TIMED_OUT,
            call->state == CALL_CONNECTING ? "timed out while connecting"
            : call->state == CALL_ANSWERED ? "timed out while receiving the response"
                                           : "timed out waiting for a response");
    httpclient_call_finish(call, call->err.code);
}

static void on_whole_over(void *data)
{
    httpclient_call_finish(data, ERR_TIMED_OUT);
}

bool httpclient_call_is_sent(const struct httpclient_call *call)
{
    return call->head_sent == call->head.len && call->body_sent == call->body.len &&
           conn_kept(&call->link->conn) == 0;
}

/* Sends as much as the connection takes; continues when that was sent. */
void httpclient_call_send_more(struct httpclient_call *call)
{
    int r = 0;

    if (call->state != CALL_SENDING)
        return;
    while (r == 0 && conn_kept(&call->link->conn) == 0 && !httpclient_call_is_sent(call)) {
        struct str head = str_slice(buf_view(&call->head), call->head_sent, SIZE_MAX);
        struct str body = str_slice(buf_view(&call->body), call->body_sent, PIECE_BYTES);
        struct str parts[] = {head, body};
        size_t first = head.len > 0 ? 0 : 1;

        r = httpclient_link_send(call->link, parts + first, (body.len > 0 ? 2 : 1) - first);
        if (r == 0) {
            call->head_sent += head.len;
            call->body_sent += body.len;
        }
    }
    if (r < 0) {
        /* The server closed; it may have said why, and the end of its answer comes anyway. */
        timer_start(&call->phase, call->idle_ms);
        return;
    }
    if (httpclient_call_is_sent(call)) {
        call->state = CALL_SENT;
        timer_start(&call->phase, call->head_ms);
    } else {
        timer_start(&call->phase, call->idle_ms);
    }
}

void httpclient_call_begin(struct httpclient_call *call)
{
    call->state = CALL_SENDING;
    call->head_sent = 0;
    call->body_sent = 0;
    httpclient_call_send_more(call);
}

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* The target of a redirect, without what may be secret in it. */
static void name_redirect(struct httpclient_call *call, const struct http_response *response)
{
    struct str location = STR("nowhere");
    struct str place = STR_EMPTY;
    char shown[SHOWN_LOCATION_BYTES + PRINTABLE_CUT_BYTES];

    http_response_header(response, STR("location"), &location);
    str_cut(&location, '?', &place);
    printable_cut(place, PRINTABLE_ASCII, shown, SHOWN_LOCATION_BYTES);
    err_set(&call->err, ERR_HTTP_REDIRECT, "%s redirects to %s; redirects are not followed",
            call->url.host, shown);
}

void httpclient_call_on_head(struct httpclient_call *call, const struct http_response *response)
{
    if (is_redirect(response->status)) {
        name_redirect(call, response);
        call->state = CALL_ANSWERED;
        httpclient_call_finish(call, ERR_HTTP_REDIRECT);
        return;
    }
    /* The rest of the request does not matter to a server that has answered. */
    call->state = CALL_ANSWERED;
    timer_start(&call->phase, call->idle_ms);
    if (call->events->on_head != NULL)
        call->events->on_head(call->data, response);
}

void httpclient_call_on_body(struct httpclient_call *call, struct str bytes)
{
    int r;

    timer_start(&call->phase, call->idle_ms);
    if (call->events->on_bytes != NULL) {
        call->events->on_bytes(call->data, bytes);
        return;
    }
    r = buf_append_str(&call->answer, bytes);
    if (r < 0)
        httpclient_call_finish(call, r);
}

bool httpclient_call_repeat(struct httpclient_call *call)
{
    struct httpclient *client = call->client;

    if (call->was_repeated)
        return false;
    call->was_repeated = true;
    httpclient_link_close(call->link);
    call->link = NULL;
    call->state = CALL_WAITING;
    timer_stop(&call->phase);
    list_remove(&call->node);
    /* Before all others: it had its turn. */
    list_append(client->waiting.next, &call->node);
    httpclient_pump(client);
    return true;
}

/* ---- whose turn it is ---- */

static struct httpclient_link *find_idle(struct httpclient *client,
                                         const struct httpclient_call *call)
{
    list_each (node, &client->links) {
        struct httpclient_link *link = list_entry(node, struct httpclient_link, node);

        if (link->state == LINK_IDLE && httpurl_same_origin(&link->url, &call->url) &&
            link->proxy == call->proxy)
            return link;
    }
    return NULL;
}

static bool close_an_idle(struct httpclient *client)
{
    list_each (node, &client->links) {
        struct httpclient_link *link = list_entry(node, struct httpclient_link, node);

        if (link->state == LINK_IDLE) {
            httpclient_link_close(link);
            return true;
        }
    }
    return false;
}

/* False if it must keep waiting. */
static bool serve(struct httpclient *client, struct httpclient_call *call)
{
    /* After one kept connection was found closed, another one is not tried. */
    struct httpclient_link *link =
        call->may_repeat && !call->was_repeated ? find_idle(client, call) : NULL;
    int r;

    if (link == NULL && client->link_count >= client->config.max_connections &&
        !close_an_idle(client))
        return false;
    list_remove(&call->node);
    list_append(&client->active, &call->node);
    if (link != NULL) {
        call->link = link;
        httpclient_link_use(link, call);
        return true;
    }
    call->state = CALL_CONNECTING;
    r = httpclient_link_new(client, call, &call->link);
    if (r < 0) {
        /* Reported by the timer, since the caller may be in the middle of sending. */
        err_set_plain(&call->err, r);
        timer_start(&call->phase, 0);
        return true;
    }
    timer_start(&call->phase, call->connect_ms);
    return true;
}

void httpclient_pump(struct httpclient *client)
{
    while (!list_is_empty(&client->waiting) &&
           serve(client, list_entry(client->waiting.next, struct httpclient_call, node)))
        ;
}

/* ---- for callers ---- */

static int64_t or_default(int64_t value, int64_t otherwise)
{
    return value > 0 ? value : otherwise;
}

static int check_request(struct httpclient *client, const struct httpclient_request *request,
                         struct err *err)
{
    size_t body = request->body != NULL ? request->body->len : 0;

    if (!client->config.may_reach(client->config.data, request->url))
        return err_set(err, ERR_SERVER_DENIED, "connections to %s are not allowed",
                       request->url->host);
    if (body > HTTPCLIENT_MAX_BODY_BYTES)
        return err_set_plain(err, ERR_TOO_LARGE);
    if (client->call_count >= client->config.max_calls ||
        body > client->config.max_held_bytes - client->held_bytes)
        return err_set_plain(err, ERR_BUSY);
    return 0;
}

int httpclient_send(struct httpclient *client, const struct httpclient_request *request,
                    const struct httpclient_events *events, void *data,
                    struct httpclient_call **out_call, struct err *err)
{
    struct httpclient_call *call;
    int r = check_request(client, request, err);

    if (r < 0)
        return r;
    call = calloc(1, sizeof(*call));
    if (call == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    call->proxy = httpproxies_for(client->config.proxies, request->url);
    buf_init(&call->head, HEAD_BYTES);
    r = httpclient_head_write(request, call->proxy, &call->head, err);
    if (r < 0) {
        if (call->head.data != NULL)
            secret_wipe(call->head.data, call->head.len);
        buf_done(&call->head);
        free(call);
        return r;
    }
    call->client = client;
    call->url = *request->url;
    call->method = request->method;
    call->may_repeat = request->may_repeat;
    call->connect_ms = or_default(request->connect_ms, HTTPCLIENT_CONNECT_MS);
    call->head_ms = or_default(request->head_ms, HTTPCLIENT_HEAD_MS);
    call->idle_ms = or_default(request->idle_ms, HTTPCLIENT_IDLE_MS);
    buf_init(&call->answer, request->max_answer_bytes > 0 ? request->max_answer_bytes
                                                          : HTTPCLIENT_MAX_ANSWER_BYTES);
    call->events = events;
    call->data = data;
    if (request->body != NULL) {
        call->body = *request->body;
        buf_init(request->body, call->body.max);
    }
    call->held = call->body.len;
    client->held_bytes += call->held;
    client->call_count++;
    timer_init(&call->phase, client->loop, on_phase_over, call);
    timer_init(&call->whole, client->loop, on_whole_over, call);
    if (request->whole_ms > 0)
        timer_start(&call->whole, request->whole_ms);
    list_append(&client->waiting, &call->node);
    *out_call = call;
    httpclient_pump(client);
    return 0;
}

void httpclient_cancel(struct httpclient_call *call)
{
    struct httpclient *client;

    if (call == NULL)
        return;
    client = call->client;
    if (call->link != NULL)
        httpclient_link_close(call->link);
    free_call(call);
    httpclient_pump(client);
}

int httpclient_new(struct loop *loop, const struct httpclient_config *config,
                   struct httpclient **out_client)
{
    struct httpclient *client = calloc(1, sizeof(*client));
    int r = 0;

    if (client == NULL)
        return ERR_NO_MEMORY;
    assert(config->may_reach != NULL);
    client->loop = loop;
    client->config = *config;
    if (config->max_connections == 0)
        client->config.max_connections = HTTPCLIENT_MAX_CONNECTIONS;
    if (config->max_calls == 0)
        client->config.max_calls = HTTPCLIENT_MAX_CALLS;
    if (config->max_held_bytes == 0)
        client->config.max_held_bytes = HTTPCLIENT_MAX_HELD_BYTES;
    client->config.keep_ms = or_default(config->keep_ms, HTTPCLIENT_KEEP_MS);
    list_init(&client->links);
    list_init(&client->waiting);
    list_init(&client->active);
    if (config->space != NULL)
        client->space = conn_space_ref(config->space);
    else
        r = conn_space_new(&client->space);
    if (r == 0)
        r = dialer_new(loop, config->lookup, &client->dialer);
    if (r < 0) {
        conn_space_unref(client->space);
        free(client);
        return r;
    }
    *out_client = client;
    return 0;
}

static void free_calls(struct list *calls)
{
    while (!list_is_empty(calls))
        free_call(list_entry(calls->next, struct httpclient_call, node));
}

void httpclient_free(struct httpclient *client)
{
    if (client == NULL)
        return;
    while (!list_is_empty(&client->links))
        httpclient_link_close(list_entry(client->links.next, struct httpclient_link, node));
    free_calls(&client->active);
    free_calls(&client->waiting);
    dialer_free(client->dialer);
    conn_space_unref(client->space);
    free(client);
}
