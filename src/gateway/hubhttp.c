/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/hubhttp.h"

#include <stdlib.h>

#include "base/hex.h"
#include "base/jsonwrite.h"
#include "base/list.h"
#include "base/secret.h"
#include "loop/timer.h"
#include "net/sse/writer.h"

enum {
    SMALL_BODY_BYTES = 64 << 10,
    ANSWER_BYTES = 64 << 10,
};

struct stream {
    struct list node;
    struct hubhttp *http;
    struct sse_stream *sse;
    int64_t user;
};

struct hubhttp {
    struct hubhttp_config config;
    struct hub *hub;
    struct sse_hub *sse;
    struct list streams;
    struct timer timer;
    struct loop_task expire;
    bool is_closed;
};

/* An init or a credential that is being saved. */
struct connecting {
    struct hubhttp *http;
    struct exchange *exchange;
    enum hub_dialect dialect;
};

/* ---- answers ---- */

static void send_json(struct exchange *exchange, int status, const struct str *parts, size_t count)
{
    /* Tokens and keys may be in it. */
    static const struct http_field fields[] = {
        {STR_LITERAL("Cache-Control"), STR_LITERAL("no-store")},
        {STR_LITERAL("X-Content-Type-Options"), STR_LITERAL("nosniff")},
    };

    exchange_answer(exchange, &(struct http_answer){.status = status,
                                                    .type = STR("application/json; charset=utf-8"),
                                                    .fields = fields,
                                                    .field_count = array_size(fields),
                                                    .parts = parts,
                                                    .part_count = count});
}

static void answer_ok(struct exchange *exchange, enum hub_dialect dialect, struct str body)
{
    const struct str wrapped[] = {STR("{\"data\":"), body, STR("}")};

    if (dialect == HUB_N8N)
        send_json(exchange, 200, wrapped, array_size(wrapped));
    else
        send_json(exchange, 200, &body, 1);
}

int hubhttp_write_error(int status, const char *message, struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_int(&json, STR("code"), status);
    json_put_str_lossy(&json, STR("message"), str_from(message));
    json_end_object(&json);
    return json_writer_finish(&json);
}

static void answer_status(struct exchange *exchange, int status, const char *message)
{
    cleanup_buf struct buf text = BUF_INIT(ANSWER_BYTES);
    struct str body =
        hubhttp_write_error(status, message, &text) == 0 ? buf_view(&text) : STR("{}");

    send_json(exchange, status, &body, 1);
}

static void answer_err(struct exchange *exchange, const struct err *err)
{
    answer_status(exchange, err_http_status(err->code),
                  err->message[0] != '\0' ? err->message : err_text(err->code));
}

static void answer_done(struct exchange *exchange, enum hub_dialect dialect, int result,
                        const struct err *err)
{
    if (result < 0)
        answer_err(exchange, err);
    else
        answer_ok(exchange, dialect, STR("{\"ok\":true}"));
}

/* ---- time ---- */

static void on_time(void *data)
{
    struct hubhttp *http = data;
    int64_t next_ms = hub_expire(http->hub);

    timer_stop(&http->timer);
    if (next_ms >= 0 && !http->is_closed)
        timer_start(&http->timer, next_ms);
}

void hubhttp_reschedule(struct hubhttp *http)
{
    loop_defer(http->config.loop, &http->expire);
}

/* ---- keys ---- */

/* apiKey of a query, decoded into `space`. */
static struct str key_of_query(struct str query, char space[HUB_MAX_KEY_BYTES + 1])
{
    const struct str name = STR("apiKey=");
    struct str part;

    while (str_cut(&query, '&', &part)) {
        size_t len = 0;

        if (!str_starts_with(part, name))
            continue;
        part = str_slice(part, name.len, part.len);
        while (part.len > 0 && len <= HUB_MAX_KEY_BYTES) {
            int byte = hex_take_percent(&part);

            if (byte < 0)
                return STR_EMPTY;
            space[len++] = (char)byte;
        }
        return (struct str){space, len};
    }
    return STR_EMPTY;
}

