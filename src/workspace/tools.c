/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonwrite.h"
#include "base/redact.h"
#include "base/schema/schema.h"
#include "base/utf8.h"
#include "protocol/workspacetoolids.h"
#include "workspace/workspace.h"

enum {
    ARENA_BYTES = 4 << 20,
    SCHEMA_BYTES = 256 << 10,
    MESSAGE_BYTES = 256 << 20,
    RESULT_BYTES = 1 << 30,
    WORDS_BYTES = 512,
    SHOWN_BYTES = 200, /* of a name in a sentence */
    RECORDED_BYTES = 4000,
    NAME_BYTES = WORKSPACE_PATH_BYTES + 128,
    MAX_RESOURCES = 2,
};

struct workspace_tools {
    struct workspace_tools_config config;
    struct arena arena;
    const struct schema *schemas[WORKSPACE_TOOL_COUNT];
    bool has_begun; /* a call: there may be a workspace */
    bool is_lost;   /* and nobody has been told yet */
};

struct tool_call {
    struct workspace_tools *tools;
    const struct catalog_tool *tool;
    const struct json_value *arguments;
    uint64_t number;
    struct provider_events events;
    const struct workspace_conversation *conversation; /* since it was started or refused */
    struct authority_note intent;
    struct loop_task refusal;
    struct err why; /* of the refusal */
};

static bool has(const void *self, const struct catalog_tool *tool)
{
    (void)tool;
    return self != NULL;
}

static void free_call(void *data)
{
    free(data);
}

