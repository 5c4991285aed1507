/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Responses parse to the same however their bytes are split; the first byte is the length of a
 * piece, the second the kind of request. An accepted response has one length, and no line ends
 * inside its headers.
 */
#include <assert.h>
#include <stdint.h>

#include "base/err.h"
#include "net/http/response.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TOLD_BYTES = 16 << 20 };

struct told {
    struct buf text;
    uint64_t body_bytes;
};

static void tell_body(void *data, struct str bytes)
{
    struct told *told = data;

    assert(bytes.len > 0);
    told->body_bytes += bytes.len;
    assert(buf_append_str(&told->text, bytes) == 0);
}

static void check_response(const struct http_response *response, enum httpresponse_to to)
{
    struct str value;

    assert((response->status >= 200 && response->status <= 999) ||
           (response->status == 101 && to == HTTPRESPONSE_TO_UPGRADE && !response->has_body));
    assert(response->header_count <= HTTP_MAX_HEADERS);
    for (size_t i = 0; i < response->header_count; i++) {
        struct http_field field = http_response_header_at(response, i);

        assert(http_is_token(field.name) && http_is_field_value(field.value));
    }
    assert(!(response->is_chunked && response->lasts_until_end));
    assert(!response->lasts_until_end || !response->keeps_alive);
    if (response->is_chunked)
        assert(!http_response_header(response, STR("content-length"), &value));
    if (response->status == 204 || response->status == 304)
        assert(!response->has_body);
}

static void read_all(struct str text, size_t step, enum httpresponse_to to, struct told *told)
{
    struct httpresponse *parse;
    struct str piece = STR_EMPTY;
    int event = 0;

    assert(httpresponse_new(&parse) == 0);
    httpresponse_reset(parse, to);
    while (event >= 0 && (text.len > 0 || piece.len > 0)) {
        if (piece.len == 0) {
            piece = str_slice(text, 0, step);
            text = str_slice(text, step, SIZE_MAX);
        }
        event = httpresponse_feed(parse, &piece, tell_body, told);
        if (event == HTTPRESPONSE_HEAD) {
            const struct http_response *response = httpresponse_get(parse);

            check_response(response, to);
            told->body_bytes = 0;
            assert(buf_printf(&told->text, "<%d %zu %d>", response->status, response->header_count,
                              response->keeps_alive) == 0);
            /* A body that is not there is complete without another byte. */
            event = httpresponse_feed(parse, &piece, tell_body, told);
        }
        if (event == HTTPRESPONSE_COMPLETE) {
            const struct http_response *response = httpresponse_get(parse);

            assert(!response->lasts_until_end);
            assert(response->is_chunked || told->body_bytes == response->content_length);
            assert(httpresponse_end(parse) == 0);
            assert(buf_append_str(&told->text, STR("<end>")) == 0);
            httpresponse_reset(parse, to);
        }
        assert(event < 0 || event == HTTPRESPONSE_COMPLETE || piece.len == 0);
    }
    if (event < 0) {
        assert(event == ERR_HTTP_ANSWER);
        assert(buf_append_str(&told->text, STR("<refused>")) == 0);
        /* And stays refused. */
        assert(httpresponse_feed(parse, &piece, tell_body, told) == event);
        assert(httpresponse_end(parse) == event);
    } else {
        assert(buf_printf(&told->text, "<%d>", httpresponse_end(parse)) == 0);
    }
    httpresponse_free(parse);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct told whole = {.text = BUF_INIT(TOLD_BYTES)};
    struct told pieces = {.text = BUF_INIT(TOLD_BYTES)};
    enum httpresponse_to to;
    struct str text;

    if (size < 3)
        return 0;
    to = (enum httpresponse_to)(data[1] % 4);
    text = (struct str){(const char *)data + 2, size - 2};
    read_all(text, text.len, to, &whole);
    read_all(text, (size_t)data[0] + 1, to, &pieces);
    assert(str_eq(buf_view(&whole.text), buf_view(&pieces.text)));
    buf_done(&whole.text);
    buf_done(&pieces.text);
    return 0;
}
