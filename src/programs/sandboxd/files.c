/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/files.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "programs/sandboxd/service.h"

enum {
    PIECE_BYTES = 256 << 10,
    WHOLE_BYTES = 1 << 20, /* a smaller file is one answer */
    HIGH_BYTES = 1 << 20,  /* unread by a client */
    MAX_EXTENSION_BYTES = 255,
};

enum work { WRITE, LIST, REMOVE, READ, COPY, MOVE, MKDIR, STAT };

/* One request, until it is answered. The exchange lives until then, with the body. */
struct file_op {
    struct sandbox_use use;
    struct sandbox *sandbox;
    struct exchange *exchange;
    enum work work;
    unsigned flags;
    bool is_recursive;
    int status;   /* of success */
    bool may_run; /* the file that is read */
    int fd;       /* of a file that is sent in pieces */
    char path[ROOM_PATH_BYTES];
    char target[ROOM_PATH_BYTES];
    char extension[MAX_EXTENSION_BYTES + 1];
};

/* ---- answers ---- */

int files_status(int code)
{
    switch (code) {
    case ERR_NOT_EMPTY:
    case ERR_NOT_A_DIRECTORY:
    case ERR_NOT_REGULAR_FILE:
    case ERR_CROSS_DEVICE:
        return 400;
    case ERR_SESSION_OVER:
        return 503; /* it ended just now; the next request is told that it was restarted */
    default:
        return err_http_status(code);
    }
}

static void finish(struct file_op *op, const struct err *err)
{
    struct exchange *exchange = op->exchange;

    service_release(op->sandbox);
    if (err != NULL)
        call_fail(exchange, files_status(err->code), err->message);
    else if (op->status == 204)
        call_answer_nothing(exchange);
    else
        call_answer_json(exchange, op->status, STR("{}"));
    free(op);
}

static void on_done(void *data, const struct err *err)
{
    finish(data, err);
}

static void finish_json(struct file_op *op, struct json_writer *json, struct buf *out)
{
    struct err err = ERR_INIT;
    int r = json_writer_finish(json);

    if (r < 0) {
        err_set_plain(&err, r);
        finish(op, &err);
        return;
    }
    service_release(op->sandbox);
    call_answer_json(op->exchange, 200, buf_view(out));
    free(op);
}

static void put_time(struct json_writer *json, struct str key, int64_t ms)
{
    char text[CLOCK_ISO_BYTES];

    clock_format_iso(ms, text);
    json_put_str(json, key, str_from(text));
}

static struct str type_name(enum room_file_type type)
{
    return type == ROOM_DIRECTORY ? STR("directory") : STR("file");
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct room_entry *)a)->name, ((const struct room_entry *)b)->name);
}

static bool is_wanted(const struct file_op *op, const struct room_entry *entry)
{
    return op->extension[0] == '\0' ||
           (entry->type != ROOM_DIRECTORY &&
            str_ends_with(str_from(entry->name), str_from(op->extension)));
}

static void on_listed(void *data, const struct err *err, const struct room_entry *entries,
                      size_t count)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    cleanup_free struct room_entry *sorted = NULL;
    struct file_op *op = data;
    struct json_writer json;
    struct err failed = ERR_INIT;

    if (err == NULL && count > 0) {
        sorted = malloc(count * sizeof(*sorted));
        if (sorted == NULL) {
            err_set_plain(&failed, ERR_NO_MEMORY);
            err = &failed;
        }
    }
    if (err != NULL) {
        finish(op, err);
        return;
    }
    if (count > 0) {
        memcpy(sorted, entries, count * sizeof(*sorted));
        qsort(sorted, count, sizeof(*sorted), compare_entries);
    }
    json_writer_init(&json, &out);
    json_begin_array(&json);
    for (size_t i = 0; i < count; i++) {
        const struct room_entry *entry = &sorted[i];

        if (!is_wanted(op, entry))
            continue;
        json_begin_object(&json);
        json_put_str_lossy(&json, STR("name"), str_from(entry->name));
        json_put_int(&json, STR("size"), (int64_t)entry->size);
        json_put_bool(&json, STR("is_dir"), entry->type == ROOM_DIRECTORY);
        json_put_str(&json, STR("type"), type_name(entry->type));
        put_time(&json, STR("mod_time"), entry->modified_ms);
        json_end_object(&json);
    }
    json_end_array(&json);
    finish_json(op, &json, &out);
}

