/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks of a sandboxed command. Whoever can open a file can lock it with flock(), also a file of
 * the host that is read-only here, and programs outside would wait for the command. So a process of
 * ours, the locker, is asked about each flock() (calls.c) and makes the call itself, on a copy of
 * the descriptor: the lock belongs to what both refer to. If it let the command's own call go on,
 * the command could put another file under the same number meanwhile.
 *
 * The locker is a child of the first process, which must not touch what the command has opened: to
 * close a socket, say, may take as long as the command likes.
 */
#include "isolate/box/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "isolate/box/channel.h"

enum {
    MAX_WAITING = 256,
    FIRST_DELAY_MS = 1,
    LAST_DELAY_MS = 4,
    NOTICE_BYTES = 256, /* more than any kernel's */
    STATUS_BYTES = 1024,
};

/* A call that wants a lock which somebody else has. */
struct waiting {
    uint64_t id;
    int fd;
    int operation; /* LOCK_SH or LOCK_EX */
    bool is_kept;
};

static struct waiting waiting[MAX_WAITING];
static size_t waiting_count;
static int delay_ms;

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* from Linux 6.9 on */
#endif

/* False if the caller was killed or interrupted, and wants no answer. */
static bool is_wanted(int listener, uint64_t id)
{
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* False if nobody has got it. */
static bool answer(int listener, uint64_t id, int errno_value)
{
    union {
        struct seccomp_notif_resp answer;
        char bytes[NOTICE_BYTES];
    } out;

    memset(&out, 0, sizeof(out));
    out.answer.id = id;
    out.answer.error = -errno_value;
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &out) == 0;
}

/* The process of a thread, which a kernel may not know by the thread's number; or -1. */
static pid_t process_of(pid_t thread)
{
    char text[STATUS_BYTES];
    cleanup_fd int fd = -1;
    const char *line;
    ssize_t got;
    int pid;

    snprintf(text, sizeof(text), "/proc/%d/status", (int)thread);
    fd = open(text, O_RDONLY | O_CLOEXEC);
    got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (got < 0)
        return -1;
    text[got] = '\0';
    /* The name of the program comes first, in which the kernel writes no line breaks. */
    line = strstr(text, "\nTgid:\t");
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own number */
    return line != NULL && sscanf(line, "\nTgid:\t%d", &pid) == 1 ? pid : -1;
}

/*
 * A thread may have descriptors of its own, or outlive the first thread of its process. An older
 * kernel knows that one only, which counts if both have the same descriptors.
 * SAFETY: no wrappers in every C library; they take numbers and no names.
 */
