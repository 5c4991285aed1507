/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the service of a provider, each with its repetitions: a service that is busy (429,
 * 503) is asked again after a while, one that has restarted the sandbox at once, one that has gone
 * away is looked for again if it is this user's own. Everything that a service says is checked, and
 * what is wrong becomes an error with the provider's name.
 */
#ifndef WORKSPACE_WEB_H
#define WORKSPACE_WEB_H

#include "base/buf.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/secret.h"
#include "loop/timer.h"
#include "net/http/client.h"
#include "workspace/background.h"
#include "workspace/ownservice.h"

enum {
    WEB_TARGET_BYTES = 4 << 10,
    WEB_MAX_ANSWER_BYTES = 64 << 20, /* or of a line of one */
    WEB_MAX_TRIES = 6,               /* of a busy service */
    WEB_FIRST_WAIT_MS = 50,          /* doubled each time */
    WEB_MAX_WAIT_MS = 5000,          /* that a service may ask for */
    /* Commands in the background have one each, as long as they run. */
    WEB_MAX_CONNECTIONS = BACKGROUND_MAX_ALL + HTTPCLIENT_MAX_CONNECTIONS,
};

struct web_config {
    struct loop *loop;
    const char *provider; /* its name, for messages */
    const char *url;
    const char *header; /* that carries the key */
    const struct secret *key;
    const struct ownservice_config *own; /* finds address and key instead of `url`; or NULL */
    int (*make_filter)(void *data, struct str host, struct filter **out_filter, struct err *err);
    void *filter_data;
};

struct web;

int web_new(const struct web_config *config, struct web **out_web, struct err *err);
/* All requests must have been dropped. */
void web_free(struct web *web);

struct web_request {
    struct web *web;
    enum http_method method;
    char target[WEB_TARGET_BYTES];
    const struct httpurl *url; /* another than the provider's, which is trusted; or NULL */
    const char *type;          /* of the body; NULL: JSON */
    struct buf body;
    bool has_body;
    bool may_repeat;  /* it is safe to send it twice */
    int64_t whole_ms; /* 0: the caller limits the time */
    /* Lines of a 200 as they come; must not drop it. NULL: the answer is collected. */
    void (*take_line)(void *data, struct str line);
    /*
     * Once. `err` is NULL for a status below 300. The request may be used again, or dropped. `body`
     * is valid until then.
     */
    void (*done)(void *data, const struct err *err, int status, struct str body);
    void *data;
    /* Private. */
    struct list node; /* of those that wait for the service */
    struct httpclient_call *call;
    struct timer again;
    struct buf answer;
    int status;
    unsigned tries;
    int64_t wait_ms; /* what the service asked for */
    bool is_restarted;
    bool was_restarted;
    bool was_refound;
    bool has_taken; /* a line was passed on: it cannot be repeated */
    struct err err;
};

/* Zeroes it; `body` is empty, for at most HTTPCLIENT_MAX_BODY_BYTES. */
void web_request_init(struct web_request *request, struct web *web);
/* Without a body. */
void web_ask(struct web_request *request, enum http_method method, bool may_repeat);
/* With an object as its body; ERR_* from web_end_object() if it is too long, or no text. */
void web_begin_object(struct web_request *request, struct json_writer *out_json);
int web_end_object(struct json_writer *json);
/* Done never comes from inside. */
void web_send(struct web_request *request);
/* Ends it with this error instead of sending it. */
void web_fail(struct web_request *request, const struct err *err);
/* Ends it without `done`, and frees what it holds. Allowed at any time after init. */
void web_drop(struct web_request *request);

/* Sends a request whose answer nobody waits for; to another address if `url` is not NULL. */
void web_forget(struct web *web, const struct httpurl *url, enum http_method method,
                const char *target);

/*
 * Lets requests go to this server as well, with the key: the provider named it. Refused if the key
 * would be unprotected, or protected less than on the way to the provider.
 */
int web_trust(struct web *web, const struct httpurl *url, struct err *err);

/* Whether requests of web_forget() are under way. */
bool web_is_busy(const struct web *web);

/* Sets the target from a pattern. ERR_INVALID_PATH if it is too long. */
int web_target(struct web_request *request, struct err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends "NAME=VALUE" to the target's query, encoded. */
int web_query(struct web_request *request, const char *name, struct str value, struct err *err);

/* The answer as JSON, or ERR_TOOL_FAILED with a message. */
int web_read_json(const struct web *web, struct arena *arena, struct str body,
                  const struct json_value **out_value, struct err *err);
int web_makes_no_sense(const struct web *web, struct err *err);

const char *web_provider(const struct web *web);

#endif
