/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "net/websocket/handshake.h"

#define HEADER(name, value)                                                                        \
    {                                                                                              \
        STR_LITERAL(name), STR_LITERAL(value)                                                      \
    }
#define KEY "dGhlIHNhbXBsZSBub25jZQ=="

static const struct wshandshake_header good[] = {
    HEADER("Host", "server.example.com"),
    HEADER("upgrade", "WebSocket"),
    HEADER("Connection", "keep-alive, Upgrade"),
    HEADER("Sec-WebSocket-Key", " " KEY " "),
    HEADER("Sec-WebSocket-Version", "13"),
    HEADER("Sec-WebSocket-Protocol", "chat, superchat"),
    HEADER("Sec-WebSocket-Extensions", "permessage-deflate"),
};

static struct wshandshake_request request_of(const struct wshandshake_header *headers, size_t count)
{
    return (struct wshandshake_request){
        .method = STR("GET"), .is_http11 = true, .headers = headers, .header_count = count};
}

static void the_example_of_the_rfc_is_accepted(void **state)
{
    const struct str protocols[] = {STR_LITERAL("superchat"), STR_LITERAL("chat")};
    struct wshandshake_request request = request_of(good, array_size(good));
    struct wshandshake_answer answer;
    cleanup_buf struct buf lines = BUF_INIT(1024);

    (void)state;
    assert_int_equal(wshandshake_accept(&request, protocols, 2, &answer, NULL), 0);
    assert_string_equal(answer.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_str(answer.protocol, "chat");
    assert_int_equal(wshandshake_write_answer(&answer, &lines), 0);
    assert_str(buf_view(&lines), "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                                 "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
                                 "Sec-WebSocket-Protocol: chat\r\n");

    /* Nothing in common is no reason to refuse; the client decides. */
    assert_int_equal(wshandshake_accept(&request, NULL, 0, &answer, NULL), 0);
    assert_str(answer.protocol, "");
    buf_clear(&lines);
    assert_int_equal(wshandshake_write_answer(&answer, &lines), 0);
    assert_int_equal(str_find(buf_view(&lines), STR("Protocol")), SIZE_MAX);
}

/* The good headers with one in another form, or without it. */
static int accept_with(const char *name, const char *value, bool is_added)
{
    struct wshandshake_header headers[array_size(good) + 1];
    struct wshandshake_answer answer;
    struct wshandshake_request request;
    size_t count = 0;

    for (size_t i = 0; i < array_size(good); i++)
        if (is_added || !str_eq_nocase(good[i].name, str_from(name)))
            headers[count++] = good[i];
    if (value != NULL)
        headers[count++] = (struct wshandshake_header){str_from(name), str_from(value)};
    request = request_of(headers, count);
    return wshandshake_accept(&request, NULL, 0, &answer, NULL);
}

static void requests_that_are_no_handshake_are_refused(void **state)
{
    static const char *const bad_keys[] = {"",
                                           "dGhlIHNhbXBsZSBub25jZQ=",
                                           "dGhlIHNhbXBsZSBub25jZQ===",
                                           "dGhlIHNhbXBsZSBub25jZR==",
                                           "dGhlIHNhbXBsZSBub25jZQ=A",
                                           "dGhlIHNhbXBsZSBub25jZ-==",
                                           "dGhlIHNhbXBsZSBub25jZQAA"};
    struct wshandshake_request request = request_of(good, array_size(good));
    struct wshandshake_answer answer;

    (void)state;
    assert_int_equal(accept_with("Sec-WebSocket-Key", KEY, false), 0);
    for (size_t i = 0; i < array_size(bad_keys); i++)
        assert_int_equal(accept_with("Sec-WebSocket-Key", bad_keys[i], false), ERR_WS_HANDSHAKE);
    assert_int_equal(accept_with("Sec-WebSocket-Key", NULL, false), ERR_WS_HANDSHAKE);
    assert_int_equal(accept_with("Sec-WebSocket-Key", KEY, true), ERR_WS_HANDSHAKE);
    assert_int_equal(accept_with("Upgrade", NULL, false), ERR_WS_HANDSHAKE);
    assert_int_equal(accept_with("Upgrade", "h2c", false), ERR_WS_HANDSHAKE);
    assert_int_equal(accept_with("Upgrade", "h2c, websocket", false), 0);
    assert_int_equal(accept_with("Upgrade", "websockets", false), ERR_WS_HANDSHAKE);
    assert_int_equal(accept_with("Connection", NULL, false), ERR_WS_HANDSHAKE);
    assert_int_equal(accept_with("Connection", "close", false), ERR_WS_HANDSHAKE);
    assert_int_equal(accept_with("Sec-WebSocket-Version", NULL, false), ERR_WS_VERSION);
    assert_int_equal(accept_with("Sec-WebSocket-Version", "8", false), ERR_WS_VERSION);
    assert_int_equal(accept_with("Sec-WebSocket-Version", "13", true), ERR_WS_VERSION);
    assert_int_equal(err_http_status(ERR_WS_VERSION), 426);
    request.method = STR("POST");
    assert_int_equal(wshandshake_accept(&request, NULL, 0, &answer, NULL), ERR_WS_HANDSHAKE);
    request.method = STR("GET");
    request.is_http11 = false;
    assert_int_equal(wshandshake_accept(&request, NULL, 0, &answer, NULL), ERR_WS_HANDSHAKE);
}

static int check_with(int status, const struct wshandshake_header *changed,
                      struct str *out_protocol)
{
    static const struct wshandshake_header base[] = {
        HEADER("Upgrade", "websocket"),
        HEADER("Connection", "Upgrade"),
        HEADER("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
    };
    const struct str protocols[] = {STR_LITERAL("chat"), STR_LITERAL("superchat")};
    struct wshandshake_header headers[array_size(base) + 1];
    size_t count = 0;

    for (size_t i = 0; i < array_size(base); i++)
        if (changed == NULL || !str_eq(base[i].name, changed->name))
            headers[count++] = base[i];
    if (changed != NULL)
        headers[count++] = *changed;
    return wshandshake_check(status, headers, count, KEY, protocols, 2, out_protocol, NULL);
}

static void a_client_believes_only_the_answer_to_its_own_request(void **state)
{
    static const struct wshandshake_header bad[] = {
        HEADER("Upgrade", "h2c"),
        HEADER("Connection", "close"),
        HEADER("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo"),
        HEADER("Sec-WebSocket-Accept", "S3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        HEADER("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), /* twice */
        HEADER("Sec-WebSocket-Extensions", "permessage-deflate"),
        HEADER("Sec-WebSocket-Protocol", "other"),
        HEADER("Sec-WebSocket-Protocol", "chat, superchat"),
        HEADER("Sec-WebSocket-Protocol", "Chat"),
    };
    struct str protocol = STR_EMPTY;

    (void)state;
    assert_int_equal(check_with(101, NULL, &protocol), 0);
    assert_str(protocol, "");
    assert_int_equal(
        check_with(101, &(struct wshandshake_header)HEADER("Sec-WebSocket-Protocol", "superchat"),
                   &protocol),
        0);
    assert_str(protocol, "superchat");
    assert_int_equal(check_with(200, NULL, &protocol), ERR_WS_HANDSHAKE);
    assert_int_equal(check_with(401, NULL, &protocol), ERR_WS_HANDSHAKE);
    for (size_t i = 0; i < array_size(bad); i++)
        if (check_with(101, &bad[i], &protocol) != ERR_WS_HANDSHAKE)
            fail_msg("%.*s: %.*s", STR_ARG(bad[i].name), STR_ARG(bad[i].value));
}

static void both_sides_agree(void **state)
{
    const struct str protocols[] = {STR_LITERAL("one"), STR_LITERAL("two")};
    cleanup_buf struct buf lines = BUF_INIT(1024);
    struct wshandshake_header headers[8];
    struct wshandshake_request request;
    struct wshandshake_answer answer;
    struct str rest;
    struct str line;
    struct str protocol;
    char key[WSHANDSHAKE_KEY_CHARS + 1];
    char other[WSHANDSHAKE_KEY_CHARS + 1];
    size_t count = 0;

    (void)state;
    wshandshake_make_key(key);
    wshandshake_make_key(other);
    assert_string_not_equal(key, other);
    assert_int_equal(wshandshake_write_request(key, protocols, 2, &lines), 0);
    for (rest = buf_view(&lines); rest.len > 0; count++) {
        assert_true(str_cut(&rest, '\n', &line));
        assert_true(str_ends_with(line, STR("\r")));
        assert_true(str_cut(&line, ':', &headers[count].name));
        headers[count].value = line;
    }
    request = request_of(headers, count);
    assert_int_equal(wshandshake_accept(&request, &protocols[1], 1, &answer, NULL), 0);
    assert_str(answer.protocol, "two");
    headers[2] = (struct wshandshake_header){STR("Sec-WebSocket-Accept"), str_from(answer.accept)};
    assert_int_equal(wshandshake_check(101, headers, 3, key, protocols, 2, &protocol, NULL), 0);
    assert_int_equal(wshandshake_check(101, headers, 3, other, protocols, 2, &protocol, NULL),
                     ERR_WS_HANDSHAKE);
}

TEST_MAIN(cmocka_unit_test(the_example_of_the_rfc_is_accepted),
          cmocka_unit_test(requests_that_are_no_handshake_are_refused),
          cmocka_unit_test(a_client_believes_only_the_answer_to_its_own_request),
          cmocka_unit_test(both_sides_agree))
