/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"

enum {
    /* Over this, a pipe is made wider: each turn of the two sides costs more than the bytes. */
    LARGE_BYTES = 64 << 10,
    PIPE_BYTES = 1 << 20,
    /* Memory for a burst is not kept forever. */
    SPARE_BYTES = 256 << 10,
    SMALL_BYTES = 512,
};

struct writer {
    struct loop *loop;
    struct writer_events events;
    int fd;
    int old_flags;
    bool is_pipe;
    bool is_polled; /* else writing never needs to wait: a file */
    bool is_waiting;
    int error;       /* why it is broken; 0 while it is not */
    struct buf kept; /* from `at` on */
    size_t at;
    uv_poll_t poll;
    struct loop_task tell; /* that it is broken */
};

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void stop_waiting(struct writer *writer)
{
    if (writer->is_waiting)
        uv_poll_stop(&writer->poll);
    writer->is_waiting = false;
}

static void forget_kept(struct writer *writer)
{
    size_t max = writer->kept.max;

    writer->at = 0;
    buf_clear(&writer->kept);
    if (writer->kept.capacity > SPARE_BYTES) {
        buf_done(&writer->kept);
        buf_init(&writer->kept, max);
    }
}

static void tell_broken(void *data)
{
    struct writer *writer = data;

    writer->events.on_broken(writer->events.data, writer->error);
}

static void break_off(struct writer *writer, int error)
{
    stop_waiting(writer);
    forget_kept(writer);
    writer->error = error;
    loop_defer(writer->loop, &writer->tell);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct writer *writer = poll->data;
    ssize_t wrote;

    (void)status;
    (void)events;
    wrote = write(writer->fd, writer->kept.data + writer->at, writer->kept.len - writer->at);
    if (wrote < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (wrote < 0) {
        break_off(writer, err_from_errno(errno));
        return;
    }
    writer->at += (size_t)wrote;
    if (writer->at < writer->kept.len)
        return;
    stop_waiting(writer);
    forget_kept(writer);
    writer->events.on_drained(writer->events.data);
}

/* Keeps the parts except their first `skip` bytes. */
static int keep(struct writer *writer, const struct str *parts, size_t count, size_t skip)
{
    for (size_t i = 0; i < count; i++) {
        size_t passed = skip < parts[i].len ? skip : parts[i].len;
        int r = buf_append_str(&writer->kept, str_slice(parts[i], passed, parts[i].len));

        if (r < 0)
            return r;
        skip -= passed;
    }
    if (!writer->is_waiting) {
        uv_poll_start(&writer->poll, UV_WRITABLE | UV_DISCONNECT, on_poll);
        writer->is_waiting = true;
    }
    return 0;
}

/* Copies the parts to one place: for few bytes that is quicker than having the kernel do it. */
static struct str join_small(const struct str *parts, size_t count, char room[SMALL_BYTES])
{
    size_t len = 0;

    for (size_t i = 0; i < count; i++) {
        if (parts[i].len > 0)
            memcpy(room + len, parts[i].ptr, parts[i].len);
        len += parts[i].len;
    }
    return (struct str){room, len};
}

static ssize_t write_now(const struct writer *writer, const struct str *parts, size_t count,
                         size_t total)
{
    __attribute__((uninitialized)) char room[SMALL_BYTES];
    struct iovec vector[WRITER_MAX_PARTS];
    struct str joined;
    ssize_t wrote;

    if (count > 1 && total <= sizeof(room)) {
        joined = join_small(parts, count, room);
        parts = &joined;
        count = 1;
    }

    for (size_t i = 0; i < count; i++) {
        /* SAFETY: writev does not write through it. */
        memcpy(&vector[i].iov_base, &parts[i].ptr, sizeof(vector[i].iov_base));
        vector[i].iov_len = parts[i].len;
    }
    do
        wrote = writev(writer->fd, vector, (int)count);
    while (wrote < 0 && errno == EINTR);
    return wrote < 0 && errno == EAGAIN ? 0 : wrote;
}

/* A file takes everything, if not at once. */
static int write_through(struct writer *writer, const struct str *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; at < parts[i].len;) {
            ssize_t wrote = write(writer->fd, parts[i].ptr + at, parts[i].len - at);

            if (wrote < 0 && errno == EINTR)
                continue;
            if (wrote < 0) {
                break_off(writer, err_from_errno(errno));
                return writer->error;
            }
            at += (size_t)wrote;
        }
    }
    return 0;
}

