/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/reviver.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "ipc/packet.h"
#include "isolate/companion.h"
#include "isolate/confine.h"

enum { BY_SIGNAL = 128 }; /* see companion_run_in_child() */

struct copy {
    reviver_start *start;
    void *data;
    int fd;
};

/* ---- the copy ---- */

static int start_again(const struct copy *copy, uint32_t which)
{
    struct err err = ERR_INIT;
    int fd = copy->start(copy->data, which, &err);

    if (fd < 0)
        fprintf(stderr, "gatehouse: %s\n", err.message);
    return fd;
}

/* Until the program closes. Its children end by themselves, and nobody asks how. */
static int serve(void *data)
{
    const struct copy *copy = data;
    uint32_t which;

    (void)signal(SIGCHLD, SIG_IGN);
    while (packet_receive(copy->fd, &which, sizeof(which), NULL, 0, 0) == sizeof(which)) {
        const struct str bytes = {(const char *)&which, sizeof(which)};
        cleanup_fd int fd = start_again(copy, which);

        if (packet_send(copy->fd, bytes, &fd, fd >= 0 ? 1 : 0, 0) < 0)
            break;
    }
    return EXIT_SUCCESS;
}

/* It has no work of its own, so it is the one that stays. */
static int guard(void *data)
{
    const struct copy *copy = data;
    const int kept[] = {STDERR_FILENO, copy->fd};
    int r;

    if (confine_close_fds(kept, array_size(kept), NULL) < 0)
        return EXIT_FAILURE;
    do
        r = companion_run_in_child(serve, data, -1);
    while (r > BY_SIGNAL);
    return r < 0 ? serve(data) : r;
}

int reviver_fork(reviver_start *start, void *data, int *out_fd, struct err *err)
{
    struct copy copy = {.start = start, .data = data};
    int ends[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, err_from_errno(errno), "cannot create sockets: %s",
                       err_errno_text(errno));
    copy.fd = ends[1];
    r = companion_fork(guard, &copy, err);
    close(ends[1]);
    if (r < 0)
        close(ends[0]);
    else
        *out_fd = ends[0];
    return r;
}

/* ---- the program ---- */

int reviver_ask(int fd, uint32_t which)
{
    const struct str bytes = {(const char *)&which, sizeof(which)};

    return packet_send(fd, bytes, NULL, 0, MSG_DONTWAIT) == 0 ? 0 : ERR_CONNECTION_LOST;
}

bool reviver_take(int fd, uint32_t *out_which, int *out_fd)
{
    *out_fd = -1;
    return packet_receive(fd, out_which, sizeof(*out_which), out_fd, 1, MSG_DONTWAIT) ==
           sizeof(*out_which);
}

/* The next answer, before that time. */
static bool wait_for_answer(int fd, int64_t end_ms, uint32_t *out_which, int *out_fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int64_t left_ms = end_ms - clock_monotonic_ms(&clock_system);

    return poll(&ready, 1, left_ms > 0 ? (int)left_ms : 0) > 0 &&
           reviver_take(fd, out_which, out_fd);
}

int reviver_get(int fd, uint32_t which, int max_ms, int *out_fd, struct err *err)
{
    const int64_t end_ms = clock_monotonic_ms(&clock_system) + max_ms;
    uint32_t answered = which;
    int found = -1;

    while (reviver_take(fd, &answered, &found))
        if (found >= 0)
            close(found);
    if (reviver_ask(fd, which) < 0)
        return err_set(err, ERR_CONNECTION_LOST,
                       "what starts programs has ended: restart Gatehouse");
    /* One to an earlier question may have been on its way. */
    while (wait_for_answer(fd, end_ms, &answered, &found) && answered != which)
        if (found >= 0)
            close(steal_fd(&found));
    if (found < 0)
        return err_set(err, ERR_CONNECTION_LOST, "the program could not be started: try again");
    *out_fd = found;
    return 0;
}
