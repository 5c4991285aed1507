/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that come as a multipart body: parts `files[0].path` and `files[0].file`, and so on; or one
 * part `file`, if the path is in the query.
 * Content goes on to the sandbox as it comes, one file at a time, and the client waits for the
 * disk.
 *
 * The sandbox reads from a socket. One byte that nobody reads lies in our end of it: if we close
 * that end early, the sandbox gets an error instead of the end of the content, and leaves the file
 * as it was. Shutting it down is the end.
 */
#include "programs/sandboxd/daytona/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop/writer.h"
#include "programs/sandboxd/daytona/error.h"
#include "programs/sandboxd/daytona/multipart.h"
#include "programs/sandboxd/daytona/toolbox.h"

enum {
    HIGH_BYTES = 256 << 10, /* that the sandbox has not taken: the client waits */
    QUEUE_BYTES = 1 << 20,
    BACKLOG_BYTES = 1 << 20, /* of pieces that wait for a file */
    SOCKET_BYTES = 1 << 20,
    MOST_INDEX_CHARS = 6,
};

/* A part's kind. */
enum part { PART_PATH, PART_FILE };

struct upload {
    struct service *service;
    struct exchange *exchange; /* NULL: the client left, or it is answered */
    char sandbox_id[SANDBOXSTORE_ID_BYTES];
    char owner[SANDBOXSTORE_ID_BYTES];
    struct sandbox_use use;
    struct sandbox *sandbox; /* while a file is written */
    struct multipart multipart;
    struct buf backlog;
    enum part part;
    int64_t index; /* of the file that the path or the content is for */
    struct buf path;
    bool has_path;
    bool is_single;    /* the path is that of the query */
    bool is_waiting;   /* for the sandbox: no event is read */
    bool is_draining;  /* the content is complete, but not taken */
    bool is_writing;   /* on_written() comes */
    bool is_broken;    /* the sandbox takes no more; on_written() says why */
    bool has_end;      /* the last boundary was read */
    bool is_complete;  /* so was the body */
    bool is_consuming; /* a function further up the stack does */
    int fd;            /* our end of the socket; or -1 */
    struct writer *writer;
};

static void go_on(struct upload *upload);

/* ---- ends ---- */

static void close_socket(struct upload *upload)
{
    writer_free(upload->writer);
    upload->writer = NULL;
    if (upload->fd >= 0)
        close(upload->fd);
    upload->fd = -1;
}

/* Frees it, or leaves that to on_written() or consume(). */
static void release(struct upload *upload)
{
    close_socket(upload);
    if (upload->is_writing || upload->is_consuming)
        return;
    service_cancel(&upload->use);
    multipart_done(&upload->multipart);
    buf_done(&upload->backlog);
    buf_done(&upload->path);
    free(upload);
}

static void on_gone(void *data)
{
    struct upload *upload = data;

    upload->exchange = NULL;
    release(upload);
}

static void fail(struct upload *upload, int status, const char *code, const char *text)
{
    struct exchange *exchange = upload->exchange;

    upload->exchange = NULL;
    exchange_watch(exchange, NULL, NULL);
    daytona_fail(exchange, status, code, text);
    release(upload);
}

static void fail_err(struct upload *upload, const struct err *err)
{
    fail(upload, dfiles_status(err), dfiles_code(err),
         err->message[0] != '\0' ? err->message : err_text(err->code));
}

/* ---- one file ---- */

static void on_written(void *data, const struct err *err)
{
    struct upload *upload = data;

    upload->is_writing = false;
    service_release(upload->sandbox);
    upload->sandbox = NULL;
    close_socket(upload);
    if (upload->exchange == NULL)
        release(upload);
    else if (err != NULL)
        fail_err(upload, err);
    else
        go_on(upload);
}

/* All content was given to the socket. */
static void end_content(struct upload *upload)
{
    upload->is_draining = false;
    (void)shutdown(upload->fd, SHUT_WR);
}

static void on_drained(void *data)
{
    struct upload *upload = data;

    if (upload->is_draining)
        end_content(upload); /* on_written() goes on */
    else
        go_on(upload);
}

/* The sandbox has closed its end: on_written() comes with the reason. */
static void on_broken(void *data, int error)
{
    struct upload *upload = data;

    (void)error;
    upload->is_broken = true;
}

