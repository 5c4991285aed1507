/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that are too old, want too much, or send what is not TLS; and resumption. */
#include "test.h"

#include "draw.h"
#include "tls_ends.h"

enum { ANY = 1 << 20 };

static struct tls_world world;
static SSL_CTX *raw_client_ctx;
static SSL_CTX *raw_server_ctx;

static int set_up(void **state)
{
    (void)state;
    tls_world_init(&world);
    raw_client_ctx = SSL_CTX_new(TLS_client_method());
    raw_server_ctx = SSL_CTX_new(TLS_server_method());
    assert_true(raw_client_ctx != NULL && raw_server_ctx != NULL);
    /* They do what our side must not agree to. */
    SSL_CTX_set_security_level(raw_client_ctx, 0);
    SSL_CTX_set_security_level(raw_server_ctx, 0);
    SSL_CTX_set_min_proto_version(raw_client_ctx, TLS1_VERSION);
    SSL_CTX_set_min_proto_version(raw_server_ctx, TLS1_VERSION);
    assert_int_equal(SSL_CTX_use_certificate(raw_server_ctx, world.server.x509), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(raw_server_ctx, world.server.key), 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    SSL_CTX_free(raw_client_ctx);
    SSL_CTX_free(raw_server_ctx);
    tls_world_done(&world);
    return 0;
}

static SSL *new_raw(SSL_CTX *ctx, int version)
{
    SSL *ssl = SSL_new(ctx);

    assert_non_null(ssl);
    if (version != 0)
        assert_int_equal(SSL_set_max_proto_version(ssl, version), 1);
    return ssl;
}

/* A raw client that is connected to our server. */
static void connect_raw(struct end *client, struct end *server, SSL *ssl)
{
    end_init_raw(client, ssl, false);
    end_init_server(server, world.server_context);
    ends_settle(client, server, ANY);
    if (server->ready_count != 1)
        fail_msg("%s", server->err.message);
}

static void done_both(struct end *a, struct end *b)
{
    end_done(a);
    end_done(b);
}

static void versions_before_tls_12_are_refused(void **state)
{
    static const int old[] = {TLS1_VERSION, TLS1_1_VERSION};
    struct end client;
    struct end server;

    (void)state;
    for (size_t i = 0; i < array_size(old); i++) {
        end_init_raw(&client, new_raw(raw_client_ctx, old[i]), false);
        end_init_server(&server, world.server_context);
        ends_settle(&client, &server, ANY);
        assert_int_equal(server.code, ERR_TLS_VERSION);
        assert_int_equal(server.ready_count, 0);
        assert_int_equal(client.code, ERR_IO); /* an alert told it */
        done_both(&client, &server);

        end_init_raw(&server, new_raw(raw_server_ctx, old[i]), true);
        assert_int_equal(end_init_client(&client, world.client_context, "host.test"), 0);
        ends_settle(&client, &server, ANY);
        assert_int_equal(client.code, ERR_TLS_VERSION);
        assert_int_equal(client.ready_count, 0);
        done_both(&client, &server);
    }
}

static void tls_12_and_13_are_spoken(void **state)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    struct end client;
    struct end server;

    (void)state;
    for (size_t i = 0; i < array_size(versions); i++) {
        connect_raw(&client, &server, new_raw(raw_client_ctx, versions[i]));
        assert_int_equal(SSL_version(client.raw), versions[i]);
        end_send(&client, STR("hello"));
        ends_settle(&client, &server, ANY);
        assert_str(buf_view(&server.plain), "hello");
        done_both(&client, &server);

        end_init_raw(&server, new_raw(raw_server_ctx, versions[i]), true);
        assert_int_equal(end_init_client(&client, world.client_context, "host.test"), 0);
        ends_settle(&client, &server, ANY);
        assert_int_equal(client.ready_count, 1);
        assert_string_equal(SSL_get_servername(server.raw, TLSEXT_NAMETYPE_host_name), "host.test");
        done_both(&client, &server);
    }
}

