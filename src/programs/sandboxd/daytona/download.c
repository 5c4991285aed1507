/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several files in one multipart answer: a part `file` for each that can be read, else a part
 * `error`; or one file as it is. Content is read as the client takes it.
 */
#include "programs/sandboxd/daytona/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/rand.h"
#include "programs/sandboxd/daytona/error.h"
#include "programs/sandboxd/daytona/toolbox.h"

enum {
    PIECE_BYTES = 256 << 10,
    HIGH_BYTES = 1 << 20, /* unread by a client */
    BOUNDARY_BYTES = 16,
    HEAD_BYTES = 64 << 10,
};

struct download {
    struct service *service;
    struct exchange *exchange; /* NULL: the client left */
    char sandbox_id[SANDBOXSTORE_ID_BYTES];
    char owner[SANDBOXSTORE_ID_BYTES];
    struct sandbox_use use;
    struct sandbox *sandbox; /* while a file is opened */
    bool is_opening;
    bool is_old_client;
    struct arena arena;
    const struct json_value *path; /* the next one */
    size_t left;
    const char *single; /* instead: the only file, of which no parts are made; or NULL */
    int fd;             /* of the present file; or -1 */
    uint64_t bytes_left;
    char boundary[2 * BOUNDARY_BYTES + 1];
};

/* ---- the end ---- */

static void release(struct download *download)
{
    if (download->fd >= 0)
        close(download->fd);
    download->fd = -1;
    if (download->is_opening) /* on_opened() comes */
        return;
    service_cancel(&download->use);
    arena_done(&download->arena);
    free(download);
}

static void on_gone(void *data)
{
    struct download *download = data;

    download->exchange = NULL;
    release(download);
}

static void cut(struct download *download)
{
    exchange_cut(download->exchange); /* the client notices that it is incomplete */
    on_gone(download);
}

/* An error of a file that is sent as it is, before it is. */
static void fail(struct download *download, const struct err *err)
{
    exchange_watch(download->exchange, NULL, NULL);
    dfiles_fail(download->exchange, err);
    on_gone(download);
}

static struct str path_of(const struct download *download)
{
    return download->single != NULL ? str_from(download->single) : json_str(download->path);
}

/* ---- parts ---- */

/* A name that fits between quotes, or in the form of RFC 5987. */
static int put_file_name(struct buf *out, struct str name)
{
    static const char plain[] = " !#$&'()*+,-./:;<=>?@[]^_`{|}~";
    bool is_plain = true;
    int r;

    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

        if (!is_word && (c == '\0' || strchr(plain, c) == NULL))
            is_plain = false;
    }
    if (is_plain)
        return buf_printf(out, "filename=\"%.*s\"", STR_ARG(name));
    r = buf_append_str(out, STR("filename*=UTF-8''"));
    for (size_t i = 0; i < name.len && r == 0; i++)
        r = buf_printf(out, "%%%02X", (unsigned)(unsigned char)name.ptr[i]);
    return r;
}

static int put_head(const struct download *download, struct buf *out, const char *kind,
                    const char *type, uint64_t length)
{
    int r = buf_printf(out, "--%s\r\nContent-Disposition: form-data; name=\"%s\"; ",
                       download->boundary, kind);

    if (r == 0)
        r = put_file_name(out, path_of(download));
    return r < 0 ? r
                 : buf_printf(out, "\r\nContent-Type: %s\r\nContent-Length: %llu\r\n\r\n", type,
                              (unsigned long long)length);
}

static bool write_all(struct download *download, const struct buf *text)
{
    const struct str part = buf_view(text);

    return exchange_write(download->exchange, &part, 1) == 0;
}

static bool write_error(struct download *download, const struct err *err)
{
    cleanup_buf struct buf out = BUF_INIT(HEAD_BYTES);
    cleanup_buf struct buf body = BUF_INIT(HEAD_BYTES);
    struct str text = str_from(err->message[0] != '\0' ? err->message : err_text(err->code));
    int r = download->is_old_client
                ? buf_append_str(&body, text)
                : daytona_error_write(&body, STR("/toolbox/files/bulk-download"),
                                      dfiles_status(err), dfiles_code(err), text);

    if (r == 0)
        r = put_head(download, &out, "error",
                     download->is_old_client ? "text/plain" : "application/json", body.len);
    if (r == 0)
        r = buf_append_str(&out, buf_view(&body));
    if (r == 0)
        r = buf_append_str(&out, STR("\r\n"));
    return r == 0 && write_all(download, &out);
}

