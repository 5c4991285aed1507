/* SPDX-License-Identifier: Apache-2.0 */
/* The service's side of a command in a room: its streams, its time, its end. */
#include "isolate/room/room.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "isolate/room/outer.h"

enum { STREAMS = 2, MAX_WORDS = 16384, INPUT_PIPE_BYTES = 1 << 20 };

struct stream {
    struct room_exec *exec;
    int fd; /* or -1 */
    struct reader *reader;
};

/*
 * It lives until its owner has freed it and its streams have ended, which a background child may
 * keep open; what that writes is read, and dropped, so that it is not stopped by a full pipe.
 */
struct room_exec {
    struct list node;
    struct room *room; /* NULL once it has ended */
    uint64_t number;
    struct room_exec_events events;
    struct stream streams[STREAMS];
    int input;
    bool has_terminal;
    bool has_started;
    bool has_exited;
    bool is_told; /* how it ended */
    bool is_freed;
    bool is_paused;
    bool timed_out;
    int64_t started_ms;
    struct timer timeout;
    struct timer grace;
    struct room_exit exit;
    struct loop *loop;
};

static void close_stream(struct stream *stream)
{
    reader_free(stream->reader);
    stream->reader = NULL;
    if (stream->fd >= 0)
        close(steal_fd(&stream->fd));
}

static bool is_drained(const struct room_exec *exec)
{
    return exec->streams[0].fd < 0 && exec->streams[1].fd < 0;
}

static void destroy(struct room_exec *exec)
{
    list_remove(&exec->node);
    timer_stop(&exec->timeout);
    timer_stop(&exec->grace);
    for (int i = 0; i < STREAMS; i++)
        close_stream(&exec->streams[i]);
    if (exec->input >= 0)
        close(exec->input);
    free(exec);
}

static void release(struct room_exec *exec)
{
    if (exec->is_freed && exec->is_told && is_drained(exec))
        destroy(exec);
}

/* ---- The end ---- */

static void tell_exit(struct room_exec *exec)
{
    const struct room_exec_events events = exec->events;

    exec->is_told = true;
    timer_stop(&exec->grace);
    if (exec->input >= 0 && !exec->has_terminal)
        close(steal_fd(&exec->input));
    if (!exec->is_freed && events.on_exit != NULL) {
        const struct room_exit exit = exec->exit;

        events.on_exit(events.data, &exit);
        return; /* it may be freed */
    }
    release(exec);
}

static void tell_failure(struct room_exec *exec, const struct err *err)
{
    const struct room_exec_events events = exec->events;

    exec->is_told = true;
    timer_stop(&exec->timeout);
    timer_stop(&exec->grace);
    for (int i = 0; i < STREAMS; i++)
        close_stream(&exec->streams[i]);
    if (exec->input >= 0)
        close(steal_fd(&exec->input));
    if (exec->is_freed || events.on_fail == NULL || err == NULL)
        release(exec);
    else
        events.on_fail(events.data, err);
}

/* When all output was passed on, or a child keeps the pipes for too long. */
static void end_if_done(struct room_exec *exec)
{
    if (exec->is_told) {
        release(exec);
        return;
    }
    if (!exec->has_exited)
        return;
    if (is_drained(exec))
        tell_exit(exec);
    else if (!exec->is_paused && !exec->grace.is_started)
        timer_start(&exec->grace, ROOM_PIPE_GRACE_MS);
}

static void on_grace(void *data)
{
    tell_exit(data);
}

static void on_timeout(void *data)
{
    struct room_exec *exec = data;

    if (exec->has_exited)
        return;
    exec->timed_out = true;
    room_exec_kill(exec);
}

/* ---- Output ---- */

static void on_bytes(void *data, struct str bytes)
{
    struct stream *stream = data;
    struct room_exec *exec = stream->exec;

    if (!exec->is_told && !exec->is_freed)
        exec->events.on_output(exec->events.data,
                               stream == &exec->streams[0] ? ROOM_STDOUT : ROOM_STDERR, bytes);
}

static void on_stream_end(void *data, int error)
{
    struct stream *stream = data;

    (void)error;
    close_stream(stream);
    end_if_done(stream->exec);
}

