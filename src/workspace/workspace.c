/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/rand.h"
#include "workspace/background.h"
#include "workspace/internal.h"

enum {
    ARENA_BYTES = 2 * WORKSPACE_MAX_FILE_BYTES,
    GRACE_MS = 30000, /* for creating a workspace, and for the provider's own time limit */
    LAST_MS = 1000,   /* between the end of a command and that of its answer */
    CLOSE_MS = 60000, /* nobody waits for it but the service */
    CLOSE_LOOK_MS = 10,
    KILL_MS = 5000,
};

static void end_now(struct workspace *workspace);

void workspace_make_id(char out_id[WORKSPACE_UUID_BYTES])
{
    unsigned char bytes[16];
    char digits[sizeof(bytes) * 2 + 1];

    rand_bytes(bytes, sizeof(bytes));
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40); /* version 4: random */
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
    hex_text(digits, bytes, sizeof(bytes));
    snprintf(out_id, WORKSPACE_UUID_BYTES, "%.8s-%.4s-%.4s-%.4s-%.12s", digits, digits + 8,
             digits + 12, digits + 16, digits + 20);
}

/* ---- ends of calls ---- */

static void free_call(struct workspace_call *call)
{
    timer_stop(&call->deadline);
    list_remove(&call->node);
    arena_done(&call->arena);
    free(call);
}

void workspace_call_end(struct workspace_call *call, const struct err *err)
{
    const struct workspace_events events = call->events;

    call->driver = NULL;
    call->is_begun = false;
    timer_stop(&call->deadline);
    list_remove(&call->node);
    events.on_done(events.data, err, err == NULL ? &call->answer : NULL);
    free_call(call);
}

static void drop(struct workspace_call *call)
{
    if (call->is_begun)
        call->workspace->workspaces->driver->drop(call);
    call->is_begun = false;
}

static void fail(struct workspace_call *call, const struct err *err)
{
    drop(call);
    workspace_call_end(call, err);
}

/* Those that it has now: their owners may begin others, or end the workspace. */
static void fail_all(struct workspace *workspace, const struct err *err)
{
    struct list failed;

    list_init(&failed);
    while (!list_is_empty(&workspace->calls)) {
        struct list *node = workspace->calls.next;

        list_remove(node);
        list_append(&failed, node);
    }
    while (!list_is_empty(&failed))
        fail(list_entry(failed.next, struct workspace_call, node), err);
}

void workspace_cancel(struct workspace_call *call)
{
    if (call == NULL)
        return;
    drop(call);
    free_call(call);
}

void workspace_output(struct workspace_call *call, bool is_error, struct str bytes)
{
    if (call->events.on_output != NULL && bytes.len > 0)
        call->events.on_output(call->events.data, is_error, bytes);
}

void workspace_command_started(struct workspace_call *call)
{
    timer_start(&call->deadline, call->request.timeout_ms + GRACE_MS);
    call->events.on_started(call->events.data);
}

void workspace_rewind(struct workspace_call *call)
{
    call->events.on_rewound(call->events.data);
}

void workspace_looked(struct workspace_call *call, const struct err *err)
{
    call->events.on_looked(call->events.data, err);
}

bool workspace_look(struct workspace_call *call)
{
    const struct workspace_driver *driver = call->workspace->workspaces->driver;

    if (driver->look == NULL)
        return false;
    driver->look(call);
    return true;
}

bool workspace_kill(struct workspace_call *call)
{
    const struct workspace_driver *driver = call->workspace->workspaces->driver;

    if (driver->kill == NULL || !driver->kill(call))
        return false;
    timer_start(&call->deadline, KILL_MS);
    return true;
}

void workspace_command_ended(struct workspace_call *call)
{
    call->has_ended = true;
    timer_start(&call->deadline, LAST_MS);
}

/* Timer callback: nothing waits longer than this. */
static void on_deadline(void *data)
{
    struct workspace_call *call = data;
    const char *provider =
        workspace_provider_name(call->workspace->workspaces->config.settings->provider);
    struct err err = ERR_INIT;

    if (call->err.code != 0)
        err = call->err;
    else if (!call->has_ended)
        err_set(&err, ERR_TIMED_OUT, "%s: %s", provider,
                call->is_begun ? "the service did not answer in time; it may have been done"
                               : "there was no workspace in time");
    fail(call, err.code != 0 ? &err : NULL);
}

