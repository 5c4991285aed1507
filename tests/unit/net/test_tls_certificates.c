/* SPDX-License-Identifier: Apache-2.0 */
/* Which certificates a client trusts, and what a context accepts. */
#include "test.h"

#include <openssl/pem.h>

#include "tls_ends.h"

enum { ANY = 1 << 20 };

static struct tls_world world;

static int set_up(void **state)
{
    (void)state;
    tls_world_init(&world);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tls_world_done(&world);
    return 0;
}

/* The client's code for this host; nobody is ready and nothing was said when it is not 0. */
static int connect_to(struct tls_context *server_context, struct tls_context *client_context,
                      const char *host, const char *word)
{
    struct end server;
    struct end client;
    int code;

    end_init_server(&server, server_context);
    assert_int_equal(end_init_client(&client, client_context, host), 0);
    ends_settle(&client, &server, ANY);
    code = client.code;
    assert_int_equal(client.ready_count, code == 0 ? 1 : 0);
    assert_int_equal(server.ready_count, code == 0 ? 1 : 0);
    if (code < 0) {
        assert_int_equal(client.filter->ops->send(client.filter, &(struct str)STR_LITERAL("x"), 1),
                         code);
        /* The server was told why. */
        assert_int_equal(server.code, ERR_TLS_HANDSHAKE);
        assert_true(strlen(server.err.message) > 0);
    }
    if (word != NULL && strstr(client.err.message, word) == NULL)
        fail_msg("%s: %s", word, client.err.message);
    end_done(&client);
    end_done(&server);
    return code;
}

/* With a certificate for host.test that differs from a good one in one thing. */
static int connect_with(const struct certificate_plan *plan, const char *word)
{
    struct certificate certificate;
    struct tls_context *context;
    int code;

    certificate_make(&certificate, plan);
    context = server_context_of(&world, &certificate);
    code = connect_to(context, world.client_context, "host.test", word);
    tls_context_unref(context);
    certificate_done(&certificate);
    return code;
}

static struct certificate_plan good_plan(void)
{
    return (struct certificate_plan){.name = "Server",
                                     .alternatives = "DNS:host.test",
                                     .issuer = &world.authority,
                                     .from_s = -60,
                                     .until_s = 60};
}

static void a_certificate_must_name_the_host(void **state)
{
    static const struct {
        const char *host;
        int code;
    } hosts[] = {
        {"host.test", 0},
        {"HOST.test", 0},
        {"host.test.", 0},
        {"a.wild.test", 0},
        {"127.0.0.1", 0},
        {"::1", 0},
        {"0:0:0:0:0:0:0:1", 0},
        {"other.test", ERR_TLS_WRONG_HOST},
        {"wild.test", ERR_TLS_WRONG_HOST},
        {"a.b.wild.test", ERR_TLS_WRONG_HOST},
        {"partial.test", ERR_TLS_WRONG_HOST},
        {"Server", ERR_TLS_WRONG_HOST}, /* its common name */
        {"127.0.0.2", ERR_TLS_WRONG_HOST},
        {"::2", ERR_TLS_WRONG_HOST},
    };

    (void)state;
    for (size_t i = 0; i < array_size(hosts); i++) {
        int code = connect_to(world.server_context, world.client_context, hosts[i].host,
                              hosts[i].code < 0 ? "certificate is not for" : NULL);

        if (code != hosts[i].code)
            fail_msg("%s: %s", hosts[i].host, code == 0 ? "believed" : err_name(code));
    }
}

static void a_host_is_a_name_or_an_address(void **state)
{
    static const char *const hosts[] = {
        "", ".", "host test", "host/", "[::1]", "h\xC3\xB6st", "*.x", ".host.test", "user@host"};
    struct filter *filter = NULL;
    char longest[300];
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < array_size(hosts); i++) {
        assert_int_equal(tls_client_new(world.client_context, str_from(hosts[i]), &filter, &err),
                         ERR_INVALID_ARGUMENT);
        assert_string_equal(err.field, "host");
    }
    assert_int_equal(tls_client_new(world.client_context, STR("host.test\0.evil"), &filter, NULL),
                     ERR_INVALID_ARGUMENT);
    memset(longest, 'a', sizeof(longest));
    assert_int_equal(
        tls_client_new(world.client_context, (struct str){longest, sizeof(longest)}, &filter, NULL),
        ERR_INVALID_ARGUMENT);
    assert_null(filter);
}

static void a_certificate_holds_for_its_time(void **state)
{
    struct certificate_plan plan = good_plan();

    (void)state;
    assert_int_equal(connect_with(&plan, NULL), 0);
    plan.until_s = -1;
    assert_int_equal(connect_with(&plan, "has expired"), ERR_TLS_EXPIRED);
    plan.from_s = 30;
    plan.until_s = 60;
    assert_int_equal(connect_with(&plan, "clock"), ERR_TLS_EXPIRED);

    /* Time goes on while a context lives. */
    assert_int_equal(connect_to(world.server_context, world.client_context, "host.test", NULL), 0);
    clock_fake_advance(&world.clock, INT64_C(2000) * TLS_ENDS_DAY_S);
    assert_int_equal(connect_to(world.server_context, world.client_context, "host.test", NULL),
                     ERR_TLS_EXPIRED);
    clock_fake_init(&world.clock, TLS_ENDS_NOW_MS);
}

