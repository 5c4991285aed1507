/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The providers `isolated` and `n8n-sandbox`: clients of the API of n8n's sandbox service, in both
 * generations. The first is the user's own service, with its additions: commands that end with
 * their connection, and exact output.
 */
#include "workspace/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "workspace/imagefiles.h"

enum {
    IMAGE_BYTES = 128,
    PIECE_BYTES = 8 << 20, /* of a file; the service takes 10 MiB */
    CREATE_MS = 60000,
    BUILD_MS = 20 * 60 * 1000,
    DESTROY_MS = 10000,
    MAX_RESUMES = 3,     /* one soon after the other */
    CALM_MS = 10 * 1000, /* after which they are no longer soon */
    PATH_BYTES = WORKSPACE_PATH_BYTES + 32,
};

#define HOME "/home/user"

struct sandboxapi {
    struct web *web;
    bool is_own;
    struct ownservice_config own;
    char image[IMAGE_BYTES]; /* of the set-up, once a workspace was created with it */
    struct imagefiles files; /* that it begins with */
};

/* A workspace that is created or destroyed. */
struct change {
    struct workspace *workspace;
    struct web_request request;
    bool has_image; /* the request carries it */
};

enum stage {
    STAGE_MAIN,
    STAGE_PIECES, /* of a large file */
    STAGE_MOVE,   /* of the whole one to its place */
    STAGE_LOOK,   /* whether the sandbox is there, after a 404 */
};

struct op {
    struct remote_call remote;
    enum stage stage;
    size_t sent; /* of a large file */
    char part[PATH_BYTES];
    /* Of a command: */
    char exec_id[WORKSPACE_UUID_BYTES];
    bool is_plain; /* first generation */
    int64_t seq;   /* of the last event; -1: none yet */
    unsigned resumes;
    int64_t resumed_ms;
    bool is_started; /* a background command, and its caller knows */
    bool has_ended;
    bool is_wrong; /* a line made no sense */
};

static struct sandboxapi *api_of(const struct workspaces *workspaces)
{
    return workspaces->data;
}

/* ---- creating ---- */

static void on_created(void *data, const struct err *err, int status, struct str body);

static void free_change(struct change *change)
{
    if (change == NULL)
        return;
    if (change->workspace->driver == change)
        change->workspace->driver = NULL;
    web_drop(&change->request);
    free(change);
}

static struct change *new_change(struct workspace *workspace)
{
    struct change *change = calloc(1, sizeof(*change));

    if (change == NULL)
        abort(); /* a few hundred bytes: there is no way to say so */
    change->workspace = workspace;
    workspace->driver = change;
    web_request_init(&change->request, api_of(workspace->workspaces)->web);
    change->request.data = change;
    return change;
}

static bool has_setup(const struct workspaces *workspaces)
{
    const char *const *steps = workspaces->config.setup;

    return steps != NULL && steps[0] != NULL;
}

/* The image, if it is known, or the steps that make it: files first, so that others can use them.
 */
static void put_image(struct change *change, struct json_writer *json)
{
    const struct workspaces *workspaces = change->workspace->workspaces;
    const struct sandboxapi *api = api_of(workspaces);
    const char *const *steps = workspaces->config.setup;

    change->has_image = false;
    if (!has_setup(workspaces))
        return;
    change->has_image = api->image[0] != '\0';
    if (change->has_image) {
        json_put_str(json, STR("image_id"), str_from(api->image));
        return;
    }
    json_key(json, STR("dockerfile_steps"));
    json_begin_array(json);
    if (str_starts_with(str_from(*steps), STR("FROM ")))
        json_write_str(json, str_from(*steps++));
    imagefiles_write(&api->files, json);
    for (; *steps != NULL; steps++)
        json_write_str(json, str_from(*steps));
    json_end_array(json);
}