/* ---- states of a workspace ---- */

static void begin_all(struct workspace *workspace)
{
    list_each_safe (node, &workspace->calls) {
        struct workspace_call *call = list_entry(node, struct workspace_call, node);

        if (!call->is_begun && call->err.code == 0) {
            call->is_begun = true;
            workspace->workspaces->driver->begin(call);
        }
    }
}

static void create(struct workspace *workspace)
{
    workspace->state = WORKSPACE_CREATING;
    workspace_register_sweep(workspace->workspaces);
    workspace->workspaces->driver->create(workspace);
}

/* ---- the files that a workspace begins with ---- */

static int new_call(struct workspace *workspace, const struct workspace_request *request,
                    const struct workspace_events *events, struct workspace_call **out_call,
                    struct err *err);
static void fill(struct workspace *workspace);

static void stop_filling(struct workspace *workspace, const struct err *err)
{
    struct err why = ERR_INIT;

    err_set(&why, err->code, "the first files cannot be written: %s", err->message);
    if (workspace->state == WORKSPACE_FILLING)
        workspace->state = WORKSPACE_EMPTY;
    fail_all(workspace, &why);
}

static void on_filled(void *data, const struct err *err, const struct workspace_answer *answer)
{
    struct workspace *workspace = data;

    (void)answer;
    if (workspace->is_over)
        return; /* it ends, and this call with it */
    if (err != NULL) {
        stop_filling(workspace, err);
        return;
    }
    workspace->filled++;
    fill(workspace);
}

static struct workspace_request writing(const struct workspace_file *file)
{
    return (struct workspace_request){.action = WORKSPACE_WRITE,
                                      .path = file->path,
                                      .content = file->content,
                                      .is_executable = file->is_executable,
                                      .replaces = true};
}

static bool has_next(const struct workspace *workspace)
{
    const struct workspaces *workspaces = workspace->workspaces;

    return workspace->has_image_files && workspace->filled < workspaces->config.file_count &&
           workspaces->driver->is_in_image != NULL &&
           workspaces->driver->is_in_image(workspaces, workspace->filled);
}

/* Writes the next file; after the last one, the calls that wait begin. */
static void fill(struct workspace *workspace)
{
    const struct workspaces_config *config = &workspace->workspaces->config;
    const struct workspace_events events = {.on_done = on_filled, .data = workspace};
    struct workspace_request request;
    struct workspace_call *call = NULL;

    while (has_next(workspace))
        workspace->filled++;
    if (workspace->filled == config->file_count) {
        workspace->state = WORKSPACE_READY;
        begin_all(workspace);
        return;
    }
    workspace->state = WORKSPACE_FILLING;
    request = writing(&config->files[workspace->filled]);
    if (new_call(workspace, &request, &events, &call, NULL) < 0 || call == NULL)
        abort(); /* it was checked: there is no memory, and no way to say so */
    call->is_begun = true;
    workspace->workspaces->driver->begin(call);
}

void workspace_created(struct workspace *workspace, const struct err *err)
{
    workspace->state = err == NULL ? WORKSPACE_READY : WORKSPACE_NEW;
    workspace->filled = 0;
    if (workspace->is_over) {
        end_now(workspace);
        return;
    }
    if (err != NULL)
        fail_all(workspace, err);
    else
        fill(workspace);
}

void workspace_gone(struct workspace *workspace, struct err *err)
{
    err_set(err, ERR_SESSION_OVER,
            "%s: the workspace is gone, with its files: the next call gets a new one",
            workspace_provider_name(workspace->workspaces->config.settings->provider));
    if ((workspace->state == WORKSPACE_READY || workspace->state == WORKSPACE_FILLING) &&
        !workspace->is_adopted) {
        workspace_note_over(workspace->workspaces, workspace->id);
        workspace->state = WORKSPACE_NEW;
        workspace->id[0] = '\0';
    }
}

