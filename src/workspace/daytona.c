/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider `daytona`: a client of the Daytona API, which has sandboxes in a control plane and
 * their files and commands at a toolbox. What the toolbox cannot do by itself (copies, whole trees)
 * a command does. Each command has a session of its own, whose end kills it. What one in the
 * background has written is asked for when somebody wants to know.
 */
#include "workspace/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "workspace/daytonascript.h"

enum {
    MAX_CONTENT_BYTES = 15 << 20, /* one request takes 16 MiB */
    CREATE_MS = 5 * 60 * 1000,
    DESTROY_MS = 10000,
    POLL_MS = 200,
    STOP_MINUTES = 15, /* without activity; then it is deleted */
    SESSION_BYTES = 48,
    NAME_BYTES = 48,
    FORBIDDEN = 403,
};

#define BOUNDARY "gatehouse-workspace-5f2c9a"

struct daytona {
    struct web *web;
    bool builds; /* the image is no snapshot of the service's: it is built */
};

/* A workspace: what is known about its sandbox, and what is being done to it. */
struct place {
    struct workspace *workspace;
    struct web_request request;
    struct timer poll;
    struct httpurl toolbox; /* of this sandbox */
    char name[NAME_BYTES];  /* chosen before there is an id */
    int64_t create_by_ms;
};

enum step {
    STEP_FILE,    /* one request of the toolbox */
    STEP_EXISTS,  /* before a write that must not replace */
    STEP_MODE,    /* after a write of a program */
    STEP_SESSION, /* before a command */
    STEP_COMMAND,
    STEP_BACKGROUND, /* the command runs, and nothing is asked */
    STEP_STATUS,     /* whether it runs */
    STEP_LOGS,       /* what it has written until then */
    STEP_KILL,
    STEP_LOOK, /* whether the sandbox is there, after a 404 */
};

struct op {
    struct remote_call remote;
    enum step step;
    char session[SESSION_BYTES];      /* empty: there is none */
    struct timer limit;               /* of the command */
    char command[WORKSPACE_ID_BYTES]; /* in the background */
    bool has_ended;                   /* it has, and its output is asked for */
};

static struct web *web_of(const struct workspaces *workspaces)
{
    return ((struct daytona *)workspaces->data)->web;
}

/* ---- sandboxes ---- */

static void on_record(void *data, const struct err *err, int status, struct str body);

static void look_again(void *data)
{
    struct place *place = data;
    struct web_request *request = &place->request;

    web_ask(request, HTTP_METHOD_GET, true);
    snprintf(request->target, sizeof(request->target), "/sandbox/%s", place->workspace->id);
    web_send(request);
}

static struct place *place_of(struct workspace *workspace)
{
    struct place *place = workspace->driver;

    if (place != NULL)
        return place;
    place = calloc(1, sizeof(*place));
    if (place == NULL)
        abort(); /* a few kilobytes: there is no way to say so */
    place->workspace = workspace;
    workspace->driver = place;
    web_request_init(&place->request, web_of(workspace->workspaces));
    timer_init(&place->poll, workspace->workspaces->config.loop, look_again, place);
    place->request.data = place;
    return place;
}

static void note_over(const struct place *place)
{
    struct workspaces *workspaces = place->workspace->workspaces;

    workspace_note_over(workspaces, place->name);
    workspace_note_over(workspaces, place->workspace->id);
}

/* A name of its own, on disk before the service has it. */
static int choose_name(struct place *place, struct err *err)
{
    char id[WORKSPACE_UUID_BYTES];

    workspace_make_id(id);
    snprintf(place->name, sizeof(place->name), "gatehouse-%s", id);
    return workspace_note(place->workspace->workspaces, place->name, err);
}

