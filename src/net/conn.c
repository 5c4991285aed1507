/* SPDX-License-Identifier: Apache-2.0 */
#include "net/conn.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/checked.h"
#include "base/err.h"

/* A smaller limit is kept to exactly: what waits for the end of the turn is not counted. */
enum { UNCOUNTED_MIN_BYTES = 8 * CONN_QUEUE_BYTES };

enum { LINE_BYTES = 64 }; /* of the processor's caches, about */

/* What is sent when the turn ends. */
struct queued {
    struct conn *conn; /* NULL: it was closed */
    size_t at;         /* in the queue's bytes */
    size_t len;        /* 0: it was written, or failed */
};

struct conn_space {
    size_t references;
    size_t kept_bytes; /* of all its connections */
    struct loop *loop; /* of the connections */
    struct loop_task end_turn;
    struct queued queue[CONN_QUEUE_SENDS];
    size_t queue_count;
    size_t queue_written; /* of these, for now */
    size_t queue_bytes;   /* of the others */
    char queue_space[CONN_QUEUE_BYTES];
    char bytes[CONN_READ_BYTES];
};

/*
 * One write is in progress and a second one is collected: two blocks, however many sends there
 * were.
 */
struct conn_kept {
    uv_write_t write;
    struct conn *conn;
    struct buf writing;
    struct buf waiting;
};

static void on_turn_end(void *data);

int conn_space_new(struct conn_space **out_space)
{
    struct conn_space *space = malloc(sizeof(*space));

    if (space == NULL)
        return ERR_NO_MEMORY;
    /* A peer that is gone is an error of the write, and must not kill the program. */
    signal(SIGPIPE, SIG_IGN);
    space->references = 1;
    space->kept_bytes = 0;
    space->loop = NULL;
    space->queue_count = 0;
    space->queue_written = 0;
    space->queue_bytes = 0;
    loop_task_init(&space->end_turn, on_turn_end, space);
    *out_space = space;
    return 0;
}

struct conn_space *conn_space_ref(struct conn_space *space)
{
    space->references++;
    return space;
}

void conn_space_unref(struct conn_space *space)
{
    if (space == NULL || --space->references > 0)
        return;
    loop_task_cancel(&space->end_turn);
    free(space);
}

size_t conn_space_kept(const struct conn_space *space)
{
    return space->kept_bytes;
}

static void kept_free(struct conn_kept *kept)
{
    if (kept == NULL)
        return;
    kept->conn->space->kept_bytes -= kept->writing.len + kept->waiting.len;
    buf_done(&kept->writing);
    buf_done(&kept->waiting);
    free(kept);
}

static void tell_end(struct conn *conn, int error)
{
    if (conn->is_closing || (conn->has_ended && (error == 0 || conn->is_broken)))
        return;
    conn->has_ended = true;
    conn->is_broken |= error != 0;
    conn->is_reading = false;
    uv_read_stop(&conn->stream);
    conn->events->on_end(conn, error);
}

/* With thousands of connections none is in the processor's caches: it fetches this meanwhile. */
static void fetch(const char *from, const char *end)
{
    for (; from < end; from += LINE_BYTES)
        __builtin_prefetch(from);
}

/* ---- reading ---- */

