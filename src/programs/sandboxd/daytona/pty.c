/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/pty.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/clock.h"
#include "programs/sandboxd/daytona/feeder.h"
#include "programs/sandboxd/daytona/socket.h"
#include "programs/sandboxd/daytona/toolbox.h"

enum {
    ROWS = 24,
    COLUMNS = 80,
    MOST_SIZE = 4096,
    KEPT_BYTES = 64 << 10,     /* of output that nobody has seen */
    HIGH_BYTES = 1 << 20,      /* unread by a client: the shell waits */
    QUEUE_BYTES = 4 << 20,     /* for a client */
    MESSAGE_BYTES = 1 << 20,   /* of a client */
    MOST_ENV_BYTES = 64 << 10, /* in the name of a protocol */
    CONTROL_BYTES = 256,
};

/* Clients that offer this want to be told of the end in a message. */
#define EXIT_PROTOCOL "X-Daytona-Pty-Exit-Control"
#define ENV_PROTOCOL  "X-Daytona-Pty-Envs~"

struct pty {
    struct list node; /* sandbox->ptys */
    struct sandbox *sandbox;
    char id[TOOLBOX_MAX_ID_BYTES + 1];
    struct run run;
    struct feeder feeder;
    bool was_started;
    int64_t created_ms;
    struct list clients;
    struct buf unseen;
};

struct client {
    struct list node;
    struct pty *pty;
    struct wsserve *socket;
    bool wants_exit;
};

/* ---- clients ---- */

static void free_client(struct client *client)
{
    list_remove(&client->node);
    free(client);
}

static void pace(struct pty *pty)
{
    bool is_behind = false;

    list_each (node, &pty->clients)
        if (wsserve_kept(list_entry(node, struct client, node)->socket) >= HIGH_BYTES)
            is_behind = true;
    run_pace(&pty->run, is_behind);
}

static void on_message(void *data, enum websocket_kind kind, struct str bytes)
{
    struct pty *pty = ((struct client *)data)->pty;

    (void)kind;
    /* What a shell that reads nothing does not take is lost, as on a real terminal. */
    (void)feeder_add(&pty->feeder, bytes);
}

static void on_client_drained(void *data)
{
    pace(((struct client *)data)->pty);
}

static void on_client_gone(void *data)
{
    struct pty *pty = ((struct client *)data)->pty;

    free_client(data);
    pace(pty);
    if (list_is_empty(&pty->clients))
        run_rest(&pty->run);
}

static const struct wsserve_events client_events = {
    .on_message = on_message, .on_drained = on_client_drained, .on_gone = on_client_gone};

/* ---- the shell ---- */

static void free_pty(struct pty *pty)
{
    run_kill(&pty->run);
    while (!list_is_empty(&pty->clients)) {
        struct client *client = list_entry(pty->clients.next, struct client, node);

        wsserve_close(client->socket, WEBSOCKET_GOING_AWAY, STR("the terminal was closed"));
        free_client(client);
    }
    list_remove(&pty->node);
    feeder_done(&pty->feeder);
    buf_done(&pty->unseen);
    run_done(&pty->run);
    free(pty);
}

void pty_forget_all(struct sandbox *sandbox)
{
    while (!list_is_empty(&sandbox->ptys))
        free_pty(list_entry(sandbox->ptys.next, struct pty, node));
}

static void on_output(void *data, enum room_stream stream, struct str bytes)
{
    struct pty *pty = data;

    (void)stream;
    list_each (node, &pty->clients)
        (void)wsserve_send(list_entry(node, struct client, node)->socket, WEBSOCKET_BINARY, bytes);
    if (list_is_empty(&pty->clients))
        (void)buf_append_str(&pty->unseen, str_slice(bytes, 0, pty->unseen.max - pty->unseen.len));
    pace(pty);
}

