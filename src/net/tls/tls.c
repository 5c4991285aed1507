/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls/tls.h"

#include <assert.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "net/tls/internal.h"

enum {
    RECORD_BYTES = SSL3_RT_MAX_PLAIN_LENGTH,
    MAX_HOST_BYTES = 253,
};

/*
 * The BIO under OpenSSL: it reads bytes from the caller's memory and passes bytes to the sink from
 * OpenSSL's memory.
 */
static int wire_read(BIO *bio, char *bytes, int len)
{
    struct tls_filter *tls = BIO_get_data(bio);
    size_t taken = tls->incoming.len < (size_t)len ? tls->incoming.len : (size_t)len;

    BIO_clear_retry_flags(bio);
    if (tls->state == TLS_HANDSHAKE) {
        tls->handshake_bytes += taken;
        if (tls->handshake_bytes > TLS_MAX_HANDSHAKE_BYTES)
            tls->has_reached_ceiling = true;
    }
    if (tls->has_reached_ceiling)
        return -1;
    if (taken == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(bytes, tls->incoming.ptr, taken);
    tls->incoming = str_slice(tls->incoming, taken, tls->incoming.len);
    return (int)taken;
}

static int wire_write(BIO *bio, const char *bytes, int len)
{
    struct tls_filter *tls = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (tls->wire_failure == 0 && !tls->is_freed)
        tls->wire_failure =
            tls->filter.sink.wire(tls->filter.sink.data, (struct str){bytes, (size_t)len});
    return tls->wire_failure < 0 || tls->is_freed ? -1 : len;
}

static long wire_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

/*
 * Counts work without data: OpenSSL continues reading inside one call as long as that comes, so the
 * next read is where it ends.
 */
static void count_idle(const SSL *ssl, int where, int value)
{
    struct tls_filter *tls = SSL_get_app_data(ssl);
    bool is_step = (where & SSL_CB_LOOP) != 0;
    bool is_refusal = (where & SSL_CB_WRITE_ALERT) == SSL_CB_WRITE_ALERT &&
                      (value & 0xff) == SSL_AD_NO_RENEGOTIATION;

    if (tls->state == TLS_HANDSHAKE || !(is_step || is_refusal))
        return;
    if (++tls->idle_steps > TLS_MAX_IDLE_STEPS)
        tls->has_reached_ceiling = true;
}

static void enter(struct tls_filter *tls)
{
    tls->depth++;
}

static void destroy(struct tls_filter *tls)
{
    SSL_free(tls->ssl);
    tls_context_unref(tls->context);
    free(tls);
}

static void leave(struct tls_filter *tls)
{
    if (--tls->depth == 0 && tls->is_freed)
        destroy(tls);
}

static int fail(struct tls_filter *tls, struct err *err)
{
    int code = tls_explain(tls, err);

    ERR_clear_error();
    tls->failure = code;
    tls->state = TLS_FAILED;
    return code;
}

/* A server may select a protocol that was never offered. */
static bool is_protocol_ours(const SSL *ssl)
{
    const unsigned char *name;
    unsigned len;

    SSL_get0_alpn_selected(ssl, &name, &len);
    return len == 0 || str_eq((struct str){(const char *)name, len}, STR("http/1.1"));
}

static int shake_hands(struct tls_filter *tls, struct err *err)
{
    int r;

    ERR_clear_error();
    r = SSL_do_handshake(tls->ssl);
    if (r != 1)
        return SSL_get_error(tls->ssl, r) == SSL_ERROR_WANT_READ ? 0 : fail(tls, err);
    if (!is_protocol_ours(tls->ssl)) {
        tls->state = TLS_FAILED;
        tls->failure = ERR_TLS_HANDSHAKE;
        return err_set(err, ERR_TLS_HANDSHAKE, "the peer chose an unsupported protocol");
    }
    tls->state = TLS_OPEN;
    tls->filter.sink.ready(tls->filter.sink.data);
    return 0;
}

static int read_plain(struct tls_filter *tls, struct err *err)
{
    char plain[RECORD_BYTES];
    size_t len;

    while (!tls->is_freed && !tls->has_peer_ended) {
        ERR_clear_error();
        if (SSL_read_ex(tls->ssl, plain, sizeof(plain), &len) == 1) {
            tls->idle_steps = 0;
            tls->filter.sink.plain(tls->filter.sink.data, (struct str){plain, len});
            continue;
        }
        switch (SSL_get_error(tls->ssl, 0)) {
        case SSL_ERROR_WANT_READ:
            /* A ticket or a new key leaves a write buffer allocated, until something is written. */
            SSL_free_buffers(tls->ssl);
            return 0;
        case SSL_ERROR_ZERO_RETURN:
            tls->has_peer_ended = true;
            tls->filter.sink.ended(tls->filter.sink.data);
            break;
        default:
            return fail(tls, err);
        }
    }
    return 0;
}

static int tls_start(struct filter *filter, struct err *err)
{
    struct tls_filter *tls = (struct tls_filter *)filter;
    int r = 0;

    enter(tls);
    if (!tls->context->is_server)
        r = shake_hands(tls, err);
    leave(tls);
    return r;
}

static int tls_receive(struct filter *filter, struct str bytes, struct err *err)
{
    struct tls_filter *tls = (struct tls_filter *)filter;
    int r = 0;

    assert(tls->depth == 0);
    if (tls->state == TLS_FAILED)
        return err_set_plain(err, tls->failure);
    enter(tls);
    tls->incoming = bytes;
    if (tls->state == TLS_HANDSHAKE)
        r = shake_hands(tls, err);
    if (r == 0 && tls->state != TLS_HANDSHAKE && tls->state != TLS_FAILED)
        r = read_plain(tls, err);
    tls->incoming = STR_EMPTY;
    if (tls->is_freed)
        r = err_set_plain(err, ERR_CANCELLED);
    leave(tls);
    return r;
}

static int tls_end(struct filter *filter, struct err *err)
{
    const struct tls_filter *tls = (const struct tls_filter *)filter;

    if (tls->has_peer_ended)
        return 0;
    switch (tls->state) {
    case TLS_HANDSHAKE:
        return err_set(err, ERR_TLS_HANDSHAKE,
                       "the peer closed the connection during the TLS handshake");
    case TLS_OPEN:
    case TLS_CLOSED:
        return err_set(err, ERR_TLS_TRUNCATED,
                       "the peer closed the TLS connection without notice: data may be missing");
    case TLS_FAILED:
        return err_set_plain(err, tls->failure);
    }
    return ERR_INTERNAL;
}

static int write_plain(struct tls_filter *tls, struct str bytes)
{
    size_t written;

    ERR_clear_error();
    if (bytes.len == 0 || SSL_write_ex(tls->ssl, bytes.ptr, bytes.len, &written) == 1)
        return 0;
    return fail(tls, NULL);
}

/* Combines small parts into one record: a head and its body should not cost two. */
static int tls_send(struct filter *filter, const struct str *parts, size_t count)
{
    struct tls_filter *tls = (struct tls_filter *)filter;
    char record[RECORD_BYTES];
    size_t filled = 0;
    int r = 0;

    if (tls->state != TLS_OPEN)
        return tls->state == TLS_FAILED ? tls->failure : ERR_INTERNAL;
    if (count == 1)
        return write_plain(tls, parts[0]);
    for (size_t i = 0; r == 0 && i < count; i++) {
        struct str part = parts[i];

        while (r == 0 && part.len > 0) {
            size_t room = sizeof(record) - filled;
            size_t taken = part.len < room ? part.len : room;

            if (filled == 0 && part.len >= sizeof(record)) {
                /* Whole records without a copy; the rest is combined with the next parts. */
                taken = part.len - part.len % sizeof(record);
                r = write_plain(tls, str_slice(part, 0, taken));
            } else {
                memcpy(record + filled, part.ptr, taken);
                filled += taken;
            }
            part = str_slice(part, taken, part.len);
            if (r == 0 && filled == sizeof(record)) {
                r = write_plain(tls, (struct str){record, filled});
                filled = 0;
            }
        }
    }
    return r < 0 ? r : write_plain(tls, (struct str){record, filled});
}

static void tls_close(struct filter *filter)
{
    struct tls_filter *tls = (struct tls_filter *)filter;

    if (tls->state != TLS_OPEN)
        return;
    ERR_clear_error();
    SSL_shutdown(tls->ssl);
    ERR_clear_error();
    tls->state = TLS_CLOSED;
}

static void tls_free(struct filter *filter)
{
    struct tls_filter *tls = (struct tls_filter *)filter;

    if (tls == NULL)
        return;
    tls->is_freed = true;
    if (tls->depth == 0)
        destroy(tls);
}

static const struct filter_ops tls_ops = {
    .start = tls_start,
    .receive = tls_receive,
    .end = tls_end,
    .send = tls_send,
    .close = tls_close,
    .free = tls_free,
};

/* One per context, created with its first filter. */
static BIO_METHOD *wire_method(struct tls_context *context)
{
    BIO_METHOD *method = context->wire_method;

    if (method != NULL)
        return method;
    method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "filter");
    if (method == NULL)
        return NULL;
    BIO_meth_set_read(method, wire_read);
    BIO_meth_set_write(method, wire_write);
    BIO_meth_set_ctrl(method, wire_control);
    context->wire_method = method;
    return method;
}

