/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One message a packet, with descriptors, between processes of ours: over a pair of SOCK_SEQPACKET
 * sockets. What stands in a message is its reader's care.
 */
#ifndef IPC_PACKET_H
#define IPC_PACKET_H

#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

enum { PACKET_MAX_FDS = 3 };

/* All of it or nothing; `flags` are those of send(), MSG_NOSIGNAL is added. 0, or -1 with errno. */
int packet_send(int socket, struct str bytes, const int *fds, size_t fd_count, int flags);

/*
 * The length of the next one; 0: the other side has gone; -1 with errno. Descriptors come close on
 * exec, -1 in the places that none came for. A packet that is larger than the room is EMSGSIZE. Of
 * more descriptors than were expected none is kept: some of them say nothing about which.
 */
ssize_t packet_receive(int socket, void *room, size_t size, int *out_fds, size_t max_fds,
                       int flags);

#endif