static void send_creation(struct change *change)
{
    struct web_request *request = &change->request;
    struct json_writer json;

    request->method = HTTP_METHOD_POST;
    snprintf(request->target, sizeof(request->target), "/sandboxes");
    request->done = on_created;
    request->may_repeat = true; /* the id makes it the same one */
    web_begin_object(request, &json);
    json_put_str(&json, STR("id"), str_from(change->workspace->id));
    json_put_bool(&json, STR("ephemeral"), true); /* if we are killed, it does not stay */
    put_image(change, &json);
    (void)web_end_object(&json); /* too many steps: the service refuses half a document */
    request->whole_ms = change->workspace->workspaces->config.setup != NULL ? BUILD_MS : CREATE_MS;
    web_send(request);
}

/* A service that builds none would give the agent less than its user asked for. */
static int take_image(struct change *change, const struct json_value *record, struct err *err)
{
    struct sandboxapi *api = api_of(change->workspace->workspaces);
    struct str text = STR_EMPTY;

    if (json_get_str(record, STR("image_id"), &text) && text.len > 0 && text.len < IMAGE_BYTES)
        snprintf(api->image, sizeof(api->image), "%.*s", STR_ARG(text));
    else if (!change->has_image)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: this service has built no image of the set-up: it cannot",
                       web_provider(api->web));
    change->workspace->has_image_files = true;
    return 0;
}

static int take_record(struct change *change, struct str body, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(REMOTE_ARENA_BYTES);
    struct sandboxapi *api = api_of(change->workspace->workspaces);
    const struct json_value *record;
    struct str text = STR_EMPTY;
    bool is_theirs = false;
    int r = web_read_json(api->web, &arena, body, &record, err);

    if (r < 0)
        return r;
    if (!json_get_str(record, STR("id"), &text) || !remote_is_id(text))
        return web_makes_no_sense(api->web, err);
    /* A service of the first generation chooses the id, and has none of ours. */
    if (!str_eq(text, str_from(change->workspace->id))) {
        workspace_note_over(change->workspace->workspaces, change->workspace->id);
        is_theirs = true;
    }
    snprintf(change->workspace->id, sizeof(change->workspace->id), "%.*s", STR_ARG(text));
    if (is_theirs)
        r = workspace_note(change->workspace->workspaces, change->workspace->id, err);
    return r == 0 && has_setup(change->workspace->workspaces) ? take_image(change, record, err) : r;
}

static void on_created(void *data, const struct err *err, int status, struct str body)
{
    struct change *change = data;
    struct workspace *workspace = change->workspace;
    struct sandboxapi *api = api_of(workspace->workspaces);
    struct err why = ERR_INIT;

    /* The service may have dropped the image: it is built again. */
    if (err != NULL && (status == 400 || status == 404) && change->has_image) {
        api->image[0] = '\0';
        send_creation(change);
        return;
    }
    if (err != NULL)
        why = *err;
    else
        (void)take_record(change, body, &why);
    free_change(change);
    workspace_created(workspace, why.code != 0 ? &why : NULL);
}

static void create(struct workspace *workspace)
{
    struct change *change = new_change(workspace);
    struct err err = ERR_INIT;

    if (workspace->id[0] == '\0')
        workspace_make_id(workspace->id);
    if (workspace_note(workspace->workspaces, workspace->id, &err) < 0) {
        change->request.done = on_created;
        web_fail(&change->request, &err);
        return;
    }
    send_creation(change);
}

static void on_destroyed(void *data, const struct err *err, int status, struct str body)
{
    struct change *change = data;
    struct workspace *workspace = change->workspace;

    (void)body;
    /* Else the next start ends it, or the service when it is idle. */
    if (err == NULL || status == 404)
        workspace_note_over(workspace->workspaces, workspace->id);
    free_change(change);
    workspace_destroyed(workspace);
}

static void destroy(struct workspace *workspace)
{
    struct change *change = new_change(workspace);
    struct web_request *request = &change->request;

    web_ask(request, HTTP_METHOD_DELETE, true);
    snprintf(request->target, sizeof(request->target), "/sandboxes/%s", workspace->id);
    request->done = on_destroyed;
    request->whole_ms = DESTROY_MS;
    web_send(request);
}