static struct str key_of(const struct http_request *request)
{
    struct str key = STR_EMPTY;

    (void)http_header(request, STR("X-Gateway-Key"), &key);
    return key;
}

/* Of a stream in the older dialect, the key may be in the query. */
static struct str key_of_machine(const struct http_request *request, enum hub_dialect dialect,
                                 char space[HUB_MAX_KEY_BYTES + 1])
{
    struct str key = key_of(request);

    return key.len == 0 && dialect == HUB_SEED ? key_of_query(request->query, space) : key;
}

static bool is_admitted(struct hubhttp *http, struct exchange *exchange, enum hub_dialect dialect)
{
    char space[HUB_MAX_KEY_BYTES + 1];
    struct str key = key_of_machine(exchange_request(exchange), dialect, space);
    enum hub_trust trust = hub_trust_of(http->hub, key);

    secret_wipe(space, sizeof(space));
    return http->config.admit == NULL || trust == HUB_TRUST_SESSION ||
           http->config.admit(http->config.data, exchange, trust == HUB_TRUST_GUESSABLE);
}

/* ---- streams ---- */

static void free_stream(struct stream *stream)
{
    list_remove(&stream->node);
    free(stream);
}

static void on_stream_gone(void *data)
{
    struct stream *stream = data;
    struct hubhttp *http = stream->http;

    hub_stream_gone(http->hub, stream->user, stream);
    free_stream(stream);
    hubhttp_reschedule(http);
}

static void on_send(void *data, void *stream, struct str json)
{
    (void)data;
    (void)sse_send(((struct stream *)stream)->sse, &(struct sse_event){.data = json});
}

static void on_close(void *data, void *stream)
{
    struct sse_stream *sse = ((struct stream *)stream)->sse;

    (void)data;
    free_stream(stream);
    sse_close(sse);
}

