/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where something is transferred to or from: sftp://files.example:2222/in/a.txt. The operator names
 * servers in the same form, without a path. Nothing is resolved here.
 */
#ifndef TRANSFER_PLACE_H
#define TRANSFER_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum transfer_protocol { TRANSFER_FTP = 1, TRANSFER_SFTP, TRANSFER_SSH, TRANSFER_PROTOCOL_END };

enum {
    TRANSFER_HOST_BYTES = 254,
    TRANSFER_PATH_BYTES = 4096,
    TRANSFER_MAX_HOSTS = 32, /* that an operator can name */
};

struct transfer_place {
    enum transfer_protocol protocol;
    uint16_t port;
    bool is_address;                /* the host is one, in the usual spelling, without brackets */
    char host[TRANSFER_HOST_BYTES]; /* lower case */
    size_t path_len;
    char path[TRANSFER_PATH_BYTES]; /* decoded, as it stands behind the slash; may be empty */
};

/* "ftp", "sftp", "ssh" */
const char *transfer_protocol_name(enum transfer_protocol protocol);

/*
 * ERR_INVALID_ARGUMENT for everything but the one spelling of a host: no user in it, no decimal or
 * octal address, no address of IPv4 written as one of IPv6; no query; no control characters in the
 * path. A missing port is the protocol's.
 */
int transfer_read_place(struct str url, struct transfer_place *out_place, struct err *err);

/* Whether a host is one that transfer_read_place() can give. */
bool transfer_is_host(struct str host);

bool transfer_is_address(const char *host);

/* The same server: protocol, host and port. */
bool transfer_is_same_server(const struct transfer_place *a, const struct transfer_place *b);

#endif
