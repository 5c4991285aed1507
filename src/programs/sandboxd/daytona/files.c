/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/files.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "programs/sandboxd/daytona/error.h"
#include "programs/sandboxd/daytona/toolbox.h"

enum {
    MOST_DEPTH = 64,
    MOST_OWNER_BYTES = 64,
    FOLDER_STATUS = 201,
    NAME_BYTES = 32,
};

/* ---- errors ---- */

int dfiles_status(const struct err *err)
{
    switch (err->code) {
    case ERR_NOT_EMPTY:
    case ERR_NOT_A_DIRECTORY:
    case ERR_NOT_REGULAR_FILE:
    case ERR_CROSS_DEVICE:
        return 400;
    case ERR_SESSION_OVER:
        return 409;
    default:
        return err_http_status(err->code);
    }
}

const char *dfiles_code(const struct err *err)
{
    int status = dfiles_status(err);

    return status == 404 ? "FILE_NOT_FOUND" : status == 403 ? "FILE_ACCESS_DENIED" : NULL;
}

void dfiles_fail(struct exchange *exchange, const struct err *err)
{
    daytona_fail(exchange, dfiles_status(err), dfiles_code(err),
                 err->message[0] != '\0' ? err->message : err_text(err->code));
}

/* ---- requests ---- */

/* One request, until it is answered. */
struct request {
    struct sandbox_use use;
    struct sandbox *sandbox;
    struct exchange *exchange;
    int (*begin)(struct request *request);
    int status; /* of success without content */
    unsigned flags;
    int64_t depth;
    unsigned mode;
    bool has_mode;
    char path[ROOM_PATH_BYTES];
    char target[ROOM_PATH_BYTES];
};

static void finish(struct request *request, const struct err *err)
{
    service_release(request->sandbox);
    if (err != NULL)
        dfiles_fail(request->exchange, err);
    else if (request->status == 204)
        call_answer_nothing(request->exchange);
    else
        call_answer_json(request->exchange, request->status, STR("{}"));
    free(request);
}

static void on_done(void *data, const struct err *err)
{
    finish(data, err);
}

static void on_ready(void *data, struct sandbox *sandbox, const struct err *err)
{
    struct request *request = data;
    struct err failed = ERR_INIT;
    int r;

    if (err != NULL) {
        call_fail_err(request->exchange, err);
        free(request);
        return;
    }
    request->sandbox = sandbox;
    r = request->begin(request);
    if (r < 0) {
        err_set_plain(&failed, r);
        finish(request, &failed);
    }
}

static struct request *new_request(const struct api_call *call,
                                   int (*begin)(struct request *request))
{
    struct request *request = calloc(1, sizeof(*request));

    if (request == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return NULL;
    }
    request->exchange = call->exchange;
    request->begin = begin;
    request->status = 200;
    request->use = (struct sandbox_use){.ready = on_ready, .data = request};
    return request;
}

/* `is_right`: else it was answered. */
static void start(const struct api_call *call, struct request *request, bool is_right)
{
    struct sandbox *sandbox = is_right ? toolbox_find(call) : NULL;

    if (sandbox == NULL)
        free(request);
    else
        service_use(sandbox, &request->use);
}

/* ---- what is there ---- */

static struct str user_name(unsigned id, char out_text[NAME_BYTES])
{
    if (id == 0)
        return STR("root");
    if (id == ROOM_USER)
        return STR("user");
    snprintf(out_text, NAME_BYTES, "%u", id);
    return str_from(out_text);
}

/* Like "drwxr-xr-x". */
static void format_mode(const struct room_entry *entry, char out_text[11])
{
    static const char letters[] = "rwxrwxrwx";

    out_text[0] = entry->type == ROOM_DIRECTORY ? 'd' : entry->type == ROOM_LINK ? 'L' : '-';
    for (unsigned i = 0; i < 9; i++)
        out_text[i + 1] = (char)((entry->mode & (0400U >> i)) != 0 ? letters[i] : '-');
    out_text[10] = '\0';
}