/* A snapshot of this name is there at once; a Dockerfile is built first. */
static int put_image(const struct workspaces *workspaces, struct json_writer *json)
{
    cleanup_buf struct buf text = BUF_INIT(DAYTONA_SCRIPT_BYTES);
    const char *const *steps = workspaces->config.setup;
    bool has_base = steps != NULL && steps[0] != NULL && strncmp(steps[0], "FROM ", 5) == 0;
    int r = has_base ? 0 : buf_printf(&text, "FROM %s\n", workspaces->config.settings->image);

    if (steps == NULL && !((const struct daytona *)workspaces->data)->builds) {
        json_put_str_lossy(json, STR("snapshot"), str_from(workspaces->config.settings->image));
        return 0;
    }

    for (; r == 0 && steps != NULL && *steps != NULL; steps++)
        r = buf_printf(&text, "%s\n", *steps);
    if (r < 0)
        return r;
    json_key(json, STR("buildInfo"));
    json_begin_object(json);
    json_put_str_lossy(json, STR("dockerfileContent"), buf_view(&text));
    json_end_object(json);
    return 0;
}

static void create(struct workspace *workspace)
{
    struct place *place = place_of(workspace);
    struct web_request *request = &place->request;
    struct json_writer json;
    struct err err = ERR_INIT;
    int r;

    place->create_by_ms = loop_now_ms(workspace->workspaces->config.loop) + CREATE_MS;
    request->method = HTTP_METHOD_POST;
    request->may_repeat = false;
    request->done = on_record;
    request->whole_ms = CREATE_MS;
    if (choose_name(place, &err) < 0) {
        web_fail(request, &err);
        return;
    }
    snprintf(request->target, sizeof(request->target), "/sandbox");
    web_begin_object(request, &json);
    json_put_str(&json, STR("name"), str_from(place->name));
    r = put_image(workspace->workspaces, &json);
    json_key(&json, STR("labels"));
    json_begin_object(&json);
    json_put_str(&json, STR("gatehouse"), STR("workspace"));
    json_end_object(&json);
    /* If we are killed, it does not stay. */
    json_put_int(&json, STR("autoStopInterval"), STOP_MINUTES);
    json_put_int(&json, STR("autoDeleteInterval"), 0);
    if (r == 0)
        r = web_end_object(&json);
    if (r < 0) {
        err_set(&err, r, "daytona: the set-up is too long");
        web_fail(request, &err);
    } else {
        web_send(request);
    }
}

/* "https://proxy.example/toolbox" and the id. */
static int take_toolbox(struct place *place, struct str url, struct err *err)
{
    struct web *web = place->request.web;
    size_t at;

    if (httpurl_parse(url, &place->toolbox, NULL) < 0)
        return web_makes_no_sense(web, err);
    at = strlen(place->toolbox.path);
    if (snprintf(place->toolbox.path + at, sizeof(place->toolbox.path) - at, "/%s",
                 place->workspace->id) >= (int)(sizeof(place->toolbox.path) - at))
        return web_makes_no_sense(web, err);
    return web_trust(web, &place->toolbox, err);
}

/* 0 if it is there, ERR_BUSY if it is not yet. */
static int take_record(struct place *place, struct str body, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(REMOTE_ARENA_BYTES);
    struct web *web = place->request.web;
    const struct json_value *record;
    struct str text = STR_EMPTY;
    struct str reason = STR("it gives no reason");
    int r = web_read_json(web, &arena, body, &record, err);

    if (r < 0)
        return r;
    if (!json_get_str(record, STR("id"), &text) || !remote_is_id(text))
        return web_makes_no_sense(web, err);
    snprintf(place->workspace->id, sizeof(place->workspace->id), "%.*s", STR_ARG(text));
    /* Services that have no names know it by the id alone. */
    r = workspace_note(place->workspace->workspaces, place->workspace->id, err);
    if (r < 0)
        return r;
    text = STR_EMPTY;
    (void)json_get_str(record, STR("state"), &text);
    if (str_eq(text, STR("error")) || str_eq(text, STR("build_failed")) ||
        str_eq(text, STR("destroyed"))) {
        (void)json_get_str(record, STR("errorReason"), &reason);
        return err_set(err, ERR_TOOL_FAILED, "daytona: the sandbox cannot start: %.*s",
                       STR_ARG(reason));
    }
    if (!str_eq(text, STR("started")))
        return text.len > 0 ? ERR_BUSY : web_makes_no_sense(web, err);
    if (!json_get_str(record, STR("toolboxProxyUrl"), &text))
        return web_makes_no_sense(web, err);
    return take_toolbox(place, text, err);
}