static void start_reading(struct room_exec *exec)
{
    for (int i = 0; i < STREAMS; i++) {
        const struct reader_events events = {
            .on_bytes = on_bytes, .on_end = on_stream_end, .data = &exec->streams[i]};

        if (exec->streams[i].fd < 0)
            continue;
        if (reader_new(exec->loop, exec->streams[i].fd, &events, &exec->streams[i].reader) < 0)
            close_stream(&exec->streams[i]);
        else if (exec->is_paused)
            reader_pause(exec->streams[i].reader);
    }
}

/* ---- Reports ---- */

static void take_start(struct room_exec *exec, int terminal)
{
    if (exec->has_started) {
        if (terminal >= 0)
            close(terminal);
        return;
    }
    exec->has_started = true;
    exec->started_ms = loop_now_ms(exec->loop);
    if (exec->has_terminal && terminal >= 0) {
        exec->streams[0].fd = terminal;
        exec->input = fcntl(terminal, F_DUPFD_CLOEXEC, 3);
    } else if (terminal >= 0) {
        close(terminal);
    }
    start_reading(exec);
    if (!exec->is_freed && exec->events.on_start != NULL)
        exec->events.on_start(exec->events.data);
}

static void take_exit(struct room_exec *exec, const struct room_report *report)
{
    if (exec->has_exited)
        return;
    exec->has_exited = true;
    timer_stop(&exec->timeout);
    exec->exit = (struct room_exit){
        .code = report->exit_signal != 0 ? -1 : report->exit_code,
        .signal = report->exit_signal,
        .timed_out = exec->timed_out,
        .killed = report->exit_signal != 0 || exec->timed_out,
        .time_ms = loop_now_ms(exec->loop) - exec->started_ms,
    };
    end_if_done(exec);
}

void room_exec_report(struct room *room, const struct room_report *report, int fd)
{
    struct room_exec *exec = NULL;

    list_each (node, &room->execs) {
        if (list_entry(node, struct room_exec, node)->number == report->number)
            exec = list_entry(node, struct room_exec, node);
    }
    if (exec == NULL || exec->is_told) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (report->kind == ROOM_REPORT_STARTED) {
        take_start(exec, fd);
        return;
    }
    if (fd >= 0)
        close(fd);
    if (report->kind == ROOM_REPORT_EXITED)
        take_exit(exec, report);
    else if (!exec->has_started)
        tell_failure(exec, &report->err);
}

void room_exec_end_all(struct room *room, const struct err *why)
{
    while (!list_is_empty(&room->execs)) {
        struct room_exec *exec = list_entry(room->execs.next, struct room_exec, node);

        list_remove(&exec->node);
        exec->room = NULL;
        if (why == NULL) {
            /* The service ends: a handle that it has not freed is only forgotten. */
            exec->is_freed = true;
            exec->is_told = true;
            destroy(exec);
        } else if (!exec->is_told && exec->has_exited) {
            tell_exit(exec);
        } else if (!exec->is_told) {
            tell_failure(exec, why);
        } else {
            for (int i = 0; i < STREAMS; i++)
                close_stream(&exec->streams[i]);
            release(exec);
        }
    }
}

/* ---- Starting ---- */

static int add_string(struct buf *bytes, const char *string)
{
    return buf_append(bytes, string, strlen(string) + 1);
}

static bool has_variable(const char *const *env, const char *variable)
{
    const size_t len = (size_t)(strchrnul(variable, '=') - variable) + 1;

    for (; env != NULL && *env != NULL; env++)
        if (strncmp(*env, variable, len) == 0)
            return true;
    return false;
}

/* The strings of an order, counted. */
static int pack(const struct room *room, const struct room_command *command, struct buf *bytes,
                struct room_order *order, struct err *err)
{
    const char *const *const none = (const char *const[]){NULL};
    const char *const *argv = command->shell != NULL ? none : command->argv;
    int r = add_string(bytes, command->workdir != NULL ? command->workdir : ROOM_HOME);

