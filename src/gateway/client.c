/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/client.h"

#include <stdlib.h>

#include "base/rand.h"
#include "gateway/internal.h"

static const struct sse_limits LIMITS = {.max_line_bytes = GATEWAY_MAX_EVENT_BYTES,
                                         .max_event_bytes = GATEWAY_MAX_EVENT_BYTES};

/* ---- what requests have in common ---- */

struct http_field gateway_key_field(const struct gateway *gateway)
{
    /* The server identifies us by it; the HTTP client wipes its copy. */
    return (struct http_field){STR("X-Gateway-Key"), secret_reveal(&gateway->key)};
}

int gateway_target(const struct gateway *gateway, struct str endpoint, struct buf *out)
{
    int r = buf_append_str(out, gateway->dialect == GATEWAY_N8N ? STR("/rest/instance-ai/gateway/")
                                                                : STR("/instance-ai/gateway/"));

    return r < 0 ? r : buf_append_str(out, endpoint);
}

int gateway_append_escaped(struct buf *out, struct str text)
{
    int r = 0;

    for (size_t i = 0; i < text.len && r == 0; i++) {
        char c = text.ptr[i];

        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
            c == '-' || c == '_' || c == '.' || c == '~')
            r = buf_append_char(out, c);
        else
            r = buf_printf(out, "%%%02X", (unsigned)(unsigned char)c);
    }
    return r;
}

int gateway_post(struct gateway *gateway, const struct gateway_post *post,
                 const struct httpclient_events *events, void *data,
                 struct httpclient_call **out_call, struct err *err)
{
    cleanup_buf struct buf target = BUF_INIT(TARGET_BYTES);
    const struct http_field fields[] = {gateway_key_field(gateway),
                                        {STR("Content-Type"), STR("application/json")}};
    struct httpclient_request request = {.method = HTTP_METHOD_POST,
                                         .url = &gateway->url,
                                         .fields = fields,
                                         .field_count = post->body != NULL ? 2 : 1,
                                         .body = post->body,
                                         .may_repeat = post->may_repeat,
                                         .max_answer_bytes = GATEWAY_MAX_REPLY_BYTES,
                                         .whole_ms = post->whole_ms};
    int r = gateway_target(gateway, post->endpoint, &target);

    if (r == 0)
        r = gateway_append_escaped(&target, post->id);
    if (r < 0)
        return err_set_plain(err, r);
    request.target = buf_view(&target);
    return httpclient_send(gateway->config.http, &request, events, data, out_call, err);
}

void gateway_set_refusal(const struct gateway *gateway, int status, struct str body,
                         struct err *err)
{
    char words[GATEWAY_ERROR_BYTES];

    gateway_error_parse(body, &gateway->key, words);
    err_set(err, status == 401 || status == 403 ? ERR_GATEWAY_DENIED : ERR_GATEWAY_STATUS,
            "the server responded with %d%s%s", status, words[0] != '\0' ? ": " : "", words);
}

void gateway_note_status(struct gateway *gateway, int status, struct str body)
{
    char words[GATEWAY_ERROR_BYTES];

    gateway_error_parse(body, &gateway->key, words);
    err_set(&gateway->why,
            status == 401 || status == 403   ? ERR_GATEWAY_DENIED
            : status == 404 || status == 405 ? ERR_GATEWAY_MISSING
                                             : ERR_GATEWAY_STATUS,
            "%s responded with %d%s%s", gateway->url.host, status, words[0] != '\0' ? ": " : "",
            words);
}

/* ---- init ---- */

static int send_init(struct gateway *gateway);

static void on_init_answer(struct gateway *gateway, int status, struct str body)
{
    struct gateway_init_reply reply = {.key = SECRET_INIT};
    int r;

    if (status / 100 == 2) {
        r = gateway_init_parse(body, &reply);
        if (r == 0 && reply.has_key)
            gateway->key = reply.key;
        if (r == 0)
            gateway->has_extensions = reply.has_extensions;
        secret_done(&reply.key);
        if (r < 0) {
            err_set(&gateway->why, r, "%s: %s", gateway->url.host, err_text(r));
            gateway_move(gateway, RECONNECT_INIT_FAILED);
            return;
        }
        gateway->is_dialect_known = true;
        gateway_move(gateway, RECONNECT_INIT_DONE);
        return;
    }
    if (status == 404 && !gateway->is_dialect_known && gateway->dialect == GATEWAY_N8N) {
        gateway->dialect = GATEWAY_SEED;
        if (send_init(gateway) < 0)
            gateway_move(gateway, RECONNECT_INIT_FAILED);
        return;
    }
    gateway_note_status(gateway, status, body);
    gateway_move(gateway,
                 status == 401 || status == 403 ? RECONNECT_INIT_DENIED : RECONNECT_INIT_FAILED);
}

