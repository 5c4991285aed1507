/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/child.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "loop/internal.h"
#include "loop/timer.h"

enum {
    /* Not in every C library; the kernel's value. */
    CHILD_P_PIDFD = 3,
    /* How often to ask for a process that has ended but is not ours to reap yet. */
    CHILD_ASK_AGAIN_MS = 100,
};

/*
 *   WATCHED -- REAPED -- FREED
 *      |  `---'           |
 *      |  HELD            |
 *      `------------------'
 */
enum child_state {
    CHILD_WATCHED, /* asked for when its pidfd or SIGCHLD says so */
    CHILD_HELD,    /* it has ended, but a tracer has the first right to it: a timer asks */
    CHILD_REAPED,  /* nothing is watched any more */
    CHILD_FREED,   /* the owner has let go; the memory waits for libuv */
};

struct child {
    struct loop *loop;
    enum child_state state;
    struct list node; /* without a pidfd: in loop->children, then in the list of ended ones */
    pid_t pid;
    int pidfd; /* -1 without, and after the end */
    uv_poll_t poll;
    bool has_handle; /* libuv still knows `poll` */
    struct timer ask_again;
    void (*on_exit)(void *data, struct child_exit exit);
    void *data;
    struct child_exit exit;
};

/* SAFETY: raw system calls, because not every supported C library wraps them. */
static int pidfd_open_raw(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static int pidfd_signal_raw(int pidfd, int signum)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signum, NULL, 0);
}

/*
 * Tries both calls that the pidfd way needs on this process: one kernel has pidfd_open() but not
 * P_PIDFD, and old syscall filters answer EPERM.
 */
static enum child_method probe_method(void)
{
    cleanup_fd int fd = pidfd_open_raw(getpid());
    siginfo_t info;

    if (fd < 0)
        return errno == ENOSYS || errno == EPERM ? CHILD_METHOD_SIGCHLD : CHILD_METHOD_PIDFD;
    /* We are not our own child: ECHILD is the good answer. */
    if (waitid((idtype_t)CHILD_P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG) < 0 && errno == EINVAL)
        return CHILD_METHOD_SIGCHLD;
    return CHILD_METHOD_PIDFD;
}

/* True if the process has ended; then it was reaped and child->exit filled in. */
static bool try_reap(struct child *child)
{
    siginfo_t info = {0};
    int r;

    do {
        r = child->pidfd >= 0
                ? waitid((idtype_t)CHILD_P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG)
                : waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG);
    } while (r < 0 && errno == EINTR);

    if (r == 0 && info.si_pid == 0)
        return false;
    child->exit.value = r < 0 ? 0 : info.si_status;
    if (r < 0)
        child->exit.end = CHILD_LOST;
    else
        child->exit.end = info.si_code == CLD_EXITED ? CHILD_EXITED : CHILD_SIGNALED;
    return true;
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct child *child = handle->data;

    child->has_handle = false;
    if (child->state == CHILD_FREED)
        free(child);
}

/* Ends the watch, whichever way it is kept. */
static void stop_watching(struct child *child)
{
    struct loop *loop = child->loop;

    timer_stop(&child->ask_again);
    if (child->pidfd >= 0) {
        uv_close((uv_handle_t *)&child->poll, on_poll_closed);
        close(steal_fd(&child->pidfd));
    }
    list_remove(&child->node);
    if (list_is_empty(&loop->children))
        uv_signal_stop(&loop->sigchld);
}

/* The only function that changes a watch's state. FREED may free the child. */
static void child_enter(struct child *child, enum child_state next)
{
    enum child_state from = child->state;

    child->state = next;
    switch (next) {
    case CHILD_WATCHED:
        assert(false && "a watch cannot begin again");
        break;
    case CHILD_HELD:
        assert(from == CHILD_WATCHED);
        uv_poll_stop(&child->poll);
        timer_start_repeating(&child->ask_again, CHILD_ASK_AGAIN_MS);
        break;
    case CHILD_REAPED:
        assert(from == CHILD_WATCHED || from == CHILD_HELD);
        stop_watching(child);
        break;
    case CHILD_FREED:
        assert(from != CHILD_FREED);
        stop_watching(child);
        if (!child->has_handle)
            free(child);
        break;
    }
}

