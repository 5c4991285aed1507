/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/buf.h"
#include "draw.h"
#include "net/websocket/websocket.h"

enum { MESSAGE_MAX_BYTES = 100, QUEUE_MAX_BYTES = 400, ANY = 1 << 20 };

enum habit { LISTENS, ECHOES, CLOSES, FREES };

struct peer {
    struct websocket *websocket;
    struct buf wire;
    struct buf told;
    size_t room; /* what the wire takes */
    size_t wire_calls;
    int wire_result;
    enum habit habit;
};

static void on_message(void *data, enum websocket_kind kind, struct str bytes)
{
    struct peer *peer = data;
    struct websocket *websocket = peer->websocket;

    assert_int_equal(buf_append_str(&peer->told, kind == WEBSOCKET_TEXT ? STR("T(") : STR("B(")),
                     0);
    assert_int_equal(buf_append_str(&peer->told, bytes), 0);
    assert_int_equal(buf_append_str(&peer->told, STR(")")), 0);
    if (peer->habit == ECHOES)
        assert_int_equal(websocket_send(websocket, kind, bytes), 0);
    if (peer->habit == CLOSES)
        assert_int_equal(websocket_close(websocket, WEBSOCKET_GOING_AWAY, STR("enough")), 0);
    if (peer->habit == FREES) {
        peer->websocket = NULL;
        websocket_free(websocket);
    }
}

static int on_wire(void *data, const struct str *parts, size_t count, size_t *out_taken)
{
    struct peer *peer = data;

    peer->wire_calls++;
    for (size_t i = 0; i < count; i++) {
        size_t taken = parts[i].len < peer->room ? parts[i].len : peer->room;

        assert_int_equal(buf_append(&peer->wire, parts[i].ptr, taken), 0);
        peer->room -= taken;
        *out_taken += taken;
    }
    return peer->wire_result;
}

static void on_closed(void *data, uint16_t code, struct str reason)
{
    struct peer *peer = data;

    assert_int_equal(buf_printf(&peer->told, "C(%d %.*s)", code, STR_ARG(reason)), 0);
}

static void on_pong(void *data, struct str bytes)
{
    struct peer *peer = data;

    assert_int_equal(buf_printf(&peer->told, "P(%.*s)", STR_ARG(bytes)), 0);
}

static void peer_init_with(struct peer *peer, enum websocket_role role,
                           const struct websocket_limits *limits)
{
    const struct websocket_sink sink = {
        .message = on_message, .wire = on_wire, .closed = on_closed, .pong = on_pong, .data = peer};

    *peer = (struct peer){.wire = BUF_INIT(16 << 20), .told = BUF_INIT(16 << 20), .room = SIZE_MAX};
    assert_int_equal(websocket_new(role, limits, &sink, &peer->websocket), 0);
}

static void peer_init(struct peer *peer, enum websocket_role role)
{
    const struct websocket_limits limits = {MESSAGE_MAX_BYTES, QUEUE_MAX_BYTES};

    peer_init_with(peer, role, &limits);
}

static void peer_done(struct peer *peer)
{
    websocket_free(peer->websocket);
    buf_done(&peer->wire);
    buf_done(&peer->told);
}

/* Carries what one said to the other, in pieces. */
static int carry(struct peer *from, struct peer *to, size_t step)
{
    struct buf moved = from->wire;
    int r = 0;

    buf_init(&from->wire, 16 << 20);
    for (size_t at = 0; r == 0 && at < moved.len; at += step)
        r = websocket_receive(to->websocket, str_slice(buf_view(&moved), at, step), NULL);
    buf_done(&moved);
    return r;
}

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order in which a row is read */
struct sample {
    const char *rule;
    enum websocket_role role;
    struct str bytes;
    const char *told;
    int code;
    struct str wire; /* of the server: a client's is masked at random, and not looked at */
};

#define BYTES(text) STR_LITERAL(text)
#define NONE        BYTES("")
#define S           WEBSOCKET_SERVER
#define C           WEBSOCKET_CLIENT
/* A mask of zeros, for servers. */
#define M           "\0\0\0\0"

