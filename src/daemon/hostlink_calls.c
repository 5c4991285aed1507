/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that a toolhost has: sent, answered in their turn, cancelled. */
#include "daemon/hostlink_internal.h"

#include <stdlib.h>

#include "base/jsonwrite.h"

/*
 *   PREPARING -> PREPARED -> RUNNING
 *                 | ^  `-> PREVIEWING
 *                 | `-------'
 *   and from each of them to CANCELLED, which waits for the last answer
 */
enum call_phase {
    PHASE_PREPARING,
    PHASE_PREPARED,
    PHASE_PREVIEWING,
    PHASE_RUNNING,
    PHASE_CANCELLED,
};

struct host_call {
    struct hostlink *link;
    uint32_t number;
    enum call_phase phase;
    bool has_run; /* was sent RUN: what it did may be there */
    bool writes;
    bool
        is_forgotten; /* by who asked; its last answer is waited for, since a hung one gives none */
    int64_t timeout_ms;
    struct timer late;
    const struct hostlink_events *events;
    void *data;
};

static struct str key_of(const uint32_t *number)
{
    return (struct str){(const char *)number, sizeof(*number)};
}

static struct host_call *find(const struct hostlink *link, uint32_t number)
{
    return map_get(&link->calls, key_of(&number));
}

static void free_call(struct host_call *call)
{
    timer_stop(&call->late);
    map_remove(&call->link->calls, key_of(&call->number));
    free(call);
}

static void end_call(struct host_call *call, struct str result, const struct err *err,
                     bool has_begun)
{
    const struct hostlink_events *events = call->events;
    void *data = call->data;
    bool is_forgotten = call->is_forgotten;

    free_call(call);
    if (!is_forgotten)
        events->on_end(data, result, err, has_begun);
}

/* Its own deadline should have ended it. */
static void on_late(void *data)
{
    struct host_call *call = data;
    struct hostlink *link = call->link;

    log_write(link->config.log, LOG_ERROR, "the toolhost does not answer, and is replaced");
    hostlink_kill(link);
}

static void enter(struct host_call *call, enum call_phase phase)
{
    call->phase = phase;
    switch (phase) {
    case PHASE_PREPARED:
        timer_stop(&call->late);
        break;
    case PHASE_RUNNING:
        call->has_run = true;
        timer_start(&call->late, call->timeout_ms + HOSTLINK_LATE_MS);
        break;
    case PHASE_PREPARING:
    case PHASE_PREVIEWING:
        timer_start(&call->late, call->timeout_ms + HOSTLINK_LATE_MS);
        break;
    case PHASE_CANCELLED: /* what hangs has its deadline all the same */
        if (!call->late.is_started)
            timer_start(&call->late, HOSTLINK_LATE_MS);
        break;
    }
}

bool hostlink_may_be_changing(const struct hostlink *link)
{
    struct str key;
    void *value;

    for (size_t cursor = 0; map_next(&link->calls, &cursor, &key, &value);) {
        const struct host_call *call = value;

        if (call->has_run && call->writes)
            return true;
    }
    return false;
}

void hostlink_fail_calls(struct hostlink *link)
{
    struct err err = ERR_INIT;
    struct str key;
    void *value;

    err_set(&err, ERR_IO, "the program that works on files has ended, and is started again");
    for (size_t cursor = 0; map_next(&link->calls, &cursor, &key, &value); cursor = 0) {
        struct host_call *call = value;

        end_call(call, STR_EMPTY, &err, call->has_run);
    }
}

void hostlink_free_calls(struct hostlink *link)
{
    struct str key;
    void *value;

    for (size_t cursor = 0; map_next(&link->calls, &cursor, &key, &value); cursor = 0)
        free_call(value);
    map_done(&link->calls);
}

/* ---- frames from it ---- */

static int take_step(struct host_call *call, const struct toolwire_frame *frame, struct err *err)
{
    bool is_preview = frame->type == TOOLWIRE_PREVIEWED;

    if (call->phase == PHASE_CANCELLED)
        return 0; /* it was on its way */
    if (call->phase != (is_preview ? PHASE_PREVIEWING : PHASE_PREPARING))
        return err_set(err, ERR_INVALID_ARGUMENT, "an answer to what was not asked");
    enter(call, PHASE_PREPARED);
    if (is_preview)
        call->events->on_previewed(call->data, frame->body);
    else
        call->events->on_prepared(call->data, frame->body);
    return 0;
}

static int take_result(struct host_call *call, const struct toolwire_frame *frame, struct err *err)
{
    if (!call->has_run)
        return err_set(err, ERR_INVALID_ARGUMENT, "a result of what was not run");
    end_call(call, frame->body, NULL, true);
    return 0;
}

static void take_error(struct host_call *call, const struct toolwire_frame *frame)
{
    struct err err = ERR_INIT;
    bool has_begun;

    hostlink_read_error(frame->body, &err, &has_begun);
    end_call(call, STR_EMPTY, &err, has_begun && call->has_run);
}