static int open_socket(struct upload *upload, int *out_theirs)
{
    const struct writer_events events = {
        .on_drained = on_drained, .on_broken = on_broken, .data = upload};
    const int bytes = SOCKET_BYTES;
    int ends[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return ERR_BUSY;
    upload->fd = ends[0];
    *out_theirs = ends[1];
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    if (write(ends[1], "", 1) != 1)
        return ERR_IO;
    r = writer_new(upload->service->config.loop, ends[0], QUEUE_BYTES, &events, &upload->writer);
    return r;
}

static void on_ready(void *data, struct sandbox *sandbox, const struct err *err)
{
    struct upload *upload = data;
    struct err failed = ERR_INIT;
    char path[ROOM_PATH_BYTES];
    int theirs = -1;
    int r;

    if (err != NULL) {
        fail_err(upload, err);
        return;
    }
    upload->sandbox = sandbox;
    upload->is_broken = false;
    r = toolbox_path(buf_view(&upload->path), path) ? open_socket(upload, &theirs)
                                                    : ERR_INVALID_PATH;
    if (r == 0)
        r = room_file_write(sandbox->room, path, ROOM_WRITE_PARENTS | ROOM_WRITE_REPLACE, theirs,
                            UINT64_MAX, on_written, upload);
    if (theirs >= 0)
        close(theirs);
    if (r == 0) {
        upload->is_writing = true;
        go_on(upload);
        return;
    }
    service_release(sandbox);
    upload->sandbox = NULL;
    err_set_plain(&failed, r);
    fail_err(upload, &failed);
}

/* ---- parts ---- */

/* "files[3].path"; or any other name, whose content is ignored. */
static bool read_name(struct str name, enum part *out_part, int64_t *out_index)
{
    const struct str before = STR("files[");
    size_t end = str_find(name, STR("]"));
    struct str kind;

    if (!str_starts_with(name, before) || end == SIZE_MAX || end - before.len > MOST_INDEX_CHARS ||
        !str_to_int64(str_slice(name, before.len, end - before.len), out_index) || *out_index < 0)
        return false;
    kind = str_slice(name, end + 1, name.len);
    *out_part = str_eq(kind, STR(".path")) ? PART_PATH : PART_FILE;
    return *out_part == PART_PATH || str_eq(kind, STR(".file"));
}

/* May answer, which ends the upload. */
static void begin_file(struct upload *upload, int64_t index)
{
    struct sandbox *sandbox;

    if (!upload->has_path || upload->index != index) {
        fail(upload, 400, NULL,
             upload->is_single ? "there must be one part called file"
                               : "the path of a file must come before its content");
        return;
    }
    upload->has_path = false;
    sandbox = service_find(upload->service, str_from(upload->sandbox_id), upload->owner);
    if (sandbox == NULL || sandbox->state != SANDBOX_RUNNING) {
        fail(upload, 409, NULL, "the sandbox is not running any more");
        return;
    }
    upload->is_waiting = true;
    service_use(sandbox, &upload->use); /* on_ready() goes on, maybe at once */
}

/* The same. */
static void begin_part(struct upload *upload)
{
    int64_t index = upload->index;

    if (upload->is_single && str_eq(multipart_name(&upload->multipart), STR("file"))) {
        upload->part = PART_FILE;
        begin_file(upload, index);
        return;
    }
    if (upload->is_single) {
        fail(upload, 400, NULL, "the part with the content must be called file");
        return;
    }
    if (!read_name(multipart_name(&upload->multipart), &upload->part, &index)) {
        fail(upload, 400, NULL, "parts must be called files[0].path, files[0].file and so on");
        return;
    }
    if (upload->part == PART_PATH) {
        upload->index = index;
        upload->has_path = false;
        buf_clear(&upload->path);
        return;
    }
    begin_file(upload, index);
}

static void take_data(struct upload *upload, struct str data)
{
    if (upload->part == PART_PATH) {
        if (buf_append_str(&upload->path, data) < 0)
            fail(upload, 400, "INVALID_FILE_PATH", "a path is too long");
        return;
    }
    if (!upload->is_broken && writer_send(upload->writer, &data, 1) < 0)
        upload->is_broken = true;
    if (!upload->is_broken && writer_kept(upload->writer) > HIGH_BYTES)
        upload->is_waiting = true;
}

static void end_part(struct upload *upload)
{
    if (upload->part == PART_PATH) {
        upload->has_path = upload->path.len > 0;
        return;
    }
    upload->is_waiting = true; /* until it is written */
    if (!upload->is_broken && writer_kept(upload->writer) > 0)
        upload->is_draining = true;
    else
        end_content(upload);
}

/* ---- pieces ---- */

/* Reads events until it must wait. False if the upload is gone. */
static bool consume(struct upload *upload, struct str *bytes)
{
    struct str data = STR_EMPTY;
    int event = MULTIPART_END;

    upload->is_consuming = true;
    while (upload->exchange != NULL && !upload->is_waiting && event != MULTIPART_MORE) {
        event = multipart_next(&upload->multipart, bytes, &data);
        if (event < 0)
            fail(upload, event == ERR_NO_MEMORY ? 503 : 400, NULL,
                 "the body is not valid multipart/form-data");
        else if (event == MULTIPART_PART)
            begin_part(upload);
        else if (event == MULTIPART_DATA)
            take_data(upload, data);
        else if (event == MULTIPART_PART_END)
            end_part(upload);
        else if (event == MULTIPART_END)
            upload->has_end = true;
    }
    upload->is_consuming = false;
    if (upload->exchange != NULL)
        return true;
    release(upload);
    return false;
}

static void answer_if_over(struct upload *upload)
{
    struct exchange *exchange = upload->exchange;

    if (upload->is_waiting || !upload->is_complete)
        return;
    if (!upload->has_end) {
        fail(upload, 400, NULL, "the multipart body ended too early");
        return;
    }
    if (upload->is_single && upload->has_path) {
        fail(upload, 400, NULL, "there must be one part called file");
        return;
    }
    upload->exchange = NULL;
    exchange_watch(exchange, NULL, NULL);
    call_answer_json(exchange, 200, STR("{}"));
    release(upload);
}

/* What it waited for is there: continues with the pieces that came meanwhile. */
static void go_on(struct upload *upload)
{
    cleanup_buf struct buf backlog = upload->backlog;
    struct str bytes = buf_view(&backlog);

    upload->is_waiting = false;
    if (upload->is_consuming)
        return;
    buf_init(&upload->backlog, BACKLOG_BYTES);
    if (!consume(upload, &bytes))
        return;
    if (bytes.len > 0 && buf_append_str(&upload->backlog, bytes) < 0) {
        fail(upload, 503, NULL, err_text(ERR_NO_MEMORY));
        return;
    }
    if (!upload->is_waiting)
        exchange_take_pieces(upload->exchange);
    answer_if_over(upload);
}

static void on_piece(void *data, struct str bytes)
{
    struct upload *upload = data;

    if (!upload->is_waiting && !consume(upload, &bytes))
        return;
    if (bytes.len > 0 && buf_append_str(&upload->backlog, bytes) < 0)
        fail(upload, 503, NULL, err_text(ERR_NO_MEMORY));
    else if (upload->is_waiting)
        exchange_hold_pieces(upload->exchange);
}

static void on_complete(void *data, struct exchange *exchange)
{
    struct upload *upload = data;

    (void)exchange;
    upload->is_complete = true;
    answer_if_over(upload);
}

static const struct exchange_events upload_events = {.on_gone = on_gone};

/* `path` or NULL: the paths are in the body. */
static void start(const struct api_call *call, const char *path)
{
    const struct sandbox *sandbox = toolbox_find(call);
    struct str type = STR_EMPTY;
    struct upload *upload = sandbox != NULL ? calloc(1, sizeof(*upload)) : NULL;

    if (sandbox == NULL)
        return;
    if (upload == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    upload->service = call->service;
    upload->exchange = call->exchange;
    upload->fd = -1;
    memcpy(upload->sandbox_id, sandbox->record.id, sizeof(upload->sandbox_id));
    memcpy(upload->owner, call->owner, sizeof(upload->owner));
    upload->use = (struct sandbox_use){.ready = on_ready, .data = upload};
    list_init(&upload->use.node);
    buf_init(&upload->backlog, BACKLOG_BYTES);
    buf_init(&upload->path, ROOM_PATH_BYTES);
    upload->is_single = upload->has_path = path != NULL;
    if (path != NULL && buf_append_str(&upload->path, str_from(path)) < 0) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        release(upload);
        return;
    }
    (void)http_header(call->request, STR("Content-Type"), &type);
    if (multipart_init(&upload->multipart, type) < 0) {
        call_fail(call->exchange, 400, "the body must be multipart/form-data with a boundary");
        release(upload);
        return;
    }
    exchange_watch(call->exchange, &upload_events, upload);
    exchange_stream(call->exchange, UINT64_MAX, on_piece, on_complete, upload);
}

void dfiles_upload(const struct api_call *call)
{
    start(call, NULL);
}

void dfiles_upload_one(const struct api_call *call)
{
    char path[ROOM_PATH_BYTES];

    if (toolbox_query_path(call, STR("path"), NULL, path))
        start(call, path);
}
