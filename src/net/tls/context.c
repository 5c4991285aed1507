/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates, keys and parameters: everything that connections share. */
#include "net/tls/internal.h"

#include <assert.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* Only forward secrecy and authenticated ciphers; TLS 1.3 has no others. */
#define CIPHERS_OF_TLS12 "ECDHE+AESGCM:ECDHE+CHACHA20"
#define GROUPS           "X25519:P-256:P-384"
#define SIGNATURES                                                                                 \
    "ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512:ed25519:RSA-PSS+SHA256:RSA-PSS+SHA384:RSA-PSS+SHA512:" \
    "RSA+SHA256:RSA+SHA384:RSA+SHA512"

enum {
    SECURITY_LEVEL = 2, /* RSA from 2048 bits on, no SHA-1 in signatures */
    TICKETS_A_HANDSHAKE = 1,
    TICKET_LIFETIME_S = 2 * 60 * 60,
    MAX_CHAIN = 10,
};

/* The length, then the name, as the protocol requires. */
static const unsigned char alpn[] = "\x08http/1.1";

static void free_bio(BIO **bio)
{
    BIO_free(*bio);
}

static void free_certificate(X509 **certificate)
{
    X509_free(*certificate);
}

static void free_key(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}

static void unref_context(struct tls_context **context)
{
    tls_context_unref(*context);
}

/* Otherwise OpenSSL would ask at the terminal. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the type is OpenSSL's */
static int no_passphrase(char *bytes, int size, int is_writing, void *data)
{
    (void)bytes;
    (void)size;
    (void)is_writing;
    (void)data;
    return -1;
}