/* Sends pieces of the file until the client must read first; 1 at its end, or an error. */
static int send_pieces(struct download *download)
{
    static char piece[PIECE_BYTES]; /* of the loop's thread */

    while (download->bytes_left > 0) {
        size_t most =
            download->bytes_left < sizeof(piece) ? (size_t)download->bytes_left : sizeof(piece);
        ssize_t got;
        struct str part;

        if (exchange_kept(download->exchange) >= HIGH_BYTES)
            return 0;
        got = read(download->fd, piece, most);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) /* or it has become shorter than we said */
            return ERR_IO;
        part = (struct str){piece, (size_t)got};
        if (exchange_write(download->exchange, &part, 1) < 0)
            return ERR_IO;
        download->bytes_left -= (uint64_t)got;
    }
    return 1;
}

/* ---- files ---- */

static void go_on(struct download *download);

static void note_done(struct download *download)
{
    if (download->single == NULL)
        download->path = json_next(download->path);
    download->left--;
}

/* Nothing that a browser would show as a page of this service. */
static int begin_single(struct download *download)
{
    cleanup_buf struct buf disposition = BUF_INIT(HEAD_BYTES);
    struct http_field fields[] = {{STR("Content-Disposition"), STR_EMPTY},
                                  {STR("X-Content-Type-Options"), STR("nosniff")},
                                  {STR("Cache-Control"), STR("no-store")}};
    struct str rest = path_of(download);
    struct str name = STR_EMPTY;
    int r = buf_append_str(&disposition, STR("attachment; "));

    while (str_cut(&rest, '/', &name)) /* the last one */
        continue;
    if (r == 0)
        r = put_file_name(&disposition, name);
    if (r < 0)
        return r;
    fields[0].value = buf_view(&disposition);
    exchange_begin(download->exchange,
                   &(struct http_answer){.status = 200,
                                         .type = STR("application/octet-stream"),
                                         .fields = fields,
                                         .field_count = array_size(fields)});
    return 0;
}

static int begin_file(struct download *download, uint64_t size)
{
    cleanup_buf struct buf head = BUF_INIT(HEAD_BYTES);
    int r;

    download->bytes_left = size;
    if (download->single != NULL)
        return begin_single(download);
    r = put_head(download, &head, "file", "application/octet-stream", size);
    return r == 0 && !write_all(download, &head) ? ERR_IO : r;
}

static void on_opened(void *data, const struct err *err, int fd, const struct room_entry *entry)
{
    struct download *download = data;

    download->is_opening = false;
    service_release(download->sandbox);
    download->sandbox = NULL;
    if (err == NULL)
        download->fd = fd;
    if (download->exchange == NULL) {
        release(download);
        return;
    }
    if (err != NULL && download->single != NULL) {
        fail(download, err);
        return;
    }
    if (err != NULL ? !write_error(download, err) : begin_file(download, entry->size) < 0) {
        cut(download);
        return;
    }
    if (err != NULL)
        note_done(download);
    go_on(download);
}

static void on_ready(void *data, struct sandbox *sandbox, const struct err *err)
{
    struct download *download = data;
    struct err failed = ERR_INIT;
    char path[ROOM_PATH_BYTES];
    int r = err != NULL ? err->code : 0;

    if (r == 0) {
        download->sandbox = sandbox;
        r = toolbox_path(path_of(download), path) /* as was checked */
                ? room_file_open(sandbox->room, path, on_opened, download)
                : ERR_INVALID_PATH;
        if (r < 0)
            service_release(sandbox);
    }
    if (r < 0 && download->single != NULL) {
        err_set_plain(&failed, r);
        fail(download, err != NULL ? err : &failed);
    } else if (r < 0)
        cut(download);
    else
        download->is_opening = true;
}

static void open_next(struct download *download)
{
    struct sandbox *sandbox =
        service_find(download->service, str_from(download->sandbox_id), download->owner);

    if (sandbox == NULL || sandbox->state != SANDBOX_RUNNING)
        cut(download); /* it ended meanwhile */
    else
        service_use(sandbox, &download->use);
}

