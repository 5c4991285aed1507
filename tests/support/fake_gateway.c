/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_gateway.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/list.h"
#include "base/map.h"
#include "base/rand.h"
#include "base/secret.h"
#include "loop/timer.h"

enum {
    TOKEN_MS = 5 * 60 * 1000,
    MAX_KEY_BYTES = 256,
    MAX_CALLS = 100000,
    ARENA_BYTES = 512 << 20,
    ID_RANDOM = 21,
    KEY_RANDOM = 32,
};

static const struct str NAMES[FAKE_ENDPOINTS] = {
    [FAKE_INIT] = STR_LITERAL("init"),
    [FAKE_EVENTS] = STR_LITERAL("events"),
    [FAKE_RESPONSE] = STR_LITERAL("response"),
    [FAKE_DISCONNECT] = STR_LITERAL("disconnect"),
    [FAKE_CREDENTIALS] = STR_LITERAL("credentials"),
    [FAKE_OTHER] = STR_LITERAL("other"),
};

struct stream {
    struct list node;
    struct fake_gateway *gateway;
    struct exchange *exchange;
};

struct waiting_call {
    char id[FAKE_ID_BYTES];
    int64_t since_ms;
};

/* An answer that comes later, or never. */
struct late {
    struct list node;
    struct fake_gateway *gateway;
    struct exchange *exchange;
    struct timer timer;
    int status;
    struct buf body;
};

struct plan {
    int status;
    unsigned count;
    char body[256];
    int64_t delay_ms;
};

enum key_kind { KEY_NONE, KEY_BAD, KEY_PAIRING, KEY_SESSION, KEY_STATIC };

struct fake_gateway {
    struct fake_gateway_config config;
    struct httpserver *server;
    uint16_t port;
    char token[MAX_KEY_BYTES];
    int64_t token_ms;
    char session[FAKE_KEY_BYTES];
    bool is_connected;
    bool is_seed;
    bool had_key_in_query;
    bool had_key_in_header;
    struct buf init;
    struct list streams;
    struct list late;
    size_t stream_count;
    struct map calls;
    struct plan plans[FAKE_ENDPOINTS];
    unsigned hits[FAKE_ENDPOINTS];
    unsigned refused;
    struct timer ping;
};

bool fake_endpoint_from(struct str name, enum fake_endpoint *out_endpoint)
{
    for (int i = 0; i < FAKE_ENDPOINTS; i++)
        if (str_eq(name, NAMES[i])) {
            *out_endpoint = (enum fake_endpoint)i;
            return true;
        }
    return false;
}

static void changed(struct fake_gateway *gateway)
{
    if (gateway->config.on_change != NULL)
        gateway->config.on_change(gateway->config.data);
}

/* ---- answers ---- */

static void answer_now(struct fake_gateway *gateway, struct exchange *exchange, int status,
                       struct str body)
{
    gateway->refused += status / 100 == 4;
    exchange_answer(exchange, &(struct http_answer){.status = status,
                                                    .type = STR("application/json; charset=utf-8"),
                                                    .parts = &body,
                                                    .part_count = 1});
}

static void free_late(struct late *late)
{
    timer_stop(&late->timer);
    list_remove(&late->node);
    buf_done(&late->body);
    free(late);
}

static void on_late(void *data)
{
    struct late *late = data;

    answer_now(late->gateway, late->exchange, late->status, buf_view(&late->body));
    free_late(late);
}

static void on_late_gone(void *data)
{
    free_late(data);
}

static const struct exchange_events LATE_EVENTS = {.on_gone = on_late_gone};

/* Below zero: never. */
static void answer_later(struct fake_gateway *gateway, struct exchange *exchange, int status,
                         struct str body, int64_t ms)
{
    struct late *late = calloc(1, sizeof(*late));

    assert(late != NULL);
    late->gateway = gateway;
    late->exchange = exchange;
    late->status = status;
    buf_init(&late->body, FAKE_BODY_BYTES);
    assert(buf_append_str(&late->body, body) == 0);
    timer_init(&late->timer, gateway->config.loop, on_late, late);
    list_append(&gateway->late, &late->node);
    exchange_watch(exchange, &LATE_EVENTS, late);
    if (ms >= 0)
        timer_start(&late->timer, ms);
}

