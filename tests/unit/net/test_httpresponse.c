/* SPDX-License-Identifier: Apache-2.0 */
/* Valid and invalid responses, each split in every way. */
#include "test.h"

#include "base/buf.h"
#include "base/err.h"
#include "net/http/response.h"

enum { TOLD_BYTES = 1 << 20, MANY = HTTP_MAX_HEADERS + 1 };

static void tell_body(void *data, struct str bytes)
{
    assert_int_equal(buf_append_str(data, bytes), 0);
}

/* What was told about it: "200 keeps [body]", then how it stood when the bytes were at their end.
 */
static void read_answer(struct str text, size_t step, enum httpresponse_to to, struct buf *told)
{
    struct httpresponse *parse;
    struct str piece = STR_EMPTY;
    int event = 0;

    assert_int_equal(httpresponse_new(&parse), 0);
    httpresponse_reset(parse, to);
    assert_true(httpresponse_is_untouched(parse));
    while (event >= 0 && event != HTTPRESPONSE_COMPLETE && (text.len > 0 || piece.len > 0)) {
        if (piece.len == 0) {
            piece = str_slice(text, 0, step);
            text = str_slice(text, step, SIZE_MAX);
        }
        event = httpresponse_feed(parse, &piece, tell_body, told);
        assert_false(event >= 0 && httpresponse_is_untouched(parse));
        if (event == HTTPRESPONSE_HEAD) {
            const struct http_response *response = httpresponse_get(parse);

            assert_int_equal(buf_printf(told, "%d %s [", response->status,
                                        response->keeps_alive ? "keeps" : "closes"),
                             0);
            event = httpresponse_feed(parse, &piece, tell_body, told);
        }
    }
    if (event == HTTPRESPONSE_COMPLETE)
        assert_int_equal(buf_printf(told, "] complete, %zu left", piece.len + text.len), 0);
    else if (event < 0)
        assert_int_equal(buf_printf(told, "%s", err_name(event)), 0);
    else
        assert_int_equal(buf_printf(told, "] %s", err_name(httpresponse_end(parse))), 0);
    httpresponse_free(parse);
}

struct sample {
    struct str text;
    const char *told;
    enum httpresponse_to to;
};

static void expect_all(const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t step = 1; step <= samples[i].text.len; step++) {
            cleanup_buf struct buf told = BUF_INIT(TOLD_BYTES);
            const char *text;

            read_answer(samples[i].text, step, samples[i].to, &told);
            assert_int_equal(buf_terminate(&told, &text), 0);
            if (strcmp(text, samples[i].told) != 0)
                print_message("sample %zu in pieces of %zu\n", i, step);
            assert_string_equal(text, samples[i].told);
        }
}

#define SAMPLE(told_, text_)                                                                       \
    {                                                                                              \
        .text = STR_LITERAL(text_), .told = (told_)                                                \
    }
#define SAMPLE_TO(to_, told_, text_)                                                               \
    {                                                                                              \
        .text = STR_LITERAL(text_), .told = (told_), .to = (to_)                                   \
    }

