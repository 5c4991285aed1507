/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/terminallog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "loop/reader.h"
#include "loop/timer.h"

enum {
    PIPE_BYTES = 1 << 20,
    WORDS_BYTES = 128,
    NAME_BYTES = 32,
    /* A stopped terminal (Ctrl-S) must not block us: limit for everything that waits. */
    WRITE_MS = 200,
    /* What a ready terminal takes, even if writing could block. */
    SURE_BYTES = 256,
};

struct terminal_log {
    struct terminallog_config config;
    int own_fd; /* the terminal once more, not blocking; -1: it cannot be opened */
    int ends[2];
    struct ready_watch *watch;
    struct timer look;
    struct buf waiting;
    size_t lost_bytes;
};

/* Returns how much was not written. */
static size_t write_until(const struct terminal_log *log, struct str text, int64_t deadline_ms)
{
    int fd = log->own_fd >= 0 ? log->own_fd : log->config.out_fd;
    size_t most = log->own_fd >= 0 ? TERMINALLOG_MAX_BYTES : SURE_BYTES;

    while (text.len > 0) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        int64_t left_ms = deadline_ms - clock_monotonic_ms(&clock_system);
        ssize_t written;

        if (left_ms < 0 || poll(&ready, 1, (int)left_ms) <= 0)
            break;
        written = write(fd, text.ptr, text.len < most ? text.len : most);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            break;
        if (written > 0)
            text = str_slice(text, (size_t)written, text.len);
    }
    return text.len;
}

static void write_waiting(struct terminal_log *log)
{
    cleanup_buf struct buf words = BUF_INIT(WORDS_BYTES);
    int64_t deadline_ms = clock_monotonic_ms(&clock_system) + WRITE_MS;

    timer_stop(&log->look);
    log->lost_bytes += write_until(log, buf_view(&log->waiting), deadline_ms);
    buf_clear(&log->waiting);
    /* Else the next time. */
    if (log->lost_bytes > 0 &&
        buf_printf(&words, "... and %zu more bytes, which were dropped\n", log->lost_bytes) == 0 &&
        write_until(log, buf_view(&words), deadline_ms) == 0)
        log->lost_bytes = 0;
}

static void look(void *data)
{
    struct terminal_log *log = data;

    if (!log->config.is_taken(log->config.data))
        write_waiting(log);
}

static void take(struct terminal_log *log, struct str bytes)
{
    if (buf_append_str(&log->waiting, bytes) < 0)
        log->lost_bytes += bytes.len;
}

static bool take_some(struct terminal_log *log)
{
    char bytes[PIPE_BUF];
    ssize_t count = read(log->ends[0], bytes, sizeof(bytes));

    if (count > 0)
        take(log, (struct str){bytes, (size_t)count});
    return count > 0;
}

static void on_ready(void *data)
{
    struct terminal_log *log = data;

    while (take_some(log))
        ;
    if (!log->config.is_taken(log->config.data))
        write_waiting(log);
    else if (!log->look.is_started)
        timer_start_repeating(&log->look, TERMINALLOG_LOOK_MS);
}

/* Other processes share the open file and expect it to block. */
static int open_again(int fd)
{
    char name[NAME_BYTES];

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return open(name, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

int terminallog_new(const struct terminallog_config *config, struct terminal_log **out_log,
                    struct err *err)
{
    struct terminal_log *log = calloc(1, sizeof(*log));
    int r;

    if (log == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    log->config = *config;
    log->ends[0] = log->ends[1] = -1;
    log->own_fd = open_again(config->out_fd);
    buf_init(&log->waiting, TERMINALLOG_MAX_BYTES);
    timer_init(&log->look, config->loop, look, log);
    if (pipe2(log->ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        r = err_set(err, err_from_errno(errno), "cannot write the log: %s", err_errno_text(errno));
    } else {
        (void)fcntl(log->ends[1], F_SETPIPE_SZ, PIPE_BYTES); /* the default size will do */
        r = ready_watch_new(config->loop, log->ends[0], on_ready, log, &log->watch);
        if (r < 0)
            err_set_plain(err, r);
    }
    if (r < 0)
        terminallog_free(log);
    else
        *out_log = log;
    return r;
}

void terminallog_free(struct terminal_log *log)
{
    if (log == NULL)
        return;
    if (log->watch != NULL) {
        while (take_some(log))
            ;
        ready_watch_free(log->watch);
    }
    write_waiting(log);
    for (size_t i = 0; i < array_size(log->ends); i++)
        if (log->ends[i] >= 0)
            close(log->ends[i]);
    cleanup_fd_(&log->own_fd);
    buf_done(&log->waiting);
    free(log);
}

int terminallog_fd(const struct terminal_log *log)
{
    return log->ends[1];
}
