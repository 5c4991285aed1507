/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/hostlink.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonwrite.h"
#include "base/list.h"
#include "base/map.h"
#include "isolate/companion.h"
#include "loop/child.h"
#include "loop/reader.h"
#include "loop/timer.h"
#include "loop/writer.h"
#include "permission/denials.h"
#include "protocol/toolwire.h"

enum {
    ARENA_BYTES = 4 << 20,
    SENT_REQUESTS = 4, /* of the largest size, that it has not read */
    OLD_MS = 10000,    /* one that lived so long was no failure from the start */
    FIRST_OWN_FD = 4,  /* of the second descriptor */
    MOST_TOOLS = 256,
};

enum link_state {
    LINK_ABSENT,   /* waits for the next try */
    LINK_STARTING, /* not ready yet; calls are on their way all the same */
    LINK_READY,
};

enum call_phase { PHASE_PREPARING, PHASE_PREPARED, PHASE_PREVIEWING, PHASE_RUNNING };

struct host_call {
    struct hostlink *link;
    uint32_t number;
    enum call_phase phase;
    int64_t timeout_ms;
    struct timer late;
    const struct hostlink_events *events;
    void *data;
};

struct hostlink {
    struct hostlink_config config;
    enum link_state state;
    pid_t pid;
    struct child *child;
    struct list left; /* processes that were replaced */
    int fd;
    int fd_again; /* libuv wants a descriptor for each direction */
    struct reader *reader;
    struct writer *writer;
    struct toolwire_decoder decoder;
    struct timer wait; /* for READY, or for the next try */
    struct loop_task replace;
    int64_t since_ms;
    int64_t delay_ms;
    bool has_begun;
    bool has_tool[MOST_TOOLS];
    struct map calls;
    uint32_t last_number;
};

static void start(struct hostlink *link);
static void kill_process(struct hostlink *link);

/* ---- calls ---- */

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

    free_call(call);
    events->on_end(data, result, err, has_begun);
}

static int send_frame(struct hostlink *link, uint32_t number, enum toolwire_type type,
                      struct str body)
{
    char header[TOOLWIRE_HEADER_BYTES];
    const struct str parts[] = {{header, sizeof(header)}, body};

    if (link->writer == NULL)
        return ERR_BUSY;
    toolwire_write_header(number, type, body.len, header);
    return writer_send(link->writer, parts, array_size(parts));
}

/* Its own deadline should have ended it. */
static void on_late(void *data)
{
    struct host_call *call = data;
    struct hostlink *link = call->link;

    log_write(link->config.log, LOG_ERROR, "the toolhost does not answer, and is replaced");
    kill_process(link);
}

static void enter(struct host_call *call, enum call_phase phase)
{
    call->phase = phase;
    if (phase == PHASE_PREPARED)
        timer_stop(&call->late);
    else
        timer_start(&call->late, call->timeout_ms + HOSTLINK_LATE_MS);
}

/* ---- the process ---- */

/* One that was replaced and is not gone yet: it may be putting back a change. */
struct leftover {
    struct list node; /* in link->left */
    struct child *child;
};

static void free_leftover(struct leftover *leftover)
{
    list_remove(&leftover->node);
    child_free(leftover->child);
    free(leftover);
}

static void on_leftover_exit(void *data, struct child_exit exit)
{
    (void)exit;
    free_leftover(data);
}

/* It ends with its socket. */
static void leave_process(struct hostlink *link)
{
    struct leftover *leftover = calloc(1, sizeof(*leftover));

    child_free(link->child);
    link->child = NULL;
    if (leftover == NULL)
        return; /* a zombie until we end */
    list_init(&leftover->node);
    if (child_watch(link->config.loop, link->pid, on_leftover_exit, leftover, &leftover->child) < 0)
        free(leftover);
    else
        list_append(&link->left, &leftover->node);
}

static void let_go(struct hostlink *link)
{
    timer_stop(&link->wait);
    loop_task_cancel(&link->replace);
    reader_free(link->reader);
    writer_free(link->writer);
    toolwire_decoder_done(&link->decoder);
    link->reader = NULL;
    link->writer = NULL;
    if (link->fd_again >= 0)
        close(link->fd_again);
    if (link->fd >= 0)
        close(link->fd);
    link->fd = link->fd_again = -1;
    link->state = LINK_ABSENT;
    if (link->child != NULL)
        leave_process(link);
}

/* One that hangs would not see the end of its socket. */
static void kill_process(struct hostlink *link)
{
    if (link->child != NULL)
        (void)child_signal(link->child, SIGKILL);
    loop_defer(link->config.loop, &link->replace);
}

