/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/conn.h"

enum { CEILING = 1 << 20, GOT_BYTES = 8 << 20, PIECE = 100000 };

struct fixture {
    struct conn conn; /* first */
    struct loop *loop;
    struct conn_space *space;
    int peer;
    struct buf got;
    unsigned ends;
    int last_end;
    unsigned drained;
    unsigned kept;
    unsigned closed;
    bool closes_itself;
    bool has_opened;
};

static struct fixture *fixture_of(struct conn *conn)
{
    return (struct fixture *)(void *)conn;
}

static void on_bytes(struct conn *conn, struct str bytes)
{
    assert_int_equal(buf_append_str(&fixture_of(conn)->got, bytes), 0);
    if (fixture_of(conn)->closes_itself)
        conn_close(conn);
}

static void on_end(struct conn *conn, int error)
{
    fixture_of(conn)->ends++;
    fixture_of(conn)->last_end = error;
    if (fixture_of(conn)->closes_itself)
        conn_close(conn);
}

static void on_drained(struct conn *conn)
{
    fixture_of(conn)->drained++;
}

static void on_kept(struct conn *conn)
{
    fixture_of(conn)->kept++;
    assert_true(conn_kept(conn) > 0);
}

static void on_closed(struct conn *conn)
{
    fixture_of(conn)->closed++;
}

static const struct conn_events EVENTS = {
    .on_bytes = on_bytes, .on_end = on_end, .on_drained = on_drained, .on_closed = on_closed};

/* Of one whose sends wait for the end of the turn. */
static const struct conn_events PATIENT_EVENTS = {.on_bytes = on_bytes,
                                                  .on_end = on_end,
                                                  .on_drained = on_drained,
                                                  .on_kept = on_kept,
                                                  .on_closed = on_closed};

static void turn(struct fixture *fixture)
{
    for (int i = 0; i < 4; i++)
        uv_run(loop_uv(fixture->loop), UV_RUN_NOWAIT);
}

static int begin_with(void **state, const struct conn_events *events)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    int fds[2];

    assert_non_null(fixture);
    buf_init(&fixture->got, GOT_BYTES);
    assert_int_equal(loop_new(&clock_system, &fixture->loop), 0);
    assert_int_equal(conn_space_new(&fixture->space), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    fixture->peer = fds[1];
    assert_int_equal(
        conn_init(&fixture->conn, fixture->loop, fixture->space, fds[0], CEILING, events), 0);
    fixture->has_opened = true;
    conn_resume(&fixture->conn);
    *state = fixture;
    return 0;
}

static int begin(void **state)
{
    return begin_with(state, &EVENTS);
}

static int begin_patient(void **state)
{
    return begin_with(state, &PATIENT_EVENTS);
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    if (fixture->has_opened)
        conn_close(&fixture->conn);
    conn_space_unref(fixture->space);
    loop_free(fixture->loop);
    assert_int_equal(fixture->closed, 1);
    if (fixture->peer >= 0)
        close(fixture->peer);
    buf_done(&fixture->got);
    free(fixture);
    return 0;
}

/* All that the connection has sent, while its loop runs. */
static size_t drain_peer(struct fixture *fixture, struct buf *out)
{
    size_t before = out->len;

    while (true) {
        ssize_t got;

        turn(fixture);
        assert_int_equal(buf_reserve(out, 65536), 0);
        got = read(fixture->peer, out->data + out->len, 65536);
        if (got <= 0)
            return out->len - before;
        out->len += (size_t)got;
    }
}

static void bytes_come_and_go(void **state)
{
    struct fixture *fixture = *state;
    const struct str parts[] = {STR("one "), STR(""), STR("two")};
    char got[16];

    assert_int_equal(write(fixture->peer, "hello", 5), 5);
    turn(fixture);
    assert_str(buf_view(&fixture->got), "hello");
    assert_int_equal(conn_send(&fixture->conn, parts, 3), 0);
    assert_int_equal(conn_kept(&fixture->conn), 0);
    assert_int_equal(read(fixture->peer, got, sizeof(got)), 7);
    assert_memory_equal(got, "one two", 7);
    assert_int_equal(fixture->drained, 0);
}

