/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "loop/reader.h"
#include "loop/timer.h"

enum {
    PIPE_BYTES = 1 << 20,
    WORDS_BYTES = 128,
    /* A terminal that is stopped (Ctrl-S) keeps nobody waiting. */
    WRITE_MS = 200,
};

struct notes {
    struct notes_config config;
    int ends[2];
    struct ready_watch *watch;
    struct timer look;
    struct buf waiting;
    size_t lost_bytes;
};

static void write_all(const struct notes *notes, struct str text)
{
    while (text.len > 0) {
        struct pollfd ready = {.fd = notes->config.out_fd, .events = POLLOUT};
        ssize_t written;

        if (poll(&ready, 1, WRITE_MS) <= 0)
            return;
        written = write(notes->config.out_fd, text.ptr, text.len);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return;
        if (written > 0)
            text = str_slice(text, (size_t)written, text.len);
    }
}

static void write_waiting(struct notes *notes)
{
    cleanup_buf struct buf words = BUF_INIT(WORDS_BYTES);

    timer_stop(&notes->look);
    write_all(notes, buf_view(&notes->waiting));
    buf_clear(&notes->waiting);
    if (notes->lost_bytes > 0 &&
        buf_printf(&words, "... and %zu bytes more, for which there was no room\n",
                   notes->lost_bytes) == 0)
        write_all(notes, buf_view(&words));
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

int notes_new(const struct notes_config *config, struct notes **out_notes, struct err *err)
{
    struct notes *notes = calloc(1, sizeof(*notes));
    int r;

    if (notes == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    notes->config = *config;
    notes->ends[0] = notes->ends[1] = -1;
    buf_init(&notes->waiting, NOTES_MAX_BYTES);
    timer_init(&notes->look, config->loop, look, notes);
    if (pipe2(notes->ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        r = err_set(err, err_from_errno(errno), "the log: %s", err_errno_text(errno));
    } else {
        (void)fcntl(notes->ends[1], F_SETPIPE_SZ, PIPE_BYTES); /* what there is will do */
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
    buf_done(&notes->waiting);
    free(notes);
}

int notes_fd(const struct notes *notes)
{
    return notes->ends[1];
}
