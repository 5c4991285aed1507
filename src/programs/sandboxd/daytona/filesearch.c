/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and replaces texts in files, and finds files by their names. */
#include "programs/sandboxd/daytona/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "programs/sandboxd/daytona/error.h"
#include "programs/sandboxd/daytona/toolbox.h"

enum { MOST_MATCHES = 10000, READ_BYTES = 256 << 10, MOST_WORDS = 12 };

/* ---- commands ---- */

/* Lines of grep: a path, a NUL, the number, a colon and the text. */
static void on_found(void *data, struct exchange *exchange, const struct toolbox_result *result)
{
    cleanup_buf struct buf out = BUF_INIT(8 * (size_t)TOOLBOX_MAX_OUTPUT_BYTES);
    struct str rest = result->output;
    struct json_writer json;
    struct str file;
    int64_t count = 0;

    (void)data;
    if (result->exit_code > 1 && result->output.len == 0) {
        bool is_missing = str_find(result->errors, STR("No such file")) != SIZE_MAX;

        daytona_fail(exchange, is_missing ? 404 : 400, is_missing ? "FILE_NOT_FOUND" : NULL,
                     is_missing ? "there is no such path" : "the search failed");
        return;
    }
    json_writer_init(&json, &out);
    json_begin_array(&json);
    while (rest.len > 0 && count < MOST_MATCHES && str_cut(&rest, '\0', &file)) {
        struct str line;
        struct str number;
        int64_t at = 0;

        if (!str_cut(&rest, '\n', &line) || !str_cut(&line, ':', &number) ||
            !str_to_int64(number, &at))
            break; /* the output was cut off */
        json_begin_object(&json);
        json_put_str_lossy(&json, STR("file"), file);
        json_put_int(&json, STR("line"), at);
        json_put_str_lossy(&json, STR("content"), line);
        json_end_object(&json);
        count++;
    }
    json_end_array(&json);
    toolbox_answer_json(exchange, &json, &out);
}

static void on_searched(void *data, struct exchange *exchange, const struct toolbox_result *result)
{
    cleanup_buf struct buf out = BUF_INIT(8 * (size_t)TOOLBOX_MAX_OUTPUT_BYTES);
    struct str rest = result->output;
    struct json_writer json;
    struct str file;

    (void)data;
    if (result->exit_code != 0 && rest.len == 0 &&
        str_find(result->errors, STR("No such file")) != SIZE_MAX) {
        daytona_fail(exchange, 404, "FILE_NOT_FOUND", "there is no such path");
        return;
    }
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_key(&json, STR("files"));
    json_begin_array(&json);
    while (rest.len > 0 && str_cut(&rest, '\0', &file))
        json_write_str_lossy(&json, file);
    json_end_array(&json);
    json_end_object(&json);
    toolbox_answer_json(exchange, &json, &out);
}

/* Runs the words, of which "@path" and "@pattern" are the query's. */
static void run_search(const struct api_call *call, const char *const *words, toolbox_done *done)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    char path[ROOM_PATH_BYTES];
    struct sandbox *sandbox = toolbox_find(call);
    struct str pattern = STR_EMPTY;
    struct tool *tool;
    const char **copy;
    int error = 0;

    if (sandbox == NULL || !toolbox_query_path(call, STR("path"), NULL, path))
        return;
    if (!call_query(call, &arena, STR("pattern"), &pattern, &error) || pattern.len == 0 ||
        str_has_nul(pattern)) {
        call_fail(call->exchange, 400, "pattern must be a text that is not empty");
        return;
    }
    tool = tool_new(call->exchange, sandbox, done, NULL, NULL);
    if (tool == NULL)
        return;
    copy = arena_alloc_array(&tool->run.arena, MOST_WORDS, sizeof(*copy));
    for (size_t i = 0; copy != NULL && i < MOST_WORDS; i++) {
        copy[i] = words[i];
        if (words[i] == NULL)
            break;
        if (strcmp(words[i], "@path") == 0)
            copy[i] = tool_text(tool, str_from(path));
        else if (strcmp(words[i], "@pattern") == 0)
            copy[i] = tool_text(tool, pattern);
        if (copy[i] == NULL)
            copy = NULL;
    }
    if (copy == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        tool_free(tool);
        return;
    }
    tool->run.command.argv = copy;
    tool_start(tool);
}

void dfiles_find(const struct api_call *call)
{
    static const char *const words[MOST_WORDS] = {"grep", "-rsnIZF", "-e", "@pattern",
                                                  "--",   "@path",   NULL};

    run_search(call, words, on_found);
}

void dfiles_search(const struct api_call *call)
{
    static const char *const words[MOST_WORDS] = {"find",  "@path",    "-mindepth", "1",
                                                  "-name", "@pattern", "-print0",   NULL};

    run_search(call, words, on_searched);
}

/* ---- replacing ---- */

/* A request, which goes through its files one by one. */
struct replacement {
    struct sandbox_use use;
    struct sandbox *sandbox;
    struct exchange *exchange;
    struct arena arena;
    const struct json_value *file; /* the present one */
    size_t left;
    struct str pattern;
    struct str value;
    char path[ROOM_PATH_BYTES];
    struct buf out;
    struct json_writer json;
};

static void go_on(struct replacement *replacement);

static void free_replacement(struct replacement *replacement)
{
    arena_done(&replacement->arena);
    buf_done(&replacement->out);
    free(replacement);
}