    if (command->shell != NULL && r == 0) {
        order->is_shell = true;
        order->word_count = 1;
        r = add_string(bytes, command->shell);
    }
    for (size_t i = 0; r == 0 && argv != NULL && argv[i] != NULL; i++) {
        order->word_count++;
        r = add_string(bytes, argv[i]);
    }
    for (size_t i = 0; r == 0 && command->env != NULL && command->env[i] != NULL; i++) {
        if (strchr(command->env[i], '=') == NULL || command->env[i][0] == '=')
            return err_set_field(err, ERR_INVALID_ARGUMENT, "env", "a variable must be NAME=VALUE");
        order->env_count++;
        r = add_string(bytes, command->env[i]);
    }
    for (const char *const *at = room->variables; r == 0 && at != NULL && *at != NULL; at++) {
        if (has_variable(command->env, *at))
            continue;
        order->env_count++;
        r = add_string(bytes, *at);
    }
    if (r == ERR_TOO_LARGE || order->word_count > MAX_WORDS || order->env_count > MAX_WORDS)
        return err_set_field(err, ERR_TOO_LARGE, "command", "the command is longer than %d bytes",
                             ROOM_MAX_COMMAND);
    if (r < 0)
        return err_set_plain(err, r);
    order->bytes = bytes->len;
    return 0;
}

static int check(const struct room_command *command, struct err *err)
{
    if (command->shell != NULL ? command->shell[0] == '\0'
                               : command->argv == NULL || command->argv[0] == NULL)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "command", "the command is empty");
    if (command->workdir != NULL && command->workdir[0] != '/')
        return err_set_field(err, ERR_INVALID_PATH, "workdir",
                             "the working directory must be an absolute path");
    return 0;
}

struct pipes {
    int payload;
    int ours[3];
    int theirs[3];
};

static void close_pipes(struct pipes *pipes)
{
    if (pipes->payload >= 0)
        close(pipes->payload);
    for (int i = 0; i < 3; i++) {
        if (pipes->ours[i] >= 0)
            close(pipes->ours[i]);
        if (pipes->theirs[i] >= 0)
            close(pipes->theirs[i]);
    }
}

static int make_pipes(const struct room_command *command, const struct buf *bytes,
                      struct pipes *pipes, struct room_order *order)
{
    *pipes = (struct pipes){-1, {-1, -1, -1}, {-1, -1, -1}};
    if (bytes->len > ROOM_INLINE_BYTES) {
        order->has_payload = true;
        pipes->payload = memfd_create("command", MFD_CLOEXEC);
        if (pipes->payload < 0 ||
            write(pipes->payload, bytes->data, bytes->len) != (ssize_t)bytes->len)
            return ERR_NO_MEMORY;
    }
    for (int i = 0; i < 3 && !command->has_terminal; i++) {
        int ends[2];

        if (i == 0 && !command->has_input)
            continue;
        if (pipe2(ends, O_CLOEXEC) < 0)
            return err_from_errno(errno);
        pipes->ours[i] = i == 0 ? ends[1] : ends[0];
        pipes->theirs[i] = i == 0 ? ends[0] : ends[1];
    }
    if (pipes->ours[0] >= 0) /* larger, if the user may have such; the writer waits by a timer */
        (void)fcntl(pipes->ours[0], F_SETPIPE_SZ, INPUT_PIPE_BYTES);
    if (pipes->ours[0] >= 0 && fcntl(pipes->ours[0], F_SETFL, O_NONBLOCK) < 0)
        return err_from_errno(errno);
    return 0;
}

static struct parcel *wrap(const struct room_order *order, const struct buf *bytes,
                           struct pipes *pipes)
{
    int fds[PACKET_MAX_FDS];
    size_t count = 0;

    if (pipes->payload >= 0)
        fds[count++] = steal_fd(&pipes->payload);
    for (int i = 0; i < 3; i++)
        if (pipes->theirs[i] >= 0)
            fds[count++] = steal_fd(&pipes->theirs[i]);
    return parcel_new(order, sizeof(*order), order->has_payload ? STR_EMPTY : buf_view(bytes), fds,
                      count);
}