/* A sandbox that is of no use does not stay. */
static void leave(struct place *place)
{
    char target[WEB_TARGET_BYTES];

    if (place->workspace->id[0] == '\0')
        return;
    snprintf(target, sizeof(target), "/sandbox/%s", place->workspace->id);
    web_forget(place->request.web, NULL, HTTP_METHOD_DELETE, target);
    place->workspace->id[0] = '\0';
}

static void on_record(void *data, const struct err *err, int status, struct str body)
{
    struct place *place = data;
    struct workspace *workspace = place->workspace;
    struct daytona *daytona = workspace->workspaces->data;
    struct err why = ERR_INIT;
    int r = 0;

    if (status >= 400 && status < 500 && workspace->id[0] == '\0')
        workspace_note_over(workspace->workspaces, place->name); /* it was refused */
    if ((status == 400 || status == 404) && workspace->id[0] == '\0' && !daytona->builds) {
        daytona->builds = true;
        create(workspace);
        return;
    }
    if (err != NULL)
        why = *err;
    else
        r = take_record(place, body, &why);
    if (r == ERR_BUSY) {
        if (loop_now_ms(workspace->workspaces->config.loop) < place->create_by_ms) {
            timer_start(&place->poll, POLL_MS);
            return;
        }
        err_set(&why, ERR_TIMED_OUT, "daytona: the sandbox does not start");
    }
    if (why.code != 0)
        leave(place);
    workspace_created(workspace, why.code != 0 ? &why : NULL);
}

static void on_destroyed(void *data, const struct err *err, int status, struct str body)
{
    const struct place *place = data;

    (void)body;
    /* Else the next start ends it, or the service when it is idle. */
    if (err == NULL || status == 404)
        note_over(place);
    workspace_destroyed(place->workspace);
}

static void destroy(struct workspace *workspace)
{
    struct place *place = place_of(workspace);
    struct web_request *request = &place->request;

    web_ask(request, HTTP_METHOD_DELETE, true);
    request->done = on_destroyed;
    request->whole_ms = DESTROY_MS;
    snprintf(request->target, sizeof(request->target), "/sandbox/%s", workspace->id);
    web_send(request);
}

static void forget(struct workspace *workspace)
{
    struct place *place = workspace->driver;

    if (place == NULL)
        return;
    timer_stop(&place->poll);
    web_drop(&place->request);
    free(place);
    workspace->driver = NULL;
}

/* ---- ends of calls ---- */

static void on_answer(void *data, const struct err *err, int status, struct str body);

/* Kills what it runs. */
static void end_session(struct op *op)
{
    const struct place *place = op->remote.call->workspace->driver;
    char target[WEB_TARGET_BYTES];

    if (op->session[0] == '\0')
        return;
    snprintf(target, sizeof(target), "/process/session/%s", op->session);
    web_forget(op->remote.request.web, &place->toolbox, HTTP_METHOD_DELETE, target);
    op->session[0] = '\0';
}

static void free_op(struct op *op)
{
    timer_stop(&op->limit);
    remote_call_done(&op->remote);
    free(op);
}

static void finish(struct op *op, const struct err *err)
{
    end_session(op);
    workspace_call_end(op->remote.call, err);
    free_op(op);
}

/* ---- commands ---- */

/*
 * The session's shell reads commands line by line from its input, which ours must not read, and
 * which must not end in the middle of a quote: so it is decoded in a shell of its own.
 */
