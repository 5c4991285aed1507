/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/box/channel.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "ipc/packet.h"

int box_channel_tell(int channel, const struct box_news *news, int fd)
{
    return packet_send(channel, (struct str){(const char *)news, sizeof(*news)}, &fd, fd >= 0, 0);
}

bool box_channel_hear(int channel, struct box_news *out_news, int *out_fd)
{
    return packet_receive(channel, out_news, sizeof(*out_news), out_fd, 1, 0) ==
           (ssize_t)sizeof(*out_news);
}

/* The lowest of them from this number on; or -1. */
static int lowest_from(const int *fds, size_t count, int from)
{
    int lowest = -1;

    for (size_t i = 0; i < count; i++)
        if (fds[i] >= from && (lowest < 0 || fds[i] < lowest))
            lowest = fds[i];
    return lowest;
}

void box_channel_keep_only(const int *fds, size_t count)
{
    int from = 0;
    int kept;

    /* SAFETY: numbers only. Where it fails, what stays open is held by a process of ours. */
    while ((kept = lowest_from(fds, count, from)) >= 0) {
        if (kept > from)
            (void)syscall(SYS_close_range, from, kept - 1, 0);
        from = kept + 1;
    }
    (void)syscall(SYS_close_range, from, ~0U, 0);
}