static void free_workspace(struct workspace *workspace)
{
    struct workspaces *workspaces = workspace->workspaces;
    void (*gone)(void *data) = workspace->gone;
    void *data = workspace->gone_data;

    background_free_all(workspace);
    workspaces->driver->forget(workspace);
    list_remove(&workspace->node);
    workspaces->count--;
    free(workspace);
    if (gone != NULL)
        gone(data);
}

void workspace_destroyed(struct workspace *workspace)
{
    free_workspace(workspace);
}

/* It is in the list of those that end; nobody has its pointer any more. */
static void end_now(struct workspace *workspace)
{
    if (workspace->id[0] == '\0' || workspace->is_adopted) {
        free_workspace(workspace);
        return;
    }
    workspace->state = WORKSPACE_ENDING;
    workspace->workspaces->driver->destroy(workspace);
}

void workspace_end(struct workspace *workspace)
{
    struct workspaces *workspaces;
    struct err err = ERR_INIT;

    if (workspace == NULL)
        return;
    workspaces = workspace->workspaces;
    if (workspace->key[0] != '\0')
        (void)map_remove(&workspaces->by_key, str_from(workspace->key));
    list_remove(&workspace->node);
    list_append(&workspaces->ending, &workspace->node);
    workspace->is_over = true;
    err_set(&err, ERR_SESSION_OVER, "the workspace was ended");
    fail_all(workspace, &err);
    /* One that is being created ends when it is there: it must not be left behind. */
    if (workspace->state != WORKSPACE_CREATING)
        end_now(workspace);
}

void workspace_end_then(struct workspace *workspace, void (*gone)(void *data), void *data)
{
    workspace->gone = gone;
    workspace->gone_data = data;
    workspace_end(workspace);
}

/* ---- finding and making workspaces ---- */

static int make(struct workspaces *workspaces, struct workspace **out_workspace)
{
    struct workspace *workspace;

    if (workspaces->closed != NULL)
        return ERR_SESSION_OVER;
    if (workspaces->count == WORKSPACE_MAX_WORKSPACES)
        return ERR_BUSY;
    workspace = calloc(1, sizeof(*workspace));
    if (workspace == NULL)
        return ERR_NO_MEMORY;
    workspace->workspaces = workspaces;
    list_init(&workspace->calls);
    list_init(&workspace->backgrounds);
    list_append(&workspaces->all, &workspace->node);
    workspaces->count++;
    *out_workspace = workspace;
    return 0;
}

int workspaces_new_one(struct workspaces *workspaces, struct workspace **out_workspace)
{
    return make(workspaces, out_workspace);
}

int workspaces_get(struct workspaces *workspaces, struct str key, struct workspace **out_workspace)
{
    struct workspace *workspace = map_get(&workspaces->by_key, key);
    int r;

    if (key.len == 0 || key.len >= WORKSPACE_KEY_BYTES || str_has_nul(key))
        return ERR_INVALID_ARGUMENT;
    if (workspace == NULL) {
        r = make(workspaces, &workspace);
        if (r < 0)
            return r;
        memcpy(workspace->key, key.ptr, key.len);
        r = map_add(&workspaces->by_key, str_from(workspace->key), workspace);
        if (r < 0) {
            free_workspace(workspace);
            return r;
        }
    }
    *out_workspace = workspace;
    return 0;
}

int workspaces_adopt(struct workspaces *workspaces, struct str id, struct workspace **out_workspace,
                     struct err *err)
{
    struct workspace *workspace;
    int r;

    if (workspaces->driver != &workspace_sandboxapi)
        return err_set(err, ERR_UNSUPPORTED, "%s cannot use a sandbox that exists already",
                       workspace_provider_name(workspaces->config.settings->provider));
    if (id.len == 0 || id.len >= WORKSPACE_ID_BYTES)
        return err_set(err, ERR_INVALID_ARGUMENT, "this is no id of a sandbox");
    for (size_t i = 0; i < id.len; i++)
        if (memchr("0123456789abcdef-", id.ptr[i], sizeof("0123456789abcdef-") - 1) == NULL)
            return err_set(err, ERR_INVALID_ARGUMENT, "this is no id of a sandbox");
    r = make(workspaces, &workspace);
    if (r < 0)
        return err_set_plain(err, r);
    memcpy(workspace->id, id.ptr, id.len);
    workspace->is_adopted = true;
    workspace->state = WORKSPACE_READY;
    *out_workspace = workspace;
    return 0;
}