static void weak_ciphers_are_refused(void **state)
{
    static const char *const lists[] = {"AES128-SHA", "AES256-GCM-SHA384", "ECDHE+AES+SHA1", "NULL",
                                        "aNULL"};
    struct end client;
    struct end server;

    (void)state;
    for (size_t i = 0; i < array_size(lists); i++) {
        SSL *ssl = new_raw(raw_client_ctx, TLS1_2_VERSION);

        assert_int_equal(SSL_set_cipher_list(ssl, lists[i]), 1);
        end_init_raw(&client, ssl, false);
        end_init_server(&server, world.server_context);
        ends_settle(&client, &server, ANY);
        assert_int_equal(server.code, ERR_TLS_HANDSHAKE);
        assert_non_null(strstr(server.err.message, "cipher"));
        done_both(&client, &server);
    }
}

static void only_http_11_is_agreed_on(void **state)
{
    struct end client;
    struct end server;
    SSL *ssl = new_raw(raw_client_ctx, 0);
    const unsigned char *name;
    unsigned len;

    (void)state;
    assert_int_equal(SSL_set_alpn_protos(ssl, (const unsigned char *)"\x02h2\x08http/1.1", 12), 0);
    connect_raw(&client, &server, ssl);
    SSL_get0_alpn_selected(client.raw, &name, &len);
    assert_true(str_eq((struct str){(const char *)name, len}, STR("http/1.1")));
    done_both(&client, &server);

    ssl = new_raw(raw_client_ctx, 0);
    assert_int_equal(SSL_set_alpn_protos(ssl, (const unsigned char *)"\x02h2", 3), 0);
    end_init_raw(&client, ssl, false);
    end_init_server(&server, world.server_context);
    ends_settle(&client, &server, ANY);
    assert_int_equal(server.code, ERR_TLS_HANDSHAKE);
    assert_non_null(strstr(server.err.message, "HTTP/1.1"));
    done_both(&client, &server);
}

static int choose_unoffered(SSL *ssl, const unsigned char **out_name, unsigned char *out_len,
                            const unsigned char *offered, unsigned offered_len, void *data)
{
    (void)ssl;
    (void)data;
    assert_int_equal(offered_len, 9);
    assert_memory_equal(offered, "\x08http/1.1", 9);
    *out_name = (const unsigned char *)"h2";
    *out_len = 2;
    return SSL_TLSEXT_ERR_OK;
}

static void a_server_that_chooses_what_was_not_offered_is_left(void **state)
{
    struct end client;
    struct end server;

    (void)state;
    SSL_CTX_set_alpn_select_cb(raw_server_ctx, choose_unoffered, NULL);
    end_init_raw(&server, new_raw(raw_server_ctx, 0), true);
    assert_int_equal(end_init_client(&client, world.client_context, "host.test"), 0);
    ends_settle(&client, &server, ANY);
    assert_int_equal(client.code, ERR_TLS_HANDSHAKE);
    assert_int_equal(client.ready_count, 0);
    SSL_CTX_set_alpn_select_cb(raw_server_ctx, NULL, NULL);
    done_both(&client, &server);
}

