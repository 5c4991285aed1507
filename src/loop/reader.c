/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

enum { READER_BYTES = 64 << 10 };

/*
 *   PAUSED <-> READING -> ENDED -> FREED
 *      `---------`-------------------'
 */
enum reader_state { READER_PAUSED, READER_READING, READER_ENDED, READER_FREED };

struct reader {
    struct loop *loop;
    struct reader_events events;
    enum reader_state state;
    int fd;
    int old_flags;
    bool is_file; /* which epoll does not take: always ready */
    bool is_in_callback;
    bool is_closed; /* libuv is done with `poll` */
    uv_poll_t poll;
    struct loop_task turn; /* of a file */
    char bytes[READER_BYTES];
};

static void release(struct reader *reader)
{
    if (reader->state == READER_FREED && reader->is_closed && !reader->is_in_callback)
        free(reader);
}

static void on_closed(uv_handle_t *handle)
{
    struct reader *reader = handle->data;

    reader->is_closed = true;
    release(reader);
}

/* No more bytes and no end will be reported. */
static void stop(struct reader *reader)
{
    if (reader->is_file)
        loop_task_cancel(&reader->turn);
    else
        uv_poll_stop(&reader->poll);
}

static void end(struct reader *reader, int error)
{
    stop(reader);
    reader->state = READER_ENDED;
    reader->events.on_end(reader->events.data, error);
}

/* One read per iteration, so that a flood does not starve others. */
static void read_some(struct reader *reader)
{
    ssize_t got = read(reader->fd, reader->bytes, sizeof(reader->bytes));

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    reader->is_in_callback = true;
    if (got > 0)
        reader->events.on_bytes(reader->events.data, (struct str){reader->bytes, (size_t)got});
    else /* a terminal that was hung up says EIO */
        end(reader, got == 0 || errno == EIO ? 0 : err_from_errno(errno));
    reader->is_in_callback = false;
    release(reader);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status; /* what is wrong is found by reading */
    (void)events;
    read_some(poll->data);
}

static void take_turn(void *data)
{
    struct reader *reader = data;

    if (reader->state == READER_READING)
        loop_defer(reader->loop, &reader->turn);
    read_some(reader);
}

void reader_pause(struct reader *reader)
{
    if (reader->state != READER_READING)
        return;
    reader->state = READER_PAUSED;
    stop(reader);
}

void reader_resume(struct reader *reader)
{
    if (reader->state != READER_PAUSED)
        return;
    reader->state = READER_READING;
    if (reader->is_file)
        loop_defer(reader->loop, &reader->turn);
    else
        uv_poll_start(&reader->poll, UV_READABLE | UV_DISCONNECT, on_poll);
}

int reader_new(struct loop *loop, int fd, const struct reader_events *events,
               struct reader **out_reader)
{
    struct reader *reader = malloc(sizeof(*reader));
    struct stat about;
    int r;

    if (reader == NULL)
        return ERR_NO_MEMORY;
    reader->loop = loop;
    reader->events = *events;
    reader->state = READER_PAUSED;
    reader->fd = fd;
    reader->old_flags = fcntl(fd, F_GETFL);
    reader->is_in_callback = false;
    reader->is_closed = false;
    loop_task_init(&reader->turn, take_turn, reader);
    if (reader->old_flags < 0 || fstat(fd, &about) < 0) {
        r = err_from_errno(errno);
        free(reader);
        return r;
    }
    reader->is_file = S_ISREG(about.st_mode) || S_ISBLK(about.st_mode);
    if (reader->is_file) {
        reader->is_closed = true;
    } else {
        r = uv_poll_init(loop_uv(loop), &reader->poll, fd);
        if (r == UV_EPERM) { /* such as /dev/null */
            reader->is_file = true;
            reader->is_closed = true;
        } else if (r < 0) {
            free(reader);
            return loop_error(r);
        }
        reader->poll.data = reader;
    }
    reader_resume(reader);
    *out_reader = reader;
    return 0;
}

void reader_free(struct reader *reader)
{
    if (reader == NULL)
        return;
    stop(reader);
    reader->state = READER_FREED;
    if (!reader->is_file)
        uv_close((uv_handle_t *)&reader->poll, on_closed);
    /* Others may have it open too, a shell its terminal. */
    (void)fcntl(reader->fd, F_SETFL, reader->old_flags);
    release(reader);
}

/* ---- only waiting ---- */

struct ready_watch {
    uv_poll_t poll;
    void (*on_ready)(void *data);
    void *data;
};

static void on_watch_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_watch_poll(uv_poll_t *poll, int status, int events)
{
    struct ready_watch *watch = poll->data;

    (void)status;
    (void)events;
    watch->on_ready(watch->data);
}

int ready_watch_new(struct loop *loop, int fd, void (*on_ready)(void *data), void *data,
                    struct ready_watch **out_watch)
{
    struct ready_watch *watch = malloc(sizeof(*watch));
    int r;

    if (watch == NULL)
        return ERR_NO_MEMORY;
    *watch = (struct ready_watch){.on_ready = on_ready, .data = data};
    r = uv_poll_init(loop_uv(loop), &watch->poll, fd);
    if (r < 0) {
        free(watch);
        return loop_error(r);
    }
    watch->poll.data = watch;
    r = uv_poll_start(&watch->poll, UV_READABLE, on_watch_poll);
    if (r < 0) {
        ready_watch_free(watch);
        return loop_error(r);
    }
    uv_unref((uv_handle_t *)&watch->poll);
    *out_watch = watch;
    return 0;
}

void ready_watch_free(struct ready_watch *watch)
{
    if (watch != NULL)
        uv_close((uv_handle_t *)&watch->poll, on_watch_closed);
}