static void write_entry(struct json_writer *json, const struct room_entry *entry, const char *path)
{
    char when[CLOCK_ISO_BYTES];
    char mode[11];
    char permissions[8];
    char name[NAME_BYTES];
    const char *last = strrchr(entry->name, '/');

    clock_format_iso(entry->modified_ms, when);
    format_mode(entry, mode);
    snprintf(permissions, sizeof(permissions), "%04o", entry->mode & 07777U);
    json_begin_object(json);
    json_put_str_lossy(json, STR("name"), str_from(last != NULL ? last + 1 : entry->name));
    if (path != NULL)
        json_put_str_lossy(json, STR("path"), str_from(path));
    json_put_bool(json, STR("isDir"), entry->type == ROOM_DIRECTORY);
    json_put_int(json, STR("size"), (int64_t)entry->size);
    json_put_str(json, STR("modTime"), str_from(when));
    json_put_str(json, STR("modifiedAt"), str_from(when));
    json_put_str(json, STR("mode"), str_from(mode));
    json_put_str(json, STR("permissions"), str_from(permissions));
    json_put_str(json, STR("owner"), user_name(entry->uid, name));
    json_put_str(json, STR("group"), user_name(entry->gid, name));
    json_end_object(json);
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct room_entry *)a)->name, ((const struct room_entry *)b)->name);
}

static int64_t depth_of(const char *name)
{
    int64_t depth = 1;

    for (; *name != '\0'; name++)
        depth += *name == '/';
    return depth;
}

static void on_listed(void *data, const struct err *err, const struct room_entry *entries,
                      size_t count)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    cleanup_free struct room_entry *sorted = NULL;
    struct request *request = data;
    struct err failed = ERR_INIT;
    struct json_writer json;

    if (err == NULL) {
        sorted = malloc((count + 1) * sizeof(*sorted));
        if (sorted == NULL) {
            err_set_plain(&failed, ERR_NO_MEMORY);
            err = &failed;
        }
    }
    if (err != NULL) {
        finish(request, err);
        return;
    }
    if (count > 0)
        memcpy(sorted, entries, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_entries);
    json_writer_init(&json, &out);
    json_begin_array(&json);
    for (size_t i = 0; i < count; i++) {
        char path[2 * ROOM_PATH_BYTES];

        snprintf(path, sizeof(path), "%s/%s", strcmp(request->path, "/") == 0 ? "" : request->path,
                 sorted[i].name);
        if (depth_of(sorted[i].name) <= request->depth)
            write_entry(&json, &sorted[i], path);
    }
    json_end_array(&json);
    service_release(request->sandbox);
    toolbox_answer_json(request->exchange, &json, &out);
    free(request);
}

static int begin_list(struct request *request)
{
    return room_file_list(request->sandbox->room, request->path, request->depth > 1, on_listed,
                          request);
}

void dfiles_list(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct request *request = new_request(call, begin_list);
    struct str text;
    bool is_right;
    int error = 0;

    if (request == NULL)
        return;
    request->depth = 1;
    is_right = toolbox_query_path(call, STR("path"), ROOM_HOME, request->path);
    if (is_right && call_query(call, &arena, STR("depth"), &text, &error) &&
        (!str_to_int64(text, &request->depth) || request->depth < 1 ||
         request->depth > MOST_DEPTH)) {
        call_fail(call->exchange, 400, "depth must be a number from 1 to 64");
        is_right = false;
    }
    start(call, request, is_right);
}

static void on_statted(void *data, const struct err *err, const struct room_entry *entry)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct request *request = data;
    struct json_writer json;

    if (err != NULL) {
        finish(request, err);
        return;
    }
    json_writer_init(&json, &out);
    write_entry(&json, entry, request->path);
    service_release(request->sandbox);
    toolbox_answer_json(request->exchange, &json, &out);
    free(request);
}