static int put_script(struct op *op, struct str script, struct err *err)
{
    cleanup_buf struct buf line = BUF_INIT(2 * DAYTONA_SCRIPT_BYTES);
    struct web_request *request = &op->remote.request;
    struct json_writer json;
    int r = buf_append_str(&line, STR("sh -c \"$(echo '"));

    if (r == 0)
        r = base64_append(&line, script);
    if (r == 0)
        r = buf_append_str(&line, STR("' | base64 -d)\" </dev/null"));
    web_begin_object(request, &json);
    json_put_str(&json, STR("command"), buf_view(&line));
    json_put_bool(&json, STR("runAsync"), op->remote.call->request.is_background);
    if (r == 0)
        r = web_end_object(&json);
    return r < 0 ? err_set(err, r, "the command is too long") : 0;
}

/* ---- sending ---- */

static void at_toolbox(struct op *op, enum http_method method, bool may_repeat)
{
    const struct place *place = op->remote.call->workspace->driver;

    web_ask(&op->remote.request, method, may_repeat);
    op->remote.request.url = &place->toolbox;
}

/* "WHAT?path=PATH" */
static int aim(struct op *op, const char *what, struct err *err)
{
    struct str path = op->remote.call->request.path;
    int r = web_target(&op->remote.request, err, "%s", what);

    return r == 0 ? web_query(&op->remote.request, "path", path.len > 0 ? path : STR("."), err) : r;
}

static int send_session(struct op *op, struct err *err)
{
    struct web_request *request = &op->remote.request;
    char id[WORKSPACE_UUID_BYTES];
    struct json_writer json;

    workspace_make_id(id);
    snprintf(op->session, sizeof(op->session), "gatehouse-%s", id);
    op->step = STEP_SESSION;
    at_toolbox(op, HTTP_METHOD_POST, false);
    web_begin_object(request, &json);
    json_put_str(&json, STR("sessionId"), str_from(op->session));
    if (web_end_object(&json) < 0)
        return err_set_plain(err, ERR_NO_MEMORY);
    return web_target(request, err, "/process/session");
}

static int send_command(struct op *op, struct err *err)
{
    cleanup_buf struct buf script = BUF_INIT(DAYTONA_SCRIPT_BYTES);
    const struct workspace_request *asked = &op->remote.call->request;
    int r;

    r = daytona_script(asked, &script);
    if (r < 0)
        return err_set(err, r, "the command is too long");
    op->step = STEP_COMMAND;
    at_toolbox(op, HTTP_METHOD_POST, false);
    r = web_target(&op->remote.request, err, "/process/session/%s/exec", op->session);
    if (r == 0)
        r = put_script(op, buf_view(&script), err);
    if (r == 0 && asked->action == WORKSPACE_EXECUTE)
        timer_start(&op->limit, asked->timeout_ms);
    return r;
}

/* A form with one file. */
static int send_upload(struct op *op, struct err *err)
{
    const struct workspace_request *asked = &op->remote.call->request;
    struct web_request *request = &op->remote.request;
    struct buf *body = &request->body;
    int r;

    if (asked->content.len > MAX_CONTENT_BYTES)
        return err_set(err, ERR_TOO_LARGE, "daytona: a file has at most %d MiB here",
                       MAX_CONTENT_BYTES >> 20);
    op->step = STEP_FILE;
    at_toolbox(op, HTTP_METHOD_POST, true);
    request->has_body = true;
    request->type = "multipart/form-data; boundary=" BOUNDARY;
    buf_clear(body);
    r = buf_append_str(body, STR("--" BOUNDARY "\r\nContent-Disposition: form-data; "
                                 "name=\"files[0].path\"\r\n\r\n"));
    if (r == 0)
        r = buf_append_str(body, asked->path);
    if (r == 0)
        r = buf_append_str(body, STR("\r\n--" BOUNDARY "\r\nContent-Disposition: form-data; "
                                     "name=\"files[0].file\"; filename=\"file\"\r\nContent-Type: "
                                     "application/octet-stream\r\n\r\n"));
    if (r == 0)
        r = buf_append_str(body, asked->content);
    if (r == 0)
        r = buf_append_str(body, STR("\r\n--" BOUNDARY "--\r\n"));
    if (r < 0)
        return err_set_plain(err, r);
    if (str_find(asked->content, STR("--" BOUNDARY)) != SIZE_MAX)
        return err_set(err, ERR_INVALID_ARGUMENT, "daytona: the file cannot be sent");
    return web_target(request, err, "/files/bulk-upload");
}

