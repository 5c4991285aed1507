/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages are the same however the bytes are split; the first byte chooses the role and the length
 * of a piece. No message exceeds a limit or is invalid UTF-8, and all output is valid frames.
 */
#include <assert.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "net/websocket/frame.h"
#include "net/websocket/websocket.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MESSAGE_MAX_BYTES = 60, QUEUE_MAX_BYTES = 300, TOLD_BYTES = 8 << 20 };

struct run {
    struct buf told;
    struct buf wire;
    bool has_closed;
};

static void tell_message(void *data, enum websocket_kind kind, struct str bytes)
{
    struct run *run = data;

    assert(!run->has_closed && bytes.len <= MESSAGE_MAX_BYTES);
    assert(kind == WEBSOCKET_BINARY || utf8_is_valid(bytes));
    assert(buf_printf(&run->told, "message %d %zu ", kind, bytes.len) == 0);
    assert(buf_append_str(&run->told, bytes) == 0);
}

static int take_wire(void *data, const struct str *parts, size_t count, size_t *out_taken)
{
    struct run *run = data;

    for (size_t i = 0; i < count; i++) {
        assert(buf_append_str(&run->wire, parts[i]) == 0);
        *out_taken += parts[i].len;
    }
    return 0;
}

static void tell_closed(void *data, uint16_t code, struct str reason)
{
    struct run *run = data;

    assert(!run->has_closed && code >= 1000 && code < 5000 && utf8_is_valid(reason));
    assert(reason.len <= WEBSOCKET_MAX_REASON_BYTES);
    run->has_closed = true;
    assert(buf_printf(&run->told, "closed %d ", code) == 0);
    assert(buf_append_str(&run->told, reason) == 0);
}

static void tell_pong(void *data, struct str bytes)
{
    struct run *run = data;

    assert(bytes.len <= WEBSOCKET_MAX_PING_BYTES);
    assert(buf_append_str(&run->told, STR("pong ")) == 0);
    assert(buf_append_str(&run->told, bytes) == 0);
}

static int receive(enum websocket_role role, struct str bytes, size_t step, struct run *run)
{
    const struct websocket_limits limits = {MESSAGE_MAX_BYTES, QUEUE_MAX_BYTES};
    const struct websocket_sink sink = {.message = tell_message,
                                        .wire = take_wire,
                                        .closed = tell_closed,
                                        .pong = tell_pong,
                                        .data = run};
    struct websocket *websocket = NULL;
    int r = 0;

    *run = (struct run){.told = BUF_INIT(TOLD_BYTES), .wire = BUF_INIT(TOLD_BYTES)};
    assert(websocket_new(role, &limits, &sink, &websocket) == 0);
    for (size_t at = 0; r == 0 && at < bytes.len; at += step)
        r = websocket_receive(websocket, str_slice(bytes, at, step), NULL);
    assert(websocket_queued(websocket) == 0);
    assert(websocket_is_over(websocket) == (r < 0 || run->has_closed));
    websocket_free(websocket);
    return r;
}

/* What was answered is for the other side, and keeps the rules that it holds us to. */
static void check_wire(enum websocket_role role, struct str wire)
{
    struct wsframe_scan scan;
    size_t good;

    wsframe_scan_init(&scan, role == WEBSOCKET_CLIENT, 0);
    assert(wsframe_feed(&scan, wire, &good) == 0);
    assert(scan.head_len == 0 && scan.payload_left == 0);
    assert(good == wire.len || scan.is_close_whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum websocket_role role;
    struct run whole;
    struct run pieces;
    struct str bytes;
    int r, again;

    if (size < 2)
        return 0;
    role = (data[0] & 1) != 0 ? WEBSOCKET_CLIENT : WEBSOCKET_SERVER;
    bytes = (struct str){(const char *)data + 1, size - 1};
    r = receive(role, bytes, bytes.len, &whole);
    assert(r == 0 || r == ERR_WS_PROTOCOL || r == ERR_INVALID_UTF8 || r == ERR_TOO_LARGE);
    again = receive(role, bytes, (size_t)(data[0] >> 1) + 1, &pieces);
    assert(again == r);
    assert(str_eq(buf_view(&whole.told), buf_view(&pieces.told)));
    assert(whole.wire.len == pieces.wire.len);
    check_wire(role, buf_view(&pieces.wire));
    buf_done(&pieces.told);
    buf_done(&pieces.wire);
    check_wire(role, buf_view(&whole.wire));
    buf_done(&whole.told);
    buf_done(&whole.wire);
    return 0;
}