/* What stands between parts. */
static bool write_mark(struct download *download, const char *text)
{
    const struct str mark = str_from(text);

    return download->single != NULL || exchange_write(download->exchange, &mark, 1) == 0;
}

static void go_on(struct download *download)
{
    char end[2 * BOUNDARY_BYTES + 16];
    int r;

    if (download->fd >= 0) {
        r = send_pieces(download);
        if (r == 0)
            return; /* when it has drained */
        if (r < 0 || !write_mark(download, "\r\n")) {
            cut(download);
            return;
        }
        close(download->fd);
        download->fd = -1;
        note_done(download);
    }
    if (download->left > 0) {
        open_next(download);
        return;
    }
    snprintf(end, sizeof(end), "--%s--\r\n", download->boundary);
    if (!write_mark(download, end)) {
        cut(download);
        return;
    }
    exchange_end(download->exchange);
    on_gone(download);
}

static void on_drained(void *data)
{
    struct download *download = data;

    if (download->fd >= 0)
        go_on(download);
}

static const struct exchange_events download_events = {.on_gone = on_gone,
                                                       .on_drained = on_drained};

/* ---- the request ---- */

/* What is wrong with the paths, or NULL. */
static const char *read_paths(const struct json_value *object, struct download *download)
{
    const struct json_value *paths = json_get(object, STR("paths"));
    char path[ROOM_PATH_BYTES];

    if (paths == NULL || paths->type != JSON_ARRAY || paths->size == 0 ||
        paths->size > FILES_MOST_PATHS)
        return "paths must be a list of paths";
    json_each_item (item, paths)
        if (item->type != JSON_STRING || !toolbox_path(json_str(item), path))
            return "paths must be a list of paths";
    /* The request is forgotten when the answer begins. */
    paths = json_copy(&download->arena, paths);
    if (paths == NULL)
        return "there are too many paths";
    download->path = paths + 1;
    download->left = paths->size;
    return NULL;
}

static void begin(struct download *download)
{
    unsigned char random[BOUNDARY_BYTES];
    char type[128];

    rand_bytes(random, sizeof(random));
    hex_text(download->boundary, random, sizeof(random));
    snprintf(type, sizeof(type), "multipart/form-data; boundary=%s", download->boundary);
    exchange_watch(download->exchange, &download_events, download);
    exchange_begin(download->exchange,
                   &(struct http_answer){.status = 200, .type = str_from(type)});
    go_on(download);
}

/* NULL after an answer. */
static struct download *new_download(const struct api_call *call, const struct sandbox *sandbox)
{
    struct download *download = sandbox != NULL ? calloc(1, sizeof(*download)) : NULL;

    if (sandbox == NULL)
        return NULL;
    if (download == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return NULL;
    }
    download->service = call->service;
    download->exchange = call->exchange;
    download->fd = -1;
    download->is_old_client = toolbox_is_old_client(call->request);
    memcpy(download->sandbox_id, sandbox->record.id, sizeof(download->sandbox_id));
    memcpy(download->owner, call->owner, sizeof(download->owner));
    download->use = (struct sandbox_use){.ready = on_ready, .data = download};
    list_init(&download->use.node);
    arena_init(&download->arena, CALL_ARENA_BYTES);
    return download;
}

void dfiles_download(const struct api_call *call)
{
    struct download *download = new_download(call, toolbox_find(call));
    const struct json_value *object;
    const char *wrong;

    if (download == NULL)
        return;
    object = call_object(call, &download->arena, false);
    wrong = object != NULL ? read_paths(object, download) : NULL;
    if (wrong != NULL)
        call_fail(call->exchange, 400, wrong);
    if (object == NULL || wrong != NULL)
        release(download);
    else
        begin(download);
}

void dfiles_download_one(const struct api_call *call)
{
    char path[ROOM_PATH_BYTES];
    struct sandbox *sandbox =
        toolbox_query_path(call, STR("path"), NULL, path) ? toolbox_find(call) : NULL;
    struct download *download = new_download(call, sandbox);

    if (download == NULL)
        return;
    download->left = 1;
    download->single = arena_copy(&download->arena, str_from(path));
    if (download->single == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        release(download);
        return;
    }
    exchange_watch(call->exchange, &download_events, download);
    service_use(sandbox, &download->use);
}