static int prepare(void *self, const struct catalog_tool *tool, const struct json_value *arguments,
                   uint64_t number, const struct cancel *cancel, void **out_call, struct err *err)
{
    struct workspace_tools *tools = self;
    struct tool_call *call;
    int r = schema_check_arguments(tools->schemas[tool->id], arguments, err);

    (void)cancel;
    if (r < 0)
        return r;
    call = calloc(1, sizeof(*call));
    if (call == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    call->tools = tools;
    call->tool = tool;
    call->arguments = arguments;
    call->number = number;
    *out_call = call;
    return 0;
}

static struct str text_of(const struct tool_call *call, const char *name)
{
    struct str text = STR_EMPTY;

    (void)json_get_str(call->arguments, str_from(name), &text);
    return text;
}

static bool is_on(const struct tool_call *call, const char *name)
{
    bool is_true = false;

    (void)json_get_bool(call->arguments, str_from(name), &is_true);
    return is_true;
}

static const struct workspace_conversation *conversation_of(const struct tool_call *call,
                                                            const void *session)
{
    const struct workspace_conversation *only = call->tools->config.only;

    return only != NULL ? only : session;
}

/* ---- permission ---- */

static const char *provider_of(const struct tool_call *call)
{
    return workspace_provider_name(call->tools->config.provider);
}

/* Removes "." and "..", which lead nowhere beyond the workspace's root. */
static void append_parts(struct str path, size_t root, char *out_name, size_t room)
{
    struct str part;

    while (str_cut(&path, '/', &part)) {
        size_t len = strlen(out_name);

        if (part.len == 0 || str_eq(part, STR(".")))
            continue;
        if (str_eq(part, STR(".."))) {
            char *slash = strrchr(out_name + root, '/');

            if (slash != NULL)
                *slash = '\0';
            continue;
        }
        snprintf(out_name + len, room - len, "/%.*s", STR_ARG(part));
    }
}

/* "/workspace:isolated/home/user/notes.txt" */
static int name_file(const struct tool_call *call, struct str path, struct arena *arena,
                     struct str *out_name, struct err *err)
{
    bool is_sandbox = call->tools->config.provider == WORKSPACE_ISOLATED ||
                      call->tools->config.provider == WORKSPACE_N8N_SANDBOX;
    char name[NAME_BYTES];
    int root = snprintf(name, sizeof(name), "/workspace:%s", provider_of(call));

    if (path.len >= WORKSPACE_PATH_BYTES || str_has_nul(path))
        return err_set(err, ERR_INVALID_PATH, "this is no path: it is too long, or has a NUL");
    if (path.len == 0 || path.ptr[0] != '/')
        append_parts(is_sandbox ? STR("home/user") : STR("~"), (size_t)root, name, sizeof(name));
    append_parts(path, (size_t)root, name, sizeof(name));
    return arena_copy_str(arena, str_from(name), out_name) ? 0 : err_set_plain(err, arena->error);
}

struct touched {
    const char *argument;
    enum permission_operation operation;
};

static size_t find_touched(const struct tool_call *call, struct touched out_touched[MAX_RESOURCES])
{
    bool is_deep = is_on(call, "recursive");

    switch ((enum workspace_tool_id)call->tool->id) {
    case WORKSPACE_TOOL_READ_FILE:
        out_touched[0] = (struct touched){"path", PERMISSION_READS};
        return 1;
    case WORKSPACE_TOOL_LIST_FILES:
        out_touched[0] =
            (struct touched){"path", is_deep ? PERMISSION_LISTS_BELOW : PERMISSION_LISTS};
        return 1;
    case WORKSPACE_TOOL_STAT:
        out_touched[0] = (struct touched){"path", PERMISSION_LOOKS_UP};
        return 1;
    case WORKSPACE_TOOL_GREP:
        out_touched[0] = (struct touched){"path", PERMISSION_READS_BELOW};
        return 1;
    case WORKSPACE_TOOL_WRITE_FILE:
    case WORKSPACE_TOOL_EDIT_FILE:
        out_touched[0] = (struct touched){"path", PERMISSION_CHANGES};
        return 1;
    case WORKSPACE_TOOL_DELETE_FILE:
        out_touched[0] = (struct touched){"path", PERMISSION_DELETES};
        return 1;
    case WORKSPACE_TOOL_COPY_FILE:
        out_touched[0] =
            (struct touched){"source", is_deep ? PERMISSION_READS_BELOW : PERMISSION_READS};
        out_touched[1] = (struct touched){"destination", PERMISSION_CHANGES};
        return 2;
    case WORKSPACE_TOOL_MOVE_FILE:
        out_touched[0] = (struct touched){"source", PERMISSION_MOVES};
        out_touched[1] = (struct touched){"destination", PERMISSION_CHANGES};
        return 2;
    case WORKSPACE_TOOL_MKDIR:
        out_touched[0] = (struct touched){"path", PERMISSION_CREATES};
        return 1;
    case WORKSPACE_TOOL_EXECUTE_COMMAND:
    case WORKSPACE_TOOL_GET_PROCESS_OUTPUT:
    case WORKSPACE_TOOL_KILL_PROCESS:
    case WORKSPACE_TOOL_COUNT:
        break;
    }
    return 0;
}

static int name_command(const struct tool_call *call, struct arena *arena,
                        struct permission_resource *out_resource, struct err *err)
{
    cleanup_buf struct buf name = BUF_INIT(MESSAGE_BYTES);
    int r = buf_printf(&name, "workspace:%s %.*s", provider_of(call),
                       STR_ARG(text_of(call, "command")));

    *out_resource = (struct permission_resource){.group = CATALOG_SHELL};
    if (r < 0)
        return err_set_plain(err, r);
    if (!arena_copy_str(arena, buf_view(&name), &out_resource->given))
        return err_set_plain(err, arena->error);
    out_resource->resolved = out_resource->given;
    return name_file(call, text_of(call, "cwd"), arena, &out_resource->cwd, err);
}

static int subject(void *data, const void *session, struct arena *arena,
                   const struct cancel *cancel, struct provider_subject *out_subject,
                   struct err *err)
{
    const struct tool_call *call = data;
    struct permission_resource *resources =
        arena_alloc_array(arena, MAX_RESOURCES, sizeof(*resources));
    struct touched touched[MAX_RESOURCES];
    size_t count = find_touched(call, touched);
    int r = 0;

    (void)session;
    (void)cancel;
    if (resources == NULL)
        return err_set_plain(err, arena->error);
    for (size_t i = 0; i < count && r == 0; i++) {
        resources[i] = (struct permission_resource){
            .group = permission_operation_group(touched[i].operation),
            .operation = touched[i].operation,
        };
        r = name_file(call, text_of(call, touched[i].argument), arena, &resources[i].given, err);
        resources[i].resolved = resources[i].given;
    }
    /* To read or to kill a process of its own needs none. */
    if (r == 0 && call->tool->id == WORKSPACE_TOOL_EXECUTE_COMMAND) {
        r = name_command(call, arena, &resources[0], err);
        count = 1;
    }
    if (r < 0)
        return r;
    *out_subject = (struct provider_subject){.resources = resources, .count = count};
    r = provider_mark(call->arguments, STR_EMPTY, &out_subject->mark);
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* ---- what it would do ---- */

static void say_action(const struct tool_call *call, char out_words[WORDS_BYTES])
{
    struct str path = utf8_cut(text_of(call, "path"), SHOWN_BYTES);
    struct str source = utf8_cut(text_of(call, "source"), SHOWN_BYTES);
    struct str destination = utf8_cut(text_of(call, "destination"), SHOWN_BYTES);
    struct str process = utf8_cut(text_of(call, "processId"), SHOWN_BYTES);

    switch ((enum workspace_tool_id)call->tool->id) {
    case WORKSPACE_TOOL_READ_FILE:
        snprintf(out_words, WORDS_BYTES, "Reads %.*s in the workspace", STR_ARG(path));
        return;
    case WORKSPACE_TOOL_LIST_FILES:
        snprintf(out_words, WORDS_BYTES, "Lists %.*s in the workspace",
                 STR_ARG(path.len > 0 ? path : STR("files")));
        return;
    case WORKSPACE_TOOL_STAT:
        snprintf(out_words, WORDS_BYTES, "Looks up %.*s in the workspace", STR_ARG(path));
        return;
    case WORKSPACE_TOOL_GREP:
        snprintf(out_words, WORDS_BYTES, "Searches %.*s in the workspace",
                 STR_ARG(path.len > 0 ? path : STR("files")));
        return;
    case WORKSPACE_TOOL_WRITE_FILE:
        snprintf(out_words, WORDS_BYTES, "Writes %zu bytes to %.*s in the workspace",
                 text_of(call, "content").len, STR_ARG(path));
        return;
    case WORKSPACE_TOOL_EDIT_FILE:
        snprintf(out_words, WORDS_BYTES, "Edits %.*s in the workspace", STR_ARG(path));
        return;
    case WORKSPACE_TOOL_DELETE_FILE:
        snprintf(out_words, WORDS_BYTES, "Deletes %.*s%s in the workspace", STR_ARG(path),
                 is_on(call, "recursive") ? " with everything in it" : "");
        return;
    case WORKSPACE_TOOL_COPY_FILE:
        snprintf(out_words, WORDS_BYTES, "Copies %.*s to %.*s in the workspace", STR_ARG(source),
                 STR_ARG(destination));
        return;
    case WORKSPACE_TOOL_MOVE_FILE:
        snprintf(out_words, WORDS_BYTES, "Moves %.*s to %.*s in the workspace", STR_ARG(source),
                 STR_ARG(destination));
        return;
    case WORKSPACE_TOOL_MKDIR:
        snprintf(out_words, WORDS_BYTES, "Creates the folder %.*s in the workspace", STR_ARG(path));
        return;
    case WORKSPACE_TOOL_EXECUTE_COMMAND:
        snprintf(out_words, WORDS_BYTES, "Runs a command in the workspace%s",
                 is_on(call, "background") ? ", which goes on in the background" : "");
        return;
    case WORKSPACE_TOOL_GET_PROCESS_OUTPUT:
        snprintf(out_words, WORDS_BYTES, "Reads the output of process %.*s in the workspace",
                 STR_ARG(process));
        return;
    case WORKSPACE_TOOL_KILL_PROCESS:
        snprintf(out_words, WORDS_BYTES, "Kills process %.*s in the workspace", STR_ARG(process));
        return;
    case WORKSPACE_TOOL_COUNT:
        break;
    }
    out_words[0] = '\0';
}

/* Each line with a sign before it, as in a diff. */
static int add_lines(struct buf *out, char sign, struct str text)
{
    struct str line;
    int r = 0;

    while (r == 0 && str_cut(&text, '\n', &line)) {
        r = buf_append_char(out, sign);
        if (r == 0)
            r = buf_append_str(out, line);
        if (r == 0)
            r = buf_append_char(out, '\n');
    }
    return r;
}

static int write_detail(const struct tool_call *call, struct buf *out)
{
    int r;

    switch (call->tool->id) {
    case WORKSPACE_TOOL_WRITE_FILE:
        return buf_append_str(out, text_of(call, "content"));
    case WORKSPACE_TOOL_EXECUTE_COMMAND:
        return buf_append_str(out, text_of(call, "command"));
    case WORKSPACE_TOOL_GREP:
        return buf_append_str(out, text_of(call, "pattern"));
    case WORKSPACE_TOOL_EDIT_FILE:
        r = add_lines(out, '-', text_of(call, "oldString"));
        return r == 0 ? add_lines(out, '+', text_of(call, "newString")) : r;
    default:
        return 0;
    }
}

static int preview(void *data, struct arena *arena, enum decision_disclosure disclosure,
                   const struct cancel *cancel, struct question *question, struct err *err)
{
    const struct tool_call *call = data;
    cleanup_buf struct buf detail = BUF_INIT(MESSAGE_BYTES);
    char words[WORDS_BYTES];

    (void)disclosure; /* it shows only what the client sent */
    (void)cancel;
    say_action(call, words);
    if (write_detail(call, &detail) < 0)
        return err_set_plain(err, ERR_TOO_LARGE);
    if (!arena_copy_str(arena, str_from(words), &question->action) ||
        !arena_copy_str(arena, utf8_cut(buf_view(&detail), QUESTION_MAX_BYTES / 2),
                        &question->detail))
        return err_set_plain(err, arena->error);
    question->is_diff = call->tool->id == WORKSPACE_TOOL_EDIT_FILE;
    question->deletes = call->tool->id == WORKSPACE_TOOL_DELETE_FILE;
    return 0;
}

/* ---- the audit log ---- */

static int note(const struct tool_call *call, const char *decision, struct authority_note *note)
{
    cleanup_buf struct buf words = BUF_INIT(WORDS_BYTES + 2 * RECORDED_BYTES);
    cleanup_buf struct buf detail = BUF_INIT(MESSAGE_BYTES);
    const struct authority_call about = {
        .tool = call->tool->name.ptr, /* of the catalogue, which ends its texts */
        .decision = decision,
        .id = call->number,
    };
    char action[WORDS_BYTES];
    size_t used;
    int r;

    if (call->conversation->recorded == NULL)
        return 0;
    say_action(call, action);
    r = buf_append_str(&words, str_from(action));
    /* What is written is in the workspace; what runs is not. */
    if (r == 0 && call->tool->id == WORKSPACE_TOOL_EXECUTE_COMMAND) {
        r = buf_append_str(&words, STR(": "));
        if (r == 0)
            r = write_detail(call, &detail);
        if (r == 0)
            r = redact_cut(buf_view(&detail), RECORDED_BYTES, &words, &used);
    }
    if (r < 0 && r != ERR_TOO_LARGE)
        return r;
    note->operation = AUTHORITY_OP_EXECUTE;
    note->name = buf_view(&words);
    note->destination = STR(".");
    return authority_note_call(call->conversation->recorded, &about, note);
}

static void refused(void *data, const void *session, const struct permission_resource *resource,
                    const char *source, const char *rule, int code)
{
    struct tool_call *call = data;
    struct authority_note refusal = {
        .outcome = AUTHORITY_DENIED, .error = code, .policy_source = source, .policy_rule = rule};

    (void)resource;
    call->conversation = conversation_of(call, session);
    (void)note(call, NULL, &refusal);
}

/* ---- running ---- */

static void end_call(struct tool_call *call, const struct err *err, struct str object)
{
    cleanup_buf struct buf result = BUF_INIT(RESULT_BYTES);
    struct authority_note outcome = {.outcome = AUTHORITY_SUCCESS,
                                     .policy_source = call->events.decision,
                                     .request_id = call->intent.request_id};
    enum toolresult_form form = call->tools->config.form;
    int r;

    if (err != NULL) {
        outcome.outcome = AUTHORITY_FAILED;
        outcome.error = err->code;
        outcome.reason = err_text(err->code);
    }
    (void)note(call, call->events.decision, &outcome);
    if (call->conversation->running != NULL)
        --*call->conversation->running;
    if (err != NULL && err->code == ERR_CANCELLED)
        r = err->code;
    else
        r = err != NULL ? toolresult_write_error(err, form, &result)
                        : toolresult_write_object(&result, object, form, false);
    call->events.on_done(call->events.data, r, buf_view(&result));
    free_call(call);
}

static void on_done(void *data, const struct err *err, struct str object)
{
    end_call(data, err, object);
}

static void on_progress(void *data, uint64_t bytes)
{
    struct tool_call *call = data;

    if (call->events.wants_progress)
        call->events.on_progress(call->events.data, bytes, 0, "bytes of output");
}

/* Of the loop: on_done must not come from inside start(). */
static void refuse_later(void *data)
{
    struct tool_call *call = data;

    end_call(call, &call->why, STR_EMPTY);
}

static int write_call(const struct tool_call *call, struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_str(&json, STR("tool"), call->tool->name);
    json_put_str(&json, STR("key"), str_from(call->conversation->key));
    json_key(&json, STR("arguments"));
    json_write_value(&json, call->arguments);
    json_end_object(&json);
    return json_writer_finish(&json);
}

/* Once, so that the agent does not wonder where its files are. */
static int tell_loss(struct workspace_tools *tools, struct err *err)
{
    if (!tools->is_lost)
        return 0;
    tools->is_lost = false;
    return err_set(err, ERR_SESSION_OVER,
                   "the workspace is gone with its files, because gatehouse-workspacehost has "
                   "ended: the next call gets a new one");
}

static uint64_t start(void *data, const struct provider_events *events)
{
    struct tool_call *call = data;
    cleanup_buf struct buf message = BUF_INIT(MESSAGE_BYTES);
    const struct workspace_client_events done = {
        .on_progress = on_progress, .on_done = on_done, .data = call};
    uint32_t number = 0;
    int r;

    call->events = *events;
    call->conversation = conversation_of(call, events->session);
    if (call->conversation->running != NULL)
        ++*call->conversation->running;
    call->intent =
        (struct authority_note){.outcome = AUTHORITY_INTENT, .policy_source = events->decision};
    r = note(call, events->decision, &call->intent);
    if (r == 0)
        r = tell_loss(call->tools, &call->why);
    if (r == 0)
        r = write_call(call, &message);
    if (r == 0)
        r = workspace_client_call(call->tools->config.client, buf_view(&message), &done, &number);
    if (r == 0) {
        call->tools->has_begun = true;
        return number;
    }
    if (call->why.code == 0)
        err_set_plain(&call->why, r);
    loop_task_init(&call->refusal, refuse_later, call);
    loop_defer(call->tools->config.loop, &call->refusal);
    return 0;
}

static void cancel(void *self, uint64_t id)
{
    struct workspace_tools *tools = self;

    if (id != 0)
        workspace_client_cancel(tools->config.client, (uint32_t)id);
}

const struct provider workspace_family = {
    .name = "workspace",
    .has = has,
    .prepare = prepare,
    .free = free_call,
    .subject = subject,
    .preview = preview,
    .refused = refused,
    .start = start,
    .cancel = cancel,
};

/* ---- making ---- */

int workspace_tools_new(const struct workspace_tools_config *config,
                        struct workspace_tools **out_tools, struct err *err)
{
    struct workspace_tools *tools = calloc(1, sizeof(*tools));
    int r = 0;

    if (tools == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    tools->config = *config;
    tools->arena = (struct arena)ARENA_INIT(ARENA_BYTES);
    for (size_t i = 0; i < WORKSPACE_TOOL_COUNT && r == 0; i++) {
        cleanup_arena struct arena arena = ARENA_INIT(SCHEMA_BYTES);
        const struct json_value *document;

        r = json_parse(&arena, workspace_tools[i].input_schema, JSON_LIMITS_DEFAULT, &document,
                       err);
        if (r == 0)
            r = schema_compile(&tools->arena, document, &tools->schemas[i], err);
    }
    if (r == 0) {
        r = workspace_client_attach(config->client, config->loop);
        if (r < 0)
            err_set_plain(err, r);
    }
    if (r < 0) {
        workspace_tools_free(tools);
        return r;
    }
    *out_tools = tools;
    return 0;
}

void workspace_tools_lose(struct workspace_tools *tools)
{
    tools->is_lost = tools->has_begun;
    tools->has_begun = false;
}

void workspace_tools_free(struct workspace_tools *tools)
{
    if (tools == NULL)
        return;
    workspace_client_detach(tools->config.client);
    arena_done(&tools->arena);
    free(tools);
}
