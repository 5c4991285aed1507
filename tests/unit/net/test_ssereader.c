/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/buf.h"
#include "base/err.h"
#include "draw.h"
#include "net/sse/reader.h"

enum { LINE_MAX_BYTES = 64, EVENT_MAX_BYTES = 100 };

static const struct sse_limits limits = {LINE_MAX_BYTES, EVENT_MAX_BYTES};

static void note_event(void *data, const struct sse_received *event)
{
    assert_int_equal(buf_printf(data, "%.*s(%.*s)#%.*s;", STR_ARG(event->type),
                                STR_ARG(event->data), STR_ARG(event->last_id)),
                     0);
}

static void note_retry(void *data, int64_t delay_ms)
{
    assert_int_equal(buf_printf(data, "retry %lld;", (long long)delay_ms), 0);
}

/* Reads in pieces of `step` bytes; what was told, and the code of the last piece. */
static int read_stream(struct str text, size_t step, struct buf *told)
{
    const struct sse_handler handler = {.event = note_event, .retry = note_retry, .data = told};
    struct sse_reader reader;
    int r = 0;

    sse_reader_init(&reader, &limits);
    for (size_t at = 0; at < text.len; at += step)
        r = sse_reader_feed(&reader, str_slice(text, at, step), &handler);
    sse_reader_done(&reader);
    return r;
}

struct sample {
    const char *rule;
    struct str stream;
    const char *events;
    int result;
};

#define STREAM(text) STR_LITERAL(text)

static const struct sample samples[] = {
    {"one line of data", STREAM("data: one\n\n"), "message(one)#;", 0},
    {"lines of data are joined", STREAM("data: YHOO\ndata: +2\ndata: 10\n\n"),
     "message(YHOO\n+2\n10)#;", 0},
    {"no event without the empty line", STREAM("data: one\n\ndata: two\n"), "message(one)#;", 0},
    {"nor in the middle of a line", STREAM("data: one"), "", 0},
    {"comment, id, and an id that is taken back",
     STREAM(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
            "data:  third event\n\n"),
     "message(first event)#1;message(second event)#;message( third event)#;", 0},
    {"empty data is data", STREAM("data\n\ndata\ndata\n\ndata:\n"), "message()#;message(\n)#;", 0},
    {"one blank goes, no more", STREAM("data:test\n\ndata: test\n\ndata:  x \n\ndata:\ty\n\n"),
     "message(test)#;message(test)#;message( x )#;message(\ty)#;", 0},
    {"CR LF", STREAM("data: a\r\ndata: b\r\n\r\n"), "message(a\nb)#;", 0},
    {"CR", STREAM("data: a\rdata: b\r\rdata: c\r\r"), "message(a\nb)#;message(c)#;", 0},
    {"all ends mixed", STREAM("data: a\rdata: b\ndata: c\r\n\n\rdata: d\n\r"),
     "message(a\nb\nc)#;message(d)#;", 0},
    {"CR CR LF ends two lines", STREAM("data: a\r\r\ndata: b\n\r\n"), "message(a)#;message(b)#;",
     0},
    {"byte order mark",
     STREAM("\xEF\xBB\xBF"
            "data: a\n\n"),
     "message(a)#;", 0},
    {"only one of them, and only in front",
     STREAM("\xEF\xBB\xBF\xEF\xBB\xBF"
            "data: a\n\ndata: b\n\xEF\xBB\xBF"
            "data: c\n\n"),
     "message(b)#;", 0},
    {"half a mark is text",
     STREAM("\xEF\xBB"
            "data: a\n\ndata: b\n\n"),
     "message(b)#;", 0},
    {"a mark before a comment", STREAM("\xEF\xBB\xBF: x\ndata: a\n\n"), "message(a)#;", 0},
    {"type of an event",
     STREAM("event: add\ndata: 1\n\nevent: add\nevent: remove\ndata: 2\n\n"
            "data: 3\n\nevent: x\nevent\ndata: 4\n\n"),
     "add(1)#;remove(2)#;message(3)#;message(4)#;", 0},
    {"a type without data is forgotten", STREAM("event: add\n\ndata: 1\n\n"), "message(1)#;", 0},
    {"an id stays until another", STREAM("id: 7\ndata: a\n\ndata: b\n\nid: 8\ndata: c\n\n"),
     "message(a)#7;message(b)#7;message(c)#8;", 0},
    {"an id holds though there was no data", STREAM("id: 7\n\ndata: a\n\n"), "message(a)#7;", 0},
    {"an id with NUL is none", STREAM("id: 7\nid: 8\0\ndata: a\n\n"), "message(a)#7;", 0},
    {"retry is digits alone",
     STREAM("retry: 1500\nretry: 1x\nretry: -1\nretry:\nretry\nretry:  2\nretry:+3\nretry:007\n"),
     "retry 1500;retry 7;", 0},
    {"a retry of ages is a day", STREAM("retry: 99999999999999999999999999999999\n"),
     "retry 86400000;", 0},
    {"fields are known by their exact name",
     STREAM("Data: a\ndata : b\n data: c\ndatax: d\nfoo\nfoo: bar\ndata: e\n\n"), "message(e)#;",
     0},
    {"colons in a value", STREAM("data: a:b: c\n\n"), "message(a:b: c)#;", 0},
    {"bytes that are no UTF-8 go through", STREAM("data: \xFF\xC0\n\n"), "message(\xFF\xC0)#;", 0},
    {"a long comment",
     STREAM(":123456789012345678901234567890123456789012345678901234567890123456789012345678\n"
            "data: a\n\n"),
     "message(a)#;", 0},
    {"a line at its limit",
     STREAM("data: 1234567890123456789012345678901234567890123456789012345678"
            "\n\n"),
     "message(1234567890123456789012345678901234567890123456789012345678)#;", 0},
    {"a line over its limit",
     STREAM("data: a\n\nretry:12345678901234567890123456789012345678901234567890123456789\n"
            "\ndata: b\n\n"),
     "message(a)#;", ERR_TOO_LARGE},
    {"an event over its limit",
     STREAM("data: a\n\n"
            "data: 1234567890123456789012345678901234567890123456789\n"
            "data: 123456789012345678901234567890123456789012345678901\n\ndata: b\n\n"),
     "message(a)#;", ERR_TOO_LARGE},
};