static void fail_calls(struct hostlink *link)
{
    struct err err = ERR_INIT;
    struct str key;
    void *value;

    err_set(&err, ERR_IO, "the program that works on files has ended, and is started again");
    for (size_t cursor = 0; map_next(&link->calls, &cursor, &key, &value); cursor = 0) {
        struct host_call *call = value;

        end_call(call, STR_EMPTY, &err, call->phase == PHASE_RUNNING);
    }
}

/* Another one, at once unless they die young. */
static void replace(void *data)
{
    struct hostlink *link = data;
    bool was_old =
        link->state == LINK_READY && loop_now_ms(link->config.loop) - link->since_ms >= OLD_MS;
    struct err err = ERR_INIT;

    let_go(link);
    fail_calls(link);
    if (!link->has_begun) {
        link->has_begun = true;
        err_set(&err, ERR_IO, "gatehouse-toolhost does not start; what it said stands above");
        link->config.on_begun(link->config.data, &err);
        return;
    }
    if (was_old || link->delay_ms == 0)
        link->delay_ms = HOSTLINK_FIRST_WAIT_MS;
    else if (link->delay_ms * 2 < HOSTLINK_LONGEST_WAIT_MS)
        link->delay_ms *= 2;
    else
        link->delay_ms = HOSTLINK_LONGEST_WAIT_MS;
    log_write(link->config.log, LOG_WARN, "another toolhost is started",
              LOG_INT("after_ms", link->delay_ms));
    timer_start(&link->wait, link->delay_ms);
}

static void replace_soon(struct hostlink *link)
{
    loop_defer(link->config.loop, &link->replace);
}

static void on_wait_over(void *data)
{
    struct hostlink *link = data;

    if (link->state == LINK_ABSENT) {
        start(link);
        return;
    }
    log_write(link->config.log, LOG_ERROR, "the toolhost was not ready in time");
    kill_process(link);
}

static void on_child_exit(void *data, struct child_exit exit)
{
    struct hostlink *link = data;

    log_write(link->config.log, LOG_ERROR, "the toolhost has ended",
              LOG_TEXT("by", exit.end == CHILD_SIGNALED ? "signal" : "exit"),
              LOG_INT("value", exit.value));
    child_free(link->child);
    link->child = NULL;
    replace_soon(link);
}

/* ---- frames from it ---- */

static void tell_walls(const struct hostlink *link, const struct json_value *ready)
{
    const struct json_value *walls = json_get(ready, STR("walls"));

    if (walls == NULL || walls->type != JSON_ARRAY)
        return;
    json_each_item (wall, walls) {
        struct str name = STR_EMPTY;
        struct str detail = STR_EMPTY;
        bool stands = false;

        (void)json_get_str(wall, STR("name"), &name);
        (void)json_get_str(wall, STR("detail"), &detail);
        (void)json_get_bool(wall, STR("stands"), &stands);
        log_write(link->config.log, stands ? LOG_DEBUG : LOG_WARN,
                  stands ? "toolhost confined" : "toolhost not confined", LOG_STR("wall", name),
                  LOG_STR("detail", detail));
    }
}

static void take_tools(struct hostlink *link, const struct json_value *ready)
{
    const struct json_value *tools = json_get(ready, STR("tools"));

    memset(link->has_tool, 0, sizeof(link->has_tool));
    if (tools == NULL || tools->type != JSON_ARRAY)
        return;
    json_each_item (item, tools) {
        const struct catalog_tool *tool =
            item->type == JSON_STRING ? catalog_find(json_str(item)) : NULL;

        if (tool != NULL && tool->id < MOST_TOOLS)
            link->has_tool[tool->id] = true;
    }
}

static int on_ready(struct hostlink *link, struct str body, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *ready;
    int64_t wire = 0;
    int r = json_parse(&arena, body, JSON_LIMITS_DEFAULT, &ready, err);

    if (r < 0)
        return r;
    if (!json_get_int(ready, STR("wire"), &wire) || wire != TOOLWIRE_VERSION)
        return err_set(err, ERR_INVALID_ARGUMENT, "the toolhost speaks another version");
    tell_walls(link, ready);
    take_tools(link, ready);
    timer_stop(&link->wait);
    link->state = LINK_READY;
    link->since_ms = loop_now_ms(link->config.loop);
    if (!link->has_begun) {
        link->has_begun = true;
        link->config.on_begun(link->config.data, NULL);
    }
    return 0;
}

