/* SPDX-License-Identifier: Apache-2.0 */
/* The documents that a client of OpenWOP reads before it asks for anything. */
#ifndef HOSTFS_DISCOVERY_H
#define HOSTFS_DISCOVERY_H

#include "base/buf.h"
#include "hostfs/wire.h"

struct discovery {
    bool has_files; /* else the block `fs` is missing */
    uint64_t max_file_bytes;
    unsigned features; /* HOSTFS_HAS_… and formats */
};

/* Appends the document of /.well-known/openwop. No tenant and no path of the machine is in it. */
int discovery_write(const struct discovery *discovery, enum hostfs_major major, struct buf *out);

/* The document of /v1/openapi.json, with all that there can be. */
extern const struct str discovery_openapi;
/* Appends it without what these features do not have: transport. */
int discovery_write_openapi(unsigned features, struct buf *out);

#endif