int writer_send(struct writer *writer, const struct str *parts, size_t count)
{
    size_t total = 0;
    ssize_t wrote = 0;
    int r;

    assert(count <= WRITER_MAX_PARTS);
    if (writer->error != 0)
        return ERR_IO;
    for (size_t i = 0; i < count; i++)
        total += parts[i].len;
    if (!writer->is_polled)
        return write_through(writer, parts, count);
    if (total > writer->kept.max - writer_kept(writer))
        return ERR_TOO_LARGE;
    if (writer->is_pipe && total > LARGE_BYTES) {
        /* Refused where pipes are scarce; it works as well, if slower. */
        (void)fcntl(writer->fd, F_SETPIPE_SZ, PIPE_BYTES);
        writer->is_pipe = false;
    }
    if (writer->kept.len == 0)
        wrote = write_now(writer, parts, count, total);
    if (wrote < 0) {
        break_off(writer, err_from_errno(errno));
        return ERR_IO;
    }
    if ((size_t)wrote == total)
        return 0;
    if (writer->at > 0) {
        buf_drop_front(&writer->kept, writer->at);
        writer->at = 0;
    }
    r = keep(writer, parts, count, (size_t)wrote);
    if (r < 0)
        break_off(writer, r); /* half a message is on its way */
    return r;
}

size_t writer_kept(const struct writer *writer)
{
    return writer->kept.len - writer->at;
}

static int make(struct loop *loop, int fd, size_t max_bytes, const struct writer_events *events,
                bool polls_terminals, struct writer **out_writer)
{
    struct writer *writer = calloc(1, sizeof(*writer));
    struct stat about;
    int r;

    if (writer == NULL)
        return ERR_NO_MEMORY;
    writer->loop = loop;
    writer->events = *events;
    writer->fd = fd;
    buf_init(&writer->kept, max_bytes);
    loop_task_init(&writer->tell, tell_broken, writer);
    writer->old_flags = fcntl(fd, F_GETFL);
    if (writer->old_flags < 0 || fstat(fd, &about) < 0) {
        r = err_from_errno(errno);
        free(writer);
        return r;
    }
    writer->is_pipe = S_ISFIFO(about.st_mode);
    if (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || (polls_terminals && isatty(fd))) {
        r = uv_poll_init(loop_uv(loop), &writer->poll, fd);
        if (r < 0) {
            free(writer);
            return loop_error(r);
        }
        writer->poll.data = writer;
        writer->is_polled = true;
    }
    *out_writer = writer;
    return 0;
}

int writer_new(struct loop *loop, int fd, size_t max_bytes, const struct writer_events *events,
               struct writer **out_writer)
{
    return make(loop, fd, max_bytes, events, false, out_writer);
}

int writer_new_terminal(struct loop *loop, int fd, size_t max_bytes,
                        const struct writer_events *events, struct writer **out_writer)
{
    return make(loop, fd, max_bytes, events, true, out_writer);
}

void writer_free(struct writer *writer)
{
    if (writer == NULL)
        return;
    stop_waiting(writer);
    loop_task_cancel(&writer->tell);
    buf_done(&writer->kept);
    if (writer->is_polled) {
        (void)fcntl(writer->fd, F_SETFL, writer->old_flags);
        uv_close((uv_handle_t *)&writer->poll, on_closed);
    } else {
        free(writer);
    }
}