/* An error comes as its name. */
static void read_error(struct str body, struct err *out_err, bool *out_has_begun)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *document;
    struct str text;

    *out_has_begun = false;
    err_set_plain(out_err, ERR_IO);
    if (json_parse(&arena, body, JSON_LIMITS_DEFAULT, &document, NULL) < 0)
        return;
    (void)json_get_bool(document, STR("hasBegun"), out_has_begun);
    if (json_get_str(document, STR("error"), &text))
        out_err->code = err_from_name(text.ptr, text.len);
    if (json_get_str(document, STR("message"), &text))
        err_set(out_err, out_err->code, "%.*s", STR_ARG(text));
    if (json_get_str(document, STR("field"), &text))
        snprintf(out_err->field, sizeof(out_err->field), "%.*s", STR_ARG(text));
}

static void on_error(struct host_call *call, struct str body)
{
    struct err err = ERR_INIT;
    bool has_begun;

    read_error(body, &err, &has_begun);
    end_call(call, STR_EMPTY, &err, has_begun);
}

/* About the connection: it ends. */
static void on_own_error(struct hostlink *link, struct str body)
{
    struct err err = ERR_INIT;
    bool has_begun;

    read_error(body, &err, &has_begun);
    log_error(link->config.log, "the toolhost gives up", &err);
    replace_soon(link);
}

static void on_call_frame(struct host_call *call, const struct toolwire_frame *frame)
{
    switch (frame->type) {
    case TOOLWIRE_PREPARED:
        enter(call, PHASE_PREPARED);
        call->events->on_prepared(call->data, frame->body);
        break;
    case TOOLWIRE_PREVIEWED:
        enter(call, PHASE_PREPARED);
        call->events->on_previewed(call->data, frame->body);
        break;
    case TOOLWIRE_RESULT:
        end_call(call, frame->body, NULL, true);
        break;
    case TOOLWIRE_ERROR:
        on_error(call, frame->body);
        break;
    default:
        break; /* PROGRESS, which nobody wants here; no other is a toolhost's */
    }
}

static int on_frame(void *data, const struct toolwire_frame *frame, struct err *err)
{
    struct hostlink *link = data;
    struct host_call *call = find(link, frame->call);

    if (frame->type == TOOLWIRE_READY)
        return on_ready(link, frame->body, err);
    if (frame->type == TOOLWIRE_LOST)
        replace_soon(link);
    else if (frame->call == TOOLWIRE_NO_CALL)
        on_own_error(link, frame->body);
    else if (call != NULL)
        on_call_frame(call, frame);
    return 0;
}

static void on_bytes(void *data, struct str bytes)
{
    struct hostlink *link = data;
    struct err err = ERR_INIT;

    if (toolwire_feed(&link->decoder, bytes, on_frame, link, &err) == 0)
        return;
    log_error(link->config.log, "the toolhost says what nobody understands", &err);
    reader_pause(link->reader);
    replace_soon(link);
}

static void on_input_end(void *data, int error)
{
    (void)error;
    replace_soon(data);
}

static void on_drained(void *data)
{
    (void)data;
}

static void on_broken(void *data, int error)
{
    (void)error;
    replace_soon(data);
}

/* ---- starting ---- */

