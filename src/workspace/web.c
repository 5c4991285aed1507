/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/web.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum {
    MAX_DEPTH = 16,
    STEP_MS = 10,
    MAX_FORGOTTEN = 256,
    FORGOTTEN_MS = 10000,
    NEVER_MS = 25 * 60 * 60 * 1000, /* longer than any command */
};

struct web {
    struct web_config config;
    struct httpclient *client;
    struct httpurl url;
    struct httpurl other; /* that the provider has named; its host may be empty */
    struct secret key;    /* of the own service */
    bool is_found;
    struct ownservice *own; /* while it is looked for */
    struct ownservice_config own_config;
    struct timer step;
    struct list waiting; /* requests, until it is found */
    struct list forgotten;
    size_t forgotten_count;
};

const char *web_provider(const struct web *web)
{
    return web->config.provider;
}

int web_makes_no_sense(const struct web *web, struct err *err)
{
    return err_set(err, ERR_TOOL_FAILED, "%s: the service's answer makes no sense",
                   web->config.provider);
}

int web_read_json(const struct web *web, struct arena *arena, struct str body,
                  const struct json_value **out_value, struct err *err)
{
    const struct json_limits limits = {WEB_MAX_ANSWER_BYTES, MAX_DEPTH};

    return json_parse(arena, body, limits, out_value, NULL) < 0 ? web_makes_no_sense(web, err) : 0;
}

/* ---- targets ---- */

int web_target(struct web_request *request, struct err *err, const char *format, ...)
{
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(request->target, sizeof(request->target), format, args);
    va_end(args);
    return len < 0 || len >= (int)sizeof(request->target)
               ? err_set(err, ERR_INVALID_PATH, "the name is too long")
               : 0;
}

int web_query(struct web_request *request, const char *name, struct str value, struct err *err)
{
    size_t at = strlen(request->target);
    int len = snprintf(request->target + at, sizeof(request->target) - at,
                       "%c%s=", strchr(request->target, '?') == NULL ? '?' : '&', name);

    at += len > 0 ? (size_t)len : 0;
    for (size_t i = 0; i < value.len && at + 3 < sizeof(request->target); i++) {
        const unsigned char byte = (unsigned char)value.ptr[i];

        if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
            (byte >= '0' && byte <= '9') || (byte != '\0' && strchr("/-_.~", byte) != NULL))
            request->target[at++] = (char)byte;
        else
            at += (size_t)snprintf(request->target + at, sizeof(request->target) - at, "%%%02X",
                                   byte);
    }
    if (at + 3 >= sizeof(request->target))
        return err_set(err, ERR_INVALID_PATH, "the name is too long");
    request->target[at] = '\0';
    return 0;
}

/* ---- what a service says ---- */

static int code_of(int status)
{
    switch (status) {
    case 400:
        return ERR_INVALID_ARGUMENT;
    case 401:
        return ERR_UNAUTHORIZED;
    case 403:
        return ERR_PERMISSION_DENIED;
    case 404:
        return ERR_NOT_FOUND;
    case 408:
    case 504:
        return ERR_TIMED_OUT;
    case 409:
        return ERR_ALREADY_EXISTS;
    case 413:
        return ERR_TOO_LARGE;
    case 429:
    case 503:
        return ERR_BUSY;
    default:
        return ERR_TOOL_FAILED;
    }
}

/* n8n's services have `error`, Daytona's `message`. */
static void explain(struct web_request *request)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)WEB_MAX_ANSWER_BYTES);
    const struct json_limits limits = {WEB_MAX_ANSWER_BYTES, MAX_DEPTH};
    const char *provider = request->web->config.provider;
    const struct json_value *answer = NULL;
    struct str text = STR_EMPTY;

    if (json_parse(&arena, buf_view(&request->answer), limits, &answer, NULL) == 0 &&
        !json_get_str(answer, STR("message"), &text))
        (void)json_get_str(answer, STR("error"), &text);
    if (request->status == 401)
        err_set(&request->err, ERR_UNAUTHORIZED, "%s: the service does not accept the key",
                provider);
    else if (text.len > 0)
        err_set(&request->err, code_of(request->status), "%s: %.*s", provider, STR_ARG(text));
    else
        err_set(&request->err, code_of(request->status), "%s: the service answered %d", provider,
                request->status);
}

/* ---- one request ---- */

static void start(struct web_request *request);
static void look_for_service(struct web *web);

