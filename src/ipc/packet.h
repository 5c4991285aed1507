/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages with file descriptors between our own processes, one per packet, over a SOCK_SEQPACKET
 * socket pair. The reader checks the content.
 */
#ifndef IPC_PACKET_H
#define IPC_PACKET_H

#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

enum { PACKET_MAX_FDS = 4 };

/*
 * Sends everything or nothing; `flags` are those of send(), plus MSG_NOSIGNAL. 0, or -1 with errno.
 */
int packet_send(int socket, struct str bytes, const int *fds, size_t fd_count, int flags);

/*
 * Returns the length of the next packet; 0: the other side has closed; -1 with errno. Descriptors
 * are close-on-exec, -1 for those not received. EMSGSIZE if the packet is larger than `size`. If
 * more descriptors come than expected, all are closed: it would be unclear which are which.
 */
ssize_t packet_receive(int socket, void *room, size_t size, int *out_fds, size_t max_fds,
                       int flags);

#endif