static void forget(struct workspace *workspace)
{
    free_change(workspace->driver);
    workspace->driver = NULL;
}

/* ---- calls ---- */

static void on_answer(void *data, const struct err *err, int status, struct str body);
static int send_op(struct op *op, struct err *err);

static void free_op(struct op *op)
{
    remote_call_done(&op->remote);
    free(op);
}

/* The answer may point into the op. */
static void finish(struct op *op, const struct err *err)
{
    workspace_call_end(op->remote.call, err);
    free_op(op);
}

/* In the sandbox; relative names begin in the home directory. */
static void full_path(struct str path, char out_path[PATH_BYTES])
{
    bool is_absolute = path.len > 0 && path.ptr[0] == '/';

    snprintf(out_path, PATH_BYTES, "%s%.*s",
             is_absolute    ? ""
             : path.len > 0 ? HOME "/"
                            : HOME,
             STR_ARG(path));
}

static void put_true(struct web_request *request, const char *name, bool is_true, struct err *err)
{
    if (err->code == 0 && is_true)
        (void)web_query(request, name, STR("true"), err);
}

/* "/sandboxes/ID/WHAT?path=PATH" */
static void aim(struct op *op, const char *what, const char *path, struct err *err)
{
    struct web_request *request = &op->remote.request;

    if (web_target(request, err, "/sandboxes/%s/%s", op->remote.call->workspace->id, what) == 0)
        (void)web_query(request, "path", str_from(path), err);
}

static int put_content(struct web_request *request, struct str content, struct err *err)
{
    request->has_body = true;
    request->type = "application/octet-stream";
    buf_clear(&request->body);
    return buf_append_str(&request->body, content) < 0 ? err_set_plain(err, ERR_NO_MEMORY) : 0;
}

static int put_pair(struct op *op, const char *from, const char *to, struct err *err)
{
    struct web_request *request = &op->remote.request;
    const struct workspace_request *asked = &op->remote.call->request;
    struct json_writer json;

    web_begin_object(request, &json);
    json_put_str(&json, STR("src"), str_from(from));
    json_put_str(&json, STR("dest"), str_from(to));
    if (asked->action == WORKSPACE_COPY)
        json_put_bool(&json, STR("recursive"), asked->is_recursive);
    json_put_bool(&json, STR("overwrite"), asked->replaces);
    return web_end_object(&json) < 0 ? err_set(err, ERR_INVALID_PATH, "the path is not valid UTF-8")
                                     : 0;
}

/* Large files go in pieces to another name, and are moved when they are whole. */
static int aim_write(struct op *op, struct err *err)
{
    const struct workspace_request *asked = &op->remote.call->request;
    struct web_request *request = &op->remote.request;
    bool is_large = asked->content.len > PIECE_BYTES;
    struct str piece = str_slice(asked->content, op->sent, PIECE_BYTES);
    char path[PATH_BYTES];
    bool is_first = op->sent == 0;

    full_path(asked->path, path);
    if (is_large && is_first) {
        char name[WORKSPACE_UUID_BYTES];

        workspace_make_id(name);
        if (snprintf(op->part, sizeof(op->part), "%s.%.8s.part", path, name) >=
            (int)sizeof(op->part))
            return err_set(err, ERR_INVALID_PATH, "the path is too long");
    }
    request->method = is_first ? HTTP_METHOD_PUT : HTTP_METHOD_POST;
    request->may_repeat = is_first;
    aim(op, "files", is_large ? op->part : path, err);
    if (err->code == 0 && is_first)
        (void)web_query(request, "overwrite",
                        is_large || asked->replaces ? STR("true") : STR("false"), err);
    put_true(request, "executable", is_first && asked->is_executable, err);
    op->sent += piece.len;
    op->stage = is_large ? STAGE_PIECES : STAGE_MAIN;
    return err->code == 0 ? put_content(request, piece, err) : err->code;
}