static void answer(struct fake_gateway *gateway, enum fake_endpoint endpoint,
                   struct exchange *exchange, int status, struct str body)
{
    if (gateway->plans[endpoint].delay_ms > 0)
        answer_later(gateway, exchange, status, body, gateway->plans[endpoint].delay_ms);
    else
        answer_now(gateway, exchange, status, body);
}

static void answer_error(struct fake_gateway *gateway, enum fake_endpoint endpoint,
                         struct exchange *exchange, int status, const char *message)
{
    char text[256];

    snprintf(text, sizeof(text), "{\"code\":%d,\"message\":\"%s\"}", status, message);
    answer(gateway, endpoint, exchange, status, str_from(text));
}

/* What n8n serves is wrapped, the older one is not. */
static void answer_ok(struct fake_gateway *gateway, enum fake_endpoint endpoint,
                      struct exchange *exchange, bool is_seed, const char *body)
{
    char text[512];

    snprintf(text, sizeof(text), is_seed ? "%s" : "{\"data\":%s}", body);
    answer(gateway, endpoint, exchange, 200, str_from(text));
}

/* ---- keys ---- */

static bool is_same(struct str given, const char *key)
{
    return key[0] != '\0' && given.len == strlen(key) && secret_bytes_eq(given.ptr, key, given.len);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' ? (c | 0x20) - 'a' + 10 : 0;
}

/* apiKey of a query, decoded into `space`. */
static bool key_of_query(struct str query, char space[MAX_KEY_BYTES], struct str *out_key)
{
    const struct str prefix = STR("apiKey=");
    size_t len = 0;

    if (!str_starts_with(query, prefix) || query.len - prefix.len >= MAX_KEY_BYTES)
        return false;
    for (size_t i = prefix.len; i < query.len; i++) {
        if (query.ptr[i] == '%' && i + 2 < query.len) {
            space[len++] = (char)(hex_digit(query.ptr[i + 1]) * 16 + hex_digit(query.ptr[i + 2]));
            i += 2;
        } else {
            space[len++] = query.ptr[i];
        }
    }
    *out_key = (struct str){space, len};
    return true;
}

static enum key_kind key_kind(struct fake_gateway *gateway, const struct http_request *request,
                              bool takes_query)
{
    char space[MAX_KEY_BYTES];
    struct str key = STR_EMPTY;
    bool has_header = http_header(request, STR("x-gateway-key"), &key);
    bool has_query = takes_query && key_of_query(request->query, space, &key);

    if (takes_query) {
        gateway->had_key_in_header = has_header;
        gateway->had_key_in_query = has_query;
    }
    if (key.len == 0 || key.len > MAX_KEY_BYTES)
        return KEY_NONE;
    if (gateway->config.static_key != NULL && is_same(key, gateway->config.static_key))
        return KEY_STATIC;
    if (is_same(key, gateway->session))
        return KEY_SESSION;
    if (is_same(key, gateway->token) &&
        loop_now_ms(gateway->config.loop) - gateway->token_ms < TOKEN_MS)
        return KEY_PAIRING;
    return KEY_BAD;
}

static bool is_good_key(struct fake_gateway *gateway, enum fake_endpoint endpoint,
                        struct exchange *exchange, enum key_kind kind)
{
    if (kind == KEY_NONE || kind == KEY_BAD) {
        answer_error(gateway, endpoint, exchange, 403,
                     kind == KEY_NONE ? "Missing API key" : "Invalid API key");
        return false;
    }
    return true;
}

const char *fake_gateway_token(struct fake_gateway *gateway)
{
    if (gateway->token[0] == '\0' ||
        loop_now_ms(gateway->config.loop) - gateway->token_ms >= TOKEN_MS) {
        memcpy(gateway->token, "gw_", 3);
        rand_token(gateway->token + 3, KEY_RANDOM);
        gateway->token_ms = loop_now_ms(gateway->config.loop);
    }
    return gateway->token;
}

/* ---- streams ---- */

static void free_stream(struct stream *stream)
{
    stream->gateway->stream_count--;
    list_remove(&stream->node);
    free(stream);
}

static void on_stream_gone(void *data)
{
    struct stream *stream = data;
    struct fake_gateway *gateway = stream->gateway;

    free_stream(stream);
    changed(gateway);
}

static const struct exchange_events STREAM_EVENTS = {.on_gone = on_stream_gone};

