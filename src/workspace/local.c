/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider `local`, for development: each workspace is a folder below ./workspace-builders/,
 * which stays. Files go through the authority; commands are children of this machine, in the box
 * that commands of agents have, with the machine's network. File calls are done on the loop: who
 * develops has a disk that answers.
 */
#include "workspace/internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gatehouse/authority.h"
#include "isolate/environment.h"
#include "isolate/launcher/launcher.h"
#include "shell/launched.h"
#include "shell/process.h"

#define FOLDER "workspace-builders"

enum {
    ARENA_BYTES = 2 * WORKSPACE_MAX_FILE_BYTES,
    ENVIRONMENT_BYTES = 1 << 20,
    MAX_VARIABLES = 256,
};

struct local {
    struct authority *authority;
    struct authority_scope *here; /* the working directory */
    char path[PATH_MAX];
};

/* A folder, as long as its workspace or a call needs it. */
struct place {
    unsigned users;
    struct authority_scope *scope;
    char path[PATH_MAX];
    struct launcher *launcher;
    struct launched *launched;
};

/* A workspace that is created or destroyed: the answer comes from the loop. */
struct life {
    struct place *place; /* or NULL */
    struct workspace *workspace;
    struct timer later;
    struct err err;
};

struct op {
    struct workspace_call *call;
    struct place *place;
    struct timer later; /* the work, or the limit of a command */
    struct arena arena; /* of the answer */
    struct buf content;
    struct workspace_entry *entries;
    struct process *process; /* of a command */
    struct err err;          /* of its start */
};

static struct local *local_of(const struct workspaces *workspaces)
{
    return workspaces->data;
}

/* ---- folders ---- */

static void unuse(struct place *place)
{
    if (place == NULL || --place->users > 0)
        return;
    launched_free(place->launched);
    launcher_free(place->launcher);
    authority_scope_free(place->scope);
    free(place);
}

static int request(struct authority *authority, const char *path, unsigned access,
                   struct authority_scope **out_scope, struct err *err)
{
    const struct authority_request asked = {
        .subject = {.type = AUTHORITY_CORE, .id = "workspace"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = FOLDER, .path = path},
        .access = access,
        .reason = "a workspace of the provider local",
        .source = AUTHORITY_FROM_CORE,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_IN_ROOT},
    };

    return authority_request_root(authority, &asked, out_scope, err);
}

static int start_launcher(struct place *place, struct loop *loop, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(ENVIRONMENT_BYTES);
    const struct box_place root = {.path = place->path, .access = BOX_WRITE};
    const struct box_plan plan = {
        .places = &root, .place_count = 1, .network = BOX_NETWORK_HOST, .spares_host = true};
    struct launcher_envelope envelope = {.plan = &plan};
    char home[PATH_MAX + 8];
    const char *const more[] = {home, NULL};
    int r;

    snprintf(home, sizeof(home), "HOME=%s", place->path);
    r = environment_clean(&arena, environ, more, &envelope.env, err);
    if (r == 0)
        r = launcher_new(&envelope, &place->launcher, err);
    if (r == 0 && launched_new(loop, place->launcher, &place->launched) < 0)
        r = err_set_plain(err, ERR_NO_MEMORY);
    return r;
}

static int open_place(struct workspace *workspace, struct place *place, struct err *err)
{
    struct workspaces *workspaces = workspace->workspaces;
    struct local *local = local_of(workspaces);
    const struct authority_mkdir_options options = {.make_parents = true};
    char name[sizeof(FOLDER) + WORKSPACE_ID_BYTES];
    char path[PATH_MAX];
    int r;

    snprintf(name, sizeof(name), FOLDER "/%s", workspace->id);
    if (snprintf(path, sizeof(path), "%s/%s", local->path, name) >= (int)sizeof(path))
        return err_set(err, ERR_INVALID_PATH, "the path of the working directory is too long");
    r = authority_mkdir(local->here, str_from(name), &options, err);
    if (r == 0)
        r = request(local->authority, path, AUTHORITY_ALL_ACCESS, &place->scope, err);
    if (r == 0 && authority_scope_path(place->scope, place->path) < 0)
        r = err_set_plain(err, ERR_IO);
    return r == 0 ? start_launcher(place, workspaces->config.loop, err) : r;
}

/* ---- workspaces ---- */

static void forget(struct workspace *workspace)
{
    struct life *life = workspace->driver;

    if (life == NULL)
        return;
    timer_stop(&life->later);
    unuse(life->place);
    free(life);
    workspace->driver = NULL;
}

