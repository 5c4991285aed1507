/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one command of a room, in a process of its own: the command's parent and, as a subreaper,
 * that of all descendants that lose theirs, wherever they have moved themselves. So it can end them
 * all, and stays as long as one of them lives.
 */
#include "isolate/room/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/packet.h"
#include "isolate/box/internal.h"
#include "isolate/sanitized.h"

enum { STREAMS = 3, SCRIPT_FD = 3, STACK_BYTES = 256 << 10, MAX_WORD = (128 << 10) - 1 };

static const char *const defaults[] = {
    ("HOME=" ROOM_HOME),   "USER=user",
    "LOGNAME=user",        "SHELL=/bin/sh",
    "LANG=C.UTF-8",        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "TERM=xterm-256color", /* the last: for a terminal */
};

struct run {
    struct room_job *job;
    const char *workdir;
    char **argv;
    char **env;
    int streams[STREAMS];
    int script; /* of a command too long for a word; or -1 */
    int pty_master;
    /* How the start failed, written by the command's process in our memory. */
    int code;
    int errno_value;
    const char *what;
};

static void tell(const struct run *run, struct room_report *what, int fd)
{
    what->number = run->job->order.number;
    (void)packet_send(run->job->socket, (struct str){(const char *)what, sizeof(*what)}, &fd,
                      fd >= 0 ? 1 : 0, 0);
}

static _Noreturn void refuse(const struct run *run, int code, const char *field, const char *words)
{
    struct room_report report = {.kind = ROOM_REPORT_REFUSED};

    err_set_field(&report.err, code, field, "%s", words);
    tell(run, &report, -1);
    _exit(0);
}

/* ---- The order ---- */

static char *load(const struct run *run)
{
    const struct room_order *order = &run->job->order;
    char *bytes = order->bytes <= 2 * ROOM_MAX_COMMAND ? malloc(order->bytes + 1) : NULL;

    if (bytes == NULL)
        refuse(run, ERR_TOO_LARGE, "command", "the command is too long");
    if (!order->has_payload)
        memcpy(bytes, run->job->bytes, order->bytes);
    else if (pread(run->job->fds[0], bytes, order->bytes, 0) != (ssize_t)order->bytes)
        refuse(run, ERR_INVALID_REQUEST, "command", "malformed order");
    bytes[order->bytes] = '\0';
    return bytes;
}

static bool has_name(char *const *variables, const char *variable)
{
    size_t len = (size_t)(strchrnul(variable, '=') - variable) + 1;

    for (; *variables != NULL; variables++)
        if (strncmp(*variables, variable, len) == 0)
            return true;
    return false;
}

static void parse(struct run *run)
{
    const struct room_order *order = &run->job->order;
    char *bytes = load(run);
    const bool is_sound = order->word_count > 0 && order->word_count <= order->bytes &&
                          order->env_count <= order->bytes;
    char **strings = is_sound ? calloc(room_order_strings(order), sizeof(*strings)) : NULL;
    size_t count = 0;

    if (!is_sound)
        refuse(run, ERR_INVALID_REQUEST, "command", "malformed order");
    run->argv = calloc(order->word_count + 3, sizeof(*run->argv));
    run->env = calloc(order->env_count + array_size(defaults) + 1, sizeof(*run->env));
    if (strings == NULL || run->argv == NULL || run->env == NULL)
        refuse(run, ERR_NO_MEMORY, "command", "no memory");
    if (!room_order_parse(order, bytes, strings))
        refuse(run, ERR_INVALID_REQUEST, "command", "malformed order");
    run->workdir = strings[0];
    if (order->is_shell) {
        run->argv[count++] = strdup("/bin/sh");
        run->argv[count++] = strdup("-c");
    }
    memcpy(run->argv + count, strings + 1, order->word_count * sizeof(*strings));
    memcpy(run->env, strings + 1 + order->word_count, order->env_count * sizeof(*strings));
    count = order->env_count;
    for (size_t i = 0; i < array_size(defaults) - (order->has_terminal ? 0 : 1); i++)
        if (!has_name(run->env, defaults[i]))
            run->env[count++] = strdup(order->is_root && i == 0 ? "HOME=/root" : defaults[i]);
}

/* The kernel takes no word so long: the shell reads it as a file. */
static void make_script(struct run *run)
{
    const char *text = run->argv[2];
    size_t len;

    if (!run->job->order.is_shell || (len = strlen(text)) < MAX_WORD)
        return;
    run->script = memfd_create("command", MFD_CLOEXEC);
    if (run->script < 0 || write(run->script, text, len) != (ssize_t)len)
        refuse(run, ERR_NO_MEMORY, "command", "no memory for the command");
    run->argv[1] = strdup("/proc/self/fd/3");
    run->argv[2] = NULL;
}

static int open_terminal(struct run *run)
{
    const struct room_order *order = &run->job->order;
    const struct winsize size = {.ws_row = order->rows, .ws_col = order->columns};
    const int unlocked = 0;
    int slave;

    run->pty_master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (run->pty_master < 0 || ioctl(run->pty_master, TIOCSPTLCK, &unlocked) < 0)
        return errno;
    slave = ioctl(run->pty_master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0 || ioctl(run->pty_master, TIOCSWINSZ, &size) < 0 ||
        (run->job->has_range && !order->is_root && fchown(slave, ROOM_USER, 5) < 0))
        return errno;
    for (int i = 0; i < STREAMS; i++)
        run->streams[i] = slave;
    return 0;
}