static int open_streams(struct hostlink *link)
{
    const struct reader_events reader = {
        .on_bytes = on_bytes, .on_end = on_input_end, .data = link};
    const struct writer_events writer = {
        .on_drained = on_drained, .on_broken = on_broken, .data = link};
    size_t most = SENT_REQUESTS * toolwire_max_request(link->config.max_file_bytes);
    int r;

    toolwire_decoder_init(&link->decoder, TOOLWIRE_HOST,
                          toolwire_max_answer(link->config.max_file_bytes));
    link->fd_again = fcntl(link->fd, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
    if (link->fd_again < 0)
        return err_from_errno(errno);
    r = writer_new(link->config.loop, link->fd_again, most, &writer, &link->writer);
    if (r == 0)
        r = reader_new(link->config.loop, link->fd, &reader, &link->reader);
    return r;
}

/* What goes wrong here is told as if it had died. */
static void start(struct hostlink *link)
{
    struct companion companion;
    struct err err = ERR_INIT;
    int r = companion_start("gatehouse-toolhost", link->config.libexec, link->config.argv,
                            link->config.log->fd, &companion, &err);

    link->state = LINK_STARTING;
    if (r == 0) {
        link->fd = companion.fd;
        link->pid = companion.pid;
        r = child_watch(link->config.loop, companion.pid, on_child_exit, link, &link->child);
        if (r == 0)
            r = open_streams(link);
        if (r < 0)
            err_set_plain(&err, r);
    }
    if (r < 0) {
        log_error(link->config.log, "the toolhost cannot be started", &err);
        replace_soon(link);
        return;
    }
    timer_start(&link->wait, HOSTLINK_READY_MS);
    hostlink_tell_rules(link);
}

int hostlink_new(const struct hostlink_config *config, struct hostlink **out_link, struct err *err)
{
    struct hostlink *link = calloc(1, sizeof(*link));

    if (link == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    link->config = *config;
    link->fd = link->fd_again = -1;
    link->calls = (struct map)MAP_INIT(HOSTLINK_MAX_CALLS);
    list_init(&link->left);
    timer_init(&link->wait, config->loop, on_wait_over, link);
    loop_task_init(&link->replace, replace, link);
    start(link);
    *out_link = link;
    return 0;
}

void hostlink_free(struct hostlink *link)
{
    struct str key;
    void *value;

    if (link == NULL)
        return;
    for (size_t cursor = 0; map_next(&link->calls, &cursor, &key, &value); cursor = 0)
        free_call(value);
    /* It finishes or puts back a change that it has begun, and goes by itself. */
    let_go(link);
    list_each_safe (node, &link->left)
        free_leftover(list_entry(node, struct leftover, node));
    map_done(&link->calls);
    free(link);
}

bool hostlink_has(const struct hostlink *link, const struct catalog_tool *tool)
{
    return tool->id < MOST_TOOLS && link->has_tool[tool->id];
}

/* ---- what it is asked for ---- */

void hostlink_tell_rules(struct hostlink *link)
{
    cleanup_buf struct buf body = BUF_INIT(toolwire_max_request(link->config.max_file_bytes));
    cleanup_rulebook struct rulebook *book =
        permission_book(keeper_permission(link->config.keeper));
    int r = denials_write(book, loop_wall_ms(link->config.loop), &body);

    if (r == 0)
        r = send_frame(link, TOOLWIRE_NO_CALL, TOOLWIRE_RULES, buf_view(&body));
    if (r == 0 || link->writer == NULL)
        return; /* the next one is told when it starts */
    log_write(link->config.log, LOG_ERROR, "the rules cannot be told to the toolhost",
              LOG_TEXT("error", err_text(r)));
    replace_soon(link);
}

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
    struct host_call *call = NULL;
    int r = write_prepare(tool, arguments, timeout_ms, &body);

    if (link->state == LINK_ABSENT)
        return err_set(err, ERR_BUSY,
                       "the program that works on files is being started again; try once more");
    if (r == 0)
        r = add_call(link, timeout_ms, events, data, &call);
    if (r < 0)
        return err_set_plain(err, r);
    r = send_frame(link, call->number, TOOLWIRE_PREPARE, buf_view(&body));
    if (r < 0) {
        free_call(call);
        return err_set_plain(err, r == ERR_TOO_LARGE ? ERR_BUSY : r);
    }
    enter(call, PHASE_PREPARING);
    *out_number = call->number;
    return 0;
}

/* What cannot be sent means that it has gone, which ends the call. */
void hostlink_preview(struct hostlink *link, uint32_t number, enum decision_telling telling)
{
    struct host_call *call = find(link, number);
    cleanup_buf struct buf body = BUF_INIT(ARENA_BYTES);

    if (call == NULL || call->phase != PHASE_PREPARED)
        return;
    enter(call, PHASE_PREVIEWING);
    if (buf_printf(&body, "{\"telling\":\"%s\"}", decision_telling_name(telling)) < 0 ||
        send_frame(link, number, TOOLWIRE_PREVIEW, buf_view(&body)) < 0)
        replace_soon(link);
}

void hostlink_run(struct hostlink *link, uint32_t number)
{
    struct host_call *call = find(link, number);

    if (call == NULL || call->phase != PHASE_PREPARED)
        return;
    enter(call, PHASE_RUNNING);
    if (send_frame(link, number, TOOLWIRE_RUN, STR_EMPTY) < 0)
        replace_soon(link);
}

void hostlink_forget(struct hostlink *link, uint32_t number)
{
    struct host_call *call = find(link, number);

    if (call == NULL)
        return;
    if (send_frame(link, number, call->phase == PHASE_PREPARED ? TOOLWIRE_DROP : TOOLWIRE_CANCEL,
                   STR_EMPTY) < 0)
        replace_soon(link);
    free_call(call);
}
