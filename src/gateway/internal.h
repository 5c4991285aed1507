/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to the session: client.c (starting and ending it, requests), stream.c (events),
 * answers.c (calls and their answers), reports.c (what a server of ours is told) and credentials.c.
 */
#ifndef GATEWAY_INTERNAL_H
#define GATEWAY_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "gateway/client.h"
#include "loop/timer.h"
#include "net/sse/reader.h"

enum { TARGET_BYTES = 2048, KEY_FIELDS = 3 };

struct gateway {
    struct gateway_config config;
    struct httpurl url;
    enum gateway_dialect dialect;
    bool is_dialect_known;
    bool has_extensions;
    struct secret key;
    struct reconnect reconnect;
    int64_t retry_ms;
    struct err why;
    struct timer delay;
    struct loop_task tell;
    bool has_ended; /* and the owner must still be told */
    enum gateway_end end;

    struct httpclient_call *init;
    struct httpclient_call *leave;
    struct httpclient_call *stream;
    bool is_stream_open;
    struct sse_reader reader;

    struct list reports; /* that wait for the next request */
    size_t report_count;
    size_t report_bytes;
    struct timer report_timer;
    struct httpclient_call *reporting;
    struct buf report_body; /* to be sent again */
    unsigned report_tries;

    struct list credentials; /* that are being created */

    struct map pending; /* struct pending by id */
    size_t retrying;
    size_t retry_bytes;
};

/* client.c */

/* The only function that changes the state. */
void gateway_move(struct gateway *gateway, enum reconnect_event event);
/* Notes why the last request failed: the server's status and message. */
void gateway_note_status(struct gateway *gateway, int status, struct str body);
/* Appends the path of an endpoint in the session's dialect. */
int gateway_target(const struct gateway *gateway, struct str endpoint, struct buf *out);
/* The header with the key, which is not copied. */
struct http_field gateway_key_field(const struct gateway *gateway);
int gateway_append_escaped(struct buf *out, struct str text);

/* What is sent to the server. */
struct gateway_post {
    struct str endpoint;
    struct str id;    /* the end of the path; may be empty */
    struct buf *body; /* JSON, moved on success; NULL: none */
    bool may_repeat;
    int64_t whole_ms;
};

int gateway_post(struct gateway *gateway, const struct gateway_post *post,
                 const struct httpclient_events *events, void *data,
                 struct httpclient_call **out_call, struct err *err);
/* What an answer without success says. */
void gateway_set_refusal(const struct gateway *gateway, int status, struct str body,
                         struct err *err);

/* stream.c */

void gateway_stream_open(struct gateway *gateway);
void gateway_stream_close(struct gateway *gateway);

/* answers.c */

void gateway_answers_init(struct gateway *gateway);
/* Drops all calls. */
void gateway_answers_drop(struct gateway *gateway);
void gateway_answers_done(struct gateway *gateway);
/* Handles a new call: stores it and passes it to the owner, or refuses it. */
void gateway_answers_take(struct gateway *gateway, const struct gateway_event *event);
/* Nobody waits for its answer any more: forgets it and tells the owner. */
void gateway_answers_cancel(struct gateway *gateway, struct str id);

/* reports.c */

void gateway_reports_init(struct gateway *gateway);
void gateway_reports_drop(struct gateway *gateway);

/* credentials.c */

/* Whoever waits for one is told that the session has ended. */
void gateway_credentials_drop(struct gateway *gateway);

#endif
