/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets where programs that have questions meet the terminals of `gatehouse ask`. A program
 * that may ask listens on one of ASKING_SLOTS names in the user's private directory of sockets
 * (cli/status.h), opened before it is confined; a terminal connects to all of them. So a confined
 * program opens no connection, and knows at any time whether somebody listens.
 */
#ifndef ASKING_SOCKET_H
#define ASKING_SOCKET_H

#include <stdbool.h>

#include "base/err.h"

enum { ASKING_SLOTS = 64, ASKING_NAME_BYTES = 32 };

struct asking_socket {
    int listen_fd;
    int lock_fd; /* holds the name as long as it is open */
};

#define ASKING_SOCKET_INIT                                                                         \
    {                                                                                              \
        -1, -1                                                                                     \
    }

/* Takes the first free name. ERR_BUSY, with a message, if all are taken. */
int asking_socket_open(struct asking_socket *out_socket, struct err *err);
void asking_socket_close(struct asking_socket *socket);

/*
 * For a terminal: connects to this name. ERR_NOT_FOUND if nobody listens there,
 * ERR_PERMISSION_DENIED if another user does.
 */
int asking_socket_connect(int dir_fd, unsigned slot, int *out_fd);

/* Whether the other side of this connection is the same user. */
bool asking_socket_is_ours(int fd);

#endif
