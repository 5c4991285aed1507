/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose program is behind a connection over this machine's loopback: a TCP port has no modes, and
 * other users of the machine reach it as well as its owner's browser does.
 */
#ifndef DAEMON_PEER_H
#define DAEMON_PEER_H

#include <sys/types.h>

#include "base/err.h"
#include "net/address.h"

/*
 * Of the socket at the other end, as the kernel's table of connections has it. ERR_NOT_FOUND where
 * it is not in there, or nobody's any more.
 */
int peer_uid(const struct address *peer, const struct address *own, uid_t *out_uid);

#endif
