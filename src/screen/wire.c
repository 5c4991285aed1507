/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/wire.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"

/* Waits until the socket is ready; the descriptor may be non-blocking or not. */
static int wait_for(int fd, short what, int64_t deadline_ms)
{
    struct pollfd ready = {.fd = fd, .events = what};
    int timeout = -1;
    int r;

    if (deadline_ms > 0) {
        int64_t left = deadline_ms - clock_monotonic_ms(&clock_system);

        timeout = left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
    }
    r = poll(&ready, 1, timeout);
    if (r == 0)
        return ERR_TIMED_OUT;
    return r > 0 || errno == EINTR ? 0 : err_from_errno(errno);
}

int screen_wire_read(int fd, void *room, size_t size, int64_t deadline_ms)
{
    char *at = room;

    while (size > 0) {
        int r = wait_for(fd, POLLIN, deadline_ms);
        ssize_t got;

        if (r < 0)
            return r;
        got = read(fd, at, size);
        if (got == 0)
            return ERR_CONNECTION_LOST;
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return errno == ECONNRESET ? ERR_CONNECTION_LOST : err_from_errno(errno);
        at += got;
        size -= (size_t)got;
    }
    return 0;
}

int screen_wire_write(int fd, const void *bytes, size_t size, int64_t deadline_ms)
{
    const char *at = bytes;

    while (size > 0) {
        int r = wait_for(fd, POLLOUT, deadline_ms);
        ssize_t sent;

        if (r < 0)
            return r;
        sent = write(fd, at, size); /* SIGPIPE is ignored in all our programs */
        if (sent < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (sent < 0)
            return errno == EPIPE || errno == ECONNRESET ? ERR_CONNECTION_LOST
                                                         : err_from_errno(errno);
        at += sent;
        size -= (size_t)sent;
    }
    return 0;
}
