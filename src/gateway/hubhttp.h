/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway protocol's endpoints over HTTP, for both dialects:
 *
 *     /rest/instance-ai/gateway/…    as n8n: {"data": …} around answers, {"code", "message"}
 *     /instance-ai/gateway/…         the older one, and /instance-ai/filesystem/toggle
 *
 * The hub (hub.h) decides; this is about requests, streams and timers. The router has checked Host
 * and Origin.
 */
#ifndef GATEWAY_HUBHTTP_H
#define GATEWAY_HUBHTTP_H

#include "gateway/hub.h"
#include "loop/loop.h"
#include "net/http/exchange.h"

struct hubhttp;

#define HUBHTTP_N8N_PREFIX  "/rest/instance-ai/gateway/"
#define HUBHTTP_SEED_PREFIX "/instance-ai/gateway/"
#define HUBHTTP_TOGGLE      "/instance-ai/filesystem/toggle"

enum {
    /* A larger body is read only after its key was found good. */
    HUBHTTP_UNKNOWN_BODY_BYTES = 256 << 10,
    HUBHTTP_MAX_UNREAD_BYTES = 32 << 20, /* of a stream */
};

struct hubhttp_config {
    struct loop *loop;
    const struct clock *clock; /* the loop's */
    const struct hub_store *store;
    void *store_data;
    /* The user of a request with a session cookie; ERR_UNAUTHORIZED, ERR_ORIGIN_DENIED. */
    int (*user_of)(void *data, const struct exchange *exchange, int64_t *out_user);
    /* The tools that a user's agents have may be others now. */
    void (*changed)(void *data, int64_t user);
    /* As hub_events.opened. */
    void (*opened)(void *data, int64_t user);
    /* As hub_events.report. */
    void (*report)(void *data, int64_t user, struct str type, const struct json_value *event);
    /*
     * Somebody shows a key that nobody has, or one that can be guessed: false after it answered
     * that this is too much. May be NULL.
     */
    bool (*admit)(void *data, struct exchange *exchange, bool is_known);
    /* A token for a machine was made for this user, or used; for the record. May be NULL. */
    void (*paired)(void *data, const struct exchange *exchange, int64_t user, bool is_used);
    void *data;
    struct str url; /* of this server, for the command that connects a machine */
    struct str static_key;
    int64_t static_user;
    int64_t timeout_ms; /* of calls; 0: by dialect */
};

/* The strings of the configuration must outlive it. */
int hubhttp_new(const struct hubhttp_config *config, struct hubhttp **out_http);
size_t hubhttp_stream_count(const struct hubhttp *http);
struct hub *hubhttp_hub(const struct hubhttp *http);

/* An exchange_handler for the paths above, called before the body is read; `data` is this. */
void hubhttp_handle(void *data, struct exchange *exchange);

/* Whether the path is one of those above. */
bool hubhttp_has_path(struct str path);
/* An error as it is answered there. */
int hubhttp_write_error(int status, const char *message, struct buf *out);

/* Call it after hub_call() and hub_restore(), which set time limits. */
void hubhttp_reschedule(struct hubhttp *http);

/* Ends all streams; their machines come back to the next server. */
void hubhttp_close(struct hubhttp *http);
/* After the store has answered; before the HTTP server is freed. */
void hubhttp_free(struct hubhttp *http);

#endif
