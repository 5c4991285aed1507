/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of a TLS connection in memory, and certificates for them, made at run time. A raw end
 * is OpenSSL without our filter, for what that would never do.
 */
#ifndef TESTS_SUPPORT_TLS_ENDS_H
#define TESTS_SUPPORT_TLS_ENDS_H

#include <openssl/ssl.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "net/tls/tls.h"

/* The present time of every test. */
#define TLS_ENDS_NOW_MS INT64_C(1800000000000)

enum { TLS_ENDS_DAY_S = 24 * 60 * 60 };

struct certificate {
    X509 *x509;
    EVP_PKEY *key;
    struct buf pem;
    struct secret_text key_pem;
};

/* The content of a certificate; times are seconds from TLS_ENDS_NOW_MS. */
struct certificate_plan {
    const char *name;
    const char *alternatives;         /* "DNS:host,IP:127.0.0.1"; NULL for none */
    const struct certificate *issuer; /* NULL: self-signed */
    bool is_authority;
    long from_s;
    long until_s;
    unsigned rsa_bits; /* 0: an elliptic curve */
};

void certificate_make(struct certificate *certificate, const struct certificate_plan *plan);
void certificate_done(struct certificate *certificate);

/* A CA, and a server certified by it as host.test, *.wild.test, 127.0.0.1 and ::1. */
struct tls_world {
    struct clock clock;
    struct certificate authority;
    struct certificate server;
    struct tls_context *server_context;
    struct tls_context *client_context;
};

void tls_world_init(struct tls_world *world);
void tls_world_done(struct tls_world *world);
struct tls_context *server_context_of(const struct tls_world *world,
                                      const struct certificate *certificate);
struct tls_context *client_context_of(const struct tls_world *world,
                                      const struct certificate *authority);

/* How an end reacts to events. */
enum end_habit {
    END_LISTENS,
    END_ECHOES,
    END_FREES_ON_READY,
    END_FREES_ON_PLAIN,
    END_FREES_ON_END
};

struct end {
    struct filter *filter;
    SSL *raw; /* instead of the filter */
    struct buf wire;
    struct buf plain;
    enum end_habit habit;
    int ready_count;
    int ended_count;
    int wire_result; /* what the sink returns for bytes for the wire */
    int code;        /* of the filter's first failure */
    struct err err;
};

void end_init_server(struct end *end, struct tls_context *context);
/* The code of tls_client_new(); if it is 0, the handshake has begun. */
int end_init_client(struct end *end, struct tls_context *context, const char *host);
void end_init_raw(struct end *end, SSL *ssl, bool is_server);
void end_done(struct end *end);

void end_send(struct end *end, struct str bytes);
int end_receive(struct end *end, struct str bytes);

/* Transfers bytes both ways, in pieces of at most `step`, until there are none. */
void ends_settle(struct end *a, struct end *b, size_t step);

#endif