static void on_statted(void *data, const struct err *err, const struct room_entry *entry)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct file_op *op = data;
    struct json_writer json;

    if (err != NULL) {
        finish(op, err);
        return;
    }
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_put_str_lossy(&json, STR("name"), str_from(entry->name));
    json_put_str_lossy(&json, STR("path"), str_from(op->path));
    json_put_str(&json, STR("type"), type_name(entry->type));
    json_put_int(&json, STR("size"), (int64_t)entry->size);
    put_time(&json, STR("created_at"), entry->created_ms);
    put_time(&json, STR("modified_at"), entry->modified_ms);
    json_end_object(&json);
    finish_json(op, &json, &out);
}

/* ---- the content of a file ---- */

/* Our addition, for a file that may be run. */
static const struct http_field executable = {STR("X-File-Executable"), STR("true")};

static void end_reading(struct file_op *op)
{
    close(op->fd);
    free(op);
}

static void on_gone(void *data)
{
    end_reading(data);
}

/* Sends pieces until the client must read first, or the file ends. */
static void send_pieces(void *data)
{
    static char piece[PIECE_BYTES]; /* of the loop's thread */
    struct file_op *op = data;

    while (exchange_kept(op->exchange) < HIGH_BYTES) {
        ssize_t got = read(op->fd, piece, sizeof(piece));
        const struct str part = {piece, got > 0 ? (size_t)got : 0};

        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0) {
            exchange_end(op->exchange);
            end_reading(op);
            return;
        }
        if (got < 0 || exchange_write(op->exchange, &part, 1) < 0) {
            exchange_cut(op->exchange); /* the client notices that it is incomplete */
            end_reading(op);
            return;
        }
    }
}

static const struct exchange_events reading_events = {.on_gone = on_gone,
                                                      .on_drained = send_pieces};

static void answer_whole(struct file_op *op)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct err err = ERR_INIT;
    struct str body;
    ssize_t got = 1;
    int r = 0;

    while (got > 0 && r == 0) {
        r = buf_reserve(&out, PIECE_BYTES);
        got = r == 0 ? read(op->fd, out.data + out.len, PIECE_BYTES) : 0;
        if (got < 0)
            r = err_from_errno(errno);
        else
            out.len += (size_t)got;
    }
    close(op->fd);
    if (r < 0) {
        err_set_plain(&err, r);
        finish(op, &err);
        return;
    }
    body = buf_view(&out);
    service_release(op->sandbox);
    exchange_answer(op->exchange, &(struct http_answer){.status = 200,
                                                        .type = STR("application/octet-stream"),
                                                        .fields = &executable,
                                                        .field_count = op->may_run ? 1 : 0,
                                                        .parts = &body,
                                                        .part_count = 1});
    free(op);
}

static void on_opened(void *data, const struct err *err, int fd, const struct room_entry *entry)
{
    struct file_op *op = data;

    if (err != NULL) {
        finish(op, err);
        return;
    }
    op->fd = fd;
    op->may_run = (entry->mode & 0100U) != 0;
    if (entry->size <= WHOLE_BYTES) {
        answer_whole(op);
        return;
    }
    service_release(op->sandbox); /* the open file needs it no longer, and may outlive it */
    op->sandbox = NULL;
    exchange_watch(op->exchange, &reading_events, op);
    exchange_begin(op->exchange, &(struct http_answer){.status = 200,
                                                       .type = STR("application/octet-stream"),
                                                       .fields = &executable,
                                                       .field_count = op->may_run ? 1 : 0});
    send_pieces(op);
}

