/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts another program of ours as a child, connected by a socket and sharing nothing else but
 * standard error and the variables that do not look like a secret. We choose the program, never an
 * outsider. The caller watches the child (loop/child.h).
 */
#ifndef ISOLATE_COMPANION_H
#define ISOLATE_COMPANION_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

enum {
    COMPANION_FD = 3, /* the child's end of the socket */
    COMPANION_SECOND_FD,
    COMPANION_READ_BYTES = 256 << 10
};

struct companion {
    pid_t pid;
    int fd; /* our end: a stream, close-on-exec */
};

/*
 * error_fd becomes the child's standard error. `name` is looked for beside this program and then in
 * `libexec`, which starts at this program's directory unless it starts with '/'. argv is
 * NULL-terminated and starts with the name. The process may have threads.
 */
int companion_start(const char *name, const char *libexec, const char *const *argv, int error_fd,
                    struct companion *out_companion, struct err *err);

/*
 * The same with sockets that are there already: the child's end of the first one, and of the second
 * or -1. They stay the caller's.
 */
int companion_start_with(const char *name, const char *libexec, const char *const *argv,
                         const int sockets[2], int error_fd, pid_t *out_pid, struct err *err);

/*
 * Starts a service of ours that outlives us: without a socket, in a session of its own, so that no
 * key or end of our terminal reaches it. The rest is as above. The caller reaps it if it ends
 * first.
 */
int companion_start_service(const char *name, const char *libexec, const char *const *argv,
                            int error_fd, pid_t *out_pid, struct err *err);

/*
 * Says that nothing more will come, and waits until the child has closed its end, which it does
 * last of all; at most so long. A confined process may not wait for the child itself.
 */
void companion_close(int fd, int max_ms);

/*
 * For the child, as early as possible. Signals from a terminal to all its programs are for the
 * parent, which closes the socket. If the parent is killed while the child is stopped, the child is
 * continued and notices that its socket was closed.
 */
void companion_follow_parent(void);

/*
 * The same for a child that has nothing to finish, and would not look at its socket while it waits
 * for somebody else: it is killed. The parent must have one thread.
 */
void companion_end_with_parent(void);

/*
 * For a child that does one request: reads until the parent has sent all. The limit of `out` must
 * leave COMPANION_READ_BYTES behind the longest request.
 */
int companion_receive(struct buf *out);
int companion_send(struct str bytes);

/*
 * For the child, once it has noticed that: it is not continued any more. A sanitizer's leak check,
 * its last action, stops all threads and hangs if something continues them.
 */
void companion_end_by_itself(void);

/*
 * Runs the function in a child process, and waits for it. Returns its exit status, or 128 and the
 * number of the signal that killed it; -1 if there was no child, or if it went on for longer than
 * that after the front end had closed COMPANION_FD, and was killed. Negative: it may go on.
 */
int companion_run_in_child(int (*work)(void *data), void *data, int end_ms);

/*
 * Runs the function in a child process, which exits with its result, and goes on. The child is
 * killed if this process dies.
 */
int companion_fork(int (*work)(void *data), void *data, struct err *err);

#endif