static int write_command(struct op *op, struct err *err)
{
    const struct workspace_request *asked = &op->remote.call->request;
    bool is_own = api_of(op->remote.call->workspace->workspaces)->is_own;
    struct web_request *request = &op->remote.request;
    char path[PATH_BYTES];
    struct json_writer json;

    web_begin_object(request, &json);
    json_put_str_lossy(&json, STR("command"), asked->command);
    if (asked->path.len > 0) {
        full_path(asked->path, path);
        json_put_str_lossy(&json, STR("workdir"), str_from(path));
    }
    json_put_int(&json, STR("timeout_ms"), asked->timeout_ms);
    if (!op->is_plain)
        json_put_str(&json, STR("exec_id"), str_from(op->exec_id));
    if (is_own) {
        json_put_bool(&json, STR("attached"), true);
        json_put_str(&json, STR("encoding"), STR("base64"));
    }
    if (asked->env_count > 0) {
        json_key(&json, STR("env"));
        json_begin_object(&json);
        for (size_t i = 0; i < asked->env_count; i++)
            json_put_str_lossy(&json, asked->env[i].name, asked->env[i].value);
        json_end_object(&json);
    }
    return web_end_object(&json) < 0
               ? err_set(err, ERR_INVALID_ARGUMENT, "the command or a variable is too long")
               : 0;
}

/* ---- what a command writes ---- */

static void show(struct op *op, const struct json_value *event, bool is_error, struct str text)
{
    cleanup_buf struct buf bytes = BUF_INIT(WEB_MAX_ANSWER_BYTES);
    struct str encoding;

    if (!json_get_str(event, STR("encoding"), &encoding))
        workspace_output(op->remote.call, is_error, text);
    else if (str_eq(encoding, STR("base64")) && base64_decode(&bytes, text) == 0)
        workspace_output(op->remote.call, is_error, buf_view(&bytes));
    else
        op->is_wrong = true;
}

static void take_exit(struct op *op, const struct json_value *event)
{
    struct workspace_answer *answer = &op->remote.call->answer;
    int64_t code = -1;

    op->is_wrong = op->is_wrong || !json_get_int(event, STR("exit_code"), &code);
    (void)json_get_bool(event, STR("timed_out"), &answer->is_timed_out);
    answer->exit_code = code >= 0 && code <= 255 ? (int)code : -1;
    op->has_ended = true;
    workspace_command_ended(op->remote.call);
}

static void tell_start(struct op *op)
{
    if (!op->remote.call->request.is_background || op->is_started)
        return;
    op->is_started = true;
    workspace_command_started(op->remote.call);
}

static void take_event(void *data, struct str line)
{
    cleanup_arena struct arena arena = ARENA_INIT(REMOTE_ARENA_BYTES);
    struct op *op = data;
    const struct json_limits limits = {WEB_MAX_ANSWER_BYTES, 8};
    const struct json_value *event;
    struct str type = STR_EMPTY;
    struct str text;
    int64_t seq;

    if (line.len == 0 || op->has_ended)
        return;
    if (json_parse(&arena, line, limits, &event, NULL) < 0 ||
        !json_get_str(event, STR("type"), &type)) {
        op->is_wrong = true;
        return;
    }
    if (json_get_int(event, STR("seq"), &seq)) {
        if (seq <= op->seq)
            return; /* it came before the connection was lost */
        op->seq = seq;
    }
    if (str_eq(type, STR("error")) && json_get_str(event, STR("error"), &text))
        err_set(&op->remote.refused, ERR_TOOL_FAILED, "%.*s", STR_ARG(text));
    else
        tell_start(op);
    if (str_eq(type, STR("stdout")) && json_get_str(event, STR("data"), &text))
        show(op, event, false, text);
    else if (str_eq(type, STR("stderr")) && json_get_str(event, STR("data"), &text))
        show(op, event, true, text);
    else if (str_eq(type, STR("exit")))
        take_exit(op, event);
}