int hostlink_take_frame(struct hostlink *link, const struct toolwire_frame *frame, struct err *err)
{
    struct host_call *call = find(link, frame->call);

    if (call == NULL)
        return 0; /* forgotten meanwhile */
    switch (frame->type) {
    case TOOLWIRE_PREPARED:
    case TOOLWIRE_PREVIEWED:
        return take_step(call, frame, err);
    case TOOLWIRE_RESULT:
        return take_result(call, frame, err);
    case TOOLWIRE_ERROR:
        take_error(call, frame);
        return 0;
    default:
        return 0; /* PROGRESS, which the gateway has no place for; no other is a toolhost's */
    }
}

/* ---- what it is asked for ---- */

static int write_prepare(struct str tool, const struct json_value *arguments, int64_t timeout_ms,
                         struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_key(&json, STR("tool"));
    json_write_str(&json, tool);
    json_key(&json, STR("arguments"));
    json_write_value(&json, arguments);
    json_key(&json, STR("timeoutMs"));
    json_write_int(&json, timeout_ms);
    json_end_object(&json);
    return json_writer_finish(&json);
}

static int add_call(struct hostlink *link, int64_t timeout_ms, const struct hostlink_events *events,
                    void *data, struct host_call **out_call)
{
    struct host_call *call = calloc(1, sizeof(*call));
    int r;

    if (call == NULL)
        return ERR_NO_MEMORY;
    do
        link->last_number++;
    while (link->last_number == TOOLWIRE_NO_CALL || find(link, link->last_number) != NULL);
    call->link = link;
    call->number = link->last_number;
    call->timeout_ms = timeout_ms;
    call->events = events;
    call->data = data;
    timer_init(&call->late, link->config.loop, on_late, call);
    r = map_add(&link->calls, key_of(&call->number), call);
    if (r < 0)
        free(call);
    else
        *out_call = call;
    return r;
}

int hostlink_prepare(struct hostlink *link, struct str tool, const struct json_value *arguments,
                     int64_t timeout_ms, const struct hostlink_events *events, void *data,
                     uint32_t *out_number, struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(toolwire_max_request(link->config.max_file_bytes));
    const struct catalog_tool *known = catalog_find(tool);
    struct host_call *call = NULL;
    int r = write_prepare(tool, arguments, timeout_ms, &body);

    if (link->state == LINK_ABSENT)
        return err_set(err, ERR_BUSY,
                       "the program that works on files is being started again; try once more");
    if (r < 0)
        return err_set_plain(err, r);
    r = add_call(link, timeout_ms, events, data, &call);
    if (r < 0)
        return err_set_plain(err, r);
    r = hostlink_send(link, call->number, TOOLWIRE_PREPARE, buf_view(&body));
    if (r < 0) {
        free_call(call);
        return err_set_plain(err, r == ERR_TOO_LARGE ? ERR_BUSY : r);
    }
    call->writes = known == NULL || known->group != CATALOG_FILESYSTEM_READ;
    enter(call, PHASE_PREPARING);
    *out_number = call->number;
    return 0;
}

/* What cannot be sent means that it has gone, which ends the call. */
void hostlink_preview(struct hostlink *link, uint32_t number, enum decision_telling telling)
{
    struct host_call *call = find(link, number);
    cleanup_buf struct buf body = BUF_INIT(HOSTLINK_ARENA_BYTES);

    if (call == NULL || call->phase != PHASE_PREPARED)
        return;
    enter(call, PHASE_PREVIEWING);
    if (buf_printf(&body, "{\"telling\":\"%s\"}", decision_telling_name(telling)) < 0 ||
        hostlink_send(link, number, TOOLWIRE_PREVIEW, buf_view(&body)) < 0)
        hostlink_replace_soon(link);
}

void hostlink_run(struct hostlink *link, uint32_t number)
{
    struct host_call *call = find(link, number);

    if (call == NULL || call->phase != PHASE_PREPARED)
        return;
    enter(call, PHASE_RUNNING);
    if (hostlink_send(link, number, TOOLWIRE_RUN, STR_EMPTY) < 0)
        hostlink_replace_soon(link);
}

void hostlink_cancel(struct hostlink *link, uint32_t number)
{
    struct host_call *call = find(link, number);

    if (call == NULL || call->phase == PHASE_CANCELLED)
        return;
    enter(call, PHASE_CANCELLED);
    if (hostlink_send(link, number, TOOLWIRE_CANCEL, STR_EMPTY) < 0)
        hostlink_replace_soon(link);
}

void hostlink_forget(struct hostlink *link, uint32_t number)
{
    struct host_call *call = find(link, number);

    if (call == NULL)
        return;
    if (call->phase != PHASE_PREPARED) {
        call->is_forgotten = true;
        hostlink_cancel(link, number);
        return;
    }
    free_call(call);
    if (hostlink_send(link, number, TOOLWIRE_DROP, STR_EMPTY) < 0)
        hostlink_replace_soon(link);
}
