/* SPDX-License-Identifier: Apache-2.0 */
#include "asking/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "loop/reader.h"
#include "loop/writer.h"

enum { SPARE_BYTES = 64 << 10 };

struct wire {
    struct wire_config config;
    int fd;
    int fd_again; /* libuv watches a descriptor once */
    struct reader *reader;
    struct writer *writer;
    struct buf begun; /* a line */
    bool has_ended;
    struct loop_task end;
};

static void end_soon(struct wire *wire)
{
    if (wire->has_ended)
        return;
    wire->has_ended = true;
    loop_defer(wire->config.loop, &wire->end);
}

static void tell_end(void *data)
{
    struct wire *wire = data;

    wire->config.on_end(wire->config.data);
}

/* What one large line needed is not held for ever. */
static void forget_line(struct wire *wire)
{
    buf_clear(&wire->begun);
    if (wire->begun.capacity > SPARE_BYTES) {
        buf_done(&wire->begun);
        buf_init(&wire->begun, wire->config.max_line_bytes);
    }
}

static void on_bytes(void *data, struct str bytes)
{
    struct wire *wire = data;

    while (bytes.len > 0 && !wire->has_ended) {
        const char *end = memchr(bytes.ptr, '\n', bytes.len);
        size_t len = end != NULL ? (size_t)(end - bytes.ptr) : bytes.len;
        int r = buf_append(&wire->begun, bytes.ptr, len);

        bytes = str_slice(bytes, end != NULL ? len + 1 : len, bytes.len);
        if (r == 0 && end != NULL) {
            r = wire->config.on_line(wire->config.data, buf_view(&wire->begun));
            forget_line(wire);
        }
        if (r < 0)
            end_soon(wire);
    }
    if (wire->has_ended)
        reader_pause(wire->reader);
}

static void on_end(void *data, int error)
{
    (void)error;
    end_soon(data);
}

static void on_drained(void *data)
{
    (void)data;
}

int wire_new(const struct wire_config *config, int fd, struct wire **out_wire)
{
    struct wire *wire = calloc(1, sizeof(*wire));
    const struct reader_events reads = {.on_bytes = on_bytes, .on_end = on_end, .data = wire};
    const struct writer_events writes = {
        .on_drained = on_drained, .on_broken = on_end, .data = wire};
    int r = 0;

    if (wire == NULL) {
        cleanup_fd_(&fd);
        return ERR_NO_MEMORY;
    }
    wire->config = *config;
    wire->fd = fd;
    wire->fd_again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    buf_init(&wire->begun, config->max_line_bytes);
    loop_task_init(&wire->end, tell_end, wire);
    if (wire->fd_again < 0)
        r = err_from_errno(errno);
    if (r == 0)
        r = reader_new(config->loop, wire->fd, &reads, &wire->reader);
    if (r == 0)
        r = writer_new(config->loop, wire->fd_again, config->max_kept_bytes, &writes,
                       &wire->writer);
    if (r < 0)
        wire_free(wire);
    else
        *out_wire = wire;
    return r;
}

void wire_free(struct wire *wire)
{
    if (wire == NULL)
        return;
    loop_task_cancel(&wire->end);
    reader_free(wire->reader);
    writer_free(wire->writer);
    cleanup_fd_(&wire->fd);
    cleanup_fd_(&wire->fd_again);
    buf_done(&wire->begun);
    free(wire);
}

void wire_send(struct wire *wire, int r, const struct buf *line)
{
    const struct str part = buf_view(line);

    if (r < 0 || writer_send(wire->writer, &part, 1) < 0)
        end_soon(wire);
}
