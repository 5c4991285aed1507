/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/companion.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "isolate/environment.h"
#include "isolate/sanitized.h"

/* The directory of this program. */
static int own_directory(char out_path[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", out_path, PATH_MAX - 1);

    if (len < 0)
        return errno;
    out_path[len] = '\0';
    *strrchr(out_path, '/') = '\0';
    return 0;
}

/* Sockets as in companion_start_with(); a service has none. */
static int set_descriptors(posix_spawn_file_actions_t *actions, const int sockets[2], int error_fd)
{
    int next = COMPANION_FD;
    int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);

    if (r == 0)
        r = posix_spawn_file_actions_adddup2(actions, STDIN_FILENO, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(actions, error_fd, STDERR_FILENO);
    /* Also where it has that number already: then only the closing is taken off it. */
    for (size_t i = 0; i < 2 && sockets[i] >= 0 && r == 0; i++)
        r = posix_spawn_file_actions_adddup2(actions, sockets[i], next++);
    return r == 0 ? posix_spawn_file_actions_addclosefrom_np(actions, next) : r;
}

/* Our environment without secrets. NULL without memory. */
static char **own_environment(void)
{
    size_t count = 0;
    size_t kept = 0;
    char **variables;

    while (environ[count] != NULL)
        count++;
    variables = calloc(count + 1, sizeof(*variables));
    for (size_t i = 0; i < count && variables != NULL; i++)
        if (!environment_is_secret(environ[i]))
            variables[kept++] = environ[i];
    return variables;
}

/* The child does not inherit ignored and blocked signals. */
static int set_signals(posix_spawnattr_t *attributes, bool is_service)
{
    const short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t none;
    sigset_t all;
    int r;

    sigemptyset(&none);
    sigfillset(&all);
    r = posix_spawnattr_setsigmask(attributes, &none);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(attributes, &all);
    return r == 0 ? posix_spawnattr_setflags(
                        attributes, is_service ? (short)(flags | POSIX_SPAWN_SETSID) : flags)
                  : r;
}

/* Returns an errno value. Without a socket it is a service. */
static int spawn_in(const char *directory, const char *name, const char *const *argv,
                    const int sockets[2], int error_fd, pid_t *out_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    cleanup_free char **variables = own_environment();
    char path[PATH_MAX];
    char *const *words;
    int r;

    if (variables == NULL)
        return ENOMEM;
    if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
        return ENAMETOOLONG;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    r = set_descriptors(&actions, sockets, error_fd);
    if (r == 0)
        r = set_signals(&attributes, sockets[0] < 0);
    /* SAFETY: posix_spawn() changes none of the words; its type is older than const. */
    memcpy(&words, &argv, sizeof(words));
    if (r == 0)
        r = posix_spawn(out_pid, path, &actions, &attributes, words, variables);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

static int spawn(const char *name, const char *libexec, const char *const *argv,
                 const int sockets[2], int error_fd, pid_t *out_pid, struct err *err)
{
    char own[PATH_MAX];
    char installed[PATH_MAX];
    int r = own_directory(own);

    if (r == 0)
        r = spawn_in(own, name, argv, sockets, error_fd, out_pid);
    if (r == ENOENT)
        r = snprintf(installed, sizeof(installed), "%s%s%s", libexec[0] == '/' ? "" : own,
                     libexec[0] == '/' ? "" : "/", libexec) < (int)sizeof(installed)
                ? spawn_in(installed, name, argv, sockets, error_fd, out_pid)
                : ENAMETOOLONG;
    return r == 0 ? 0
                  : err_set(err, err_from_errno(r), "cannot start %s: %s. Is it installed?", name,
                            err_errno_text(r));
}

int companion_start_service(const char *name, const char *libexec, const char *const *argv,
                            int error_fd, pid_t *out_pid, struct err *err)
{
    return spawn(name, libexec, argv, (const int[2]){-1, -1}, error_fd, out_pid, err);
}

int companion_start_with(const char *name, const char *libexec, const char *const *argv,
                         const int sockets[2], int error_fd, pid_t *out_pid, struct err *err)
{
    cleanup_fd int second = -1;

    if (sockets[1] >= 0) {
        /* The first one may not take its number in the child. */
        second = fcntl(sockets[1], F_DUPFD_CLOEXEC, COMPANION_SECOND_FD + 1);
        if (second < 0)
            return err_set(err, err_from_errno(errno), "%s: %s", name, err_errno_text(errno));
    }
    return spawn(name, libexec, argv, (const int[2]){sockets[0], second}, error_fd, out_pid, err);
}

int companion_start(const char *name, const char *libexec, const char *const *argv, int error_fd,
                    struct companion *out_companion, struct err *err)
{
    cleanup_fd int ours = -1;
    cleanup_fd int theirs = -1;
    int ends[2];
    pid_t pid;
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, err_from_errno(errno), "%s: %s", name, err_errno_text(errno));
    ours = ends[0];
    theirs = ends[1];
    r = spawn(name, libexec, argv, (const int[2]){theirs, -1}, error_fd, &pid, err);
    if (r < 0)
        return r;
    *out_companion = (struct companion){.pid = pid, .fd = steal_fd(&ours)};
    return 0;
}

void companion_close(int fd, int max_ms)
{
    int64_t deadline_ms = clock_monotonic_ms(&clock_system) + max_ms;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    char rest[4096];
    int64_t left_ms = max_ms;

    (void)shutdown(fd, SHUT_WR);
    while (left_ms > 0 && poll(&ready, 1, (int)left_ms) > 0 && read(fd, rest, sizeof(rest)) > 0)
        left_ms = deadline_ms - clock_monotonic_ms(&clock_system);
    close(fd);
}

void companion_follow_parent(void)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    /*
     * Not a signal that kills: a change in progress is finished or rolled back. And it is also sent
     * when a mere thread of the parent ends.
     */
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
}

