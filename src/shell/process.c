/* SPDX-License-Identifier: Apache-2.0 */
#include "shell/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "loop/reader.h"
#include "loop/timer.h"
#include "loop/writer.h"

enum {
    PIPE_BYTES = 1 << 20, /* fewer iterations for a flood; if refused, the default size stays */
    DRAIN_MS = 1000,      /* for what was printed before the end */
};

/* The terminal's end-of-file character. */
#define END_OF_INPUT STR("\x04")

/*
 *   STARTING -> RUNNING -> ENDED -> OVER
 *      `-----------`-----------------'
 */
enum process_state { PROCESS_STARTING, PROCESS_RUNNING, PROCESS_ENDED, PROCESS_OVER };

struct stream {
    struct process *process;
    enum process_stream which;
    int fd;
    struct reader *reader; /* NULL when all was read */
};

struct process {
    struct loop *loop;
    const struct starter *starter;
    struct process_events events;
    enum process_state state;
    uint64_t id; /* the starter's */
    bool has_terminal;
    struct stream streams[PROCESS_STREAMS];
    int input;
    struct writer *writer;
    bool is_input_closing;
    struct starter_end end;
    struct timer drain;
};

static void close_stream(struct stream *stream)
{
    reader_free(stream->reader);
    stream->reader = NULL;
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
}

static void close_input(struct process *process)
{
    writer_free(process->writer);
    process->writer = NULL;
    if (process->input >= 0)
        close(process->input);
    process->input = -1;
}

static void close_all(struct process *process)
{
    timer_stop(&process->drain);
    for (size_t i = 0; i < PROCESS_STREAMS; i++)
        close_stream(&process->streams[i]);
    close_input(process);
}

static void be_over(struct process *process, const struct err *err)
{
    close_all(process);
    process->state = PROCESS_OVER;
    process->events.on_over(process->events.data, process->end, err);
}

static void fail(struct process *process, int error)
{
    struct err err = ERR_INIT;

    process->starter->forget(process->starter->data, process->id);
    process->end = (struct starter_end){.error = err_set_plain(&err, error)};
    be_over(process, &err);
}

/* Nobody is left who could print, or the time for that is over. */
static void on_drained_long_enough(void *data)
{
    be_over(data, NULL);
}

static bool is_read(const struct process *process)
{
    return process->streams[PROCESS_OUTPUT].reader == NULL &&
           process->streams[PROCESS_ERRORS].reader == NULL;
}

static void on_stream_bytes(void *data, struct str bytes)
{
    const struct stream *stream = data;

    stream->process->events.on_bytes(stream->process->events.data, stream->which, bytes);
}

static void on_stream_end(void *data, int error)
{
    struct stream *stream = data;
    struct process *process = stream->process;

    (void)error; /* what cannot be read any more is at its end */
    close_stream(stream);
    if (process->state == PROCESS_ENDED && is_read(process))
        be_over(process, NULL);
}

static int open_stream(struct process *process, enum process_stream which)
{
    struct stream *stream = &process->streams[which];

    if (stream->fd < 0)
        return 0;
    (void)fcntl(stream->fd, F_SETPIPE_SZ, PIPE_BYTES);
    return reader_new(process->loop, stream->fd,
                      &(struct reader_events){
                          .on_bytes = on_stream_bytes, .on_end = on_stream_end, .data = stream},
                      &stream->reader);
}

static void on_input_taken(void *data)
{
    struct process *process = data;

    if (process->is_input_closing)
        close_input(process);
}

static void on_input_broken(void *data, int error)
{
    (void)error; /* it has closed it, which is its right */
    close_input(data);
}

static int open_input(struct process *process)
{
    /* The loop watches a descriptor once. */
    if (process->has_terminal)
        process->input = fcntl(process->streams[PROCESS_OUTPUT].fd, F_DUPFD_CLOEXEC, 0);
    if (process->input < 0)
        return process->has_terminal ? err_from_errno(errno) : 0;
    return writer_new(process->loop, process->input, PROCESS_MAX_INPUT,
                      &(struct writer_events){.on_drained = on_input_taken,
                                              .on_broken = on_input_broken,
                                              .data = process},
                      &process->writer);
}

static void on_started(void *data, int error, const struct err *err, struct starter_fds fds)
{
    struct process *process = data;
    int r;

    if (error < 0) {
        process->end = (struct starter_end){.error = error};
        be_over(process, err);
        return;
    }
    assert(process->state == PROCESS_STARTING);
    process->state = PROCESS_RUNNING;
    process->input = fds.input;
    process->streams[PROCESS_OUTPUT].fd = fds.output;
    process->streams[PROCESS_ERRORS].fd = fds.errors;
    r = open_stream(process, PROCESS_OUTPUT);
    if (r == 0)
        r = open_stream(process, PROCESS_ERRORS);
    if (r == 0)
        r = open_input(process);
    if (r < 0)
        fail(process, r);
    else
        process->events.on_started(process->events.data);
}

static void on_ended(void *data, struct starter_end end)
{
    struct process *process = data;

    assert(process->state == PROCESS_RUNNING);
    process->state = PROCESS_ENDED;
    process->end = end;
    close_input(process);
    if (is_read(process))
        be_over(process, NULL);
    else
        timer_start(&process->drain, DRAIN_MS);
}

int process_new(struct loop *loop, const struct starter *starter,
                const struct starter_command *command, const struct process_events *events,
                struct process **out_process, struct err *err)
{
    struct process *process = malloc(sizeof(*process));
    const struct starter_events told = {
        .on_started = on_started, .on_ended = on_ended, .data = process};
    int r;

    if (process == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    *process = (struct process){
        .loop = loop,
        .starter = starter,
        .events = *events,
        .has_terminal = command->has_terminal,
        .input = -1,
    };
    for (size_t i = 0; i < PROCESS_STREAMS; i++)
        process->streams[i] =
            (struct stream){.process = process, .which = (enum process_stream)i, .fd = -1};
    timer_init(&process->drain, loop, on_drained_long_enough, process);
    r = starter->start(starter->data, command, &told, &process->id, err);
    if (r < 0) {
        free(process);
        return r;
    }
    *out_process = process;
    return 0;
}

void process_free(struct process *process)
{
    if (process == NULL)
        return;
    switch (process->state) {
    case PROCESS_STARTING:
    case PROCESS_RUNNING:
        process->starter->forget(process->starter->data, process->id);
        break;
    case PROCESS_ENDED:
    case PROCESS_OVER:
        break;
    }
    close_all(process);
    free(process);
}

void process_signal(struct process *process, int signum)
{
    switch (process->state) {
    case PROCESS_STARTING:
    case PROCESS_RUNNING:
        process->starter->signal(process->starter->data, process->id, signum);
        break;
    case PROCESS_ENDED:
        /* Nobody is left; the remaining output is not waited for. */
        if (signum == SIGKILL)
            timer_start(&process->drain, 0);
        break;
    case PROCESS_OVER:
        break;
    }
}

int process_write(struct process *process, struct str bytes)
{
    if (process->writer == NULL || process->is_input_closing)
        return ERR_NOT_FOUND;
    return writer_send(process->writer, &bytes, 1);
}

int process_close_input(struct process *process)
{
    if (process->has_terminal)
        return process_write(process, END_OF_INPUT);
    if (process->writer == NULL || process->is_input_closing)
        return ERR_NOT_FOUND;
    process->is_input_closing = true;
    if (writer_kept(process->writer) == 0)
        close_input(process);
    return 0;
}