/* All clients learn of it, and the terminal is gone. */
static void end_pty(struct pty *pty, int exit_code)
{
    char control[CONTROL_BYTES];
    char reason[CONTROL_BYTES];

    snprintf(control, sizeof(control),
             "{\"type\":\"control\",\"status\":\"exited\",\"exitCode\":%d}", exit_code);
    snprintf(reason, sizeof(reason), "{\"exitCode\":%d}", exit_code);
    while (!list_is_empty(&pty->clients)) {
        struct client *client = list_entry(pty->clients.next, struct client, node);

        if (client->wants_exit)
            (void)wsserve_send(client->socket, WEBSOCKET_TEXT, str_from(control));
        wsserve_close(client->socket, WEBSOCKET_NORMAL, str_from(reason));
        free_client(client);
    }
    free_pty(pty);
}

static void on_exit_(void *data, const struct room_exit *exit)
{
    end_pty(data, exit->signal != 0 ? 128 + exit->signal : exit->code);
}

static void on_fail(void *data, const struct err *err)
{
    (void)err;
    end_pty(data, -1);
}

static const struct run_events pty_events = {
    .on_output = on_output, .on_exit = on_exit_, .on_fail = on_fail, .on_refuse = on_fail};

/* May free it: if the sandbox refuses, its clients are told. */
static void start(struct pty *pty)
{
    if (pty->was_started)
        return;
    pty->was_started = true;
    run_begin(&pty->run);
}

/* ---- requests ---- */

static struct pty *find(const struct sandbox *sandbox, struct str id)
{
    list_each (node, &sandbox->ptys) {
        struct pty *pty = list_entry(node, struct pty, node);

        if (str_eq_c(id, pty->id))
            return pty;
    }
    return NULL;
}

/* NULL after a 404. */
static struct pty *find_pty(const struct api_call *call)
{
    struct sandbox *sandbox = toolbox_find(call);
    struct pty *pty = sandbox != NULL ? find(sandbox, call->ids[1]) : NULL;

    if (sandbox != NULL && pty == NULL)
        call_fail(call->exchange, 404, "there is no such terminal");
    return pty;
}

/* What a new terminal is to be. */
struct wish {
    struct str id;
    struct str cwd;
    int64_t rows;
    int64_t columns;
    const struct json_value *env;
};

static const char *apply_wish(struct pty *pty, const struct wish *wish)
{
    static const char *const words[] = {
        "/bin/sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash -i; fi; exec sh -i",
        NULL};
    struct room_command *command = &pty->run.command;
    char path[ROOM_PATH_BYTES];

    if (wish->rows < 1 || wish->rows > MOST_SIZE || wish->columns < 1 || wish->columns > MOST_SIZE)
        return "rows and cols must be 1 to 4096";
    if (wish->cwd.len > 0) {
        if (!toolbox_path(wish->cwd, path))
            return "cwd must be a path";
        command->workdir = arena_copy(&pty->run.arena, str_from(path));
    }
    command->argv = words;
    command->has_input = true;
    command->has_terminal = true;
    command->rows = (unsigned short)wish->rows;
    command->columns = (unsigned short)wish->columns;
    return run_add_env(&pty->run.arena, wish->env, command);
}

/* NULL after an answer. */
static struct pty *new_pty(const struct api_call *call, struct sandbox *sandbox,
                           const struct wish *wish)
{
    struct pty *pty;
    const char *wrong;

    if (!toolbox_is_id(wish->id)) {
        call_fail(call->exchange, 400, "id must be a text of at most 128 bytes");
        return NULL;
    }
    if (find(sandbox, wish->id) != NULL) {
        call_fail(call->exchange, 409, "there is a terminal of that name already");
        return NULL;
    }
    pty = toolbox_count(&sandbox->ptys) < PTY_MOST ? calloc(1, sizeof(*pty)) : NULL;
    if (pty == NULL) {
        call_fail(call->exchange, 503, "the sandbox has too many terminals");
        return NULL;
    }
    pty->sandbox = sandbox;
    pty->created_ms = loop_wall_ms(call->service->config.loop);
    snprintf(pty->id, sizeof(pty->id), "%.*s", STR_ARG(wish->id));
    list_init(&pty->clients);
    buf_init(&pty->unseen, KEPT_BYTES);
    run_init(&pty->run, sandbox, &pty_events, pty);
    feeder_init(&pty->feeder, &pty->run);
    list_append(&sandbox->ptys, &pty->node);
    wrong = apply_wish(pty, wish);
    if (wrong == NULL)
        return pty;
    call_fail(call->exchange, 400, wrong);
    free_pty(pty);
    return NULL;
}

