/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.2 and 1.3 as a filter, both sides, by OpenSSL. It opens no files except a directory of CA
 * certificates if told to: certificates and keys are passed as bytes.
 *
 * A context belongs to one loop, like the filters that are made from it.
 */
#ifndef NET_TLS_TLS_H
#define NET_TLS_TLS_H

#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "base/str.h"
#include "net/filter.h"

enum {
    /* What the peer may send before it is authenticated. */
    TLS_MAX_HANDSHAKE_BYTES = 128 << 10,
    /* Certificates included in that. */
    TLS_MAX_CHAIN_BYTES = 64 << 10,
    /*
     * Key updates, tickets and refused renegotiations between two pieces of data, a few steps each.
     */
    TLS_MAX_IDLE_STEPS = 64,
    /* PEM for a context; Debian's list of CAs takes a quarter of a megabyte. */
    TLS_MAX_PEM_BYTES = 4 << 20,
    /* How long a ticket key is used for new tickets; it is accepted for twice that time. */
    TLS_TICKET_KEY_MS = 6 * 60 * 60 * 1000,
};

struct tls_context;

/*
 * For servers: the server's certificate followed by the intermediate ones, and its key, which must
 * have no passphrase. ERR_INVALID_ARGUMENT says in `err` what is wrong with them. The clock is
 * borrowed, for tickets.
 */
int tls_server_context_new(struct str chain_pem, const struct secret_text *key_pem,
                           const struct clock *clock, struct tls_context **out_context,
                           struct err *err);

/* CA certificates that a client trusts: either or both. */
struct tls_trust {
    struct str authorities_pem;
    /* Files named by hash, as in /etc/ssl/certs; NULL for none. OpenSSL reads there later on. */
    const char *authorities_dir;
};

/* For clients. The clock is borrowed, to check the validity of certificates. */
int tls_client_context_new(const struct tls_trust *trust, const struct clock *clock,
                           struct tls_context **out_context, struct err *err);

/* Filters hold a reference, too. */
struct tls_context *tls_context_ref(struct tls_context *context);
void tls_context_unref(struct tls_context *context);

/* Fails only without memory. */
int tls_server_new(struct tls_context *context, struct filter **out_filter);

/*
 * `host` is the name that the certificate must have: a DNS name or an IP address, without port or
 * brackets. ERR_INVALID_ARGUMENT if it is neither.
 */
int tls_client_new(struct tls_context *context, struct str host, struct filter **out_filter,
                   struct err *err);

#endif
