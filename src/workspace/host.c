/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/host.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/list.h"
#include "ipc/frames.h"
#include "loop/reader.h"
#include "loop/writer.h"
#include "workspace/background.h"
#include "workspace/perform.h"
#include "workspace/wire.h"

enum {
    ARENA_BYTES = 1 << 30,
    MAX_STEPS = 64,
    PROGRESS_MS = 200,
};

struct host {
    struct workspacehost_config config;
    struct loop *loop;
    struct reader *reader;
    struct writer *writer;
    int write_fd;
    struct frames_decoder decoder;
    struct workspace_wire_setup setup;
    char *steps; /* each ends with a NUL */
    const char *step_list[MAX_STEPS + 1];
    char *file_bytes; /* of FILES */
    struct workspace_file *files;
    size_t file_count;
    struct workspaces *workspaces; /* NULL before SETUP */
    struct workspace *adopted;
    struct list calls;
    bool is_closing;
    bool is_over;
};

struct host_call {
    struct list node;
    struct host *host;
    uint32_t number;
    struct performance *performance;
    int64_t told_ms; /* the last progress */
};

/* ---- to the front end ---- */

static void send_frame(struct host *host, uint32_t number, enum workspace_wire_type type,
                       struct str first, struct str second)
{
    char header[FRAMES_HEADER_BYTES];
    const struct str parts[] = {{header, sizeof(header)}, first, second};

    frames_write_header(number, (uint8_t)type, first.len + second.len, header);
    (void)writer_send(host->writer, parts, array_size(parts)); /* it has gone: on_end comes */
}

static void send_failure(struct host *host, uint32_t number, const struct err *err)
{
    const struct workspace_wire_failure failure = {.code = err->code};

    send_frame(host, number, WORKSPACE_WIRE_FAILED,
               (struct str){(const char *)&failure, sizeof(failure)}, str_from(err->message));
}

/* ---- calls ---- */

static void on_progress(void *data, uint64_t bytes)
{
    struct host_call *call = data;
    const struct workspace_wire_progress progress = {.bytes = bytes};
    int64_t now_ms = loop_now_ms(call->host->loop);

    if (call->told_ms != 0 && now_ms - call->told_ms < PROGRESS_MS)
        return;
    call->told_ms = now_ms;
    send_frame(call->host, call->number, WORKSPACE_WIRE_PROGRESS,
               (struct str){(const char *)&progress, sizeof(progress)}, STR_EMPTY);
}

static void on_done(void *data, const struct err *err, struct str object)
{
    struct host_call *call = data;

    if (err != NULL)
        send_failure(call->host, call->number, err);
    else
        send_frame(call->host, call->number, WORKSPACE_WIRE_DONE, object, STR_EMPTY);
    list_remove(&call->node);
    free(call);
}

static const struct catalog_tool *find_tool(struct str name)
{
    for (size_t i = 0; i < workspace_tool_count; i++)
        if (str_eq(workspace_tools[i].name, name))
            return &workspace_tools[i];
    return NULL;
}

static int find_workspace(struct host *host, struct str key, struct workspace **out_workspace,
                          struct err *err)
{
    int r;

    if (host->setup.adopted[0] == '\0') {
        r = workspaces_get(host->workspaces, key, out_workspace);
        if (r == ERR_BUSY)
            return err_set(err, r, "there are too many workspaces: end some first");
        return r < 0 ? err_set_plain(err, r) : 0;
    }
    if (host->adopted == NULL) {
        r = workspaces_adopt(host->workspaces, str_from(host->setup.adopted), &host->adopted, err);
        if (r < 0)
            return r;
    }
    *out_workspace = host->adopted;
    return 0;
}

static int begin_call(struct host_call *call, struct str body, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_limits limits = {WORKSPACE_WIRE_BYTES, JSON_LARGEST_MAX_DEPTH};
    const struct perform_events events = {
        .on_progress = on_progress, .on_done = on_done, .data = call};
    const struct json_value *message;
    const struct json_value *arguments;
    const struct catalog_tool *tool;
    struct workspace *workspace;
    struct str name = STR_EMPTY;
    struct str key = STR_EMPTY;
    int r = json_parse(&arena, body, limits, &message, err);

    if (r < 0)
        return r;
    (void)json_get_str(message, STR("tool"), &name);
    (void)json_get_str(message, STR("key"), &key);
    arguments = json_get(message, STR("arguments"));
    tool = find_tool(name);
    if (tool == NULL || arguments == NULL || call->host->workspaces == NULL)
        return err_set(err, ERR_INVALID_REQUEST, "invalid message from the front end");
    r = find_workspace(call->host, key, &workspace, err);
    return r == 0 ? perform_begin(workspace, tool, arguments, &events, &call->performance, err) : r;
}