static void on_created(void *data)
{
    struct life *life = data;
    struct err why = life->err;

    workspace_created(life->workspace, why.code != 0 ? &why : NULL);
}

static struct life *new_life(struct workspace *workspace, void (*fire)(void *data))
{
    struct life *life;

    forget(workspace);
    life = calloc(1, sizeof(*life));
    if (life == NULL)
        abort(); /* a few hundred bytes: there is no way to say so */
    life->workspace = workspace;
    timer_init(&life->later, workspace->workspaces->config.loop, fire, life);
    timer_start(&life->later, 0);
    workspace->driver = life;
    return life;
}

static void create(struct workspace *workspace)
{
    struct life *life = new_life(workspace, on_created);

    workspace_make_id(workspace->id);
    life->place = calloc(1, sizeof(*life->place));
    if (life->place == NULL) {
        err_set_plain(&life->err, ERR_NO_MEMORY);
    } else {
        life->place->users = 1;
        (void)open_place(workspace, life->place, &life->err);
    }
    if (life->err.code != 0)
        workspace->id[0] = '\0';
}

static void on_destroyed(void *data)
{
    workspace_destroyed(((struct life *)data)->workspace);
}

/* The folder stays, for whoever wants to see what the agent did. */
static void destroy(struct workspace *workspace)
{
    (void)new_life(workspace, on_destroyed);
}

/* ---- calls ---- */

static void free_op(struct op *op)
{
    timer_stop(&op->later);
    process_free(op->process);
    buf_done(&op->content);
    arena_done(&op->arena);
    unuse(op->place);
    free(op);
}

static bool is_gone(const struct op *op)
{
    struct authority_stat about;

    return authority_stat(op->place->scope, STR("."), &about, NULL) < 0 || about.links == 0;
}

static void finish(struct op *op, const struct err *err)
{
    struct workspace_call *call = op->call;
    struct err why = ERR_INIT;

    if (err != NULL && is_gone(op)) {
        workspace_gone(call->workspace, &why);
        err = &why;
    }
    workspace_call_end(call, err);
    free_op(op);
}

static void take_entry(const struct authority_stat *about, struct workspace_entry *out_entry)
{
    out_entry->is_directory = about->type == AUTHORITY_DIRECTORY;
    out_entry->size = about->size;
    out_entry->modified_ms = about->modified_ms;
}

static int visit(void *data, const struct authority_entry *entry)
{
    struct op *op = data;
    struct workspace_answer *answer = &op->call->answer;
    struct workspace_entry *to = &op->entries[answer->count];

    if (answer->count == WORKSPACE_MAX_ENTRIES)
        return ERR_TOO_LARGE;
    if (!arena_copy_str(&op->arena, entry->name, &to->name))
        return op->arena.error;
    take_entry(&entry->stat, to);
    to->is_directory = entry->type == AUTHORITY_DIRECTORY;
    answer->count++;
    return 0;
}

static int list(struct op *op, struct err *err)
{
    const struct workspace_request *asked = &op->call->request;
    const struct authority_list_options flat = {.with_stat = true};
    const struct authority_walk_options deep = {.with_stat = true};
    struct str name = asked->path.len > 0 ? asked->path : STR(".");
    int r;

    op->entries = arena_alloc_array(&op->arena, WORKSPACE_MAX_ENTRIES, sizeof(*op->entries));
    if (op->entries == NULL)
        return err_set_plain(err, op->arena.error);
    op->call->answer.entries = op->entries;
    r = asked->is_recursive ? authority_walk(op->place->scope, name, &deep, visit, op, err)
                            : authority_list(op->place->scope, name, &flat, visit, op, err);
    return r == ERR_TOO_LARGE
               ? err_set(err, r, "the folder has more than %d entries", WORKSPACE_MAX_ENTRIES)
               : r;
}

static int stat_one(struct op *op, struct err *err)
{
    struct workspace_answer *answer = &op->call->answer;
    struct authority_stat about;
    int r = authority_stat(op->place->scope, op->call->request.path, &about, err);

    if (r < 0)
        return r;
    op->entries = arena_alloc_array(&op->arena, 1, sizeof(*op->entries));
    if (op->entries == NULL)
        return err_set_plain(err, op->arena.error);
    *op->entries = (struct workspace_entry){.name = op->call->request.path};
    take_entry(&about, op->entries);
    answer->entries = op->entries;
    answer->count = 1;
    return 0;
}