static const struct sample samples[] = {
    /* RFC 6455, 5.7 */
    {"unmasked text", C, BYTES("\x81\x05Hello"), "T(Hello)", 0, NONE},
    {"masked text", S, BYTES("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), "T(Hello)", 0, NONE},
    {"fragments", C, BYTES("\x01\x03Hel\x80\x02lo"), "T(Hello)", 0, NONE},
    {"a ping is answered", S, BYTES("\x89\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), "", 0,
     BYTES("\x8a\x05Hello")},
    {"a pong is told", S, BYTES("\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), "P(Hello)", 0,
     NONE},
    /* Shapes that are allowed. */
    {"binary", S, BYTES("\x82\x82" M "\xff\xfe"), "B(\xff\xfe)", 0, NONE},
    {"empty messages", S, BYTES("\x81\x80" M "\x82\x80" M), "T()B()", 0, NONE},
    {"an empty ping", S, BYTES("\x89\x80" M), "", 0, BYTES("\x8a\x00")},
    {"empty fragments", S, BYTES("\x01\x80" M "\x00\x80" M "\x00\x81" M "a\x80\x80" M), "T(a)", 0,
     NONE},
    {"control frames between fragments", S,
     BYTES("\x01\x81" M "a\x89\x81" M "p\x00\x81" M "b\x8a\x80" M "\x80\x81" M "c"), "P()T(abc)", 0,
     BYTES("\x8a\x01p")},
    {"a character in two fragments", S, BYTES("\x01\x81" M "\xc3\x80\x81" M "\xa9"), "T(\xc3\xa9)",
     0, NONE},
    {"several messages", C,
     BYTES("\x81\x01"
           "a\x82\x01"
           "b\x81\x00"),
     "T(a)B(b)T()", 0, NONE},
    {"a message at its limit", C,
     BYTES(
         "\x81\x64"
         "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678"
         "901234567890"),
     "T(12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
     "01234567890)",
     0, NONE},
    /* Closing. */
    {"a close is answered", S, BYTES("\x88\x80" M), "C(1005 )", 0, BYTES("\x88\x00")},
    {"with its code", S,
     BYTES("\x88\x85" M "\x03\xe8"
           "bye"),
     "C(1000 bye)", 0,
     BYTES("\x88\x05\x03\xe8"
           "bye")},
    {"nothing after it counts", S, BYTES("\x88\x80" M "\x81\x81" M "a\xff\xff\xff"), "C(1005 )", 0,
     BYTES("\x88\x00")},
    {"nor a message that it cuts", S, BYTES("\x01\x81" M "a\x88\x80" M "\x80\x81" M "b"),
     "C(1005 )", 0, BYTES("\x88\x00")},
    {"codes of others", S, BYTES("\x88\x82" M "\x0b\xb8"), "C(3000 )", 0,
     BYTES("\x88\x02\x0b\xb8")},
    {"1012 came after the RFC", S, BYTES("\x88\x83" M "\x03\xf4x"), "C(1012 x)", 0,
     BYTES("\x88\x03\x03\xf4x")},
    {"half a code", S, BYTES("\x88\x81" M "\x03"), "", ERR_WS_PROTOCOL, BYTES("\x88\x02\x03\xea")},
    {"1005 is not sent", S, BYTES("\x88\x82" M "\x03\xed"), "", ERR_WS_PROTOCOL,
     BYTES("\x88\x02\x03\xea")},
    {"999 is no code", S, BYTES("\x88\x82" M "\x03\xe7"), "", ERR_WS_PROTOCOL,
     BYTES("\x88\x02\x03\xea")},
    {"5000 is no code", S, BYTES("\x88\x82" M "\x13\x88"), "", ERR_WS_PROTOCOL,
     BYTES("\x88\x02\x03\xea")},
    {"a reason that is no UTF-8", S, BYTES("\x88\x83" M "\x03\xe8\xff"), "", ERR_INVALID_UTF8,
     BYTES("\x88\x02\x03\xef")},
    /* Rules of the head. */
    {"a client must mask", S, BYTES("\x81\x81" M "a\x81\x05Hello"), "T(a)", ERR_WS_PROTOCOL,
     BYTES("\x88\x02\x03\xea")},
    {"a server must not", C, BYTES("\x81\x81" M "a"), "", ERR_WS_PROTOCOL, NONE},
    {"reserved bits", S, BYTES("\xc1\x81" M "a"), "", ERR_WS_PROTOCOL, BYTES("\x88\x02\x03\xea")},
    {"reserved bit 2", S, BYTES("\xa1\x81" M "a"), "", ERR_WS_PROTOCOL, BYTES("\x88\x02\x03\xea")},
    {"reserved bit 3", S, BYTES("\x91\x81" M "a"), "", ERR_WS_PROTOCOL, BYTES("\x88\x02\x03\xea")},
    {"unknown opcode", S, BYTES("\x83\x81" M "a"), "", ERR_WS_PROTOCOL, BYTES("\x88\x02\x03\xea")},
    {"unknown control", S, BYTES("\x8b\x80" M), "", ERR_WS_PROTOCOL, BYTES("\x88\x02\x03\xea")},
    {"a continuation of nothing", S, BYTES("\x80\x81" M "a"), "", ERR_WS_PROTOCOL,
     BYTES("\x88\x02\x03\xea")},
    {"also after a whole message", S, BYTES("\x81\x81" M "a\x80\x81" M "b"), "T(a)",
     ERR_WS_PROTOCOL, BYTES("\x88\x02\x03\xea")},
    {"a message in a message", S, BYTES("\x01\x81" M "a\x81\x81" M "b"), "", ERR_WS_PROTOCOL,
     BYTES("\x88\x02\x03\xea")},
    {"a control frame in fragments", S, BYTES("\x09\x81" M "a"), "", ERR_WS_PROTOCOL,
     BYTES("\x88\x02\x03\xea")},
    {"a long control frame", S, BYTES("\x89\xfe\x00\x7e" M), "", ERR_WS_PROTOCOL,
     BYTES("\x88\x02\x03\xea")},
    {"a length not in its shortest form", S, BYTES("\x81\xfe\x00\x05" M "Hello"), "",
     ERR_WS_PROTOCOL, BYTES("\x88\x02\x03\xea")},
    {"nor this one", S, BYTES("\x81\xff\0\0\0\0\0\0\xff\xff" M), "", ERR_WS_PROTOCOL,
     BYTES("\x88\x02\x03\xea")},
    {"a negative length", S, BYTES("\x81\xff\x80\0\0\0\0\x01\0\0" M), "", ERR_WS_PROTOCOL,
     BYTES("\x88\x02\x03\xea")},
    /* Sizes and text. */
    {"a frame over the limit", S, BYTES("\x81\xe5" M "a"), "", ERR_TOO_LARGE,
     BYTES("\x88\x02\x03\xf1")},
    {"gigabytes are refused by their head", S, BYTES("\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff" M),
     "", ERR_TOO_LARGE, BYTES("\x88\x02\x03\xf1")},
    {"fragments over the limit together", C,
     BYTES("\x01\x3c"
           "123456789012345678901234567890123456789012345678901234567890\x80\x29"),
     "", ERR_TOO_LARGE, NONE},
    {"text that is no UTF-8", S, BYTES("\x81\x81" M "a\x81\x82" M "\xff\xff"), "T(a)",
     ERR_INVALID_UTF8, BYTES("\x88\x02\x03\xef")},
    {"a character that is cut", S, BYTES("\x81\x81" M "\xc3\x81\x81" M "a"), "", ERR_INVALID_UTF8,
     BYTES("\x88\x02\x03\xef")},
    {"a surrogate", S, BYTES("\x81\x83" M "\xed\xa0\x80"), "", ERR_INVALID_UTF8,
     BYTES("\x88\x02\x03\xef")},
};

static void frames_read_as_the_rfc_says_however_they_were_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(samples); i++) {
        const struct sample *sample = &samples[i];

        for (size_t step = 1; step <= sample->bytes.len; step++) {
            struct peer peer;
            int r = 0;

            peer_init(&peer, sample->role);
            for (size_t at = 0; r == 0 && at < sample->bytes.len; at += step)
                r = websocket_receive(peer.websocket, str_slice(sample->bytes, at, step), NULL);
            if (r != sample->code || !str_eq_c(buf_view(&peer.told), sample->told))
                fail_msg("%s, pieces of %zu: %d, %.*s", sample->rule, step, r,
                         STR_ARG(buf_view(&peer.told)));
            if (sample->role == S && !str_eq(buf_view(&peer.wire), sample->wire))
                fail_msg("%s, pieces of %zu: another answer", sample->rule, step);
            assert_int_equal(websocket_queued(peer.websocket), 0);
            assert_int_equal(websocket_is_over(peer.websocket),
                             sample->code < 0 || strstr(sample->told, "C(") != NULL);
            if (r < 0)
                assert_int_equal(websocket_receive(peer.websocket, STR("\x81\x00"), NULL), r);
            peer_done(&peer);
        }
    }
}

static void messages_of_every_length_class_go_both_ways(void **state)
{
    static const size_t lengths[] = {0, 1, 125, 126, 127, 65535, 65536, 300000};
    const struct websocket_limits limits = {1 << 20, 1 << 20};
    char *text = malloc(300000);

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < 300000; i++)
        text[i] = (char)('a' + i % 26);
    for (size_t i = 0; i < array_size(lengths); i++) {
        struct peer server;
        struct peer client;

        peer_init_with(&server, WEBSOCKET_SERVER, &limits);
        peer_init_with(&client, WEBSOCKET_CLIENT, &limits);
        server.habit = ECHOES;
        assert_int_equal(
            websocket_send(client.websocket, WEBSOCKET_BINARY, (struct str){text, lengths[i]}), 0);
        if (lengths[i] > 20)
            assert_int_equal(str_find(buf_view(&client.wire), STR("abcdefghijklmnop")), SIZE_MAX);
        assert_int_equal(carry(&client, &server, 4093), 0);
        assert_int_equal(carry(&server, &client, ANY), 0);
        assert_int_equal(client.told.len, lengths[i] + 3);
        assert_memory_equal(client.told.data + 2, text, lengths[i]);
        assert_int_equal(websocket_queued(server.websocket) + websocket_queued(client.websocket),
                         0);
        peer_done(&server);
        peer_done(&client);
    }
    free(text);
}

static void a_frame_is_one_write(void **state)
{
    struct peer peer;

    (void)state;
    peer_init(&peer, WEBSOCKET_SERVER);
    assert_int_equal(websocket_send(peer.websocket, WEBSOCKET_TEXT, STR("hello")), 0);
    assert_int_equal(peer.wire_calls, 1);
    assert_str(buf_view(&peer.wire), "\x81\x05hello");
    peer_done(&peer);
}

static void a_slow_peer_is_waited_for_up_to_a_ceiling(void **state)
{
    static const char text[] = "twenty bytes of text";
    struct peer server;
    struct peer client;
    size_t sent = 0;
    size_t at_ceiling;

    (void)state;
    peer_init(&server, WEBSOCKET_SERVER);
    peer_init(&client, WEBSOCKET_CLIENT);
    server.room = 3;
    while (websocket_send(server.websocket, WEBSOCKET_TEXT, (struct str){text, 20}) == 0)
        sent++;
    assert_int_equal(websocket_send(server.websocket, WEBSOCKET_TEXT, STR("x")), 0);
    at_ceiling = websocket_queued(server.websocket);
    assert_true(at_ceiling <= QUEUE_MAX_BYTES && at_ceiling > QUEUE_MAX_BYTES - 22);
    assert_int_equal(sent, (QUEUE_MAX_BYTES + 3) / 22);
    assert_int_equal(websocket_send(server.websocket, WEBSOCKET_TEXT, (struct str){text, 20}),
                     ERR_BUSY);
    /* The wire takes a few bytes at a time; nothing is lost or doubled. */
    while (websocket_queued(server.websocket) > 0) {
        server.room = 5;
        assert_int_equal(websocket_flush(server.websocket), 0);
    }
    assert_int_equal(carry(&server, &client, ANY), 0);
    assert_int_equal(client.told.len, sent * 23 + 4);
    assert_true(str_ends_with(buf_view(&client.told), STR("T(twenty bytes of text)T(x)")));
    server.room = SIZE_MAX;
    assert_int_equal(websocket_send(server.websocket, WEBSOCKET_TEXT, STR("x")), 0);
    peer_done(&server);
    peer_done(&client);
}

static void a_peer_that_pings_and_does_not_read_is_left(void **state)
{
    struct peer server;
    int count = 0;
    int r = 0;

    (void)state;
    peer_init(&server, WEBSOCKET_SERVER);
    server.room = 0;
    while (r == 0 && count < 1000) {
        r = websocket_receive(server.websocket, STR("\x89\x84\0\0\0\0ping"), NULL);
        count++;
    }
    assert_int_equal(r, ERR_BUSY);
    assert_int_equal(count, QUEUE_MAX_BYTES / 6 + 1);
    assert_true(websocket_is_over(server.websocket));
    peer_done(&server);
}

static void pings_in_one_piece_are_all_answered(void **state)
{
    cleanup_buf struct buf flood = BUF_INIT(64 << 10);
    struct peer server;

    (void)state;
    peer_init(&server, WEBSOCKET_SERVER);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buf_append_str(&flood, STR("\x89\x84\0\0\0\0ping")), 0);
    assert_int_equal(websocket_receive(server.websocket, buf_view(&flood), NULL), 0);
    assert_int_equal(server.wire.len, 1000 * 6);
    assert_int_equal(websocket_queued(server.websocket), 0);
    peer_done(&server);
}