int room_exec(struct room *room, const struct room_command *command,
              const struct room_exec_events *events, struct room_exec **out_exec, struct err *err)
{
    cleanup_buf struct buf bytes = BUF_INIT(ROOM_MAX_COMMAND + ROOM_PATH_BYTES);
    struct room_order order = {.kind = ROOM_ORDER_EXEC,
                               .has_input = command->has_input,
                               .has_terminal = command->has_terminal,
                               .is_root = command->is_root,
                               .rows = command->rows,
                               .columns = command->columns};
    struct room_exec *exec;
    struct parcel *parcel;
    struct pipes pipes;
    int r = check(command, err);

    if (r == 0)
        r = pack(room, command, &bytes, &order, err);
    if (r < 0)
        return r;
    exec = calloc(1, sizeof(*exec));
    if (exec == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = make_pipes(command, &bytes, &pipes, &order);
    order.number = ++room->keeper->last_number;
    parcel = r == 0 ? wrap(&order, &bytes, &pipes) : NULL;
    if (parcel == NULL) {
        close_pipes(&pipes);
        free(exec);
        return err_set_plain(err, r < 0 ? r : ERR_NO_MEMORY);
    }
    *exec = (struct room_exec){.room = room,
                               .loop = room->keeper->loop,
                               .number = order.number,
                               .events = *events,
                               .input = pipes.ours[0],
                               .has_terminal = command->has_terminal};
    for (int i = 0; i < STREAMS; i++)
        exec->streams[i] = (struct stream){.exec = exec, .fd = pipes.ours[i + 1]};
    timer_init(&exec->timeout, exec->loop, on_timeout, exec);
    timer_init(&exec->grace, exec->loop, on_grace, exec);
    list_append(&room->execs, &exec->node);
    exec->started_ms = loop_now_ms(exec->loop);
    if (command->timeout_ms > 0)
        timer_start(&exec->timeout, command->timeout_ms);
    room_post(room, parcel);
    *out_exec = exec;
    return 0;
}

/* ---- Control ---- */

void room_exec_pause(struct room_exec *exec)
{
    exec->is_paused = true;
    timer_stop(&exec->grace);
    for (int i = 0; i < STREAMS; i++)
        if (exec->streams[i].reader != NULL)
            reader_pause(exec->streams[i].reader);
}

void room_exec_resume(struct room_exec *exec)
{
    if (!exec->is_paused)
        return;
    exec->is_paused = false;
    for (int i = 0; i < STREAMS; i++)
        if (exec->streams[i].reader != NULL)
            reader_resume(exec->streams[i].reader);
    if (exec->has_exited && !exec->is_told && !is_drained(exec))
        timer_start(&exec->grace, ROOM_PIPE_GRACE_MS);
}

ssize_t room_exec_write(struct room_exec *exec, struct str bytes)
{
    ssize_t put;

    if (exec->input < 0)
        return exec->has_terminal && !exec->has_started && !exec->is_told ? 0 : ERR_NOT_FOUND;
    put = write(exec->input, bytes.ptr, bytes.len);
    if (put < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : ERR_NOT_FOUND;
    return put;
}

void room_exec_close_input(struct room_exec *exec)
{
    if (exec->input >= 0 && !exec->has_terminal)
        close(steal_fd(&exec->input));
}

int room_exec_resize(struct room_exec *exec, unsigned short rows, unsigned short columns)
{
    const struct winsize size = {.ws_row = rows, .ws_col = columns};

    if (!exec->has_terminal || exec->input < 0)
        return ERR_NOT_FOUND;
    return ioctl(exec->input, TIOCSWINSZ, &size) < 0 ? err_from_errno(errno) : 0;
}

void room_exec_kill(struct room_exec *exec)
{
    const struct room_order order = {.kind = ROOM_ORDER_KILL, .number = exec->number};
    struct parcel *parcel;

    if (exec->room == NULL)
        return;
    parcel = parcel_new(&order, sizeof(order), STR_EMPTY, NULL, 0);
    if (parcel != NULL)
        room_post(exec->room, parcel);
}

void room_exec_free(struct room_exec *exec)
{
    if (exec == NULL)
        return;
    exec->is_freed = true;
    room_exec_resume(exec);
    release(exec);
}