static void finish(struct web_request *request)
{
    const struct err *err = request->err.code != 0 ? &request->err : NULL;

    request->done(request->data, err, request->status, buf_view(&request->answer));
}

static void on_head(void *data, const struct http_response *response)
{
    struct web_request *request = data;
    struct str text;
    int64_t seconds;

    request->status = response->status;
    request->is_restarted = http_response_header(response, STR("X-Sandbox-Restarted"), &text);
    request->wait_ms = 0;
    if (http_response_header(response, STR("Retry-After"), &text) && str_to_int64(text, &seconds) &&
        seconds > 0 && seconds <= WEB_MAX_WAIT_MS / 1000)
        request->wait_ms = seconds * 1000;
}

static void take_lines(struct web_request *request)
{
    struct str rest = buf_view(&request->answer);
    size_t end;
    size_t used = 0;

    while ((end = str_find(str_slice(rest, used, rest.len), STR("\n"))) != SIZE_MAX) {
        struct str line = str_slice(rest, used, end);

        used += end + 1;
        request->has_taken = true;
        request->take_line(request->data, line);
    }
    buf_drop_front(&request->answer, used);
}

static void on_bytes(void *data, struct str bytes)
{
    struct web_request *request = data;

    if (request->err.code != 0)
        return;
    if (buf_append_str(&request->answer, bytes) < 0)
        err_set(&request->err, ERR_TOO_LARGE, "%s: the service's answer is too large",
                request->web->config.provider);
    else if (request->take_line != NULL && request->status == 200)
        take_lines(request);
}

/* Sends it again later, if that may help. */
static bool wait_for_service(struct web_request *request)
{
    int64_t wait_ms = request->wait_ms;

    if ((request->status != 429 && request->status != 503) || request->tries >= WEB_MAX_TRIES)
        return false;
    if (wait_ms == 0)
        wait_ms = (int64_t)WEB_FIRST_WAIT_MS << request->tries;
    request->tries++;
    timer_start(&request->again, wait_ms);
    return true;
}

/* The own service has ended since: another one is started. Others may have been moved, too. */
static bool find_again(struct web_request *request, int code)
{
    struct web *web = request->web;
    bool was_refused = code == ERR_UNREACHABLE;
    bool was_cut = code == ERR_CONNECTION_LOST && request->may_repeat && !request->has_taken;

    if (web->config.own == NULL || request->was_refound || (!was_refused && !was_cut))
        return false;
    request->was_refound = true;
    web->is_found = false;
    start(request);
    return true;
}

/* By a header, or where a proxy passes none on, by the answer. */
static bool was_restarted(const struct web_request *request)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)WEB_MAX_ANSWER_BYTES);
    const struct json_limits limits = {WEB_MAX_ANSWER_BYTES, MAX_DEPTH};
    const struct json_value *answer = NULL;
    struct str reason;

    return request->is_restarted ||
           (json_parse(&arena, buf_view(&request->answer), limits, &answer, NULL) == 0 &&
            json_get_str(answer, STR("reason"), &reason) &&
            str_eq(reason, STR("sandbox_restarted")));
}

static bool repeat_after_restart(struct web_request *request)
{
    if (request->status != 409 || request->was_restarted || !was_restarted(request))
        return false;
    request->was_restarted = true;
    start(request);
    return true;
}

static void on_done(void *data, const struct httpclient_result *result)
{
    struct web_request *request = data;

    request->call = NULL;
    /* What was sent, for the next time. */
    if (result->sent != NULL && request->has_body) {
        buf_done(&request->body);
        request->body = *result->sent;
        buf_init(result->sent, result->sent->max);
    }
    if (result->code < 0 && request->err.code == 0) {
        if (find_again(request, result->code))
            return;
        err_set(&request->err, result->code, "%s: %s", request->web->config.provider,
                result->err.message);
    }
    if (request->err.code == 0 && (repeat_after_restart(request) || wait_for_service(request)))
        return;
    if (request->err.code == 0 && request->status >= 300)
        explain(request);
    finish(request);
}

/* Reports what is wrong from the loop, never from inside web_send(). */
static void fail_later(struct web_request *request)
{
    timer_start(&request->again, 0);
}