static void on_init_done(void *data, const struct httpclient_result *result)
{
    struct gateway *gateway = data;

    gateway->init = NULL;
    if (result->code == 0) {
        on_init_answer(gateway, result->response->status, result->body);
        return;
    }
    gateway->why = result->err;
    gateway_move(gateway, RECONNECT_INIT_FAILED);
}

static const struct httpclient_events INIT_EVENTS = {.on_done = on_init_done};

/* The reason is in gateway->why. A token is valid once: no automatic second try. */
static int send_init(struct gateway *gateway)
{
    cleanup_buf struct buf body = BUF_INIT(GATEWAY_MAX_ANSWER_BYTES);
    const struct gateway_post request = {
        .endpoint = STR("init"), .body = &body, .may_repeat = false, .whole_ms = GATEWAY_INIT_MS};
    struct json_writer writer;
    int r;

    json_writer_init(&writer, &body);
    r = gateway->config.owner->describe(gateway->config.data, gateway->dialect, &writer);
    if (r == 0)
        r = json_writer_finish(&writer);
    if (r < 0)
        return err_set(&gateway->why, r, "cannot send the list of tools: %s", err_text(r));
    return gateway_post(gateway, &request, &INIT_EVENTS, gateway, &gateway->init, &gateway->why);
}

/* ---- the end ---- */

static void on_left(void *data, const struct httpclient_result *result)
{
    struct gateway *gateway = data;

    /* It ends here, whatever the server thinks of it; but whether it heard is worth knowing. */
    gateway->why = result->err;
    gateway->leave = NULL;
    gateway_move(gateway, RECONNECT_LEFT);
}

static const struct httpclient_events LEAVE_EVENTS = {.on_done = on_left};

static void cancel_all(struct gateway *gateway)
{
    timer_stop(&gateway->delay);
    httpclient_cancel(gateway->init);
    httpclient_cancel(gateway->leave);
    gateway->init = NULL;
    gateway->leave = NULL;
    gateway_stream_close(gateway);
    gateway_answers_drop(gateway);
    gateway_reports_drop(gateway);
    gateway_credentials_drop(gateway);
}

static int send_leave(struct gateway *gateway)
{
    const struct gateway_post request = {
        .endpoint = STR("disconnect"), .may_repeat = true, .whole_ms = GATEWAY_LEAVE_MS};

    return gateway_post(gateway, &request, &LEAVE_EVENTS, gateway, &gateway->leave, &gateway->why);
}

static void end_session(struct gateway *gateway, enum gateway_end end)
{
    cancel_all(gateway);
    secret_done(&gateway->key);
    gateway->is_dialect_known = false;
    gateway->has_ended = true;
    gateway->end = end;
    if (end == GATEWAY_END_DISMISSED)
        gateway->why = (struct err)ERR_INIT;
}

/* ---- the course of things ---- */

static void tell(void *data)
{
    struct gateway *gateway = data;
    const struct gateway_owner *owner = gateway->config.owner;
    struct gateway_status status;

    if (gateway->has_ended) {
        struct err why = gateway->why;

        gateway->has_ended = false;
        owner->on_ended(gateway->config.data, gateway->end, &why);
        return;
    }
    gateway_status(gateway, &status);
    owner->on_status(gateway->config.data, &status);
}

static enum gateway_end end_of(enum reconnect_event event)
{
    if (event == RECONNECT_DISMISSED)
        return GATEWAY_END_DISMISSED;
    return event == RECONNECT_LEFT || event == RECONNECT_LEAVE ? GATEWAY_END_LEFT
                                                               : GATEWAY_END_FAILED;
}