static int new_filter(struct tls_context *context, struct tls_filter **out_tls)
{
    struct tls_filter *tls = calloc(1, sizeof(*tls));
    BIO_METHOD *method = wire_method(context);
    BIO *bio;

    if (tls == NULL)
        return ERR_NO_MEMORY;
    tls->filter.ops = &tls_ops;
    tls->context = tls_context_ref(context);
    tls->incoming = STR_EMPTY;
    tls->state = TLS_HANDSHAKE;
    tls->ssl = SSL_new(context->ssl_ctx);
    bio = method != NULL ? BIO_new(method) : NULL;
    if (tls->ssl == NULL || bio == NULL || SSL_set_app_data(tls->ssl, tls) != 1) {
        BIO_free(bio);
        destroy(tls);
        return ERR_NO_MEMORY;
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_info_callback(tls->ssl, count_idle);
    *out_tls = tls;
    return 0;
}

int tls_server_new(struct tls_context *context, struct filter **out_filter)
{
    struct tls_filter *tls;
    int r;

    assert(context->is_server);
    r = new_filter(context, &tls);
    if (r < 0)
        return r;
    SSL_set_accept_state(tls->ssl);
    *out_filter = &tls->filter;
    return 0;
}

/* The certificate must have this name; a DNS name is also sent to the server (SNI). */
static bool expect_host(SSL *ssl, char *host)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

    if (X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1)
        return true;
    ERR_clear_error();
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                               X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, host) == 1;
}