static int send_download(struct op *op, struct err *err)
{
    struct web_request *request = &op->remote.request;
    struct json_writer json;

    at_toolbox(op, HTTP_METHOD_POST, true);
    web_begin_object(request, &json);
    json_key(&json, STR("paths"));
    json_begin_array(&json);
    json_write_str_lossy(&json, op->remote.call->request.path);
    json_end_array(&json);
    if (web_end_object(&json) < 0)
        return err_set_plain(err, ERR_NO_MEMORY);
    return web_target(request, err, "/files/bulk-download");
}

static int send_first(struct op *op, struct err *err)
{
    const struct workspace_request *asked = &op->remote.call->request;
    int r = 0;

    op->step = STEP_FILE;
    switch (asked->action) {
    case WORKSPACE_READ:
        return send_download(op, err);
    case WORKSPACE_WRITE:
        if (asked->replaces)
            return send_upload(op, err);
        op->step = STEP_EXISTS;
        at_toolbox(op, HTTP_METHOD_GET, true);
        return aim(op, "/files/info", err);
    case WORKSPACE_LIST:
        if (asked->is_recursive)
            return send_session(op, err);
        at_toolbox(op, HTTP_METHOD_GET, true);
        return aim(op, "/files", err);
    case WORKSPACE_STAT:
        at_toolbox(op, HTTP_METHOD_GET, true);
        return aim(op, "/files/info", err);
    case WORKSPACE_MKDIR:
        at_toolbox(op, HTTP_METHOD_POST, true);
        r = aim(op, "/files/folder", err);
        return r == 0 ? web_query(&op->remote.request, "mode", STR("755"), err) : r;
    case WORKSPACE_DELETE:
        at_toolbox(op, HTTP_METHOD_DELETE, asked->may_be_missing);
        r = aim(op, "/files", err);
        return r == 0 && asked->is_recursive
                   ? web_query(&op->remote.request, "recursive", STR("true"), err)
                   : r;
    case WORKSPACE_COPY:
    case WORKSPACE_MOVE:
    case WORKSPACE_EXECUTE:
        return send_session(op, err);
    }
    return ERR_INTERNAL;
}

static void step(struct op *op, int r, const struct err *err)
{
    if (r < 0)
        finish(op, err);
    else
        web_send(&op->remote.request);
}

/* ---- answers ---- */

static bool read_entry(const struct json_value *object, bool is_listed,
                       struct workspace_entry *out_entry)
{
    int64_t size = 0;

    (void)is_listed;
    if (!json_get_str(object, STR("name"), &out_entry->name) ||
        !json_get_bool(object, STR("isDir"), &out_entry->is_directory))
        return false;
    (void)json_get_int(object, STR("size"), &size);
    out_entry->size = size > 0 ? (uint64_t)size : 0;
    /* Newer services have `modTime` in words of their own. */
    out_entry->modified_ms = remote_time(object, STR("modifiedAt"));
    if (out_entry->modified_ms == 0)
        out_entry->modified_ms = remote_time(object, STR("modTime"));
    return true;
}

/* Words, or an error like any other of newer services. */
static int refuse_part(struct op *op, struct str text, struct err *err)
{
    const struct json_value *value;
    int64_t status = 0;

    if (web_read_json(op->remote.request.web, &op->remote.arena, text, &value, NULL) == 0) {
        (void)json_get_int(value, STR("statusCode"), &status);
        (void)json_get_str(value, STR("message"), &text);
    }
    return err_set(err, status == FORBIDDEN ? ERR_PERMISSION_DENIED : ERR_NOT_FOUND,
                   "daytona: %.*s", STR_ARG(text));
}

/*
 * The first part of a multipart answer: the boundary is its first line. The part's name says
 * whether it is the file, or why there is none.
 */