void pty_create(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct sandbox *sandbox = toolbox_find(call);
    const struct json_value *object = sandbox != NULL ? call_object(call, &arena, false) : NULL;
    struct wish wish = {.rows = ROWS, .columns = COLUMNS};
    struct json_writer json;
    struct pty *pty;
    bool is_lazy = false;

    if (object == NULL)
        return;
    wish.env = json_get(object, STR("envs"));
    if (!call_member_str(object, STR("id"), &wish.id) ||
        !call_member_str(object, STR("cwd"), &wish.cwd) ||
        !call_member_int(object, STR("rows"), &wish.rows) ||
        !call_member_int(object, STR("cols"), &wish.columns) ||
        !call_member_bool(object, STR("lazyStart"), &is_lazy)) {
        call_fail(call->exchange, 400, "id, cwd, rows, cols or lazyStart has the wrong type");
        return;
    }
    pty = new_pty(call, sandbox, &wish);
    if (pty == NULL)
        return;
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_put_str_lossy(&json, STR("sessionId"), str_from(pty->id));
    json_end_object(&json);
    call_answer_written(call->exchange, 201, &json, &out);
    if (!is_lazy)
        start(pty);
}

static void write_pty(struct json_writer *json, const struct pty *pty)
{
    char when[CLOCK_ISO_BYTES];

    clock_format_iso(pty->created_ms, when);
    json_begin_object(json);
    json_put_str_lossy(json, STR("id"), str_from(pty->id));
    json_put_bool(json, STR("active"), pty->run.exec != NULL);
    json_put_int(json, STR("cols"), pty->run.command.columns);
    json_put_int(json, STR("rows"), pty->run.command.rows);
    json_put_str(json, STR("createdAt"), str_from(when));
    json_put_str_lossy(
        json, STR("cwd"),
        str_from(pty->run.command.workdir != NULL ? pty->run.command.workdir : ROOM_HOME));
    json_key(json, STR("envs"));
    json_splice(json, STR("{}"));
    json_put_bool(json, STR("lazyStart"), !pty->was_started);
    json_end_object(json);
}

void pty_list(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    const struct sandbox *sandbox = toolbox_find(call);
    struct json_writer json;

    if (sandbox == NULL)
        return;
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_key(&json, STR("sessions"));
    json_begin_array(&json);
    list_each (node, &sandbox->ptys)
        write_pty(&json, list_entry(node, struct pty, node));
    json_end_array(&json);
    json_end_object(&json);
    toolbox_answer_json(call->exchange, &json, &out);
}

static void answer_pty(const struct api_call *call, const struct pty *pty)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct json_writer json;

    json_writer_init(&json, &out);
    write_pty(&json, pty);
    toolbox_answer_json(call->exchange, &json, &out);
}

void pty_get(const struct api_call *call)
{
    const struct pty *pty = find_pty(call);

    if (pty != NULL)
        answer_pty(call, pty);
}

void pty_remove(const struct api_call *call)
{
    struct pty *pty = find_pty(call);

    if (pty == NULL)
        return;
    end_pty(pty, 128 + 9); /* it is killed */
    call_answer_json(call->exchange, 200, STR("{}"));
}

void pty_resize(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct pty *pty = find_pty(call);
    const struct json_value *object = pty != NULL ? call_object(call, &arena, false) : NULL;
    int64_t rows = 0;
    int64_t columns = 0;

    if (object == NULL)
        return;
    if (!call_member_int(object, STR("rows"), &rows) ||
        !call_member_int(object, STR("cols"), &columns) || rows < 1 || rows > MOST_SIZE ||
        columns < 1 || columns > MOST_SIZE) {
        call_fail(call->exchange, 400, "rows and cols must be 1 to 4096");
        return;
    }
    pty->run.command.rows = (unsigned short)rows;
    pty->run.command.columns = (unsigned short)columns;
    if (pty->run.exec != NULL)
        (void)room_exec_resize(pty->run.exec, pty->run.command.rows, pty->run.command.columns);
    answer_pty(call, pty);
}