static void open_stream(struct fake_gateway *gateway, struct exchange *exchange)
{
    static const struct http_field fields[] = {
        {STR_LITERAL("Cache-Control"), STR_LITERAL("no-cache, no-transform")},
        {STR_LITERAL("X-Accel-Buffering"), STR_LITERAL("no")},
    };
    struct stream *stream = calloc(1, sizeof(*stream));

    assert(stream != NULL);
    stream->gateway = gateway;
    stream->exchange = exchange;
    list_append(&gateway->streams, &stream->node);
    gateway->stream_count++;
    exchange_watch(exchange, &STREAM_EVENTS, stream);
    exchange_begin(exchange, &(struct http_answer){.status = 200,
                                                   .type = STR("text/event-stream; charset=UTF-8"),
                                                   .fields = fields,
                                                   .field_count = array_size(fields)});
    changed(gateway);
}

void fake_gateway_raw(struct fake_gateway *gateway, struct str bytes)
{
    list_each_safe (node, &gateway->streams)
        (void)exchange_write(list_entry(node, struct stream, node)->exchange, &bytes, 1);
}

void fake_gateway_drop(struct fake_gateway *gateway, bool is_clean)
{
    while (!list_is_empty(&gateway->streams)) {
        struct stream *stream = list_entry(gateway->streams.next, struct stream, node);
        struct exchange *exchange = stream->exchange;

        free_stream(stream);
        if (is_clean)
            exchange_end(exchange);
        else
            exchange_cut(exchange);
    }
    changed(gateway);
}

static void forget_calls(struct fake_gateway *gateway)
{
    size_t cursor = 0;
    struct str id;
    void *value;

    while (map_next(&gateway->calls, &cursor, &id, &value)) {
        map_remove(&gateway->calls, id);
        free(value);
        cursor = 0;
    }
}

static void end_session(struct fake_gateway *gateway)
{
    gateway->session[0] = '\0';
    gateway->is_connected = false;
    forget_calls(gateway);
}

void fake_gateway_forget(struct fake_gateway *gateway)
{
    end_session(gateway);
    gateway->token[0] = '\0';
    fake_gateway_drop(gateway, false);
}

void fake_gateway_dismiss(struct fake_gateway *gateway)
{
    fake_gateway_raw(gateway, STR("data: {\"type\":\"gateway-disconnect\"}\n\n"));
    end_session(gateway);
    fake_gateway_drop(gateway, true);
}

static void on_ping(void *data)
{
    fake_gateway_raw(data, STR(": ping\n\n"));
}

void fake_gateway_call(struct fake_gateway *gateway, const char *name, struct str arguments,
                       char out_id[FAKE_ID_BYTES])
{
    struct waiting_call *call = calloc(1, sizeof(*call));
    cleanup_buf struct buf frame = BUF_INIT(FAKE_BODY_BYTES * 2);

    assert(call != NULL);
    memcpy(call->id, "gw_", 3);
    rand_token(call->id + 3, ID_RANDOM);
    call->since_ms = loop_now_ms(gateway->config.loop);
    assert(map_add(&gateway->calls, str_from(call->id), call) == 0);
    assert(buf_printf(&frame,
                      "data: {\"type\":\"filesystem-request\",\"payload\":{\"requestId\":\"%s\",",
                      call->id) == 0);
    if (gateway->is_seed)
        assert(buf_printf(&frame, "\"operation\":\"%s\",\"args\":", name) == 0);
    else
        assert(buf_printf(&frame, "\"toolCall\":{\"name\":\"%s\",\"arguments\":", name) == 0);
    assert(buf_append_str(&frame, arguments) == 0);
    assert(buf_append_str(&frame, gateway->is_seed ? STR("}}\n\n") : STR("}}}\n\n")) == 0);
    memcpy(out_id, call->id, FAKE_ID_BYTES);
    fake_gateway_raw(gateway, buf_view(&frame));
}

/* ---- endpoints ---- */

static bool is_object_schema(const struct json_value *schema)
{
    const struct json_value *properties = json_get(schema, STR("properties"));
    struct str type;

    return json_get_str(schema, STR("type"), &type) && str_eq(type, STR("object")) &&
           properties != NULL && properties->type == JSON_OBJECT;
}

