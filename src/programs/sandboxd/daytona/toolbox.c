/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/toolbox.h"

#include <stdio.h>
#include <stdlib.h>

#include "programs/sandboxd/daytona/error.h"
#include "programs/sandboxd/daytona/sandboxes.h"

enum {
    WHOLE_BYTES = 1 << 20, /* a smaller answer is sent at once */
    PIECE_BYTES = 256 << 10,
    HIGH_BYTES = 1 << 20, /* unread by a client */
    FIRST_JSON_SDK = 150, /* the minor version from which on logs are JSON */
};

struct sandbox *toolbox_find(const struct api_call *call)
{
    struct sandbox *sandbox = daytona_find(call);

    if (sandbox == NULL)
        return NULL;
    if (sandbox->state == SANDBOX_RUNNING || sandbox->state == SANDBOX_STARTING)
        return sandbox;
    call_fail(call->exchange, 409, "the sandbox is not running: start it first");
    return NULL;
}

bool toolbox_path(struct str given, char out_path[ROOM_PATH_BYTES])
{
    bool is_absolute = given.len > 0 && given.ptr[0] == '/';

    if (given.len == 0 || str_has_nul(given))
        return false;
    if (str_eq(given, STR("~")) || str_starts_with(given, STR("~/")) || str_eq(given, STR(".")) ||
        str_starts_with(given, STR("./")))
        given = str_slice(given, 1, given.len);
    return snprintf(out_path, ROOM_PATH_BYTES, "%s%s%.*s", is_absolute ? "" : ROOM_HOME,
                    is_absolute || given.len == 0 || given.ptr[0] == '/' ? "" : "/",
                    STR_ARG(given)) < ROOM_PATH_BYTES;
}

bool toolbox_query_path(const struct api_call *call, struct str name, const char *fallback,
                        char out_path[ROOM_PATH_BYTES])
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct str path = fallback != NULL ? str_from(fallback) : STR_EMPTY;
    char text[64];
    int error = 0;

    (void)call_query(call, &arena, name, &path, &error);
    if (error == 0 && toolbox_path(path, out_path))
        return true;
    snprintf(text, sizeof(text), "%.*s must be a path", STR_ARG(str_slice(name, 0, 32)));
    daytona_fail(call->exchange, 400, "INVALID_FILE_PATH", text);
    return false;
}

bool toolbox_is_id(struct str id)
{
    if (id.len == 0 || id.len > TOOLBOX_MAX_ID_BYTES)
        return false;
    for (size_t i = 0; i < id.len; i++)
        if ((unsigned char)id.ptr[i] < ' ' || id.ptr[i] == '/' || id.ptr[i] == 0x7f)
            return false;
    return true;
}

size_t toolbox_count(const struct list *list)
{
    size_t count = 0;

    list_each (node, list)
        count++;
    return count;
}

bool toolbox_is_old_client(const struct http_request *request)
{
    struct str version;
    struct str part;
    int64_t major = 0;
    int64_t minor = 0;

    return http_header(request, STR("X-Daytona-SDK-Version"), &version) &&
           str_cut(&version, '.', &part) && str_to_int64(part, &major) &&
           str_cut(&version, '.', &part) && str_to_int64(part, &minor) && major == 0 &&
           minor < FIRST_JSON_SDK;
}

/* ---- large answers ---- */

struct large {
    struct exchange *exchange;
    struct buf text;
    size_t sent;
};

static void free_large(void *data)
{
    struct large *large = data;

    buf_done(&large->text);
    free(large);
}

static void send_large(void *data)
{
    struct large *large = data;

    while (exchange_kept(large->exchange) < HIGH_BYTES && large->sent < large->text.len) {
        const struct str piece = str_slice(buf_view(&large->text), large->sent, PIECE_BYTES);

        if (exchange_write(large->exchange, &piece, 1) < 0) {
            exchange_cut(large->exchange);
            free_large(large);
            return;
        }
        large->sent += piece.len;
    }
    if (large->sent < large->text.len)
        return;
    exchange_end(large->exchange);
    free_large(large);
}

static const struct exchange_events large_events = {.on_gone = free_large,
                                                    .on_drained = send_large};