static int transfer(struct op *op, struct err *err)
{
    const struct workspace_request *asked = &op->call->request;
    struct authority_scope *scope = op->place->scope;
    const struct authority_move_options options = {.may_replace = asked->replaces,
                                                   .make_parents = true};
    const struct authority_duplicate_options whole = {.make_parents = true};
    struct authority_stat about;
    int r;

    if (asked->action == WORKSPACE_MOVE)
        return authority_move(scope, asked->path, asked->target, &options, err);
    r = authority_stat(scope, asked->path, &about, err);
    if (r < 0)
        return r;
    if (about.type != AUTHORITY_DIRECTORY)
        return authority_copy(scope, asked->path, asked->target, &options, err);
    return asked->is_recursive
               ? authority_duplicate(scope, asked->target, scope, asked->path, &whole, err)
               : err_set(err, ERR_INVALID_ARGUMENT, "this is a folder: set recursive");
}

static int do_file(struct op *op, struct err *err)
{
    const struct workspace_request *asked = &op->call->request;
    struct authority_scope *scope = op->place->scope;
    const struct authority_read_options reading = {.max_bytes = 0};
    const struct authority_write_options writing = {
        .create = asked->replaces ? AUTHORITY_CREATE_OR_REPLACE : AUTHORITY_CREATE_NEW,
        .make_parents = true,
        .mode = asked->is_executable ? 0755 : 0,
    };
    const struct authority_mkdir_options making = {.make_parents = asked->is_recursive,
                                                   .may_exist = asked->is_recursive};
    const struct authority_remove_options removing = {.is_recursive = asked->is_recursive,
                                                      .may_miss = asked->may_be_missing};
    int r = ERR_INTERNAL;

    switch (asked->action) {
    case WORKSPACE_READ:
        r = authority_read_bytes(scope, asked->path, &reading, &op->content, err);
        op->call->answer.content = buf_view(&op->content);
        break;
    case WORKSPACE_WRITE:
        r = authority_write_bytes(scope, asked->path, asked->content, &writing, err);
        break;
    case WORKSPACE_LIST:
        r = list(op, err);
        break;
    case WORKSPACE_STAT:
        r = stat_one(op, err);
        break;
    case WORKSPACE_MKDIR:
        r = authority_mkdir(scope, asked->path, &making, err);
        break;
    case WORKSPACE_DELETE:
        r = authority_remove(scope, asked->path, &removing, err);
        break;
    case WORKSPACE_COPY:
    case WORKSPACE_MOVE:
        r = transfer(op, err);
        break;
    case WORKSPACE_EXECUTE:
        break;
    }
    return r;
}

/* Timer callback */
static void on_file(void *data)
{
    struct op *op = data;
    struct err err = ERR_INIT;
    int r = do_file(op, &err);

    if (r < 0 && err.code == 0)
        err_set_plain(&err, r);
    finish(op, r < 0 ? &err : NULL);
}

/* ---- commands ---- */

static void on_failed(void *data)
{
    struct op *op = data;
    struct err err = op->err;

    finish(op, &err);
}

static void on_limit(void *data)
{
    struct op *op = data;

    op->call->answer.is_timed_out = true;
    process_signal(op->process, SIGKILL);
}

static void on_started(void *data)
{
    struct op *op = data;

    if (op->call->request.is_background)
        workspace_command_started(op->call);
}

static void on_bytes(void *data, enum process_stream stream, struct str bytes)
{
    workspace_output(((struct op *)data)->call, stream == PROCESS_ERRORS, bytes);
}

static void on_over(void *data, struct starter_end end, const struct err *err)
{
    struct op *op = data;
    struct workspace_answer *answer = &op->call->answer;
    struct err why = ERR_INIT;

    answer->exit_code = end.is_signal || answer->is_timed_out ? -1 : end.value;
    if (err != NULL)
        why = *err;
    else if (end.error != 0)
        err_set_plain(&why, end.error);
    finish(op, why.code != 0 ? &why : NULL);
}

/* "NAME=value" of each, up to a NULL. */
static int list_variables(struct op *op, const char *out_list[MAX_VARIABLES + 1], struct err *err)
{
    const struct workspace_request *asked = &op->call->request;

    if (asked->env_count > MAX_VARIABLES)
        return err_set(err, ERR_TOO_LARGE, "a command has at most %d variables", MAX_VARIABLES);
    for (size_t i = 0; i < asked->env_count; i++) {
        const struct workspace_variable *variable = &asked->env[i];
        size_t room = variable->name.len + variable->value.len + 2;
        char *text = arena_alloc(&op->arena, room);

        if (text == NULL)
            return err_set_plain(err, op->arena.error);
        snprintf(text, room, "%.*s=%.*s", STR_ARG(variable->name), STR_ARG(variable->value));
        out_list[i] = text;
    }
    out_list[asked->env_count] = NULL;
    return 0;
}