void companion_end_with_parent(void)
{
    companion_follow_parent();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

int companion_receive(struct buf *out)
{
    while (true) {
        ssize_t n;
        int r = buf_reserve(out, COMPANION_READ_BYTES);

        if (r < 0)
            return r;
        n = read(COMPANION_FD, out->data + out->len, COMPANION_READ_BYTES);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return err_from_errno(errno);
        out->len += n > 0 ? (size_t)n : 0;
    }
}

int companion_send(struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(COMPANION_FD, bytes.ptr, bytes.len);

        if (n < 0 && errno != EINTR)
            return err_from_errno(errno);
        bytes = str_slice(bytes, n > 0 ? (size_t)n : 0, bytes.len);
    }
    return 0;
}

void companion_end_by_itself(void)
{
    if (ISOLATE_IS_SANITIZED)
        (void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

/* Until it ends, or has gone on for too long without a front end. False: it was killed for that. */
static bool watch_child(pid_t pid, int end_ms)
{
    cleanup_fd int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd watched[] = {{.fd = fd, .events = POLLIN},
                               {.fd = COMPANION_FD, .events = POLLRDHUP}};

    if (fd < 0 || end_ms < 0)
        return true; /* an old kernel, or nothing to watch */
    while (poll(watched, array_size(watched), -1) < 0)
        ;
    if (watched[0].revents != 0)
        return true;
    while (poll(watched, 1, end_ms) < 0)
        ;
    return watched[0].revents != 0 || kill(pid, SIGKILL) < 0;
}

int companion_run_in_child(int (*work)(void *data), void *data, int end_ms)
{
    enum { BY_SIGNAL = 128 };
    pid_t pid = fork();
    bool has_ended;
    int status;

    if (pid == 0)
        _exit(work(data));
    if (pid < 0)
        return -1;
    has_ended = watch_child(pid, end_ms);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    if (!has_ended)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status);
}

/*
 * The child lets this process go on first, if they share a processor: at the start of a program
 * somebody waits for it, and nobody for the child.
 */
static pid_t fork_without_preemption(void)
{
    const struct sched_param none = {0};
    bool is_batch =
        sched_getscheduler(0) == SCHED_OTHER && sched_setscheduler(0, SCHED_BATCH, &none) == 0;
    pid_t pid = fork();
    int errno_value = errno;

    if (is_batch)
        sched_setscheduler(0, SCHED_OTHER, &none);
    errno = errno_value;
    return pid;
}

int companion_fork(int (*work)(void *data), void *data, struct err *err)
{
    pid_t self = getpid();
    pid_t pid = fork_without_preemption();

    if (pid == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != self)
            _exit(EXIT_FAILURE);
        _exit(work(data));
    }
    return pid > 0 ? 0
                   : err_set(err, err_from_errno(errno), "cannot create a process: %s",
                             err_errno_text(errno));
}
