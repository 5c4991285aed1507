/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/pump.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

bool pump_open(struct pump *pump, int a, int b)
{
    struct pump fresh = {.fds = {a, b}};

    for (int i = 0; i < PUMP_ENDS; i++)
        fresh.halves[i].bytes = malloc(PUMP_BYTES);
    if (fresh.halves[0].bytes != NULL && fresh.halves[1].bytes != NULL) {
        *pump = fresh;
        return true;
    }
    for (int i = 0; i < PUMP_ENDS; i++)
        free(fresh.halves[i].bytes);
    return false;
}

void pump_close_socket(int fd, bool is_hard)
{
    const struct linger at_once = {.l_onoff = 1};

    if (fd < 0)
        return;
    if (is_hard)
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(fd);
}

void pump_close(struct pump *pump, bool is_hard)
{
    for (int i = 0; i < PUMP_ENDS; i++) {
        pump_close_socket(pump->fds[i], is_hard);
        free(pump->halves[i].bytes);
    }
    *pump = (struct pump){.fds = {-1, -1}};
}

void pump_waits(const struct pump *pump, struct pollfd waits[PUMP_ENDS])
{
    for (int i = 0; i < PUMP_ENDS; i++) {
        const struct pump_half *from = &pump->halves[i];
        const struct pump_half *to = &pump->halves[1 - i];
        short events =
            (short)((from->len == 0 && !from->is_ended ? POLLIN : 0) | (to->len > 0 ? POLLOUT : 0));

        waits[i] = (struct pollfd){.fd = events != 0 ? pump->fds[i] : -1, .events = events};
    }
}

/* The other side may have changed the flags of the file. */
static bool fill(struct pump *pump, int end)
{
    struct pump_half *half = &pump->halves[end];
    ssize_t got;

    if (half->len > 0 || half->is_ended)
        return true;
    got = recv(pump->fds[end], half->bytes, PUMP_BYTES, MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    half->start = 0;
    half->len = (size_t)got;
    half->is_ended = got == 0;
    return true;
}

static bool flush(struct pump *pump, int end)
{
    struct pump_half *half = &pump->halves[end];
    ssize_t sent;

    if (half->len > 0) {
        sent = send(pump->fds[1 - end], half->bytes + half->start, half->len,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR;
        half->start += (size_t)sent;
        half->len -= (size_t)sent;
    }
    if (half->len == 0 && half->is_ended && !half->is_shut) {
        half->is_shut = true;
        (void)shutdown(pump->fds[1 - end], SHUT_WR);
    }
    return true;
}

bool pump_work(struct pump *pump, const struct pollfd waits[PUMP_ENDS])
{
    for (int i = 0; i < PUMP_ENDS; i++)
        if ((waits[i].revents & POLLERR) != 0 ||
            ((waits[i].revents & (POLLIN | POLLHUP)) != 0 && !fill(pump, i)))
            return false;
    return flush(pump, 0) && flush(pump, 1);
}

bool pump_is_over(const struct pump *pump)
{
    return pump->halves[0].is_shut && pump->halves[1].is_shut;
}