static void nothing_is_read_while_paused(void **state)
{
    struct fixture *fixture = *state;

    conn_pause(&fixture->conn);
    assert_int_equal(write(fixture->peer, "hello", 5), 5);
    turn(fixture);
    assert_int_equal(fixture->got.len, 0);
    conn_resume(&fixture->conn);
    turn(fixture);
    assert_int_equal(fixture->got.len, 5);
}

static void what_a_slow_peer_does_not_take_is_kept_in_order(void **state)
{
    struct fixture *fixture = *state;
    cleanup_buf struct buf sent = BUF_INIT(GOT_BYTES);
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    char piece[PIECE];

    for (unsigned i = 0; i < 8; i++) {
        const struct str parts[] = {{piece, PIECE / 2}, {piece + PIECE / 2, PIECE / 2}};

        for (size_t j = 0; j < PIECE; j++)
            piece[j] = (char)(i * 31 + j * 7 + j / 251);
        assert_int_equal(buf_append(&sent, piece, PIECE), 0);
        assert_int_equal(conn_send(&fixture->conn, parts, 2), 0);
    }
    assert_true(conn_kept(&fixture->conn) > 0);
    assert_true(conn_space_kept(fixture->conn.space) > 0);
    drain_peer(fixture, &got);
    assert_true(str_eq(buf_view(&sent), buf_view(&got)));
    assert_int_equal(conn_kept(&fixture->conn), 0);
    assert_null(fixture->conn.kept);
    assert_int_equal(conn_space_kept(fixture->conn.space), 0);
    assert_true(fixture->drained >= 1);
}

static void the_ceiling_holds_and_what_passes_it_leaves_no_trace(void **state)
{
    struct fixture *fixture = *state;
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    static char large[CEILING + 1];
    struct str part = {large, sizeof(large)};
    size_t taken = 0;

    assert_int_equal(conn_send(&fixture->conn, &part, 1), ERR_TOO_LARGE);
    part.len = CEILING / 4;
    while (conn_send(&fixture->conn, &part, 1) == 0)
        taken += part.len;
    assert_true(conn_kept(&fixture->conn) <= CEILING);
    assert_true(conn_kept(&fixture->conn) + part.len > CEILING);
    assert_int_equal(drain_peer(fixture, &got), taken);
    assert_int_equal(conn_send(&fixture->conn, &part, 1), 0);
    assert_int_equal(drain_peer(fixture, &got), part.len);
}

static void a_peer_that_stops_sending_can_still_be_written_to(void **state)
{
    struct fixture *fixture = *state;
    const struct str part = STR("answer");
    char got[16];

    assert_int_equal(write(fixture->peer, "last", 4), 4);
    shutdown(fixture->peer, SHUT_WR);
    turn(fixture);
    assert_str(buf_view(&fixture->got), "last");
    assert_int_equal(fixture->ends, 1);
    assert_int_equal(fixture->last_end, 0);
    assert_int_equal(conn_send(&fixture->conn, &part, 1), 0);
    assert_int_equal(read(fixture->peer, got, sizeof(got)), 6);
}

static void shutting_waits_for_what_is_kept(void **state)
{
    struct fixture *fixture = *state;
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    static char large[CEILING];
    const struct str part = {large, sizeof(large)};
    char byte;

    assert_int_equal(conn_send(&fixture->conn, &part, 1), 0);
    conn_shut(&fixture->conn);
    assert_int_equal(conn_send(&fixture->conn, &part, 1), ERR_IO);
    assert_int_equal(drain_peer(fixture, &got), CEILING);
    assert_int_equal(read(fixture->peer, &byte, 1), 0);
    /* The other way is still open. */
    assert_int_equal(write(fixture->peer, "x", 1), 1);
    turn(fixture);
    assert_int_equal(fixture->got.len, 1);
}

static void a_peer_that_is_gone_is_an_error_and_no_signal(void **state)
{
    struct fixture *fixture = *state;
    static char large[CEILING];
    const struct str part = {large, sizeof(large)};

    assert_int_equal(conn_send(&fixture->conn, &part, 1), 0);
    close(fixture->peer);
    fixture->peer = -1;
    turn(fixture);
    assert_true(fixture->ends >= 1);
    assert_int_not_equal(fixture->last_end, 0);
    assert_int_equal(conn_send(&fixture->conn, &part, 1), ERR_IO);
}

