/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 *   WORKING -> SENDING -> gone
 *                 ^`-> RETRYING
 *                 `------'
 */
enum pending_state {
    PENDING_WORKING, /* the owner has it */
    PENDING_SENDING,
    PENDING_RETRYING, /* the body waits for the timer */
};

struct pending {
    struct gateway *gateway;
    enum pending_state state;
    enum gateway_shape shape;
    unsigned tries;
    struct httpclient_call *call;
    struct timer timer;
    struct buf body; /* of an answer that is to be sent again */
    size_t id_len;
    char id[GATEWAY_MAX_ID_BYTES];
};

static struct str id_of(const struct pending *pending)
{
    return (struct str){pending->id, pending->id_len};
}

static void stop_retrying(struct pending *pending)
{
    pending->gateway->retrying--;
    pending->gateway->retry_bytes -= pending->body.len;
    pending->state = PENDING_SENDING;
}

static void forget(struct pending *pending)
{
    struct gateway *gateway = pending->gateway;

    timer_stop(&pending->timer);
    httpclient_cancel(pending->call);
    if (pending->state == PENDING_RETRYING)
        stop_retrying(pending);
    map_remove(&gateway->pending, id_of(pending));
    buf_done(&pending->body);
    free(pending);
}

static void give_up(struct pending *pending, const struct err *err)
{
    const struct gateway_owner *owner = pending->gateway->config.owner;
    void *data = pending->gateway->config.data;
    char id[GATEWAY_MAX_ID_BYTES];
    size_t len = pending->id_len;

    /* Dropped before the owner is told, who may end the session. */
    memcpy(id, pending->id, len);
    forget(pending);
    if (owner->on_undelivered != NULL)
        owner->on_undelivered(data, (struct str){id, len}, err);
}

/* ---- bringing an answer ---- */

static int post(struct pending *pending, struct buf *body);

static void on_retry(void *data)
{
    struct pending *pending = data;
    struct err err = ERR_INIT;
    int r;

    stop_retrying(pending);
    r = post(pending, &pending->body);
    if (r < 0) {
        err_set_plain(&err, r);
        give_up(pending, &err);
    }
}

/* Keeps the body for a retry, if that makes sense. */
static void retry(struct pending *pending, struct buf *body, const struct err *err)
{
    struct gateway *gateway = pending->gateway;

    if (pending->tries >= GATEWAY_MAX_TRIES ||
        body->len > GATEWAY_MAX_RETRY_BYTES - gateway->retry_bytes) {
        give_up(pending, err);
        return;
    }
    buf_done(&pending->body);
    pending->body = *body;
    buf_init(body, 0);
    gateway->retry_bytes += pending->body.len;
    gateway->retrying++;
    pending->state = PENDING_RETRYING;
    timer_start(&pending->timer, (int64_t)GATEWAY_RETRY_MS << (pending->tries - 1));
}

/* Replaces an answer that the server did not accept by an error message. */
static void send_refusal(struct pending *pending, struct str text)
{
    cleanup_buf struct buf body = BUF_INIT(GATEWAY_MAX_ANSWER_BYTES);
    struct err err = ERR_INIT;
    int r = gateway_refusal_write(text, &body);

    if (r == 0)
        r = post(pending, &body);
    if (r == ERR_BUSY) {
        pending->tries++;
        err_set_plain(&err, r);
        retry(pending, &body, &err);
    } else if (r < 0) {
        err_set_plain(&err, r);
        give_up(pending, &err);
    }
}

static void on_posted(void *data, const struct httpclient_result *result)
{
    struct pending *pending = data;
    int status = result->response != NULL ? result->response->status : 0;
    struct err err = result->err;

    pending->call = NULL;
    if (result->code == 0 && status / 100 == 2) {
        forget(pending);
        return;
    }
    if (result->code == 0)
        gateway_set_refusal(pending->gateway, status, result->body, &err);
    if (result->code < 0 || status >= 500 || status == 408 || status == 429)
        retry(pending, result->sent, &err);
    else if (status == 413 && pending->tries < GATEWAY_MAX_TRIES)
        send_refusal(pending, STR("The result is larger than the server accepts."));
    else
        give_up(pending, &err);
}

static const struct httpclient_events POSTED = {.on_done = on_posted};

