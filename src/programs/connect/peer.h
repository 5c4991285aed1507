/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose program is behind a connection over this machine's loopback: a TCP port has no modes, and
 * other users of the machine reach it as well as its owner's browser does.
 */
#ifndef PROGRAMS_CONNECT_PEER_H
#define PROGRAMS_CONNECT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "net/address.h"

/* Of the kernel's tables, some thousand connections: they are read while all else waits. */
enum { PEER_MAX_TABLE_BYTES = 512 << 10 };

/* How the kernel is asked, which is found out once. */
struct peer_lookup {
    bool has_only_tables;   /* this kernel does not answer questions about one connection */
    size_t max_table_bytes; /* PEER_MAX_TABLE_BYTES; less in tests */
};

#define PEER_LOOKUP_INIT ((struct peer_lookup){.max_table_bytes = PEER_MAX_TABLE_BYTES})

/*
 * Of the socket at the other end of a connection that came to `own`, where somebody listens.
 * ERR_NOT_FOUND where the kernel knows of none, or it is nobody's any more; ERR_TOO_LARGE where it
 * can only be looked for in tables, and they are too long for that.
 */
int peer_uid(struct peer_lookup *lookup, const struct address *peer, const struct address *own,
             uid_t *out_uid);

#endif