/* The rest of a command whose answer was cut off. False if there is none. */
static bool resume(struct op *op)
{
    const struct workspaces *workspaces = op->remote.call->workspace->workspaces;
    struct web_request *request = &op->remote.request;
    bool is_own = api_of(workspaces)->is_own;
    int64_t now_ms = loop_now_ms(workspaces->config.loop);
    struct err err = ERR_INIT;

    /* Proxies cut what is silent for a minute, which long commands may be many times. */
    if (now_ms - op->resumed_ms > CALM_MS)
        op->resumes = 0;
    op->resumed_ms = now_ms;
    /* A command of the own service, or of the first generation, has ended with its connection. */
    if (op->remote.call->request.action != WORKSPACE_EXECUTE || is_own || op->is_plain ||
        op->resumes++ >= MAX_RESUMES)
        return false;
    web_ask(request, HTTP_METHOD_GET, true);
    if (web_target(request, &err, "/sandboxes/%s/executions/%s?follow=true&after=%lld",
                   op->remote.call->workspace->id, op->exec_id, (long long)op->seq) < 0)
        return false;
    web_send(request);
    return true;
}

static bool is_ours_to_kill(const struct op *op)
{
    /* Others end with their connection. */
    return op->remote.call->request.action == WORKSPACE_EXECUTE && !op->has_ended &&
           !op->is_plain && !api_of(op->remote.call->workspace->workspaces)->is_own;
}

static void ask_to_kill(struct op *op)
{
    char target[WEB_TARGET_BYTES];

    snprintf(target, sizeof(target), "/sandboxes/%s/executions/%s", op->remote.call->workspace->id,
             op->exec_id);
    web_forget(op->remote.request.web, NULL, HTTP_METHOD_DELETE, target);
}

static void end_command(struct op *op, const struct err *err)
{
    const char *provider = web_provider(op->remote.request.web);
    struct err why = ERR_INIT;

    if (op->has_ended && !op->is_wrong) {
        finish(op, NULL);
        return;
    }
    if (op->remote.refused.code != 0) {
        finish(op, &op->remote.refused);
        return;
    }
    if (!op->is_wrong && resume(op))
        return;
    if (op->is_wrong)
        web_makes_no_sense(op->remote.request.web, &why);
    else if (err != NULL)
        why = *err;
    else
        err_set(&why, ERR_CONNECTION_LOST, "%s: the answer ended before the command did", provider);
    if (is_ours_to_kill(op) && op->seq >= 0)
        ask_to_kill(op); /* nobody could end it any more */
    finish(op, &why);
}

/* ---- sending ---- */

static int aim_files(struct op *op, struct err *err)
{
    const struct workspace_request *asked = &op->remote.call->request;
    struct web_request *request = &op->remote.request;
    char path[PATH_BYTES];
    char target[PATH_BYTES];

    full_path(asked->path, path);
    full_path(asked->target, target);
    request->may_repeat = true;
    request->method = HTTP_METHOD_GET;
    switch (asked->action) {
    case WORKSPACE_READ:
        aim(op, "files/content", path, err);
        break;
    case WORKSPACE_LIST:
        aim(op, "files", path, err);
        put_true(request, "recursive", asked->is_recursive, err);
        break;
    case WORKSPACE_STAT:
        aim(op, "stat", path, err);
        break;
    case WORKSPACE_MKDIR:
        request->method = HTTP_METHOD_POST;
        request->may_repeat = asked->is_recursive;
        aim(op, "mkdir", path, err);
        put_true(request, "recursive", asked->is_recursive, err);
        break;
    case WORKSPACE_DELETE:
        request->method = HTTP_METHOD_DELETE;
        request->may_repeat = asked->may_be_missing;
        aim(op, "files", path, err);
        put_true(request, "recursive", asked->is_recursive, err);
        put_true(request, "force", asked->may_be_missing, err);
        break;
    case WORKSPACE_COPY:
    case WORKSPACE_MOVE:
        request->method = HTTP_METHOD_POST;
        request->may_repeat = false;
        (void)web_target(request, err, "/sandboxes/%s/files/%s", op->remote.call->workspace->id,
                         asked->action == WORKSPACE_COPY ? "copy" : "move");
        if (err->code == 0)
            (void)put_pair(op, path, target, err);
        break;
    case WORKSPACE_WRITE:
    case WORKSPACE_EXECUTE:
        break;
    }
    return err->code;
}

