/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of net/tls. */
#ifndef NET_TLS_INTERNAL_H
#define NET_TLS_INTERNAL_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/secret.h"
#include "net/tls/tls.h"

enum { TICKET_NAME_BYTES = 16, TICKET_CIPHER_BYTES = 32, TICKET_MAC_BYTES = 32 };

struct tls_ticket_key {
    unsigned char name[TICKET_NAME_BYTES];
    struct secret bytes; /* for the cipher, then for the MAC; empty if there is no such key */
};

struct tls_tickets {
    struct tls_ticket_key current;
    struct tls_ticket_key previous;
    int64_t current_since_ms;
};

struct tls_context {
    unsigned references;
    bool is_server;
    SSL_CTX *ssl_ctx;
    BIO_METHOD *wire_method;
    const struct clock *clock;
    struct tls_tickets tickets;
};

enum tls_state {
    TLS_HANDSHAKE,
    TLS_OPEN,
    TLS_CLOSED, /* close_notify was sent; the peer may still send */
    TLS_FAILED,
};

struct tls_filter {
    struct filter filter;
    struct tls_context *context;
    SSL *ssl;
    struct str incoming; /* rest of the piece being received */
    enum tls_state state;
    int failure;            /* reason for TLS_FAILED */
    int wire_failure;       /* error of the sink */
    size_t handshake_bytes; /* received so far */
    unsigned idle_steps;    /* since the last data */
    bool has_peer_ended;    /* by close_notify */
    bool has_reached_ceiling;
    bool is_freed;  /* inside a callback: freed when that returns */
    unsigned depth; /* of nested callbacks */
};

/*
 * tls/tickets.c: makes ssl_ctx use the ticket keys of its context, found through the SSL's filter.
 */
void tls_tickets_use(SSL_CTX *ssl_ctx);
void tls_tickets_done(struct tls_tickets *tickets);

/* tls/explain.c: code and message for OpenSSL's last error. */
int tls_explain(const struct tls_filter *tls, struct err *err);

#endif