static int begin_stat(struct request *request)
{
    return room_file_stat(request->sandbox->room, request->path, on_statted, request);
}

void dfiles_info(const struct api_call *call)
{
    struct request *request = new_request(call, begin_stat);

    if (request != NULL)
        start(call, request, toolbox_query_path(call, STR("path"), NULL, request->path));
}

/* ---- permissions ---- */

static bool parse_mode(struct str text, unsigned *out_mode)
{
    unsigned mode = 0;

    if (text.len == 0 || text.len > 5)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '7')
            return false;
        mode = mode * 8 + (unsigned)(text.ptr[i] - '0');
    }
    *out_mode = mode;
    return mode <= 07777;
}

/* False after a 400. */
static bool read_mode(const struct api_call *call, struct request *request)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct str text;
    int error = 0;

    request->has_mode = call_query(call, &arena, STR("mode"), &text, &error);
    if (error == 0 && (!request->has_mode || parse_mode(text, &request->mode)))
        return true;
    call_fail(call->exchange, 400, "mode must be an octal number, like 0755");
    return false;
}

/* The answer of a command that changes a file: its status, by its exit code and words. */
static void answer_change(struct exchange *exchange, const struct toolbox_result *result,
                          int status)
{
    cleanup_buf struct buf text = BUF_INIT(TOOLBOX_MAX_OUTPUT_BYTES);
    const char *words;
    bool is_missing = str_find(result->output, STR("No such file")) != SIZE_MAX;
    bool is_denied = str_find(result->output, STR("not permitted")) != SIZE_MAX ||
                     str_find(result->output, STR("ermission denied")) != SIZE_MAX ||
                     str_find(result->output, STR("Read-only")) != SIZE_MAX;

    if (result->exit_code == 0) {
        call_answer_json(exchange, status, STR("{}"));
        return;
    }
    if (buf_append_str(&text, str_trim(str_slice(result->output, 0, 1024))) < 0 ||
        buf_terminate(&text, &words) < 0)
        words = "the change failed";
    daytona_fail(exchange,
                 is_missing  ? 404
                 : is_denied ? 403
                             : 400,
                 is_missing  ? "FILE_NOT_FOUND"
                 : is_denied ? "FILE_ACCESS_DENIED"
                             : NULL,
                 words);
}

static void on_changed(void *data, struct exchange *exchange, const struct toolbox_result *result)
{
    (void)data;
    answer_change(exchange, result, 200);
}

static void on_folder_changed(void *data, struct exchange *exchange,
                              const struct toolbox_result *result)
{
    (void)data;
    answer_change(exchange, result, FOLDER_STATUS);
}

/* Changes owner, mode or both, if not NULL. */
static void change(struct exchange *exchange, struct sandbox *sandbox, const char *owner,
                   const char *mode, const char *path, toolbox_done *done)
{
    struct tool *tool = tool_new(exchange, sandbox, done, NULL, NULL);
    const char **words;

    if (tool == NULL)
        return;
    tool->joins_streams = true;
    words = arena_alloc_array(&tool->run.arena, 8, sizeof(*words));
    if (words != NULL) {
        words[0] = "/bin/sh";
        words[1] = "-c";
        words[2] = "{ [ -z \"$1\" ] || chown -- \"$1\" \"$3\"; } &&"
                   " { [ -z \"$2\" ] || chmod -- \"$2\" \"$3\"; }";
        words[3] = "sh";
        words[4] = tool_text(tool, str_from(owner != NULL ? owner : ""));
        words[5] = tool_text(tool, str_from(mode != NULL ? mode : ""));
        words[6] = tool_text(tool, str_from(path));
        words[7] = NULL;
    }
    if (words == NULL || words[4] == NULL || words[5] == NULL || words[6] == NULL) {
        call_fail(exchange, 503, err_text(ERR_NO_MEMORY));
        tool_free(tool);
        return;
    }
    tool->run.command.argv = words;
    tool_start(tool);
}

