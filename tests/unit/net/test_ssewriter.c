/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "http_fixture.h"
#include "net/sse/writer.h"

enum { GOT_BYTES = 4 << 20, KEPT_BYTES = 100000, QUIET_MS = 1000, STREAMS = 4, HELD_BYTES = 20000 };

static struct http_fixture *fixture;
static struct sse_hub *hub;
static struct sse_stream *streams[STREAMS];
static size_t opened;
static unsigned gone;

static void note_gone(void *data)
{
    (void)data;
    gone++;
}

static void open_stream(void *data, struct exchange *exchange)
{
    (void)data;
    if (sse_open(hub, exchange, note_gone, NULL, &streams[opened]) == 0)
        opened++;
}

/* A request that is answered later. */
static struct exchange *open_exchange;
static unsigned gone_before;

static void note_gone_before(void *data)
{
    (void)data;
    gone_before++;
}

static void keep_exchange(void *data, struct exchange *exchange)
{
    static const struct exchange_events events = {.on_gone = note_gone_before};

    (void)data;
    open_exchange = exchange;
    exchange_watch(exchange, &events, NULL);
}

static int begin_with(exchange_handler *on_request)
{
    const struct httpserver_config config = {.on_request = on_request};
    const struct sse_hub_config hub_config = {.keepalive_ms = QUIET_MS,
                                              .max_kept_bytes = KEPT_BYTES};

    fixture = malloc(sizeof(*fixture));
    assert_non_null(fixture);
    opened = 0;
    gone = 0;
    gone_before = 0;
    http_fixture_init(fixture, &config);
    assert_int_equal(sse_hub_new(fixture->loop, &hub_config, &hub), 0);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    return begin_with(open_stream);
}

static int begin_keeping(void **state)
{
    (void)state;
    return begin_with(keep_exchange);
}

static int end(void **state)
{
    (void)state;
    sse_hub_free(hub);
    http_fixture_done(fixture);
    free(fixture);
    return 0;
}

static int connect_stream(void)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fd = http_fixture_connect(fixture);

    assert_true(http_fixture_send(fixture, fd, STR("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")));
    http_fixture_turn(fixture);
    assert_false(http_fixture_receive(fixture, fd, &got));
    assert_str(buf_view(&got), "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                               "Content-Type: text/event-stream\r\nCache-Control: no-store\r\n"
                               "X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n");
    return fd;
}

static void assert_formatted(const struct sse_event *event, const char *wanted)
{
    cleanup_buf struct buf out = BUF_INIT(1024);

    assert_int_equal(sse_format(event, &out), 0);
    assert_int_equal(buf_append_char(&out, '\0'), 0);
    assert_string_equal(out.data, wanted);
}

static void events_have_their_lines(void **state)
{
    (void)state;
    assert_formatted(&(struct sse_event){.data = STR("hello")}, "data: hello\n\n");
    assert_formatted(
        &(struct sse_event){
            .id = STR("7"), .event = STR("note"), .retry_ms = 1500, .data = STR("x")},
        "id: 7\nevent: note\nretry: 1500\ndata: x\n\n");
    assert_formatted(&(struct sse_event){.id = STR("7"), .data = STR("")}, "id: 7\ndata: \n\n");
    assert_formatted(&(struct sse_event){.retry_ms = 10}, "retry: 10\n\n");
}

static void line_ends_in_data_begin_new_lines(void **state)
{
    (void)state;
    assert_formatted(&(struct sse_event){.data = STR("a\nb\r\nc\rd")},
                     "data: a\ndata: b\ndata: c\ndata: d\n\n");
    assert_formatted(&(struct sse_event){.data = STR("a\n")}, "data: a\ndata: \n\n");
    assert_formatted(&(struct sse_event){.data = STR("\r\r\n\n")},
                     "data: \ndata: \ndata: \ndata: \n\n");
    /* Nothing in it becomes a field of its own. */
    assert_formatted(&(struct sse_event){.data = STR("a\n\nevent: forged\nid: 1")},
                     "data: a\ndata: \ndata: event: forged\ndata: id: 1\n\n");
}