/* Only characters that occur in names and addresses. */
static bool is_host(struct str host)
{
    if (host.len == 0 || host.len > MAX_HOST_BYTES || host.ptr[0] == '.')
        return false;
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (!is_letter && !(c >= '0' && c <= '9') && c != '-' && c != '.' && c != ':' && c != '_')
            return false;
    }
    return true;
}

int tls_client_new(struct tls_context *context, struct str host, struct filter **out_filter,
                   struct err *err)
{
    char name[MAX_HOST_BYTES + 1];
    struct tls_filter *tls;
    int r;

    assert(!context->is_server);
    /* The final dot of a DNS name is allowed, but is in no certificate. */
    if (host.len > 1 && host.ptr[host.len - 1] == '.')
        host.len--;
    if (!is_host(host))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "host",
                             "host: must be a host name or an IP address");
    memcpy(name, host.ptr, host.len);
    name[host.len] = '\0';
    r = new_filter(context, &tls);
    if (r < 0)
        return err_set_plain(err, r);
    if (!expect_host(tls->ssl, name)) {
        ERR_clear_error();
        destroy(tls);
        return err_set_plain(err, ERR_NO_MEMORY);
    }
    X509_VERIFY_PARAM_set_time(SSL_get0_param(tls->ssl),
                               (time_t)(clock_wall_ms(context->clock) / 1000));
    SSL_set_connect_state(tls->ssl);
    *out_filter = &tls->filter;
    return 0;
}
