/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/frames.h"

#include <assert.h>

enum {
    /* What one large frame needed is not held for ever. */
    SPARE_BYTES = 256 << 10,
};

static void put_u32(char *out, uint32_t number)
{
    for (size_t i = 0; i < 4; i++)
        out[i] = (char)(unsigned char)(number >> (8 * i));
}

static uint32_t get_u32(const char *bytes)
{
    uint32_t number = 0;

    for (size_t i = 0; i < 4; i++)
        number |= (uint32_t)(unsigned char)bytes[i] << (8 * i);
    return number;
}

void frames_write_header(uint32_t number, uint8_t type, size_t body_len,
                         char out_header[FRAMES_HEADER_BYTES])
{
    const size_t counted = FRAMES_HEADER_BYTES - FRAMES_UNCOUNTED_BYTES;

    assert(body_len <= UINT32_MAX - counted);
    put_u32(out_header, (uint32_t)(counted + body_len));
    put_u32(out_header + 4, number);
    out_header[8] = (char)type;
}

void frames_decoder_init(struct frames_decoder *decoder, size_t max_body_bytes)
{
    decoder->is_broken = false;
    buf_init(&decoder->begun, FRAMES_HEADER_BYTES + max_body_bytes);
}

void frames_decoder_done(struct frames_decoder *decoder)
{
    buf_done(&decoder->begun);
}

/* Parses a complete header. *out_frame_len is the length of its frame, including itself. */
static int read_header(const struct frames_decoder *decoder, const char *header,
                       const struct frames_events *events, struct ipc_frame *out_frame,
                       size_t *out_frame_len, struct err *err)
{
    size_t frame_len = (size_t)get_u32(header) + FRAMES_UNCOUNTED_BYTES;
    struct ipc_frame frame = {.number = get_u32(header + 4), .type = (unsigned char)header[8]};
    int r;

    if (frame_len < FRAMES_HEADER_BYTES)
        return err_set(err, ERR_INVALID_ARGUMENT, "a frame of %zu bytes has no header", frame_len);
    if (frame_len > decoder->begun.max)
        return err_set(err, ERR_TOO_LARGE, "a frame of %zu bytes exceeds the limit of %zu",
                       frame_len, decoder->begun.max);
    frame.body.len = frame_len - FRAMES_HEADER_BYTES;
    r = events->check(events->data, &frame, err);
    if (r < 0)
        return r;
    *out_frame = frame;
    *out_frame_len = frame_len;
    return 0;
}

static void forget(struct buf *begun)
{
    size_t max = begun->max;

    buf_clear(begun);
    if (begun->capacity > SPARE_BYTES) {
        buf_done(begun);
        buf_init(begun, max);
    }
}

/* Appends bytes to the earlier ones, until there are `wanted` of them. */
static int gather(struct buf *begun, struct str *bytes, size_t wanted, struct err *err)
{
    struct str piece = str_slice(*bytes, 0, wanted - begun->len);
    int r = buf_append_str(begun, piece);

    if (r < 0)
        return err_set_plain(err, r);
    *bytes = str_slice(*bytes, piece.len, bytes->len);
    return 0;
}

/* Takes at most one frame off *bytes. */
static int take_frame(struct frames_decoder *decoder, struct str *bytes,
                      const struct frames_events *events, struct err *err)
{
    struct buf *begun = &decoder->begun;
    struct ipc_frame frame;
    size_t len = 0;
    int r = 0;

    if (begun->len == 0 && bytes->len >= FRAMES_HEADER_BYTES) {
        r = read_header(decoder, bytes->ptr, events, &frame, &len, err);
        if (r < 0)
            return r;
        if (bytes->len >= len) { /* the usual case: no copy */
            frame.body = str_slice(*bytes, FRAMES_HEADER_BYTES, len - FRAMES_HEADER_BYTES);
            *bytes = str_slice(*bytes, len, bytes->len);
            return events->on_frame(events->data, &frame, err);
        }
    }
    if (begun->len < FRAMES_HEADER_BYTES)
        r = gather(begun, bytes, FRAMES_HEADER_BYTES, err);
    if (r < 0 || begun->len < FRAMES_HEADER_BYTES)
        return r;
    r = read_header(decoder, begun->data, events, &frame, &len, err);
    if (r == 0)
        r = gather(begun, bytes, len, err);
    if (r < 0 || begun->len < len)
        return r;
    frame.body = str_slice(buf_view(begun), FRAMES_HEADER_BYTES, len);
    r = events->on_frame(events->data, &frame, err);
    forget(begun);
    return r;
}

int frames_feed(struct frames_decoder *decoder, struct str bytes,
                const struct frames_events *events, struct err *err)
{
    int r = 0;

    if (decoder->is_broken)
        return err_set(err, ERR_INVALID_ARGUMENT, "the stream is already broken");
    while (bytes.len > 0 && r == 0)
        r = take_frame(decoder, &bytes, events, err);
    decoder->is_broken = r < 0;
    return r;
}
