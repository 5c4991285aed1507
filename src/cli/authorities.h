/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CA certificates that a client of ours trusts: the system's, and those of a file that the user
 * named, for a private server.
 */
#ifndef CLI_AUTHORITIES_H
#define CLI_AUTHORITIES_H

#include "base/buf.h"
#include "base/err.h"
#include "net/tls/tls.h"

/* Appends the file, which must contain certificates. ERR_INVALID_OPTION, with a message. */
int authorities_read(const char *path, struct buf *out_pem, struct err *err);

/* The system's and those in `pem`, which may be empty and is borrowed. */
struct tls_trust authorities_trust(struct str pem);

/* For an HTTP client. */
struct authorities {
    struct buf pem; /* besides the system's */
    struct tls_context *context;
};

#define AUTHORITIES_INIT                                                                           \
    {                                                                                              \
        .pem = BUF_INIT(TLS_MAX_PEM_BYTES)                                                         \
    }

/* As make_filter of a client; `data` is a struct authorities. TLS costs memory: only from then on.
 */
int authorities_make_filter(void *data, struct str host, struct filter **out_filter,
                            struct err *err);
void authorities_done(struct authorities *authorities);

#endif