/* Moves the body on success. A second answer to one id is refused, and does no harm. */
static int post(struct pending *pending, struct buf *body)
{
    const struct gateway_post request = {.endpoint = STR("response/"),
                                         .id = id_of(pending),
                                         .body = body,
                                         .may_repeat = true,
                                         .whole_ms = GATEWAY_ANSWER_MS};
    int r = gateway_post(pending->gateway, &request, &POSTED, pending, &pending->call, NULL);

    if (r < 0)
        return r;
    pending->state = PENDING_SENDING;
    pending->tries++;
    return 0;
}

/* ---- calls ---- */

static int remember(struct gateway *gateway, const struct gateway_call *call,
                    struct pending **out_pending)
{
    struct pending *pending = calloc(1, sizeof(*pending));
    int r;

    if (pending == NULL)
        return ERR_NO_MEMORY;
    pending->gateway = gateway;
    pending->shape = call->shape;
    pending->id_len = call->id.len;
    memcpy(pending->id, call->id.ptr, call->id.len);
    buf_init(&pending->body, GATEWAY_MAX_ANSWER_BYTES);
    timer_init(&pending->timer, gateway->config.loop, on_retry, pending);
    r = map_add(&gateway->pending, id_of(pending), pending);
    if (r < 0) {
        free(pending);
        return r;
    }
    *out_pending = pending;
    return 0;
}

static void refuse_unreadable(struct pending *pending, const struct err *why)
{
    const struct gateway_config *config = &pending->gateway->config;
    char text[ERR_MESSAGE_BYTES + 32];
    int len = snprintf(text, sizeof(text), "Invalid call: %s.", why->message);

    if (config->owner->on_unreadable != NULL)
        config->owner->on_unreadable(config->data, why);
    send_refusal(pending, (struct str){text, (size_t)len});
}

void gateway_answers_take(struct gateway *gateway, const struct gateway_event *event)
{
    struct pending *pending;
    int r;

    /* One more than the owner gets, to refuse it with. */
    r = remember(gateway, &event->call, &pending);
    if (r < 0) /* the same call twice, or no room even for a refusal */
        return;
    if (event->kind == GATEWAY_EVENT_BAD_CALL)
        refuse_unreadable(pending, &event->why);
    else if (gateway->pending.count > GATEWAY_MAX_CALLS)
        send_refusal(pending, STR("Too many calls are already waiting; try again later."));
    else if (event->kind == GATEWAY_EVENT_CALL)
        gateway->config.owner->on_call(gateway->config.data, &event->call);
    else if (gateway->config.owner->on_query != NULL)
        gateway->config.owner->on_query(gateway->config.data, &event->call);
    else
        send_refusal(pending, STR("This machine does not answer that."));
}

void gateway_answers_cancel(struct gateway *gateway, struct str id)
{
    struct pending *pending = map_get(&gateway->pending, id);

    if (pending == NULL || pending->state != PENDING_WORKING)
        return;
    forget(pending);
    if (gateway->config.owner->on_cancel != NULL)
        gateway->config.owner->on_cancel(gateway->config.data, id);
}

static struct pending *find_working(struct gateway *gateway, struct str id)
{
    struct pending *pending = map_get(&gateway->pending, id);

    return pending != NULL && pending->state == PENDING_WORKING ? pending : NULL;
}

int gateway_answer(struct gateway *gateway, struct str id, struct str result)
{
    cleanup_buf struct buf body = BUF_INIT(GATEWAY_MAX_ANSWER_BYTES + 64);
    struct pending *pending = find_working(gateway, id);
    int r;

    if (pending == NULL)
        return ERR_NOT_FOUND;
    r = gateway_answer_write(pending->shape, result, &body);
    if (r == 0)
        r = post(pending, &body);
    if (r == ERR_TOO_LARGE)
        send_refusal(pending, STR("The result is larger than the server accepts."));
    else if (r == ERR_BUSY)
        send_refusal(pending,
                     STR("Too many large results are waiting to be sent; try again later."));
    else if (r < 0)
        send_refusal(pending, STR("The result could not be sent."));
    return 0;
}

void gateway_answers_init(struct gateway *gateway)
{
    /* Beyond the limit there is room for as many refusals. */
    gateway->pending = (struct map)MAP_INIT(2 * GATEWAY_MAX_CALLS);
}

void gateway_answers_drop(struct gateway *gateway)
{
    size_t cursor = 0;
    struct str id;
    void *value;

    while (map_next(&gateway->pending, &cursor, &id, &value)) {
        forget(value);
        cursor = 0;
    }
}

void gateway_answers_done(struct gateway *gateway)
{
    gateway_answers_drop(gateway);
    map_done(&gateway->pending);
}