static void a_close_comes_after_what_was_sent(void **state)
{
    struct peer server;
    struct peer client;

    (void)state;
    peer_init(&server, WEBSOCKET_SERVER);
    peer_init(&client, WEBSOCKET_CLIENT);
    server.room = 1;
    assert_int_equal(websocket_send(server.websocket, WEBSOCKET_TEXT, STR("one")), 0);
    assert_int_equal(websocket_send(server.websocket, WEBSOCKET_TEXT, STR("two")), 0);
    assert_int_equal(websocket_close(server.websocket, 4000, STR("done")), 0);
    assert_int_equal(websocket_close(server.websocket, 4001, STR("again")), 0);
    assert_int_equal(websocket_send(server.websocket, WEBSOCKET_TEXT, STR("x")), ERR_WS_CLOSED);
    assert_int_equal(websocket_ping(server.websocket, STR_EMPTY), ERR_WS_CLOSED);
    assert_false(websocket_is_over(server.websocket));
    server.room = SIZE_MAX;
    assert_int_equal(websocket_flush(server.websocket), 0);
    assert_int_equal(carry(&server, &client, 1), 0);
    assert_str(buf_view(&client.told), "T(one)T(two)C(4000 done)");
    assert_true(websocket_is_over(client.websocket));
    assert_int_equal(websocket_send(client.websocket, WEBSOCKET_TEXT, STR("x")), ERR_WS_CLOSED);
    assert_int_equal(carry(&client, &server, 1), 0);
    assert_str(buf_view(&server.told), "C(4000 done)");
    assert_true(websocket_is_over(server.websocket));
    peer_done(&server);
    peer_done(&client);
}