static bool is_input_schema(const struct json_value *schema)
{
    static const struct str unions[] = {STR_LITERAL("anyOf"), STR_LITERAL("oneOf")};

    if (schema == NULL)
        return false;
    if (is_object_schema(schema))
        return true;
    for (size_t i = 0; i < array_size(unions); i++) {
        const struct json_value *list = json_get(schema, unions[i]);

        if (list == NULL || list->type != JSON_ARRAY)
            continue;
        json_each_item (item, list) {
            if (!is_object_schema(item))
                return false;
        }
        return list->size > 0;
    }
    return false;
}

/* The body of a 400, or an empty view when the body is good. */
static struct str check_init(const struct json_value *body)
{
    const struct json_value *tools = json_get(body, STR("tools"));
    struct str path;

    if (!json_get_str(body, STR("rootPath"), &path))
        return STR("{\"code\":\"invalid_type\",\"expected\":\"string\",\"received\":\"undefined\","
                   "\"path\":[\"rootPath\"],\"message\":\"Required\"}");
    if (tools == NULL)
        return STR_EMPTY;
    json_each_item (tool, tools) {
        if (!json_get_str(tool, STR("name"), &path) ||
            !is_input_schema(json_get(tool, STR("inputSchema"))))
            return STR("{\"code\":\"invalid_union\",\"path\":[\"tools\",\"inputSchema\"],"
                       "\"message\":\"Invalid input\"}");
    }
    return STR_EMPTY;
}

static const struct json_value *read_json(struct arena *arena, struct str text)
{
    const struct json_value *document;
    const struct json_limits limits = {FAKE_BODY_BYTES + 1, JSON_DEFAULT_MAX_DEPTH};

    return json_parse(arena, text, limits, &document, NULL) == 0 ? document : NULL;
}

static bool is_seed_path(const struct http_request *request)
{
    return str_starts_with(request->path, STR("/instance-ai/"));
}

static void on_init(void *data, struct exchange *exchange)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct fake_gateway *gateway = data;
    const struct http_request *request = exchange_request(exchange);
    const struct json_value *body = read_json(&arena, request->body);
    bool is_seed = is_seed_path(request);
    char text[128] = "{\"ok\":true}";
    struct str problem;
    enum key_kind kind;

    if (body == NULL) {
        answer_error(gateway, FAKE_INIT, exchange, 400, "Malformed JSON");
        return;
    }
    problem = check_init(body);
    if (problem.len > 0) {
        answer(gateway, FAKE_INIT, exchange, 400, problem);
        return;
    }
    kind = key_kind(gateway, request, false);
    if (!is_good_key(gateway, FAKE_INIT, exchange, kind))
        return;
    buf_clear(&gateway->init);
    assert(buf_append_str(&gateway->init, request->body) == 0);
    gateway->is_seed = json_get(body, STR("tools")) == NULL;
    gateway->is_connected = true;
    if (kind == KEY_PAIRING) {
        gateway->token[0] = '\0';
        memcpy(gateway->session, "sess_", 5);
        rand_token(gateway->session + 5, KEY_RANDOM);
        snprintf(text, sizeof(text), "{\"ok\":true,\"sessionKey\":\"%s\"}", gateway->session);
    }
    answer_ok(gateway, FAKE_INIT, exchange, is_seed, text);
    changed(gateway);
}

static void on_events(struct fake_gateway *gateway, struct exchange *exchange)
{
    const struct http_request *request = exchange_request(exchange);
    bool is_seed = is_seed_path(request);

    if (!is_good_key(gateway, FAKE_EVENTS, exchange, key_kind(gateway, request, is_seed)))
        return;
    if (!gateway->is_connected && !is_seed)
        answer_error(gateway, FAKE_EVENTS, exchange, 403, "Local gateway not initialized");
    else
        open_stream(gateway, exchange);
}

