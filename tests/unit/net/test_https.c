/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server behind TLS, over a socket. */
#include "test.h"

#include <unistd.h>

#include "http_fixture.h"
#include "tls_ends.h"

enum { GOT_BYTES = 1 << 20, BODY_BYTES = 300000 };

static struct tls_world world;
static struct http_fixture *fixture;

static int make_filter(void *data, struct filter **out_filter)
{
    (void)data;
    return tls_server_new(world.server_context, out_filter);
}

static int begin(void **state)
{
    const struct httpserver_config limits = {.max_connections = 8,
                                             .head_ms = 1000,
                                             .body_window_ms = 1000,
                                             .body_window_bytes = 10,
                                             .idle_ms = 5000,
                                             .send_window_ms = 1000,
                                             .send_window_bytes = 10,
                                             .linger_ms = 500,
                                             .make_filter = make_filter};

    (void)state;
    tls_world_init(&world);
    fixture = malloc(sizeof(*fixture));
    assert_non_null(fixture);
    http_fixture_init(fixture, &limits);
    return 0;
}

static int end(void **state)
{
    (void)state;
    http_fixture_done(fixture);
    free(fixture);
    tls_world_done(&world);
    return 0;
}

/* What the client has said goes to the server, and back. True when the server has closed. */
static bool exchange(struct end *client, int fd)
{
    bool is_closed = false;

    do {
        cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);

        if (client->wire.len > 0 && !http_fixture_send(fixture, fd, buf_view(&client->wire)))
            return true;
        buf_clear(&client->wire);
        http_fixture_turn(fixture);
        is_closed = http_fixture_receive(fixture, fd, &got);
        if (got.len > 0)
            assert_int_equal(end_receive(client, buf_view(&got)), 0);
    } while (client->wire.len > 0);
    return is_closed;
}

static int connect_client(struct end *client)
{
    int fd = http_fixture_connect(fixture);

    assert_int_equal(end_init_client(client, world.client_context, "host.test"), 0);
    assert_false(exchange(client, fd));
    assert_int_equal(client->ready_count, 1);
    return fd;
}

static void requests_are_answered(void **state)
{
    struct end client;
    int fd = connect_client(&client);

    (void)state;
    end_send(&client, STR("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
                          "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    exchange(&client, fd);
    assert_true(str_starts_with(buf_view(&client.plain), STR("HTTP/1.1 200 OK\r\n")));
    assert_true(str_ends_with(buf_view(&client.plain), STR("\r\n\r\nhello\n")));
    assert_str(buf_view(&fixture->log), "GET /hello 200 complete\nGET /hello 200 complete\n");
    /* The server said that this was all. */
    assert_int_equal(client.ended_count, 1);
    end_done(&client);
    close(fd);
    http_fixture_turn(fixture);
    assert_int_equal(http_fixture_connections(fixture), 0);
}

static void a_body_of_many_records_comes_whole(void **state)
{
    static char body[BODY_BYTES];
    struct end client;
    int fd = connect_client(&client);

    (void)state;
    memset(body, 'b', sizeof(body));
    end_send(&client, STR("POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n"));
    end_send(&client, (struct str){body, sizeof(body)});
    exchange(&client, fd);
    assert_true(str_ends_with(buf_view(&client.plain), STR("300000\n")));
    end_done(&client);
    close(fd);
    http_fixture_turn(fixture);
}

static void whoever_speaks_plainly_is_let_go(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fd = http_fixture_connect(fixture);

    (void)state;
    assert_true(http_fixture_send(fixture, fd, STR("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")));
    http_fixture_turn(fixture);
    assert_true(http_fixture_receive(fixture, fd, &got));
    assert_int_equal(str_find(buf_view(&got), STR("HTTP")), SIZE_MAX);
    assert_int_equal(http_fixture_connections(fixture), 0);
    assert_int_equal(fixture->log.len, 0);
    close(fd);
}

static void a_handshake_that_does_not_end_is_let_go(void **state)
{
    struct end client;
    int fd = http_fixture_connect(fixture);

    (void)state;
    assert_int_equal(end_init_client(&client, world.client_context, "host.test"), 0);
    assert_true(http_fixture_send(fixture, fd, str_slice(buf_view(&client.wire), 0, 20)));
    http_fixture_turn(fixture);
    assert_int_equal(http_fixture_connections(fixture), 1);
    http_fixture_pass(fixture, 1000);
    assert_int_equal(http_fixture_connections(fixture), 0);
    end_done(&client);
    close(fd);
}

static void a_client_that_says_goodbye_is_noticed(void **state)
{
    struct end client;
    int fd = connect_client(&client);

    (void)state;
    end_send(&client, STR("GET /watched HTTP/1.1\r\nHost: x\r\n\r\n"));
    exchange(&client, fd);
    assert_int_equal(fixture->gone, 0);
    client.filter->ops->close(client.filter);
    exchange(&client, fd);
    assert_int_equal(fixture->gone, 1);
    end_done(&client);
    close(fd);
    http_fixture_turn(fixture);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
TEST_MAIN(CASE(requests_are_answered), CASE(a_body_of_many_records_comes_whole),
          CASE(whoever_speaks_plainly_is_let_go), CASE(a_handshake_that_does_not_end_is_let_go),
          CASE(a_client_that_says_goodbye_is_noticed))