static void a_certificate_is_signed_by_somebody_trusted(void **state)
{
    struct certificate_plan plan = good_plan();
    struct certificate other;

    (void)state;
    plan.issuer = NULL;
    assert_int_equal(connect_with(&plan, "self-signed"), ERR_TLS_UNTRUSTED);

    /* The same name as the authority's, but another key. */
    certificate_make(&other,
                     &(struct certificate_plan){
                         .name = "Authority", .is_authority = true, .from_s = -60, .until_s = 60});
    plan.issuer = &other;
    assert_int_equal(connect_with(&plan, NULL), ERR_TLS_UNTRUSTED);
    certificate_done(&other);

    certificate_make(&other,
                     &(struct certificate_plan){
                         .name = "Unknown", .is_authority = true, .from_s = -60, .until_s = 60});
    assert_int_equal(connect_with(&plan, "add that authority"), ERR_TLS_UNTRUSTED);
    certificate_done(&other);

    /* A server's certificate signs nobody. */
    plan.issuer = &world.server;
    assert_true(connect_with(&plan, NULL) < 0);
}

static void a_chain_leads_to_the_authority(void **state)
{
    struct certificate middle;
    struct certificate leaf;
    struct certificate_plan plan = good_plan();
    struct tls_context *context;

    (void)state;
    certificate_make(&middle, &(struct certificate_plan){.name = "Between",
                                                         .issuer = &world.authority,
                                                         .is_authority = true,
                                                         .from_s = -60,
                                                         .until_s = 60});
    plan.issuer = &middle;
    certificate_make(&leaf, &plan);
    context = server_context_of(&world, &leaf);
    assert_int_equal(connect_to(context, world.client_context, "host.test", NULL),
                     ERR_TLS_UNTRUSTED);
    tls_context_unref(context);

    assert_int_equal(buf_append_str(&leaf.pem, buf_view(&middle.pem)), 0);
    context = server_context_of(&world, &leaf);
    assert_int_equal(connect_to(context, world.client_context, "host.test", NULL), 0);
    tls_context_unref(context);
    certificate_done(&leaf);
    certificate_done(&middle);
}

static void assert_refused(struct str chain, const struct secret_text *key, int code,
                           const char *field, const char *word)
{
    struct tls_context *context = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(tls_server_context_new(chain, key, &world.clock, &context, &err), code);
    assert_null(context);
    assert_string_equal(err.field, field);
    if (strstr(err.message, word) == NULL)
        fail_msg("%s", err.message);
}

static void a_server_needs_its_certificate_and_its_key(void **state)
{
    cleanup_secret_text struct secret_text key = SECRET_TEXT_INIT;
    cleanup_buf struct buf many = BUF_INIT(1 << 20);
    struct str pem = buf_view(&world.server.pem);
    struct certificate weak;
    struct certificate_plan plan = good_plan();
    BIO *bio = BIO_new(BIO_s_mem());
    char *bytes;
    long len;

    (void)state;
    assert_refused(STR_EMPTY, &world.server.key_pem, ERR_INVALID_ARGUMENT, "certificate",
                   "BEGIN CERTIFICATE");
    assert_refused(STR("no PEM"), &world.server.key_pem, ERR_INVALID_ARGUMENT, "certificate",
                   "BEGIN CERTIFICATE");
    assert_refused(STR("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
                   &world.server.key_pem, ERR_INVALID_ARGUMENT, "certificate", "damaged");
    assert_refused(pem, &world.authority.key_pem, ERR_INVALID_ARGUMENT, "key",
                   "does not match the certificate");
    assert_refused(pem, &key, ERR_INVALID_ARGUMENT, "key", "no PEM private key");
    assert_int_equal(secret_text_set(&key, STR("nonsense")), 0);
    assert_refused(pem, &key, ERR_INVALID_ARGUMENT, "key", "no PEM private key");

    /* One with a passphrase is refused, and nobody is asked for it. */
    assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, world.server.key, EVP_aes_256_cbc(), "word",
                                                   4, NULL, NULL),
                     1);
    len = BIO_get_mem_data(bio, &bytes);
    assert_int_equal(secret_text_set(&key, (struct str){bytes, (size_t)len}), 0);
    assert_refused(pem, &key, ERR_INVALID_ARGUMENT, "key", "passphrase");
    BIO_free(bio);

    for (int i = 0; i < 12; i++)
        assert_int_equal(buf_append_str(&many, pem), 0);
    assert_refused(buf_view(&many), &world.server.key_pem, ERR_TOO_LARGE, "certificate", "chain");

    plan.rsa_bits = 1024;
    certificate_make(&weak, &plan);
    assert_refused(buf_view(&weak.pem), &weak.key_pem, ERR_INVALID_ARGUMENT, "certificate", "2048");
    certificate_done(&weak);
}

static void a_client_needs_somebody_to_trust(void **state)
{
    struct tls_context *context = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(tls_client_context_new(&(struct tls_trust){.authorities_dir = NULL},
                                            &world.clock, &context, &err),
                     ERR_INVALID_ARGUMENT);
    assert_string_equal(err.field, "authorities");
    assert_int_equal(
        tls_client_context_new(&(struct tls_trust){.authorities_pem = STR_LITERAL("nobody")},
                               &world.clock, &context, &err),
        ERR_INVALID_ARGUMENT);
    assert_null(context);
}

static void a_key_of_2048_bits_will_do(void **state)
{
    struct certificate_plan plan = good_plan();

    (void)state;
    plan.rsa_bits = 2048;
    assert_int_equal(connect_with(&plan, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_certificate_must_name_the_host),
        cmocka_unit_test(a_host_is_a_name_or_an_address),
        cmocka_unit_test(a_certificate_holds_for_its_time),
        cmocka_unit_test(a_certificate_is_signed_by_somebody_trusted),
        cmocka_unit_test(a_chain_leads_to_the_authority),
        cmocka_unit_test(a_server_needs_its_certificate_and_its_key),
        cmocka_unit_test(a_client_needs_somebody_to_trust),
        cmocka_unit_test(a_key_of_2048_bits_will_do),
    };

    return cmocka_run_group_tests_name("test_tls_certificates", tests, set_up, tear_down);
}