const char *workspace_id(const struct workspace *workspace)
{
    return workspace->id;
}

/* ---- calls ---- */

static bool copy_env(struct workspace_call *call, const struct workspace_request *request)
{
    struct workspace_variable *copies =
        arena_alloc_array(&call->arena, request->env_count + 1, sizeof(*copies));

    if (copies == NULL)
        return false;
    for (size_t i = 0; i < request->env_count; i++)
        if (!arena_copy_str(&call->arena, request->env[i].name, &copies[i].name) ||
            !arena_copy_str(&call->arena, request->env[i].value, &copies[i].value))
            return false;
    call->request.env = copies;
    return true;
}

static bool copy_request(struct workspace_call *call, const struct workspace_request *request)
{
    struct workspace_request *copy = &call->request;

    *copy = *request;
    return arena_copy_str(&call->arena, request->path, &copy->path) &&
           arena_copy_str(&call->arena, request->target, &copy->target) &&
           arena_copy_str(&call->arena, request->content, &copy->content) &&
           arena_copy_str(&call->arena, request->command, &copy->command) &&
           copy_env(call, request);
}

static bool is_path(struct str path)
{
    return path.len < WORKSPACE_PATH_BYTES && !str_has_nul(path);
}

static int check(const struct workspace_request *request, struct err *err)
{
    bool has_path = request->action == WORKSPACE_EXECUTE || request->action == WORKSPACE_LIST;

    if (!is_path(request->path) || !is_path(request->target))
        return err_set(err, ERR_INVALID_PATH, "this is no path: it is too long, or has a NUL");
    if (request->path.len == 0 && !has_path)
        return err_set(err, ERR_INVALID_PATH, "the path is missing");
    if (request->content.len > WORKSPACE_MAX_FILE_BYTES)
        return err_set(err, ERR_TOO_LARGE, "a file has at most %d MiB here",
                       WORKSPACE_MAX_FILE_BYTES >> 20);
    if (request->action == WORKSPACE_EXECUTE &&
        (request->command.len == 0 || str_has_nul(request->command)))
        return err_set(err, ERR_INVALID_ARGUMENT, "the command is empty, or has a NUL");
    return 0;
}

static int new_call(struct workspace *workspace, const struct workspace_request *request,
                    const struct workspace_events *events, struct workspace_call **out_call,
                    struct err *err)
{
    const struct workspaces *workspaces = workspace->workspaces;
    struct workspace_call *call;
    int64_t limit_ms = WORKSPACE_FILE_MS;
    int r = check(request, err);

    if (r < 0)
        return r;
    call = calloc(1, sizeof(*call));
    if (call == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    call->workspace = workspace;
    call->events = *events;
    list_init(&call->node);
    timer_init(&call->deadline, workspaces->config.loop, on_deadline, call);
    arena_init(&call->arena, ARENA_BYTES);
    if (!copy_request(call, request)) {
        r = err_set_plain(err, call->arena.error);
        free_call(call);
        return r;
    }
    if (request->action == WORKSPACE_EXECUTE) {
        if (request->timeout_ms <= 0)
            call->request.timeout_ms = workspaces->config.settings->timeout_ms;
        limit_ms = GRACE_MS + (request->is_background ? workspaces->config.settings->timeout_ms
                                                      : call->request.timeout_ms);
    }
    timer_start(&call->deadline, limit_ms);
    list_append(&workspace->calls, &call->node);
    *out_call = call;
    return 0;
}

int workspace_begin(struct workspace *workspace, const struct workspace_request *request,
                    const struct workspace_events *events, struct workspace_call **out_call,
                    struct err *err)
{
    int r = new_call(workspace, request, events, out_call, err);

