/* SPDX-License-Identifier: Apache-2.0 */
#include "shell/shell.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "authority/names/path.h"
#include "base/schema/schema.h"
#include "permission/commandline/commandline.h"
#include "protocol/toolresult.h"
#include "shell/internal.h"
#include "shell/shellprovider.h"

enum {
    SHELL_ARENA_BYTES = 4 << 20, /* schemas, environment, paths */
    SCHEMA_BYTES = 256 << 10,    /* of one, as it is read */
    MAX_PATH_DIRS = 128,
    CALL_ARENA_BYTES = 64 << 20, /* the message that it comes from has its own ceiling */
    CALL_RESULT_BYTES = 1 << 30, /* the captures and histories have theirs */
};

/* ---- making ---- */

static int compile_schemas(struct shell *shell, struct err *err)
{
    for (int i = 0; i < SHELL_TOOLS; i++) {
        cleanup_arena struct arena arena = ARENA_INIT(SCHEMA_BYTES);
        const struct json_value *document;
        int r = json_parse(&arena, catalog_tools[TOOL_SHELL_EXECUTE + i].input_schema,
                           JSON_LIMITS_DEFAULT, &document, err);

        if (r == 0)
            r = schema_compile(&shell->arena, document, &shell->schemas[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

static const char *keep(struct arena *arena, const char *text)
{
    return text != NULL ? arena_copy(arena, str_from(text)) : NULL;
}

static int copy_paths(struct shell_config *config, struct arena *arena, struct err *err)
{
    const char *given_path = config->given_path;

    config->root_path = keep(arena, config->root_path);
    config->given_path = keep(arena, given_path);
    return config->root_path != NULL && (config->given_path != NULL || given_path == NULL)
               ? 0
               : err_set_plain(err, ERR_NO_MEMORY);
}

static bool say(struct arena *arena, struct str verb, const char *reach, struct str *out_words)
{
    struct str rest = reach != NULL ? str_from(reach) : STR_EMPTY;
    char *text = arena_alloc(arena, verb.len + rest.len);

    if (text == NULL)
        return false;
    memcpy(text, verb.ptr, verb.len);
    memcpy(text + verb.len, rest.ptr, rest.len);
    *out_words = (struct str){text, verb.len + rest.len};
    return true;
}

static int make_words(struct shell *shell, struct err *err)
{
    const char *reach = shell->config.reach;

    shell->config.reach = NULL; /* owned by the caller, who may free it */
    return say(&shell->arena, STR("Runs a command"), reach, &shell->runs) &&
                   say(&shell->arena, STR("Types into a running command"), reach, &shell->types)
               ? 0
               : err_set_plain(err, shell->arena.error);
}

/* A directory where a command, or a tool, may have put a file named like a system program. */
static bool is_changeable(const struct shell *shell, struct str dir)
{
    const char *const *writable = shell->config.writable;

    if (path_strip_root(&dir, shell->config.root_path) ||
        path_strip_root(&dir, shell->config.given_path))
        return true;
    for (; writable != NULL && *writable != NULL; writable++)
        if (path_strip_root(&dir, *writable))
            return true;
    return false;
}

/* Relative ones would depend on the working directory, and where ".." leads depends on links. */
static bool names_programs(const struct shell *shell, struct str dir)
{
    return str_starts_with(dir, STR("/")) && str_find(dir, STR("/..")) == SIZE_MAX &&
           !is_changeable(shell, dir);
}

static int split_path(struct shell *shell, struct err *err)
{
    struct str path = shell->config.path != NULL ? str_from(shell->config.path) : STR_CUT_END;
    struct str dir;
    size_t count = 0;

    shell->config.path = NULL; /* owned by the caller, who may free it */
    shell->path_dirs = arena_alloc_array(&shell->arena, MAX_PATH_DIRS + 1, sizeof(char *));
    if (shell->path_dirs == NULL)
        return err_set_plain(err, shell->arena.error);
    while (str_cut(&path, ':', &dir)) {
        if (count == MAX_PATH_DIRS || !names_programs(shell, dir))
            continue;
        shell->path_dirs[count] = arena_copy(&shell->arena, dir);
        if (shell->path_dirs[count++] == NULL)
            return err_set_plain(err, shell->arena.error);
    }
    shell->path_dirs[count] = NULL;
    shell->config.writable = NULL; /* the caller's, too */
    return 0;
}

static void fill_in_defaults(struct shell_config *config)
{
    if (config->max_output_bytes == 0)
        config->max_output_bytes = SHELL_OUTPUT_BYTES;
    if (config->max_history_bytes == 0)
        config->max_history_bytes = SHELL_HISTORY_BYTES;
    if (config->timeout_ms == 0)
        config->timeout_ms = SHELL_TIMEOUT_MS;
    if (config->max_jobs == 0)
        config->max_jobs = SHELL_MAX_JOBS;
}

int shell_new(const struct shell_config *config, struct shell **out_shell, struct err *err)
{
    struct shell *shell = calloc(1, sizeof(*shell));
    int r;

    if (shell == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    signal(SIGPIPE, SIG_IGN);
    shell->config = *config;
    fill_in_defaults(&shell->config);
    arena_init(&shell->arena, SHELL_ARENA_BYTES);
    list_init(&shell->calls);
    list_init(&shell->jobs);
    r = copy_paths(&shell->config, &shell->arena, err);
    if (r == 0)
        r = compile_schemas(shell, err);
    if (r == 0)
        r = split_path(shell, err);
    if (r == 0)
        r = make_words(shell, err);
    if (r < 0) {
        arena_done(&shell->arena);
        free(shell);
        return r;
    }
    *out_shell = shell;
    return 0;
}

/* ---- preparing ---- */

static int explain_directory(int code, struct err *err)
{
    char why[ERR_MESSAGE_BYTES];

    if (err == NULL)
        return code;
    snprintf(why, sizeof(why), "%s",
             err->code == code && err->message[0] != '\0' ? err->message : err_text(code));
    switch (code) {
    case ERR_NOT_FOUND:
        return err_set_field(err, code, "cwd", "cwd: no such directory");
    case ERR_PATH_OUTSIDE_ROOT:
        return err_set_field(err, code, "cwd",
                             "cwd is outside the root; give a directory inside it");
    case ERR_NOT_A_DIRECTORY:
        return err_set_field(err, code, "cwd", "cwd is not a directory");
    case ERR_SYMLINK_REJECTED:
        return err_set_field(err, code, "cwd",
                             "cwd: a symbolic link in its path leads outside the root");
    default:
        return err_set_field(err, code, "cwd", "cwd: %s", why);
    }
}

static int join(struct arena *arena, const char *root_path, struct str name, struct str *out_path)
{
    size_t root_len = strcmp(root_path, "/") == 0 ? 0 : strlen(root_path);
    size_t size = root_len + 1 + name.len + 1;
    char *path = arena_alloc(arena, size);

    if (path == NULL)
        return arena->error;
    snprintf(path, size, "%.*s%s%.*s", (int)root_len, root_path,
             root_len == 0 || name.len > 0 ? "/" : "", STR_ARG(name));
    *out_path = str_from(path);
    return 0;
}

/* The name without dots: relative to the root, or absolute. */
static int keep_name(struct str given, struct path_name *out_name)
{
    __attribute__((uninitialized)) struct path_name below;
    int r = path_normalise(given, "/", false, &below);

    if (r < 0 || !str_starts_with(given, STR("/"))) {
        *out_name = below;
        return r;
    }
    out_name->text[0] = '/';
    memcpy(out_name->text + 1, below.text, below.len);
    out_name->len = below.len + 1;
    return 0;
}

/*
 * Whether the call goes on to the decision although no command can start there: the error would say
 * what exists. The name then stands for itself.
 */
static bool keep_failure(struct shell_call *call, int code, struct str given, const struct err *why,
                         struct path_name *out_name)
{
    if ((code != ERR_NOT_FOUND && code != ERR_NOT_A_DIRECTORY && code != ERR_SYMLINK_REJECTED &&
         code != ERR_PERMISSION_DENIED) ||
        keep_name(given, out_name) < 0)
        return false;
    call->failure = *why;
    (void)explain_directory(code, &call->failure);
    return true;
}

static int resolve_directory(struct shell_call *call, struct err *err)
{
    __attribute__((uninitialized)) struct path_name resolved;
    const struct shell_config *config = &call->shell->config;
    struct authority_stat about;
    struct err why = ERR_INIT;
    struct str given = STR_EMPTY;
    int r;

    (void)json_get_str(call->arguments, call->tool->resources[0].directory, &given);
    if (str_starts_with(given, STR("/")) && !path_strip_root(&given, config->given_path))
        (void)path_strip_root(&given, config->root_path);
    r = authority_resolve(config->names, AUTHORITY_OP_LIST, given, resolved.text, &resolved.len,
                          &about, &why);
    /* The root itself is not looked at. */
    if (r == 0 && resolved.len > 0 && about.inode == 0)
        r = ERR_NOT_FOUND;
    else if (r == 0 && resolved.len > 0 && about.type != AUTHORITY_DIRECTORY)
        r = ERR_NOT_A_DIRECTORY;
    if (r < 0 && !keep_failure(call, r, given, &why, &resolved)) {
        if (err != NULL)
            *err = why;
        return explain_directory(r, err);
    }
    r = str_starts_with(path_view(&resolved), STR("/"))
            ? join(&call->arena, "/", str_slice(path_view(&resolved), 1, resolved.len),
                   &call->command.cwd)
            : join(&call->arena, config->root_path, path_view(&resolved), &call->command.cwd);
    if (r < 0)
        return err_set_plain(err, r);
    return arena_copy_str(&call->arena, path_view(&resolved), &call->directory)
               ? 0
               : err_set_plain(err, call->arena.error);
}

static int name_command(struct shell_call *call, struct err *err)
{
    struct str given = STR_EMPTY;
    bool is_as_is;
    int r;

    (void)json_get_str(call->arguments, call->tool->resources[0].argument, &given);
    if (str_has_nul(given))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "command",
                             "command: must not contain a NUL character");
    if (given.len >= COMMAND_MAX_BYTES)
        return err_set_field(err, ERR_TOO_LARGE, "command",
                             "command: at most %d bytes; write a longer script to a file",
                             COMMAND_MAX_BYTES - 1);
    if (str_trim(given).len == 0)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "command", "command is empty");
    if (!arena_copy_str(&call->arena, given, &call->command.whole)) /* NUL-terminated */
        return err_set_plain(err, call->arena.error);
    r = command_normalise(&call->arena, call->command.whole, call->shell->path_dirs,
                          call->tool->id == TOOL_SHELL_START, &call->command.name, &is_as_is);
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* Typing into a command requires that the grant still holds. */
static int check_grant(const struct shell *shell, struct err *err)
{
    __attribute__((uninitialized)) char root[PATH_MAX];
    size_t len;

    return authority_resolve(shell->config.names, AUTHORITY_OP_LIST, STR_EMPTY, root, &len, NULL,
                             err);
}

/* Whether the tool starts a command from its arguments. */
static bool is_starting(const struct catalog_tool *tool)
{
    return tool->id == TOOL_SHELL_EXECUTE || tool->id == TOOL_SHELL_START;
}

int shell_prepare(struct shell *shell, const struct catalog_tool *tool,
                  const struct json_value *arguments, struct shell_call **out_call, struct err *err)
{
    struct shell_call *call;
    int r;

    if (!provider_owns(&shell_provider, tool))
        return err_set(err, ERR_NOT_FOUND, "unknown tool %.*s", STR_ARG(tool->name));
    call = calloc(1, sizeof(*call));
    if (call == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    call->shell = shell;
    call->tool = tool;
    arena_init(&call->arena, CALL_ARENA_BYTES);
    r = schema_check_arguments(call->shell->schemas[call->tool->id - TOOL_SHELL_EXECUTE], arguments,
                               err);
    if (r == 0) {
        call->arguments = json_copy(&call->arena, arguments);
        if (call->arguments == NULL)
            r = err_set_plain(err, call->arena.error);
    }
    if (r == 0 && tool->id == TOOL_SHELL_INPUT)
        r = check_grant(shell, err);
    if (r == 0 && tool->id == TOOL_SHELL_INPUT)
        r = typed_words(&call->arena, call->arguments, &call->typed, err);
    if (r == 0 && is_starting(tool)) {
        r = name_command(call, err);
        if (r == 0)
            r = resolve_directory(call, err);
    }
    if (r < 0) {
        shell_drop(call);
        return r;
    }
    *out_call = call;
    return 0;
}

void shell_drop(struct shell_call *call)
{
    if (call == NULL)
        return;
    arena_done(&call->arena);
    free(call);
}

/* What the call executes, or types into; NULL: nothing. */
static const struct shell_command *command_of(const struct shell_call *call, const void *session)
{
    if (is_starting(call->tool))
        return &call->command;
    return call->tool->id == TOOL_SHELL_INPUT ? job_command(call, session) : NULL;
}

bool shell_resource(const struct shell_call *call, const void *session,
                    struct permission_resource *out_resource, struct str *out_text)
{
    const struct shell_command *command = command_of(call, session);

    if (command == NULL)
        return false;
    *out_resource = (struct permission_resource){
        .group = CATALOG_SHELL,
        .given = command->whole, /* what denies a wrapper has to see it */
        .resolved = command->name,
        .cwd = command->cwd,
        .is_typed = !is_starting(call->tool),
    };
    if (out_text != NULL)
        *out_text = is_starting(call->tool) ? command->whole : call->typed;
    return true;
}

struct shell_words shell_words(const struct shell *shell, const struct catalog_tool *tool,
                               const struct permission_resource *resource, struct str text)
{
    bool is_typing = tool->id == TOOL_SHELL_INPUT;
    /* Of several lines the resource shows only one. */
    bool is_said = !is_typing && str_eq(text, permission_resource_name(resource)) &&
                   str_find(text, STR("\n")) == SIZE_MAX;

    return (struct shell_words){.action = is_typing ? shell->types : shell->runs,
                                .detail = is_said ? STR_EMPTY : text};
}

void shell_refuse(struct shell_call *call, const void *session, const char *decision,
                  const char *rule, int error)
{
    const struct shell_command *command = command_of(call, session);
    struct record_mark mark;

    call->events = (struct shell_events){.decision = decision};
    mark = record_mark_of(call);
    if (command != NULL)
        record_refusal(call->shell, &mark, command, rule, error);
}

/* ---- ends of calls ---- */

static void answer(struct shell_call *call, int error, struct str result)
{
    list_remove(&call->link);
    list_remove(&call->waiting);
    loop_task_cancel(&call->begin);
    timer_stop(&call->timer);
    timer_stop(&call->progress);
    run_done(call);
    call->events.on_done(call->events.data, error, result);
    shell_drop(call);
}

void call_finish(struct shell_call *call, struct json_writer *object, int error, bool is_error)
{
    cleanup_buf struct buf result = BUF_INIT(CALL_RESULT_BYTES);
    int r;

    json_end_object(object);
    r = json_writer_finish(object);
    if (error < 0)
        r = error;
    if (r == 0)
        r = toolresult_write_object(&result, buf_view(object->out), call->shell->config.result_form,
                                    is_error);
    answer(call, r, r < 0 ? STR_EMPTY : buf_view(&result));
}

void call_fail(struct shell_call *call, const struct err *err)
{
    cleanup_buf struct buf result = BUF_INIT(CALL_RESULT_BYTES);
    int r = toolresult_write_error(err, call->shell->config.result_form, &result);

    answer(call, r, r < 0 ? STR_EMPTY : buf_view(&result));
}

void call_end(struct shell_call *call, int error)
{
    answer(call, error, STR_EMPTY);
}

/* ---- running ---- */

static void begin(void *data)
{
    struct shell_call *call = data;

    if (call->is_cancelled) {
        call_end(call, ERR_CANCELLED);
        return;
    }
    if (call->failure.code < 0) {
        call_fail(call, &call->failure);
        return;
    }
    switch (call->tool->id) {
    case TOOL_SHELL_EXECUTE:
        run_begin(call);
        break;
    case TOOL_SHELL_START:
        job_start(call);
        break;
    case TOOL_SHELL_OUTPUT:
        job_output(call);
        break;
    case TOOL_SHELL_INPUT:
        job_input(call);
        break;
    case TOOL_SHELL_STOP:
        job_stop(call);
        break;
    default:
        job_list(call);
        break;
    }
}

uint64_t shell_run(struct shell_call *call, const struct shell_events *events)
{
    struct shell *shell = call->shell;

    call->id = ++shell->last_id;
    call->events = *events;
    list_append(&shell->calls, &call->link);
    list_init(&call->waiting);
    timer_init(&call->timer, shell->config.loop, NULL, call);
    timer_init(&call->progress, shell->config.loop, NULL, call);
    loop_task_init(&call->begin, begin, call);
    loop_defer(shell->config.loop, &call->begin);
    return call->id;
}

static void cancel(struct shell_call *call)
{
    if (call->is_cancelled)
        return;
    call->is_cancelled = true;
    if (call->is_executing) {
        run_cancel(call);
    } else {
        if (call->job != NULL)
            job_cancel(call);
        loop_defer(call->shell->config.loop, &call->begin);
    }
}

void shell_cancel(struct shell *shell, uint64_t id)
{
    list_each (node, &shell->calls) {
        struct shell_call *call = list_entry(node, struct shell_call, link);

        if (call->id == id) {
            cancel(call);
            return;
        }
    }
}

void shell_end_session(struct shell *shell, const void *session)
{
    /* Ending one call must not free another: each is only notified. */
    list_each (node, &shell->calls) {
        struct shell_call *call = list_entry(node, struct shell_call, link);

        if (call->events.session == session && !call->is_cancelled) {
            call->is_cancelled = true;
            run_done(call);
            if (call->job != NULL)
                job_cancel(call);
            loop_defer(shell->config.loop, &call->begin);
        }
    }
    jobs_end(shell, session, false);
}

void shell_end(struct shell *shell)
{
    jobs_end(shell, NULL, true);
    while (!list_is_empty(&shell->calls))
        call_end(list_entry(shell->calls.next, struct shell_call, link), ERR_CANCELLED);
    assert(shell->executing == 0 && shell->job_count == 0);
}

void shell_free(struct shell *shell)
{
    if (shell == NULL)
        return;
    shell_end(shell);
    arena_done(&shell->arena);
    free(shell);
}
