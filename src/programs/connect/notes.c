/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/notes.h"

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

struct notes {
    struct notes_config config;
    int own_fd; /* the terminal once more, not blocking; -1: it cannot be opened */
    int ends[2];
    struct ready_watch *watch;
    struct timer look;
    struct buf waiting;
    size_t lost_bytes;
};

/* Returns how much was not written. */
static size_t write_until(const struct notes *notes, struct str text, int64_t deadline_ms)
{
    int fd = notes->own_fd >= 0 ? notes->own_fd : notes->config.out_fd;
    size_t most = notes->own_fd >= 0 ? NOTES_MAX_BYTES : SURE_BYTES;

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

static void write_waiting(struct notes *notes)
{
    cleanup_buf struct buf words = BUF_INIT(WORDS_BYTES);
    int64_t deadline_ms = clock_monotonic_ms(&clock_system) + WRITE_MS;

    timer_stop(&notes->look);
    notes->lost_bytes += write_until(notes, buf_view(&notes->waiting), deadline_ms);
    buf_clear(&notes->waiting);
    /* Else the next time. */
    if (notes->lost_bytes > 0 &&
        buf_printf(&words, "... and %zu more bytes, which were dropped\n", notes->lost_bytes) ==
            0 &&
        write_until(notes, buf_view(&words), deadline_ms) == 0)
        notes->lost_bytes = 0;
}

static void look(void *data)
{
    struct notes *notes = data;

    if (!notes->config.is_taken(notes->config.data))
        write_waiting(notes);
}

static void take(struct notes *notes, struct str bytes)
{
    if (buf_append_str(&notes->waiting, bytes) < 0)
        notes->lost_bytes += bytes.len;
}

static bool take_some(struct notes *notes)
{
    char bytes[PIPE_BUF];
    ssize_t count = read(notes->ends[0], bytes, sizeof(bytes));

    if (count > 0)
        take(notes, (struct str){bytes, (size_t)count});
    return count > 0;
}

static void on_ready(void *data)
{
    struct notes *notes = data;

    while (take_some(notes))
        ;
    if (!notes->config.is_taken(notes->config.data))
        write_waiting(notes);
    else if (!notes->look.is_started)
        timer_start_repeating(&notes->look, NOTES_LOOK_MS);
}

/* Other processes share the open file and expect it to block. */
static int open_again(int fd)
{
    char name[NAME_BYTES];

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return open(name, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

int notes_new(const struct notes_config *config, struct notes **out_notes, struct err *err)
{
    struct notes *notes = calloc(1, sizeof(*notes));
    int r;

    if (notes == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    notes->config = *config;
    notes->ends[0] = notes->ends[1] = -1;
    notes->own_fd = open_again(config->out_fd);
    buf_init(&notes->waiting, NOTES_MAX_BYTES);
    timer_init(&notes->look, config->loop, look, notes);
    if (pipe2(notes->ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        r = err_set(err, err_from_errno(errno), "cannot write the log: %s", err_errno_text(errno));
    } else {
        (void)fcntl(notes->ends[1], F_SETPIPE_SZ, PIPE_BYTES); /* the default size will do */
        r = ready_watch_new(config->loop, notes->ends[0], on_ready, notes, &notes->watch);
        if (r < 0)
            err_set_plain(err, r);
    }
    if (r < 0)
        notes_free(notes);
    else
        *out_notes = notes;
    return r;
}

void notes_free(struct notes *notes)
{
    if (notes == NULL)
        return;
    if (notes->watch != NULL) {
        while (take_some(notes))
            ;
        ready_watch_free(notes->watch);
    }
    write_waiting(notes);
    for (size_t i = 0; i < array_size(notes->ends); i++)
        if (notes->ends[i] >= 0)
            close(notes->ends[i]);
    cleanup_fd_(&notes->own_fd);
    buf_done(&notes->waiting);
    free(notes);
}

int notes_fd(const struct notes *notes)
{
    return notes->ends[1];
}