static void note_result(struct replacement *replacement, const struct err *err)
{
    json_begin_object(&replacement->json);
    json_put_str_lossy(&replacement->json, STR("file"), json_str(replacement->file));
    json_put_bool(&replacement->json, STR("success"), err == NULL);
    if (err != NULL)
        json_put_str_lossy(&replacement->json, STR("error"),
                           str_from(err->message[0] != '\0' ? err->message : err_text(err->code)));
    json_end_object(&replacement->json);
    replacement->file = json_next(replacement->file);
    replacement->left--;
}

static void next_file(struct replacement *replacement, const struct err *err)
{
    note_result(replacement, err);
    go_on(replacement);
}

static void on_replaced(void *data, const struct err *err)
{
    next_file(data, err);
}

static int read_all(int fd, struct buf *out)
{
    for (;;) {
        int r = buf_reserve(out, READ_BYTES);
        ssize_t got = r == 0 ? read(fd, out->data + out->len, READ_BYTES) : 0;

        if (r < 0)
            return r;
        if (got < 0 && errno != EINTR)
            return err_from_errno(errno);
        if (got == 0)
            return 0;
        if (got > 0)
            out->len += (size_t)got;
    }
}

/* The text with each occurrence replaced; false if there was none. */
static int replace_all(const struct replacement *replacement, struct str text, struct buf *out,
                       bool *out_is_changed)
{
    size_t at = str_find(text, replacement->pattern);
    int r = 0;

    *out_is_changed = at != SIZE_MAX;
    while (at != SIZE_MAX && r == 0) {
        r = buf_append_str(out, str_slice(text, 0, at));
        if (r == 0)
            r = buf_append_str(out, replacement->value);
        text = str_slice(text, at + replacement->pattern.len, text.len);
        at = str_find(text, replacement->pattern);
    }
    return r == 0 ? buf_append_str(out, text) : r;
}

static void on_opened(void *data, const struct err *err, int fd, const struct room_entry *entry)
{
    cleanup_buf struct buf text = BUF_INIT(FILES_REPLACE_BYTES + READ_BYTES);
    cleanup_buf struct buf changed = BUF_INIT(4 * (size_t)FILES_REPLACE_BYTES);
    struct replacement *replacement = data;
    struct err failed = ERR_INIT;
    bool is_changed = false;
    int r;

    (void)entry;
    if (err != NULL) {
        next_file(replacement, err);
        return;
    }
    r = read_all(fd, &text);
    close(fd);
    if (r == 0)
        r = replace_all(replacement, buf_view(&text), &changed, &is_changed);
    if (r == 0 && !is_changed) {
        next_file(replacement, NULL);
        return;
    }
    if (r == 0)
        r = room_file_put(replacement->sandbox->room, replacement->path, ROOM_WRITE_REPLACE,
                          buf_view(&changed), on_replaced, replacement);
    if (r < 0) {
        err_set_plain(&failed, r);
        next_file(replacement, &failed);
    }
}

static int begin_file(struct replacement *replacement)
{
    if (!toolbox_path(json_str(replacement->file), replacement->path))
        return ERR_INVALID_PATH;
    if (replacement->sandbox->room == NULL)
        return ERR_SESSION_OVER;
    return room_file_open(replacement->sandbox->room, replacement->path, on_opened, replacement);
}

static void go_on(struct replacement *replacement)
{
    while (replacement->left > 0) {
        struct err err = ERR_INIT;
        int r = begin_file(replacement);

        if (r == 0)
            return;
        err_set_plain(&err, r);
        note_result(replacement, &err);
    }
    json_end_array(&replacement->json);
    service_release(replacement->sandbox);
    toolbox_answer_json(replacement->exchange, &replacement->json, &replacement->out);
    free_replacement(replacement);
}

static void on_ready(void *data, struct sandbox *sandbox, const struct err *err)
{
    struct replacement *replacement = data;

    if (err != NULL) {
        call_fail_err(replacement->exchange, err);
        free_replacement(replacement);
        return;
    }
    replacement->sandbox = sandbox;
    json_writer_init(&replacement->json, &replacement->out);
    json_begin_array(&replacement->json);
    go_on(replacement);
}

/* What is wrong with the request, or NULL. */
static const char *read_replacement(const struct json_value *object,
                                    struct replacement *replacement)
{
    const struct json_value *files = json_get(object, STR("files"));

    if (files == NULL || files->type != JSON_ARRAY || files->size > FILES_MOST_PATHS)
        return "files must be a list of paths";
    json_each_item (item, files)
        if (item->type != JSON_STRING)
            return "files must be a list of paths";
    if (!json_get_str(object, STR("pattern"), &replacement->pattern) ||
        replacement->pattern.len == 0)
        return "pattern must be a text that is not empty";
    if (!json_get_str(object, STR("newValue"), &replacement->value))
        return "newValue must be a text";
    replacement->left = files->size;
    replacement->file = files + 1;
    return NULL;
}

void dfiles_replace(const struct api_call *call)
{
    struct sandbox *sandbox = toolbox_find(call);
    struct replacement *replacement = sandbox != NULL ? calloc(1, sizeof(*replacement)) : NULL;
    const struct json_value *object;
    const char *wrong;

    if (sandbox == NULL)
        return;
    if (replacement == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    arena_init(&replacement->arena, CALL_ARENA_BYTES);
    buf_init(&replacement->out, CALL_MAX_ANSWER_BYTES);
    replacement->exchange = call->exchange;
    replacement->use = (struct sandbox_use){.ready = on_ready, .data = replacement};
    object = call_object(call, &replacement->arena, false);
    wrong = object != NULL ? read_replacement(object, replacement) : NULL;
    if (wrong != NULL)
        call_fail(call->exchange, 400, wrong);
    if (object == NULL || wrong != NULL)
        free_replacement(replacement);
    else
        service_use(sandbox, &replacement->use);
}
