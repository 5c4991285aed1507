/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/packet.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(PACKET_MAX_FDS * sizeof(int))];
};

int packet_send(int socket, struct str bytes, const int *fds, size_t fd_count, int flags)
{
    union control control = {0};
    struct iovec part = {.iov_len = bytes.len};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;

    assert(fd_count <= PACKET_MAX_FDS);
    /* SAFETY: sendmsg() does not write to what it sends; its type is older than const. */
    memcpy(&part.iov_base, &bytes.ptr, sizeof(part.iov_base));
    if (fd_count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(fd_count * sizeof(int)),
                                          .cmsg_level = SOL_SOCKET,
                                          .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), fds, fd_count * sizeof(int));
    }
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)bytes.len ? 0 : -1;
}

static void take_fds(const struct msghdr *message, int *out_fds, size_t max_fds)
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);
    size_t count = 0;

    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    assert(count <= max_fds);
    if (count > 0)
        memcpy(out_fds, CMSG_DATA(header), count * sizeof(int));
}

ssize_t packet_receive(int socket, void *room, size_t size, int *out_fds, size_t max_fds, int flags)
{
    union control control = {0};
    struct iovec part = {.iov_base = room, .iov_len = size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = CMSG_LEN(max_fds * sizeof(int))};
    ssize_t got;

    assert(max_fds <= PACKET_MAX_FDS);
    for (size_t i = 0; i < max_fds; i++)
        out_fds[i] = -1;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -1;
    take_fds(&message, out_fds, max_fds);
    if ((message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) == 0)
        return got;
    for (size_t i = 0; i < max_fds; i++)
        if (out_fds[i] >= 0) {
            close(out_fds[i]);
            out_fds[i] = -1;
        }
    if ((message.msg_flags & MSG_TRUNC) == 0)
        return got;
    errno = EMSGSIZE;
    return -1;
}