static void what_is_no_tls_is_refused_with_a_hint(void **state)
{
    static const struct {
        struct str bytes;
        const char *word;
    } samples[] = {
        {STR_LITERAL("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "https://"},
        {STR_LITERAL("CONNECT a:1 HTTP/1.1\r\n\r\n"), "https://"},
        {STR_LITERAL("SSH-2.0-OpenSSH_9.2\r\n"), ""},
        {STR_LITERAL("\0\0\0\0\0\0\0\0"), ""},
    };
    struct end end;

    (void)state;
    for (size_t i = 0; i < array_size(samples); i++) {
        end_init_server(&end, world.server_context);
        assert_int_equal(end_receive(&end, samples[i].bytes), ERR_TLS_HANDSHAKE);
        if (strstr(end.err.message, samples[i].word) == NULL)
            fail_msg("%s", end.err.message);
        assert_int_equal(end_receive(&end, samples[i].bytes), ERR_TLS_HANDSHAKE);
        end_done(&end);
    }
    assert_int_equal(end_init_client(&end, world.client_context, "host.test"), 0);
    assert_int_equal(end_receive(&end, STR("HTTP/1.1 400 Bad Request\r\n\r\n")), ERR_TLS_HANDSHAKE);
    assert_non_null(strstr(end.err.message, "port"));
    end_done(&end);
}

static void damage_ends_the_connection_and_is_never_handed_on(void **state)
{
    static const char sent[] = "what was sent";
    struct end client;
    struct end server;

    (void)state;
    for (size_t at = 0; at < 5 + sizeof(sent) - 1 + 17; at++) {
        end_init_server(&server, world.server_context);
        assert_int_equal(end_init_client(&client, world.client_context, "host.test"), 0);
        ends_settle(&client, &server, ANY);
        end_send(&client, STR("good"));
        ends_settle(&client, &server, ANY);
        end_send(&client, (struct str){sent, sizeof(sent) - 1});
        assert_true(at < client.wire.len);
        client.wire.data[at] = (char)(client.wire.data[at] ^ 0x40);
        ends_settle(&client, &server, ANY);
        /* A longer length waits for more, and then the end is a cut. */
        if (server.code == 0)
            assert_int_equal(server.filter->ops->end(server.filter, NULL), ERR_TLS_TRUNCATED);
        else
            assert_int_equal(server.code, ERR_TLS_BROKEN);
        assert_str(buf_view(&server.plain), "good");
        done_both(&client, &server);
    }
}

static void a_damaged_handshake_makes_nobody_ready(void **state)
{
    struct end client;
    struct end server;

    (void)state;
    draw_seed = 31;
    for (int i = 0; i < 300; i++) {
        end_init_server(&server, world.server_context);
        assert_int_equal(end_init_client(&client, world.client_context, "host.test"), 0);
        /* Behind the record's head, which nothing signs. */
        client.wire.data[5 + draw(client.wire.len - 5)] ^= (char)(1 << draw(7));
        ends_settle(&client, &server, 1 + draw(600));
        assert_int_equal(server.ready_count, 0);
        done_both(&client, &server);
    }
}

static void a_handshake_has_a_ceiling(void **state)
{
    /* A hello of almost 128 KB, in records of 16 KB; it would be legal. */
    static char record[5 + 16384] = {0x16, 3, 1, 0x40, 0};
    size_t sent = 0;
    struct end end;

    (void)state;
    end_init_server(&end, world.server_context);
    record[5] = 1;
    record[6] = 1;
    record[7] = (char)0xff;
    record[8] = (char)0xff;
    while (end.code == 0 && sent < 2 * (size_t)TLS_MAX_HANDSHAKE_BYTES) {
        end_receive(&end, (struct str){record, sizeof(record)});
        memset(record + 5, 0, 4);
        sent += sizeof(record);
    }
    assert_int_equal(end.code, ERR_TLS_HANDSHAKE);
    assert_true(sent <= TLS_MAX_HANDSHAKE_BYTES + sizeof(record));
    assert_non_null(strstr(end.err.message, "exceeds 128 KB"));
    end_done(&end);
}

static void renegotiation_is_refused_and_the_connection_lives(void **state)
{
    enum { ALERT = 0x15 };
    struct end client;
    struct end server;
    int asked = 0;

    (void)state;
    connect_raw(&client, &server, new_raw(raw_client_ctx, TLS1_2_VERSION));
    assert_int_equal(SSL_renegotiate(client.raw), 1);
    end_receive(&client, STR_EMPTY);
    assert_true(client.wire.len > 0); /* the client's second hello */
    assert_int_equal(end_receive(&server, buf_view(&client.wire)), 0);
    assert_int_equal(server.wire.data[0], ALERT);
    assert_int_equal(server.ready_count, 1);
    done_both(&client, &server);

    end_init_raw(&server, new_raw(raw_server_ctx, TLS1_2_VERSION), true);
    assert_int_equal(end_init_client(&client, world.client_context, "host.test"), 0);
    ends_settle(&client, &server, ANY);
    for (; client.code == 0 && asked < 1000; asked++) {
        assert_int_equal(SSL_renegotiate(server.raw), 1);
        assert_int_equal(SSL_do_handshake(server.raw), 1);
        end_send(&server, asked == 0 ? STR("still here") : STR_EMPTY);
        end_receive(&client, buf_view(&server.wire));
        buf_clear(&server.wire);
        assert_true(client.code < 0 || client.wire.data[0] == ALERT);
    }
    assert_str(buf_view(&client.plain), "still here");
    assert_int_equal(client.ready_count, 1);
    print_message("%d requests to renegotiate in a row\n", asked);
    assert_int_equal(client.code, ERR_TLS_BROKEN);
    assert_true(asked >= 8 && asked <= TLS_MAX_IDLE_STEPS + 1);
    done_both(&client, &server);
}

static void new_keys_without_data_have_a_ceiling(void **state)
{
    struct end client;
    struct end server;
    int count = 0;

    (void)state;
    connect_raw(&client, &server, new_raw(raw_client_ctx, TLS1_3_VERSION));
    for (int i = 0; i < 200; i++) {
        /* With data in between it may go on for ever. */
        assert_int_equal(SSL_key_update(client.raw, SSL_KEY_UPDATE_REQUESTED), 1);
        end_send(&client, STR("x"));
        ends_settle(&client, &server, ANY);
        end_send(&server, STR("y"));
        ends_settle(&client, &server, ANY);
    }
    assert_int_equal(server.code, 0);
    assert_int_equal(server.plain.len, 200);
    assert_int_equal(client.plain.len, 200);
    while (server.code == 0 && count < 1000) {
        assert_int_equal(SSL_key_update(client.raw, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
        assert_int_equal(SSL_do_handshake(client.raw), 1);
        end_send(&client, STR_EMPTY);
        ends_settle(&client, &server, ANY);
        count++;
    }
    print_message("%d key updates in a row\n", count);
    assert_int_equal(server.code, ERR_TLS_BROKEN);
    assert_true(count >= 8 && count <= TLS_MAX_IDLE_STEPS + 1);
    done_both(&client, &server);
}

/* Whether a client with this session is taken back without the whole handshake. */
static bool is_taken_back(SSL_SESSION *session, int version, SSL_SESSION **out_next)
{
    struct end client;
    struct end server;
    SSL *ssl = new_raw(raw_client_ctx, version);
    bool is_reused;

    if (session != NULL)
        assert_int_equal(SSL_set_session(ssl, session), 1);
    connect_raw(&client, &server, ssl);
    end_send(&client, STR("x"));
    end_send(&server, STR("y"));
    ends_settle(&client, &server, ANY);
    assert_str(buf_view(&server.plain), "x");
    is_reused = SSL_session_reused(client.raw) == 1;
    SSL_SESSION_free(session);
    *out_next = SSL_get1_session(client.raw);
    assert_true(SSL_SESSION_has_ticket(*out_next));
    /* OpenSSL would not resume the session of a connection that was cut. */
    SSL_set_shutdown(client.raw, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    done_both(&client, &server);
    return is_reused;
}

static void a_ticket_is_good_until_its_key_is_forgotten(void **state)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

    (void)state;
    for (size_t i = 0; i < array_size(versions); i++) {
        int version = versions[i];
        SSL_SESSION *session = NULL;
        SSL_SESSION *old;

        assert_false(is_taken_back(NULL, version, &session));
        assert_true(is_taken_back(session, version, &session));
        /* The key has been replaced, but is still known. */
        clock_fake_advance(&world.clock, TLS_TICKET_KEY_MS);
        old = session;
        SSL_SESSION_up_ref(old);
        assert_true(is_taken_back(session, version, &session));
        clock_fake_advance(&world.clock, TLS_TICKET_KEY_MS);
        assert_false(is_taken_back(old, version, &old));
        SSL_SESSION_free(old);
        assert_true(is_taken_back(session, version, &session));
        /* Nobody came for so long that both are too old. */
        clock_fake_advance(&world.clock, 3 * (int64_t)TLS_TICKET_KEY_MS);
        assert_false(is_taken_back(session, version, &session));
        SSL_SESSION_free(session);
    }
    clock_fake_init(&world.clock, TLS_ENDS_NOW_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_before_tls_12_are_refused),
        cmocka_unit_test(tls_12_and_13_are_spoken),
        cmocka_unit_test(weak_ciphers_are_refused),
        cmocka_unit_test(only_http_11_is_agreed_on),
        cmocka_unit_test(a_server_that_chooses_what_was_not_offered_is_left),
        cmocka_unit_test(what_is_no_tls_is_refused_with_a_hint),
        cmocka_unit_test(damage_ends_the_connection_and_is_never_handed_on),
        cmocka_unit_test(a_damaged_handshake_makes_nobody_ready),
        cmocka_unit_test(a_handshake_has_a_ceiling),
        cmocka_unit_test(renegotiation_is_refused_and_the_connection_lives),
        cmocka_unit_test(new_keys_without_data_have_a_ceiling),
        cmocka_unit_test(a_ticket_is_good_until_its_key_is_forgotten),
    };

    return cmocka_run_group_tests_name("test_tls_hostile", tests, set_up, tear_down);
}
