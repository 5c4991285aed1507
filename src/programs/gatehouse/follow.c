/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/follow.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/clock.h"

enum { LONG_RUN_MS = 50 };
enum { STANDARD_FDS = 3, CHUNK_BYTES = 4096, DEFAULT_ROWS = 24, DEFAULT_COLUMNS = 80 };

static const int passed_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

/* Bytes in transit. */
struct pipe_of {
    char bytes[CHUNK_BYTES];
    size_t len;
};

struct follow {
    struct box *box;
    struct box_process *process;
    const struct follow_terminal *terminal;
    struct outputs *outputs;
    int signals;
    int64_t deadline_ms; /* INT64_MAX: none */
    int64_t
        limit_at_ms; /* when it has run long enough for box_limit_together(); INT64_MAX: never */
    bool is_timed_out;
    bool reads_typed; /* we are in the foreground, and nothing has closed the terminal */
    bool is_raw;
    struct termios before;
    struct pipe_of typed;
    struct pipe_of shown;
};

/* ---- Terminals ---- */

static void measure(int fd, struct winsize *out_size)
{
    if (ioctl(fd, TIOCGWINSZ, out_size) < 0 || out_size->ws_row == 0 || out_size->ws_col == 0)
        *out_size = (struct winsize){.ws_row = DEFAULT_ROWS, .ws_col = DEFAULT_COLUMNS};
}

struct follow_terminal follow_find_terminal(void)
{
    static const int order[STANDARD_FDS] = {STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO};
    struct follow_terminal found = {.fd = -1};
    struct winsize size;

    for (int i = 0; i < STANDARD_FDS && found.fd < 0; i++)
        if (isatty(order[i]))
            found.fd = order[i];
    if (found.fd >= 0) {
        measure(found.fd, &size);
        found.rows = size.ws_row;
        found.columns = size.ws_col;
    }
    return found;
}

void follow_streams(int out_fds[3])
{
    for (int i = 0; i < STANDARD_FDS; i++)
        out_fds[i] = isatty(i) ? BOX_FD_PTY : i;
}

/* Passes keys through: the sandbox's own terminal handles Ctrl-C. */
static void take_keys(struct follow *follow)
{
    struct termios raw;

    if (follow->process->pty < 0 || !isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
        tcgetattr(STDIN_FILENO, &follow->before) < 0)
        return;
    follow->reads_typed = true;
    raw = follow->before;
    cfmakeraw(&raw);
    follow->is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

static void give_keys_back(const struct follow *follow)
{
    if (follow->is_raw)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &follow->before);
}

/* ---- Bytes ---- */

static void drop_front(struct pipe_of *pipe, size_t count)
{
    memmove(pipe->bytes, pipe->bytes + count, pipe->len - count);
    pipe->len -= count;
}

static void pass_typed(struct follow *follow)
{
    ssize_t written = write(follow->process->pty, follow->typed.bytes, follow->typed.len);

    if (written > 0)
        drop_front(&follow->typed, (size_t)written);
    else if (written < 0 && errno != EAGAIN && errno != EINTR)
        follow->typed.len = 0;
}

static void read_typed(struct follow *follow)
{
    ssize_t got = read(STDIN_FILENO, follow->typed.bytes, sizeof(follow->typed.bytes));

    if (got > 0)
        follow->typed.len = (size_t)got;
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        follow->reads_typed = false;
}

/* False at the end of the sandbox's output. */
static bool pass_shown(struct follow *follow)
{
    ssize_t got = read(follow->process->pty, follow->shown.bytes, sizeof(follow->shown.bytes));

    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    follow->shown.len = (size_t)got;
    while (follow->shown.len > 0) {
        ssize_t written = write(follow->terminal->fd, follow->shown.bytes, follow->shown.len);

        if (written > 0)
            drop_front(&follow->shown, (size_t)written);
        else if (written < 0 && errno != EINTR)
            follow->shown.len = 0; /* the output is gone; the command may continue */
    }
    return true;
}

/* Reads the remaining output after the end. */
static void drain(struct follow *follow)
{
    struct pollfd wait = {.fd = follow->process->pty, .events = POLLIN};

    while (wait.fd >= 0 && poll(&wait, 1, 0) > 0 && (wait.revents & POLLIN) != 0)
        if (!pass_shown(follow))
            return;
}

/* ---- Signals and time ---- */

int follow_prepare(struct err *err)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < array_size(passed_signals); i++)
        sigaddset(&set, passed_signals[i]);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return err_set(err, err_from_errno(errno), "signals: %s", err_errno_text(errno));
    (void)signal(SIGPIPE, SIG_IGN);
    return 0;
}