static void messages_still_come_between_our_close_and_the_answer(void **state)
{
    struct peer server;
    struct peer client;

    (void)state;
    peer_init(&server, WEBSOCKET_SERVER);
    peer_init(&client, WEBSOCKET_CLIENT);
    assert_int_equal(websocket_close(server.websocket, WEBSOCKET_NORMAL, STR_EMPTY), 0);
    assert_int_equal(websocket_send(client.websocket, WEBSOCKET_TEXT, STR("crossing")), 0);
    assert_int_equal(websocket_ping(client.websocket, STR("p")), 0);
    assert_int_equal(carry(&client, &server, ANY), 0);
    assert_str(buf_view(&server.told), "T(crossing)");
    assert_int_equal(carry(&server, &client, ANY), 0);
    assert_int_equal(carry(&client, &server, ANY), 0);
    assert_str(buf_view(&server.told), "T(crossing)C(1000 )");
    assert_true(websocket_is_over(server.websocket) && websocket_is_over(client.websocket));
    peer_done(&server);
    peer_done(&client);
}

static void what_may_not_be_sent_is_refused(void **state)
{
    static const uint16_t codes[] = {0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000};
    struct peer peer;
    char text[QUEUE_MAX_BYTES];
    struct str reason;

    (void)state;
    memset(text, 'x', sizeof(text));
    peer_init(&peer, WEBSOCKET_SERVER);
    for (size_t i = 0; i < array_size(codes); i++)
        assert_int_equal(websocket_close(peer.websocket, codes[i], STR_EMPTY),
                         ERR_INVALID_ARGUMENT);
    assert_int_equal(websocket_close(peer.websocket, 1000, STR("\xff")), ERR_INVALID_ARGUMENT);
    assert_int_equal(websocket_send(peer.websocket, WEBSOCKET_TEXT, STR("\xff")), ERR_INVALID_UTF8);
    assert_int_equal(
        websocket_send(peer.websocket, WEBSOCKET_BINARY, (struct str){text, sizeof(text)}),
        ERR_TOO_LARGE);
    assert_int_equal(websocket_ping(peer.websocket, (struct str){text, 126}), ERR_TOO_LARGE);
    assert_int_equal(peer.wire.len, 0);
    /* A reason is cut to its size, and not within a character. */
    memcpy(text + 122, "\xc3\xa9", 2);
    reason = (struct str){text, 200};
    assert_int_equal(websocket_close(peer.websocket, 1000, reason), 0);
    assert_int_equal(peer.wire.len, 2 + 2 + 122);
    peer_done(&peer);
}