/* ---- the work ---- */

static int begin(struct file_op *op)
{
    struct room *room = op->sandbox->room;

    switch (op->work) {
    case WRITE:
        return room_file_put(room, op->path, op->flags, exchange_request(op->exchange)->body,
                             on_done, op);
    case LIST:
        return room_file_list(room, op->path, op->is_recursive, on_listed, op);
    case REMOVE:
        return room_file_delete(room, op->path, op->flags, on_done, op);
    case READ:
        return room_file_open(room, op->path, on_opened, op);
    case COPY:
        return room_file_copy(room, op->path, op->target, op->flags, on_done, op);
    case MOVE:
        return room_file_move(room, op->path, op->target, op->flags, on_done, op);
    case MKDIR:
        return room_file_mkdir(room, op->path, op->is_recursive, on_done, op);
    case STAT:
        return room_file_stat(room, op->path, on_statted, op);
    }
    return ERR_INTERNAL;
}

static void on_ready(void *data, struct sandbox *sandbox, const struct err *err)
{
    struct file_op *op = data;
    struct err failed = ERR_INIT;
    int r;

    if (err != NULL) {
        if (err->code == ERR_SESSION_OVER)
            call_fail_restarted(op->exchange);
        else
            call_fail_err(op->exchange, err);
        free(op);
        return;
    }
    op->sandbox = sandbox;
    r = begin(op);
    if (r < 0) {
        err_set_plain(&failed, r);
        finish(op, &failed);
    }
}

/* ---- requests ---- */

static bool take_path(struct str given, char out_path[ROOM_PATH_BYTES])
{
    if (given.len == 0 || given.len >= ROOM_PATH_BYTES || given.ptr[0] != '/' || str_has_nul(given))
        return false;
    memcpy(out_path, given.ptr, given.len);
    out_path[given.len] = '\0';
    return true;
}

/* The path of the query; false after a 400. */
static bool read_path(const struct api_call *call, const char *fallback,
                      char out_path[ROOM_PATH_BYTES])
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct str path = fallback != NULL ? str_from(fallback) : STR_EMPTY;
    int error = 0;

    (void)call_query(call, &arena, STR("path"), &path, &error);
    if (error == 0 && take_path(path, out_path))
        return true;
    call_fail(call->exchange, 400, "path must be an absolute path");
    return false;
}

static bool read_bool(const struct api_call *call, const char *name, bool fallback,
                      bool *out_is_true)
{
    if (call_query_bool(call, str_from(name), fallback, out_is_true) == 0)
        return true;
    call_fail(call->exchange, 400, "recursive, overwrite, executable and force are true or false");
    return false;
}

static struct file_op *new_op(const struct api_call *call, enum work work)
{
    struct file_op *op = calloc(1, sizeof(*op));

    if (op == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return NULL;
    }
    op->exchange = call->exchange;
    op->work = work;
    op->status = 200;
    op->fd = -1;
    op->use = (struct sandbox_use){.ready = on_ready, .data = op};
    return op;
}

/* Answers by itself if it is not wanted. */
static void run(const struct api_call *call, struct file_op *op, bool is_right)
{
    struct sandbox *sandbox;

    if (!is_right) { /* and answered */
        free(op);
        return;
    }
    sandbox = service_find(call->service, call->ids[0], call->owner);
    if (sandbox == NULL) {
        call_fail(call->exchange, 404, "there is no such sandbox");
        free(op);
        return;
    }
    service_use(sandbox, &op->use);
}