void toolbox_answer_text(struct exchange *exchange, struct str type, struct buf *text)
{
    struct str body = buf_view(text);
    struct large *large;

    if (body.len <= WHOLE_BYTES) {
        exchange_answer(
            exchange,
            &(struct http_answer){.status = 200, .type = type, .parts = &body, .part_count = 1});
        return;
    }
    large = malloc(sizeof(*large));
    if (large == NULL) {
        call_fail(exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    *large = (struct large){.exchange = exchange, .text = *text};
    buf_init(text, 0);
    exchange_watch(exchange, &large_events, large);
    exchange_begin(exchange, &(struct http_answer){.status = 200, .type = type});
    send_large(large);
}

void toolbox_answer_json(struct exchange *exchange, struct json_writer *json, struct buf *out)
{
    int r = json_writer_finish(json);

    if (r < 0)
        call_fail(exchange, 503, err_text(r));
    else
        toolbox_answer_text(exchange, STR("application/json"), out);
}

/* ---- commands ---- */

void tool_free(struct tool *tool)
{
    run_done(&tool->run);
    if (tool->free_data != NULL)
        tool->free_data(tool->data);
    buf_done(&tool->output);
    buf_done(&tool->errors);
    free(tool);
}

static void on_gone(void *data)
{
    struct tool *tool = data;

    run_kill(&tool->run);
    tool_free(tool);
}

static void on_output(void *data, enum room_stream stream, struct str bytes)
{
    struct tool *tool = data;
    struct buf *out = stream == ROOM_STDOUT || tool->joins_streams ? &tool->output : &tool->errors;

    /* What is over the limit, or finds no memory, is dropped. */
    (void)buf_append_str(out, str_slice(bytes, 0, out->max - out->len));
}

static void on_exit_(void *data, const struct room_exit *exit)
{
    struct tool *tool = data;
    struct exchange *exchange = tool->exchange;
    const struct toolbox_result result = {
        .exit_code = exit->signal != 0 ? 128 + exit->signal : exit->code,
        .output = buf_view(&tool->output),
        .errors = buf_view(&tool->errors),
    };

    exchange_watch(exchange, NULL, NULL); /* it is answered now */
    if (exit->timed_out)
        daytona_fail(exchange, 408, "PROCESS_EXECUTION_TIMEOUT", "the command took too long");
    else
        tool->done(tool->data, exchange, &result);
    tool_free(tool);
}

/* The directory is missing, or the program. */
static void answer_missing(const struct tool *tool, const struct err *err)
{
    const char *const *words = tool->run.command.argv;
    char text[128];

    if (words == NULL || strcmp(err->field, "command") != 0) {
        call_fail(tool->exchange, 400, err->message);
        return;
    }
    snprintf(text, sizeof(text), "the sandbox has no %.64s: its image must install it", words[0]);
    call_fail(tool->exchange, 400, text);
}

static void on_fail(void *data, const struct err *err)
{
    struct tool *tool = data;
    struct exchange *exchange = tool->exchange;

    exchange_watch(exchange, NULL, NULL);
    if (err->code == ERR_NOT_FOUND)
        answer_missing(tool, err);
    else if (err->code == ERR_SESSION_OVER)
        call_fail(exchange, 409, "the sandbox is not running any more: start it again");
    else
        call_fail_err(exchange, err);
    tool_free(tool);
}

/* The pipe takes it at once. */
static void on_begin(void *data)
{
    struct tool *tool = data;

    if (tool->input.len == 0)
        return;
    (void)room_exec_write(tool->run.exec, tool->input);
    room_exec_close_input(tool->run.exec);
}

static const struct run_events tool_run_events = {.on_begin = on_begin,
                                                  .on_output = on_output,
                                                  .on_exit = on_exit_,
                                                  .on_fail = on_fail,
                                                  .on_refuse = on_fail};
static const struct exchange_events tool_events = {.on_gone = on_gone};

struct tool *tool_new(struct exchange *exchange, struct sandbox *sandbox, toolbox_done *done,
                      void *data, void (*free_data)(void *data))
{
    struct tool *tool = calloc(1, sizeof(*tool));

    if (tool == NULL) {
        call_fail(exchange, 503, err_text(ERR_NO_MEMORY));
        return NULL;
    }
    run_init(&tool->run, sandbox, &tool_run_events, tool);
    tool->run.command.timeout_ms = (int64_t)TOOLBOX_TIMEOUT_S * 1000;
    tool->exchange = exchange;
    tool->done = done;
    tool->data = data;
    tool->free_data = free_data;
    buf_init(&tool->output, TOOLBOX_MAX_OUTPUT_BYTES);
    buf_init(&tool->errors, TOOLBOX_MAX_OUTPUT_BYTES);
    return tool;
}

void tool_start(struct tool *tool)
{
    tool->run.command.has_input = tool->input.len > 0;
    exchange_watch(tool->exchange, &tool_events, tool);
    run_begin(&tool->run);
}

const char *tool_text(struct tool *tool, struct str text)
{
    return arena_copy(&tool->run.arena, text);
}