static void a_peer_may_be_closed_and_freed_in_its_callbacks(void **state)
{
    struct str three = STR("\x81\x81\0\0\0\0a\x81\x81\0\0\0\0b\x81\x81\0\0\0\0c");
    struct peer peer;

    (void)state;
    peer_init(&peer, WEBSOCKET_SERVER);
    peer.habit = FREES;
    assert_int_equal(websocket_receive(peer.websocket, three, NULL), ERR_CANCELLED);
    assert_str(buf_view(&peer.told), "T(a)");
    peer_done(&peer);

    peer_init(&peer, WEBSOCKET_SERVER);
    peer.habit = CLOSES;
    assert_int_equal(websocket_receive(peer.websocket, three, NULL), 0);
    assert_str(buf_view(&peer.wire), "\x88\x08\x03\xe9"
                                     "enough");
    peer_done(&peer);
}

static void what_the_wire_refuses_ends_it(void **state)
{
    struct peer peer;
    size_t calls;

    (void)state;
    peer_init(&peer, WEBSOCKET_SERVER);
    peer.wire_result = ERR_IO;
    assert_int_equal(websocket_send(peer.websocket, WEBSOCKET_TEXT, STR("x")), ERR_IO);
    calls = peer.wire_calls;
    assert_int_equal(websocket_send(peer.websocket, WEBSOCKET_TEXT, STR("x")), ERR_IO);
    assert_int_equal(websocket_flush(peer.websocket), ERR_IO);
    assert_int_equal(websocket_receive(peer.websocket, STR("\x89\x80\0\0\0\0"), NULL), ERR_IO);
    assert_int_equal(websocket_close(peer.websocket, 1000, STR_EMPTY), ERR_IO);
    assert_int_equal(peer.wire_calls, calls);
    assert_true(websocket_is_over(peer.websocket));
    peer_done(&peer);
}