static int open_caller(pid_t thread)
{
    int pidfd = (int)syscall(SYS_pidfd_open, thread, PIDFD_THREAD);
    pid_t process;

    if (pidfd >= 0 || errno != EINVAL)
        return pidfd;
    process = process_of(thread);
    if (process != thread && syscall(SYS_kcmp, thread, process, KCMP_FILES, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_pidfd_open, process, 0);
}

/* A copy of the descriptor that the call is about; or -1 and what to answer. */
static int copy_descriptor(const struct seccomp_notif *notice, int *out_errno)
{
    cleanup_fd int pidfd = open_caller((pid_t)notice->pid);
    int fd = -1;

    *out_errno = EOPNOTSUPP;
    if (pidfd >= 0)
        fd = (int)syscall(SYS_pidfd_getfd, pidfd, (int)notice->data.args[0], 0);
    if (pidfd >= 0 && fd < 0 && (errno == EBADF || errno == EMFILE))
        *out_errno = errno == EBADF ? EBADF : ENOLCK;
    return fd;
}

/* Whether the command could change it anyway: opened for that, or in a place for that. */
static bool is_changeable(int fd)
{
    const int flags = fcntl(fd, F_GETFL);
    struct statvfs about;

    if (flags < 0 || fstatvfs(fd, &about) < 0)
        return false;
    return (flags & O_ACCMODE) != O_RDONLY || (about.f_flag & ST_RDONLY) == 0;
}

/*
 * 0 or an errno value. A shared lock of a file that is read-only here is not kept: who reads the
 * file waits until a writer outside is done, but keeps no writer out.
 */
static int try_lock(const struct waiting *call)
{
    if (flock(call->fd, call->operation | LOCK_NB) < 0)
        return errno;
    if (!call->is_kept)
        (void)flock(call->fd, LOCK_UN);
    return 0;
}

/* Who is interrupted has no lock, whatever was tried meanwhile. */
static void answer_try(int listener, const struct waiting *call, int errno_value)
{
    if (!answer(listener, call->id, errno_value) && errno_value == 0 && call->is_kept)
        (void)flock(call->fd, LOCK_UN);
}

/* Answers the call unless it has to wait; then true, and the descriptor stays open. */
static bool must_wait(int listener, const struct seccomp_notif *notice, struct waiting *call)
{
    const int operation = (int)notice->data.args[1];
    int r;

    call->operation = operation & ~LOCK_NB;
    call->is_kept = is_changeable(call->fd);
    if (call->operation != LOCK_SH && call->operation != LOCK_EX && call->operation != LOCK_UN)
        r = EINVAL;
    else if (call->operation == LOCK_EX && !call->is_kept)
        r = EOPNOTSUPP;
    else
        r = try_lock(call);
    if (r == EWOULDBLOCK && (operation & LOCK_NB) == 0)
        return true;
    answer_try(listener, call, r);
    return false;
}

/* False if the caller was killed meanwhile. */
static bool hear(int listener, struct seccomp_notif *out_notice)
{
    union {
        struct seccomp_notif notice;
        char bytes[NOTICE_BYTES];
    } in;

    memset(&in, 0, sizeof(in));
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0)
        return false;
    *out_notice = in.notice;
    return true;
}

static void take_notice(int listener)
{
    struct seccomp_notif notice;
    struct waiting call;
    int errno_value;

    if (!hear(listener, &notice))
        return;
    call = (struct waiting){.id = notice.id, .fd = copy_descriptor(&notice, &errno_value)};
    if (call.fd < 0) {
        (void)answer(listener, call.id, errno_value);
        return;
    }
    /* The number of a thread that has ended may be another's now. */
    if (is_wanted(listener, call.id) && must_wait(listener, &notice, &call)) {
        waiting[waiting_count++] = call;
        delay_ms = FIRST_DELAY_MS;
    } else {
        close(call.fd);
    }
}

static void try_again(int listener)
{
    size_t left = 0;

    for (size_t i = 0; i < waiting_count; i++) {
        int r = is_wanted(listener, waiting[i].id) ? try_lock(&waiting[i]) : ECANCELED;

        if (r == EWOULDBLOCK) {
            waiting[left++] = waiting[i];
            continue;
        }
        answer_try(listener, &waiting[i], r);
        close(waiting[i].fd);
        delay_ms = 0;
    }
    waiting_count = left;
    delay_ms = delay_ms == 0              ? FIRST_DELAY_MS
               : delay_ms < LAST_DELAY_MS ? 2 * delay_ms
                                          : LAST_DELAY_MS;
}

/* The locker. It ends when the first process does. */
static _Noreturn void serve(int listener)
{
    for (;;) {
        /* More callers than can wait wait to be heard. */
        struct pollfd wait = {.fd = waiting_count < MAX_WAITING ? listener : -1, .events = POLLIN};

        if (poll(&wait, 1, waiting_count > 0 ? delay_ms : -1) < 0 && errno != EINTR)
            _exit(EXIT_FAILURE);
        if ((wait.revents & POLLIN) != 0)
            take_notice(listener);
        else if (wait.revents != 0)
            _exit(EXIT_SUCCESS); /* nobody is left who could ask */
        try_again(listener);
    }
}

pid_t box_locks_serve(int listener)
{
    struct seccomp_notif notice;
    pid_t pid = fork();

    if (pid == 0) {
        box_channel_keep_only(&listener, 1);
        serve(listener);
    }
    if (pid < 0 && hear(listener, &notice))
        (void)answer(listener, notice.id, ENOLCK);
    return pid;
}