static void closing_drops_what_is_kept_and_tells_once(void **state)
{
    struct fixture *fixture = *state;
    static char large[CEILING];
    const struct str part = {large, sizeof(large)};

    assert_int_equal(conn_send(&fixture->conn, &part, 1), 0);
    conn_close(&fixture->conn);
    conn_close(&fixture->conn);
    assert_int_equal(fixture->closed, 0);
    turn(fixture);
    assert_int_equal(fixture->closed, 1);
    assert_int_equal(fixture->drained + fixture->ends, 0);
    fixture->has_opened = false;
}

static void it_may_close_while_it_is_given_bytes(void **state)
{
    struct fixture *fixture = *state;
    static char large[4 * CONN_READ_BYTES];

    fixture->closes_itself = true;
    assert_true(write(fixture->peer, large, sizeof(large)) > CONN_READ_BYTES);
    turn(fixture);
    assert_int_equal(fixture->got.len, CONN_READ_BYTES);
    assert_int_equal(fixture->closed, 1);
    fixture->has_opened = false;
}

/* ---- a filter that turns letters, says hello and goodbye ---- */

struct turner {
    struct filter filter;
    bool has_ended; /* by its own word, a dot */
    bool *is_freed;
};

static int send_turned(struct filter *filter, struct str bytes)
{
    char turned[256];

    assert_true(bytes.len <= sizeof(turned));
    for (size_t i = 0; i < bytes.len; i++)
        turned[i] = (char)(bytes.ptr[i] ^ 0x20);
    return filter->sink.wire(filter->sink.data, (struct str){turned, bytes.len});
}

static int turner_start(struct filter *filter, struct err *err)
{
    (void)err;
    return filter->sink.wire(filter->sink.data, STR("hi"));
}

static int turner_receive(struct filter *filter, struct str bytes, struct err *err)
{
    char turned[256];

    (void)err;
    if (bytes.ptr[0] == '!')
        return ERR_INVALID_ARGUMENT;
    if (bytes.ptr[0] == '.') {
        ((struct turner *)(void *)filter)->has_ended = true;
        filter->sink.ended(filter->sink.data);
        return 0;
    }
    assert_true(bytes.len <= sizeof(turned));
    for (size_t i = 0; i < bytes.len; i++)
        turned[i] = (char)(bytes.ptr[i] ^ 0x20);
    filter->sink.plain(filter->sink.data, (struct str){turned, bytes.len});
    return 0;
}

static int turner_send(struct filter *filter, const struct str *parts, size_t count)
{
    int r = 0;

    for (size_t i = 0; i < count && r == 0; i++)
        r = send_turned(filter, parts[i]);
    return r;
}

static int turner_end(struct filter *filter, struct err *err)
{
    (void)err;
    return ((struct turner *)(void *)filter)->has_ended ? 0 : ERR_CANCELLED;
}

static void turner_close(struct filter *filter)
{
    assert_int_equal(filter->sink.wire(filter->sink.data, STR("bye")), 0);
}

static void turner_free(struct filter *filter)
{
    struct turner *turner = (struct turner *)(void *)filter;

    *turner->is_freed = true;
    free(turner);
}

static const struct filter_ops TURNER = {.start = turner_start,
                                         .receive = turner_receive,
                                         .end = turner_end,
                                         .send = turner_send,
                                         .close = turner_close,
                                         .free = turner_free};

/* It says hello to the peer. */
static void set_turner(struct fixture *fixture, bool *is_freed)
{
    struct turner *turner = malloc(sizeof(*turner));
    char got[16];

    assert_non_null(turner);
    *turner = (struct turner){.filter = {.ops = &TURNER}};
    turner->is_freed = is_freed;
    assert_int_equal(conn_set_filter(&fixture->conn, &turner->filter), 0);
    assert_int_equal(read(fixture->peer, got, sizeof(got)), 2);
    assert_memory_equal(got, "hi", 2);
}