static int take_call(struct host *host, const struct ipc_frame *frame)
{
    struct host_call *call = calloc(1, sizeof(*call));
    struct err err = ERR_INIT;

    if (call == NULL)
        return ERR_NO_MEMORY;
    *call = (struct host_call){.host = host, .number = frame->number};
    list_append(&host->calls, &call->node);
    if (begin_call(call, frame->body, &err) < 0) {
        send_failure(host, frame->number, &err);
        list_remove(&call->node);
        free(call);
    }
    return 0;
}

static void take_cancel(struct host *host, uint32_t number)
{
    struct err err = ERR_INIT;

    list_each_safe (node, &host->calls) {
        struct host_call *call = list_entry(node, struct host_call, node);

        if (call->number != number)
            continue;
        perform_cancel(call->performance);
        list_remove(&call->node);
        free(call);
        err_set_plain(&err, ERR_CANCELLED);
        send_failure(host, number, &err);
    }
}

struct host_end {
    struct host *host;
    uint32_t number;
};

static void on_gone(void *data)
{
    struct host_end *end = data;

    send_frame(end->host, end->number, WORKSPACE_WIRE_DONE, STR_EMPTY, STR_EMPTY);
    free(end);
}

static int take_end(struct host *host, const struct ipc_frame *frame)
{
    struct host_end *end = calloc(1, sizeof(*end));
    struct workspace *workspace;

    if (end == NULL)
        return ERR_NO_MEMORY;
    *end = (struct host_end){.host = host, .number = frame->number};
    if (host->workspaces != NULL && host->adopted == NULL &&
        workspaces_get(host->workspaces, frame->body, &workspace) == 0)
        workspace_end_then(workspace, on_gone, end);
    else
        on_gone(end); /* there is none */
    return 0;
}

static void take_use(struct host *host, const struct ipc_frame *frame)
{
    struct workspace_wire_use use = {.idle_ms = INT64_MAX};
    struct workspace *workspace;

    if (host->workspaces != NULL && find_workspace(host, frame->body, &workspace, NULL) == 0)
        use.idle_ms = background_idle_ms(workspace);
    send_frame(host, frame->number, WORKSPACE_WIRE_DONE,
               (struct str){(const char *)&use, sizeof(use)}, STR_EMPTY);
}

/* ---- the beginning ---- */