static void tell(struct child *child)
{
    child_enter(child, CHILD_REAPED);
    child->on_exit(child->data, child->exit);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct child *child = poll->data;

    /* A pidfd knows no other event and no error. */
    (void)status;
    (void)events;
    if (try_reap(child))
        tell(child);
    else
        /* It stays readable and there is nothing to wait for: polling would spin. */
        child_enter(child, CHILD_HELD);
}

static void on_ask_again(void *data)
{
    struct child *child = data;

    if (try_reap(child))
        tell(child);
}

static int watch_pidfd(struct child *child)
{
    int r;

    child->pidfd = pidfd_open_raw(child->pid);
    if (child->pidfd < 0)
        return errno == ESRCH ? ERR_NOT_FOUND : err_from_errno(errno);
    r = uv_poll_init(&child->loop->uv, &child->poll, child->pidfd);
    if (r < 0) {
        close(steal_fd(&child->pidfd));
        return loop_error(r);
    }
    child->poll.data = child;
    child->has_handle = true;
    r = uv_poll_start(&child->poll, UV_READABLE, on_readable);
    assert(r == 0);
    return 0;
}

static void on_sigchld(uv_signal_t *signal, int signum)
{
    (void)signum;
    child_reap(signal->data);
}

static int watch_sigchld(struct child *child)
{
    struct loop *loop = child->loop;
    int r = uv_signal_start(&loop->sigchld, on_sigchld, SIGCHLD);

    if (r < 0)
        return loop_error(r);
    list_append(&loop->children, &child->node);
    /* A child that ended before the handler was installed sends no signal any more: check once. */
    loop_defer(loop, &loop->reap);
    return 0;
}

/* SIGCHLD does not tell which child, and may stand for several: checks every watched pid. */
void child_reap(void *loop_pointer)
{
    struct loop *loop = loop_pointer;
    struct list ended;

    list_init(&ended);
    list_each_safe (node, &loop->children) {
        struct child *child = list_entry(node, struct child, node);

        if (!try_reap(child))
            continue;
        child_enter(child, CHILD_REAPED);
        list_append(&ended, &child->node);
    }
    /* A callback may free any child, even one still on this list. */
    while (!list_is_empty(&ended)) {
        struct child *child = list_entry(ended.next, struct child, node);

        list_remove(&child->node);
        child->on_exit(child->data, child->exit);
    }
}

int child_watch(struct loop *loop, pid_t pid, void (*on_exit)(void *data, struct child_exit exit),
                void *data, struct child **out_child)
{
    cleanup_free struct child *child = calloc(1, sizeof(*child));
    int r;

    assert(pid > 0);
    if (child == NULL)
        return ERR_NO_MEMORY;
    child->loop = loop;
    child->pid = pid;
    child->pidfd = -1;
    child->on_exit = on_exit;
    child->data = data;
    list_init(&child->node);
    timer_init(&child->ask_again, loop, on_ask_again, child);

    if (loop->child_method == CHILD_METHOD_UNKNOWN)
        loop->child_method = probe_method();
    r = loop->child_method == CHILD_METHOD_PIDFD ? watch_pidfd(child) : watch_sigchld(child);
    if (r < 0)
        return r;
    *out_child = steal_ptr(&child);
    return 0;
}

void child_free(struct child *child)
{
    if (child != NULL)
        child_enter(child, CHILD_FREED);
}

int child_signal(struct child *child, int signum)
{
    int r = -1;

    if (child->state == CHILD_REAPED)
        return ERR_NOT_FOUND;
    if (child->pidfd >= 0)
        r = pidfd_signal_raw(child->pidfd, signum);
    /*
     * Not reaped, so the pid is still this process's own and kill() cannot miss
     * either. Syscall filters may know pidfds and not this call; an EPERM that is
     * meant is only said twice.
     */
    if (child->pidfd < 0 || (r < 0 && (errno == ENOSYS || errno == EPERM)))
        r = kill(child->pid, signum);
    if (r == 0)
        return 0;
    return errno == ESRCH ? ERR_NOT_FOUND : err_from_errno(errno);
}

void child_use_sigchld(struct loop *loop)
{
    assert(loop->child_method == CHILD_METHOD_UNKNOWN);
    loop->child_method = CHILD_METHOD_SIGCHLD;
}