/* RFC 7301: a client that names protocols, but not ours, gets an alert. */
static int choose_protocol(SSL *ssl, const unsigned char **out_name, unsigned char *out_len,
                           const unsigned char *offered, unsigned offered_len, void *data)
{
    unsigned char *name;

    (void)ssl;
    (void)data;
    if (SSL_select_next_proto(&name, out_len, alpn, sizeof(alpn) - 1, offered, offered_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out_name = name;
    return SSL_TLSEXT_ERR_OK;
}

static int set_up(struct tls_context *context, const SSL_METHOD *method)
{
    /* OpenSSL takes these two without const, and changes neither. */
    char groups[] = GROUPS;
    char signatures[] = SIGNATURES;
    SSL_CTX *ssl_ctx;

    /* The settings of the machine could bring in engines and older versions, and are a file. */
    if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
        return ERR_NO_MEMORY;
    ssl_ctx = context->ssl_ctx = SSL_CTX_new(method);
    if (ssl_ctx == NULL)
        return ERR_NO_MEMORY;
    SSL_CTX_set_options(ssl_ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ssl_ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_security_level(ssl_ctx, SECURITY_LEVEL);
    SSL_CTX_set_session_cache_mode(ssl_ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_cert_list(ssl_ctx, TLS_MAX_CHAIN_BYTES);
    return SSL_CTX_set_min_proto_version(ssl_ctx, TLS1_2_VERSION) == 1 &&
                   SSL_CTX_set_cipher_list(ssl_ctx, CIPHERS_OF_TLS12) == 1 &&
                   SSL_CTX_set1_groups_list(ssl_ctx, groups) == 1 &&
                   SSL_CTX_set1_sigalgs_list(ssl_ctx, signatures) == 1
               ? 0
               : ERR_NO_MEMORY;
}

static int new_context(const SSL_METHOD *method, const struct clock *clock,
                       struct tls_context **out_context)
{
    struct tls_context *context = calloc(1, sizeof(*context));
    int r;

    if (context == NULL)
        return ERR_NO_MEMORY;
    context->references = 1;
    context->clock = clock;
    r = set_up(context, method);
    if (r < 0) {
        tls_context_unref(context);
        return r;
    }
    *out_context = context;
    return 0;
}

struct tls_context *tls_context_ref(struct tls_context *context)
{
    context->references++;
    return context;
}

void tls_context_unref(struct tls_context *context)
{
    if (context == NULL)
        return;
    assert(context->references > 0);
    if (--context->references > 0)
        return;
    SSL_CTX_free(context->ssl_ctx);
    BIO_meth_free(context->wire_method);
    tls_tickets_done(&context->tickets);
    free(context);
}

/* `what` is the field of the error, and the beginning of its message. */
static int open_pem(struct str pem, const char *what, BIO **out_bio, struct err *err)
{
    if (pem.len > TLS_MAX_PEM_BYTES)
        return err_set_field(err, ERR_TOO_LARGE, what, "%s: over %d MB", what,
                             TLS_MAX_PEM_BYTES >> 20);
    *out_bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
    return *out_bio != NULL ? 0 : err_set_plain(err, ERR_NO_MEMORY);
}

/* 1 for a certificate, 0 after the last. */
static int next_certificate(BIO *bio, const char *what, X509 **out_certificate, struct err *err)
{
    unsigned long error;

    ERR_clear_error();
    *out_certificate = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
    if (*out_certificate != NULL)
        return 1;
    error = ERR_peek_last_error();
    ERR_clear_error();
    if (ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE)
        return 0;
    return err_set_field(err, ERR_INVALID_ARGUMENT, what, "%s: a certificate is damaged", what);
}

static int use_chain(SSL_CTX *ssl_ctx, struct str pem, struct err *err)
{
    static const char what[] = "certificate";
    cleanup_with(free_bio) BIO *bio = NULL;
    int count = 0;
    int r = open_pem(pem, what, &bio, err);

    if (r < 0)
        return r;
    for (;; count++) {
        cleanup_with(free_certificate) X509 *certificate = NULL;
        bool is_used;

        r = next_certificate(bio, what, &certificate, err);
        if (r <= 0)
            break;
        if (count == MAX_CHAIN)
            return err_set_field(err, ERR_TOO_LARGE, what,
                                 "%s: the certificate chain has more than %d certificates", what,
                                 MAX_CHAIN);
        is_used = count == 0 ? SSL_CTX_use_certificate(ssl_ctx, certificate) == 1
                             : SSL_CTX_add1_chain_cert(ssl_ctx, certificate) == 1;
        if (!is_used)
            return err_set_field(
                err, ERR_INVALID_ARGUMENT, what,
                "%s: cannot use this certificate (%s): RSA keys need 2048 bits or more", what,
                ERR_reason_error_string(ERR_peek_last_error()));
    }
    if (r == 0 && count == 0)
        return err_set_field(err, ERR_INVALID_ARGUMENT, what,
                             "%s: contains no certificate; use the PEM format, which begins with "
                             "-----BEGIN CERTIFICATE-----",
                             what);
    return r;
}

static int use_key(SSL_CTX *ssl_ctx, const struct secret_text *pem, struct err *err)
{
    static const char what[] = "key";
    cleanup_with(free_bio) BIO *bio = NULL;
    cleanup_with(free_key) EVP_PKEY *key = NULL;
    /* OpenSSL must see it; the BIO reads it in place. */
    int r = open_pem(secret_text_reveal(pem), what, &bio, err);

    if (r < 0)
        return r;
    ERR_clear_error();
    key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    if (key == NULL)
        return err_set_field(err, ERR_INVALID_ARGUMENT, what,
                             "%s: contains no PEM private key without a passphrase; remove a "
                             "passphrase with `openssl pkey`",
                             what);
    if (SSL_CTX_use_PrivateKey(ssl_ctx, key) != 1 || SSL_CTX_check_private_key(ssl_ctx) != 1)
        return err_set_field(err, ERR_INVALID_ARGUMENT, what,
                             "%s: the key does not match the certificate", what);
    return 0;
}

int tls_server_context_new(struct str chain_pem, const struct secret_text *key_pem,
                           const struct clock *clock, struct tls_context **out_context,
                           struct err *err)
{
    cleanup_with(unref_context) struct tls_context *context = NULL;
    int r = new_context(TLS_server_method(), clock, &context);

    if (r < 0)
        return err_set_plain(err, r);
    context->is_server = true;
    r = use_chain(context->ssl_ctx, chain_pem, err);
    if (r == 0)
        r = use_key(context->ssl_ctx, key_pem, err);
    ERR_clear_error();
    if (r < 0)
        return r;
    SSL_CTX_set_alpn_select_cb(context->ssl_ctx, choose_protocol, NULL);
    SSL_CTX_set_num_tickets(context->ssl_ctx, TICKETS_A_HANDSHAKE);
    SSL_CTX_set_timeout(context->ssl_ctx, TICKET_LIFETIME_S);
    tls_tickets_use(context->ssl_ctx);
    *out_context = steal_ptr(&context);
    return 0;
}

static int trust_pem(SSL_CTX *ssl_ctx, struct str pem, struct err *err)
{
    static const char what[] = "authorities";
    X509_STORE *store = SSL_CTX_get_cert_store(ssl_ctx);
    cleanup_with(free_bio) BIO *bio = NULL;
    int count = 0;
    int r = open_pem(pem, what, &bio, err);

    if (r < 0)
        return r;
    for (;; count++) {
        cleanup_with(free_certificate) X509 *certificate = NULL;

        r = next_certificate(bio, what, &certificate, err);
        if (r <= 0)
            break;
        if (X509_STORE_add_cert(store, certificate) != 1)
            return err_set_plain(err, ERR_NO_MEMORY);
    }
    if (r == 0 && count == 0)
        return err_set_field(err, ERR_INVALID_ARGUMENT, what,
                             "%s: contains no certificate; use the PEM format, which begins with "
                             "-----BEGIN CERTIFICATE-----",
                             what);
    return r;
}

int tls_client_context_new(const struct tls_trust *trust, const struct clock *clock,
                           struct tls_context **out_context, struct err *err)
{
    cleanup_with(unref_context) struct tls_context *context = NULL;
    int r = new_context(TLS_client_method(), clock, &context);

    if (r < 0)
        return err_set_plain(err, r);
    if (trust->authorities_pem.len == 0 && trust->authorities_dir == NULL)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "authorities",
                             "authorities: none given, so no server can be trusted");
    if (trust->authorities_pem.len > 0) {
        r = trust_pem(context->ssl_ctx, trust->authorities_pem, err);
        if (r < 0)
            return r;
    }
    if (trust->authorities_dir != NULL &&
        SSL_CTX_load_verify_dir(context->ssl_ctx, trust->authorities_dir) != 1)
        return err_set_plain(err, ERR_NO_MEMORY);
    SSL_CTX_set_verify(context->ssl_ctx, SSL_VERIFY_PEER, NULL);
    if (SSL_CTX_set_alpn_protos(context->ssl_ctx, alpn, sizeof(alpn) - 1) != 0)
        return err_set_plain(err, ERR_NO_MEMORY);
    *out_context = steal_ptr(&context);
    return 0;
}