    if (r < 0)
        return r;
    if (workspace->state == WORKSPACE_READY)
        begin_all(workspace);
    else if (workspace->state == WORKSPACE_NEW)
        create(workspace);
    else if (workspace->state == WORKSPACE_EMPTY)
        fill(workspace);
    return 0;
}

/* ---- all of them ---- */

static const struct workspace_driver *driver_of(enum workspace_provider provider)
{
    switch (provider) {
    case WORKSPACE_ISOLATED:
    case WORKSPACE_N8N_SANDBOX:
        return &workspace_sandboxapi;
    case WORKSPACE_DAYTONA:
        return &workspace_daytona;
    case WORKSPACE_LOCAL:
#if WORKSPACE_HAS_LOCAL
        return &workspace_local;
#endif
    case WORKSPACE_PROVIDERS:
        break;
    }
    return NULL;
}

/* Timer callback: whether the provider has ended everything. */
static void look_at_end(void *data)
{
    struct workspaces *workspaces = data;

    if ((!list_is_empty(&workspaces->ending) || workspaces->driver->is_busy(workspaces)) &&
        loop_now_ms(workspaces->config.loop) < workspaces->close_by_ms) {
        timer_start(&workspaces->closing, CLOSE_LOOK_MS);
        return;
    }
    workspaces->closed(workspaces->closed_data);
}

void workspaces_close(struct workspaces *workspaces, void (*done)(void *data), void *data)
{
    workspaces->closed = done;
    workspaces->closed_data = data;
    workspaces->close_by_ms = loop_now_ms(workspaces->config.loop) + CLOSE_MS;
    while (!list_is_empty(&workspaces->all))
        workspace_end(list_entry(workspaces->all.next, struct workspace, node));
    timer_start(&workspaces->closing, 0);
}

static int open_driver(struct workspaces *workspaces, struct err *err)
{
    const char *provider = workspace_provider_name(workspaces->config.settings->provider);
    int r;

    if (workspaces->driver == NULL)
        return err_set(err, ERR_UNSUPPORTED, "this build has no provider %s", provider);
    if (workspaces->config.setup != NULL && !workspaces->driver->has_images)
        return err_set(err, ERR_UNSUPPORTED, "%s has no images: omit --workspace-setup", provider);
    for (size_t i = 0; i < workspaces->config.file_count; i++) {
        const struct workspace_request request = writing(&workspaces->config.files[i]);

        if (check(&request, err) < 0)
            return ERR_INVALID_OPTION;
    }
    r = workspaces->driver->open(workspaces, err);
    if (r < 0)
        return r;
    r = workspace_register_open(workspaces, err);
    if (r < 0)
        workspaces->driver->close(workspaces);
    /* The own service may not run: it is asked when it is needed. */
    else if (workspaces->config.settings->provider != WORKSPACE_ISOLATED)
        workspace_register_sweep(workspaces);
    return r;
}

int workspaces_new(const struct workspaces_config *config, struct workspaces **out_workspaces,
                   struct err *err)
{
    struct workspaces *workspaces = calloc(1, sizeof(*workspaces));
    int r;

    if (workspaces == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    workspaces->config = *config;
    workspaces->driver = driver_of(config->settings->provider);
    workspaces->by_key = (struct map)MAP_INIT(WORKSPACE_MAX_WORKSPACES);
    list_init(&workspaces->all);
    list_init(&workspaces->ending);
    timer_init(&workspaces->closing, config->loop, look_at_end, workspaces);
    r = open_driver(workspaces, err);
    if (r < 0) {
        map_done(&workspaces->by_key);
        free(workspaces);
        return r;
    }
    *out_workspaces = workspaces;
    return 0;
}

static void drop_all(struct list *list)
{
    while (!list_is_empty(list)) {
        struct workspace *workspace = list_entry(list->next, struct workspace, node);

        while (!list_is_empty(&workspace->calls))
            workspace_cancel(list_entry(workspace->calls.next, struct workspace_call, node));
        free_workspace(workspace);
    }
}

void workspaces_free(struct workspaces *workspaces)
{
    if (workspaces == NULL)
        return;
    timer_stop(&workspaces->closing);
    drop_all(&workspaces->all);
    drop_all(&workspaces->ending);
    workspace_register_close(workspaces);
    workspaces->driver->close(workspaces);
    map_done(&workspaces->by_key);
    free(workspaces);
}