static void send_now(struct web_request *request)
{
    static const struct httpclient_events events = {
        .on_head = on_head, .on_bytes = on_bytes, .on_done = on_done};
    struct web *web = request->web;
    /* The key in the own service's file is for the address in the file, and for no other. */
    bool has_own = web->config.own != NULL && web->config.key->len == 0;
    const struct secret *key = has_own ? &web->key : web->config.key;
    const struct http_field fields[] = {
        {str_from(web->config.header), secret_reveal(key)}, /* to send it */
        {STR("Content-Type"),
         request->type != NULL ? str_from(request->type) : STR("application/json")},
    };
    const struct httpclient_request sent = {
        .method = request->method,
        .url = request->url != NULL ? request->url : &web->url,
        .target = str_from(request->target),
        .fields = fields,
        .field_count = request->has_body ? 2 : 1,
        .body = request->has_body ? &request->body : NULL,
        .may_repeat = request->may_repeat,
        .head_ms = NEVER_MS, /* the caller's deadlines apply */
        .idle_ms = NEVER_MS,
        .whole_ms = request->whole_ms,
        .max_answer_bytes = WEB_MAX_ANSWER_BYTES,
    };
    struct err why = ERR_INIT;

    buf_clear(&request->answer);
    request->status = 0;
    if (httpclient_send(web->client, &sent, &events, request, &request->call, &why) < 0) {
        err_set(&request->err, why.code, "%s: %s", web->config.provider, why.message);
        fail_later(request);
    }
}

static void start(struct web_request *request)
{
    struct web *web = request->web;

    if (web->is_found) {
        send_now(request);
        return;
    }
    list_append(&web->waiting, &request->node);
    look_for_service(web);
}

/* Timer callback: the service has had its time, or something was wrong at once. */
static void on_again(void *data)
{
    struct web_request *request = data;

    if (request->err.code != 0)
        finish(request);
    else
        start(request);
}

void web_request_init(struct web_request *request, struct web *web)
{
    *request = (struct web_request){.web = web};
    buf_init(&request->body, HTTPCLIENT_MAX_BODY_BYTES);
    buf_init(&request->answer, WEB_MAX_ANSWER_BYTES);
    list_init(&request->node);
    timer_init(&request->again, web->config.loop, on_again, request);
}

void web_ask(struct web_request *request, enum http_method method, bool may_repeat)
{
    request->method = method;
    request->has_body = false;
    request->may_repeat = may_repeat;
}

void web_begin_object(struct web_request *request, struct json_writer *out_json)
{
    request->has_body = true;
    request->type = NULL;
    buf_clear(&request->body);
    json_writer_init(out_json, &request->body);
    json_begin_object(out_json);
}

int web_end_object(struct json_writer *json)
{
    json_end_object(json);
    return json_writer_finish(json);
}

void web_send(struct web_request *request)
{
    request->err = (struct err)ERR_INIT;
    request->tries = 0;
    request->was_restarted = false;
    request->was_refound = false;
    request->has_taken = false;
    start(request);
}

void web_fail(struct web_request *request, const struct err *err)
{
    request->err = *err;
    fail_later(request);
}

void web_drop(struct web_request *request)
{
    if (request->web == NULL)
        return;
    list_remove(&request->node);
    timer_stop(&request->again);
    if (request->call != NULL)
        httpclient_cancel(request->call);
    request->call = NULL;
    buf_done(&request->body);
    buf_done(&request->answer);
    request->web = NULL;
}

/* ---- requests that nobody waits for ---- */

struct forgotten {
    struct list node;
    struct httpurl url;
    struct web_request request;
};

static void on_forgotten(void *data, const struct err *err, int status, struct str body)
{
    struct forgotten *forgotten = data;
    struct web *web = forgotten->request.web;

    (void)err;
    (void)status;
    (void)body;
    list_remove(&forgotten->node);
    web->forgotten_count--;
    web_drop(&forgotten->request);
    free(forgotten);
}

void web_forget(struct web *web, const struct httpurl *url, enum http_method method,
                const char *target)
{
    struct forgotten *forgotten;

    if (web->forgotten_count == MAX_FORGOTTEN)
        return;
    forgotten = calloc(1, sizeof(*forgotten));
    if (forgotten == NULL)
        return;
    web_request_init(&forgotten->request, web);
    forgotten->request.method = method;
    if (url != NULL) {
        forgotten->url = *url;
        forgotten->request.url = &forgotten->url;
    }
    snprintf(forgotten->request.target, sizeof(forgotten->request.target), "%s", target);
    forgotten->request.whole_ms = FORGOTTEN_MS;
    forgotten->request.done = on_forgotten;
    forgotten->request.data = forgotten;
    list_append(&web->forgotten, &forgotten->node);
    web->forgotten_count++;
    web_send(&forgotten->request);
}

bool web_is_busy(const struct web *web)
{
    return web->forgotten_count > 0;
}