static void close_turner(struct fixture *fixture, const bool *is_freed)
{
    conn_close(&fixture->conn);
    turn(fixture);
    assert_true(*is_freed);
    fixture->has_opened = false;
}

static void a_filter_stands_between(void **state)
{
    struct fixture *fixture = *state;
    const struct str part = STR("Answer");
    bool is_freed = false;
    char got[16];

    set_turner(fixture, &is_freed);
    assert_int_equal(write(fixture->peer, "hELLO", 5), 5);
    turn(fixture);
    assert_str(buf_view(&fixture->got), "Hello");
    assert_int_equal(conn_send(&fixture->conn, &part, 1), 0);
    assert_int_equal(read(fixture->peer, got, sizeof(got)), 6);
    assert_memory_equal(got, "aNSWER", 6);
    conn_shut(&fixture->conn);
    assert_int_equal(read(fixture->peer, got, sizeof(got)), 3);
    assert_int_equal(read(fixture->peer, got, sizeof(got)), 0);
    /* What the filter does not understand ends the connection. */
    assert_int_equal(write(fixture->peer, "!", 1), 1);
    turn(fixture);
    assert_int_equal(fixture->last_end, ERR_INVALID_ARGUMENT);
    close_turner(fixture, &is_freed);
}

static void a_filter_knows_an_end_from_a_cut(void **state)
{
    struct fixture *fixture = *state;
    const struct str part = STR("x");
    bool is_freed = false;
    char got[16];

    set_turner(fixture, &is_freed);
    assert_int_equal(write(fixture->peer, ".", 1), 1);
    turn(fixture);
    assert_int_equal(fixture->ends, 1);
    assert_int_equal(fixture->last_end, 0);
    /* It may still be answered, and the socket's own end says nothing new. */
    assert_int_equal(shutdown(fixture->peer, SHUT_WR), 0);
    turn(fixture);
    assert_int_equal(fixture->ends, 1);
    assert_int_equal(conn_send(&fixture->conn, &part, 1), 0);
    assert_int_equal(read(fixture->peer, got, sizeof(got)), 1);
    close_turner(fixture, &is_freed);
}

static void a_cut_behind_a_filter_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    bool is_freed = false;

    set_turner(fixture, &is_freed);
    assert_int_equal(shutdown(fixture->peer, SHUT_WR), 0);
    turn(fixture);
    assert_int_equal(fixture->ends, 1);
    assert_int_equal(fixture->last_end, ERR_CANCELLED);
    close_turner(fixture, &is_freed);
}

static void a_filter_that_cannot_start_is_told(void **state)
{
    struct fixture *fixture = *state;
    struct turner *turner = malloc(sizeof(*turner));
    bool is_freed = false;

    assert_non_null(turner);
    *turner = (struct turner){.filter = {.ops = &TURNER}, .is_freed = &is_freed};
    close(fixture->peer);
    fixture->peer = -1;
    assert_true(conn_set_filter(&fixture->conn, &turner->filter) < 0);
    close_turner(fixture, &is_freed);
}

/* ---- sends that wait for the end of the turn ---- */

static void sends_of_a_turn_are_written_at_its_end(void **state)
{
    struct fixture *fixture = *state;
    const struct str parts[] = {STR("one "), STR(""), STR("two ")};
    const struct str last = STR("three");
    char got[32];

    assert_int_equal(conn_send(&fixture->conn, parts, 3), 0);
    assert_int_equal(conn_send(&fixture->conn, &last, 1), 0);
    assert_int_equal(conn_kept(&fixture->conn), 0);
    assert_int_equal(read(fixture->peer, got, sizeof(got)), -1);
    turn(fixture);
    assert_int_equal(read(fixture->peer, got, sizeof(got)), 13);
    assert_memory_equal(got, "one two three", 13);
    assert_int_equal(fixture->kept + fixture->drained + fixture->ends, 0);
}

