/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out which user's program is behind a loopback connection: a TCP port has no modes, and
 * other users of the machine can reach it as well as its owner's browser.
 */
#ifndef PROGRAMS_CONNECT_PEER_H
#define PROGRAMS_CONNECT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "net/address.h"

/*
 * Limit for reading the kernel's tables: the loop waits meanwhile. Connections that ended stay
 * there for a minute, so a busy machine has tens of thousands, of 150 bytes each.
 */
enum { PEER_MAX_TABLE_BYTES = 4 << 20 };

/* How to ask the kernel; found out once. */
struct peer_lookup {
    bool has_only_tables;   /* this kernel cannot be asked about a single connection */
    size_t max_table_bytes; /* PEER_MAX_TABLE_BYTES; less in tests */
};

#define PEER_LOOKUP_INIT ((struct peer_lookup){.max_table_bytes = PEER_MAX_TABLE_BYTES})

/*
 * The user of the socket at the other end of a connection to `own`, where we listen. ERR_NOT_FOUND
 * if the kernel knows none, or it has no owner any more; ERR_TOO_LARGE if only the tables can be
 * searched, and they are too long.
 */
int peer_uid(struct peer_lookup *lookup, const struct address *peer, const struct address *own,
             uid_t *out_uid);

#endif