/* ---- the user's own service ---- */

/* Either all that wait are sent, or all fail. */
static void wake(struct web *web, const struct err *err)
{
    struct list woken;

    list_init(&woken);
    while (!list_is_empty(&web->waiting)) {
        struct list *node = web->waiting.next;

        list_remove(node);
        list_append(&woken, node);
    }
    while (!list_is_empty(&woken)) {
        struct web_request *request = list_entry(woken.next, struct web_request, node);

        list_remove(&request->node);
        if (err != NULL) {
            request->err = *err;
            fail_later(request);
        } else {
            send_now(request);
        }
    }
}

static void on_step(void *data)
{
    struct web *web = data;
    struct err why = ERR_INIT;
    struct err err = ERR_INIT;
    int r = ownservice_step(web->own, &web->url, &web->key, &why);

    if (r == ERR_BUSY) {
        timer_start(&web->step, STEP_MS);
        return;
    }
    ownservice_free(web->own);
    web->own = NULL;
    web->is_found = r == 0;
    if (r < 0)
        err_set(&err, r, "%s: %s", web->config.provider, why.message);
    wake(web, r < 0 ? &err : NULL);
}

static void look_for_service(struct web *web)
{
    struct err err = ERR_INIT;

    if (web->own != NULL)
        return; /* it is under way */
    if (ownservice_new(&web->own_config, &web->own) < 0) {
        err_set_plain(&err, ERR_NO_MEMORY);
        wake(web, &err);
        return;
    }
    timer_start(&web->step, 0);
}

/* ---- making ---- */

static bool may_reach(void *data, const struct httpurl *url)
{
    const struct web *web = data;

    return httpurl_same_origin(&web->url, url) || httpurl_same_origin(&web->other, url);
}

int web_trust(struct web *web, const struct httpurl *url, struct err *err)
{
    if (httpurl_same_origin(&web->url, url))
        return 0;
    if (httpurl_is_exposed(url) || (web->url.is_tls && !url->is_tls))
        return err_set(err, ERR_SERVER_DENIED,
                       "%s: the service names %s, where the key would be sent unprotected",
                       web->config.provider, url->host);
    web->other = *url;
    return 0;
}

static int make_filter(void *data, struct str host, struct filter **out_filter, struct err *err)
{
    const struct web *web = data;

    return web->config.make_filter(web->config.filter_data, host, out_filter, err);
}

static int take_url(struct web *web, struct err *err)
{
    const struct web_config *config = &web->config;
    struct err why = ERR_INIT;

    if (httpurl_parse(str_from(config->url), &web->url, &why) < 0)
        return err_set(err, ERR_INVALID_OPTION, "%s: the address '%.100s': %s", config->provider,
                       config->url, why.message);
    if (web->url.is_tls && config->make_filter == NULL)
        return err_set(err, ERR_INVALID_OPTION, "%s: there is no TLS here: use http://",
                       config->provider);
    if (httpurl_is_exposed(&web->url))
        return err_set(err, ERR_INVALID_OPTION,
                       "%s: the key would be sent unprotected to another machine: use https://",
                       config->provider);
    web->is_found = true;
    return 0;
}

int web_new(const struct web_config *config, struct web **out_web, struct err *err)
{
    struct web *web = calloc(1, sizeof(*web));
    const struct httpclient_config http = {
        .may_reach = may_reach,
        .make_filter = config->make_filter != NULL ? make_filter : NULL,
        .max_connections = WEB_MAX_CONNECTIONS,
        .data = web,
    };
    int r = 0;

    if (web == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    web->config = *config;
    list_init(&web->waiting);
    list_init(&web->forgotten);
    timer_init(&web->step, config->loop, on_step, web);
    if (config->own != NULL)
        web->own_config = *config->own;
    else
        r = take_url(web, err);
    if (r == 0) {
        r = httpclient_new(config->loop, &http, &web->client);
        if (r < 0)
            err_set_plain(err, r);
    }
    if (r < 0) {
        web_free(web);
        return r;
    }
    *out_web = web;
    return 0;
}

void web_free(struct web *web)
{
    if (web == NULL)
        return;
    list_each_safe (node, &web->forgotten) {
        struct forgotten *forgotten = list_entry(node, struct forgotten, node);

        web_drop(&forgotten->request);
        free(forgotten);
    }
    timer_stop(&web->step);
    ownservice_free(web->own);
    if (web->client != NULL)
        httpclient_free(web->client);
    secret_done(&web->key);
    free(web);
}