static int send_op(struct op *op, struct err *err)
{
    struct web_request *request = &op->remote.request;
    enum workspace_action action = op->remote.call->request.action;
    int r;

    if (action == WORKSPACE_WRITE) {
        r = aim_write(op, err);
    } else if (action == WORKSPACE_EXECUTE) {
        request->method = HTTP_METHOD_POST;
        request->take_line = take_event;
        request->may_repeat = !op->is_plain; /* one id runs once */
        r = web_target(request, err, "/sandboxes/%s/%s", op->remote.call->workspace->id,
                       op->is_plain ? "exec" : "executions");
        if (r == 0)
            r = write_command(op, err);
    } else {
        r = aim_files(op, err);
    }
    if (r == 0)
        web_send(request);
    return r;
}

/* ---- answers ---- */

static bool read_entry(const struct json_value *object, bool is_listed,
                       struct workspace_entry *out_entry)
{
    struct str type = STR_EMPTY;
    int64_t size = 0;

    if (!json_get_str(object, STR("name"), &out_entry->name) ||
        !json_get_str(object, STR("type"), &type) ||
        (!json_get_int(object, STR("size"), &size) && is_listed))
        return false;
    out_entry->is_directory = str_eq(type, STR("directory"));
    out_entry->size = size > 0 ? (uint64_t)size : 0;
    out_entry->modified_ms = remote_time(object, is_listed ? STR("mod_time") : STR("modified_at"));
    return true;
}

static int move_whole(struct op *op, struct err *err)
{
    struct web_request *request = &op->remote.request;
    char path[PATH_BYTES];

    full_path(op->remote.call->request.path, path);
    op->stage = STAGE_MOVE;
    request->method = HTTP_METHOD_POST;
    request->may_repeat = false;
    if (web_target(request, err, "/sandboxes/%s/files/move", op->remote.call->workspace->id) == 0 &&
        put_pair(op, op->part, path, err) == 0)
        web_send(request);
    return err->code;
}

/* The next step of a large file; false if there is none. */
static bool go_on(struct op *op)
{
    struct err err = ERR_INIT;

    if (op->stage != STAGE_PIECES)
        return false;
    if (op->sent < op->remote.call->request.content.len)
        (void)send_op(op, &err);
    else
        (void)move_whole(op, &err);
    if (err.code != 0)
        finish(op, &err);
    return true;
}

static void take_answer(struct op *op, struct str body)
{
    enum workspace_action action = op->remote.call->request.action;
    struct err err = ERR_INIT;

    if (action == WORKSPACE_READ)
        op->remote.call->answer.content = body;
    else if (action == WORKSPACE_LIST || action == WORKSPACE_STAT)
        (void)remote_read_entries(&op->remote, body, read_entry, &err);
    finish(op, err.code != 0 ? &err : NULL);
}

/* A file is missing, or the sandbox, or the endpoint. */
static void look(struct op *op, const struct err *err)
{
    op->stage = STAGE_LOOK;
    remote_look(&op->remote, "sandboxes", err);
}

static void on_looked(struct op *op, int status)
{
    struct err err = op->remote.refused;
    bool is_command = op->remote.call->request.action == WORKSPACE_EXECUTE;

    if (status == 404) {
        workspace_gone(op->remote.call->workspace, &err);
    } else if (status == 200 && is_command && !op->is_plain && op->resumes == 0) {
        /* The service has no such endpoint: it is one of the first generation. */
        op->is_plain = true;
        op->stage = STAGE_MAIN;
        op->remote.refused = (struct err)ERR_INIT;
        err = (struct err)ERR_INIT;
        if (send_op(op, &err) == 0) {
            tell_start(op); /* it does not say so itself */
            return;
        }
    }
    finish(op, &err);
}

