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

void box_channel_keep_only(int one, int other)
{
    unsigned low = (unsigned)(one < other ? one : other);
    unsigned high = (unsigned)(one < other ? other : one);

    /* SAFETY: numbers only. Where it fails, what stays open is held by a process of ours. */
    if (low > 0)
        (void)syscall(SYS_close_range, 0, low - 1, 0);
    if (high > low + 1)
        (void)syscall(SYS_close_range, low + 1, high - 1, 0);
    (void)syscall(SYS_close_range, high + 1, ~0U, 0);
}