static void streams_read_as_the_standard_says_however_they_were_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(samples); i++) {
        struct str stream = samples[i].stream;

        for (size_t step = 1; step <= stream.len; step++) {
            cleanup_buf struct buf told = BUF_INIT(4096);
            int r = read_stream(stream, step, &told);

            if (r != samples[i].result || !str_eq_c(buf_view(&told), samples[i].events))
                fail_msg("%s, pieces of %zu: %d, %.*s", samples[i].rule, step, r,
                         STR_ARG(buf_view(&told)));
        }
    }
}

static void drawn_streams_read_the_same_however_they_were_cut(void **state)
{
    static const char *const pieces[] = {"\n",   "\r",     "\r\n",   "\n\n",   "data",  ":",
                                         ": ",   "event",  "id",     "retry",  "12",    "x",
                                         "\xEF", "\xBB",   "\xBF",   "data:a", "id: 3", ":long ",
                                         "é",    "data: ", "\n\r\n", "event:e"};
    char text[1024];

    (void)state;
    draw_seed = 20;
    for (int i = 0; i < 2000; i++) {
        struct str stream = draw_text(text, 60, pieces, array_size(pieces));
        cleanup_buf struct buf whole = BUF_INIT(4096);
        cleanup_buf struct buf cut = BUF_INIT(4096);
        int r = read_stream(stream, stream.len, &whole);

        assert_int_equal(read_stream(stream, 1 + draw(9), &cut), r);
        assert_int_equal(whole.len, cut.len);
        assert_true(str_eq(buf_view(&whole), buf_view(&cut)));
    }
}