static void choose_streams(struct run *run)
{
    const struct room_order *order = &run->job->order;
    const int *fds = run->job->fds + (order->has_payload ? 1 : 0);
    int r;

    if (order->has_terminal) {
        r = open_terminal(run);
        if (r != 0)
            refuse(run, err_from_errno(r), "terminal", "cannot open a terminal");
        return;
    }
    run->streams[0] = order->has_input ? *fds++ : open("/dev/null", O_RDONLY | O_CLOEXEC);
    run->streams[1] = fds[0];
    run->streams[2] = fds[1];
    for (int i = 0; i < STREAMS; i++)
        if (run->streams[i] < 0)
            refuse(run, ERR_INVALID_REQUEST, "command", "malformed order");
}

/* ---- The command's process ---- */

static bool set_streams(const struct run *run)
{
    int sources[STREAMS + 1] = {run->streams[0], run->streams[1], run->streams[2], run->script};

    /* Out of the way first: one may be where another must go. */
    for (int i = 0; i <= STREAMS; i++) {
        if (sources[i] < 0)
            continue;
        sources[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, SCRIPT_FD + 1);
        if (sources[i] < 0)
            return false;
    }
    for (int i = 0; i <= STREAMS; i++)
        if (sources[i] >= 0 && dup2(sources[i], i) < 0)
            return false;
    /* SAFETY: numbers only. */
    return syscall(SYS_close_range, run->script >= 0 ? SCRIPT_FD + 1 : SCRIPT_FD, ~0U,
                   CLOSE_RANGE_CLOEXEC) == 0;
}

static bool become_user(const struct run *run)
{
    const bool is_root = run->job->order.is_root;

    /* Without a range the first process has no capabilities either. */
    if (run->job->has_range && !is_root &&
        (setresgid(ROOM_USER, ROOM_USER, ROOM_USER) < 0 ||
         setresuid(ROOM_USER, ROOM_USER, ROOM_USER) < 0))
        return false;
    return true;
}

/* Runs in the memory of its parent, which waits; it must not return. */
static int run_command(void *data)
{
    struct run *run = data;
    sigset_t none;

    sigemptyset(&none);
    run->code = ERR_INTERNAL;
    run->what = "its process";
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0 || setsid() < 0 || !set_streams(run) ||
        (run->job->order.has_terminal && ioctl(0, TIOCSCTTY, 0) < 0) || !become_user(run))
        goto failed;
    run->what = run->workdir;
    run->code = 0;
    if (chdir(run->workdir) < 0)
        goto failed;
    run->what = run->argv[0];
    environ = run->env;
    execvp(run->argv[0], run->argv);
failed:
    run->errno_value = errno;
    if (run->code == 0)
        run->code = errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : err_from_errno(errno);
    if (errno == E2BIG)
        run->code = ERR_TOO_LARGE;
    _exit(EXIT_FAILURE);
}

static pid_t start(struct run *run)
{
    static char stack[STACK_BYTES] __attribute__((aligned(16)));
    /* A sanitizer's memory cannot be shared with what leaves without a word; `run` is. */
    const int flags = (ISOLATE_IS_SANITIZED ? 0 : CLONE_VM) | CLONE_VFORK | SIGCHLD;
    pid_t pid;

    run->errno_value = 0;
    pid = clone(run_command, stack + sizeof(stack), flags, run);
    if (pid < 0)
        refuse(run, ERR_BUSY, "command", "this sandbox has as many processes as it may have");
    if (run->errno_value != 0) {
        struct room_report report = {.kind = ROOM_REPORT_REFUSED};

        if (run->what == run->workdir)
            err_set_field(&report.err, run->code, "workdir",
                          "cannot use the working directory %.150s: %s", run->workdir,
                          err_errno_text(run->errno_value));
        else
            err_set_field(&report.err, run->code, "command", "%.150s: %s", run->what,
                          err_errno_text(run->errno_value));
        tell(run, &report, -1);
        _exit(0);
    }
    return pid;
}

/* ---- Watching ---- */

static void tell_end(const struct run *run, int status)
{
    struct room_report report = {
        .kind = ROOM_REPORT_EXITED,
        .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
        .exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
    };

    tell(run, &report, -1);
}

static _Noreturn void watch(const struct run *run, pid_t command)
{
    sigset_t wanted;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, SIGTERM);
    for (;;) {
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
            if (pid == command) {
                tell_end(run, status);
                command = 0;
            }
        if (pid < 0) /* nobody is left */
            _exit(0);
        if (sigwaitinfo(&wanted, NULL) == SIGTERM) {
            box_open_end_descendants();
            if (command > 0)
                tell_end(run, SIGKILL);
            _exit(0);
        }
    }
}

_Noreturn void room_run_command(struct room_job *job)
{
    struct room_report started = {.kind = ROOM_REPORT_STARTED};
    struct run *run =
        mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE,
             MAP_ANONYMOUS | (ISOLATE_IS_SANITIZED ? MAP_SHARED : MAP_PRIVATE), -1, 0);
    pid_t command;

    if (run == MAP_FAILED)
        _exit(EXIT_FAILURE);
    *run = (struct run){.job = job, .script = -1, .pty_master = -1};
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    parse(run);
    make_script(run);
    choose_streams(run);
    command = start(run);
    tell(run, &started, run->pty_master);
    /* Only the command has its streams now, so that their end is seen. SAFETY: numbers only. */
    (void)syscall(SYS_close_range, (unsigned)job->socket + 1, ~0U, 0);
    watch(run, command);
}
