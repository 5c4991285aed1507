/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/buildlog.h"

#include <stdio.h>
#include <stdlib.h>

#include "programs/sandboxd/daytona/creation.h"
#include "programs/sandboxd/daytona/sandboxes.h"

enum {
    LOG_BYTES = 1 << 20,
    CUT_BYTES = LOG_BYTES / 2, /* what goes at once when it is full */
    PIECE_BYTES = 64 << 10,
    HIGH_BYTES = 1 << 20, /* unread by the client */
    MOST_LOGS = 64,
};

struct buildlog {
    struct list node; /* service->buildlogs, the oldest first */
    char id[SANDBOXSTORE_ID_BYTES];
    char owner[SANDBOXSTORE_ID_BYTES];
    struct buf text;
    uint64_t cut; /* bytes that went */
    bool is_over;
    struct list followers;
};

/* A request for it. */
struct follower {
    struct list node;
    struct buildlog *log;
    struct exchange *exchange;
    uint64_t next; /* the byte that comes next */
    bool waits;    /* for more, not only for what is there */
};

/* ---- followers ---- */

static void leave(struct follower *follower)
{
    list_remove(&follower->node);
    free(follower);
}

/* Sends what the client takes. The follower may be gone then. */
static void send_text(struct follower *follower)
{
    struct buildlog *log = follower->log;
    const uint64_t end = log->cut + log->text.len;

    if (follower->next < log->cut)
        follower->next = log->cut; /* it was too slow for all of it */
    while (follower->next < end && exchange_kept(follower->exchange) < HIGH_BYTES) {
        const size_t from = (size_t)(follower->next - log->cut);
        const struct str piece = str_slice(buf_view(&log->text), from, from + PIECE_BYTES);

        if (exchange_write(follower->exchange, &piece, 1) < 0) {
            exchange_cut(follower->exchange);
            leave(follower);
            return;
        }
        follower->next += piece.len;
    }
    if (follower->next < end || (follower->waits && !log->is_over))
        return;
    exchange_end(follower->exchange);
    leave(follower);
}

static void on_gone(void *data)
{
    leave(data);
}

static void on_drained(void *data)
{
    send_text(data);
}

static const struct exchange_events client_events = {.on_gone = on_gone, .on_drained = on_drained};

/* ---- a log ---- */

static void drop(struct buildlog *log)
{
    list_remove(&log->node);
    buf_done(&log->text);
    free(log);
}

/* Makes room for another one. False if all are in use. */
static bool evict(struct service *service)
{
    size_t count = 0;

    list_each (node, &service->buildlogs)
        count++;
    if (count < MOST_LOGS)
        return true;
    list_each (node, &service->buildlogs) {
        struct buildlog *log = list_entry(node, struct buildlog, node);

        if (log->is_over && list_is_empty(&log->followers)) {
            drop(log);
            return true;
        }
    }
    return false;
}

struct buildlog *buildlog_new(struct service *service, const char *id, const char *owner)
{
    struct buildlog *log = evict(service) ? calloc(1, sizeof(*log)) : NULL;

    if (log == NULL)
        return NULL;
    snprintf(log->id, sizeof(log->id), "%s", id);
    snprintf(log->owner, sizeof(log->owner), "%s", owner);
    buf_init(&log->text, LOG_BYTES);
    list_init(&log->followers);
    list_init(&log->node);
    list_append(&service->buildlogs, &log->node);
    return log;
}

void buildlog_add(struct buildlog *log, struct str text)
{
    if (log == NULL || log->is_over)
        return;
    if (text.len > CUT_BYTES)
        text = str_slice(text, text.len - CUT_BYTES, text.len);
    if (log->text.len + text.len > LOG_BYTES) {
        const size_t gone = log->text.len < CUT_BYTES ? log->text.len : CUT_BYTES;

        buf_drop_front(&log->text, gone);
        log->cut += gone;
    }
    (void)buf_append_str(&log->text, text); /* without memory it lacks something */
    list_each_safe (node, &log->followers)
        send_text(list_entry(node, struct follower, node));
}

void buildlog_end(struct buildlog *log)
{
    if (log == NULL)
        return;
    log->is_over = true;
    list_each_safe (node, &log->followers)
        send_text(list_entry(node, struct follower, node));
}

void buildlog_drop(struct buildlog *log)
{
    if (log == NULL)
        return;
    buildlog_end(log);
    if (list_is_empty(&log->followers))
        drop(log);
}

void buildlogs_end_all(struct service *service)
{
    list_each (node, &service->buildlogs)
        buildlog_end(list_entry(node, struct buildlog, node));
}

void buildlogs_done(struct service *service)
{
    list_each_safe (node, &service->buildlogs) {
        struct buildlog *log = list_entry(node, struct buildlog, node);

        list_each_safe (other, &log->followers) {
            struct follower *follower = list_entry(other, struct follower, node);

            exchange_cut(follower->exchange);
            leave(follower);
        }
        drop(log);
    }
}

/* ---- endpoints ---- */

/* The id of the request's sandbox; false after a 404. */
static bool find_id(const struct api_call *call, char out_id[SANDBOXSTORE_ID_BYTES])
{
    const struct sandbox *sandbox = service_find_named(call->service, call->ids[0], call->owner);
    const char *id = sandbox != NULL ? sandbox->record.id : creation_find(call);

    if (id == NULL)
        call_fail(call->exchange, 404, "there is no such sandbox");
    else
        snprintf(out_id, SANDBOXSTORE_ID_BYTES, "%s", id);
    return id != NULL;
}

void buildlog_get_url(const struct api_call *call)
{
    char id[SANDBOXSTORE_ID_BYTES];
    char path[SANDBOXSTORE_ID_BYTES + 64];

    if (!find_id(call, id))
        return;
    snprintf(path, sizeof(path), "/api/sandbox/%s/build-logs", id);
    daytona_answer_url(call, path);
}

/* A sandbox whose image was there at once has none: the answer is empty. */
static struct buildlog *find_log(const struct service *service, const char *id)
{
    list_each (node, &service->buildlogs) {
        struct buildlog *log = list_entry(node, struct buildlog, node);

        if (strcmp(log->id, id) == 0)
            return log;
    }
    return NULL;
}

void buildlog_get(const struct api_call *call)
{
    const struct http_answer head = {.status = 200, .type = STR("text/plain; charset=utf-8")};
    char id[SANDBOXSTORE_ID_BYTES];
    struct follower *follower;
    struct buildlog *log;
    bool waits = false;

    if (call_query_bool(call, STR("follow"), false, &waits) < 0) {
        call_fail(call->exchange, 400, "follow must be true or false");
        return;
    }
    if (!find_id(call, id))
        return;
    log = find_log(call->service, id);
    if (log == NULL || strcmp(log->owner, call->owner) != 0) {
        exchange_answer(call->exchange, &head);
        return;
    }
    follower = calloc(1, sizeof(*follower));
    if (follower == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    *follower = (struct follower){.log = log, .exchange = call->exchange, .waits = waits};
    list_init(&follower->node);
    list_append(&log->followers, &follower->node);
    exchange_watch(call->exchange, &client_events, follower);
    exchange_begin(call->exchange, &head);
    send_text(follower);
}
