/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/box_channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int box_channel_tell(int channel, const struct box_news *news, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_len = sizeof(*news)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;

    /* SAFETY: sendmsg() does not write to what it sends; its type is older than const. */
    memcpy(&part.iov_base, &news, sizeof(part.iov_base));
    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(fd)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    }
    do
        sent = sendmsg(channel, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof(*news) ? 0 : -1;
}

bool box_channel_hear(int channel, struct box_news *out_news, int *out_fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = out_news, .iov_len = sizeof(*out_news)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    const struct cmsghdr *header;
    ssize_t got;

    *out_fd = -1;
    do
        got = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_type == SCM_RIGHTS)
        memcpy(out_fd, CMSG_DATA(header), sizeof(*out_fd));
    return got == (ssize_t)sizeof(*out_news);
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