static void on_folder(void *data, const struct err *err)
{
    struct request *request = data;
    struct sandbox *sandbox = request->sandbox;
    char mode[16];

    if (err != NULL || !request->has_mode) {
        finish(request, err);
        return;
    }
    snprintf(mode, sizeof(mode), "%o", request->mode);
    change(request->exchange, sandbox, NULL, mode, request->path, on_folder_changed);
    service_release(sandbox);
    free(request);
}

static int begin_folder(struct request *request)
{
    return room_file_mkdir(request->sandbox->room, request->path, true, on_folder, request);
}

void dfiles_make_folder(const struct api_call *call)
{
    struct request *request = new_request(call, begin_folder);

    if (request == NULL)
        return;
    request->status = FOLDER_STATUS;
    start(call, request,
          toolbox_query_path(call, STR("path"), NULL, request->path) && read_mode(call, request));
}

/* "user:group" of the query, empty if it has neither; false after a 400. */
static bool read_owner(const struct api_call *call, char out_owner[2 * MOST_OWNER_BYTES + 2])
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct str owner = STR_EMPTY;
    struct str group = STR_EMPTY;
    int error = 0;

    (void)call_query(call, &arena, STR("owner"), &owner, &error);
    (void)call_query(call, &arena, STR("group"), &group, &error);
    if (error < 0 || owner.len > MOST_OWNER_BYTES || group.len > MOST_OWNER_BYTES ||
        str_has_nul(owner) || str_has_nul(group) || str_starts_with(owner, STR("-"))) {
        call_fail(call->exchange, 400, "owner and group must be names");
        return false;
    }
    out_owner[0] = '\0';
    if (owner.len > 0 || group.len > 0)
        snprintf(out_owner, 2 * MOST_OWNER_BYTES + 2, "%.*s%s%.*s", STR_ARG(owner),
                 group.len > 0 ? ":" : "", STR_ARG(group));
    return true;
}

void dfiles_set_permissions(const struct api_call *call)
{
    struct request request = {.mode = 0};
    char owner[2 * MOST_OWNER_BYTES + 2];
    struct sandbox *sandbox;
    char mode[16];

    if (!toolbox_query_path(call, STR("path"), NULL, request.path) || !read_mode(call, &request) ||
        !read_owner(call, owner))
        return;
    if (!request.has_mode && owner[0] == '\0') {
        call_fail(call->exchange, 400, "mode, or owner or group, is missing");
        return;
    }
    sandbox = toolbox_find(call);
    if (sandbox == NULL)
        return;
    snprintf(mode, sizeof(mode), "%o", request.mode);
    change(call->exchange, sandbox, owner, request.has_mode ? mode : NULL, request.path,
           on_changed);
}

/* ---- removing and moving ---- */

static int begin_remove(struct request *request)
{
    return room_file_delete(request->sandbox->room, request->path, request->flags, on_done,
                            request);
}

void dfiles_remove(const struct api_call *call)
{
    struct request *request = new_request(call, begin_remove);
    bool is_recursive = false;
    bool is_right;

    if (request == NULL)
        return;
    request->status = 204;
    is_right = toolbox_query_path(call, STR("path"), NULL, request->path);
    if (is_right && call_query_bool(call, STR("recursive"), false, &is_recursive) < 0) {
        call_fail(call->exchange, 400, "recursive must be true or false");
        is_right = false;
    }
    request->flags = is_recursive ? ROOM_FILE_RECURSIVE : 0U;
    start(call, request, is_right);
}

static int begin_move(struct request *request)
{
    return room_file_move(request->sandbox->room, request->path, request->target,
                          ROOM_FILE_RECURSIVE | ROOM_FILE_REPLACE, on_done, request);
}

void dfiles_move(const struct api_call *call)
{
    struct request *request = new_request(call, begin_move);

    if (request != NULL)
        start(call, request,
              toolbox_query_path(call, STR("source"), NULL, request->path) &&
                  toolbox_query_path(call, STR("destination"), NULL, request->target));
}
