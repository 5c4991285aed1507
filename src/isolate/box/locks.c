/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks of a sandboxed command. Whoever can open a file can lock it with flock(), also a file of
 * the host that is read-only here, and programs outside would wait for the command. So the first
 * process is asked about each flock() (calls.c) and makes the call itself, on a copy of the
 * descriptor: the lock belongs to what both refer to. If it let the command's own call go on, the
 * command could put another file under the same number meanwhile.
 */
#include "isolate/box/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

enum {
    MAX_WAITING = 64,
    FIRST_DELAY_MS = 1,
    LAST_DELAY_MS = 16,
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

/* False if the caller was killed or interrupted, and wants no answer. */
static bool is_wanted(int listener, uint64_t id)
{
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static void answer(int listener, uint64_t id, int errno_value)
{
    union {
        struct seccomp_notif_resp answer;
        char bytes[NOTICE_BYTES];
    } out;

    memset(&out, 0, sizeof(out));
    out.answer.id = id;
    out.answer.error = -errno_value;
    (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &out);
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

/* SAFETY: no wrappers in every C library; they take numbers and no names. */
static int open_process(pid_t thread)
{
    int pidfd = (int)syscall(SYS_pidfd_open, thread, 0);

    if (pidfd < 0)
        pidfd = (int)syscall(SYS_pidfd_open, process_of(thread), 0);
    return pidfd;
}

/* A copy of the descriptor that the call is about; or -1 with errno. */
static int copy_descriptor(const struct seccomp_notif *notice)
{
    cleanup_fd int pidfd = open_process((pid_t)notice->pid);

    if (pidfd < 0) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_pidfd_getfd, pidfd, (int)notice->data.args[0], 0);
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
    if (r == EWOULDBLOCK && (operation & LOCK_NB) == 0) {
        if (waiting_count < MAX_WAITING)
            return true;
        r = ENOLCK;
    }
    answer(listener, notice->id, r);
    return false;
}

static void take_notice(int listener)
{
    union {
        struct seccomp_notif notice;
        char bytes[NOTICE_BYTES];
    } in;
    struct waiting call;

    memset(&in, 0, sizeof(in));
    /* It fails if the caller was killed meanwhile. */
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0)
        return;
    call = (struct waiting){.id = in.notice.id, .fd = copy_descriptor(&in.notice)};
    if (call.fd < 0) {
        answer(listener, call.id, errno == EBADF ? EBADF : EOPNOTSUPP);
        return;
    }
    /* The number of a process that has ended may be another's now. */
    if (is_wanted(listener, call.id) && must_wait(listener, &in.notice, &call)) {
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
        answer(listener, waiting[i].id, r);
        close(waiting[i].fd);
        delay_ms = 0;
    }
    waiting_count = left;
    delay_ms = delay_ms == 0              ? FIRST_DELAY_MS
               : delay_ms < LAST_DELAY_MS ? 2 * delay_ms
                                          : LAST_DELAY_MS;
}

int box_locks_serve(int listener, bool has_notice)
{
    if (has_notice)
        take_notice(listener);
    if (waiting_count > 0)
        try_again(listener);
    return waiting_count > 0 ? delay_ms : -1;
}
