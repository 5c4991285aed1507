/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a stream from either side: the frames do not depend on how it is split, follow the
 * protocol, and are written as the same bytes. The bodies of PREPARE are parsed too. The first byte
 * chooses the side and how the stream is split.
 */
#include <assert.h>
#include <stdint.h>

#include "protocol/toolwire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 4 << 20, MAX_BODY = 4096, SEEN_BYTES = 16 << 20 };

static void check_prepare(struct str body)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct toolwire_prepare prepare;

    if (toolwire_read_prepare(&arena, body, &prepare, NULL) < 0)
        return;
    assert(prepare.arguments->type == JSON_OBJECT);
    assert(prepare.timeout_ms >= 1 && prepare.timeout_ms <= TOOLWIRE_MAX_TIMEOUT_MS);
    assert(prepare.keep_ms >= 1 && prepare.keep_ms <= TOOLWIRE_MAX_TIMEOUT_MS);
}

static int on_frame(void *data, const struct toolwire_frame *frame, struct err *err)
{
    struct buf *seen = data;
    char header[TOOLWIRE_HEADER_BYTES];
    int r;

    (void)err;
    assert(frame->body.len <= MAX_BODY);
    toolwire_write_header(frame->call, frame->type, frame->body.len, header);
    r = buf_append(seen, header, sizeof(header)) | buf_append_str(seen, frame->body);
    assert(r == 0);
    if (frame->type == TOOLWIRE_PREPARE)
        check_prepare(frame->body);
    return 0;
}

static int decode(enum toolwire_side from, struct str stream, size_t step, struct buf *seen)
{
    struct toolwire_decoder decoder;
    int r = 0;

    toolwire_decoder_init(&decoder, from, MAX_BODY);
    for (size_t at = 0; at < stream.len && r == 0; at += step)
        r = toolwire_feed(&decoder, str_slice(stream, at, step), on_frame, seen, NULL);
    toolwire_decoder_done(&decoder);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buf struct buf whole = BUF_INIT(SEEN_BYTES);
    cleanup_buf struct buf pieces = BUF_INIT(SEEN_BYTES);
    enum toolwire_side from;
    struct str stream;
    size_t step;
    int r;

    if (size < 2)
        return 0;
    from = data[0] & 1 ? TOOLWIRE_HOST : TOOLWIRE_FRONT;
    step = (size_t)(data[0] >> 1) + 1;
    stream = (struct str){(const char *)data + 1, size - 1};
    check_prepare(stream);
    r = decode(from, stream, stream.len, &whole);
    assert(decode(from, stream, step, &pieces) == r);
    assert(str_eq(buf_view(&whole), buf_view(&pieces)));
    assert(whole.len <= stream.len && str_eq(buf_view(&whole), str_slice(stream, 0, whole.len)));
    return 0;
}