void gateway_move(struct gateway *gateway, enum reconnect_event event)
{
    enum reconnect_action action = reconnect_move(&gateway->reconnect, event, &gateway->retry_ms);

    loop_defer(gateway->config.loop, &gateway->tell);
    switch (action) {
    case RECONNECT_DO_NOTHING:
        break;
    case RECONNECT_DO_INIT:
        timer_stop(&gateway->delay);
        if (send_init(gateway) < 0)
            gateway_move(gateway, RECONNECT_INIT_FAILED);
        break;
    case RECONNECT_DO_OPEN:
        gateway_stream_open(gateway);
        break;
    case RECONNECT_DO_WAIT:
        gateway->retry_ms += rand_below((uint32_t)(gateway->retry_ms / RECONNECT_SPREAD) + 1);
        timer_start(&gateway->delay, gateway->retry_ms);
        break;
    case RECONNECT_DO_TELL:
        cancel_all(gateway);
        gateway->why = (struct err)ERR_INIT;
        if (send_leave(gateway) < 0)
            gateway_move(gateway, RECONNECT_LEFT);
        break;
    case RECONNECT_DO_END:
        end_session(gateway, end_of(event));
        break;
    }
}

static void on_delay_over(void *data)
{
    gateway_move(data, RECONNECT_DELAY_OVER);
}

/* ---- for owners ---- */

int gateway_pair(struct gateway *gateway, const struct httpurl *url, const struct secret *key,
                 struct err *err)
{
    enum reconnect_state state = gateway->reconnect.state;

    if (gateway->has_ended || (state != RECONNECT_OFF && state != RECONNECT_REFUSED))
        return err_set(err, ERR_ALREADY_EXISTS, "there is already a session");
    /* What the server asked in a session that it has forgotten. */
    gateway_answers_drop(gateway);
    gateway_reports_drop(gateway);
    gateway_credentials_drop(gateway);
    gateway->url = *url;
    gateway->key = *key;
    gateway->dialect = GATEWAY_N8N;
    gateway->is_dialect_known = false;
    gateway->has_extensions = false;
    gateway->why = (struct err)ERR_INIT;
    gateway_move(gateway, RECONNECT_PAIR);
    return 0;
}

int gateway_resume(struct gateway *gateway, const struct httpurl *url, enum gateway_dialect dialect,
                   bool has_extensions, const struct secret *key, struct err *err)
{
    if (gateway->has_ended || gateway->reconnect.state != RECONNECT_OFF)
        return err_set(err, ERR_ALREADY_EXISTS, "there is already a session");
    gateway->url = *url;
    gateway->key = *key;
    gateway->dialect = dialect;
    gateway->is_dialect_known = true;
    gateway->has_extensions = has_extensions;
    gateway->why = (struct err)ERR_INIT;
    gateway_move(gateway, RECONNECT_RESUME);
    return 0;
}

void gateway_leave(struct gateway *gateway)
{
    gateway_move(gateway, RECONNECT_LEAVE);
}

void gateway_status(const struct gateway *gateway, struct gateway_status *out_status)
{
    *out_status = (struct gateway_status){.state = gateway->reconnect.state,
                                          .dialect = gateway->dialect,
                                          .has_extensions = gateway->has_extensions,
                                          .retry_ms = gateway->retry_ms,
                                          .pending = gateway->pending.count,
                                          .retrying = gateway->retrying,
                                          .failures = gateway->reconnect.failures,
                                          .why = gateway->why};
}

const struct secret *gateway_session_key(const struct gateway *gateway)
{
    return gateway->key.len > 0 && gateway->reconnect.state != RECONNECT_PAIRING ? &gateway->key
                                                                                 : NULL;
}

int gateway_new(const struct gateway_config *config, struct gateway **out_gateway)
{
    struct gateway *gateway = calloc(1, sizeof(*gateway));

    if (gateway == NULL)
        return ERR_NO_MEMORY;
    gateway->config = *config;
    timer_init(&gateway->delay, config->loop, on_delay_over, gateway);
    loop_task_init(&gateway->tell, tell, gateway);
    sse_reader_init(&gateway->reader, &LIMITS);
    gateway_answers_init(gateway);
    gateway_reports_init(gateway);
    list_init(&gateway->credentials);
    *out_gateway = gateway;
    return 0;
}

void gateway_free(struct gateway *gateway)
{
    if (gateway == NULL)
        return;
    cancel_all(gateway);
    loop_task_cancel(&gateway->tell);
    gateway_answers_done(gateway);
    sse_reader_done(&gateway->reader);
    secret_done(&gateway->key);
    free(gateway);
}