static void drawn_conversations_arrive_whole(void **state)
{
    static const char *const pieces[] = {"a", "é", "\xE2\x82\xAC", "longer ", "\n", "0123456789"};
    char text[256];

    (void)state;
    draw_seed = 6455;
    for (int i = 0; i < 200; i++) {
        struct peer server;
        struct peer client;
        cleanup_buf struct buf wanted = BUF_INIT(64 << 10);

        peer_init(&server, WEBSOCKET_SERVER);
        peer_init(&client, WEBSOCKET_CLIENT);
        for (int k = 0; k < 20; k++) {
            struct str message = draw_text(text, 10, pieces, array_size(pieces));

            client.room = draw(30);
            if (websocket_send(client.websocket, WEBSOCKET_TEXT, message) == 0)
                assert_int_equal(buf_printf(&wanted, "T(%.*s)", STR_ARG(message)), 0);
            assert_int_equal(carry(&client, &server, 1 + draw(10)), 0);
        }
        client.room = SIZE_MAX;
        assert_int_equal(websocket_flush(client.websocket), 0);
        assert_int_equal(carry(&client, &server, 1 + draw(10)), 0);
        assert_true(str_eq(buf_view(&server.told), buf_view(&wanted)));
        peer_done(&server);
        peer_done(&client);
    }
}

TEST_MAIN(cmocka_unit_test(frames_read_as_the_rfc_says_however_they_were_cut),
          cmocka_unit_test(messages_of_every_length_class_go_both_ways),
          cmocka_unit_test(a_frame_is_one_write),
          cmocka_unit_test(a_slow_peer_is_waited_for_up_to_a_ceiling),
          cmocka_unit_test(a_peer_that_pings_and_does_not_read_is_left),
          cmocka_unit_test(pings_in_one_piece_are_all_answered),
          cmocka_unit_test(a_close_comes_after_what_was_sent),
          cmocka_unit_test(messages_still_come_between_our_close_and_the_answer),
          cmocka_unit_test(what_may_not_be_sent_is_refused),
          cmocka_unit_test(a_peer_may_be_closed_and_freed_in_its_callbacks),
          cmocka_unit_test(what_the_wire_refuses_ends_it),
          cmocka_unit_test(drawn_conversations_arrive_whole))
