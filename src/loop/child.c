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

/* Not in every C library; the kernel's value. */
enum { CHILD_P_PIDFD = 3 };

struct child {
    struct loop *loop;
    struct list node; /* in loop->children without a pidfd */
    pid_t pid;
    int pidfd; /* -1 without, and after the end */
    uv_poll_t poll;
    void (*on_exit)(void *data, struct child_exit exit);
    void *data;
    struct child_exit exit;
    bool is_reaped;
    bool is_polling; /* the handle is open */
    bool is_closing; /* the handle is on its way out */
    bool is_freed;   /* the owner has let go */
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
 * Both calls that the pidfd way needs are tried on this process: one kernel has
 * pidfd_open() but not P_PIDFD, and old syscall filters answer EPERM.
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

/* True when the process has ended; it is reaped then and child->exit filled. */
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
    child->is_reaped = true;
    child->exit.value = r < 0 ? 0 : info.si_status;
    if (r < 0)
        child->exit.end = CHILD_LOST;
    else
        child->exit.end = info.si_code == CLD_EXITED ? CHILD_EXITED : CHILD_SIGNALED;
    return true;
}

static void free_when_unused(struct child *child)
{
    if (child->is_freed && !child->is_polling && !child->is_closing)
        free(child);
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct child *child = handle->data;

    child->is_closing = false;
    free_when_unused(child);
}

/* Ends the watch, whichever way it was kept. */
static void stop_watching(struct child *child)
{
    struct loop *loop = child->loop;

    if (child->is_polling) {
        child->is_polling = false;
        child->is_closing = true;
        uv_close((uv_handle_t *)&child->poll, on_poll_closed);
    }
    if (child->pidfd >= 0)
        close(steal_fd(&child->pidfd));
    list_remove(&child->node);
    if (list_is_empty(&loop->children))
        uv_signal_stop(&loop->sigchld);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct child *child = poll->data;

    /* A pidfd knows no other event and no error. */
    (void)status;
    (void)events;
    if (!try_reap(child))
        return;
    stop_watching(child);
    child->on_exit(child->data, child->exit);
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
    child->is_polling = true;
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
    /* One that ended before the handler stood sends no signal any more: look once. */
    loop_defer(loop, &loop->reap);
    return 0;
}

/* SIGCHLD does not say for whom and may stand for several: every watched pid is asked. */
void child_reap(void *loop_pointer)
{
    struct loop *loop = loop_pointer;
    struct list watched;
    struct list ended;

    list_init(&ended);
    loop_list_take(&loop->children, &watched);
    while (!list_is_empty(&watched)) {
        struct child *child = list_entry(watched.next, struct child, node);

        list_remove(&child->node);
        list_append(try_reap(child) ? &ended : &loop->children, &child->node);
    }
    /* A callback may free any child, also one that is still on this list. */
    while (!list_is_empty(&ended)) {
        struct child *child = list_entry(ended.next, struct child, node);

        stop_watching(child);
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
    if (child == NULL)
        return;
    stop_watching(child);
    child->is_freed = true;
    free_when_unused(child);
}

int child_signal(struct child *child, int signum)
{
    int r;

    if (child->is_reaped)
        return ERR_NOT_FOUND;
    /* Not reaped, so the pid is still this process's own and kill() cannot miss either. */
    r = child->pidfd >= 0 ? pidfd_signal_raw(child->pidfd, signum) : kill(child->pid, signum);
    if (r == 0)
        return 0;
    return errno == ESRCH ? ERR_NOT_FOUND : err_from_errno(errno);
}

void child_use_sigchld(struct loop *loop)
{
    assert(loop->child_method == CHILD_METHOD_UNKNOWN);
    loop->child_method = CHILD_METHOD_SIGCHLD;
}