static void pass_signal(struct follow *follow)
{
    struct signalfd_siginfo about;
    struct winsize size;

    if (read(follow->signals, &about, sizeof(about)) != (ssize_t)sizeof(about))
        return;
    if (about.ssi_signo != SIGWINCH) {
        (void)box_signal(follow->process, (int)about.ssi_signo);
    } else if (follow->process->pty >= 0) {
        measure(follow->terminal->fd, &size);
        (void)ioctl(follow->process->pty, TIOCSWINSZ, &size);
    }
}

static int time_left(const struct follow *follow)
{
    const int64_t next_ms =
        follow->limit_at_ms < follow->deadline_ms ? follow->limit_at_ms : follow->deadline_ms;
    int64_t left;

    if (next_ms == INT64_MAX)
        return -1;
    left = next_ms - clock_monotonic_ms(&clock_system);
    return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

/* Even if there is always something else to do: a flood does not buy time. */
static void keep_time(struct follow *follow)
{
    int64_t now_ms;

    if (time_left(follow) != 0)
        return;
    now_ms = clock_monotonic_ms(&clock_system);
    if (now_ms >= follow->deadline_ms) {
        follow->is_timed_out = true;
        follow->deadline_ms = INT64_MAX;
        (void)box_signal(follow->process, SIGKILL);
    }
    if (now_ms >= follow->limit_at_ms) {
        follow->limit_at_ms = INT64_MAX;
        (void)box_limit_together(follow->box, follow->process, NULL);
    }
}

static void watch(struct follow *follow)
{
    enum { CHANNEL, SIGNALS, TYPED, PTY, OUTPUTS, WAITS = OUTPUTS + OUTPUTS_STREAMS };
    struct box_process *process = follow->process;
    bool shows = process->pty >= 0;

    while (!process->has_ended) {
        struct pollfd waits[WAITS] = {
            [CHANNEL] = {.fd = process->channel, .events = POLLIN},
            [SIGNALS] = {.fd = follow->signals, .events = POLLIN},
            [TYPED] = {.fd = follow->reads_typed && follow->typed.len == 0 ? STDIN_FILENO : -1,
                       .events = POLLIN},
            [PTY] = {.fd = shows ? process->pty : -1,
                     .events = (short)(POLLIN | (follow->typed.len > 0 ? POLLOUT : 0))},
        };
        int ready;

        for (int i = 0; i < OUTPUTS_STREAMS; i++)
            waits[OUTPUTS + i] = (struct pollfd){.fd = follow->outputs->from[i], .events = POLLIN};
        ready = poll(waits, WAITS, time_left(follow));

        if (ready < 0 && errno != EINTR)
            (void)box_signal(process, SIGKILL);
        keep_time(follow);
        if (ready <= 0)
            continue;
        if (waits[SIGNALS].revents != 0)
            pass_signal(follow);
        if (waits[TYPED].revents != 0)
            read_typed(follow);
        if ((waits[PTY].revents & POLLOUT) != 0)
            pass_typed(follow);
        /* The terminal may be closed by all while the command still runs. */
        if ((waits[PTY].revents & (POLLIN | POLLHUP)) != 0)
            shows = pass_shown(follow);
        for (int i = 0; i < OUTPUTS_STREAMS; i++)
            if (waits[OUTPUTS + i].revents != 0)
                outputs_copy(follow->outputs, i);
        if (waits[CHANNEL].revents != 0)
            box_read_end(process);
    }
}

bool follow_box(struct box *box, struct box_process *process,
                const struct follow_terminal *terminal, struct outputs *outputs, int64_t timeout_ms,
                struct box_end *out_end)
{
    const int64_t now_ms = clock_monotonic_ms(&clock_system);
    struct follow follow = {.box = box,
                            .process = process,
                            .terminal = terminal,
                            .outputs = outputs,
                            .deadline_ms = INT64_MAX,
                            .limit_at_ms = now_ms + LONG_RUN_MS};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < array_size(passed_signals); i++)
        sigaddset(&set, passed_signals[i]);
    follow.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (timeout_ms > 0)
        follow.deadline_ms = checked_add_ms(now_ms, timeout_ms);
    take_keys(&follow);
    watch(&follow);
    drain(&follow);
    outputs_finish(outputs);
    give_keys_back(&follow);
    box_let_go(process, out_end);
    if (follow.signals >= 0)
        close(follow.signals);
    return follow.is_timed_out;
}
