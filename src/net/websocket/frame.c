/* SPDX-License-Identifier: Apache-2.0 */
#include "net/websocket/frame.h"

#include "base/err.h"

/* RFC 6455, 5.2 */
enum {
    FIN = 0x80,
    RESERVED = 0x70,
    OPCODE = 0x0f,
    MASK = 0x80,
    LENGTH = 0x7f,
    LENGTH_OF_16_BITS = 126,
    LENGTH_OF_64_BITS = 127,
    MASK_BYTES = 4,
};

enum opcode {
    CONTINUATION = 0x0,
    TEXT = 0x1,
    BINARY = 0x2,
    CLOSE = 0x8,
    PING = 0x9,
    PONG = 0xa,
};

void wsframe_scan_init(struct wsframe_scan *scan, bool is_masked, size_t max_message_bytes)
{
    *scan = (struct wsframe_scan){.is_masked = is_masked, .max_message_bytes = max_message_bytes};
}

static bool is_control(uint8_t first)
{
    return (first & OPCODE) >= CLOSE;
}

static int check_first(const struct wsframe_scan *scan, uint8_t first)
{
    bool is_known = false;

    switch ((enum opcode)(first & OPCODE)) {
    case CONTINUATION:
        is_known = scan->is_in_message;
        break;
    case TEXT:
    case BINARY:
        is_known = !scan->is_in_message;
        break;
    case CLOSE:
    case PING:
    case PONG:
        is_known = (first & FIN) != 0;
        break;
    }
    return is_known && (first & RESERVED) == 0 ? 0 : ERR_WS_PROTOCOL;
}

static int check_second(const struct wsframe_scan *scan, uint8_t first, uint8_t second)
{
    if (((second & MASK) != 0) != scan->is_masked)
        return ERR_WS_PROTOCOL;
    return is_control(first) && (second & LENGTH) > WSFRAME_CONTROL_BYTES ? ERR_WS_PROTOCOL : 0;
}

/* Number of length bytes after the second byte. */
static size_t length_bytes(uint8_t second)
{
    switch (second & LENGTH) {
    case LENGTH_OF_64_BITS:
        return 8;
    case LENGTH_OF_16_BITS:
        return 2;
    default:
        return 0;
    }
}

static uint64_t length_of(const uint8_t *head)
{
    size_t count = length_bytes(head[1]);
    uint64_t length = 0;

    if (count == 0)
        return head[1] & LENGTH;
    for (size_t i = 0; i < count; i++)
        length = length << 8 | head[2 + i];
    return length;
}

static int check_length(const struct wsframe_scan *scan)
{
    uint64_t length = length_of(scan->head);
    size_t count = length_bytes(scan->head[1]);
    uint64_t shortest = count == 8 ? UINT64_C(0x10000) : count == 2 ? LENGTH_OF_16_BITS : 0;

    /* The shortest form alone is a length, and the highest bit stays 0. */
    if (length < shortest || length > INT64_MAX)
        return ERR_WS_PROTOCOL;
    if (is_control(scan->head[0]))
        return 0;
    return length > scan->max_message_bytes - scan->message_bytes ? ERR_TOO_LARGE : 0;
}

static void end_head(struct wsframe_scan *scan)
{
    scan->payload_left = length_of(scan->head);
    scan->head_len = 0;
    if (scan->is_close)
        scan->is_close_whole = scan->payload_left == 0;
    if (is_control(scan->head[0]))
        return;
    scan->message_bytes += (size_t)scan->payload_left;
    scan->is_in_message = (scan->head[0] & FIN) == 0;
    if (!scan->is_in_message)
        scan->message_bytes = 0;
}

/* Handles a byte of a header. Refuses as early as possible, since wslay parses right after. */
static int take_head(struct wsframe_scan *scan, uint8_t byte)
{
    size_t length_end;
    int r = 0;

    scan->head[scan->head_len++] = byte;
    if (scan->head_len == 1) {
        scan->is_close = (byte & OPCODE) == CLOSE;
        return check_first(scan, byte);
    }
    length_end = 2 + length_bytes(scan->head[1]);
    if (scan->head_len == 2)
        r = check_second(scan, scan->head[0], byte);
    if (r == 0 && scan->head_len == length_end)
        r = check_length(scan);
    if (r == 0 && scan->head_len == length_end + (scan->is_masked ? MASK_BYTES : 0))
        end_head(scan);
    return r;
}

/* Handles a part of a payload; that of a close is kept. */
static void take_payload(struct wsframe_scan *scan, struct str part)
{
    const uint8_t *mask = scan->head + 2;

    scan->payload_left -= part.len;
    if (!scan->is_close)
        return;
    for (size_t i = 0; i < part.len; i++) {
        uint8_t byte = (uint8_t)part.ptr[i];

        if (scan->is_masked)
            byte ^= mask[scan->close_len % MASK_BYTES];
        scan->close[scan->close_len++] = byte;
    }
    scan->is_close_whole = scan->payload_left == 0;
}

int wsframe_feed(struct wsframe_scan *scan, struct str bytes, size_t *out_good)
{
    bool is_good = !scan->is_close;
    size_t good = 0;

    for (size_t at = 0; at < bytes.len && !scan->is_close_whole;) {
        struct str rest = str_slice(bytes, at, bytes.len);
        bool is_head_start = scan->payload_left == 0 && scan->head_len == 0;

        if (is_good && is_head_start)
            good = at;
        if (scan->payload_left > 0) {
            if (scan->payload_left < rest.len)
                rest.len = (size_t)scan->payload_left;
            take_payload(scan, rest);
            at += rest.len;
        } else {
            int r = take_head(scan, (uint8_t)rest.ptr[0]);

            if (r < 0) {
                *out_good = good;
                return r;
            }
            at++;
        }
        is_good = is_good && !scan->is_close;
    }
    *out_good = is_good ? bytes.len : good;
    return 0;
}