/* Lines, each a step. */
static int take_steps(struct host *host, struct str text, struct err *err)
{
    size_t count = 0;
    char *at;

    host->steps = strndup(text.ptr, text.len);
    if (host->steps == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    at = host->steps;
    while (*at != '\0') {
        size_t len = strcspn(at, "\n");
        bool is_last = at[len] == '\0';

        at[len] = '\0';
        if (len > 0 && count == MAX_STEPS)
            return err_set(err, ERR_TOO_LARGE, "a set-up has at most %d steps", MAX_STEPS);
        if (len > 0)
            host->step_list[count++] = at;
        at += is_last ? len : len + 1;
    }
    return 0;
}

/* Each has a header, its path and its content. */
static int take_files(struct host *host, struct str body)
{
    struct str rest;

    if (body.len == 0)
        return 0;
    if (host->files != NULL || host->workspaces != NULL)
        return ERR_INVALID_REQUEST;
    host->file_bytes = malloc(body.len);
    host->files = calloc(WORKSPACE_MAX_FILES, sizeof(*host->files));
    if (host->file_bytes == NULL || host->files == NULL)
        return ERR_NO_MEMORY;
    memcpy(host->file_bytes, body.ptr, body.len);
    rest = (struct str){host->file_bytes, body.len};
    while (rest.len > 0) {
        struct workspace_file *file = &host->files[host->file_count];
        struct workspace_wire_file about;

        if (host->file_count == WORKSPACE_MAX_FILES || rest.len < sizeof(about))
            return ERR_INVALID_REQUEST;
        memcpy(&about, rest.ptr, sizeof(about));
        rest = str_slice(rest, sizeof(about), rest.len);
        if (about.path_len > rest.len || about.content_len > rest.len - about.path_len)
            return ERR_INVALID_REQUEST;
        file->path = str_slice(rest, 0, about.path_len);
        file->content = str_slice(rest, about.path_len, about.content_len);
        file->is_executable = about.is_executable;
        rest = str_slice(rest, (size_t)about.path_len + about.content_len, rest.len);
        host->file_count++;
    }
    return 0;
}

static int set_up(struct host *host, struct str body, struct err *err)
{
    struct workspaces_config config = {
        .loop = host->loop,
        .settings = &host->setup.settings,
        .state_dir = host->config.state_dir,
        .service_program = host->config.service_program,
        .libexec = host->config.libexec,
        .setup = host->step_list,
        .make_filter = host->config.make_filter,
        .filter_data = host->config.filter_data,
    };
    int r;

    if (host->workspaces != NULL || body.len < sizeof(host->setup))
        return err_set(err, ERR_INVALID_REQUEST, "invalid message from the front end");
    memcpy(&host->setup, body.ptr, sizeof(host->setup));
    config.files = host->files;
    config.file_count = host->file_count;
    r = take_steps(host, str_slice(body, sizeof(host->setup), body.len), err);
    if (host->step_list[0] == NULL)
        config.setup = NULL;
    return r == 0 ? workspaces_new(&config, &host->workspaces, err) : r;
}

static void take_setup(struct host *host, const struct ipc_frame *frame)
{
    struct err err = ERR_INIT;

    if (set_up(host, frame->body, &err) < 0)
        send_failure(host, frame->number, &err);
    else
        send_frame(host, frame->number, WORKSPACE_WIRE_READY, STR_EMPTY, STR_EMPTY);
}

static int on_frame(void *data, const struct ipc_frame *frame, struct err *err)
{
    struct host *host = data;

    switch (frame->type) {
    case WORKSPACE_WIRE_FILES:
        return take_files(host, frame->body);
    case WORKSPACE_WIRE_SETUP:
        take_setup(host, frame);
        return 0;
    case WORKSPACE_WIRE_CALL:
        return take_call(host, frame);
    case WORKSPACE_WIRE_CANCEL:
        take_cancel(host, frame->number);
        return 0;
    case WORKSPACE_WIRE_END:
        return take_end(host, frame);
    case WORKSPACE_WIRE_USE:
        take_use(host, frame);
        return 0;
    default:
        return err_set(err, ERR_INVALID_REQUEST, "invalid message from the front end");
    }
}

static int check_frame(void *data, const struct ipc_frame *frame, struct err *err)
{
    (void)data;
    (void)frame;
    (void)err;
    return 0;
}

/* ---- the end ---- */

static void on_closed(void *data)
{
    ((struct host *)data)->is_over = true;
}

static void close_host(struct host *host)
{
    if (host->is_closing)
        return;
    host->is_closing = true;
    reader_pause(host->reader);
    list_each_safe (node, &host->calls) {
        struct host_call *call = list_entry(node, struct host_call, node);

        perform_cancel(call->performance);
        list_remove(&call->node);
        free(call);
    }
    if (host->workspaces != NULL)
        workspaces_close(host->workspaces, on_closed, host);
    else
        host->is_over = true;
}

static void on_bytes(void *data, struct str bytes)
{
    struct host *host = data;
    const struct frames_events events = {.check = check_frame, .on_frame = on_frame, .data = host};

    if (!host->is_closing && frames_feed(&host->decoder, bytes, &events, NULL) < 0)
        close_host(host);
}

static void on_end(void *data, int error)
{
    (void)error;
    close_host(data);
}

static void on_drained(void *data)
{
    (void)data;
}

static int open_host(struct host *host)
{
    const struct reader_events reading = {.on_bytes = on_bytes, .on_end = on_end, .data = host};
    const struct writer_events writing = {
        .on_drained = on_drained, .on_broken = on_end, .data = host};
    int r = loop_new(&clock_system, &host->loop);

    /* A copy: the loop watches a descriptor for one thing only. */
    host->write_fd = fcntl(host->config.fd, F_DUPFD_CLOEXEC, 0);
    if (r == 0 && host->write_fd < 0)
        r = ERR_TOO_MANY_FILES;
    if (r == 0)
        r = reader_new(host->loop, host->config.fd, &reading, &host->reader);
    if (r == 0)
        r = writer_new(host->loop, host->write_fd, WORKSPACE_WIRE_BYTES, &writing, &host->writer);
    return r;
}

int workspacehost_serve(const struct workspacehost_config *config, struct err *err)
{
    struct host host = {.config = *config, .write_fd = -1};
    int r;

    list_init(&host.calls);
    frames_decoder_init(&host.decoder, WORKSPACE_WIRE_BYTES);
    r = open_host(&host);
    while (r == 0 && !host.is_over)
        loop_run_once(host.loop);
    workspaces_free(host.workspaces);
    reader_free(host.reader);
    writer_free(host.writer);
    if (host.loop != NULL)
        loop_free(host.loop);
    if (host.write_fd >= 0)
        close(host.write_fd);
    frames_decoder_done(&host.decoder);
    workspace_settings_done(&host.setup.settings);
    free(host.steps);
    free(host.files);
    free(host.file_bytes);
    return r < 0 ? err_set_plain(err, r) : 0;
}