static void ids_and_kinds_cannot_end_their_line(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(1024);

    (void)state;
    assert_int_equal(buf_append_char(&out, 'x'), 0);
    assert_int_equal(sse_format(&(struct sse_event){.id = STR("a\nb")}, &out),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(sse_format(&(struct sse_event){.id = {"a\0b", 3}}, &out),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(sse_format(&(struct sse_event){.event = STR("a\rb")}, &out),
                     ERR_INVALID_ARGUMENT);
    assert_str(buf_view(&out), "x");
}

static void an_event_goes_to_one_or_to_all(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fds[2] = {connect_stream(), connect_stream()};

    (void)state;
    assert_int_equal(sse_hub_count(hub), 2);
    assert_int_equal(sse_send(streams[1], &(struct sse_event){.data = STR("one")}), 0);
    assert_int_equal(sse_hub_send(hub, &(struct sse_event){.data = STR("all")}), 0);
    http_fixture_receive(fixture, fds[0], &got);
    assert_str(buf_view(&got), "b\r\ndata: all\n\n\r\n");
    buf_clear(&got);
    http_fixture_receive(fixture, fds[1], &got);
    assert_str(buf_view(&got), "b\r\ndata: one\n\n\r\nb\r\ndata: all\n\n\r\n");
    close(fds[0]);
    close(fds[1]);
    http_fixture_turn(fixture);
    assert_int_equal(gone, 2);
    assert_int_equal(sse_hub_count(hub), 0);
}

static void a_closed_stream_ends_its_answer_and_the_connection_goes_on(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fd = connect_stream();

    (void)state;
    sse_close(streams[0]);
    http_fixture_turn(fixture);
    assert_false(http_fixture_receive(fixture, fd, &got));
    assert_str(buf_view(&got), "0\r\n\r\n");
    assert_true(http_fixture_send(fixture, fd, STR("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")));
    buf_clear(&got);
    assert_false(http_fixture_receive(fixture, fd, &got));
    assert_true(str_starts_with(buf_view(&got), STR("HTTP/1.1 200 OK")));
    assert_int_equal(sse_hub_count(hub), 0);
    close(fd);
    http_fixture_turn(fixture);
    assert_int_equal(gone, 0);
}

static void quiet_streams_are_kept_alive(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int quiet = connect_stream();
    int busy = connect_stream();

    (void)state;
    http_fixture_pass(fixture, QUIET_MS / 2);
    assert_int_equal(sse_send(streams[1], &(struct sse_event){.data = STR("x")}), 0);
    http_fixture_pass(fixture, QUIET_MS / 2);
    http_fixture_receive(fixture, quiet, &got);
    assert_str(buf_view(&got), "3\r\n:\n\n\r\n");
    buf_clear(&got);
    http_fixture_receive(fixture, busy, &got);
    assert_str(buf_view(&got), "9\r\ndata: x\n\n\r\n");
    buf_clear(&got);
    http_fixture_pass(fixture, QUIET_MS / 2);
    http_fixture_receive(fixture, busy, &got);
    assert_str(buf_view(&got), "3\r\n:\n\n\r\n");
    close(quiet);
    close(busy);
}

static void a_protocol_prescribes_its_keepalive(void **state)
{
    const struct sse_hub_config config = {.keepalive_ms = QUIET_MS, .keepalive = STR(": ping")};
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int quiet;

    (void)state;
    sse_hub_free(hub);
    assert_int_equal(sse_hub_new(fixture->loop, &config, &hub), 0);
    quiet = connect_stream();
    http_fixture_pass(fixture, QUIET_MS);
    http_fixture_receive(fixture, quiet, &got);
    assert_str(buf_view(&got), "8\r\n: ping\n\n\r\n");
    close(quiet);
}

static void a_reader_that_does_not_read_is_cut_off(void **state)
{
    static char text[10000];
    int slow = connect_stream();
    int quick = connect_stream();
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    unsigned sent = 0;

    (void)state;
    memset(text, 'x', sizeof(text));
    while (sse_hub_count(hub) == 2) {
        assert_int_equal(sse_hub_send(hub, &(struct sse_event){.data = {text, sizeof(text)}}), 0);
        http_fixture_receive(fixture, quick, &got);
        assert_true(++sent < 1000);
    }
    http_fixture_turn(fixture);
    assert_int_equal(gone, 1);
    assert_int_equal(sse_hub_count(hub), 1);
    assert_int_equal(http_fixture_connections(fixture), 1);
    assert_true(got.len > sent * sizeof(text));
    close(slow);
    close(quick);
    http_fixture_turn(fixture);
}

static void one_that_was_cut_off_can_still_be_closed(void **state)
{
    static char text[KEPT_BYTES];
    int fd = connect_stream();

    (void)state;
    memset(text, 'x', sizeof(text));
    /* Larger than what anybody may leave unread. */
    assert_int_equal(sse_send(streams[0], &(struct sse_event){.data = {text, sizeof(text)}}), 0);
    assert_int_equal(sse_send(streams[0], &(struct sse_event){.data = STR("x")}), 0);
    sse_close(streams[0]);
    http_fixture_turn(fixture);
    assert_int_equal(gone, 0);
    assert_int_equal(http_fixture_connections(fixture), 0);
    close(fd);
}

static size_t allocated(void)
{
    struct mallinfo2 info = mallinfo2(); /* all zero with a sanitizer */

    return info.uordblks + info.hblkhd;
}

static void a_large_event_leaves_nothing_behind(void **state)
{
    static char text[KEPT_BYTES - 100];
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fd = connect_stream();
    size_t before;

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_int_equal(buf_reserve(&got, 2 * sizeof(text)), 0);
    assert_int_equal(sse_send(streams[0], &(struct sse_event){.data = STR("x")}), 0);
    before = allocated();
    assert_int_equal(sse_send(streams[0], &(struct sse_event){.data = {text, sizeof(text)}}), 0);
    while (got.len < sizeof(text))
        assert_false(http_fixture_receive(fixture, fd, &got));
    assert_in_range(allocated(), 0, before + sizeof(text) / 2);
    close(fd);
}

static void a_stream_on_a_broken_connection_hears_of_it_from_the_loop(void **state)
{
    static char more[HELD_BYTES];
    const struct linger at_once = {.l_onoff = 1};
    int fd = http_fixture_connect(fixture);

    (void)state;
    /* What waits behind the request stops the reading, so that nobody notices the reset. */
    memset(more, 'x', sizeof(more));
    assert_true(http_fixture_send(fixture, fd, STR("GET / HTTP/1.1\r\nHost: x\r\n\r\n")));
    assert_true(http_fixture_send(fixture, fd, (struct str){more, sizeof(more)}));
    http_fixture_turn(fixture);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(fd);
    http_fixture_turn(fixture);
    assert_int_equal(gone_before, 0);

    assert_int_equal(sse_open(hub, open_exchange, note_gone, NULL, &streams[0]), 0);
    assert_int_equal(gone_before + gone, 0);
    assert_int_equal(sse_send(streams[0], &(struct sse_event){.data = STR("x")}), 0);
    http_fixture_turn(fixture);
    assert_int_equal(gone_before, 0);
    assert_int_equal(gone, 1);
    assert_int_equal(http_fixture_connections(fixture), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
TEST_MAIN(cmocka_unit_test(events_have_their_lines),
          cmocka_unit_test(line_ends_in_data_begin_new_lines),
          cmocka_unit_test(ids_and_kinds_cannot_end_their_line),
          CASE(an_event_goes_to_one_or_to_all),
          CASE(a_closed_stream_ends_its_answer_and_the_connection_goes_on),
          CASE(quiet_streams_are_kept_alive), CASE(a_protocol_prescribes_its_keepalive),
          CASE(a_reader_that_does_not_read_is_cut_off),
          CASE(one_that_was_cut_off_can_still_be_closed), CASE(a_large_event_leaves_nothing_behind),
          cmocka_unit_test_setup_teardown(a_stream_on_a_broken_connection_hears_of_it_from_the_loop,
                                          begin_keeping, end))