/* SAFETY: libuv asks for memory right before it reads, and passes it on before it asks again. */
static void lend_space(uv_handle_t *handle, size_t suggested, uv_buf_t *out_buf)
{
    struct conn *conn = handle->data;

    (void)suggested;
    fetch((const char *)(conn + 1), (const char *)conn + conn->events->owner_bytes);
    *out_buf = uv_buf_init(conn->space->bytes, CONN_READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
    struct conn *conn = stream->data;
    int r;

    if (got == 0) /* would have blocked */
        return;
    if (got == UV_EOF) {
        tell_end(conn, conn->filter != NULL ? conn->filter->ops->end(conn->filter, NULL) : 0);
    } else if (got < 0) {
        tell_end(conn, loop_error((int)got));
    } else if (conn->filter != NULL) {
        r = conn->filter->ops->receive(conn->filter, (struct str){buf->base, (size_t)got}, NULL);
        if (r < 0)
            tell_end(conn, r);
    } else {
        conn->events->on_bytes(conn, (struct str){buf->base, (size_t)got});
    }
}

void conn_pause(struct conn *conn)
{
    if (!conn->is_reading)
        return;
    conn->is_reading = false;
    uv_read_stop(&conn->stream);
}

void conn_resume(struct conn *conn)
{
    if (conn->is_reading || conn->has_ended || conn->is_closing)
        return;
    conn->is_reading = uv_read_start(&conn->stream, lend_space, on_read) == 0;
}

int conn_peer_uid(const struct conn *conn, uid_t *out_uid)
{
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);
    uv_os_fd_t fd;

    if (conn->handle.type != UV_NAMED_PIPE || uv_fileno(&conn->handle, &fd) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return ERR_UNSUPPORTED;
    *out_uid = peer.uid;
    return 0;
}

/* ---- writing ---- */

static void shut_now(struct conn *conn)
{
    uv_os_fd_t fd;

    conn->wants_shut = false;
    conn->has_shut = true;
    if (uv_fileno(&conn->handle, &fd) == 0)
        (void)shutdown(fd, SHUT_WR);
}

static void on_written(uv_write_t *write, int status);

static int write_kept(struct conn_kept *kept)
{
    uv_buf_t buf = {.base = kept->writing.data, .len = kept->writing.len};

    return loop_error(uv_write(&kept->write, &kept->conn->stream, &buf, 1, on_written));
}

static void on_written(uv_write_t *write, int status)
{
    struct conn_kept *kept = write->data;
    struct conn *conn = kept->conn;
    int r = loop_error(status);

    if (conn->is_closing) /* on_handle_closed() frees what is kept */
        return;
    conn->space->kept_bytes -= kept->writing.len;
    buf_clear(&kept->writing);
    if (r == 0 && kept->waiting.len > 0) {
        struct buf empty = kept->writing;

        kept->writing = kept->waiting;
        kept->waiting = empty;
        r = write_kept(kept);
        if (r == 0)
            return;
    }
    conn->kept = NULL;
    kept_free(kept);
    if (r < 0) {
        tell_end(conn, r);
        return;
    }
    if (conn->wants_shut)
        shut_now(conn);
    conn->events->on_drained(conn);
}

static size_t total_of(const struct str *parts, size_t count)
{
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += parts[i].len;
    return total;
}

static int append_parts(struct conn_space *space, struct buf *buf, const struct str *parts,
                        size_t count, size_t skip)
{
    size_t before = buf->len;
    int r = buf_reserve(buf, total_of(parts, count) - skip);

    for (size_t i = 0; i < count && r == 0; i++) {
        size_t skipped = skip < parts[i].len ? skip : parts[i].len;

        skip -= skipped;
        r = buf_append(buf, parts[i].ptr + skipped, parts[i].len - skipped);
    }
    space->kept_bytes += buf->len - before;
    return r;
}

/* Keeps all but the first `sent` bytes, and lets libuv write them. */
static int keep(struct conn *conn, const struct str *parts, size_t count, size_t sent)
{
    struct conn_kept *kept;
    int r;

    if (conn->kept != NULL)
        return append_parts(conn->space, &conn->kept->waiting, parts, count, sent);
    kept = malloc(sizeof(*kept));
    if (kept == NULL)
        return ERR_NO_MEMORY;
    kept->conn = conn;
    kept->write.data = kept;
    buf_init(&kept->writing, SIZE_MAX);
    buf_init(&kept->waiting, SIZE_MAX);
    r = append_parts(conn->space, &kept->writing, parts, count, sent);
    if (r == 0)
        r = write_kept(kept);
    if (r < 0) {
        kept_free(kept);
        return r;
    }
    conn->kept = kept;
    return 0;
}

/* Writes to the socket itself. A failure in the middle leaves an unusable stream. */
static int send_now(struct conn *conn, const struct str *parts, size_t count)
{
    uv_buf_t bufs[CONN_MAX_PARTS];
    int sent = 0;
    int r;

    assert(count > 0 && count <= CONN_MAX_PARTS);
    if (conn->kept == NULL) {
        for (size_t i = 0; i < count; i++) {
            /* SAFETY: libuv's buffers are not const, but a write only reads them. */
            memcpy(&bufs[i].base, &parts[i].ptr, sizeof(bufs[i].base));
            bufs[i].len = parts[i].len;
        }
        sent = uv_try_write(&conn->stream, bufs, (unsigned)count);
        if (sent == UV_EAGAIN)
            sent = 0;
        if (sent < 0) {
            conn->is_broken = true;
            return ERR_IO;
        }
        if ((size_t)sent == total_of(parts, count))
            return 0;
    }
    r = keep(conn, parts, count, (size_t)sent);
    conn->is_broken |= r < 0;
    return r;
}

/* ---- the queue of a turn ---- */

static void write_queued(struct conn_space *space, struct queued *queued)
{
    const struct str bytes = {space->queue_space + queued->at, queued->len};

    queued->len = 0;
    if (queued->conn != NULL && bytes.len > 0 && !queued->conn->is_broken)
        (void)send_now(queued->conn, &bytes, 1);
}

static void write_queue(struct conn_space *space)
{
    while (space->queue_written < space->queue_count)
        write_queued(space, &space->queue[space->queue_written++]);
    space->queue_bytes = 0;
}

void conn_flush(struct conn *conn)
{
    struct conn_space *space = conn->space;

    if (!conn->is_queued)
        return;
    conn->is_queued = false;
    for (size_t i = 0; i < space->queue_count; i++)
        if (space->queue[i].conn == conn) {
            write_queued(space, &space->queue[i]);
            space->queue[i].conn = NULL;
        }
}

/* A connection that has failed, or could not write all: not told from inside a call. */
static void tell_written(struct conn *conn)
{
    if (conn == NULL || (!conn->is_broken && conn->kept == NULL))
        return;
    conn_flush(conn); /* it is told once */
    if (conn->is_broken) {
        conn->is_broken = false; /* for tell_end(), which says so */
        tell_end(conn, ERR_IO);
    } else {
        conn->events->on_kept(conn);
    }
}

static void on_turn_end(void *data)
{
    struct conn_space *space = conn_space_ref(data);
    size_t told = 0;

    while (told < space->queue_count) { /* those that are told may send */
        write_queue(space);
        while (told < space->queue_written)
            tell_written(space->queue[told++].conn);
    }
    for (size_t i = 0; i < space->queue_count; i++)
        if (space->queue[i].conn != NULL)
            space->queue[i].conn->is_queued = false;
    space->queue_count = 0;
    space->queue_written = 0;
    space->queue_bytes = 0;
    conn_space_unref(space);
}

/* NULL: it must not wait, because there is no place, or because of what was written. */
static struct queued *place_in_queue(struct conn *conn, size_t len)
{
    struct conn_space *space = conn->space;
    struct queued *queued;

    if (space->queue_bytes + len > CONN_QUEUE_BYTES) {
        write_queue(space);
        if (conn->kept != NULL || conn->is_broken)
            return NULL;
    }
    if (space->queue_written < space->queue_count) {
        queued = &space->queue[space->queue_count - 1];
        if (queued->conn == conn)
            return queued;
    }
    if (space->queue_count == CONN_QUEUE_SENDS)
        return NULL;
    loop_end_turn(space->loop, &space->end_turn);
    queued = &space->queue[space->queue_count++];
    *queued = (struct queued){.conn = conn, .at = space->queue_bytes};
    conn->is_queued = true;
    fetch((const char *)&conn->tcp, (const char *)(&conn->tcp + 1)); /* until it is written */
    return queued;
}

/* At the end of the turn if that can wait. */
static int send_wire(struct conn *conn, const struct str *parts, size_t count)
{
    struct conn_space *space = conn->space;
    size_t len = total_of(parts, count);
    struct queued *queued = NULL;

    if (conn->kept == NULL && conn->events->on_kept != NULL && len <= CONN_QUEUED_MAX_BYTES)
        queued = place_in_queue(conn, len);
    if (queued == NULL) {
        if (conn->kept == NULL)
            conn_flush(conn);
        return conn->is_broken ? ERR_IO : send_now(conn, parts, count);
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(space->queue_space + space->queue_bytes, parts[i].ptr, parts[i].len);
        space->queue_bytes += parts[i].len;
    }
    queued->len += len;
    return 0;
}

int conn_send(struct conn *conn, const struct str *parts, size_t count)
{
    size_t total;

    if (conn->is_closing || conn->is_broken || conn->has_shut || conn->wants_shut)
        return ERR_IO;
    if (conn->max_kept < UNCOUNTED_MIN_BYTES)
        conn_flush(conn);
    /* Asked before anything goes out, so that the answer does not hang on the peer's speed. */
    if (!checked_add(conn_kept(conn), total_of(parts, count), &total) || total > conn->max_kept)
        return ERR_TOO_LARGE;
    if (conn->filter != NULL)
        return conn->filter->ops->send(conn->filter, parts, count);
    return send_wire(conn, parts, count);
}

size_t conn_kept(const struct conn *conn)
{
    if (conn->kept == NULL)
        return 0;
    return uv_stream_get_write_queue_size(&conn->stream) + conn->kept->waiting.len;
}

void conn_shut(struct conn *conn)
{
    if (conn->is_closing || conn->has_shut || conn->wants_shut)
        return;
    if (conn->filter != NULL)
        conn->filter->ops->close(conn->filter);
    conn_flush(conn);
    if (conn->kept == NULL)
        shut_now(conn);
    else
        conn->wants_shut = true;
}

/* ---- the filter's side ---- */

static void on_plain(void *data, struct str bytes)
{
    struct conn *conn = data;

    if (!conn->is_closing)
        conn->events->on_bytes(conn, bytes);
}

static int on_wire(void *data, struct str bytes)
{
    struct conn *conn = data;

    if (conn->is_closing || conn->is_broken)
        return ERR_IO;
    /*
     * The plain bytes were checked against the limit; a filter adds to them, and sends by itself.
     */
    if (conn_kept(conn) > 2 * conn->max_kept)
        return ERR_TOO_LARGE;
    return send_wire(conn, &bytes, 1);
}

static void on_ready(void *data)
{
    struct conn *conn = data;

    /* A server answers, and nothing is asked before. */
    if (conn->events->on_ready != NULL && !conn->is_closing)
        conn->events->on_ready(conn);
}

static void on_ended(void *data)
{
    tell_end(data, 0);
}

int conn_set_filter(struct conn *conn, struct filter *filter)
{
    conn->filter = filter;
    filter->sink = (struct filter_sink){
        .plain = on_plain, .wire = on_wire, .ready = on_ready, .ended = on_ended, .data = conn};
    return filter->ops->start(filter, NULL);
}

/* ---- lives ---- */

int conn_init(struct conn *conn, struct loop *loop, struct conn_space *space, int fd,
              size_t max_kept, const struct conn_events *events)
{
    uv_loop_t *uv = loop_uv(loop);
    int domain = 0;
    socklen_t len = sizeof(domain);
    int r;

    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0)
        domain = AF_INET;
    r = domain == AF_UNIX ? uv_pipe_init(uv, &conn->pipe, 0) : uv_tcp_init(uv, &conn->tcp);
    if (r < 0) {
        close(fd);
        return loop_error(r);
    }
    conn->handle.data = conn;
    conn->events = events;
    conn->space = conn_space_ref(space);
    conn->filter = NULL;
    conn->kept = NULL;
    conn->max_kept = max_kept;
    conn->is_reading = false;
    conn->has_ended = false;
    conn->is_broken = false;
    conn->is_closing = false;
    conn->has_shut = false;
    conn->wants_shut = false;
    conn->is_queued = false;
    space->loop = loop;
    r = domain == AF_UNIX ? uv_pipe_open(&conn->pipe, fd) : uv_tcp_open(&conn->tcp, fd);
    if (r < 0) {
        /* The handle is on the loop already: it is closed like any other, and the owner is told. */
        close(fd);
        conn_close(conn);
    }
    return 0;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct conn *conn = handle->data;

    kept_free(conn->kept);
    if (conn->filter != NULL)
        conn->filter->ops->free(conn->filter);
    conn_space_unref(conn->space);
    conn->events->on_closed(conn);
}

void conn_close(struct conn *conn)
{
    if (conn->is_closing)
        return;
    conn_flush(conn);
    conn->is_closing = true;
    conn->is_reading = false;
    uv_close(&conn->handle, on_handle_closed);
}