void files_write(const struct api_call *call)
{
    struct file_op *op = new_op(call, WRITE);
    bool replaces = true;
    bool may_run = false;
    bool is_right;

    if (op == NULL)
        return;
    is_right = read_path(call, NULL, op->path) && read_bool(call, "overwrite", true, &replaces) &&
               read_bool(call, "executable", false, &may_run);
    op->flags = ROOM_WRITE_PARENTS | (replaces ? ROOM_WRITE_REPLACE : 0U) |
                (may_run ? ROOM_WRITE_EXECUTABLE : 0U);
    run(call, op, is_right);
}

void files_append(const struct api_call *call)
{
    struct file_op *op = new_op(call, WRITE);

    if (op == NULL)
        return;
    op->flags = ROOM_WRITE_PARENTS | ROOM_WRITE_APPEND;
    run(call, op, read_path(call, NULL, op->path));
}

void files_list(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct file_op *op = new_op(call, LIST);
    struct str extension = STR_EMPTY;
    bool is_right;
    int error = 0;

    if (op == NULL)
        return;
    is_right = read_path(call, ROOM_HOME, op->path) &&
               read_bool(call, "recursive", false, &op->is_recursive);
    if (is_right) {
        (void)call_query(call, &arena, STR("extension"), &extension, &error);
        is_right = error == 0 && extension.len <= MAX_EXTENSION_BYTES && !str_has_nul(extension);
        if (is_right)
            memcpy(op->extension, extension.ptr, extension.len);
        else
            call_fail(call->exchange, 400, "extension must be a short text, like .ts");
    }
    run(call, op, is_right);
}

void files_remove(const struct api_call *call)
{
    struct file_op *op = new_op(call, REMOVE);
    bool is_recursive = false;
    bool is_forced = false;
    bool is_right;

    if (op == NULL)
        return;
    op->status = 204;
    is_right = read_path(call, NULL, op->path) &&
               read_bool(call, "recursive", false, &is_recursive) &&
               read_bool(call, "force", false, &is_forced);
    op->flags = (is_recursive ? ROOM_FILE_RECURSIVE : 0U) | (is_forced ? ROOM_FILE_FORCE : 0U);
    run(call, op, is_right);
}

void files_read(const struct api_call *call)
{
    struct file_op *op = new_op(call, READ);

    if (op != NULL)
        run(call, op, read_path(call, NULL, op->path));
}

/* False after a 400. */
static bool read_pair(const struct api_call *call, struct file_op *op)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    const struct json_value *object = call_object(call, &arena, false);
    bool is_recursive = op->work == MOVE;
    bool replaces = false;
    struct str from;
    struct str to;

    if (object == NULL)
        return false;
    if (!json_get_str(object, STR("src"), &from) || !take_path(from, op->path) ||
        !json_get_str(object, STR("dest"), &to) || !take_path(to, op->target)) {
        call_fail(call->exchange, 400, "src and dest must be absolute paths");
        return false;
    }
    if ((op->work == COPY && !call_member_bool(object, STR("recursive"), &is_recursive)) ||
        !call_member_bool(object, STR("overwrite"), &replaces)) {
        call_fail(call->exchange, 400, "recursive and overwrite are true or false");
        return false;
    }
    op->flags = (is_recursive ? ROOM_FILE_RECURSIVE : 0U) | (replaces ? ROOM_FILE_REPLACE : 0U);
    return true;
}

void files_copy(const struct api_call *call)
{
    struct file_op *op = new_op(call, COPY);

    if (op != NULL)
        run(call, op, read_pair(call, op));
}

void files_move(const struct api_call *call)
{
    struct file_op *op = new_op(call, MOVE);

    if (op != NULL)
        run(call, op, read_pair(call, op));
}

void files_mkdir(const struct api_call *call)
{
    struct file_op *op = new_op(call, MKDIR);

    if (op == NULL)
        return;
    op->status = 201;
    run(call, op,
        read_path(call, NULL, op->path) && read_bool(call, "recursive", false, &op->is_recursive));
}

void files_stat(const struct api_call *call)
{
    struct file_op *op = new_op(call, STAT);

    if (op != NULL)
        run(call, op, read_path(call, NULL, op->path));
}