/* {"result"}, {"data"} or {"error"} */
static bool is_answer(struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *body = read_json(&arena, text);

    return body != NULL &&
           (json_get(body, STR("result")) != NULL || json_get(body, STR("data")) != NULL ||
            json_get(body, STR("error")) != NULL);
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void on_response(void *data, struct exchange *exchange)
{
    struct fake_gateway *gateway = data;
    const struct http_request *request = exchange_request(exchange);
    int64_t arrived_ns = now_ns();
    struct str id = request->path;
    struct waiting_call *call;

    if (!gateway->config.takes_any_answer && !is_answer(request->body)) {
        answer_error(gateway, FAKE_RESPONSE, exchange, 400, "Malformed answer");
        return;
    }
    if (!is_good_key(gateway, FAKE_RESPONSE, exchange, key_kind(gateway, request, false)))
        return;
    id = str_slice(id, str_find(id, STR("response/")) + 9, SIZE_MAX);
    call = map_remove(&gateway->calls, id);
    if (call == NULL) {
        answer_error(gateway, FAKE_RESPONSE, exchange, 404,
                     "Gateway request not found or already resolved");
        return;
    }
    if (gateway->config.on_answer != NULL)
        gateway->config.on_answer(
            gateway->config.data,
            &(struct fake_answer){.id = str_from(call->id),
                                  .body = request->body,
                                  .took_ms = loop_now_ms(gateway->config.loop) - call->since_ms,
                                  .arrived_ns = arrived_ns});
    free(call);
    answer_ok(gateway, FAKE_RESPONSE, exchange, is_seed_path(request), "{\"ok\":true}");
}

/* The test is shown what came, as if it were an answer. */
static void on_credentials(void *data, struct exchange *exchange)
{
    struct fake_gateway *gateway = data;
    const struct http_request *request = exchange_request(exchange);

    if (!is_good_key(gateway, FAKE_CREDENTIALS, exchange, key_kind(gateway, request, false)))
        return;
    if (gateway->config.on_answer != NULL)
        gateway->config.on_answer(gateway->config.data,
                                  &(struct fake_answer){.id = STR("credentials"),
                                                        .body = request->body,
                                                        .arrived_ns = now_ns()});
    answer_ok(gateway, FAKE_CREDENTIALS, exchange, is_seed_path(request),
              "{\"credentialId\":\"cred-1\"}");
}

static void on_disconnect(void *data, struct exchange *exchange)
{
    struct fake_gateway *gateway = data;
    const struct http_request *request = exchange_request(exchange);

    if (!is_good_key(gateway, FAKE_DISCONNECT, exchange, key_kind(gateway, request, false)))
        return;
    answer_ok(gateway, FAKE_DISCONNECT, exchange, is_seed_path(request), "{\"ok\":true}");
    fake_gateway_dismiss(gateway);
}

/* ---- requests ---- */

static bool is_planned(struct fake_gateway *gateway, enum fake_endpoint endpoint,
                       struct exchange *exchange)
{
    struct plan *plan = &gateway->plans[endpoint];

    if (plan->count == 0)
        return false;
    plan->count--;
    if (plan->status == 0)
        exchange_cut(exchange);
    else if (plan->status < 0)
        answer_later(gateway, exchange, 0, STR_EMPTY, -1);
    else
        answer(gateway, endpoint, exchange, plan->status, str_from(plan->body));
    return true;
}

static enum fake_endpoint endpoint_of(const struct fake_gateway *gateway,
                                      const struct http_request *request)
{
    const struct str n8n = STR("/rest/instance-ai/gateway/");
    const struct str seed = STR("/instance-ai/gateway/");
    enum fake_endpoint endpoint = FAKE_OTHER;
    struct str rest;
    struct str first = STR_EMPTY;

    if (!gateway->config.has_no_n8n && str_starts_with(request->path, n8n))
        rest = str_slice(request->path, n8n.len, SIZE_MAX);
    else if (!gateway->config.has_no_seed && str_starts_with(request->path, seed))
        rest = str_slice(request->path, seed.len, SIZE_MAX);
    else
        return FAKE_OTHER;
    str_cut(&rest, '/', &first);
    fake_endpoint_from(first, &endpoint);
    return endpoint;
}

static void handle(void *data, struct exchange *exchange)
{
    struct fake_gateway *gateway = data;
    const struct http_request *request = exchange_request(exchange);
    enum fake_endpoint endpoint = endpoint_of(gateway, request);
    bool is_post = request->method == HTTP_METHOD_POST;

    gateway->hits[endpoint]++;
    if (is_planned(gateway, endpoint, exchange))
        return;
    if (request->content_length > FAKE_BODY_BYTES)
        answer_error(gateway, endpoint, exchange, 413, "request entity too large");
    else if (endpoint == FAKE_INIT && is_post)
        exchange_collect(exchange, FAKE_BODY_BYTES, on_init, gateway);
    else if (endpoint == FAKE_RESPONSE && is_post)
        exchange_collect(exchange, FAKE_BODY_BYTES, on_response, gateway);
    else if (endpoint == FAKE_CREDENTIALS && is_post)
        exchange_collect(exchange, FAKE_BODY_BYTES, on_credentials, gateway);
    else if (endpoint == FAKE_DISCONNECT && is_post)
        exchange_collect(exchange, FAKE_BODY_BYTES, on_disconnect, gateway);
    else if (endpoint == FAKE_EVENTS && request->method == HTTP_METHOD_GET)
        on_events(gateway, exchange);
    else
        answer_error(gateway, FAKE_OTHER, exchange, 404, "Not found");
}

/* ---- for tests ---- */

void fake_gateway_fail(struct fake_gateway *gateway, enum fake_endpoint endpoint, int status,
                       unsigned count, struct str body)
{
    struct plan *plan = &gateway->plans[endpoint];

    assert(body.len < sizeof(plan->body));
    plan->status = status;
    plan->count = count;
    snprintf(plan->body, sizeof(plan->body), "%.*s", STR_ARG(body));
}

void fake_gateway_delay(struct fake_gateway *gateway, enum fake_endpoint endpoint, int64_t ms)
{
    gateway->plans[endpoint].delay_ms = ms;
}

void fake_gateway_state(const struct fake_gateway *gateway, struct fake_gateway_state *out_state)
{
    struct httpserver_stats stats;

    httpserver_stats(gateway->server, &stats);
    *out_state = (struct fake_gateway_state){.is_connected = gateway->is_connected,
                                             .streams = gateway->stream_count,
                                             .pending = gateway->calls.count,
                                             .refused = gateway->refused,
                                             .is_seed = gateway->is_seed,
                                             .init = buf_view(&gateway->init),
                                             .session_key = gateway->session,
                                             .had_key_in_query = gateway->had_key_in_query,
                                             .had_key_in_header = gateway->had_key_in_header,
                                             .connections = stats.accepted};
    memcpy(out_state->hits, gateway->hits, sizeof(gateway->hits));
}

uint16_t fake_gateway_port(const struct fake_gateway *gateway)
{
    return gateway->port;
}

/* With the owner's data, not ours. */
static int make_filter(void *data, struct filter **out_filter)
{
    const struct fake_gateway *gateway = data;

    return gateway->config.make_filter(gateway->config.data, out_filter);
}

int fake_gateway_new(const struct fake_gateway_config *config, struct fake_gateway **out_gateway)
{
    struct fake_gateway *gateway = calloc(1, sizeof(*gateway));
    struct httpserver_config serving = {.on_request = handle,
                                        .make_filter =
                                            config->make_filter != NULL ? make_filter : NULL,
                                        .max_collected_bytes = (size_t)1 << 30};
    struct address address;
    int fd;
    int r;

    assert(gateway != NULL);
    gateway->config = *config;
    list_init(&gateway->streams);
    list_init(&gateway->late);
    gateway->calls = (struct map)MAP_INIT(MAX_CALLS);
    buf_init(&gateway->init, FAKE_BODY_BYTES);
    timer_init(&gateway->ping, config->loop, on_ping, gateway);
    if (config->ping_ms > 0)
        timer_start_repeating(&gateway->ping, config->ping_ms);
    if (config->token != NULL) {
        snprintf(gateway->token, sizeof(gateway->token), "%s", config->token);
        gateway->token_ms = loop_now_ms(config->loop);
    }
    assert(address_parse(STR("127.0.0.1:0"), &address) == 0);
    address.port = config->port;
    r = address_listen(&address, NULL, &fd);
    assert(r < 0 || address_of(fd, &address) == 0);
    serving.data = gateway;
    if (r == 0)
        r = httpserver_new(config->loop, fd, &serving, &gateway->server);
    if (r < 0) {
        timer_stop(&gateway->ping);
        free(gateway);
        return r;
    }
    gateway->port = address.port;
    *out_gateway = gateway;
    return 0;
}

void fake_gateway_free(struct fake_gateway *gateway)
{
    if (gateway == NULL)
        return;
    gateway->config.on_change = NULL;
    timer_stop(&gateway->ping);
    /* Streams and late answers are told, and go. */
    httpserver_free(gateway->server);
    assert(list_is_empty(&gateway->streams) && list_is_empty(&gateway->late));
    forget_calls(gateway);
    map_done(&gateway->calls);
    buf_done(&gateway->init);
    free(gateway);
}
