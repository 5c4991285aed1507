/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests parse to the same however their bytes are split; the first byte is the length of a
 * piece. An accepted request has one host, one length, a normal path, and no line ends inside its
 * headers.
 */
#include <assert.h>
#include <stdint.h>

#include "base/err.h"
#include "base/utf8.h"
#include "net/http/parse.h"
#include "net/http/path.h"

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

static void check_request(const struct http_request *request)
{
    cleanup_buf struct buf space = BUF_INIT(HTTP_MAX_LINE_BYTES);
    unsigned hosts = 0;
    struct str value;

    for (size_t i = 0; i < request->header_count; i++) {
        struct http_field field = http_header_at(request, i);

        assert(http_is_token(field.name) && http_is_field_value(field.value));
        hosts += str_eq_nocase(field.name, STR("host"));
    }
    assert(hosts == 1 || (hosts == 0 && request->minor == 0));
    assert(request->header_count <= HTTP_MAX_HEADERS);
    assert(!request->is_chunked || request->content_length == 0);
    assert(!(request->is_chunked && http_header(request, STR("content-length"), &value)));
    if (request->path.ptr[0] == '*') {
        assert(request->path.len == 1);
        return;
    }
    assert(request->path.ptr[0] == '/' && str_find(request->path, STR("/../")) == SIZE_MAX);
    assert(str_find(request->path, STR("//")) == SIZE_MAX && !str_has_nul(request->path));
    /* What was decoded does not decode again, unless it has a lone percent sign. */
    if (httppath_decode(request->path, &space, &value) == 0)
        assert(str_eq(value, request->path) || utf8_is_valid(value));
}

static void read_all(struct str text, size_t step, struct told *told)
{
    struct httpparse *parse;
    struct str piece = STR_EMPTY;
    int event = 0;

    assert(httpparse_new(&parse) == 0);
    while (event >= 0 && (text.len > 0 || piece.len > 0)) {
        if (piece.len == 0) {
            piece = str_slice(text, 0, step);
            text = str_slice(text, step, SIZE_MAX);
        }
        event = httpparse_feed(parse, &piece, tell_body, told);
        if (event == HTTPPARSE_HEAD) {
            const struct http_request *request = httpparse_request(parse);

            check_request(request);
            told->body_bytes = 0;
            assert(buf_printf(&told->text, "<%d %zu %.*s %d>", request->method,
                              request->header_count, STR_ARG(request->target),
                              request->keeps_alive) == 0);
            /* A body that is not there is complete without another byte. */
            event = httpparse_feed(parse, &piece, tell_body, told);
        }
        if (event == HTTPPARSE_COMPLETE) {
            const struct http_request *request = httpparse_request(parse);

            assert(request->is_chunked || told->body_bytes == request->content_length);
            assert(buf_append_str(&told->text, STR("<end>")) == 0);
            httpparse_reset(parse);
        }
        assert(event < 0 || event == HTTPPARSE_COMPLETE || piece.len == 0);
    }
    if (event < 0) {
        assert(err_http_status(event) >= 400 && err_http_status(event) <= 505);
        assert(buf_printf(&told->text, "<%s>", err_name(event)) == 0);
        /* And stays refused. */
        assert(httpparse_feed(parse, &piece, tell_body, told) == event);
    }
    httpparse_free(parse);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct told whole = {.text = BUF_INIT(TOLD_BYTES)};
    struct told pieces = {.text = BUF_INIT(TOLD_BYTES)};
    struct str text;

    if (size < 2)
        return 0;
    text = (struct str){(const char *)data + 1, size - 1};
    read_all(text, text.len, &whole);
    read_all(text, (size_t)data[0] + 1, &pieces);
    assert(str_eq(buf_view(&whole.text), buf_view(&pieces.text)));
    buf_done(&whole.text);
    buf_done(&pieces.text);
    return 0;
}