static int read_part(struct op *op, struct str body, struct err *err)
{
    const struct web *web = op->remote.request.web;
    size_t line = str_find(body, STR("\r\n"));
    struct str boundary = str_slice(body, 0, line == SIZE_MAX ? 0 : line);
    cleanup_buf struct buf last = BUF_INIT(1024);
    struct str head;
    struct str rest;
    size_t end;

    if (boundary.len < 3 || !str_starts_with(boundary, STR("--")) ||
        buf_append_str(&last, STR("\r\n")) < 0 || buf_append_str(&last, boundary) < 0)
        return web_makes_no_sense(web, err);
    rest = str_slice(body, line + 2, body.len);
    end = str_find(rest, STR("\r\n\r\n"));
    if (end == SIZE_MAX)
        return web_makes_no_sense(web, err);
    head = str_slice(rest, 0, end);
    rest = str_slice(rest, end + 4, rest.len);
    end = str_find(rest, buf_view(&last));
    if (end == SIZE_MAX)
        return web_makes_no_sense(web, err);
    rest = str_slice(rest, 0, end);
    if (str_find(head, STR("name=\"error\"")) != SIZE_MAX)
        return refuse_part(op, rest, err);
    op->remote.call->answer.content = rest;
    return 0;
}

static int take_command(struct op *op, struct str body, struct err *err)
{
    const struct workspace_request *asked = &op->remote.call->request;
    struct workspace_answer *answer = &op->remote.call->answer;
    const struct json_value *value;
    struct str output = STR_EMPTY;
    struct str errors = STR_EMPTY;
    int64_t code;
    int r = web_read_json(op->remote.request.web, &op->remote.arena, body, &value, err);

    if (r < 0)
        return r;
    if (!json_get_int(value, STR("exitCode"), &code))
        return web_makes_no_sense(op->remote.request.web, err);
    (void)json_get_str(value, STR("stderr"), &errors);
    /* Older toolboxes have both streams in one text. */
    if (!json_get_str(value, STR("stdout"), &output) &&
        json_get_str(value, STR("output"), &output)) {
        r = daytona_script_split(&op->remote.arena, &output, &errors);
        if (r < 0)
            return err_set_plain(err, r);
    }
    if (asked->action != WORKSPACE_EXECUTE) {
        r = daytona_script_status(asked, code, errors, err);
        return r == 0 && asked->action == WORKSPACE_LIST
                   ? daytona_script_tree(output, &op->remote.arena, answer, err)
                   : r;
    }
    workspace_output(op->remote.call, false, output);
    workspace_output(op->remote.call, true, errors);
    answer->exit_code = code >= 0 && code <= 255 ? (int)code : -1;
    return 0;
}

/* ---- commands in the background ---- */

static int take_background(struct op *op, struct str body, struct err *err)
{
    const struct web *web = op->remote.request.web;
    const struct json_value *value;
    struct str id = STR_EMPTY;
    int r = web_read_json(web, &op->remote.arena, body, &value, err);

    if (r < 0)
        return r;
    if (!json_get_str(value, STR("cmdId"), &id) || !remote_is_id(id))
        return web_makes_no_sense(web, err);
    snprintf(op->command, sizeof(op->command), "%.*s", STR_ARG(id));
    op->step = STEP_BACKGROUND;
    workspace_command_started(op->remote.call);
    return 0;
}

/* "/process/session/ID/command/COMMANDWHAT" */
static int ask_background(struct op *op, enum step step, const char *what, struct err *err)
{
    op->step = step;
    at_toolbox(op, HTTP_METHOD_GET, true);
    op->remote.request.whole_ms = WORKSPACE_FILE_MS;
    return web_target(&op->remote.request, err, "/process/session/%s/command/%s%s", op->session,
                      op->command, what);
}

static void look_at_background(struct workspace_call *call)
{
    struct op *op = call->driver;
    struct err err = ERR_INIT;

    if (ask_background(op, STEP_STATUS, "", &err) < 0)
        web_fail(&op->remote.request, &err);
    else
        web_send(&op->remote.request);
}