static void answers_are_read(void **state)
{
    static const struct sample samples[] = {
        SAMPLE("200 keeps [hello] complete, 0 left",
               "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        SAMPLE("200 keeps [hello] complete, 0 left",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0"
               "\r\nA: b\r\n\r\n"),
        SAMPLE("200 closes [hello] complete, 0 left",
               "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"),
        SAMPLE("200 closes [hello] complete, 0 left",
               "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        SAMPLE("404 keeps [] complete, 0 left", "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n"),
        SAMPLE("404 keeps [] complete, 0 left", "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n"),
        SAMPLE("204 keeps [] complete, 0 left", "HTTP/1.1 204 No Content\r\n\r\n"),
        SAMPLE("304 keeps [] complete, 0 left",
               "HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n"),
        SAMPLE("200 keeps [x] complete, 0 left",
               "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
               "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
        SAMPLE_TO(HTTPRESPONSE_TO_HEAD, "200 keeps [] complete, 0 left",
                  "HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n"),
        SAMPLE_TO(HTTPRESPONSE_TO_CONNECT, "200 keeps [] complete, 0 left",
                  "HTTP/1.1 200 Connection established\r\n\r\n"),
        SAMPLE_TO(HTTPRESPONSE_TO_CONNECT, "407 keeps [no] complete, 0 left",
                  "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno"),
        SAMPLE_TO(HTTPRESPONSE_TO_UPGRADE, "101 keeps [] complete, 0 left",
                  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                  "Upgrade: websocket\r\n\r\n"),
        SAMPLE_TO(HTTPRESPONSE_TO_UPGRADE, "400 keeps [no] complete, 0 left",
                  "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno"),
    };

    (void)state;
    expect_all(samples, array_size(samples));
}

static void what_is_missing_is_noticed(void **state)
{
    static const struct sample samples[] = {
        SAMPLE("] connection_lost", "HTTP/1.1 200 OK\r\nContent-Le"),
        SAMPLE("200 keeps [hel] connection_lost",
               "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"),
        SAMPLE("200 keeps [he] connection_lost",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n"),
        SAMPLE("] connection_lost", "HTTP/1.1 100 Continue\r\n\r\n"),
    };

    (void)state;
    expect_all(samples, array_size(samples));
}

static void a_body_can_end_with_the_connection(void **state)
{
    struct str text = STR("HTTP/1.1 200 OK\r\n\r\nall that comes\r\n\r\nHTTP/1.1 200 OK\r\n");
    cleanup_buf struct buf body = BUF_INIT(TOLD_BYTES);
    struct httpresponse *parse;

    (void)state;
    assert_int_equal(httpresponse_new(&parse), 0);
    assert_int_equal(httpresponse_feed(parse, &text, tell_body, &body), HTTPRESPONSE_HEAD);
    assert_true(httpresponse_get(parse)->lasts_until_end);
    assert_false(httpresponse_get(parse)->keeps_alive);
    assert_int_equal(httpresponse_feed(parse, &text, tell_body, &body), HTTPRESPONSE_MORE);
    assert_str(buf_view(&body), "all that comes\r\n\r\nHTTP/1.1 200 OK\r\n");
    assert_int_equal(httpresponse_end(parse), 0);
    httpresponse_free(parse);
}

static void what_could_be_read_in_two_ways_is_refused(void **state)
{
    static const struct sample samples[] = {
        SAMPLE("http_answer", "SSH-2.0-OpenSSH_9.2\r\n"),
        SAMPLE("http_answer", "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
        SAMPLE("http_answer", "HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n"),
        SAMPLE("http_answer", "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"),
        SAMPLE("http_answer", "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"),
        SAMPLE("http_answer", "HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n"),
        SAMPLE("http_answer", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"),
        SAMPLE("http_answer", "HTTP/1.1 200 O\x01K\r\nContent-Length: 0\r\n\r\n"),
        SAMPLE("http_answer", "\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        SAMPLE("http_answer", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"),
        SAMPLE("http_answer", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello"),
        SAMPLE("http_answer", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello"),
        SAMPLE("http_answer", "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n"),
        SAMPLE("http_answer",
               "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
        SAMPLE("http_answer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
        SAMPLE("http_answer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n"),
        SAMPLE("http_answer", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        SAMPLE("http_answer", "HTTP/1.1 200 OK\r\nA : b\r\nContent-Length: 0\r\n\r\n"),
        SAMPLE("http_answer", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 0\r\n\r\n"),
        SAMPLE("http_answer", "HTTP/1.1 200 OK\r\nLocation: /a\r\nLocation: /b\r\n\r\n"),
        SAMPLE("http_answer", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
        SAMPLE("200 keeps [http_answer",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        SAMPLE("200 keeps [hehttp_answer",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhexx"),
    };

    (void)state;
    expect_all(samples, array_size(samples));
}

static void what_follows_belongs_to_nobody(void **state)
{
    cleanup_buf struct buf told = BUF_INIT(TOLD_BYTES);

    (void)state;
    read_answer(STR("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n"), SIZE_MAX,
                HTTPRESPONSE_TO_ANY, &told);
    assert_str(buf_view(&told), "200 keeps [ok] complete, 17 left");
}

static void heads_have_ceilings(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(TOLD_BYTES);
    cleanup_buf struct buf told = BUF_INIT(TOLD_BYTES);

    (void)state;
    assert_int_equal(buf_append_str(&text, STR("HTTP/1.1 200 OK\r\n")), 0);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(buf_append_str(&text, STR("A: b\r\n")), 0);
    read_answer(buf_view(&text), SIZE_MAX, HTTPRESPONSE_TO_ANY, &told);
    assert_str(buf_view(&told), "http_answer");

    buf_clear(&text);
    buf_clear(&told);
    assert_int_equal(buf_append_str(&text, STR("HTTP/1.1 200 OK\r\nA: ")), 0);
    while (text.len <= HTTP_MAX_HEAD_BYTES)
        assert_int_equal(buf_append_char(&text, 'a'), 0);
    read_answer(buf_view(&text), 1000, HTTPRESPONSE_TO_ANY, &told);
    assert_str(buf_view(&told), "http_answer");

    buf_clear(&text);
    buf_clear(&told);
    for (int i = 0; i <= HTTPRESPONSE_MAX_INTERIM; i++)
        assert_int_equal(buf_append_str(&text, STR("HTTP/1.1 100 Continue\r\n\r\n")), 0);
    read_answer(buf_view(&text), SIZE_MAX, HTTPRESPONSE_TO_ANY, &told);
    assert_str(buf_view(&told), "http_answer");
}

static void headers_are_found(void **state)
{
    struct str text =
        STR("HTTP/1.1 302 Found\r\nLocation:  https://x/ \r\nContent-Length: 0\r\n\r\n");
    struct httpresponse *parse;
    struct str value = STR_EMPTY;

    (void)state;
    assert_int_equal(httpresponse_new(&parse), 0);
    assert_int_equal(httpresponse_feed(parse, &text, tell_body, NULL), HTTPRESPONSE_HEAD);
    assert_true(http_response_header(httpresponse_get(parse), STR("LOCATION"), &value));
    assert_str(value, "https://x/");
    assert_false(http_response_header(httpresponse_get(parse), STR("locatio"), &value));
    httpresponse_free(parse);
}

TEST_MAIN(cmocka_unit_test(answers_are_read), cmocka_unit_test(what_is_missing_is_noticed),
          cmocka_unit_test(a_body_can_end_with_the_connection),
          cmocka_unit_test(what_could_be_read_in_two_ways_is_refused),
          cmocka_unit_test(what_follows_belongs_to_nobody), cmocka_unit_test(heads_have_ceilings),
          cmocka_unit_test(headers_are_found))