static void open_stream(struct hubhttp *http, struct exchange *exchange, enum hub_dialect dialect)
{
    const struct http_request *request = exchange_request(exchange);
    char space[HUB_MAX_KEY_BYTES + 1];
    char copy[HUB_MAX_KEY_BYTES + 1];
    struct str key = key_of_machine(request, dialect, space);
    struct err err = ERR_INIT;
    struct stream *stream;
    int64_t user;
    int r;

    r = hub_check_stream(http->hub, dialect, key, &user, &err);
    if (r < 0) {
        answer_err(exchange, &err);
        return;
    }
    stream = calloc(1, sizeof(*stream));
    if (stream == NULL) {
        answer_status(exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    /* The request ends where the stream begins. */
    memcpy(copy, key.ptr, key.len);
    key.ptr = copy;
    *stream = (struct stream){.http = http, .user = user};
    list_append(&http->streams, &stream->node);
    exchange_mark_connection(exchange);
    r = sse_open(http->sse, exchange, on_stream_gone, stream, &stream->sse);
    if (r < 0) {
        free_stream(stream);
    } else if (hub_open_stream(http->hub, dialect, key, stream, &err) < 0) {
        on_close(http, stream);
    }
    secret_wipe(copy, sizeof(copy));
    hubhttp_reschedule(http);
}

/* ---- what machines ask ---- */

/* NULL after an answer was sent. */
static struct connecting *connecting_new(struct hubhttp *http, struct exchange *exchange,
                                         enum hub_dialect dialect)
{
    struct connecting *connecting = malloc(sizeof(*connecting));

    if (connecting == NULL)
        answer_status(exchange, 503, err_text(ERR_NO_MEMORY));
    else
        *connecting = (struct connecting){.http = http, .exchange = exchange, .dialect = dialect};
    return connecting;
}

static void on_init_done(void *context, const struct err *err, struct str session_key,
                         bool has_extensions)
{
    struct connecting *connecting = context;
    cleanup_buf struct buf text = BUF_INIT(ANSWER_BYTES);
    struct json_writer json;
    int64_t user;

    /* A new key was given for a token. */
    if (err == NULL && session_key.len > 0 && connecting->http->config.paired != NULL &&
        hub_check_stream(connecting->http->hub, HUB_SEED, session_key, &user, NULL) == 0)
        connecting->http->config.paired(connecting->http->config.data, connecting->exchange, user,
                                        true);
    if (err != NULL) {
        answer_err(connecting->exchange, err);
    } else {
        json_writer_init(&json, &text);
        json_begin_object(&json);
        json_put_bool(&json, STR("ok"), true);
        if (session_key.len > 0)
            json_put_str(&json, STR("sessionKey"), session_key);
        if (has_extensions) {
            json_key(&json, STR("extensions"));
            json_splice(&json, STR("{\"gatehouse\":1}"));
        }
        json_end_object(&json);
        if (json_writer_finish(&json) < 0)
            answer_status(connecting->exchange, 503, err_text(ERR_NO_MEMORY));
        else
            answer_ok(connecting->exchange, connecting->dialect, buf_view(&text));
        secret_wipe(text.data, text.len);
    }
    hubhttp_reschedule(connecting->http);
    free(connecting);
}

static void init(struct hubhttp *http, struct exchange *exchange, enum hub_dialect dialect,
                 struct str rest)
{
    const struct http_request *request = exchange_request(exchange);
    struct connecting *connecting = connecting_new(http, exchange, dialect);

    (void)rest;
    if (connecting != NULL)
        hub_init(http->hub, key_of(request), request->body, on_init_done, connecting);
}

static void events(struct hubhttp *http, struct exchange *exchange, enum hub_dialect dialect,
                   struct str rest)
{
    (void)rest;
    open_stream(http, exchange, dialect);
}

static void respond(struct hubhttp *http, struct exchange *exchange, enum hub_dialect dialect,
                    struct str rest)
{
    const struct http_request *request = exchange_request(exchange);
    struct err err = ERR_INIT;
    int r = hub_respond(http->hub, key_of(request), rest, request->body, &err);

    if (r == 0)
        exchange_mark_connection(exchange);
    answer_done(exchange, dialect, r, &err);
}

static void disconnect(struct hubhttp *http, struct exchange *exchange, enum hub_dialect dialect,
                       struct str rest)
{
    struct err err = ERR_INIT;
    int r = hub_leave(http->hub, key_of(exchange_request(exchange)), &err);

    (void)rest;
    answer_done(exchange, dialect, r, &err);
}

static void on_credential_added(void *context, const struct err *err, struct str id)
{
    struct connecting *connecting = context;
    cleanup_buf struct buf text = BUF_INIT(ANSWER_BYTES);

    if (err != NULL)
        answer_err(connecting->exchange, err);
    else if (buf_printf(&text, "{\"credentialId\":\"%.*s\"}", STR_ARG(id)) < 0)
        answer_status(connecting->exchange, 503, err_text(ERR_NO_MEMORY));
    else
        answer_ok(connecting->exchange, connecting->dialect, buf_view(&text));
    free(connecting);
}

static void credentials(struct hubhttp *http, struct exchange *exchange, enum hub_dialect dialect,
                        struct str rest)
{
    const struct http_request *request = exchange_request(exchange);
    struct connecting *connecting = connecting_new(http, exchange, dialect);

    (void)rest;
    if (connecting != NULL)
        hub_add_credential(http->hub, key_of(request), request->body, on_credential_added,
                           connecting);
}

static void extension(struct hubhttp *http, struct exchange *exchange, enum hub_dialect dialect,
                      struct str rest)
{
    const struct http_request *request = exchange_request(exchange);
    struct err err = ERR_INIT;
    int r = hub_extension(http->hub, key_of(request), request->body, &err);

    (void)rest;
    answer_done(exchange, dialect, r, &err);
}

/* ---- what users ask ---- */

static int write_link(const struct hubhttp *http, const struct hub_link *link, struct buf *out)
{
    cleanup_buf struct buf command = BUF_INIT(ANSWER_BYTES);
    char until[CLOCK_ISO_BYTES];
    struct json_writer json;
    int r =
        buf_printf(&command, "gatehouse connect %.*s %s", STR_ARG(http->config.url), link->token);

    if (r < 0)
        return r;
    clock_format_iso(link->expires_ms, until);
    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_str(&json, STR("token"), str_from(link->token));
    json_put_str(&json, STR("command"), buf_view(&command));
    json_put_str(&json, STR("expiresAt"), str_from(until));
    json_put_int(&json, STR("ttlSeconds"), link->ttl_seconds);
    json_end_object(&json);
    secret_wipe(command.data, command.len);
    return json_writer_finish(&json);
}

static void create_link(struct hubhttp *http, struct exchange *exchange, enum hub_dialect dialect,
                        int64_t user)
{
    cleanup_buf struct buf text = BUF_INIT(ANSWER_BYTES);
    struct hub_link link;
    struct err err = ERR_INIT;
    int r = hub_create_link(http->hub, user, &link, &err);

    if (r == 0) {
        if (link.is_new && http->config.paired != NULL)
            http->config.paired(http->config.data, exchange, user, false);
        r = write_link(http, &link, &text);
        secret_wipe(&link, sizeof(link));
    }
    if (r < 0)
        answer_status(exchange, err_http_status(r), err_text(r));
    else
        answer_ok(exchange, dialect, buf_view(&text));
    if (text.data != NULL)
        secret_wipe(text.data, text.len);
}

static void status(struct hubhttp *http, struct exchange *exchange, enum hub_dialect dialect,
                   int64_t user)
{
    cleanup_buf struct buf text = BUF_INIT(ANSWER_BYTES);
    int r = hub_write_status(http->hub, user, &text);

    if (r < 0)
        answer_status(exchange, err_http_status(r), err_text(r));
    else
        answer_ok(exchange, dialect, buf_view(&text));
}

static void disconnect_session(struct hubhttp *http, struct exchange *exchange,
                               enum hub_dialect dialect, int64_t user)
{
    hub_dismiss(http->hub, user);
    answer_ok(exchange, dialect, STR("{\"ok\":true}"));
}

static void toggle(struct hubhttp *http, struct exchange *exchange, enum hub_dialect dialect,
                   int64_t user)
{
    struct err err = ERR_INIT;
    bool is_on;
    int r = hub_toggle_files(http->hub, user, &is_on, &err);

    if (r < 0)
        answer_err(exchange, &err);
    else
        answer_ok(exchange, dialect,
                  is_on ? STR("{\"filesystemEnabled\":true}")
                        : STR("{\"filesystemEnabled\":false}"));
}

/* ---- which endpoint ---- */

struct endpoint {
    enum http_method method;
    struct str name; /* below the prefix; with a slash at its end, more follows */
    size_t max_body_bytes;
    /* One of them: with a machine's key, or a user's session. */
    void (*machine)(struct hubhttp *, struct exchange *, enum hub_dialect, struct str rest);
    void (*user)(struct hubhttp *, struct exchange *, enum hub_dialect, int64_t user);
};

static const struct endpoint endpoints[] = {
    {HTTP_METHOD_POST, STR_LITERAL("response/"), HUB_MAX_BODY_BYTES, .machine = respond},
    {HTTP_METHOD_GET, STR_LITERAL("events"), 0, .machine = events},
    {HTTP_METHOD_POST, STR_LITERAL("init"), HUB_MAX_BODY_BYTES, .machine = init},
    {HTTP_METHOD_POST, STR_LITERAL("extension"), HUB_MAX_BODY_BYTES, .machine = extension},
    {HTTP_METHOD_POST, STR_LITERAL("credentials"), HUB_MAX_BODY_BYTES, .machine = credentials},
    {HTTP_METHOD_POST, STR_LITERAL("disconnect"), SMALL_BODY_BYTES, .machine = disconnect},
    {HTTP_METHOD_GET, STR_LITERAL("status"), 0, .user = status},
    {HTTP_METHOD_POST, STR_LITERAL("create-link"), SMALL_BODY_BYTES, .user = create_link},
    {HTTP_METHOD_POST, STR_LITERAL("disconnect-session"), SMALL_BODY_BYTES,
     .user = disconnect_session},
};

static const struct endpoint toggle_endpoint = {HTTP_METHOD_POST, STR_LITERAL(""), SMALL_BODY_BYTES,
                                                .user = toggle};

bool hubhttp_has_path(struct str path)
{
    return str_starts_with(path, STR(HUBHTTP_N8N_PREFIX)) ||
           str_starts_with(path, STR(HUBHTTP_SEED_PREFIX)) || str_eq(path, STR(HUBHTTP_TOGGLE));
}

static const struct endpoint *find_endpoint(const struct http_request *request,
                                            enum hub_dialect *out_dialect, struct str *out_rest)
{
    const struct str n8n = STR(HUBHTTP_N8N_PREFIX);
    const struct str seed = STR(HUBHTTP_SEED_PREFIX);
    enum http_method method =
        request->method == HTTP_METHOD_HEAD ? HTTP_METHOD_GET : request->method;
    struct str path = request->path;

    *out_dialect = str_starts_with(path, n8n) ? HUB_N8N : HUB_SEED;
    *out_rest = STR_EMPTY;
    if (str_eq(path, STR(HUBHTTP_TOGGLE)))
        return method == HTTP_METHOD_POST ? &toggle_endpoint : NULL;
    if (*out_dialect == HUB_SEED && !str_starts_with(path, seed))
        return NULL;
    path = str_slice(path, *out_dialect == HUB_N8N ? n8n.len : seed.len, path.len);
    for (size_t i = 0; i < array_size(endpoints); i++) {
        struct str name = endpoints[i].name;

        if (endpoints[i].method != method)
            continue;
        if (str_eq(path, name) && !str_ends_with(name, STR("/")))
            return &endpoints[i];
        if (str_ends_with(name, STR("/")) && str_starts_with(path, name) && path.len > name.len) {
            *out_rest = str_slice(path, name.len, path.len);
            return &endpoints[i];
        }
    }
    return NULL;
}

static void serve(void *data, struct exchange *exchange)
{
    struct hubhttp *http = data;
    enum hub_dialect dialect;
    struct str rest;
    const struct endpoint *endpoint = find_endpoint(exchange_request(exchange), &dialect, &rest);
    int64_t user;
    int r;

    if (endpoint->machine != NULL) {
        endpoint->machine(http, exchange, dialect, rest);
        return;
    }
    r = http->config.user_of(http->config.data, exchange, &user);
    if (r < 0) {
        answer_status(exchange, err_http_status(r),
                      r == ERR_UNAUTHORIZED ? "Unauthorized" : err_text(r));
        return;
    }
    exchange_mark_connection(exchange);
    endpoint->user(http, exchange, dialect, user);
    hubhttp_reschedule(http);
}

void hubhttp_handle(void *data, struct exchange *exchange)
{
    struct hubhttp *http = data;
    const struct http_request *request = exchange_request(exchange);
    enum hub_dialect dialect;
    struct str rest;
    const struct endpoint *endpoint = find_endpoint(request, &dialect, &rest);
    struct err err = ERR_INIT;

    if (endpoint == NULL || http->is_closed) {
        answer_status(exchange, endpoint == NULL ? 404 : 503,
                      endpoint == NULL ? "Not found" : "the server stops");
        return;
    }
    if (endpoint->machine != NULL && !is_admitted(http, exchange, dialect))
        return;
    if (request->content_length > endpoint->max_body_bytes && endpoint->max_body_bytes > 0) {
        answer_status(exchange, 413, "request entity too large");
        return;
    }
    if (endpoint->machine != NULL && endpoint->max_body_bytes > HUBHTTP_UNKNOWN_BODY_BYTES &&
        (request->is_chunked || request->content_length > HUBHTTP_UNKNOWN_BODY_BYTES) &&
        hub_check_key(http->hub, key_of(request), &err) < 0) {
        answer_err(exchange, &err);
        return;
    }
    exchange_collect(exchange,
                     endpoint->max_body_bytes > 0 ? endpoint->max_body_bytes : SMALL_BODY_BYTES,
                     serve, http);
}

/* ---- making ---- */

static void on_changed(void *data, int64_t user)
{
    struct hubhttp *http = data;

    if (http->config.changed != NULL)
        http->config.changed(http->config.data, user);
}

static void on_opened(void *data, int64_t user)
{
    struct hubhttp *http = data;

    if (http->config.opened != NULL)
        http->config.opened(http->config.data, user);
}

static void on_report(void *data, int64_t user, struct str type, const struct json_value *event)
{
    struct hubhttp *http = data;

    if (http->config.report != NULL)
        http->config.report(http->config.data, user, type, event);
}

static const struct hub_events hub_events = {.send = on_send,
                                             .close = on_close,
                                             .changed = on_changed,
                                             .opened = on_opened,
                                             .report = on_report};

int hubhttp_new(const struct hubhttp_config *config, struct hubhttp **out_http)
{
    struct hubhttp *http = calloc(1, sizeof(*http));
    const struct hub_config hub = {
        .clock = config->clock,
        .store = config->store,
        .store_data = config->store_data,
        .events = &hub_events,
        .events_data = http,
        .static_key = config->static_key,
        .static_user = config->static_user,
        .timeout_ms = config->timeout_ms,
    };
    const struct sse_hub_config sse = {
        .max_kept_bytes = HUBHTTP_MAX_UNREAD_BYTES,
        .type = STR("text/event-stream; charset=UTF-8"),
        .cache_control = STR("no-cache, no-transform"),
        .keepalive = STR(": ping"),
    };
    int r;

    if (http == NULL)
        return ERR_NO_MEMORY;
    http->config = *config;
    list_init(&http->streams);
    timer_init(&http->timer, config->loop, on_time, http);
    loop_task_init(&http->expire, on_time, http);
    r = hub_new(&hub, &http->hub);
    if (r == 0)
        r = sse_hub_new(config->loop, &sse, &http->sse);
    if (r < 0) {
        hubhttp_free(http);
        return r;
    }
    *out_http = http;
    return 0;
}

size_t hubhttp_stream_count(const struct hubhttp *http)
{
    return sse_hub_count(http->sse);
}

struct hub *hubhttp_hub(const struct hubhttp *http)
{
    return http->hub;
}

void hubhttp_close(struct hubhttp *http)
{
    http->is_closed = true;
    while (!list_is_empty(&http->streams)) {
        struct stream *stream = list_entry(http->streams.next, struct stream, node);
        struct sse_stream *sse = stream->sse;

        hub_stream_gone(http->hub, stream->user, stream);
        free_stream(stream);
        sse_close(sse);
    }
    timer_stop(&http->timer);
}

void hubhttp_free(struct hubhttp *http)
{
    if (http == NULL)
        return;
    if (http->sse != NULL)
        hubhttp_close(http);
    http->config.changed = NULL;
    http->config.opened = NULL;
    http->config.report = NULL;
    hub_free(http->hub);
    sse_hub_free(http->sse);
    timer_stop(&http->timer);
    loop_task_cancel(&http->expire);
    free(http);
}