static void end_look(struct op *op, const struct err *err)
{
    op->step = STEP_BACKGROUND;
    workspace_looked(op->remote.call, err);
}

static void take_status(struct op *op, struct str body)
{
    cleanup_arena struct arena arena = ARENA_INIT(REMOTE_ARENA_BYTES);
    struct workspace_answer *answer = &op->remote.call->answer;
    const struct json_value *value;
    struct err err = ERR_INIT;
    int64_t code;

    if (web_read_json(op->remote.request.web, &arena, body, &value, &err) == 0) {
        op->has_ended = json_get_int(value, STR("exitCode"), &code);
        if (op->has_ended)
            answer->exit_code = code >= 0 && code <= 255 ? (int)code : -1;
        (void)ask_background(op, STEP_LOGS, "/logs", &err);
    }
    if (err.code != 0)
        end_look(op, &err);
    else
        web_send(&op->remote.request);
}

/* An object, or of older toolboxes the text itself. */
static void take_logs(struct op *op, struct str body)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * REMOTE_ARENA_BYTES);
    const struct json_value *value;
    struct str output = STR_EMPTY;
    struct str errors = STR_EMPTY;
    struct err err = ERR_INIT;
    int r;

    if (web_read_json(op->remote.request.web, &arena, body, &value, NULL) < 0 ||
        (!json_get_str(value, STR("stdout"), &output) &&
         !json_get_str(value, STR("output"), &output)))
        output = body;
    else
        (void)json_get_str(value, STR("stderr"), &errors);
    r = daytona_script_split(&arena, &output, &errors);
    if (r < 0)
        err_set_plain(&err, r);
    if (r == 0) {
        workspace_rewind(op->remote.call);
        workspace_output(op->remote.call, false, output);
        workspace_output(op->remote.call, true, errors);
    }
    if (op->has_ended)
        finish(op, NULL);
    else
        end_look(op, r < 0 ? &err : NULL);
}

/* The end of its session. */
static bool kill_background(struct workspace_call *call)
{
    struct op *op = call->driver;
    struct web *web = op->remote.request.web;

    web_drop(&op->remote.request); /* a look may be under way */
    web_request_init(&op->remote.request, web);
    op->remote.request.done = on_answer;
    op->remote.request.data = op;
    op->step = STEP_KILL;
    at_toolbox(op, HTTP_METHOD_DELETE, true);
    snprintf(op->remote.request.target, sizeof(op->remote.request.target), "/process/session/%s",
             op->session);
    web_send(&op->remote.request);
    return true;
}

static void on_killed(struct op *op, const struct err *err, int status)
{
    if (err == NULL || status == 404)
        op->session[0] = '\0';
    op->remote.call->answer.exit_code = -1;
    finish(op, NULL);
}

/* Timer callback: the command takes too long. */
static void on_limit(void *data)
{
    struct op *op = data;

    op->remote.call->answer.is_timed_out = true;
    op->remote.call->answer.exit_code = -1;
    finish(op, NULL); /* ends its session, and so the command */
}

static void look(struct op *op, const struct err *err)
{
    op->step = STEP_LOOK;
    remote_look(&op->remote, "sandbox", err);
}

static void on_looked(struct op *op, int status)
{
    struct err err = op->remote.refused;

    if (status == 404) {
        note_over(op->remote.call->workspace->driver);
        workspace_gone(op->remote.call->workspace, &err);
        op->session[0] = '\0';
    } else if (op->remote.call->request.action == WORKSPACE_DELETE &&
               op->remote.call->request.may_be_missing) {
        finish(op, NULL);
        return;
    }
    finish(op, &err);
}

static void end_file(struct op *op, struct str body)
{
    const struct workspace_request *asked = &op->remote.call->request;
    struct err err = ERR_INIT;
    int r;

    if (asked->action == WORKSPACE_WRITE && asked->is_executable && op->step == STEP_FILE) {
        op->step = STEP_MODE;
        at_toolbox(op, HTTP_METHOD_POST, true);
        r = aim(op, "/files/permissions", &err);
        if (r == 0)
            r = web_query(&op->remote.request, "mode", STR("755"), &err);
        step(op, r, &err);
        return;
    }
    if (asked->action == WORKSPACE_READ)
        (void)read_part(op, body, &err);
    else if (asked->action == WORKSPACE_LIST || asked->action == WORKSPACE_STAT)
        (void)remote_read_entries(&op->remote, body, read_entry, &err);
    finish(op, err.code != 0 ? &err : NULL);
}

