/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_ends.h"

#include "test.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

enum { END_MAX_BYTES = 32 << 20 };

static void add_extension(X509 *x509, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509_EXTENSION *extension;

    X509V3_set_ctx(&context, issuer, x509, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(x509, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static struct str view_of(BIO *bio)
{
    char *bytes;
    long len = BIO_get_mem_data(bio, &bytes);

    return (struct str){bytes, (size_t)len};
}

void certificate_make(struct certificate *certificate, const struct certificate_plan *plan)
{
    static long serial = 1;
    X509 *x509 = X509_new();
    EVP_PKEY *key = plan->rsa_bits > 0 ? EVP_RSA_gen(plan->rsa_bits) : EVP_EC_gen("P-256");
    X509 *issuer = plan->issuer != NULL ? plan->issuer->x509 : x509;
    time_t now_s = (time_t)(TLS_ENDS_NOW_MS / 1000);
    BIO *pem = BIO_new(BIO_s_mem());
    BIO *key_pem = BIO_new(BIO_s_mem());

    assert_true(x509 != NULL && key != NULL && pem != NULL && key_pem != NULL);
    assert_int_equal(X509_set_version(x509, 2), 1);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), serial++);
    ASN1_TIME_adj(X509_getm_notBefore(x509), now_s, 0, plan->from_s);
    ASN1_TIME_adj(X509_getm_notAfter(x509), now_s, 0, plan->until_s);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                               (const unsigned char *)plan->name, -1, -1, 0);
    X509_set_issuer_name(x509, X509_get_subject_name(issuer));
    X509_set_pubkey(x509, key);
    add_extension(x509, issuer, NID_basic_constraints,
                  plan->is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (plan->alternatives != NULL)
        add_extension(x509, issuer, NID_subject_alt_name, plan->alternatives);
    assert_true(X509_sign(x509, plan->issuer != NULL ? plan->issuer->key : key, EVP_sha256()) > 0);

    assert_int_equal(PEM_write_bio_X509(pem, x509), 1);
    assert_int_equal(PEM_write_bio_PKCS8PrivateKey(key_pem, key, NULL, NULL, 0, NULL, NULL), 1);
    *certificate = (struct certificate){.x509 = x509, .key = key, .pem = BUF_INIT(64 << 10)};
    assert_int_equal(buf_append_str(&certificate->pem, view_of(pem)), 0);
    assert_int_equal(secret_text_set(&certificate->key_pem, view_of(key_pem)), 0);
    BIO_free(pem);
    BIO_free(key_pem);
}

void certificate_done(struct certificate *certificate)
{
    X509_free(certificate->x509);
    EVP_PKEY_free(certificate->key);
    buf_done(&certificate->pem);
    secret_text_done(&certificate->key_pem);
}

struct tls_context *server_context_of(const struct tls_world *world,
                                      const struct certificate *certificate)
{
    struct tls_context *context = NULL;
    struct err err = ERR_INIT;

    if (tls_server_context_new(buf_view(&certificate->pem), &certificate->key_pem, &world->clock,
                               &context, &err) != 0)
        fail_msg("%s", err.message);
    return context;
}

struct tls_context *client_context_of(const struct tls_world *world,
                                      const struct certificate *authority)
{
    const struct tls_trust trust = {.authorities_pem = buf_view(&authority->pem)};
    struct tls_context *context = NULL;
    struct err err = ERR_INIT;

    if (tls_client_context_new(&trust, &world->clock, &context, &err) != 0)
        fail_msg("%s", err.message);
    return context;
}

void tls_world_init(struct tls_world *world)
{
    clock_fake_init(&world->clock, TLS_ENDS_NOW_MS);
    certificate_make(&world->authority, &(struct certificate_plan){.name = "Authority",
                                                                   .is_authority = true,
                                                                   .from_s = -TLS_ENDS_DAY_S,
                                                                   .until_s = TLS_ENDS_DAY_S});
    certificate_make(&world->server,
                     &(struct certificate_plan){.name = "Server",
                                                .alternatives =
                                                    "DNS:host.test,DNS:*.wild.test,DNS:part*.test,"
                                                    "IP:127.0.0.1,IP:::1",
                                                .issuer = &world->authority,
                                                .from_s = -TLS_ENDS_DAY_S,
                                                .until_s = TLS_ENDS_DAY_S});
    world->server_context = server_context_of(world, &world->server);
    world->client_context = client_context_of(world, &world->authority);
}

void tls_world_done(struct tls_world *world)
{
    tls_context_unref(world->server_context);
    tls_context_unref(world->client_context);
    certificate_done(&world->authority);
    certificate_done(&world->server);
}

static void free_filter(struct end *end)
{
    struct filter *filter = end->filter;

    end->filter = NULL;
    filter->ops->free(filter);
}

static void on_plain(void *data, struct str bytes)
{
    struct end *end = data;

    assert_int_equal(buf_append_str(&end->plain, bytes), 0);
    if (end->habit == END_ECHOES)
        assert_int_equal(end->filter->ops->send(end->filter, &bytes, 1), 0);
    if (end->habit == END_FREES_ON_PLAIN)
        free_filter(end);
}

static int on_wire(void *data, struct str bytes)
{
    struct end *end = data;

    if (end->wire_result == 0)
        assert_int_equal(buf_append_str(&end->wire, bytes), 0);
    return end->wire_result;
}

static void on_ready(void *data)
{
    struct end *end = data;

    end->ready_count++;
    if (end->habit == END_FREES_ON_READY)
        free_filter(end);
}

static void on_ended(void *data)
{
    struct end *end = data;

    end->ended_count++;
    if (end->habit == END_FREES_ON_END)
        free_filter(end);
}

static struct filter_sink begin(struct end *end)
{
    *end = (struct end){.wire = BUF_INIT(END_MAX_BYTES), .plain = BUF_INIT(END_MAX_BYTES)};
    return (struct filter_sink){
        .plain = on_plain, .wire = on_wire, .ready = on_ready, .ended = on_ended, .data = end};
}

void end_init_server(struct end *end, struct tls_context *context)
{
    struct filter_sink sink = begin(end);

    assert_int_equal(tls_server_new(context, &end->filter), 0);
    end->filter->sink = sink;
    assert_int_equal(end->filter->ops->start(end->filter, NULL), 0);
}

int end_init_client(struct end *end, struct tls_context *context, const char *host)
{
    struct filter_sink sink = begin(end);
    int r = tls_client_new(context, str_from(host), &end->filter, &end->err);

    if (r < 0)
        return r;
    end->filter->sink = sink;
    assert_int_equal(end->filter->ops->start(end->filter, NULL), 0);
    return 0;
}

void end_init_raw(struct end *end, SSL *ssl, bool is_server)
{
    begin(end);
    end->raw = ssl;
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    if (is_server)
        SSL_set_accept_state(ssl);
    else
        SSL_set_connect_state(ssl);
    end_receive(end, STR_EMPTY);
}

void end_done(struct end *end)
{
    if (end->filter != NULL)
        free_filter(end);
    SSL_free(end->raw);
    buf_done(&end->wire);
    buf_done(&end->plain);
}

/* What OpenSSL has written, for the wire. */
static void drain_raw(struct end *end)
{
    BIO *bio = SSL_get_wbio(end->raw);

    /* While it shakes hands there is a buffer in front. */
    if (BIO_method_type(bio) != BIO_TYPE_MEM)
        bio = BIO_next(bio);
    assert_int_equal(buf_append_str(&end->wire, view_of(bio)), 0);
    (void)BIO_reset(bio);
}

void end_send(struct end *end, struct str bytes)
{
    if (end->raw == NULL) {
        assert_int_equal(end->filter->ops->send(end->filter, &bytes, 1), 0);
        return;
    }
    if (bytes.len > 0)
        assert_int_equal(SSL_write(end->raw, bytes.ptr, (int)bytes.len), (int)bytes.len);
    drain_raw(end);
}

static int receive_raw(struct end *end, struct str bytes)
{
    char plain[4096];
    int got;

    if (bytes.len > 0)
        assert_int_equal(BIO_write(SSL_get_rbio(end->raw), bytes.ptr, (int)bytes.len),
                         (int)bytes.len);
    while ((got = SSL_read(end->raw, plain, sizeof(plain))) > 0)
        assert_int_equal(buf_append(&end->plain, plain, (size_t)got), 0);
    if (SSL_get_error(end->raw, got) == SSL_ERROR_SSL)
        end->code = ERR_IO;
    drain_raw(end);
    return end->code;
}

int end_receive(struct end *end, struct str bytes)
{
    int r;

    if (end->raw != NULL)
        return receive_raw(end, bytes);
    r = end->filter->ops->receive(end->filter, bytes, end->code == 0 ? &end->err : NULL);
    if (end->code == 0)
        end->code = r;
    return r;
}

/* One direction; true when there was something to carry. */
static bool carry(struct end *from, struct end *to, size_t step)
{
    struct buf moved = from->wire;

    if (moved.len == 0)
        return false;
    buf_init(&from->wire, END_MAX_BYTES);
    for (size_t at = 0; at < moved.len; at += step)
        if (to->code == 0 && (to->filter != NULL || to->raw != NULL))
            end_receive(to, str_slice(buf_view(&moved), at, step));
    buf_done(&moved);
    return true;
}

void ends_settle(struct end *a, struct end *b, size_t step)
{
    while (carry(a, b, step) || carry(b, a, step))
        ;
}