/* Connects the client; the terminal may be gone afterwards. */
static void connect_client(const struct api_call *call, struct pty *pty)
{
    const struct websocket_limits limits = {.max_message_bytes = MESSAGE_BYTES,
                                            .max_queue_bytes = QUEUE_BYTES};
    const struct str protocol = STR(EXIT_PROTOCOL);
    struct client *client = calloc(1, sizeof(*client));
    struct str rest;

    if (client == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    client->pty = pty;
    client->wants_exit = socket_is_offered(call->request, protocol, &rest);
    if (socket_accept(call, &protocol, &limits, &client_events, client, &client->socket) < 0) {
        free(client);
        return;
    }
    list_append(&pty->clients, &client->node);
    (void)wsserve_send(client->socket, WEBSOCKET_TEXT,
                       STR("{\"type\":\"control\",\"status\":\"connected\"}"));
    if (pty->unseen.len > 0)
        (void)wsserve_send(client->socket, WEBSOCKET_BINARY, buf_view(&pty->unseen));
    buf_clear(&pty->unseen);
    run_work(&pty->run);
    start(pty);
}

void pty_connect(const struct api_call *call)
{
    struct pty *pty = find_pty(call);

    if (pty != NULL)
        connect_client(call, pty);
}

/* The variables in the name of a protocol: base64 for addresses, without padding, of JSON. */
static bool read_env(const struct http_request *request, struct arena *arena,
                     const struct json_value **out_env)
{
    cleanup_buf struct buf text = BUF_INIT(MOST_ENV_BYTES);
    cleanup_buf struct buf decoded = BUF_INIT(MOST_ENV_BYTES);
    struct str given;
    char *copy;

    if (!socket_is_offered(request, STR(ENV_PROTOCOL), &given))
        return true;
    if (buf_append_str(&text, given) < 0)
        return false;
    for (size_t i = 0; i < text.len; i++)
        text.data[i] = (char)(text.data[i] == '-' ? '+' : text.data[i] == '_' ? '/' : text.data[i]);
    while (text.len % 4 != 0)
        if (buf_append_char(&text, '=') < 0)
            return false;
    if (base64_decode(&decoded, buf_view(&text)) < 0)
        return false;
    copy = arena_copy(arena, buf_view(&decoded));
    return copy != NULL && json_parse(arena, (struct str){copy, decoded.len}, JSON_LIMITS_DEFAULT,
                                      out_env, NULL) == 0;
}

static bool read_number(const struct api_call *call, struct arena *arena, struct str name,
                        int64_t *out_number)
{
    struct str text;
    int error = 0;

    return !call_query(call, arena, name, &text, &error) ? error == 0
                                                         : str_to_int64(text, out_number);
}

void pty_create_and_connect(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct sandbox *sandbox = toolbox_find(call);
    struct wish wish = {.rows = ROWS, .columns = COLUMNS};
    struct pty *pty;
    int error = 0;

    if (sandbox == NULL)
        return;
    (void)call_query(call, &arena, STR("id"), &wish.id, &error);
    (void)call_query(call, &arena, STR("cwd"), &wish.cwd, &error);
    if (error < 0 || !read_number(call, &arena, STR("rows"), &wish.rows) ||
        !read_number(call, &arena, STR("cols"), &wish.columns) ||
        !read_env(call->request, &arena, &wish.env)) {
        call_fail(call->exchange, 400, "id, cwd, rows, cols or the variables are malformed");
        return;
    }
    pty = new_pty(call, sandbox, &wish);
    if (pty == NULL)
        return;
    connect_client(call, pty);
    pty = find(sandbox, wish.id);
    if (pty != NULL && !pty->was_started)
        free_pty(pty); /* the handshake was refused */
}