/* Small ones and a large one, more than the queue and the socket hold. */
static void sends_keep_their_order_and_what_is_left_is_told(void **state)
{
    struct fixture *fixture = *state;
    cleanup_buf struct buf sent = BUF_INIT(GOT_BYTES);
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    char piece[2 * CONN_QUEUED_MAX_BYTES];

    for (unsigned i = 0; i < 60; i++) {
        struct str part = {piece, i == 6 ? sizeof(piece) : 1 + i * 250};

        for (size_t j = 0; j < part.len; j++)
            piece[j] = (char)(i * 31 + j * 7 + j / 251);
        assert_int_equal(buf_append_str(&sent, part), 0);
        assert_int_equal(conn_send(&fixture->conn, &part, 1), 0);
    }
    turn(fixture);
    assert_int_equal(fixture->kept, 1);
    drain_peer(fixture, &got);
    assert_true(str_eq(buf_view(&sent), buf_view(&got)));
    assert_int_equal(conn_kept(&fixture->conn), 0);
    assert_true(fixture->drained >= 1);
}

static void shutting_writes_what_waits(void **state)
{
    struct fixture *fixture = *state;
    const struct str part = STR("answer");
    char got[16];

    assert_int_equal(conn_send(&fixture->conn, &part, 1), 0);
    conn_shut(&fixture->conn);
    assert_int_equal(read(fixture->peer, got, sizeof(got)), 6);
    assert_int_equal(read(fixture->peer, got, sizeof(got)), 0);
}

static void closing_writes_what_waits(void **state)
{
    struct fixture *fixture = *state;
    const struct str part = STR("answer");
    char got[16];

    assert_int_equal(conn_send(&fixture->conn, &part, 1), 0);
    conn_close(&fixture->conn);
    turn(fixture);
    assert_int_equal(fixture->closed, 1);
    fixture->has_opened = false;
    assert_int_equal(read(fixture->peer, got, sizeof(got)), 6);
    assert_int_equal(read(fixture->peer, got, sizeof(got)), 0);
}

static void a_peer_that_is_gone_is_told_at_the_end_of_the_turn(void **state)
{
    struct fixture *fixture = *state;
    const struct str part = STR("answer");

    conn_pause(&fixture->conn); /* so that only the write can tell */
    close(fixture->peer);
    fixture->peer = -1;
    assert_int_equal(conn_send(&fixture->conn, &part, 1), 0);
    assert_int_equal(fixture->ends, 0);
    turn(fixture);
    assert_int_equal(fixture->ends, 1);
    assert_int_not_equal(fixture->last_end, 0);
    assert_int_equal(conn_send(&fixture->conn, &part, 1), ERR_IO);
}

static void it_may_close_when_it_is_told(void **state)
{
    struct fixture *fixture = *state;
    const struct str part = STR("answer");

    conn_pause(&fixture->conn);
    close(fixture->peer);
    fixture->peer = -1;
    fixture->closes_itself = true;
    assert_int_equal(conn_send(&fixture->conn, &part, 1), 0);
    turn(fixture);
    assert_int_equal(fixture->ends, 1);
    assert_int_equal(fixture->closed, 1);
    fixture->has_opened = false;
}

#define PATIENT(name) cmocka_unit_test_setup_teardown(name, begin_patient, end)
#define CASE(name)    cmocka_unit_test_setup_teardown(name, begin, end)
TEST_MAIN(CASE(bytes_come_and_go), CASE(nothing_is_read_while_paused),
          CASE(what_a_slow_peer_does_not_take_is_kept_in_order),
          CASE(the_ceiling_holds_and_what_passes_it_leaves_no_trace),
          CASE(a_peer_that_stops_sending_can_still_be_written_to),
          CASE(shutting_waits_for_what_is_kept),
          CASE(a_peer_that_is_gone_is_an_error_and_no_signal),
          CASE(closing_drops_what_is_kept_and_tells_once),
          CASE(it_may_close_while_it_is_given_bytes), CASE(a_filter_stands_between),
          CASE(a_filter_knows_an_end_from_a_cut), CASE(a_cut_behind_a_filter_is_an_error),
          CASE(a_filter_that_cannot_start_is_told), PATIENT(sends_of_a_turn_are_written_at_its_end),
          PATIENT(sends_keep_their_order_and_what_is_left_is_told),
          PATIENT(shutting_writes_what_waits), PATIENT(closing_writes_what_waits),
          PATIENT(a_peer_that_is_gone_is_told_at_the_end_of_the_turn),
          PATIENT(it_may_close_when_it_is_told))