static void on_exists(struct op *op, const struct err *err, int status)
{
    struct err why = ERR_INIT;

    if (err != NULL && status != 404) {
        finish(op, err);
    } else if (err == NULL) {
        err_set(&why, ERR_ALREADY_EXISTS, "daytona: %.*s exists already",
                STR_ARG(op->remote.call->request.path));
        finish(op, &why);
    } else {
        step(op, send_upload(op, &why), &why);
    }
}

static void on_answer(void *data, const struct err *err, int status, struct str body)
{
    struct op *op = data;
    struct err why = ERR_INIT;

    if (op->step == STEP_LOOK) {
        on_looked(op, status);
    } else if (op->step == STEP_KILL) {
        on_killed(op, err, status);
    } else if (op->step == STEP_EXISTS) {
        on_exists(op, err, status);
    } else if (err != NULL && status == 404) {
        look(op, err);
    } else if (err != NULL && status == 408 && op->step == STEP_COMMAND) {
        on_limit(op);
    } else if (err != NULL && (op->step == STEP_STATUS || op->step == STEP_LOGS)) {
        end_look(op, err);
    } else if (err != NULL) {
        finish(op, err);
    } else if (op->step == STEP_SESSION) {
        step(op, send_command(op, &why), &why);
    } else if (op->step == STEP_STATUS) {
        take_status(op, body);
    } else if (op->step == STEP_LOGS) {
        take_logs(op, body);
    } else if (op->step == STEP_COMMAND && op->remote.call->request.is_background) {
        if (take_background(op, body, &why) < 0)
            finish(op, &why);
    } else if (op->step == STEP_COMMAND) {
        (void)take_command(op, body, &why);
        finish(op, why.code != 0 ? &why : NULL);
    } else {
        end_file(op, body);
    }
}

static void begin(struct workspace_call *call)
{
    struct op *op = calloc(1, sizeof(*op));
    struct err err = ERR_INIT;

    if (op == NULL)
        abort(); /* there is no way to say so */
    remote_call_init(&op->remote, call, web_of(call->workspace->workspaces));
    call->driver = op;
    timer_init(&op->limit, call->workspace->workspaces->config.loop, on_limit, op);
    op->remote.request.done = on_answer;
    op->remote.request.data = op;
    if (send_first(op, &err) < 0)
        web_fail(&op->remote.request, &err);
    else
        web_send(&op->remote.request);
}

static void drop(struct workspace_call *call)
{
    struct op *op = call->driver;

    if (op == NULL)
        return;
    end_session(op);
    call->driver = NULL;
    free_op(op);
}

/* ---- the provider ---- */

static int open_api(struct workspaces *workspaces, struct err *err)
{
    struct daytona *daytona = calloc(1, sizeof(*daytona));
    int r;

    if (daytona == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = remote_open(workspaces, NULL, &daytona->web, err);
    if (r < 0) {
        free(daytona);
        return r;
    }
    workspaces->data = daytona;
    return 0;
}

static void close_api(struct workspaces *workspaces)
{
    struct daytona *daytona = workspaces->data;

    web_free(daytona->web);
    free(daytona);
}

static bool is_busy(const struct workspaces *workspaces)
{
    return web_is_busy(web_of(workspaces));
}

const struct workspace_driver workspace_daytona = {
    .has_images = true,
    .kind = "sandbox",
    .web = web_of,
    .open = open_api,
    .close = close_api,
    .is_busy = is_busy,
    .create = create,
    .destroy = destroy,
    .forget = forget,
    .begin = begin,
    .drop = drop,
    .look = look_at_background,
    .kill = kill_background,
};