/* What was sent of a large file does not stay. */
static void remove_part(struct op *op)
{
    struct web_request removal;
    struct err err = ERR_INIT;

    if (op->part[0] == '\0')
        return;
    web_request_init(&removal, op->remote.request.web);
    if (web_target(&removal, &err, "/sandboxes/%s/files", op->remote.call->workspace->id) == 0 &&
        web_query(&removal, "path", str_from(op->part), &err) == 0)
        web_forget(op->remote.request.web, NULL, HTTP_METHOD_DELETE, removal.target);
    web_drop(&removal);
}

static void on_answer(void *data, const struct err *err, int status, struct str body)
{
    struct op *op = data;

    if (op->stage == STAGE_LOOK) {
        on_looked(op, status);
    } else if (err != NULL && status == 404) {
        look(op, err);
    } else if (op->remote.call->request.action == WORKSPACE_EXECUTE &&
               (status == 200 || status == 0)) {
        end_command(op, err);
    } else if (err != NULL) {
        remove_part(op);
        finish(op, err);
    } else if (!go_on(op)) {
        take_answer(op, body);
    }
}

static void begin(struct workspace_call *call)
{
    struct sandboxapi *api = api_of(call->workspace->workspaces);
    struct op *op = calloc(1, sizeof(*op));
    struct err err = ERR_INIT;

    if (op == NULL)
        abort(); /* there is no way to say so */
    remote_call_init(&op->remote, call, api->web);
    op->seq = -1;
    call->driver = op;
    if (call->request.action == WORKSPACE_EXECUTE)
        workspace_make_id(op->exec_id);
    op->remote.request.done = on_answer;
    op->remote.request.data = op;
    if (send_op(op, &err) < 0)
        web_fail(&op->remote.request, &err);
}

static void drop(struct workspace_call *call)
{
    struct op *op = call->driver;

    if (op == NULL)
        return;
    if (is_ours_to_kill(op))
        ask_to_kill(op);
    if (call->request.action == WORKSPACE_WRITE)
        remove_part(op);
    call->driver = NULL;
    free_op(op);
}

/* The service then ends its answer. */
static bool kill_command(struct workspace_call *call)
{
    struct op *op = call->driver;

    if (op->is_plain)
        return false;
    ask_to_kill(op);
    return true;
}

/* ---- the provider ---- */

static int open_api(struct workspaces *workspaces, struct err *err)
{
    const struct workspaces_config *config = &workspaces->config;
    struct sandboxapi *api = calloc(1, sizeof(*api));
    int r;

    if (api == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    api->is_own = config->settings->provider == WORKSPACE_ISOLATED;
    api->own = (struct ownservice_config){.state_dir = config->state_dir,
                                          .program = config->service_program,
                                          .libexec = config->libexec};
    r = has_setup(workspaces)
            ? imagefiles_init(&api->files, HOME, config->files, config->file_count)
            : 0;
    if (r < 0)
        err_set_plain(err, r);
    if (r == 0)
        r = remote_open(workspaces, api->is_own ? &api->own : NULL, &api->web, err);
    if (r < 0) {
        imagefiles_done(&api->files);
        free(api);
        return r;
    }
    workspaces->data = api;
    return 0;
}

static void close_api(struct workspaces *workspaces)
{
    struct sandboxapi *api = workspaces->data;

    web_free(api->web);
    imagefiles_done(&api->files);
    free(api);
}

static bool is_in_image(const struct workspaces *workspaces, size_t file)
{
    const struct sandboxapi *api = api_of(workspaces);

    return api->files.has != NULL && api->files.has[file];
}

static struct web *web_of(const struct workspaces *workspaces)
{
    return api_of(workspaces)->web;
}

static bool is_busy(const struct workspaces *workspaces)
{
    return web_is_busy(api_of(workspaces)->web);
}

const struct workspace_driver workspace_sandboxapi = {
    .has_images = true,
    .kind = "sandboxes",
    .web = web_of,
    .open = open_api,
    .close = close_api,
    .is_busy = is_busy,
    .create = create,
    .destroy = destroy,
    .forget = forget,
    .begin = begin,
    .drop = drop,
    .kill = kill_command,
    .is_in_image = is_in_image,
};