/* The directory as the authority finds it: "PLACE/NAME" without links. */
static int find_directory(const struct op *op, char out_path[PATH_MAX], struct err *err)
{
    struct str asked = op->call->request.path;
    char name[PATH_MAX] = "";
    size_t len = 0;
    int r = 0;

    if (asked.len > 0)
        r = authority_resolve(op->place->scope, AUTHORITY_OP_LIST, asked, name, &len, NULL, err);
    if (r < 0)
        return r;
    if (strlen(op->place->path) + len + 2 > PATH_MAX)
        return err_set(err, ERR_INVALID_PATH, "the path of the directory is too long");
    snprintf(out_path, PATH_MAX, "%.*s%s%.*s", (int)strlen(op->place->path), op->place->path,
             len > 0 ? "/" : "", (int)len, name);
    return 0;
}

static int start(struct op *op, struct err *err)
{
    const struct workspace_request *asked = &op->call->request;
    const struct process_events events = {
        .on_started = on_started, .on_bytes = on_bytes, .on_over = on_over, .data = op};
    const char *variables[MAX_VARIABLES + 1];
    char directory[PATH_MAX];
    char *text = arena_copy(&op->arena, asked->command);
    const char *const argv[] = {"/bin/sh", "-c", text, NULL};
    const struct starter_command command = {.argv = argv, .variables = variables, .cwd = directory};
    int r = text == NULL ? err_set_plain(err, op->arena.error) : find_directory(op, directory, err);

    if (r == 0)
        r = list_variables(op, variables, err);
    return r == 0 ? process_new(op->call->workspace->workspaces->config.loop,
                                launched_starter(op->place->launched), &command, &events,
                                &op->process, err)
                  : r;
}

static void begin(struct workspace_call *call)
{
    struct loop *loop = call->workspace->workspaces->config.loop;
    bool is_command = call->request.action == WORKSPACE_EXECUTE;
    struct op *op = calloc(1, sizeof(*op));

    if (op == NULL)
        abort(); /* there is no way to say so */
    op->call = call;
    op->place = ((struct life *)call->workspace->driver)->place;
    op->place->users++;
    call->driver = op;
    arena_init(&op->arena, ARENA_BYTES);
    buf_init(&op->content, WORKSPACE_MAX_FILE_BYTES);
    timer_init(&op->later, loop, is_command ? on_limit : on_file, op);
    if (is_command && start(op, &op->err) < 0) {
        timer_init(&op->later, loop, on_failed, op);
        timer_start(&op->later, 0);
        return;
    }
    timer_start(&op->later, is_command ? call->request.timeout_ms : 0);
}

static void drop(struct workspace_call *call)
{
    struct op *op = call->driver;

    if (op == NULL)
        return;
    call->driver = NULL;
    free_op(op); /* kills the command */
}

static bool kill_command(struct workspace_call *call)
{
    struct op *op = call->driver;

    process_signal(op->process, SIGKILL);
    return true;
}

/* ---- the provider ---- */

static void close_local(struct workspaces *workspaces)
{
    struct local *local = workspaces->data;

    authority_scope_free(local->here);
    authority_free(local->authority);
    free(local);
}

static int open_local(struct workspaces *workspaces, struct err *err)
{
    const struct authority_config config = {.backend = AUTHORITY_LINUX,
                                            .state_dir = workspaces->config.state_dir};
    struct local *local = calloc(1, sizeof(*local));
    int r;

    if (local == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    workspaces->data = local;
    r = getcwd(local->path, sizeof(local->path)) != NULL
            ? box_probe(err)
            : err_set(err, ERR_NOT_FOUND, "there is no working directory");
    if (r == 0)
        r = authority_new(&config, &local->authority, err);
    if (r == 0)
        r = request(local->authority, local->path, AUTHORITY_WRITE | AUTHORITY_METADATA,
                    &local->here, err);
    if (r < 0)
        close_local(workspaces);
    return r;
}

static bool is_busy(const struct workspaces *workspaces)
{
    (void)workspaces;
    return false;
}

const struct workspace_driver workspace_local = {
    .open = open_local,
    .close = close_local,
    .is_busy = is_busy,
    .create = create,
    .destroy = destroy,
    .forget = forget,
    .begin = begin,
    .drop = drop,
    .kill = kill_command,
};