static void a_new_connection_begins_anew_with_the_last_id(void **state)
{
    cleanup_buf struct buf told = BUF_INIT(4096);
    const struct sse_handler handler = {.event = note_event, .data = &told};
    struct sse_reader reader;

    (void)state;
    sse_reader_init(&reader, &limits);
    assert_int_equal(sse_reader_feed(&reader,
                                     STR("id: 5\ndata: a\n\nid: 6\nevent: e\ndata: lost\nda"),
                                     &handler),
                     0);
    sse_reader_restart(&reader);
    assert_int_equal(sse_reader_feed(&reader,
                                     STR("\xEF\xBB\xBF"
                                         "data: b\n\nretry: 5\n"),
                                     &handler),
                     0);
    assert_str(buf_view(&told), "message(a)#5;message(b)#5;");
    sse_reader_done(&reader);
}

static void a_broken_stream_stays_broken_until_the_next_connection(void **state)
{
    cleanup_buf struct buf told = BUF_INIT(4096);
    const struct sse_handler handler = {.event = note_event, .data = &told};
    char line[LINE_MAX_BYTES + 1];
    struct sse_reader reader;

    (void)state;
    memset(line, 'x', sizeof(line));
    sse_reader_init(&reader, &limits);
    assert_int_equal(sse_reader_feed(&reader, (struct str){line, sizeof(line)}, &handler),
                     ERR_TOO_LARGE);
    assert_int_equal(sse_reader_feed(&reader, STR("\n\ndata: a\n\n"), &handler), ERR_TOO_LARGE);
    sse_reader_restart(&reader);
    assert_int_equal(sse_reader_feed(&reader, STR("data: b\n\n"), &handler), 0);
    assert_str(buf_view(&told), "message(b)#;");
    sse_reader_done(&reader);
}

static void count_event(void *data, const struct sse_received *event)
{
    (void)event;
    ++*(size_t *)data;
}

static void steady_events_allocate_nothing_and_large_ones_are_not_kept(void **state)
{
    static char large[300 << 10];
    const struct sse_limits wide = {sizeof(large) + 16, sizeof(large) + 16};
    size_t count = 0;
    const struct sse_handler handler = {.event = count_event, .data = &count};
    struct str text = STR("id: 41\r\nevent: change\r\ndata: {\"a\":1}\r\ndata: more\r\n\r\n");
    struct sse_reader reader;
    const char *held;

    (void)state;
    memset(large, 'x', sizeof(large));
    sse_reader_init(&reader, &wide);
    assert_int_equal(sse_reader_feed(&reader, text, &handler), 0);
    for (size_t at = 0; at < text.len; at++)
        assert_int_equal(sse_reader_feed(&reader, str_slice(text, at, 1), &handler), 0);
    held = reader.data.data;
    for (int i = 0; i < 1000; i++)
        for (size_t at = 0; at < text.len; at += 7)
            assert_int_equal(sse_reader_feed(&reader, str_slice(text, at, 7), &handler), 0);
    assert_int_equal(count, 1002);
    assert_ptr_equal(reader.data.data, held);
    assert_true(reader.data.capacity <= 64 && reader.line.capacity <= 64);

    assert_int_equal(sse_reader_feed(&reader, STR("data:"), &handler), 0);
    assert_int_equal(sse_reader_feed(&reader, (struct str){large, sizeof(large)}, &handler), 0);
    assert_int_equal(sse_reader_feed(&reader, STR("\n\n"), &handler), 0);
    assert_int_equal(count, 1003);
    assert_true(reader.data.capacity <= 64 << 10 && reader.line.capacity <= 64 << 10);
    sse_reader_done(&reader);
}

TEST_MAIN(cmocka_unit_test(streams_read_as_the_standard_says_however_they_were_cut),
          cmocka_unit_test(drawn_streams_read_the_same_however_they_were_cut),
          cmocka_unit_test(a_new_connection_begins_anew_with_the_last_id),
          cmocka_unit_test(a_broken_stream_stays_broken_until_the_next_connection),
          cmocka_unit_test(steady_events_allocate_nothing_and_large_ones_are_not_kept))
